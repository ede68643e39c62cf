#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod blocking;
mod framing;
mod reader;
mod stdio;
#[cfg(unix)]
mod unix_fd;
mod writer;

pub use framing::Framer;
pub use reader::LineReader;
pub use stdio::Stdio;
pub use writer::LineWriter;
