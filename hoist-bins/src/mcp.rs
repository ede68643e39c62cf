//! `hoist-mcp`: the proxy, wired up from its options.

use std::error::Error as StdError;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use hoist_proxy_core::{Downstream, Error, Layer, Proxy, SessionId};
use hoist_trace::{RecordLayer, RecordOptions};
use hoist_transport::{Stderr, Stdio, Termination};

use crate::cli::{EXIT_USAGE, McpOptions};
use crate::diagnostics::{report_to, with_causes};
use crate::listen::{self, ListenerError};
use crate::server::{Server, ServerError, server};

/// The exit code when the proxy itself fails: the log cannot be created, the server not be
/// started.
pub const EXIT_FAILED: u8 = 125;

/// What the proxy takes from its surroundings besides its options.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What messages on standard error start with: `hoist-mcp`.
    pub program: String,
    /// The host session as the host names it: `HOIST_SESSION`.
    pub host_session: Option<String>,
    /// The directories in which a server's program is looked for: `PATH`.
    pub search_path: Option<OsString>,
    /// Looks up a variable of the environment: the values of headers, and proxies.
    pub variable: fn(&str) -> Option<OsString>,
}

/// Nothing is around.
impl Default for Surroundings {
    fn default() -> Self {
        Self { program: String::new(), host_session: None, search_path: None, variable: |_| None }
    }
}

impl Surroundings {
    /// The surroundings of this process, for a program of this name.
    pub fn of_process(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            host_session: std::env::var_os("HOIST_SESSION")
                .filter(|name| !name.is_empty())
                .map(|name| name.to_string_lossy().into_owned()),
            search_path: std::env::var_os("PATH"),
            variable: |name| std::env::var_os(name),
        }
    }
}

/// Runs the proxy between this process's standard input and output and the server, until the
/// server has ended. Returns the exit code: the server's, [`EXIT_FAILED`], or
/// [`EXIT_USAGE`] for a server or a listener that cannot be as the options say.
pub fn run(options: McpOptions, surroundings: &Surroundings) -> u8 {
    run_with(options, surroundings, Vec::new())
}

/// As [`run`], with more layers, outermost first, inside the recorder.
pub fn run_with(
    options: McpOptions,
    surroundings: &Surroundings,
    layers: Vec<Box<dyn Layer>>,
) -> u8 {
    let stderr = Arc::new(Stderr::new(format!("{}: ", surroundings.program)));
    report_to(Arc::clone(&stderr));
    match serve(options, surroundings, layers, &stderr) {
        Ok(code) => code,
        Err(error) => {
            // That a log is a layer's is nothing a user needs to know.
            let shown: &dyn std::error::Error = match error.downcast_ref() {
                Some(Error::LayerSetup { source, .. }) => source,
                _ => &*error,
            };
            stderr.say(&with_causes(shown));
            let server = error.downcast_ref().map(ServerError::exit_code);
            // The listener that the options describe cannot be.
            let listener = error.is::<ListenerError>().then_some(EXIT_USAGE);
            server.or(listener).unwrap_or(EXIT_FAILED)
        }
    }
}

fn serve(
    options: McpOptions,
    surroundings: &Surroundings,
    layers: Vec<Box<dyn Layer>>,
    stderr: &Arc<Stderr>,
) -> Result<u8, Box<dyn StdError>> {
    let runtime = runtime(options.listen.is_some())?;
    let code = runtime.block_on(async {
        // Before anything is started, so that no signal is lost.
        let termination = Termination::catch().map_err(starting("catching signals"))?;
        // The log is not worth the session.
        hoist_transport::outlive_file_limit().map_err(starting("catching signals"))?;
        let server = server(&options, surroundings, &termination)?;
        if let Some(listen) = &options.listen {
            let listening = listen::listener(listen)?.bind().await?;
            let (url, closed) = (listening.url().to_owned(), listening.closed());
            let proxy = Proxy::new(listening, server).on_session(listen::tell(stderr));
            if let Some(dir) = &options.record {
                // Not each host is to learn of it in turn.
                hoist_trace::create_log_dir(dir)?;
                stderr.say(&format!("recording to {}", dir.display()));
            }
            let proxy = with_layers(proxy, options, surroundings, layers, stderr);
            listen::announce(&url, stderr);
            listen::run(proxy, closed, &termination, stderr).await?;
            return Ok(0);
        }
        let process_id = std::process::id();
        let proxy = Proxy::new(Stdio::new().watched_by(&termination), server)
            .session_names(move |_| SessionId::at(SystemTime::now(), process_id, None));
        let proxy = with_layers(proxy, options, surroundings, layers, stderr);
        let report = proxy.run(termination.requested()).await?;
        Ok::<u8, Box<dyn StdError>>(exit_code(report.into_last()?.exit_code))
    });
    // A thread that waits for standard input must not keep the process.
    runtime.shutdown_background();
    code
}

