//! The log: where it goes, what is in it, and what trouble with it never does to the traffic.

#[cfg(target_os = "linux")]
mod disk;
mod order;
mod place;
mod refusals;
mod retention;

use std::ffi::OsString;
use std::process::Command;

use crate::host::{demo, hoist_mcp};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;

/// The proxy before the demo server, with these flags.
fn before_demo(flags: &[impl Into<OsString> + Clone]) -> Command {
    let mut command = Command::new(hoist_mcp());
    command.args(flags.iter().cloned().map(Into::into)).arg("--").arg(demo());
    command
}
