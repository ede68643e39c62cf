//! The proxy as hosts by URL meet it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::host::Host;

/// A proxy that listens at a port of its own.
pub(crate) struct Listening {
    pub(crate) host: Host,
    /// What it says hosts connect to.
    pub(crate) url: String,
}

impl Listening {
    /// Starts it with these flags and this server: `--` and a command, or `--upstream` and a URL.
    /// Whatever it starts has `home` in its environment.
    #[track_caller]
    pub(crate) fn start(
        program: &Path,
        flags: &[OsString],
        server: &[OsString],
        home: &Path,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]).args(flags).args(server).env("HOME", home);
        let mut host = Host::spawn(&mut command);
        host.name = format!("the proxy in front of {server:?}");
        let line = host.line().expect("it says where it listens");
        let url = String::from_utf8(line).expect("a URL is text").trim_end().to_owned();
        Self { host, url }
    }

    /// The address, without the rest of the URL.
    pub(crate) fn address(&self) -> &str {
        let rest = self.url.strip_prefix("http://").expect("it has no certificate");
        rest.strip_suffix("/mcp").expect("this is where hosts connect")
    }

    /// Tells it to end, and waits for that; what it said on standard error.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        self.host.signal(Signal::TERM);
        let status = self.host.wait();
        let said = self.host.stderr();
        assert!(status.success(), "{status}: {said}");
        said
    }
}
