//! The built proxy between real hosts and real servers, over real pipes.

#![forbid(unsafe_code)]

mod host;
mod log;
mod peers;
mod real_servers;