fn starting(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Io { what, source: Arc::new(source) }
}

/// What sessions run on: one host is one task; many hosts have all there is.
pub(crate) fn runtime(many_hosts: bool) -> Result<tokio::runtime::Runtime, Error> {
    room_for_runtime().map_err(starting("opening the files of the async runtime"))?;
    let mut runtime = if many_hosts {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    runtime.enable_all().build().map_err(starting("starting the async runtime"))
}

/// The runtime panics where it cannot open what it needs for signals, so that is tried before.
#[cfg(unix)]
fn room_for_runtime() -> std::io::Result<()> {
    let pair = std::os::unix::net::UnixStream::pair;
    let _more_than_it_needs = [pair()?, pair()?, pair()?, pair()?];
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "there is no such limit on other systems")]
fn room_for_runtime() -> std::io::Result<()> {
    Ok(())
}

fn with_layers<D: Downstream>(
    proxy: Proxy<D, Server>,
    options: McpOptions,
    surroundings: &Surroundings,
    layers: Vec<Box<dyn Layer>>,
    stderr: &Arc<Stderr>,
) -> Proxy<D, Server> {
    let mut proxy = proxy.max_message_bytes(options.max_message_bytes).end_grace(options.grace);
    if options.record.is_some() {
        proxy = proxy.layer(recorder(options, surroundings, stderr));
    }
    for layer in layers {
        proxy = proxy.layer(layer);
    }
    proxy
}

fn recorder(options: McpOptions, surroundings: &Surroundings, stderr: &Arc<Stderr>) -> RecordLayer {
    let dir = options.record.unwrap_or_default();
    // Whoever reads where the log is may be in another directory.
    let dir = std::path::absolute(&dir).unwrap_or(dir);
    let (opened, closed) = (Arc::clone(stderr), Arc::clone(stderr));
    let mut record = RecordOptions::new(dir)
        .server_command(options.command)
        // Whoever lets messages be longer wants them in the log, too.
        .queue_max_bytes(RecordOptions::QUEUE_MAX_BYTES.max(options.max_message_bytes))
        .on_close(move |path, report| say_lost(&closed, path, report));
    if options.listen.is_none() {
        record =
            record.on_open(move |path| opened.say(&format!("recording to {}", path.display())));
        // Hosts by URL name their sessions themselves.
        if let Some(session) = surroundings.host_session.clone().or_else(host_process) {
            record = record.host_session(session);
        }
    }
    if let Some(upstream) = &options.upstream {
        record = record.server_url(&upstream.url);
    }
    if let Some(domain) = options.domain {
        record = record.domain(domain);
    }
    if let Some(model) = options.agent_model {
        record = record.agent_model(model);
    }
    if let Some(name) = options.server_name {
        record = record.server_name(name);
    }
    if let Some(days) = options.retain_days {
        record = record.retain_days(days);
    }
    RecordLayer::new(record)
}

/// Says how much of a session is missing from its log.
fn say_lost(stderr: &Stderr, path: &Path, report: &hoist_trace::Report) {
    let lines = match report.lines_lost {
        0 => return,
        1 => "1 line was".to_owned(),
        lines => format!("{lines} lines were"),
    };
    let bytes = report.bytes_lost;
    stderr.say(&format!("{lines} not recorded ({bytes} bytes); the log is {}", path.display()));
}

/// The host session unless it is named: the host's process, which every server it starts shares.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "there is none on other systems")]
fn host_process() -> Option<String> {
    Some(format!("host-{}", std::os::unix::process::parent_id()))
}

#[cfg(not(unix))]
fn host_process() -> Option<String> {
    None
}

/// What a shell would show for a server that ended so.
fn exit_code(code: Option<i32>) -> u8 {
    // Where exit codes are wider, what does not fit is still a failure.
    code.map_or(0, |code| u8::try_from(code).unwrap_or(u8::MAX))
}
