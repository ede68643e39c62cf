//! Making a log file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::log::Header;

/// How many names are tried when one is taken.
const MAX_NAMES: u32 = 100;

/// Why a log could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is something else in the directory's place.
    #[error("cannot use {} as the log directory, because it is no directory; name another", dir.display())]
    NotADirectory {
        /// What is no directory.
        dir: PathBuf,
    },
    /// The directory is missing and cannot be made.
    #[error("cannot create the log directory {}; name one that can be written", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file cannot be made or written.
    #[error("cannot create the session log {}; name a directory that can be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The writer thread cannot be started.
    #[error("cannot start the thread that writes the session log")]
    Thread(#[source] io::Error),
}

/// A log that holds its header.
#[derive(Debug)]
pub(super) struct Created {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) len_bytes: u64,
}

/// Makes the directory for logs if it is missing, and sees that logs can be made in it: for a program
/// whose first session may begin long after it was started.
///
/// # Errors
///
/// [`CreateError`]; nothing is left then but the directory.
pub fn create_log_dir(dir: &Path) -> Result<(), CreateError> {
    make_dir(dir)?;
    let path = dir.join(format!(".hoist-{}", std::process::id()));
    let probed = open_new(&path).and_then(|_| fs::remove_file(&path));
    probed.map_err(|source| CreateError::File { path, source })
}

fn make_dir(dir: &Path) -> Result<(), CreateError> {
    create_dir(dir).map_err(|source| {
        let dir = dir.to_owned();
        if dir.symlink_metadata().is_ok() && !dir.is_dir() {
            return CreateError::NotADirectory { dir };
        }
        CreateError::Directory { dir, source }
    })
}

/// Makes `<dir>/<header.session>.jsonl` and writes the header. Where the name is taken (two
/// machines or containers with one directory), `-2`, `-3` … is added to the session's name, in the
/// header too. On an error no file is left.
pub(super) fn create(dir: &Path, header: &mut Header) -> Result<Created, CreateError> {
    make_dir(dir)?;
    let session = header.session.clone();
    let mut number = 1;
    let (mut file, path) = loop {
        let path = dir.join(format!("{}.jsonl", header.session));
        match open_new(&path) {
            Ok(file) => break (file, path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_NAMES => {
                number += 1;
                header.session = format!("{session}-{number}");
            }
            Err(source) => return Err(CreateError::File { path, source }),
        }
    };
    lock(&file);
    let line = header.to_line();
    if let Err(source) = file.write_all(line.as_bytes()) {
        drop(file);
        // It holds nothing; if it cannot be removed either, the error at hand says enough.
        let _ = fs::remove_file(&path);
        return Err(CreateError::File { path, source });
    }
    Ok(Created { file, path, len_bytes: line.len() as u64 })
}

fn create_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn open_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Holds the log against [`prune`](crate::retention::prune) for as long as the file is open. A
/// file system without locks costs only that.
fn lock(file: &File) {
    #[cfg(unix)]
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    #[cfg(not(unix))]
    let _ = file;
}
