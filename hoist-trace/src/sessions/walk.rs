//! The files that paths name.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::ReadError;
use crate::retention::COMPANIONS;

/// A file to be looked at.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// Whether the user named it; else it was met in a directory.
    pub(super) named: bool,
}

/// Walks over files and directories, in the order in which they were named, and of a directory by
/// name. Links in a directory are not followed, and what is no regular file is passed over; so are
/// the files that stand beside a log.
#[derive(Debug)]
pub(super) struct Walk {
    paths: std::vec::IntoIter<PathBuf>,
    dir: Option<walkdir::IntoIter>,
    /// Directories that somebody else reads.
    passed_over: HashSet<PathBuf>,
}

impl Walk {
    pub(super) fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths: paths.into_iter(), dir: None, passed_over: HashSet::new() }
    }

    /// From now on, does not go into this directory.
    pub(super) fn pass_over(&mut self, dir: PathBuf) {
        self.passed_over.insert(dir);
    }

    fn in_dir(&mut self) -> Option<Result<Candidate, ReadError>> {
        let dir = self.dir.as_mut()?;
        while let Some(entry) = dir.next() {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {
                    if self.passed_over.remove(entry.path()) {
                        dir.skip_current_dir();
                    }
                }
                Ok(entry) if is_candidate(&entry) => {
                    return Some(Ok(Candidate { path: entry.into_path(), named: false }));
                }
                Ok(_) => {}
                Err(error) => {
                    let path = error.path().unwrap_or_else(|| Path::new("")).to_owned();
                    // It only has no I/O error for a loop, and no link is followed.
                    let source =
                        error.into_io_error().unwrap_or_else(|| io::Error::other("a loop"));
                    return Some(Err(ReadError::Io { path, source }));
                }
            }
        }
        self.dir = None;
        None
    }
}

impl Iterator for Walk {
    type Item = Result<Candidate, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.in_dir() {
                return Some(found);
            }
            let path = self.paths.next()?;
            if !path.is_dir() {
                return Some(Ok(Candidate { path, named: true }));
            }
            self.dir = Some(WalkDir::new(path).sort_by_file_name().into_iter());
        }
    }
}

fn is_candidate(entry: &DirEntry) -> bool {
    entry.file_type().is_file() && !is_companion(entry.path())
}

/// Whether it is a file that stands beside a log, by its name.
pub(super) fn is_companion(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    COMPANIONS.iter().any(|end| name.ends_with(end.as_bytes()))
}
