//! Finding the sessions that a command line names, and opening the logs among them.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use hoist_trace::log::{LogError, LogReader};
use hoist_trace::retention::COMPANIONS;
use hoist_trace::sessions::{Files, Found, Item, ReadError, Sessions};
use walkdir::{DirEntry, WalkDir};

/// What stands for standard input among paths.
const STDIN: &str = "-";

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// A log to be read.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) path: PathBuf,
}

/// What was looked for logs, or for one, and could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("cannot read the directory {}", path.display())]
    Directory { path: PathBuf, source: io::Error },
}

/// Whether these paths may be more than one session whatever is in them: a directory, or more than
/// one path.
pub(crate) fn are_several(paths: &[PathBuf]) -> bool {
    paths.len() > 1 || paths.iter().any(|path| is_dir(path))
}

/// The logs that these paths name: files as they are named, of directories every `*.jsonl` file,
/// however deep, by name. Links in a directory are not followed; what is no regular file is passed
/// over, and so are the files that stand beside a log.
pub(crate) fn find(paths: &[PathBuf]) -> impl Iterator<Item = Result<Log, Unreadable>> {
    paths.iter().flat_map(|path| {
        let (file, dir) = if is_dir(path) { (None, Some(path)) } else { (Some(path), None) };
        let named = file.map(|path| Ok(Log { path: path.clone() }));
        named.into_iter().chain(dir.into_iter().flat_map(|dir| in_dir(dir)))
    })
}

fn in_dir(dir: &Path) -> impl Iterator<Item = Result<Log, Unreadable>> + use<> {
    let dir = dir.to_owned();
    WalkDir::new(&dir).sort_by_file_name().into_iter().filter_map(move |entry| match entry {
        Ok(entry) => is_log(&entry).then(|| Ok(Log { path: entry.into_path() })),
        Err(error) => {
            let path = error.path().unwrap_or(&dir).to_owned();
            // It only has no I/O error for a loop, and no link is followed.
            let source = error.into_io_error().unwrap_or_else(|| io::Error::other("a loop"));
            Some(Err(unreadable(path, source)))
        }
    })
}

fn unreadable(path: PathBuf, source: io::Error) -> Unreadable {
    if is_dir(&path) {
        Unreadable::Directory { path, source }
    } else {
        LogError::Io { path, source }.into()
    }
}

fn is_dir(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn is_log(entry: &DirEntry) -> bool {
    let name = entry.file_name().as_encoded_bytes();
    entry.file_type().is_file()
        && name.ends_with(b".jsonl")
        && !COMPANIONS.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// What reads a log.
pub(crate) type Reader = LogReader<Box<dyn BufRead>>;

/// Opens a log and reads its header; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Reader, LogError> {
    let input: Box<dyn BufRead> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        let file =
            File::open(path).map_err(|source| LogError::Io { path: path.to_owned(), source })?;
        Box::new(BufReader::with_capacity(64 << 10, file))
    };
    LogReader::new(input, path)
}

/// The sessions that these paths name, each log one of its own; `-` is standard input.
pub(crate) fn sessions(paths: &[PathBuf]) -> impl Iterator<Item = Result<Found, ReadError>> {
    paths.iter().flat_map(|path| {
        if is_stdin(path) { Sessions::read_from(io::stdin(), path) } else { Sessions::of([path]) }
    })
}

/// The same, where what one host session left with several servers is one session.
pub(crate) fn merged_sessions(paths: &[PathBuf]) -> impl Iterator<Item = Result<Found, ReadError>> {
    let (stdin, files): (Vec<_>, Vec<_>) = paths.iter().partition(|path| is_stdin(path));
    let of_stdin = stdin.into_iter().flat_map(|path| Sessions::read_from(io::stdin(), path));
    Sessions::merged(files).chain(of_stdin)
}

/// What these paths hold, the logs not read yet; `-` is standard input.
pub(crate) fn files(paths: &[PathBuf]) -> impl Iterator<Item = Result<Item, ReadError>> {
    paths.iter().flat_map(|path| {
        if is_stdin(path) { Files::read_from(io::stdin(), path) } else { Files::of([path]) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::with_causes;

    #[test]
    fn a_directory_that_cannot_be_read_is_no_log() {
        let dir = tempfile::TempDir::new().unwrap();
        let said = |path: &Path| {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            with_causes(&unreadable(path.to_owned(), source))
        };
        let path = dir.path().display();
        let expected = format!("cannot read the directory {path}: permission denied");
        assert_eq!(said(dir.path()), expected);
        let file = dir.path().join("a.jsonl");
        let expected = format!("cannot read session log {}: permission denied", file.display());
        assert_eq!(said(&file), expected);
    }
}
