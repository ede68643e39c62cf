//! What reading sessions fails with.

use std::io;
use std::path::{Path, PathBuf};

use crate::log::LogError;

/// Why something could not be read. The rest is read all the same.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A session log, or a line of one.
    #[error(transparent)]
    Log(#[from] LogError),

    /// The file or directory could not be opened or read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },

    /// The file is of none of the formats. Said of files that were named; others are passed over.
    #[error(
        "{} holds no session: it is neither a Hoist session log nor a file of runs or trajectories \
         in a format that is known",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },

    /// One run cannot be read as what it should be.
    #[error("{}:{line}:{column}: skipped {at}: {what}", path.display())]
    BadRun {
        /// The file.
        path: PathBuf,
        /// The line of what is wrong, from 1.
        line: u64,
        /// Its column, in bytes from 1.
        column: u64,
        /// Which run it is, such as `simulations[3]`.
        at: String,
        /// What is wrong with it.
        what: String,
    },

    /// The file is cut short or no JSON, and what follows cannot be read.
    #[error("{}:{line}:{column}: {what}: nothing after that was read", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line up to which it was read, from 1.
        line: u64,
        /// The column, in bytes from 1.
        column: u64,
        /// What is wrong.
        what: String,
    },

    /// A results folder's index and its files do not agree.
    #[error(
        "{}: {} {id}",
        path.display(),
        if *has_file { "its index lacks" } else { "there is no file in simulations/ for" }
    )]
    Index {
        /// The results file.
        path: PathBuf,
        /// The run.
        id: String,
        /// Whether it has a file, and is missing in the index; else the other way round.
        has_file: bool,
    },

    /// A results file whose runs are files of their own, read from where nothing stands beside it.
    #[error(
        "{}: its runs are files in a folder simulations/ beside it; name it as a file",
        path.display()
    )]
    RunsElsewhere {
        /// What it was called.
        path: PathBuf,
    },

    /// Logs of one host session that cannot be told apart by their server's name.
    #[error(
        "{} and {}: two servers named {server:?} at once in host session {host_session}, so its \
         logs stay apart; name each with --server-name",
        path.display(),
        other.display()
    )]
    SameName {
        /// One of them.
        path: PathBuf,
        /// The other.
        other: PathBuf,
        /// The name.
        server: String,
        /// The host session.
        host_session: String,
    },
}

impl ReadError {
    /// The file or directory it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Log(error) => error.path(),
            Self::Io { path, .. }
            | Self::Unknown { path }
            | Self::BadRun { path, .. }
            | Self::Broken { path, .. }
            | Self::Index { path, .. }
            | Self::RunsElsewhere { path }
            | Self::SameName { path, .. } => path,
        }
    }

    /// The line it is about, from 1; `None` where it is about the file.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Log(error) => error.line(),
            Self::BadRun { line, .. } | Self::Broken { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// The column in that line, in bytes from 1, where there is one to name.
    pub fn column(&self) -> Option<u64> {
        match self {
            Self::Log(error) => error.column().map(|column| column as u64),
            Self::BadRun { column, .. } | Self::Broken { column, .. } => Some(*column),
            _ => None,
        }
    }

    /// Whether no session is lost by it.
    pub fn is_notice(&self) -> bool {
        matches!(self, Self::SameName { .. })
    }

    /// A word for programs, such as `bad-run`. It stays the same from version to version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Log(LogError::Empty { .. }) => "empty",
            Self::Log(LogError::NotALog { .. }) => "not-a-log",
            Self::Log(LogError::Version { .. }) => "wrong-version",
            Self::Log(LogError::BadLine { .. }) => "bad-line",
            Self::Log(_) | Self::Io { .. } => "unreadable",
            Self::Unknown { .. } => "unknown-format",
            Self::BadRun { .. } => "bad-run",
            Self::Broken { .. } => "broken",
            Self::Index { .. } => "index",
            Self::RunsElsewhere { .. } => "runs-elsewhere",
            Self::SameName { .. } => "same-name",
        }
    }
}
