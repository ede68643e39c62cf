//! Servers by URL: a client sees the same by URL as over stdio through `--upstream`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use hoist_trace::mcp::read_session;
use tempfile::TempDir;

use super::client::UrlClient;
use super::served::{Running, SERVED};
use crate::host::hoist_mcp;
use crate::log::whole_log;

#[track_caller]
fn same_by_url(client: &UrlClient) {
    for served in SERVED {
        let like = served.like();
        let steps = like.steps_up_to(client.large);
        // A server remembers, so each way has its own.
        let server = Running::start(served);
        let direct = client.take(&steps, &[server.url.clone().into()]);
        let shown = &direct.printed;
        assert!(direct.well(), "{}: {shown}\n{}", served.name, direct.stderr);
        for text in like.seen {
            assert!(shown.contains(text), "{}: {text:?} is not in {shown}", served.name);
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
        let proxied = client.take(&steps, &proxy);
        assert!(proxied.well(), "{}: {}\n{}", served.name, proxied.printed, proxied.stderr);
        assert_eq!(proxied.printed, *shown, "{}\n{}", served.name, proxied.stderr);
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

#[test]
fn typescript_v1_sees_the_same_by_url() {
    same_by_url(&UrlClient::node("v1"));
}

#[test]
fn typescript_v2_sees_the_same_by_url() {
    same_by_url(&UrlClient::node("v2"));
}

#[test]
fn typescript_v2_that_probes_with_a_process_of_its_own_sees_the_same_by_url() {
    same_by_url(&UrlClient::node("v2-auto"));
}

#[test]
fn python_sees_the_same_by_url() {
    same_by_url(&UrlClient::python("legacy"));
}

#[test]
fn python_that_probes_sees_the_same_by_url() {
    same_by_url(&UrlClient::python("auto"));
}

#[test]
fn rmcp_sees_the_same_by_url() {
    same_by_url(&UrlClient::rmcp("legacy"));
}

#[test]
fn rmcp_that_probes_sees_the_same_by_url() {
    same_by_url(&UrlClient::rmcp("auto"));
}
