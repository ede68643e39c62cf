//! Hosts by URL: a client that connects to the proxy by URL sees the same as one that connects to
//! the server itself, and each of its sessions has a log.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hoist_trace::mcp::read_session;
use tempfile::TempDir;

use super::client::{Taken, UrlClient};
use super::served::{Running, SERVED, Served};
use super::servers::Server;
use crate::host::hoist_mcp;
use crate::listener::Listening;
use crate::log::whole_log;
use crate::processes::wait_until_none_has;

/// What a client did through the proxy, and what the proxy kept of it.
pub(super) struct Proxied {
    pub(super) taken: Taken,
    /// The logs, in the order of their sessions.
    pub(super) logs: Vec<PathBuf>,
    folder: TempDir,
}

/// Has a client do what it does by URL on a server behind a proxy that listens.
#[track_caller]
pub(super) fn proxied(server: &[OsString], client: impl FnOnce(&str) -> Taken) -> Proxied {
    let folder = TempDir::new().expect("a temporary directory");
    let (home, logs) = (folder.path().join("home"), folder.path().join("logs"));
    let record = ["--record".into(), logs.clone().into()];
    let proxy = Listening::start(hoist_mcp(), &record, server, &home);
    let pid = proxy.host.id();
    let mut taken = client(&proxy.url);
    taken.stderr.push_str(&proxy.stop());
    wait_until_none_has("HOME", &home);
    let name = |number: usize| format!("-{pid}-{number}.jsonl");
    let files = fs::read_dir(&logs).map_or(0, Iterator::count);
    let logs = (1..=files).map(|number| named(&logs, &name(number))).collect();
    Proxied { taken, logs, folder }
}

/// The file with this end of its name.
#[track_caller]
fn named(folder: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(folder).expect("the proxy made it");
    let mut paths = entries.map(|entry| entry.expect("it can be listed").path());
    let is_it = |path: &PathBuf| path.to_str().is_some_and(|path| path.ends_with(end));
    paths.find(is_it).unwrap_or_else(|| panic!("no log of {} ends with {end}", folder.display()))
}

impl Proxied {
    /// Checks that the client was told what it is told without a proxy, and that the logs hold it.
    #[track_caller]
    pub(super) fn check(&self, direct: &Taken, sessions: usize, calls: usize, name: &str) {
        let Taken { printed, status, stderr } = &self.taken;
        assert_eq!(*status, direct.status, "{name}: {printed}\n{stderr}");
        assert_eq!(*printed, direct.printed, "{name}\n{stderr}");
        assert_eq!(self.logs.len(), sessions, "{name}: sessions\n{stderr}");
        for what in ["began", "ended"] {
            let said = stderr.lines().filter(|line| line.contains(&format!(" {what}"))).count();
            assert_eq!(said, sessions, "{name}: {what}\n{stderr}");
        }
        let mut validate = Command::new(env!("CARGO_BIN_EXE_hoist"));
        let valid = validate.arg("validate").arg(self.folder.path().join("logs")).output();
        let valid = valid.expect("it can be started");
        assert!(valid.status.success(), "{name}: {}", String::from_utf8_lossy(&valid.stdout));
        let (mut made, mut open, mut results) = (0, 0, 0);
        for path in &self.logs {
            let episode = read_session(path).expect("the log can be read").episode;
            made += episode.calls().count();
            open += episode.calls().filter(|call| !call.cancelled).count();
            results += episode.results().count();
        }
        assert_eq!(made, calls, "{name}: calls");
        assert!(results >= open, "{name}: {results} results of {open} calls");
    }
}

/// A server behind the proxy by its command.
pub(super) fn by_command(server: &Server) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--".into()];
    words.extend((server.command)());
    words
}

/// A server behind the proxy by its URL.
pub(super) fn by_url(server: &Running) -> Vec<OsString> {
    vec!["--upstream".into(), server.url.clone().into()]
}

/// How many sessions the client has: one that probes finds no modern server where there is none,
/// and begins again.
fn sessions(client: &UrlClient, served: &Served) -> usize {
    if !client.legacy && served.is_legacy() { 2 } else { 1 }
}

#[track_caller]
fn same_through_a_listener(client: &UrlClient) {
    let mut seen = Vec::new();
    for served in SERVED {
        let (name, like) = (served.name, served.like());
        let steps = like.steps_up_to(client.large);
        // A server remembers, so each way has its own.
        let server = Running::start(served);
        let take = |url: &str| client.take(&steps, &[url.into()]);
        let direct = take(&server.url);
        let (sessions, calls) = (sessions(client, served), like.calls());
        assert!(direct.well(), "{name}: {}\n{}", direct.printed, direct.stderr);
        let ended = server.sessions_ended();

        let server = Running::start(served);
        let through = proxied(&by_url(&server), take);
        through.check(&direct, sessions, calls, name);
        for log in &through.logs {
            assert_eq!(whole_log(log).header.server_url.as_deref(), Some(&*server.url), "{name}");
        }
        assert_eq!(server.sessions_ended(), ended, "{name}: ended by the proxy");

        // The first of those that are the same over stdio keeps what that one does.
        if seen.contains(&like.name) {
            continue;
        }
        seen.push(like.name);
        let through = proxied(&by_command(like), take);
        through.check(&direct, sessions, calls, like.name);
    }
}

#[test]
fn typescript_v1_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::node("v1"));
}

#[test]
fn typescript_v2_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::node("v2"));
}

#[test]
fn typescript_v2_that_probes_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::node("v2-auto"));
}

#[test]
fn python_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::python("legacy"));
}

#[test]
fn python_that_probes_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::python("auto"));
}

#[test]
fn rmcp_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::rmcp("legacy"));
}

#[test]
fn rmcp_that_probes_sees_the_same_through_a_listener() {
    same_through_a_listener(&UrlClient::rmcp("auto"));
}
