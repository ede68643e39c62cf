//! One script, run in every way that must come out the same.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hoist_trace::log::Origin;
use hoist_trace::mcp::Log;
use tempfile::TempDir;

use crate::acting::acting;
use crate::host::{Host, hoist_mcp};
use crate::log::{holds_every_line, only_log, whole_log};
use crate::play::{Play, got};

/// How a host reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Without a proxy: shows that the script itself is right.
    Direct,
    Passive,
    Recorded,
    /// Through a layer that acts on every request and passes it on.
    Acting,
    ActingRecorded,
}

impl Way {
    pub(crate) const ALL: [Self; 5] =
        [Self::Direct, Self::Passive, Self::Recorded, Self::Acting, Self::ActingRecorded];
    pub(crate) const PROXIED: [Self; 4] =
        [Self::Passive, Self::Recorded, Self::Acting, Self::ActingRecorded];

    pub(crate) fn records(self) -> bool {
        matches!(self, Self::Recorded | Self::ActingRecorded)
    }

    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::Acting | Self::ActingRecorded)
    }

    /// A proxy, or the server itself.
    fn program(self) -> Option<&'static Path> {
        match self {
            Self::Direct => None,
            Self::Passive | Self::Recorded => Some(hoist_mcp()),
            Self::Acting | Self::ActingRecorded => Some(acting()),
        }
    }

    /// Starts a server this way, with `flags` for the proxy.
    pub(crate) fn start(self, server: Vec<OsString>, flags: &[&str]) -> Run {
        let dir = TempDir::new().expect("a temporary directory");
        let mut host = Host::spawn(&mut self.command(dir.path(), server, flags));
        host.name = format!("{self:?}");
        Run { host, way: self, dir }
    }

    /// The command that starts a server this way, with its log, if there is one, below `dir`.
    pub(crate) fn command(self, dir: &Path, server: Vec<OsString>, flags: &[&str]) -> Command {
        let mut words = with_default_signals();
        if let Some(proxy) = self.program() {
            words.push(proxy.into());
            if self.records() {
                words.extend(["--record".into(), dir.join("logs").into()]);
            }
            words.extend(flags.iter().map(OsString::from));
            words.push("--".into());
        }
        words.extend(server);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("HOIST_ACTED", dir.join("acted"));
        command
    }
}

/// What a command line starts with where the tests themselves were started with signals ignored
/// (by `nohup`, or in a shell's background): a process would inherit that, and heed none.
fn with_default_signals() -> Vec<OsString> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    // SIGHUP, SIGINT and SIGQUIT are the signals 1 to 3.
    if ignored.trailing_zeros() >= 3 {
        return Vec::new();
    }
    ["env", "--default-signal=HUP,INT,QUIT"].map(OsString::from).into()
}

/// A host with its server, reached in one way.
pub(crate) struct Run {
    pub(crate) host: Host,
    pub(crate) way: Way,
    dir: TempDir,
}

impl Run {
    /// The methods of the requests that the acting layer was given so far.
    pub(crate) fn acted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("acted")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The directory of the log.
    pub(crate) fn logs(&self) -> PathBuf {
        self.dir.path().join("logs")
    }

    /// The log, which must be whole.
    #[track_caller]
    pub(crate) fn log(&self) -> Log {
        whole_log(&only_log(&self.logs()))
    }

    /// Checks that the log, if there is one, holds every line that crossed.
    #[track_caller]
    pub(crate) fn check_log(&self) {
        if self.way.records() {
            let log = self.log();
            holds_every_line(&log, Origin::Client, &self.host.sent);
            holds_every_line(&log, Origin::Server, &self.host.received);
        }
    }
}

/// A server, and what must have happened whichever way it was reached.
#[must_use]
pub(crate) struct Case<'a> {
    play: Play,
    acted: &'a [&'a str],
}

impl<'a> Case<'a> {
    /// `acted`: the methods of the requests that cross, in their order.
    pub(crate) fn new(acted: &'a [&'a str], play: Play) -> Self {
        Self { play, acted }
    }

    /// Has the host do `script` in every way, then close its end. Each way the host must be sent
    /// the same bytes, the server get what was sent, a log hold every line, and a layer that acts
    /// be given every request.
    #[track_caller]
    pub(crate) fn same_in_every_way(&self, script: impl Fn(&mut Host)) {
        assert!(!self.acted.is_empty(), "without a request nothing shows that a layer acted");
        let mut direct = Vec::new();
        for way in Way::ALL {
            let dir = TempDir::new().expect("a temporary directory");
            let mut run = way.start(self.play.command(dir.path()), &[]);
            script(&mut run.host);
            run.host.close();
            let status = run.host.wait();
            let stderr = run.host.stderr();
            assert_eq!(status.code(), Some(0), "{way:?}: {stderr}");
            self.check_server(dir.path(), &run.host.sent);
            if way == Way::Direct {
                direct.clone_from(&run.host.received);
            }
            assert!(run.host.received == direct, "what the host was sent differs: {way:?}");
            run.check_log();
            if way.acts() {
                assert_eq!(run.acted(), self.acted, "{way:?}");
            }
        }
    }

    #[track_caller]
    fn check_server(&self, dir: &Path, sent: &[u8]) {
        let got = got(dir);
        if self.play.reads_all() {
            assert!(got == sent, "{} bytes were sent, the server got {}", sent.len(), got.len());
        } else {
            assert!(sent.starts_with(&got), "the server got {:?}", String::from_utf8_lossy(&got));
        }
    }
}
