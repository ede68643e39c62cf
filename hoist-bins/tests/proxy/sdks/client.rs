//! The clients that reach servers by URL, too.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use tempfile::TempDir;

use super::servers::LARGE;
use crate::host::Host;
use crate::peers;

/// What a client is, and how it goes about it.
pub(super) struct UrlClient {
    pub(super) command: Vec<OsString>,
    /// How many times it starts a server that is a command.
    pub(super) starts: usize,
    /// Whether it begins by `initialize` where the server speaks 2026-07-28 too.
    pub(super) legacy: bool,
    /// The most bytes of text it is given to echo.
    pub(super) large: usize,
    /// Whether it shows its session's name to a server by URL.
    named: Option<&'static str>,
}

impl UrlClient {
    /// A client of the TypeScript SDKs.
    pub(super) fn node(kind: &str) -> Self {
        let command = vec!["node".into(), peers::npm_client().into(), kind.into()];
        let probes = kind == "v2-auto";
        let starts = if probes { 2 } else { 1 };
        Self { command, starts, legacy: !probes, large: LARGE, named: None }
    }

    pub(super) fn python(mode: &str) -> Self {
        let script: &Path = &peers::python_script("client.py");
        let command = vec![peers::python().into(), script.into(), mode.into()];
        let legacy = mode == "legacy";
        // By URL, though not over stdio, the SDK refuses an event of more than 1 MiB; the echo
        // holds its text twice, and escaped.
        let large = if legacy { LARGE / 4 } else { LARGE };
        Self { command, starts: 1, legacy, large, named: None }
    }

    pub(super) fn rmcp(era: &str) -> Self {
        let command = vec![peers::rmcp().into(), "client".into(), era.into()];
        Self { command, starts: 1, legacy: era == "legacy", large: LARGE, named: None }
    }

    /// The same, with a name for its session.
    pub(super) fn named(self, name: &'static str) -> Self {
        Self { named: Some(name), ..self }
    }

    /// Takes the steps on a server: its command, or its URL.
    pub(super) fn take(&self, steps: &str, server: &[OsString]) -> Taken {
        let folder = TempDir::new().expect("a temporary directory");
        let file = folder.path().join("steps.json");
        fs::write(&file, steps).expect("it can be written");
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(file).args(server).env("HOME", folder.path());
        command.env("HOIST_SESSION", self.named.unwrap_or_default());
        let mut host = Host::spawn(&mut command);
        host.name = format!("{:?} on {server:?}", self.command);
        Taken::by(host)
    }
}

/// What came of the steps.
pub(super) struct Taken {
    /// What the client printed.
    pub(super) printed: String,
    pub(super) status: ExitStatus,
    pub(super) stderr: String,
}

impl Taken {
    /// Lets a client come to its end.
    #[track_caller]
    pub(super) fn by(mut host: Host) -> Self {
        host.close();
        let status = host.wait();
        let printed = String::from_utf8_lossy(&host.received).into_owned();
        Self { printed, status, stderr: host.stderr() }
    }

    /// Whether the client ended well.
    pub(super) fn well(&self) -> bool {
        self.status.success()
    }
}
