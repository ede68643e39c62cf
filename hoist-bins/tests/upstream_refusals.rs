//! What `hoist-mcp --upstream` refuses before it sends a byte, and what it never shows.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::process::{Command, Stdio};

use hoist_trace::log::{Content, Origin};
use hoist_trace::mcp::read_log;

/// Values that must never be seen.
const SECRET: &str = "s3cret";

struct Run {
    code: Option<i32>,
    said: String,
}

/// Runs the proxy with no input.
fn run<S: AsRef<OsStr>>(arguments: &[S], variables: &[(&str, &OsStr)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"));
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    command.args(arguments).envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.env_remove("NOT_SET").output().unwrap();
    assert!(output.stdout.is_empty());
    Run { code: output.status.code(), said: String::from_utf8(output.stderr).unwrap() }
}

#[track_caller]
fn refuses<S: AsRef<OsStr>>(arguments: &[S], variables: &[(&str, &OsStr)], expected: &str) {
    let words: Vec<_> = arguments.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    let Run { code, said } = run(arguments, variables);
    assert_eq!(code, Some(2), "{words:?}: {said}");
    assert!(said.contains(expected), "{words:?}: {said}");
    assert!(!said.contains(SECRET), "{words:?}: {said}");
}

#[test]
fn a_url_that_cannot_be_reached_as_it_stands_is_refused() {
    for (url, expected) in [
        ("ftp://h/s3cret", "http:// or https://"),
        ("http://user:s3cret@/", "--upstream cannot be used"),
        ("localhost:8930/s3cret", "lacks http:// or https://"),
        ("http://h:99999/s3cret", "port is not a number"),
        ("http://h:x/mcp", "port is not a number"),
        ("http://h:-1/mcp", "port is not a number"),
        ("http://h:+80/mcp", "port is not a number"),
        ("http://user:s3cret/x@h/mcp", "port is not a number"),
    ] {
        refuses(&["--upstream", url], &[], expected);
    }
}

#[test]
fn what_names_no_proxy_is_not_passed_over() {
    for url in ["http://u:s3cret@[bad", "http://", "http:/p:3128", "socks5://u:s3cret@p:1", "p:x"] {
        for (variable, upstream) in [
            ("HTTP_PROXY", "http://h.invalid/"),
            ("http_proxy", "http://h.invalid/"),
            ("HTTPS_PROXY", "https://h.invalid/"),
            ("ALL_PROXY", "https://h.invalid/"),
            ("all_proxy", "http://h.invalid/"),
        ] {
            let expected = format!("{variable} cannot be used: ");
            let set = [(variable, OsStr::new(url))];
            refuses(&["--upstream", upstream], &set, &expected);
        }
    }
    let latin1 = OsString::from_vec(b"http://p\xe9:1".to_vec());
    let set = [("HTTP_PROXY", latin1.as_os_str())];
    refuses(&["--upstream", "http://h.invalid/"], &set, "HTTP_PROXY cannot be used");
    // The one that counts is named.
    let set = [("http_proxy", OsStr::new("p:x")), ("HTTP_PROXY", OsStr::new("p:1"))];
    refuses(&["--upstream", "http://h.invalid/"], &set, "http_proxy cannot be used");
}

#[test]
fn a_header_cannot_be_given_by_mistake_so_that_it_is_shown() {
    let key: &OsStr = "s3cret\n".as_ref();
    let set: &[(&str, &OsStr)] = &[("KEY", key), ("AS3cret", OsStr::new("x"))];
    for (header, expected) in [
        ("Authorization=NOT_SET", "--upstream-header Authorization=NOT_SET: the environment"),
        ("Authorization=Bearer s3cret", "--upstream-header NAME=VAR: the environment variable"),
        ("Authorization=s3cret-x", "NAME=VAR"),
        ("Authorization=ghp_s3cretXs3cretXs3cretXs3cretXs3cret", "NAME=VAR"),
        ("Authorization: Bearer s3cret", "takes NAME=VAR"),
        ("Authorization: Bearer s3cret==", "NAME=VAR"),
        ("Authorization: Bearer s3cret=KEY", "NAME=VAR cannot be sent"),
        ("s3cret", "takes NAME=VAR"),
        ("=s3cret", "takes NAME=VAR"),
        ("X-Key=KEY", "--upstream-header X-Key=KEY cannot be sent"),
        ("Last-Event-ID=PATH", "set by the proxy itself"),
        ("Accept=PATH", "set by the proxy itself"),
        ("mcp-session-id=PATH", "set by the proxy itself"),
    ] {
        refuses(&["--upstream", "https://h.invalid/", "--upstream-header", header], set, expected);
    }
    let latin1 = OsString::from_vec(b"X=s3cret\xe9".to_vec());
    let words =
        ["--upstream".into(), "http://h.invalid/".into(), "--upstream-header".into(), latin1];
    refuses(&words, set, "takes NAME=VAR");
}

#[test]
fn a_url_in_the_wrong_place_shows_no_credentials() {
    const URL: &str = "https://user:s3cret@h.invalid/?api_key=s3cret";
    for (words, expected) in [
        (&[URL][..], "unexpected argument `https://"),
        (&["Authorization: Bearer s3cret"], "unexpected argument `Authorization: <redacted>`"),
        (&["user:s3cret@h.invalid:8080"], "unexpected argument `user:<redacted>@h.invalid:8080`"),
        (&["--upstream", "http://h/", "--", URL], "follows --"),
        (&["--grace", URL, "--", "x"], "--grace takes seconds"),
        (&["--upstream", "http://h/", "--upstream-ca", URL], "cannot read --upstream-ca"),
    ] {
        refuses(words, &[], expected);
    }
    let started = run(&["--", URL], &[]);
    assert_eq!(started.code, Some(125), "{}", started.said);
    assert!(
        started.said.contains("h.invalid") && !started.said.contains(SECRET),
        "{}",
        started.said
    );
    let mut url = URL.to_owned().into_bytes();
    url.push(0xe9);
    let words = [OsString::from("--upstream"), OsString::from_vec(url)];
    refuses(&words, &[], "--upstream takes text in UTF-8");
}

#[test]
fn certificates_that_cannot_be_used_are_blamed_on_their_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let broken = folder.path().join("broken.pem");
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let torn = folder.path().join("torn.pem");
    std::fs::write(&torn, "-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap();
    for (file, expected) in [
        ("/no/such/file", "cannot read --upstream-ca /no/such/file"),
        ("/dev/null", "--upstream-ca /dev/null cannot be used: no certificate"),
        (broken.to_str().unwrap(), "broken.pem cannot be used: no certificate"),
        (torn.to_str().unwrap(), "a block in it has no end"),
    ] {
        refuses(&["--upstream", "https://h.invalid/", "--upstream-ca", file], &[], expected);
    }
}

#[test]
fn a_line_over_the_limit_is_not_sent_and_the_log_says_so() {
    let folder = tempfile::TempDir::new().unwrap();
    // Nobody listens on a port that was just given back.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"))
        .args(["--max-message-bytes", "1024", "--upstream", &format!("http://{closed}/")])
        .arg("--record")
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let params = format!(r#"{{"x":"{}"}}"#, "x".repeat(3000));
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#);
    let told = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#);
    proxy.stdin.take().unwrap().write_all(format!("{call}\n{told}\n").as_bytes()).unwrap();
    let output = proxy.wait_with_output().unwrap();
    // It never reached the server, of which each request hears.
    assert_eq!(output.status.code(), Some(0));
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#), "{answer}");
    assert_eq!(answer.lines().count(), 1);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("dropped a line on its way to the server").count(), 2, "{said}");

    let log = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let entries = read_log(&log).unwrap().entries;
    let seen: Vec<_> = entries
        .iter()
        .map(|entry| match &entry.content {
            Content::Gap(gap) => (entry.from, gap.bytes),
            _ => (entry.from, 0),
        })
        .collect();
    let (call, told) = (call.len() as u64 + 1, told.len() as u64 + 1);
    assert_eq!(seen, [(Origin::Client, call), (Origin::Proxy, 0), (Origin::Client, told)]);
    assert_eq!(entries[1].message(), Some(answer.trim_end()));
}
