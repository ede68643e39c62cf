//! `hoist replay`: what was recorded, served again.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Runs a program with these lines for its input.
fn run(program: &str, arguments: &[&str], lines: &str) -> Output {
    let mut process = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = process.wait_with_output().unwrap();
    // One that fails does not read it all.
    let _ = writing.join().unwrap();
    output
}

const ASKED: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"find_user_id_by_email","arguments":{"email":"c7@example.com"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_user_details","arguments":{"user_id":"user_7"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_user_details","arguments":{"user_id":"nobody"}}}"#,
    "\n",
);

/// Records the shop; what it said.
fn recorded(folder: &Path) -> Vec<u8> {
    let (proxy, demo) = (env!("CARGO_BIN_EXE_hoist-mcp"), env!("CARGO_BIN_EXE_hoist-mcp-demo"));
    let folder = folder.to_str().unwrap();
    let output = run(proxy, &["--record", folder, "--", demo, "--world", "retail"], ASKED);
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

fn replay(arguments: &[&str], lines: &str) -> Output {
    run(env!("CARGO_BIN_EXE_hoist"), &[&["replay"], arguments].concat(), lines)
}

#[test]
fn the_same_requests_get_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let said = recorded(folder.path());
    for flags in [&["--strict"][..], &["--pace"], &[]] {
        let arguments = [flags, &[folder.path().to_str().unwrap()]].concat();
        let output = replay(&arguments, ASKED);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let lines = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            if flags == ["--pace"] {
                // Asked all at once, what took no time passes what took some.
                lines.sort();
            }
            lines
        };
        assert_eq!(lines(&output.stdout), lines(&said));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn what_was_not_recorded_is_said_and_with_strict_a_failure() {
    let folder = TempDir::new().unwrap();
    recorded(folder.path());
    let path = folder.path().to_str().unwrap();
    let asked = ASKED.replace("\"user_7\"", "\"user_8\"");
    let nearest = "get_user_details {\"user_id\":\"user_8\"} was not recorded; the nearest call is \
                   get_user_details {\"user_id\":\"user_7\"}";
    for (flags, code) in [(&["--strict"][..], 1), (&[], 0)] {
        let output = replay(&[flags, &[path]].concat(), &asked);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr, format!("hoist replay: {nearest}\n"));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.contains(r#""id":3,"error":{"code":-32602"#), "{stdout}");
    }
    // A host's text is shown, and obeyed by no terminal.
    let odd = r#"{"jsonrpc":"2.0","id":9,"method":"x\u001b]0;y\u0007\u202e\r\nz"}"#;
    let output = replay(&[path], &format!("{odd}\n"));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("x\\x1b]0;y\\x07\\u{202e}"), "{stderr:?}");
    // Once more than it was recorded is too often only with the flag.
    let last = ASKED.lines().last().unwrap();
    let more = format!("{ASKED}{last}\n");
    assert_eq!(replay(&[path], &more).status.code(), Some(0));
    assert_eq!(replay(&["--strict", path], &more).status.code(), Some(1));
}

#[test]
fn a_host_by_url_is_served_too() {
    let folder = TempDir::new().unwrap();
    recorded(folder.path());
    let mut process = Command::new(env!("CARGO_BIN_EXE_hoist"))
        .args(["replay", "--listen", ":0", folder.path().to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let body = ASKED.lines().next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("\"serverInfo\""), "{said}");
    kill_process(Pid::from_raw(process.id().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn what_holds_no_answer_cannot_be_served() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let header = "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":0}\n";
    for (path, what) in [
        (path("empty.jsonl", ""), "empty.jsonl"),
        (path("other.jsonl", "{}\n"), "other.jsonl"),
        (path("none.jsonl", header), "nothing to serve"),
        ("/no/such/log.jsonl".to_owned(), "/no/such/log.jsonl"),
    ] {
        let output = replay(&[&path], "");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(what), "{stderr}");
    }
    let torn = format!("{header}junk\nmore junk\n");
    let output = replay(&[&path("junk.jsonl", &torn)], "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("junk.jsonl: 2 lines not readable"), "{stderr}");
    let log = path("log.jsonl", header);
    let output = replay(&["--listen", "192.0.2.1:80", &log], "");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
