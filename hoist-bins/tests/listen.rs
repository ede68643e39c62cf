//! `hoist-mcp --listen`: its flags, what it says, and how it ends.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};

use hoist_trace::mcp::{read_log, read_session};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const DEMO: &str = env!("CARGO_BIN_EXE_hoist-mcp-demo");

/// A proxy that does not outlive its test.
struct Proxy {
    process: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    /// Where hosts connect: address and port.
    address: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a proxy and waits until hosts can connect.
fn listen(arguments: &[&str]) -> Proxy {
    let mut process = command(&[&["--listen", "127.0.0.1:0"], arguments].concat()).spawn().unwrap();
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    let stderr = BufReader::new(process.stderr.take().unwrap());
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    let address = url.trim().strip_suffix("/mcp").unwrap();
    let (_, address) = address.split_once("://").unwrap();
    let address = address.to_owned();
    Proxy { process, stdout, stderr, address }
}

/// What a proxy that cannot run says.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command(arguments).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&stdout), "", "nothing is listened on");
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// An answer: its head, and the rest as it came.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Proxy {
    /// The next line of its standard error.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{method} /mcp HTTP/1.1\r\nHost: {}\r\n", self.address).unwrap();
        for (name, value) in [&[("Connection", "close")], headers].concat() {
            write!(stream, "{name}: {value}\r\n").unwrap();
        }
        write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        const PLAIN: [(&str, &str); 2] = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        self.request("POST", &[&PLAIN, headers].concat(), &message.to_string())
    }

    /// Begins a legacy session; its id.
    fn session(&self, headers: &[(&str, &str)]) -> String {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = self.post(
            headers,
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        );
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.header("mcp-session-id").unwrap().to_owned()
    }

    /// Asks it to end; its exit code, and what else it said.
    fn stop(mut self) -> (Option<i32>, String) {
        let pid = Pid::from_raw(self.process.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        let mut more = String::new();
        self.stdout.read_to_string(&mut more).unwrap();
        assert_eq!(more, "", "standard output has the URL and nothing else");
        (self.process.wait().unwrap().code(), said)
    }
}

