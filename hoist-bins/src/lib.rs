#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cli;
pub mod demo;
mod diagnostics;
mod diff;
mod export;
mod listen;
mod logs;
pub mod mcp;
mod private;
pub mod program;
mod redact;
mod replay;
mod server;
mod show;
mod text;
mod validate;
pub mod walkthrough;
