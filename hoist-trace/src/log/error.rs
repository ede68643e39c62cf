//! What reading a log fails with.

use std::io;
use std::path::PathBuf;

/// Why a log, or one line of it, could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file could not be opened or read.
    #[error("cannot read session log {}", path.display())]
    Io {
        /// The log.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },

    /// The file has no byte in it.
    #[error("{} is empty: a session log starts with a header line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },

    /// The first line is no header, so the file is something else, or was cut in its first line.
    #[error(
        "{}:1:{column}: not a Hoist session log: its first line must be a header with \
         \"hoist_mcp_log\":2 ({what})",
        path.display()
    )]
    NotALog {
        /// The file.
        path: PathBuf,
        /// The column in the first line, in bytes from 1.
        column: usize,
        /// What is wrong with it.
        what: String,
    },

    /// The log is of another format version.
    #[error(
        "{}:1: session log format {found} cannot be read, only format 2: {}",
        path.display(),
        if *found < 2 { "record the session again" } else { "use a newer Hoist" }
    )]
    Version {
        /// The log.
        path: PathBuf,
        /// The version its header names.
        found: u64,
    },

    /// One line is no entry. The reader goes on with the next.
    #[error("{}:{line}:{column}: skipped a line that is no log entry: {what}", path.display())]
    BadLine {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column in that line, in bytes from 1.
        column: usize,
        /// What is wrong with it.
        what: String,
    },
}

impl LogError {
    /// Whether only one line is lost, so that reading goes on.
    pub fn is_bad_line(&self) -> bool {
        matches!(self, Self::BadLine { .. })
    }
}

/// What serde found wrong in one line, without its own "at line 1 column 5".
pub(crate) fn describe(error: &serde_json::Error) -> (usize, String) {
    let text = error.to_string();
    let what = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]);
    (error.column().max(1), what.to_owned())
}
