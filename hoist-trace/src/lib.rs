#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod canonical;
pub mod credentials;
pub mod episode;
mod json;
pub mod log;
pub mod mcp;
#[cfg(feature = "recorder")]
mod recorder;
pub mod redact;
#[cfg(feature = "recorder")]
pub mod replay;
pub mod retention;
mod runs;
pub mod sessions;
mod turns;

pub use canonical::canonical_json;
pub use episode::Episode;
pub use json::Json;

#[cfg(feature = "recorder")]
pub use recorder::{CreateError, RecordLayer, RecordOptions, Recorder, Report, create_log_dir};
