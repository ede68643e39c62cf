//! `hoist-mcp --upstream` in front of `hoist-mcp-demo --http`, against the same server over stdio.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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

/// A host that sends a line, waits for its answer if it has an id, and goes on.
fn host(proxy_arguments: &[&str], lines: &[Value]) -> (Vec<Value>, String) {
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"))
        .args(proxy_arguments)
        .env("KEY", "a-secret-value")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = proxy.stdin.take().unwrap();
    let mut output = BufReader::new(proxy.stdout.take().unwrap()).lines();
    let mut answers = Vec::new();
    for line in lines {
        writeln!(input, "{line}").unwrap();
        if line.get("id").is_some() {
            answers.push(serde_json::from_str(&output.next().unwrap().unwrap()).unwrap());
        }
    }
    drop(input);
    assert!(output.next().is_none(), "nothing more is said");
    let said = proxy.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    (answers, String::from_utf8(said.stderr).unwrap())
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
fn over_stdio(lines: &[Value]) -> Vec<Value> {
    host(&["--", env!("CARGO_BIN_EXE_hoist-mcp-demo")], lines).0
}

#[track_caller]
fn over_http(odd: &[&str], lines: &[Value], logs: &Path) -> Vec<Value> {
    let flags: Vec<&str> = odd.iter().flat_map(|odd| ["--odd", odd]).collect();
    let (_server, url) = serve(&flags);
    let logs = logs.to_str().unwrap();
    host(&["--record", logs, "--upstream", &url], lines).0
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
        let revisions = ["2025-03-26", "2025-06-18", "2025-11-25"];
        let sessions = revisions.into_iter().map(legacy).chain([modern()]);
        for lines in sessions {
            let folder = TempDir::new().unwrap();
            let answers = over_http(odd, &lines, folder.path());
            assert_eq!(answers, over_stdio(&lines), "{odd:?}");
            let session = read_session(&only_log(folder.path())).unwrap();
            assert_eq!(session.findings.problems, 0, "{odd:?}: {:?}", session.findings.first);
            assert_eq!(session.episode.calls().count(), 4, "{odd:?}");
            assert_eq!(session.episode.results().count(), 4, "{odd:?}");
        }
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
    for answer in over_http(&["gzip"], &modern(), folder.path()) {
        assert!(answer["error"]["message"].as_str().unwrap().contains("gzip"), "{answer}");
    }
}

#[test]
fn credentials_appear_nowhere() {
    let (_server, url) = serve(&[]);
    let url = url.replace("http://", "http://user:pass-word@") + "?api_key=query-secret";
    let folder = TempDir::new().unwrap();
    let logs = folder.path().to_str().unwrap();
    let arguments = ["--record", logs, "--upstream", &url, "--upstream-header", "X-Key=KEY"];
    let (answers, stderr) = host(&arguments, &legacy("2025-11-25"));
    assert_eq!(answers.len(), 7);
    let log = fs::read_to_string(only_log(folder.path())).unwrap();
    for secret in ["a-secret-value", "pass-word", "query-secret"] {
        assert!(!log.contains(secret), "{secret} in {log}");
        assert!(!stderr.contains(secret), "{secret} in {stderr}");
    }
    assert!(log.contains("\"server_url\":\"http://"), "{log}");
}

#[test]
fn what_cannot_be_reached_as_asked_is_said_at_once() {
    let fails = |arguments: &[&str], code: i32, expected: &str| {
        let proxy = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"))
            .args(arguments)
            .env_remove("NOT_SET")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&proxy.stderr);
        assert_eq!(proxy.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("s3cret"), "{stderr}");
        assert!(proxy.stdout.is_empty());
    };
    let url = "https://user:s3cret@h.test/?key=s3cret";
    fails(&["--upstream", "ftp://h/s3cret"], 2, "http:// or https://");
    fails(&["--upstream", "http://user:s3cret@/"], 2, "--upstream cannot be used");
    fails(&["--upstream", url, "--upstream-header", "X=NOT_SET"], 2, "NOT_SET is not set");
    fails(&["--upstream", url, "--upstream-header", "Accept=PATH"], 2, "set by the proxy itself");
    fails(&["--upstream", url, "--upstream-ca", "/no/such/file"], 125, "/no/such/file");
    fails(&["--upstream", url, "--upstream-ca", "/dev/null"], 2, "no certificate");
}
