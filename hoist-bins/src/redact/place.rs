//! Where copies may be written.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Error;
use crate::private;

/// A directory for copies that has nothing to do with what is copied.
#[derive(Debug)]
pub(super) struct Out {
    path: PathBuf,
    /// The same without links, as far as it exists.
    real: PathBuf,
}

impl Out {
    /// Checks the directory: whatever is copied must not lie in it, nor it in that, through links
    /// either, and it must be empty or new.
    pub(super) fn check(path: &Path, inputs: &[PathBuf]) -> Result<Self, Error> {
        let real = real(path)?;
        for input in inputs {
            // What does not exist is said when it is read.
            let Ok(real_input) = fs::canonicalize(input) else { continue };
            let how = if real == real_input {
                "is"
            } else if real.starts_with(&real_input) {
                "lies in"
            } else if real_input.starts_with(&real) {
                "holds"
            } else {
                continue;
            };
            return Err(Error::Overlaps { path: path.to_owned(), how, input: input.clone() });
        }
        match fs::read_dir(&real) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(Error::NotEmpty { path: path.to_owned() });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(Error::NoDirectory { path: path.to_owned() });
            }
            Err(source) => return Err(Error::io("look into", path)(source)),
        }
        Ok(Self { path: path.to_owned(), real })
    }

    /// Whether a file lies in it, or would.
    pub(super) fn holds(&self, file: &Path) -> bool {
        real(file).is_ok_and(|file| file.starts_with(&self.real))
    }

    /// Makes the directory if it is missing.
    pub(super) fn make(&self) -> Result<(), Error> {
        private::make_dirs(&self.real).map_err(Error::io("make", &self.path))
    }

    /// Makes a file, and the directories it is in, that nobody else can read. Another file's name
    /// gets a number.
    pub(super) fn create(&self, name: &Path) -> Result<(PathBuf, File), Error> {
        let wanted = self.real.join(name);
        let dir = wanted.parent().unwrap_or(&self.real);
        private::make_dirs(dir).map_err(Error::io("make", dir))?;
        let mut number = 1_u64;
        loop {
            let name = if number == 1 { name.to_owned() } else { numbered(name, number) };
            let path = self.real.join(&name);
            match private::new_file(&path) {
                Ok(file) => return Ok((name, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(source) => return Err(Error::io("make", &path)(source)),
            }
        }
    }

    /// Removes a copy that could not be finished.
    pub(super) fn remove(&self, name: &Path) {
        let _ = fs::remove_file(self.real.join(name));
    }
}

/// `a/b.jsonl` as `a/b-2.jsonl`.
fn numbered(name: &Path, number: u64) -> PathBuf {
    let stem = name.file_stem().unwrap_or_default();
    let mut numbered = stem.to_owned();
    numbered.push(format!("-{number}"));
    if let Some(extension) = name.extension() {
        numbered.push(".");
        numbered.push(extension);
    }
    name.with_file_name(numbered)
}

/// The path without links: of what does not exist, the part that does.
fn real(path: &Path) -> Result<PathBuf, Error> {
    let mut missing = Vec::new();
    let mut existing = std::path::absolute(path).map_err(Error::io("find", path))?;
    loop {
        match fs::canonicalize(&existing) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::io("find", path)(source)),
        }
        // A link to nothing would be followed once there is something.
        if fs::symlink_metadata(&existing).is_ok_and(|found| found.is_symlink()) {
            return Err(Error::NoDirectory { path: path.to_owned() });
        }
        match existing.components().next_back() {
            Some(Component::Normal(name)) => missing.push(name.to_owned()),
            _ => return Err(Error::GoesUp { path: path.to_owned() }),
        }
        existing.pop();
    }
}
