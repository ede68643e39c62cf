//! The built proxy between odd hosts and odd or real servers, over real pipes.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod acting;
mod framing;
mod host;
mod log;
mod peers;
mod play;
mod real_servers;
mod ways;
