//! `hoist-mcp`: the proxy between an MCP host and a server.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    hoist_bins::program::hoist_mcp(std::env::args_os().skip(1).collect())
}
