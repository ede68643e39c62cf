//! `hoist try`: the demo server behind the proxy, a small scripted agent, and what was recorded.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hoist_trace::log::{Content, Entry, LogError};
use hoist_trace::mcp::read_log;
use serde_json::{Value, json};
use thiserror::Error;

use crate::cli::TryOptions;
use crate::private;
use crate::text::cut;

/// Why the walkthrough could not be run to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WalkthroughError {
    /// A file or a process failed.
    #[error("{what} failed")]
    Io {
        /// What was done, on what.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The demo server or the proxy did not answer as it should.
    #[error("{what}; this is a fault of Hoist's, please report it")]
    Unexpected {
        /// What came in place of what.
        what: String,
    },
    /// The proxy did not start; it says why.
    #[error("{said}")]
    NotStarted {
        /// What the proxy said.
        said: String,
    },
    /// The log cannot be read.
    #[error("the log that was just recorded cannot be read")]
    Log(#[source] LogError),
}

type Result<T> = std::result::Result<T, WalkthroughError>;

/// The widest line that is shown, in columns.
const WIDTH: usize = 100;

/// Runs the walkthrough and writes what happens to `out`.
///
/// It starts this executable twice more, as the proxy and as the demo server, and uses no network.
///
/// # Errors
///
/// [`WalkthroughError`] when a step fails.
pub fn run(options: &TryOptions, out: &mut impl Write) -> Result<()> {
    let temporary = options.record.is_none();
    let dir = match &options.record {
        Some(dir) => dir.clone(),
        None => temporary_dir(&std::env::temp_dir())?,
    };
    let result = record_and_show(&dir, temporary, out);
    if temporary {
        // Nothing in it is worth an error of its own.
        let _ = fs::remove_dir_all(&dir);
    }
    result
}

/// Makes a new directory in this one, which must be there: the recorder would make both, and only
/// one of them would be removed.
fn temporary_dir(parent: &Path) -> Result<PathBuf> {
    let name = format!("hoist-try-{}", std::process::id());
    for attempt in 0..100_u32 {
        let dir = parent.join(format!("{name}-{attempt}"));
        match private::new_dir(&dir) {
            Ok(()) => return Ok(dir),
            // What an earlier process of this number left behind, or somebody put there.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                let what = format!("making a temporary directory in {}", parent.display());
                return Err(WalkthroughError::Io { what, source });
            }
        }
    }
    Err(unexpected(&format!("{} is full of {name}-...", parent.display())))
}

fn record_and_show(dir: &Path, temporary: bool, out: &mut impl Write) -> Result<()> {
    let this = std::env::current_exe().map_err(io_error("finding this program"))?;
    let arguments: Vec<OsString> = ["mcp", "--record"]
        .map(Into::into)
        .into_iter()
        .chain([dir.into()])
        .chain(["--domain", "retail", "--agent-model", "scripted", "--"].map(Into::into))
        .chain([this.clone().into()])
        .chain(["demo", "--world", "retail"].map(Into::into))
        .collect();
    say(out, "A scripted agent talks to the demo shop through the proxy.\n")?;
    say(out, "  agent  <->  hoist-mcp --record  <->  hoist-mcp-demo --world retail\n")?;
    let mut agent = Agent::start(&this, &arguments)?;
    converse(&mut agent, out)?;
    let path = agent.end()?;
    show(&path, temporary, out)?;
    say(
        out,
        "\nPut the proxy in front of a server of yours: in your host's configuration, replace",
    )?;
    say(out, "the server's command by")?;
    say(out, "  hoist-mcp --record ~/.hoist/logs -- <the server's command>")?;
    say(out, "and look at what your agent did with")?;
    say(out, "  hoist show ~/.hoist/logs")
}

/// What the agent does: finds a customer, looks at an order, cancels it.
fn converse(agent: &mut Agent, out: &mut impl Write) -> Result<()> {
    let opened = agent.request(
        "initialize",
        concat!(
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"hoist-try","#,
            r#""version":""#,
            env!("CARGO_PKG_VERSION"),
            r#""}}"#
        ),
    )?;
    agent.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    let server = text_at(&opened, "/serverInfo/name")?;
    let tools = agent.request("tools/list", "{}")?;
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    say(out, &format!("{server} has the tools {}.\n", names.join(", ")))?;

    let user = agent.call(out, "find_user_id_by_email", &json!({ "email": "c7@example.com" }))?;
    let user_id = text_at(&user, "/user_id")?;
    let details = agent.call(out, "get_user_details", &json!({ "user_id": user_id }))?;
    let order_id = text_at(&details, "/orders/0")?;
    agent.call(out, "get_order_details", &json!({ "order_id": order_id }))?;
    let reason = "no longer needed";
    agent.call(out, "cancel_pending_order", &json!({ "order_id": order_id, "reason": reason }))?;
    Ok(())
}

/// The agent's end of the proxy.
struct Agent {
    proxy: Child,
    to_proxy: Option<ChildStdin>,
    from_proxy: BufReader<ChildStdout>,
    log: PathBuf,
    last_id: u64,
}

