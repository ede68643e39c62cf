//! Servers by URL: a client sees the same by URL as over stdio through `--upstream`.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use hoist_trace::mcp::read_session;
use tempfile::TempDir;

use super::servers::{LARGE, SERVERS, Server};
use crate::host::{Host, hoist_mcp};
use crate::log::whole_log;
use crate::peers;
use crate::processes::Process;

/// A server over HTTP, whose first line is its URL.
struct Served {
    name: &'static str,
    command: fn() -> Vec<OsString>,
    /// The same server over stdio, for the steps.
    like: &'static str,
    /// In which eras it keeps a session that its client ends.
    keeps: Keeps,
}

/// When a server gives out session ids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Nothing,
    /// For clients that begin by `initialize`.
    Legacy,
    /// For every client, since it speaks no revision without sessions.
    Always,
}

impl Served {
    fn sessions(&self, legacy: bool) -> bool {
        self.keeps == Keeps::Always || (self.keeps == Keeps::Legacy && legacy)
    }
}

const SERVED: &[Served] = &[
    Served {
        name: "the Python SDK, with sessions",
        command: || python(&["http"]),
        like: "a server of the Python SDK",
        keeps: Keeps::Legacy,
    },
    Served {
        name: "the Python SDK, without sessions",
        command: || python(&["http", "stateless"]),
        like: "a server of the Python SDK",
        keeps: Keeps::Nothing,
    },
    Served {
        name: "server-everything",
        command: everything,
        like: "server-everything",
        keeps: Keeps::Always,
    },
    Served {
        name: "rmcp",
        command: || vec![peers::rmcp().into(), "server".into(), "http".into()],
        like: "a server of rmcp",
        // It does not say whether it was asked to end one.
        keeps: Keeps::Nothing,
    },
];

fn python(arguments: &[&str]) -> Vec<OsString> {
    let mut command = vec![peers::python().into(), peers::python_script("server.py").into()];
    command.extend(arguments.iter().map(OsString::from));
    command
}

/// It would listen on every address, and takes no free port: both are put right before it starts.
fn everything() -> Vec<OsString> {
    const ON_LOOPBACK: &str = "
        const { Server } = require('net');
        const listen = Server.prototype._listen2;
        Server.prototype._listen2 = function (address, port, type, ...rest) {
            const result = listen.call(this, '127.0.0.1', 0, 4, ...rest);
            console.log(`http://127.0.0.1:${this.address().port}/mcp`);
            return result;
        };";
    let program = peers::npm().join("node_modules/@modelcontextprotocol/server-everything/dist");
    let preload = format!(
        "data:text/javascript,{}",
        encoded(&format!(
            "import {{ createRequire }} from 'node:module'; const require = createRequire('file:///x');{ON_LOOPBACK}"
        ))
    );
    vec![
        "node".into(),
        "--import".into(),
        preload.into(),
        program.join("index.js").into(),
        "streamableHttp".into(),
    ]
}

fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut all, byte| {
        write!(all, "%{byte:02X}").expect("a string takes every text");
        all
    })
}

/// A server that runs.
struct Running {
    process: Process,
    url: String,
    said: JoinHandle<Vec<String>>,
}

impl Running {
    fn start(served: &Served) -> Self {
        let command = (served.command)();
        let mut command_line = Command::new(&command[0]);
        command_line.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::spawn(command_line.stderr(Stdio::null()));
        let output = process.0.stdout.take().expect("a pipe was asked for");
        let mut lines = BufReader::new(output).lines().map(|line| line.expect("it is text"));
        let url = lines
            .find(|line| line.starts_with("http://127.0.0.1:"))
            .unwrap_or_else(|| panic!("{} says no URL", served.name));
        // What else it says must not block it.
        let said = thread::spawn(move || lines.collect());
        Self { process, url, said }
    }

    /// Ends the server; how many sessions it was asked to end before, each by a DELETE.
    fn sessions_ended(self) -> usize {
        drop(self.process);
        let said = self.said.join().expect("it only reads");
        let end = ["DELETE 200", "Received session termination request"];
        said.iter().filter(|line| end.iter().any(|end| line.starts_with(end))).count()
    }
}

