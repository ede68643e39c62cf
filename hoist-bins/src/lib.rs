#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cli;
pub mod demo;
mod diagnostics;
pub mod mcp;
pub mod program;
pub mod walkthrough;