fn call(id: u32, text: &str) -> Value {
    let params = json!({"name": "lookup", "arguments": {"text": text}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn each_session_has_a_server_and_a_log_of_its_own() {
    let logs = TempDir::new().unwrap();
    let dir = logs.path().to_str().unwrap();
    let mut proxy = listen(&["--record", dir, "--domain", "orders", "--", DEMO]);
    assert_eq!(proxy.says(), format!("hoist-mcp: recording to {dir}"));
    let url = format!("hoist-mcp: hosts connect to http://{}/mcp", proxy.address);
    assert_eq!(proxy.says(), url);

    let one = proxy.session(&[("Hoist-Session", "run-7")]);
    let began = proxy.says();
    assert!(began.ends_with("began, of host session run-7"), "{began}");
    let other = proxy.session(&[]);
    assert!(proxy.says().ends_with("began"));
    assert_ne!(one, other);
    for (id, session) in [(1, &one), (2, &other)] {
        let answer = proxy.post(&[("Mcp-Session-Id", session)], &call(id, session));
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains(session.as_str()), "{}", answer.body);
    }
    let deleted = proxy.request("DELETE", &[("Mcp-Session-Id", &one)], "");
    assert_eq!(deleted.status, 200);
    let ended = proxy.says();
    assert!(ended.ends_with(" ended"), "{ended}");
    assert_eq!(proxy.post(&[("Mcp-Session-Id", &one)], &call(3, "x")).status, 404);
    let process = proxy.process.id();
    let (code, said) = proxy.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.trim_end().ends_with(" ended"), "{said}");

    let names = names(logs.path());
    assert_eq!(names.len(), 2);
    for (number, name) in (1..).zip(&names) {
        assert!(name.ends_with(&format!("Z-{process}-{number}.jsonl")), "{name}");
        let path = logs.path().join(name);
        let header = read_log(&path).unwrap().header;
        assert_eq!(header.domain.as_deref(), Some("orders"));
        assert_eq!(header.host_session.as_deref(), (number == 1).then_some("run-7"));
        let session = read_session(&path).unwrap();
        assert!(session.findings.first.is_empty() && session.problems.is_empty(), "{session:?}");
        let calls = session.episode.calls().count();
        assert_eq!(calls, 1);
    }
}

#[test]
fn what_waits_for_an_answer_gets_one_when_the_proxy_ends() {
    let proxy = listen(&["--grace", "0.2", "--", DEMO]);
    let session = proxy.session(&[]);
    let address = proxy.address.clone();
    let (arrived, waits) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(&address).unwrap();
        let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": {"name": "lookup", "arguments": {"delay_ms": 60_000}}});
        let call = call.to_string();
        let head = [
            "POST /mcp HTTP/1.1",
            &format!("Host: {address}"),
            &format!("Mcp-Session-Id: {session}"),
            "MCP-Protocol-Version: 2025-11-25",
            "Content-Type: application/json",
            "Accept: text/event-stream",
            &format!("Content-Length: {}", call.len()),
        ];
        write!(stream, "{}\r\n\r\n{call}", head.join("\r\n")).unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        // The event that the stream begins with.
        assert!(lines.any(|line| line.starts_with("id: ")));
        arrived.send(()).unwrap();
        lines.collect::<Vec<_>>().join("\n")
    });
    waits.recv().unwrap();
    let (code, _) = proxy.stop();
    assert_eq!(code, Some(0));
    let rest = waiting.join().unwrap();
    assert!(rest.contains(r#""id":9,"error""#), "{rest}");
}

#[test]
fn the_servers_are_gone_when_the_proxy_is() {
    let mut proxy = listen(&["--", "sh", "-c", "echo $$ >&2; exec \"$0\"", DEMO]);
    proxy.says();
    let mut servers = Vec::new();
    for _ in 0..3 {
        proxy.session(&[]);
        // One says that the session began, the other is the server's own; in either order.
        let said = [proxy.says(), proxy.says()];
        let pid = said.iter().find_map(|line| line.parse().ok()).unwrap();
        servers.push(Pid::from_raw(pid).unwrap());
    }
    assert!(servers.iter().all(|pid| test_kill_process(*pid).is_ok()));
    assert_eq!(proxy.stop().0, Some(0));
    assert!(servers.iter().all(|pid| test_kill_process(*pid).is_err()));
}

#[test]
fn a_server_that_cannot_be_started_is_said_to_whoever_asks() {
    let mut proxy = listen(&["--", "/no/such/server"]);
    proxy.says();
    let answer = proxy
        .post(&[], &json!({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {}}));
    assert_eq!(answer.status, 502);
    assert!(answer.body.contains(r#""id":"a","error""#), "{}", answer.body);
    assert!(!answer.body.contains("/no/such/server"), "{}", answer.body);
    let said = proxy.says();
    assert!(said.contains("did not begin: ") && said.contains("/no/such/server"), "{said}");
    // The next host may have more luck.
    assert_eq!(proxy.stop().0, Some(0));
}

#[test]
fn hosts_must_show_the_token() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("token");
    fs::write(&file, " s3cret-token\n").unwrap();
    let logs = dir.path().join("logs");
    let proxy = listen(&[
        "--listen-token-file",
        file.to_str().unwrap(),
        "--record",
        logs.to_str().unwrap(),
        "--",
        DEMO,
    ]);
    let command = fs::read(format!("/proc/{}/cmdline", proxy.process.id())).unwrap();
    assert!(!String::from_utf8_lossy(&command).contains("s3cret-token"));
    let wrong = proxy.post(&[("Authorization", "Bearer wrong")], &call(1, "x"));
    assert_eq!((wrong.status, wrong.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(proxy.post(&[], &call(1, "x")).status, 401);
    proxy.session(&[("Authorization", "Bearer s3cret-token")]);
    let (code, said) = proxy.stop();
    assert_eq!(code, Some(0));
    assert!(!said.contains("s3cret-token"), "{said}");
    for name in names(&logs) {
        assert!(!fs::read_to_string(logs.join(name)).unwrap().contains("s3cret-token"));
    }
}

#[test]
fn what_cannot_be_listened_on_is_said() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str, content: &str| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (empty, two) = (path("empty", " \n"), path("two", "a b"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let local = "127.0.0.1:0";
    let check = |flags: &[&str], code: i32, what: &str| {
        let (found, said) = refused(&[flags, &["--", DEMO]].concat());
        assert_eq!(found, Some(code), "{flags:?}: {said}");
        assert!(said.contains(what), "{flags:?}: {said}");
    };
    check(&["--listen", "0.0.0.0:0"], 2, "--listen needs --listen-token-file");
    check(&["--listen", local, "--listen-token-file", &empty], 2, "a token is one word");
    check(&["--listen", local, "--listen-token-file", &two], 2, "a token is one word");
    check(
        &["--listen", local, "--listen-token-file", "/no/such"],
        2,
        "cannot read --listen-token-file",
    );
    check(&["--listen", &taken], 125, "cannot listen on");
    check(&["--listen", local, "--record", "/proc/no"], 125, "cannot create the log directory");
    let tls = ["--listen-tls-cert", &*empty, "--listen-tls-key", &*empty];
    check(&[&["--listen", local][..], &tls].concat(), 2, "no certificate in PEM form");
    check(&["--listen", "nowhere"], 2, "--listen takes an IP address and a port");
    check(&["--listen-idle", "5"], 2, "--listen-idle is of use only with --listen");
    check(&["--listen", local, "--listen-tls-cert", &empty], 2, "only with --listen-tls-key");
}

#[test]
fn an_address_without_a_host_is_this_machines_own() {
    for address in [":0", "localhost:0"] {
        let mut process = command(&["--listen", address, "--", DEMO]).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{address}: {url}");
    }
}
