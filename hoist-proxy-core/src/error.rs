//! The engine's error.

use std::sync::Arc;
use std::time::Duration;
use std::{error, io};

use crate::Direction;

/// A cause of any type, shared so that an [`Error`] can be cloned: the same failure may be told to
/// several layers.
pub type Cause = Arc<dyn error::Error + Send + Sync>;

/// What the engine, a transport or a layer failed with.
///
/// Each variant says whose doing it is. [`wire_error`](crate::wire_error) is the one place that
/// turns an error into what a peer is told.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer that made the request cancelled it, or the session ended around it.
    #[error("the request was cancelled")]
    Cancelled,

    /// The party a request should go to, or whose answer it waits for, is gone.
    #[error("the {} is gone", direction.receiver())]
    Closed {
        /// Which way the request went.
        direction: Direction,
    },

    /// A request of the proxy's own before the session allows one: before the host's handshake
    /// (legacy), or as the first message on a connection.
    #[error("the session is not open for requests of the proxy's own yet")]
    TooEarly,

    /// More exchanges are held than the engine allows.
    #[error("{max} exchanges are being held already")]
    TooManyHeld {
        /// The limit.
        max: usize,
    },

    /// More requests are in flight through the layers than the engine allows.
    #[error("{max} requests are in flight already")]
    TooManyRequests {
        /// The limit.
        max: usize,
    },

    /// A message is longer than the limit.
    #[error("a message of {len_bytes} bytes is over the limit of {max_bytes} bytes")]
    MessageTooLong {
        /// Its length, in bytes.
        len_bytes: u64,
        /// The limit, in bytes.
        max_bytes: usize,
    },

    /// An answer is longer than the limit, so its requester gets this in its place.
    #[error("the answer of {len_bytes} bytes is over the limit of {max_bytes} bytes")]
    AnswerTooLong {
        /// Its length, in bytes.
        len_bytes: u64,
        /// The limit, in bytes.
        max_bytes: usize,
    },

    /// A host's message that the server might read in another way than the layers did.
    #[error("the message can be read in two ways: {0}")]
    Ambiguous(Ambiguity),

    /// The host cannot be asked this: it did not declare the capability, or has no way to answer.
    #[error("the host does not take {method}")]
    HostCannot {
        /// What it would have been asked.
        method: String,
    },

    /// A layer's own fault.
    #[error("layer {layer} {how}")]
    LayerBroke {
        /// The layer's name.
        layer: String,
        /// What it did.
        how: Breakage,
        /// What it failed with, if it failed.
        source: Option<Cause>,
    },

    /// A layer could not be set up for a session.
    #[error("layer {layer} cannot start")]
    LayerSetup {
        /// The layer's name.
        layer: String,
        /// Why.
        source: Cause,
    },

    /// The server could not be started or reached.
    #[error("{what}")]
    Connect {
        /// What was tried, on what, and what to do.
        what: String,
        /// Why it failed.
        source: Option<Cause>,
    },

    /// Reading or writing failed.
    #[error("{what} failed")]
    Io {
        /// What was done, to which party.
        what: &'static str,
        /// Why it failed.
        source: Arc<io::Error>,
    },

    /// A failure of a layer's own kind.
    #[error(transparent)]
    Other(Cause),
}

impl Error {
    /// A failure of a layer's own kind.
    pub fn other(cause: impl error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Arc::new(cause))
    }

    /// Whether the request was cancelled, so that nobody waits for an answer.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

/// How a layer broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breakage {
    /// It panicked.
    Panicked,
    /// It returned an error.
    Failed,
    /// It held longer than it said it would.
    HeldTooLong(Duration),
    /// It would have held when too many exchanges were held already.
    Crowded,
}

impl std::fmt::Display for Breakage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panicked => f.write_str("panicked"),
            Self::Failed => f.write_str("failed"),
            Self::HeldTooLong(limit) => write!(f, "held for more than {limit:?}"),
            Self::Crowded => f.write_str("would hold when too many exchanges are held already"),
        }
    }
}

/// In what way a message can be read in two ways.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ambiguity {
    /// A key stands twice in one object.
    RepeatedKey(String),
    /// A key differs from one of MCP's only in letter case.
    LetterCase(String),
    /// Not one JSON text, though a lenient parser may take it for one.
    NotJson,
    /// A key or a method name is no Unicode text (a lone surrogate).
    NotText,
    /// A member of the envelope has a type JSON-RPC does not allow there.
    Envelope(&'static str),
}

impl std::fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RepeatedKey(key) => write!(f, "key {key:?} stands twice"),
            Self::LetterCase(key) => write!(f, "key {key:?} differs in letter case only"),
            Self::NotJson => f.write_str("it is not valid JSON"),
            Self::NotText => f.write_str("a key or the method is not Unicode text"),
            Self::Envelope(what) => write!(f, "its {what} has the wrong type"),
        }
    }
}
