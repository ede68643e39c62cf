//! `hoist-mcp-demo`: a tiny MCP server to try the proxy on.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    hoist_bins::program::hoist_mcp_demo(std::env::args_os().skip(1).collect())
}
