//! One client on one server, in one way.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use hoist_trace::log::Origin;
use tempfile::TempDir;

use crate::acting::acting;
use crate::host::{Host, hoist_mcp};
use crate::log::{what_is_missing, whole_log};
use crate::processes;

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    Recorded,
    /// Through a layer that acts on every request and passes it on.
    Acting,
}

impl Way {
    pub(super) const PROXIED: [Self; 2] = [Self::Recorded, Self::Acting];
}

/// What came of it.
pub(super) struct Outcome {
    pub(super) status: ExitStatus,
    /// The lines that the client printed: what its API returned.
    pub(super) transcript: String,
    /// What it wrote on standard error, as did the proxy and the server.
    pub(super) stderr: String,
    /// What crossed at each of the server's processes, in an order of their own.
    pub(super) wires: Vec<Wire>,
    /// How the logs differ from that.
    log_problem: Option<String>,
}

/// What crossed at one process of the server.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wire {
    to_server: Vec<u8>,
    from_server: Vec<u8>,
}

/// Runs the client that `client` makes of a directory of its own and the server's command.
pub(super) fn run(
    way: Way,
    server: &[OsString],
    client: impl FnOnce(&Path, Vec<OsString>) -> Command,
) -> Outcome {
    let dir = TempDir::new().expect("a temporary directory");
    let at = |name: &str| dir.path().join(name);
    for folder in ["wires", "home"] {
        fs::create_dir(at(folder)).expect("it can be written");
    }
    let proxy = match way {
        Way::Direct => None,
        Way::Recorded => Some(hoist_mcp()),
        Way::Acting => Some(acting()),
    };
    let mut words: Vec<OsString> = Vec::new();
    if let Some(proxy) = proxy {
        words.extend([proxy.into(), "--record".into(), at("logs").into(), "--".into()]);
    }
    words.extend(["sh", "-c", WIRETAP].map(OsString::from));
    words.push(at("wires").into());
    words.extend_from_slice(server);
    // Every client passes this variable on: a process that has it was started by the client.
    let mut host = Host::spawn(client(dir.path(), words).env("HOME", at("home")));
    host.name = format!("{way:?} on {server:?}");
    host.close();
    let status = host.wait();
    processes::wait_until_none_has("HOME", &at("home"));
    let wires = wires(&at("wires"));
    let log_problem = (way != Way::Direct).then(|| log_problem(&at("logs"), &wires)).flatten();
    let transcript = String::from_utf8_lossy(&host.received).into_owned();
    Outcome { status, transcript, stderr: host.stderr(), wires, log_problem }
}

/// Runs a server and keeps what crosses, in files with the process's number in their names.
const WIRETAP: &str = r#"tee "$0/$$.to" | "$@" | tee "$0/$$.from""#;

fn wires(folder: &Path) -> Vec<Wire> {
    let read = |path: &Path| fs::read(path).expect("both are made before the first byte");
    let mut wires: Vec<Wire> = files(folder)
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "to"))
        .map(|to| Wire { to_server: read(to), from_server: read(&to.with_extension("from")) })
        .collect();
    wires.sort();
    wires
}

impl Wire {
    /// What the server is sent, but for what is another text in each run.
    fn what_is_sent(&self) -> Vec<u8> {
        masked(&String::from_utf8_lossy(&self.to_server)).into_bytes()
    }
}

/// A text without what is another in each run: the Python SDK encrypts its state with a key of the
/// process's, and gets it back.
pub(super) fn masked(text: &str) -> String {
    const STATE: &str = r#""requestState":""#;
    let mut parts = text.split(STATE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |masked, part| {
        let rest = part.split_once('"').map_or("", |(_, rest)| rest);
        format!("{masked}{STATE}…\"{rest}")
    })
}

/// How the logs differ from what crossed: for each process there must be one that holds every line.
fn log_problem(folder: &Path, wires: &[Wire]) -> Option<String> {
    let logs: Vec<_> = files(folder).iter().map(|path| whole_log(path)).collect();
    if logs.len() != wires.len() {
        return Some(format!("{} logs for {} processes", logs.len(), wires.len()));
    }
    wires.iter().find_map(|wire| {
        let problem = |log| {
            what_is_missing(log, Origin::Client, &wire.to_server)
                .or_else(|| what_is_missing(log, Origin::Server, &wire.from_server))
        };
        let problems: Option<Vec<String>> = logs.iter().map(problem).collect();
        problems.map(|problems| format!("no log holds all that crossed: {problems:?}"))
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the directory is there");
    entries.map(|entry| entry.expect("it can be listed").path()).collect()
}

impl Outcome {
    /// How many calls of tools the server's processes were sent.
    pub(super) fn calls(&self) -> usize {
        let calls = |wire: &Wire| {
            String::from_utf8_lossy(&wire.to_server).matches(r#""method":"tools/call""#).count()
        };
        self.wires.iter().map(calls).sum()
    }

    /// How it differs from how it went without a proxy.
    pub(super) fn differs_from(&self, direct: &Self) -> Option<String> {
        if self.status != direct.status {
            return Some(format!("{}, not {}\n{}", self.status, direct.status, self.stderr));
        }
        let (started, want) = (self.wires.len(), direct.wires.len());
        if started != want {
            return Some(format!("the server was started {started} times, not {want}"));
        }
        difference(direct.transcript.as_bytes(), self.transcript.as_bytes())
            .map(|difference| format!("the client was told {difference}\n{}", self.stderr))
            .or_else(|| self.log_problem.clone())
            .or_else(|| {
                // What a server sends may be in another order each time; what it is sent may not.
                let sent = self.wires.iter().zip(&direct.wires);
                sent.map(|(got, want)| difference(&want.what_is_sent(), &got.what_is_sent()))
                    .find_map(|difference| difference.map(|it| format!("the server was sent {it}")))
            })
    }
}

/// Where two texts differ, with what stands around it.
fn difference(want: &[u8], got: &[u8]) -> Option<String> {
    if want == got {
        return None;
    }
    let same = want.iter().zip(got).take_while(|(want, got)| want == got).count();
    let around = |text: &[u8]| {
        let text = &text[same.saturating_sub(200).min(text.len())..(same + 200).min(text.len())];
        String::from_utf8_lossy(text).into_owned()
    };
    Some(format!("{:?}, not {:?} (byte {same})", around(got), around(want)))
}
