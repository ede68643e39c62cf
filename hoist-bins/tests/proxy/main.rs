//! The built proxy between odd hosts and odd or real servers, over real pipes.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod acting;
mod content;
mod framing;
mod host;
mod log;
mod long_lines;
mod peers;
mod play;
mod protocol;
mod real_servers;
mod ways;
