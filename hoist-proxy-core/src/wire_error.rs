//! The one place where an [`Error`] becomes what a peer is told.
//!
//! A peer sees neither paths, nor the environment, nor a cause's own text.

use crate::{Ambiguity, Error};

/// JSON-RPC: the text is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: the JSON is not a valid request.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: an internal error.
pub const INTERNAL_ERROR: i64 = -32603;

/// Code and message of the JSON-RPC error that a peer gets for `error`.
pub fn wire_error(error: &Error) -> (i64, String) {
    match error {
        Error::Ambiguous(Ambiguity::NotJson) => {
            (PARSE_ERROR, "hoist: the message is not valid JSON, so it was not forwarded".into())
        }
        Error::Ambiguous(_) => {
            (INVALID_REQUEST, format!("hoist: {error}, so it was not forwarded"))
        }
        Error::MessageTooLong { .. } => (INVALID_REQUEST, format!("hoist: {error}")),
        Error::AnswerTooLong { .. }
        | Error::Cancelled
        | Error::Closed { .. }
        | Error::TooEarly
        | Error::TooManyHeld { .. }
        | Error::TooManyRequests { .. }
        | Error::HostCannot { .. }
        | Error::LayerBroke { .. } => (INTERNAL_ERROR, format!("hoist: {error}")),
        Error::LayerSetup { .. } | Error::Connect { .. } | Error::Io { .. } | Error::Other(_) => {
            (INTERNAL_ERROR, "hoist: the proxy failed; its log on stderr says why".into())
        }
    }
}
