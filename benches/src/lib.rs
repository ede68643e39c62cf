//! What the benches measure with: messages and session logs like those of real sessions, of any
//! size. The same input gives the same bytes.

#![forbid(unsafe_code)]

mod log;
mod messages;

pub use log::session_log;
pub use messages::{answer, answer_of_bytes, record, request, request_of_bytes};
