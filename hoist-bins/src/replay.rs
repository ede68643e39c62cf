//! `hoist replay`: recorded sessions as an MCP server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hoist_proxy_core::{Error, Proxy};
use hoist_trace::replay::{Recording, ReplayServer};
use hoist_transport::{ListenError, Listener, Stderr, Stdio, Termination};

use crate::cli::{EXIT_USAGE, ReplayOptions};
use crate::diagnostics::{complain, report_to, with_causes};
use crate::listen;
use crate::logs;
use crate::mcp::{EXIT_FAILED, runtime};
use crate::text;

/// The exit code when something was asked that was not recorded, or nothing can be served.
const EXIT_PROBLEM: u8 = 1;

/// Serves until the host leaves, or a signal asks it to end. Returns the exit code.
pub(crate) fn run(options: &ReplayOptions, program: &str) -> u8 {
    let Some(recording) = recording(&options.paths, program) else { return EXIT_PROBLEM };
    let stderr = Arc::new(Stderr::new(format!("{program}: ")));
    report_to(Arc::clone(&stderr));
    let tell = Arc::clone(&stderr);
    let server = ReplayServer::new(recording)
        .strict(options.strict)
        .pace(options.pace)
        .on_miss(move |miss| tell.say(&text::visible(&miss.to_string())));
    match serve(options.listen, server.clone(), &stderr) {
        Ok(()) if options.strict && server.misses() > 0 => EXIT_PROBLEM,
        Ok(()) => 0,
        Err(error) => {
            stderr.say(&with_causes(&*error));
            match error.downcast_ref() {
                Some(ListenError::NotLoopback { .. }) => EXIT_USAGE,
                _ => EXIT_FAILED,
            }
        }
    }
}

/// What the logs hold, in the order in which their sessions began; nothing where none can be read.
fn recording(paths: &[PathBuf], program: &str) -> Option<Recording> {
    let mut sessions = Vec::new();
    for log in logs::find(paths) {
        let opened = log.and_then(|log| {
            let reader = logs::open(&log.path)?;
            Ok((log.path, reader))
        });
        match opened {
            Ok((path, reader)) => {
                let mut recording = Recording::default();
                let began = reader.header().started_unix_ms;
                match recording.add(reader) {
                    Ok(report) if report.bad_lines > 0 => {
                        let (lines, path) =
                            (text::counted(report.bad_lines, "line"), text::file(&path));
                        let said = format!(
                            "{path}: {lines} not readable; `hoist validate {path}` lists them"
                        );
                        complain(program, &said);
                    }
                    Ok(_) => {}
                    Err(error) => complain(program, &with_causes(&error)),
                }
                sessions.push((began, path, recording));
            }
            Err(error) => complain(program, &with_causes(&error)),
        }
    }
    sessions.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let mut all = Recording::default();
    for (_, _, recording) in sessions {
        all.append(recording);
    }
    if all.answers() == 0 {
        complain(
            program,
            "no answer of a server's was recorded there, so there is nothing to serve",
        );
        return None;
    }
    Some(all)
}

fn serve(
    address: Option<SocketAddr>,
    server: ReplayServer,
    stderr: &Arc<Stderr>,
) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = runtime(address.is_some())?;
    let outcome = runtime.block_on(async {
        let caught = Termination::catch();
        let termination = caught
            .map_err(|source| Error::Io { what: "catching signals", source: Arc::new(source) })?;
        let Some(address) = address else {
            let proxy = Proxy::new(Stdio::new().watched_by(&termination), server);
            proxy.run(termination.requested()).await?.into_last()?;
            return Ok(());
        };
        let listening = Listener::new(address).bind().await?;
        let (url, closed) = (listening.url().to_owned(), listening.closed());
        listen::announce(&url, stderr);
        listen::run(Proxy::new(listening, server), closed, &termination, stderr).await?;
        Ok(())
    });
    // A thread that waits for standard input must not keep the process.
    runtime.shutdown_background();
    outcome
}
