#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod credentials;
pub mod log;
pub mod mcp;
#[cfg(feature = "recorder")]
mod recorder;
pub mod retention;

#[cfg(feature = "recorder")]
pub use recorder::{CreateError, RecordLayer, RecordOptions, Recorder, Report};
