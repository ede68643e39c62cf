//! Hosts over stdio and by URL, servers by command and by URL: the same messages are recorded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hoist_trace::log::{Content, Origin};
use tempfile::TempDir;

use super::client::UrlClient;
use super::listen::{by_command, by_url, proxied};
use super::run::masked;
use super::served::{Running, SERVED};
use super::servers::SERVERS;
use crate::host::hoist_mcp;
use crate::log::{only_log, whole_log};

/// What a log has of each side, in no order: what is sent at once may come in any.
#[derive(Debug, PartialEq, Eq)]
struct Recorded {
    client: Vec<String>,
    server: Vec<String>,
}

impl Recorded {
    #[track_caller]
    fn of(path: &Path) -> Self {
        let log = whole_log(path);
        let of = |from: Origin| {
            let entries = log.entries.iter().filter(|entry| entry.from == from);
            let text = entries.map(|entry| match &entry.content {
                Content::Message(message) => comparable(message.as_str()),
                other => panic!("{} has {other:?}", path.display()),
            });
            let mut texts: Vec<String> = text.collect();
            texts.sort();
            texts
        };
        Self { client: of(Origin::Client), server: of(Origin::Server) }
    }
}

/// The message, but for what is another text each time. By URL, a modern client cancels a request
/// by closing its stream, and cannot say why.
fn comparable(message: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(message).expect("a message is JSON");
    if value["method"] == "notifications/cancelled" {
        return format!("cancelled {}", value["params"]["requestId"]);
    }
    masked(message)
}

/// Through the proxy as a command.
#[track_caller]
fn over_stdio(client: &UrlClient, steps: &str, server: &[OsString]) -> Recorded {
    let logs = TempDir::new().expect("a temporary directory");
    let mut proxy: Vec<OsString> = vec![hoist_mcp().into(), "--record".into(), logs.path().into()];
    proxy.extend_from_slice(server);
    let taken = client.take(steps, &proxy);
    assert!(taken.well(), "{server:?}: {}\n{}", taken.printed, taken.stderr);
    Recorded::of(&only_log(logs.path()))
}

#[track_caller]
fn through_a_listener(client: &UrlClient, steps: &str, server: &[OsString]) -> Recorded {
    let through = proxied(server, |url| client.take(steps, &[url.into()]));
    let taken = &through.taken;
    assert!(taken.well(), "{server:?}: {}\n{}", taken.printed, taken.stderr);
    let [log]: &[PathBuf; 1] = through.logs[..].try_into().expect("there is one session");
    Recorded::of(log)
}

#[track_caller]
fn same_in_every_combination(client: &UrlClient) {
    for served in SERVED {
        let (name, like) = (served.name, served.like());
        // One that finds no modern server begins again, over stdio in the same session.
        if !client.legacy && served.is_legacy() {
            continue;
        }
        let steps = like.steps_up_to(client.large);
        // A server remembers, so each way has its own.
        let (one, other) = (Running::start(served), Running::start(served));
        let by_command = by_command(like);
        let from_command = over_stdio(client, &steps, &by_command);
        let from_url = over_stdio(client, &steps, &by_url(&one));
        same(&through_a_listener(client, &steps, &by_command), &from_command, name);
        same(&through_a_listener(client, &steps, &by_url(&other)), &from_url, name);
        if served.is_itself_over_stdio {
            same(&from_url, &from_command, name);
        }
    }
}

#[track_caller]
fn same(one: &Recorded, other: &Recorded, name: &str) {
    assert_eq!(one.client, other.client, "{name}: the client's");
    assert_eq!(one.server, other.server, "{name}: the server's");
}

#[test]
fn a_legacy_session_is_recorded_the_same_over_every_transport() {
    same_in_every_combination(&UrlClient::node("v1"));
}

#[test]
fn a_modern_session_is_recorded_the_same_over_every_transport() {
    same_in_every_combination(&UrlClient::python("auto"));
}

#[test]
fn a_session_that_the_host_names_has_that_name_in_its_log() {
    let (like, served) = (&SERVERS[0], &SERVED[0]);
    for kind in ["v1", "v2-auto"] {
        let client = UrlClient::node(kind).named("of-the-host");
        let running = Running::start(served);
        for server in [by_command(like), by_url(&running)] {
            let through = proxied(&server, |url| client.take(r#"[{"list":true}]"#, &[url.into()]));
            assert!(through.taken.well(), "{kind}: {}", through.taken.stderr);
            let [log]: &[PathBuf; 1] = through.logs[..].try_into().expect("there is one session");
            let header = whole_log(log).header;
            assert_eq!(header.host_session.as_deref(), Some("of-the-host"), "{kind}");
        }
    }
}
