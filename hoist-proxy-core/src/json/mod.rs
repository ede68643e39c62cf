//! JSON texts that are looked at and spliced, never re-serialised.
//!
//! A proxy that parses a message into values and writes them out again changes it: numbers are
//! rounded, keys reordered, escapes rewritten. Here a text stays the bytes it was; reading gives
//! slices of it, and an edit puts new bytes in place of one slice.

mod edit;
mod envelope;
mod grammar;
mod keys;
mod raw;
mod scan;
mod tokens;

pub(crate) use edit::message_set;
pub use edit::{array_push, object_remove, object_set};
pub(crate) use envelope::{Envelope, KeyFaults};
pub use raw::{InvalidJson, RawJson};
pub use scan::{EnvelopeScanner, ScannedEnvelope, ScannedKind};
pub(crate) use tokens::{decode, elements, members};
