#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod blocking;
mod child;
mod framing;
mod http_server;
mod listener;
mod reader;
mod signals;
mod stderr;
mod stdio;
mod termination;
#[cfg(unix)]
mod unix_fd;
mod writer;

pub use child::ChildServer;
pub use framing::Framer;
pub use http_server::{
    HttpServer, InvalidProxy, InvalidServer, InvalidUrl, ProxySettings, SseEvent, SseParser,
};
pub use listener::{InvalidListener, ListenError, Listener, Listening};
pub use reader::LineReader;
pub use signals::outlive_file_limit;
pub use stderr::Stderr;
pub use stdio::Stdio;
pub use termination::Termination;
pub use writer::LineWriter;
