//! Sessions that `hoist-mcp` recorded.

use std::path::Path;

use crate::log::{Entry, Header, LogError, LogReader, ReadReport};

/// A whole log in memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Log {
    /// What the log says of its session.
    pub header: Header,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
    /// What was met besides entries: skipped, blank and torn lines, gaps.
    pub report: ReadReport,
    /// The lines that were skipped: the first [`MAX_PROBLEMS`](Self::MAX_PROBLEMS) of them, each
    /// with its place.
    pub problems: Vec<LogError>,
}

impl Log {
    /// How many skipped lines are described; all are counted.
    pub const MAX_PROBLEMS: usize = 100;
}

/// Reads a log into memory. [`LogReader`] reads one without holding it.
///
/// Lines that are no entries are skipped and listed in [`Log::problems`].
///
/// # Errors
///
/// [`LogError`] when the file cannot be read, is empty, is no Hoist log, or has another version.
pub fn read_log(path: &Path) -> Result<Log, LogError> {
    let mut reader = LogReader::open(path)?;
    let mut entries = Vec::new();
    let mut problems = Vec::new();
    for item in &mut reader {
        match item {
            Ok(entry) => entries.push(entry),
            Err(error) if !error.is_bad_line() => return Err(error),
            Err(error) if problems.len() < Log::MAX_PROBLEMS => problems.push(error),
            Err(_) => {}
        }
    }
    let (header, report) = reader.into_parts();
    Ok(Log { header, entries, report, problems })
}