/// What the client printed, and how it ended.
fn transcript(client: &[OsString], steps: &str, server: &[OsString]) -> (String, bool, String) {
    let folder = TempDir::new().expect("a temporary directory");
    let file = folder.path().join("steps.json");
    fs::write(&file, steps).expect("it can be written");
    let mut command = Command::new(&client[0]);
    command.args(&client[1..]).arg(file).args(server).env("HOME", folder.path());
    let mut host = Host::spawn(&mut command);
    host.close();
    let status = host.wait();
    let printed = String::from_utf8_lossy(&host.received).into_owned();
    (printed, status.success(), host.stderr())
}

/// What a client is, and how it goes about it.
struct Client {
    command: Vec<OsString>,
    /// How many times it starts a server that is a command.
    starts: usize,
    /// Whether it begins by `initialize` where the server speaks 2026-07-28 too.
    legacy: bool,
    /// The most bytes of text it is given to echo.
    large: usize,
}

#[track_caller]
fn same_by_url(client: &Client) {
    for served in SERVED {
        let like: &Server =
            SERVERS.iter().find(|server| server.name == served.like).expect("it is there");
        let steps = like.steps_up_to(client.large);
        // A server remembers, so each way has its own.
        let server = Running::start(served);
        let (direct, fine, stderr) =
            transcript(&client.command, &steps, &[server.url.clone().into()]);
        assert!(fine, "{}: {direct}\n{stderr}", served.name);
        for text in like.seen {
            assert!(direct.contains(text), "{}: {text:?} is not in {direct}", served.name);
        }
        let sessions = usize::from(served.sessions(client.legacy));
        assert_eq!(server.sessions_ended(), sessions, "{}: ended by the client", served.name);
        let server = Running::start(served);
        let logs = TempDir::new().expect("a temporary directory");
        let proxy: [OsString; 5] = [
            hoist_mcp().into(),
            "--record".into(),
            logs.path().into(),
            "--upstream".into(),
            server.url.clone().into(),
        ];
        let (proxied, fine, stderr) = transcript(&client.command, &steps, &proxy);
        assert!(fine, "{}: {proxied}\n{stderr}", served.name);
        assert_eq!(proxied, direct, "{}\n{stderr}", served.name);
        recorded(logs.path(), client.starts, &server.url, like.calls(), served.name);
        assert_eq!(server.sessions_ended(), sessions, "{}: ended by the proxy", served.name);
    }
}

/// The logs are whole, say where the server is, and have every call with its outcome.
#[track_caller]
fn recorded(logs: &Path, starts: usize, url: &str, calls: usize, name: &str) {
    let paths: Vec<_> = fs::read_dir(logs)
        .expect("the proxy made it")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    assert_eq!(paths.len(), starts, "{name}: {paths:?}");
    let (mut made, mut open, mut results) = (0, 0, 0);
    for path in paths {
        assert_eq!(whole_log(&path).header.server_url.as_deref(), Some(url));
        let session = read_session(&path).expect("the log can be read");
        assert_eq!(session.findings.problems, 0, "{name}: {:?}", session.findings.first);
        made += session.episode.calls().count();
        open += session.episode.calls().filter(|call| !call.cancelled).count();
        results += session.episode.results().count();
    }
    assert_eq!(made, calls, "{name}: calls");
    assert!(results >= open, "{name}: {results} results of {open} calls");
}

fn node(kind: &str, starts: usize) -> Client {
    let command = vec!["node".into(), peers::npm_client().into(), kind.into()];
    Client { command, starts, legacy: kind != "v2-auto", large: LARGE }
}

fn python_client(mode: &str) -> Client {
    let script: &Path = &peers::python_script("client.py");
    let command = vec![peers::python().into(), script.into(), mode.into()];
    let legacy = mode == "legacy";
    // By URL, though not over stdio, the SDK refuses an event of more than 1 MiB; the echo holds
    // its text twice, and escaped.
    Client { command, starts: 1, legacy, large: if legacy { LARGE / 4 } else { LARGE } }
}

#[test]
fn typescript_v1_sees_the_same_by_url() {
    same_by_url(&node("v1", 1));
}

#[test]
fn typescript_v2_sees_the_same_by_url() {
    same_by_url(&node("v2", 1));
}

#[test]
fn typescript_v2_that_probes_with_a_process_of_its_own_sees_the_same_by_url() {
    same_by_url(&node("v2-auto", 2));
}

#[test]
fn python_sees_the_same_by_url() {
    same_by_url(&python_client("legacy"));
}

#[test]
fn python_that_probes_sees_the_same_by_url() {
    same_by_url(&python_client("auto"));
}
