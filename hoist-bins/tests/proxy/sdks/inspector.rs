//! The command line of MCP Inspector, which reads a host's configuration and makes one request.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::client::Taken;
use super::listen::{by_command, by_url, proxied};
use super::run::{Outcome, Way, run};
use super::served::{Running, SERVED};
use super::servers::SERVERS;
use crate::host::{Host, demo};
use crate::log::whole_log;
use crate::peers;

/// Runs it on the demo server.
fn inspect(way: Way, request: &[&str]) -> Outcome {
    run(way, &[demo().into()], |dir: &Path, words: Vec<OsString>| {
        let words: Vec<_> = words.iter().map(|word| word.to_str().expect("UTF-8")).collect();
        let server = serde_json::json!({"command": words[0], "args": words[1..]});
        let configuration = serde_json::json!({"mcpServers": {"orders": server}});
        let file = dir.join("mcp.json");
        fs::write(&file, configuration.to_string()).expect("it can be written");
        let mut command = Command::new("node");
        command.arg(peers::npm().join("node_modules/.bin/mcp-inspector"));
        command.args(["--cli", "--config"]).arg(file).args(["--server", "orders"]).args(request);
        // Otherwise it asks the user's keychain.
        command.env("MCP_INSPECTOR_SECRET_STORE", "memory");
        command
    })
}

/// Runs it on the server at a URL, with a name for the session.
fn inspect_by_url(url: &str, request: &[&str]) -> Taken {
    let home = TempDir::new().expect("a temporary directory");
    let mut command = Command::new("node");
    command.arg(peers::npm().join("node_modules/.bin/mcp-inspector")).args(["--cli", url]);
    command.args(["--transport", "http", "--header", "Hoist-Session: of-the-inspector"]);
    command.args(request).env("MCP_INSPECTOR_SECRET_STORE", "memory").env("HOME", home.path());
    Taken::by(Host::spawn(&mut command))
}

/// A request, the exit code that comes of it, a text that is shown, and how many calls it makes.
type Case = (Vec<&'static str>, i32, &'static str, usize);

fn cases() -> [Case; 3] {
    let call: fn(&'static str, &'static str) -> Vec<&'static str> = |tool, arguments| {
        vec!["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments]
    };
    let modern = [vec!["--protocol-era", "auto"], call("lookup", r#"{"n":1}"#)].concat();
    let failing = call("update", r#"{"text":"no","fail":true}"#);
    [
        (vec!["--method", "tools/list"], 0, "Changes nothing and answers", 0),
        (modern, 0, r#"{\"n\":1}"#, 1),
        (failing, 5, r#""isError": true"#, 1),
    ]
}

#[test]
fn the_inspector_shows_the_same() {
    for (request, code, seen, _) in cases() {
        let direct = inspect(Way::Direct, &request);
        assert_eq!(direct.status.code(), Some(code), "{request:?}: {}", direct.stderr);
        assert!(direct.transcript.contains(seen), "{request:?}: {}", direct.transcript);
        for way in Way::PROXIED {
            let difference = inspect(way, &request).differs_from(&direct);
            assert_eq!(difference, None, "{request:?} {way:?}");
        }
    }
}

#[test]
fn the_inspector_shows_the_same_by_url() {
    let (like, served) = (&SERVERS[0], &SERVED[0]);
    for (request, code, seen, calls) in cases() {
        let running = Running::start(served);
        let direct = inspect_by_url(&running.url, &request);
        assert_eq!(direct.status.code(), Some(code), "{request:?}: {}", direct.stderr);
        assert!(direct.printed.contains(seen), "{request:?}: {}", direct.printed);
        for server in [by_command(like), by_url(&running)] {
            let through = proxied(&server, |url| inspect_by_url(url, &request));
            through.check(&direct, 1, calls, &format!("{request:?} on {server:?}"));
            let header = whole_log(&through.logs[0]).header;
            assert_eq!(header.host_session.as_deref(), Some("of-the-inspector"));
        }
    }
}
