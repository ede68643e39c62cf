//! A recording proxy inside a program of your own.
//!
//! The lesson: a proxy is three things put together, where hosts come from, how the server is
//! reached, and the layers between. Here they are this program's standard input and output, a
//! child process, and the recorder. Put this program in the place of the server's command, and a
//! host will not notice the difference.
//!
//! ```sh
//! cargo build -p hoist-bins
//! echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' \
//!   | cargo run -q -p hoist-examples --bin embed_recording_proxy -- logs \
//!     target/debug/hoist-mcp-demo
//! ```
//!
//! On a terminal you can be the host yourself: leave out the `echo`, type requests, end with
//! Ctrl-D.

#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "standard output belongs to the protocol")]

use std::ffi::OsString;
use std::process::ExitCode;

use hoist_proxy_core::{Ended, Proxy};
use hoist_trace::{RecordLayer, RecordOptions};
use hoist_transport::{ChildServer, Stdio, Termination};

const USAGE: &str = "\
Usage: embed_recording_proxy LOG_DIR [SERVER [ARGUMENT...]]

Runs SERVER (hoist-mcp-demo from the PATH, unless given) behind a proxy that records the session
to a file in LOG_DIR.";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(logs) = words.next().filter(|word| !word.to_string_lossy().starts_with('-')) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut command: Vec<OsString> = words.collect();
    if command.is_empty() {
        command.push("hoist-mcp-demo".into());
    }
    match serve(logs, &command) {
        // The server's exit code is the program's, as if the proxy were not there.
        Ok(ended) => {
            ExitCode::from(ended.exit_code.and_then(|code| code.try_into().ok()).unwrap_or(0))
        }
        Err(error) => {
            eprintln!("embed_recording_proxy: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn serve(logs: OsString, command: &[OsString]) -> Result<Ended, Box<dyn std::error::Error>> {
    // Catches SIGTERM and the like, so that the server is ended with the proxy.
    let termination = Termination::catch()?;
    let host = Stdio::new().watched_by(&termination);
    let server = ChildServer::new(&command[0], &command[1..]).told_by(&termination);
    let recorder = RecordLayer::new(
        RecordOptions::new(logs)
            .server_command(command)
            .on_open(|path| eprintln!("recording to {}", path.display()))
            .on_close(|_, report| eprintln!("{} lines recorded", report.lines_written)),
    );
    let report = Proxy::new(host, server).layer(recorder).run(termination.requested()).await?;
    Ok(report.into_last()?)
}
