//! Files and directories that nobody else can read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a directory, and those it is in, where they are missing.
pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Makes a directory that must not be there, in one that must.
pub(crate) fn new_dir(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a file that must not be there.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes on other systems"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