impl Agent {
    fn start(program: &Path, arguments: &[OsString]) -> Result<Self> {
        let mut proxy = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io_error("starting the proxy"))?;
        let (Some(to_proxy), Some(from_proxy), Some(stderr)) =
            (proxy.stdin.take(), proxy.stdout.take(), proxy.stderr.take())
        else {
            return Err(unexpected("the proxy was started without pipes"));
        };
        let mut agent = Self {
            proxy,
            to_proxy: Some(to_proxy),
            from_proxy: BufReader::new(from_proxy),
            log: PathBuf::new(),
            last_id: 0,
        };
        // The first line on standard error says where the log is.
        let mut stderr = BufReader::new(stderr);
        let mut first = String::new();
        stderr.read_line(&mut first).map_err(io_error("reading the proxy's first message"))?;
        let Some(path) = first.trim_end().strip_prefix("hoist-mcp: recording to ") else {
            let said = first.trim_end().trim_start_matches("hoist-mcp: ").to_owned();
            return Err(WalkthroughError::NotStarted { said });
        };
        agent.log = path.into();
        // Whatever else comes is passed on; nobody may block on it.
        std::thread::spawn(move || io::copy(&mut stderr, &mut io::stderr()));
        Ok(agent)
    }

    fn write(&mut self, message: &str) -> Result<()> {
        let Some(to_proxy) = &mut self.to_proxy else {
            return Err(unexpected("the agent has ended already"));
        };
        writeln!(to_proxy, "{message}").map_err(io_error("writing to the proxy"))
    }

    fn request(&mut self, method: &str, params: &str) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))?;
        let mut line = String::new();
        self.from_proxy.read_line(&mut line).map_err(io_error("reading from the proxy"))?;
        let mut answer: Value = serde_json::from_str(&line)
            .map_err(|_| unexpected(&format!("the answer to {method} was {line:?}")))?;
        if answer["id"] != id || answer.get("result").is_none() {
            return Err(unexpected(&format!("the answer to {method} was {line:?}")));
        }
        Ok(answer["result"].take())
    }

    /// Calls a tool, shows the call, and reads its result, which is an object as text.
    fn call(&mut self, out: &mut impl Write, name: &str, arguments: &Value) -> Result<Value> {
        let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
        let result = self.request("tools/call", &params)?;
        let text = text_at(&result, "/content/0/text")?;
        say(out, &cut(&format!("  {name} {arguments}"), WIDTH))?;
        say(out, &cut(&format!("    -> {text}"), WIDTH))?;
        serde_json::from_str(&text).map_err(|_| unexpected(&format!("{name} gave {text:?}")))
    }

    /// Ends the session as a host does, and waits for the log to be complete.
    fn end(mut self) -> Result<PathBuf> {
        self.to_proxy = None;
        let status = self.proxy.wait().map_err(io_error("waiting for the proxy"))?;
        if !status.success() {
            return Err(unexpected(&format!("the proxy ended with {status}")));
        }
        Ok(std::mem::take(&mut self.log))
    }
}

impl Drop for Agent {
    /// A walkthrough that failed half-way leaves nothing running: without input the proxy ends,
    /// and the server with it.
    fn drop(&mut self) {
        self.to_proxy = None;
        let _ = self.proxy.wait();
    }
}

/// Shows a recorded session, a line per message.
fn show(path: &Path, temporary: bool, out: &mut impl Write) -> Result<()> {
    let log = read_log(path).map_err(WalkthroughError::Log)?;
    say(out, "\nWhat the proxy recorded: time, who wrote it, id, what it is about\n")?;
    for entry in &log.entries {
        say(out, &cut(&one_line(entry), WIDTH))?;
    }
    let lines = log.entries.len();
    say(out, &format!("\nThe log has all {lines} messages byte for byte. One of its lines:\n"))?;
    if let Some(call) = log.entries.iter().find(|e| e.message().is_some_and(is_call)) {
        let (t_ms, from) = (call.t_ms, call.from.as_str());
        let message = call.message().unwrap_or_default();
        say(out, &format!(r#"  {{"t_ms":{t_ms},"from":"{from}","message":{message}}}"#))?;
    }
    say(out, "")?;
    if temporary {
        say(out, "The log is removed now; hoist try --record DIR keeps it.")
    } else {
        say(out, &format!("The log is {}", path.display()))?;
        say(out, "hoist show, with that file, shows it call by call.")
    }
}

fn one_line(entry: &Entry) -> String {
    let text = match &entry.content {
        Content::Message(message) => summary(message),
        Content::Raw(raw) => raw.clone(),
        _ => "(lost)".to_owned(),
    };
    format!("{:>5} ms  {}  {text}", entry.t_ms, entry.from.as_str())
}

fn is_call(message: &str) -> bool {
    message.contains(r#""method":"tools/call""#)
}

/// What a message is about: its id, then its method or result.
fn summary(message: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(message) else { return message.to_owned() };
    let id = value.get("id").map_or_else(|| "-".to_owned(), Value::to_string);
    if let Some(method) = value["method"].as_str() {
        let params = &value["params"];
        let what = match params["name"].as_str() {
            Some(name) => format!("{name} {}", params["arguments"]),
            None => params.as_object().map(|_| params.to_string()).unwrap_or_default(),
        };
        return format!("{id:>2}  {method}  {what}").trim_end().to_owned();
    }
    let result = &value["result"];
    let text = result["content"][0]["text"].as_str().map_or_else(|| result.to_string(), Into::into);
    format!("{id:>2}  result  {text}")
}

fn say(out: &mut impl Write, line: &str) -> Result<()> {
    match writeln!(out, "{line}") {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(io_error("writing to standard output")),
    }
}

fn text_at(value: &Value, pointer: &str) -> Result<String> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| unexpected(&format!("there is no text at {pointer} in {value}")))
}

fn io_error(what: &str) -> impl FnOnce(io::Error) -> WalkthroughError + use<'_> {
    let what = what.to_owned();
    move |source| WalkthroughError::Io { what, source }
}

fn unexpected(what: &str) -> WalkthroughError {
    WalkthroughError::Unexpected { what: what.to_owned() }
}
