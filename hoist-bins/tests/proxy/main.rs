//! The built proxy between odd hosts and odd or real servers, over real pipes.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod acting;
mod cli;
mod content;
mod framing;
mod host;
#[cfg(target_os = "linux")]
mod lifecycle;
#[cfg(target_os = "linux")]
mod listener;
mod log;
mod long_lines;
mod peers;
mod play;
mod processes;
mod protocol;
mod real_servers;
mod recording;
#[cfg(target_os = "linux")]
mod sdks;
mod soak;
mod trajectories;
mod ways;
