//! What is odd about a run.

use std::fmt;

/// Something in a run that breaks a rule of its format, or that a reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Oddity {
    /// The message or step, from 1, as [`seq`](crate::episode::ToolCall::seq) counts them.
    pub message: u64,
    /// What it is.
    pub kind: OddityKind,
}

/// What an [`Oddity`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OddityKind {
    /// A result that belongs to no call; it is left out.
    ResultWithoutCall {
        /// The id that it names, if any.
        id: Option<String>,
    },
    /// A call that has no result.
    Unanswered {
        /// The call's id in the episode.
        id: String,
        /// The tool.
        name: String,
    },
    /// A call without the name of a tool.
    CallWithoutName {
        /// The call's id in the episode.
        id: String,
    },
    /// Arguments that are text and no JSON; the text is what they are in the episode.
    ArgumentsNotJson {
        /// The call's id in the episode.
        id: String,
    },
    /// A time before that of an earlier message; the earlier time is taken.
    TimeGoesBack,
    /// A message of a role that is not known; it is left out.
    UnknownRole {
        /// The role.
        role: String,
    },
}

impl Oddity {
    /// Whether a rule is broken; else it is only worth knowing: a run may be cut off at any time.
    pub fn is_problem(&self) -> bool {
        !matches!(self.kind, OddityKind::Unanswered { .. })
    }
}

impl OddityKind {
    /// A word for programs, such as `result-without-call`. It stays the same from version to
    /// version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ResultWithoutCall { .. } => "result-without-call",
            Self::Unanswered { .. } => "unanswered",
            Self::CallWithoutName { .. } => "call-without-name",
            Self::ArgumentsNotJson { .. } => "arguments-not-json",
            Self::TimeGoesBack => "time-goes-back",
            Self::UnknownRole { .. } => "unknown-role",
        }
    }
}

impl fmt::Display for OddityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ResultWithoutCall { id: Some(id) } => {
                write!(f, "a result for call {id}, which was not made or has one already")
            }
            Self::ResultWithoutCall { id: None } => {
                f.write_str("a result that names no call, where none awaits one")
            }
            Self::Unanswered { id, name } => write!(f, "call {id} of {name} has no result"),
            Self::CallWithoutName { id } => write!(f, "call {id} names no tool"),
            Self::ArgumentsNotJson { id } => {
                write!(f, "the arguments of call {id} are no JSON, and are kept as text")
            }
            Self::TimeGoesBack => f.write_str("its time is before that of an earlier message"),
            Self::UnknownRole { role } => write!(f, "a message of the unknown role {role:?}"),
        }
    }
}
