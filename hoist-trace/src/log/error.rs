//! What reading a log fails with.

use std::io;
use std::path::{Path, PathBuf};

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

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Empty { path }
            | Self::NotALog { path, .. }
            | Self::Version { path, .. }
            | Self::BadLine { path, .. } => path,
        }
    }

    /// The line it is about, from 1; `None` where it is about the file.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Io { .. } | Self::Empty { .. } => None,
            Self::NotALog { .. } | Self::Version { .. } => Some(1),
            Self::BadLine { line, .. } => Some(*line),
        }
    }

    /// The column in that line, in bytes from 1, where there is one to name.
    pub fn column(&self) -> Option<usize> {
        match self {
            Self::NotALog { column, .. } | Self::BadLine { column, .. } => Some(*column),
            _ => None,
        }
    }
}

/// How much is said of what is wrong, in bytes.
const MAX_WHAT_BYTES: usize = 300;

/// What serde found wrong in one line, without its own "at line 1 column 5".
pub(crate) fn describe(error: &serde_json::Error) -> (usize, String) {
    let mut what = error.to_string();
    if let Some(at) = what.rfind(" at line ") {
        what.truncate(at);
    }
    // serde quotes what it found, which may be a message of megabytes.
    if what.len() > MAX_WHAT_BYTES {
        let end = (0..=MAX_WHAT_BYTES).rev().find(|at| what.is_char_boundary(*at));
        what.truncate(end.unwrap_or_default());
        what.push('…');
    }
    (error.column().max(1), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_not_said_whole() {
        for long in ["x".repeat(1 << 20), "é".repeat(1 << 20)] {
            let text = serde_json::to_string(&long).unwrap();
            let error = serde_json::from_str::<u64>(&text).unwrap_err();
            let (column, what) = describe(&error);
            assert_eq!(column, text.len());
            assert!(what.starts_with("invalid type: string ") && what.ends_with('…'), "{what}");
            assert!(what.len() <= MAX_WHAT_BYTES + '…'.len_utf8(), "{}", what.len());
        }
    }
}
