//! Deleting old logs.
//!
//! A file goes only when everything speaks for it: it is a regular file (links are not followed),
//! its name is one Hoist gives, it was last written long enough ago, no recorder has it open, and
//! its first line is a log header. Its age is that of its last line, not of its session's start: a
//! session that ran for a week is as old as what it did last.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::log::Header;

/// The files that may stand beside a log `<session>.jsonl` and go with it: `<session>` and one of
/// these.
pub const COMPANIONS: [&str; 2] = [".flow.jsonl", ".confirm.jsonl"];

/// How much of a file is read to see whether it is a log, in bytes.
const HEADER_MAX_BYTES: u64 = 64 << 10;

/// What [`prune`] did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// Files that were deleted.
    pub deleted: Vec<PathBuf>,
    /// What could not be looked at or deleted.
    pub errors: Vec<PruneError>,
}

/// A file or directory that retention could not deal with.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", path.display())]
#[non_exhaustive]
pub struct PruneError {
    /// What was tried.
    pub what: &'static str,
    /// On which file or directory.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

/// Deletes the logs in `dir` that were last written more than `retain_days` before `now`, and
/// their companion files. Blocks; reads the first line of old files only.
///
/// Errors are listed, and the rest is done. On systems other than Unix an open log is told only by
/// its being young.
pub fn prune(dir: &Path, retain_days: u32, now: SystemTime) -> Pruned {
    let mut pruned = Pruned::default();
    let age = Duration::from_secs(u64::from(retain_days) * 24 * 60 * 60);
    let Some(before) = now.checked_sub(age) else { return pruned };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(source) => {
            pruned.errors.push(PruneError { what: "list", path: dir.to_owned(), source });
            return pruned;
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(session) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
            continue;
        };
        if !is_own_name(session) {
            continue;
        }
        let path = entry.path();
        match prune_log(&path, before) {
            // The lock is held until the log is gone, and the log goes last: if a companion stays,
            // the next run finds it by its log.
            Ok(Some(_lock)) => {
                let companions = COMPANIONS.map(|end| dir.join(format!("{session}{end}")));
                let mut all_gone = true;
                for companion in companions.into_iter().filter(|path| is_regular(path)) {
                    all_gone &= pruned.delete(companion);
                }
                if all_gone {
                    pruned.delete(path);
                }
            }
            Ok(None) => {}
            Err(source) => pruned.errors.push(PruneError { what: "look at", path, source }),
        }
    }
    pruned
}

impl Pruned {
    fn delete(&mut self, path: PathBuf) -> bool {
        match fs::remove_file(&path) {
            Ok(()) => self.deleted.push(path),
            // Another proxy was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => {
                self.errors.push(PruneError { what: "delete", path, source });
                return false;
            }
        }
        true
    }
}

fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// The file, locked, if it is a log that was last written before then and that nobody has open.
fn prune_log(path: &Path, before: SystemTime) -> io::Result<Option<File>> {
    let is_old = |metadata: &fs::Metadata| -> io::Result<bool> {
        Ok(metadata.is_file() && metadata.modified()? < before)
    };
    if !is_old(&fs::symlink_metadata(path)?)? {
        return Ok(None);
    }
    let file = open_no_link(path)?;
    // Again, since what stood there a moment ago may have been replaced.
    if !is_old(&file.metadata()?)? || !try_lock(&file) {
        return Ok(None);
    }
    let mut line = Vec::new();
    BufReader::new((&file).take(HEADER_MAX_BYTES)).read_until(b'\n', &mut line)?;
    let is_log = line.ends_with(b"\n") && Header::from_line(&line, path).is_ok();
    Ok(is_log.then_some(file))
}

fn open_no_link(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe that came in the file's place must not make this wait for a writer.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}

fn try_lock(file: &File) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{FlockOperation, flock};
        // A file system without locks says so with another error; the file's age must do there.
        !matches!(
            flock(file, FlockOperation::NonBlockingLockExclusive),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK
        )
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        true
    }
}

/// Whether a session's name is one Hoist gives: `20260923T212000.123Z-4242`, then up to two
/// numbers (of the session in its process, and of a name that was taken).
pub(crate) fn is_own_name(session: &str) -> bool {
    const TIME: &[u8] = b"00000000T000000.000Z-";
    let bytes = session.as_bytes();
    let Some((time, numbers)) = bytes.split_at_checked(TIME.len()) else { return false };
    let fits = |(byte, form): (&u8, &u8)| {
        if *form == b'0' { byte.is_ascii_digit() } else { byte == form }
    };
    let parts: Vec<&[u8]> = numbers.split(|byte| *byte == b'-').collect();
    time.iter().zip(TIME).all(fits)
        && parts.len() <= 3
        && parts.iter().all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_hoist_gives_are_its_own() {
        for own in
            ["20260923T212000.123Z-4242", "20260923T212000.123Z-1-7", "20260923T212000.123Z-1-7-2"]
        {
            assert!(is_own_name(own), "{own}");
        }
        for other in [
            "",
            "notes",
            "20260923T212000.123Z",
            "20260923T212000.123Z-",
            "20260923T212000.123Z-a",
            "20260923T212000.123Z-1.flow",
            "20260923T212000.123Z-1-",
            "20260923T212000.123Z-1-2-3-4",
            "20260923 212000.123Z-1",
            "x20260923T212000.123Z-1",
        ] {
            assert!(!is_own_name(other), "{other}");
        }
    }
}
