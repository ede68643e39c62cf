//! `hoist-mcp-demo`: a tiny MCP server to try the proxy on.

#![forbid(unsafe_code)]

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use hoist_bins::cli::{EXIT_USAGE, Environment, Invocation, demo_options};
use hoist_bins::demo::{Server, serve_stdio};

/// The exit code when the server itself fails.
const EXIT_FAILED: u8 = 125;

fn main() -> ExitCode {
    let environment = Environment { home: std::env::var_os("HOME").map(PathBuf::from) };
    let words = std::env::args_os().skip(1).collect();
    match demo_options("hoist-mcp-demo", words, &environment) {
        Ok(Invocation::Run(options)) => {
            match serve_stdio(
                &Server::new(options.world),
                std::io::stdin().lock(),
                std::io::stdout(),
            ) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    fail(&format!("hoist-mcp-demo: {}", with_causes(&error)), EXIT_FAILED)
                }
            }
        }
        // A reader that has seen enough, such as `head`, is no failure.
        Ok(Invocation::Print(text)) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string(), EXIT_USAGE),
    }
}

/// Says why on stderr, if anyone listens.
fn fail(message: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{message}");
    ExitCode::from(code)
}

fn with_causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
