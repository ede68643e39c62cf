//! What is odd about a session's messages.

use std::fmt;

/// Something in a session that breaks a rule of the log or of the protocol, or that a reader should
/// know. What it is about is left out of the episode, or taken as said here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The line of the log, from 1.
    pub line: u64,
    /// What it is.
    pub kind: FindingKind,
}

/// What a [`Finding`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingKind {
    /// The line is no entry. Only [`check`](super::check) finds it so; whoever reads a session has
    /// it among the problems.
    BadLine {
        /// The column, in bytes from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// The last line has no end: what a crash cut short. Only [`check`](super::check) finds it so.
    TornLine {
        /// How much of it there is.
        bytes: u64,
    },
    /// The time is before that of an earlier line; the earlier time is taken.
    TimeGoesBack {
        /// What the line says.
        t_ms: u64,
        /// What an earlier line says.
        before_ms: u64,
    },
    /// The message, or something in it, cannot be read as JSON-RPC, or a key that counts stands in it
    /// twice.
    NotJsonRpc {
        /// What is wrong.
        what: String,
    },
    /// The message does not say that it is of JSON-RPC 2.0. It is read as if it did.
    OtherVersion {
        /// What is wrong.
        what: String,
    },
    /// The message does not look as MCP's schema says. What can be read of it all the same is.
    NotMcp {
        /// What is wrong.
        what: String,
    },
    /// No request of this id awaits an answer. Not said behind a gap, where the request may be
    /// what is missing.
    AnswerWithoutRequest {
        /// The id.
        id: String,
    },
    /// A request has the id of one that is not answered yet.
    IdInUse {
        /// The id.
        id: String,
    },
    /// The session ended before the request was answered.
    Unanswered {
        /// The id.
        id: String,
        /// The method.
        method: String,
    },
    /// Lines that came are missing here.
    Gap {
        /// How many.
        lines: u64,
        /// Their length on the wire.
        bytes: u64,
    },
}

impl Finding {
    /// Whether a rule is broken; else it is only worth knowing: what is missing was said to be, and
    /// a session may end at any time.
    pub fn is_problem(&self) -> bool {
        !matches!(self.kind, FindingKind::Unanswered { .. } | FindingKind::Gap { .. })
    }

    /// Whether something of the session could not be read, so that it is missing from the episode,
    /// or stands there as it could be read.
    pub fn is_unread(&self) -> bool {
        matches!(
            self.kind,
            FindingKind::BadLine { .. }
                | FindingKind::TornLine { .. }
                | FindingKind::NotJsonRpc { .. }
                | FindingKind::NotMcp { .. }
        )
    }
}

impl FindingKind {
    /// A word for programs, such as `time-goes-back`. It stays the same from version to version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BadLine { .. } => "bad-line",
            Self::TornLine { .. } => "torn-line",
            Self::TimeGoesBack { .. } => "time-goes-back",
            Self::NotJsonRpc { .. } | Self::OtherVersion { .. } => "not-json-rpc",
            Self::NotMcp { .. } => "not-mcp",
            Self::AnswerWithoutRequest { .. } => "answer-without-request",
            Self::IdInUse { .. } => "id-in-use",
            Self::Unanswered { .. } => "unanswered",
            Self::Gap { .. } => "gap",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadLine { what, .. } => write!(f, "not a log entry: {what}"),
            Self::TornLine { bytes } => {
                let s = plural(*bytes);
                write!(f, "the last line is torn: it has {bytes} byte{s} and no line feed")
            }
            Self::TimeGoesBack { t_ms, before_ms } => {
                write!(f, "time goes back: {t_ms} ms after {before_ms} ms")
            }
            Self::NotJsonRpc { what } | Self::OtherVersion { what } => {
                write!(f, "not a JSON-RPC message: {what}")
            }
            Self::NotMcp { what } => write!(f, "not as MCP has it: {what}"),
            Self::AnswerWithoutRequest { id } => {
                write!(f, "an answer to request {id}, which nobody made or which is answered")
            }
            Self::IdInUse { id } => {
                write!(f, "a request with id {id}, which another one that is not answered yet has")
            }
            Self::Unanswered { id, method } => {
                write!(f, "{method} request {id} was not answered before the log ends")
            }
            Self::Gap { lines, bytes } => {
                let (s, were) = (plural(*lines), if *lines == 1 { "was" } else { "were" });
                write!(f, "{lines} line{s} ({bytes} byte{}) that came here ", plural(*bytes))?;
                write!(f, "{were} not recorded")
            }
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Findings, the first of them kept and all counted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Findings {
    /// The first ones, in the order in which they were found.
    pub first: Vec<Finding>,
    /// How many break a rule.
    pub problems: u64,
    /// How many are only worth knowing.
    pub notes: u64,
    /// How many say that something could not be read ([`Finding::is_unread`]).
    pub unread: u64,
}

impl Findings {
    /// How many are kept.
    pub const MAX_KEPT: usize = 1_000;

    pub(super) fn add(&mut self, finding: Finding) {
        if finding.is_problem() {
            self.problems += 1;
        } else {
            self.notes += 1;
        }
        self.unread += u64::from(finding.is_unread());
        if self.first.len() < Self::MAX_KEPT {
            self.first.push(finding);
        }
    }
}
