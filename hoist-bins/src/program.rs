//! From a process's words to its exit code: what each `main` does.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;

use futures::future::{Either, select};
use hoist_trace::credentials::redact_url;
use hoist_transport::Termination;

use crate::cli::{
    DemoOptions, DiffOptions, EXIT_USAGE, Environment, ExportOptions, Invocation, McpOptions,
    RedactOptions, ReplayOptions, ShowOptions, TryOptions, UsageError, ValidateOptions,
    demo_options, mcp_options, parse, tables,
};
use crate::demo::{Oddity, Server, serve_http, serve_stdio};
use crate::diagnostics::with_causes;
use crate::mcp::{self, EXIT_FAILED, Surroundings};
use crate::{diff, export, redact, replay, show, validate, walkthrough};

/// Runs `hoist-mcp` with these words after its name.
pub fn hoist_mcp(words: Vec<OsString>) -> ExitCode {
    const NAME: &str = "hoist-mcp";
    start(mcp_options(NAME, words, &environment()), |options| mcp(options, NAME))
}

/// Runs `hoist-mcp-demo` with these words after its name.
pub fn hoist_mcp_demo(words: Vec<OsString>) -> ExitCode {
    const NAME: &str = "hoist-mcp-demo";
    start(demo_options(NAME, words, &environment()), |options| demo(options, NAME))
}

/// Runs `hoist` with these words after its name: the other programs, and commands of its own.
pub fn hoist(words: Vec<OsString>) -> ExitCode {
    start(parse(&tables::HOIST, "hoist", words, &environment()), |matches| {
        let command = matches.command();
        let name = matches.program();
        if std::ptr::eq(command, &raw const tables::MCP) {
            // Messages and logs name the program, however it was started.
            match McpOptions::try_from(&matches) {
                Ok(options) => mcp(options, "hoist-mcp"),
                Err(error) => fail(&error.to_string(), EXIT_USAGE),
            }
        } else if std::ptr::eq(command, &raw const tables::DEMO) {
            demo(DemoOptions::from(&matches), name)
        } else if std::ptr::eq(command, &raw const tables::SHOW) {
            match ShowOptions::try_from(&matches) {
                Ok(options) => ExitCode::from(show::run(&options, name)),
                Err(error) => fail(&error.to_string(), EXIT_USAGE),
            }
        } else if std::ptr::eq(command, &raw const tables::REPLAY) {
            ExitCode::from(replay::run(&ReplayOptions::from(&matches), name))
        } else if std::ptr::eq(command, &raw const tables::VALIDATE) {
            ExitCode::from(validate::run(&ValidateOptions::from(&matches), name))
        } else if std::ptr::eq(command, &raw const tables::REDACT) {
            match RedactOptions::try_from(&matches) {
                Ok(options) => ExitCode::from(redact::run(&options, name)),
                Err(error) => fail(&error.to_string(), EXIT_USAGE),
            }
        } else if std::ptr::eq(command, &raw const tables::EXPORT) {
            match ExportOptions::try_from(&matches) {
                Ok(options) => ExitCode::from(export::run(&options, name)),
                Err(error) => fail(&error.to_string(), EXIT_USAGE),
            }
        } else if std::ptr::eq(command, &raw const tables::DIFF) {
            match DiffOptions::try_from(&matches) {
                Ok(options) => ExitCode::from(diff::run(&options, name)),
                Err(error) => fail(&error.to_string(), EXIT_USAGE),
            }
        } else {
            match walkthrough::run(&TryOptions::from(&matches), &mut std::io::stdout()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(&format!("{name}: {}", with_causes(&error)), EXIT_FAILED),
            }
        }
    })
}

fn mcp(options: McpOptions, name: &str) -> ExitCode {
    ExitCode::from(mcp::run(options, &Surroundings::of_process(name)))
}

fn demo(options: DemoOptions, name: &str) -> ExitCode {
    let server = Server::new(options.world);
    if let Some(address) = options.http {
        return demo_http(server, address, options.odd, name);
    }
    match serve_stdio(&server, std::io::stdin().lock(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{name}: {}", with_causes(&error)), EXIT_FAILED),
    }
}

/// Serves until a signal asks it to end.
fn demo_http(server: Server, address: SocketAddr, odd: Vec<Oddity>, name: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.and_then(|runtime| {
        runtime.block_on(async {
            // Before the URL is told, so that no signal is lost.
            let termination = Termination::catch()?;
            let serving = pin!(serve_http(server, address, odd, |url| {
                // Whoever does not read it has no use for the server.
                let _ = writeln!(std::io::stdout(), "{url}");
                let _ = std::io::stdout().flush();
            }));
            match select(serving, pin!(termination.requested())).await {
                Either::Left((result, _)) => result,
                Either::Right(_) => Ok(()),
            }
        })
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{name}: cannot serve at {address}: {error}"), EXIT_FAILED),
    }
}

fn start<T>(
    parsed: Result<Invocation<T>, UsageError>,
    run: impl FnOnce(T) -> ExitCode,
) -> ExitCode {
    match parsed {
        Ok(Invocation::Run(options)) => run(options),
        Ok(Invocation::Print(text)) => {
            let mut out = std::io::stdout();
            match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that has seen enough, such as `head`, is no failure.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    fail(&format!("cannot write to standard output: {error}"), 1)
                }
                _ => ExitCode::SUCCESS,
            }
        }
        Err(error) => fail(&error.to_string(), EXIT_USAGE),
    }
}

fn environment() -> Environment {
    Environment { home: std::env::var_os("HOME").map(PathBuf::from) }
}

/// Says why on standard error, if anyone listens.
fn fail(message: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{}", redact_url(message));
    ExitCode::from(code)
}
