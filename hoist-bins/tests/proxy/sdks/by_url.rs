//! Servers by URL: a client sees the same by URL as over stdio through `--upstream`.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use hoist_trace::mcp::read_session;
use tempfile::TempDir;

use super::servers::{SERVERS, Server};
use crate::host::{Host, hoist_mcp};
use crate::log::{only_log, whole_log};
use crate::peers;
use crate::processes::Process;

/// A server over HTTP, whose first line is its URL.
struct Served {
    name: &'static str,
    command: fn() -> Vec<OsString>,
    /// The same server over stdio, for the steps.
    like: &'static str,
}

const SERVED: &[Served] = &[
    Served {
        name: "the Python SDK, with sessions",
        command: || python(&["http"]),
        like: "a server of the Python SDK",
    },
    Served {
        name: "the Python SDK, without sessions",
        command: || python(&["http", "stateless"]),
        like: "a server of the Python SDK",
    },
    Served {
        name: "rmcp",
        command: || vec![peers::rmcp().into(), "server".into(), "http".into()],
        like: "a server of rmcp",
    },
    Served { name: "server-everything", command: everything, like: "server-everything" },
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

/// Starts a server; the process, and where it is.
fn serve(served: &Served) -> (Process, String) {
    let command = (served.command)();
    let mut command_line = Command::new(&command[0]);
    command_line.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = Process::spawn(command_line.stderr(Stdio::null()));
    let output = process.0.stdout.take().expect("a pipe was asked for");
    let mut lines = BufReader::new(output).lines();
    let url = lines
        .by_ref()
        .map(|line| line.expect("it is text"))
        .find(|line| line.starts_with("http://127.0.0.1:"))
        .unwrap_or_else(|| panic!("{} says no URL", served.name));
    // What else it says must not block it.
    std::thread::spawn(move || lines.for_each(drop));
    (process, url)
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

#[track_caller]
fn same_by_url(client: &[OsString]) {
    for served in SERVED {
        let like: &Server =
            SERVERS.iter().find(|server| server.name == served.like).expect("it is there");
        let steps = like.steps();
        // A server remembers, so each way has its own.
        let (_process, url) = serve(served);
        let (direct, fine, stderr) = transcript(client, &steps, &[url.into()]);
        assert!(fine, "{}: {direct}\n{stderr}", served.name);
        for text in like.seen {
            assert!(direct.contains(text), "{}: {text:?} is not in {direct}", served.name);
        }
        let (_process, url) = serve(served);
        let logs = TempDir::new().expect("a temporary directory");
        let proxy: [OsString; 5] = [
            hoist_mcp().into(),
            "--record".into(),
            logs.path().into(),
            "--upstream".into(),
            url.clone().into(),
        ];
        let (proxied, fine, stderr) = transcript(client, &steps, &proxy);
        assert!(fine, "{}: {proxied}\n{stderr}", served.name);
        assert_eq!(proxied, direct, "{}\n{stderr}", served.name);
        recorded(logs.path(), &url, like.calls(), served.name);
    }
}

/// The log is whole, says where the server is, and has every call with its outcome.
#[track_caller]
fn recorded(logs: &Path, url: &str, calls: usize, name: &str) {
    let path = only_log(logs);
    assert_eq!(whole_log(&path).header.server_url.as_deref(), Some(url));
    let session = read_session(&path).expect("the log can be read");
    assert_eq!(session.findings.problems, 0, "{name}: {:?}", session.findings.first);
    let made = session.episode.calls().count();
    assert_eq!(made, calls, "{name}: calls");
    let open = session.episode.calls().filter(|call| !call.cancelled).count();
    let results = session.episode.results().count();
    assert!(results >= open, "{name}: {results} results of {open} calls");
}

#[test]
fn typescript_v1_sees_the_same_by_url() {
    same_by_url(&["node".into(), peers::npm_client().into(), "v1".into()]);
}

#[test]
fn typescript_v2_sees_the_same_by_url() {
    same_by_url(&["node".into(), peers::npm_client().into(), "v2".into()]);
}

#[test]
fn python_that_probes_sees_the_same_by_url() {
    let script: &Path = &peers::python_script("client.py");
    same_by_url(&[peers::python().into(), script.into(), "auto".into()]);
}
