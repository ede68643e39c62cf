//! Servers that are reached by URL.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use super::servers::{SERVERS, Server};
use crate::host::demo;
use crate::peers;
use crate::processes::Process;

/// A server over HTTP, whose first line is its URL.
pub(super) struct Served {
    pub(super) name: &'static str,
    command: fn() -> Vec<OsString>,
    /// The same server over stdio, for the steps.
    pub(super) like: &'static str,
    /// In which eras it keeps a session that its client ends.
    keeps: Keeps,
    /// Whether it says over HTTP, byte for byte, what it says over stdio.
    pub(super) is_itself_over_stdio: bool,
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
    /// Whether it gives a client of this era a session.
    pub(super) fn sessions(&self, legacy: bool) -> bool {
        self.keeps == Keeps::Always || (self.keeps == Keeps::Legacy && legacy)
    }

    /// Whether it speaks no revision without sessions.
    pub(super) fn is_legacy(&self) -> bool {
        self.keeps == Keeps::Always
    }

    /// The same server over stdio.
    pub(super) fn like(&self) -> &'static Server {
        SERVERS.iter().find(|server| server.name == self.like).expect("it is there")
    }
}

pub(super) const SERVED: &[Served] = &[
    Served {
        name: "the demo server by URL",
        command: || demo_by_url(&[]),
        like: "the demo server",
        // It does not say whether it was asked to end one.
        keeps: Keeps::Nothing,
        is_itself_over_stdio: true,
    },
    Served {
        name: "the demo server's shop by URL",
        command: || demo_by_url(&["--world", "retail"]),
        like: "the demo server's shop",
        keeps: Keeps::Nothing,
        is_itself_over_stdio: true,
    },
    Served {
        name: "the Python SDK, with sessions",
        command: || python(&["http"]),
        like: "a server of the Python SDK",
        keeps: Keeps::Legacy,
        is_itself_over_stdio: false,
    },
    Served {
        name: "the Python SDK, without sessions",
        command: || python(&["http", "stateless"]),
        like: "a server of the Python SDK",
        keeps: Keeps::Nothing,
        is_itself_over_stdio: false,
    },
    Served {
        name: "server-everything",
        command: everything,
        like: "server-everything",
        keeps: Keeps::Always,
        is_itself_over_stdio: false,
    },
    Served {
        name: "rmcp",
        command: || vec![peers::rmcp().into(), "server".into(), "http".into()],
        like: "a server of rmcp",
        // Nor does this one.
        keeps: Keeps::Nothing,
        is_itself_over_stdio: true,
    },
];

fn demo_by_url(arguments: &[&str]) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![demo().into(), "--http".into(), "127.0.0.1:0".into()];
    command.extend(arguments.iter().map(OsString::from));
    command
}

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
pub(super) struct Running {
    process: Process,
    pub(super) url: String,
    said: JoinHandle<Vec<String>>,
}

impl Running {
    pub(super) fn start(served: &Served) -> Self {
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
    pub(super) fn sessions_ended(self) -> usize {
        drop(self.process);
        let said = self.said.join().expect("it only reads");
        let end = ["DELETE 200", "Received session termination request"];
        said.iter().filter(|line| end.iter().any(|end| line.starts_with(end))).count()
    }
}
