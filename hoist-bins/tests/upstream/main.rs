//! `hoist-mcp --upstream` in front of `hoist-mcp-demo --http`, against the same server over stdio.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod by_hand;
mod secure;

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hoist_trace::log::Origin;
use hoist_trace::mcp::{read_log, read_session};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A process that does not outlive its test.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the demo server over HTTP; the process, and its URL.
fn serve(arguments: &[&str]) -> (Owned, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_hoist-mcp-demo"))
        .args(["--http", "127.0.0.1:0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (Owned(server), url.trim().to_owned())
}

/// A proxy that a host has started.
struct Proxy {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Proxy {
    /// Starts it with these variables, and none that name other proxies.
    fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"));
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(name).env_remove(name.to_ascii_lowercase());
        }
        let mut process = command
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, input, output }
    }

    /// Sends the lines; each that has an id is answered before the next is sent.
    fn talk(&mut self, lines: &[Value]) -> Vec<String> {
        let mut answers = Vec::new();
        for line in lines {
            writeln!(self.input, "{line}").unwrap();
            if line.get("id").is_some() {
                answers.push(self.output.next().unwrap().unwrap());
            }
        }
        answers
    }

    /// Ends the input, and waits for the proxy to end well. What it wrote to standard error.
    fn end(mut self) -> String {
        drop(self.input);
        assert!(self.output.next().is_none(), "nothing more is said");
        let said = self.process.wait_with_output().unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stderr).unwrap()
    }
}

/// A host that sends a line, waits for its answer if it has an id, and goes on.
fn host(proxy_arguments: &[&str], lines: &[Value]) -> Vec<String> {
    let mut proxy = Proxy::start(proxy_arguments, &[]);
    let answers = proxy.talk(lines);
    proxy.end();
    answers
}

fn legacy(revision: &str) -> Vec<Value> {
    let client = json!({"name": "test", "version": "1"});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines.extend(calls(&json!({})));
    lines
}

fn modern() -> Vec<Value> {
    let prefix = "io.modelcontextprotocol";
    let meta = json!({"_meta": {
        format!("{prefix}/protocolVersion"): "2026-07-28",
        format!("{prefix}/clientCapabilities"): {},
    }});
    let mut discover = json!({"jsonrpc": "2.0", "id": "d", "method": "server/discover"});
    discover["params"] = meta.clone();
    let mut lines = vec![discover];
    lines.extend(calls(&meta));
    lines
}

/// Calls of every kind of outcome; the id of each is another type.
fn calls(meta: &Value) -> Vec<Value> {
    let call = |id: Value, name: &str, arguments: Value| {
        let mut params = meta.clone();
        params["name"] = name.into();
        params["arguments"] = arguments;
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": meta}),
        call(json!(2), "lookup", json!({"text": "a \u{2028} é\n"})),
        call(json!("3"), "update", json!({"fail": true})),
        call(json!(4), "lookup", json!({"delay_ms": 1})),
        call(json!(5), "none", json!({})),
        json!({"jsonrpc": "2.0", "id": 6, "method": "no/such", "params": meta}),
    ]
}

/// What the host is told by the server over stdio.
fn over_stdio(lines: &[Value]) -> Vec<String> {
    host(&["--", env!("CARGO_BIN_EXE_hoist-mcp-demo")], lines)
}

#[track_caller]
fn over_http(odd: &[&str], lines: &[Value], logs: &Path) -> Vec<String> {
    let flags: Vec<&str> = odd.iter().flat_map(|odd| ["--odd", odd]).collect();
    let (_server, url) = serve(&flags);
    let logs = logs.to_str().unwrap();
    host(&["--record", logs, "--upstream", &url], lines)
}

fn parsed(answers: &[String]) -> Vec<Value> {
    answers.iter().map(|answer| serde_json::from_str(answer).unwrap()).collect()
}

fn only_log(folder: &Path) -> std::path::PathBuf {
    let mut logs = fs::read_dir(folder).unwrap();
    let log = logs.next().unwrap().unwrap().path();
    assert!(logs.next().is_none());
    log
}

#[test]
fn a_server_by_url_says_what_it_says_over_stdio() {
    for odd in [&[][..], &["sse"], &["split-events"], &["drop-streams"], &["redirect"], &["no-get"]]
    {
        let revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
        let sessions = revisions.into_iter().map(legacy).chain([modern()]);
        for lines in sessions {
            let folder = TempDir::new().unwrap();
            let answers = over_http(odd, &lines, folder.path());
            let expected = over_stdio(&lines);
            if odd == ["split-events"] {
                // Line feeds between an event's lines of data are spaces in the answer.
                assert_eq!(parsed(&answers), parsed(&expected));
                assert_ne!(answers, expected);
            } else {
                assert_eq!(answers, expected, "{odd:?}");
            }
            let session = read_session(&only_log(folder.path())).unwrap();
            assert_eq!(session.findings.problems, 0, "{odd:?}: {:?}", session.findings.first);
            assert_eq!(session.episode.calls().count(), 4, "{odd:?}");
            assert_eq!(session.episode.results().count(), 4, "{odd:?}");
        }
    }
}

#[test]
fn the_shop_by_url_is_the_shop_over_stdio() {
    let call = |id: u32, name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": name, "arguments": arguments}})
    };
    let mut lines = legacy("2025-11-25");
    lines.truncate(2);
    let cancel = json!({"order_id": "#W1a", "reason": "no longer needed"});
    lines.push(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    lines.push(call(2, "cancel_pending_order", cancel.clone()));
    // The second says that the first was carried out, once.
    lines.push(call(3, "cancel_pending_order", cancel));
    let retail = ["--", env!("CARGO_BIN_EXE_hoist-mcp-demo"), "--world", "retail"];
    let expected = host(&retail, &lines);
    assert!(expected[3].contains("not pending"), "{expected:?}");
    let (_server, url) = serve(&["--world", "retail"]);
    assert_eq!(host(&["--upstream", &url], &lines), expected);
}

#[test]
fn the_server_ends_well_when_it_is_told_to() {
    for signal in ["-TERM", "-INT"] {
        let (mut server, _url) = serve(&[]);
        let id = server.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(server.0.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn a_session_that_is_started_again_is_in_the_log_and_makes_no_call_twice() {
    let lines = legacy("2025-11-25");
    let folder = TempDir::new().unwrap();
    let answers = over_http(&["expire-sessions"], &lines, folder.path());
    assert_eq!(answers, over_stdio(&lines));
    let path = only_log(folder.path());
    let log = read_log(&path).unwrap();
    let own: Vec<&str> = log
        .entries
        .iter()
        .filter(|e| e.from == Origin::Proxy)
        .filter_map(|e| e.message())
        .collect();
    assert!(own.len() >= 2, "{own:?}");
    assert!(own[0].contains("\"initialize\"") && own[1].contains("initialized"), "{own:?}");
    let session = read_session(&path).unwrap();
    assert_eq!(session.findings.problems, 0, "{:?}", session.findings.first);
    assert_eq!(session.episode.calls().count(), 4);
    assert_eq!(session.episode.results().count(), 4);
}

#[test]
fn an_answer_that_claims_to_be_compressed_is_an_error() {
    let folder = TempDir::new().unwrap();
    for answer in parsed(&over_http(&["gzip"], &modern(), folder.path())) {
        assert!(answer["error"]["message"].as_str().unwrap().contains("gzip"), "{answer}");
    }
}
