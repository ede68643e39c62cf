//! The files that the tables are written to.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::private;

/// How much of each file is held before it is written, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Why the tables cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error(
        "{} exists, and nothing is overwritten; name another directory with --out",
        path.display()
    )]
    Exists { path: PathBuf },
    #[error(
        "{} exists: an export into this directory goes on or was broken off; if none goes on, \
         remove the *.part files there",
        path.display()
    )]
    Unfinished { path: PathBuf },
    #[error("cannot create the directory {}; name one that can be written with --out", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot write {}; name a directory that can be written with --out", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Files that get their names when all of them are whole. Dropped before that, they are removed.
#[derive(Debug)]
pub(super) struct Folder {
    /// The name each gets, and the one it has.
    files: Vec<(PathBuf, PathBuf)>,
}

pub(super) type Output = BufWriter<File>;

impl Folder {
    /// Makes the directory, where it is missing, and these files in it, for their owner only.
    pub(super) fn create<const N: usize>(
        dir: &Path,
        names: [&str; N],
    ) -> Result<(Self, [Output; N]), FolderError> {
        private::make_dirs(dir)
            .map_err(|source| FolderError::Directory { path: dir.to_owned(), source })?;
        let mut folder = Self { files: Vec::with_capacity(N) };
        // All are looked for before any is made: a refusal leaves the directory as it was.
        for name in names {
            refuse(dir.join(name))?;
        }
        let mut outputs = Vec::with_capacity(N);
        for name in names {
            let (path, part) = (dir.join(name), dir.join(format!("{name}.part")));
            let file = private::new_file(&part).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => FolderError::Unfinished { path: part.clone() },
                _ => FolderError::Write { path: part.clone(), source },
            })?;
            folder.files.push((path, part));
            outputs.push(BufWriter::with_capacity(BUFFER_BYTES, file));
        }
        let outputs = outputs.try_into().expect("there is one for each name");
        Ok((folder, outputs))
    }

    /// Writes out what is held, and gives every file its name.
    pub(super) fn finish(
        mut self,
        outputs: impl IntoIterator<Item = Output>,
    ) -> Result<(), FolderError> {
        for (mut output, (path, _)) in outputs.into_iter().zip(&self.files) {
            let written = output.flush().and_then(|()| output.get_ref().sync_all());
            written.map_err(|source| FolderError::Write { path: path.clone(), source })?;
        }
        for (path, _) in &self.files {
            refuse(path.clone())?;
        }
        while let Some((path, part)) = self.files.pop() {
            if let Err(source) = fs::rename(&part, &path) {
                self.files.push((path.clone(), part));
                return Err(FolderError::Write { path, source });
            }
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for (_, part) in &self.files {
            // What cannot be removed says by its name that it is not whole.
            let _ = fs::remove_file(part);
        }
    }
}

/// Refuses what is there already, links that lead nowhere too.
fn refuse(path: PathBuf) -> Result<(), FolderError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(FolderError::Write { path, source }),
        Ok(_) => Err(FolderError::Exists { path }),
    }
}
