//! Real servers from npm: the same script direct and through the proxy gives the same bytes, and
//! every line is in the log.

use std::fs;
use std::path::{Path, PathBuf};

use hoist_trace::log::Origin;
use tempfile::TempDir;

use crate::acting::acting;
use crate::host::{Host, hoist_mcp};
use crate::log::{holds_every_line, only_log, whole_log};
use crate::peers;

type Script<'a> = &'a [(&'a str, String)];

/// Runs a script of requests, one after the other, and returns the answers' bytes.
fn drive(host: &mut Host, script: Script<'_>) -> Vec<String> {
    let mut answers = vec![host.initialize()];
    for (id, (method, params)) in (1..).zip(script) {
        answers.push(host.ask(id, method, params));
    }
    host.end();
    answers
}

fn command(server: &str, arguments: &[&Path]) -> Vec<PathBuf> {
    let program = peers::npm().join("node_modules/.bin").join(server);
    [program].into_iter().chain(arguments.iter().map(|a| a.to_path_buf())).collect()
}

#[track_caller]
fn same_bytes_and_all_recorded(server: &[PathBuf], script: Script<'_>) {
    let mut direct = Host::start(&server[0], &server[1..]);
    let want = drive(&mut direct, script);
    for proxy in [hoist_mcp(), acting()] {
        let logs = TempDir::new().expect("a temporary directory");
        let before_command: [&Path; 3] = ["--record".as_ref(), logs.path(), "--".as_ref()];
        let words = before_command.into_iter().chain(server.iter().map(PathBuf::as_path));
        let mut proxied = Host::start(proxy, words);
        let got = drive(&mut proxied, script);
        assert_eq!(got, want, "through {}", proxy.display());
        let log = whole_log(&only_log(logs.path()));
        holds_every_line(&log, Origin::Client, &proxied.sent);
        holds_every_line(&log, Origin::Server, &proxied.received);
        assert!(log.entries.len() > 2 * script.len(), "{} entries", log.entries.len());
    }
}

fn call(name: &str, arguments: &str) -> (&'static str, String) {
    ("tools/call", format!(r#"{{"name":"{name}","arguments":{arguments}}}"#))
}

fn list(what: &'static str) -> (&'static str, String) {
    (what, "{}".into())
}

#[test]
fn server_everything_answers_the_same_through_the_proxy() {
    let server = command("mcp-server-everything", &["stdio".as_ref()]);
    same_bytes_and_all_recorded(
        &server,
        &[
            list("tools/list"),
            list("prompts/list"),
            list("resources/list"),
            list("resources/templates/list"),
            call("echo", r#"{"message":"\u00e9 é 😀 \ud83d\ude00 \/ 世"}"#),
            call("get-sum", r#"{"a":1.50,"b":2e0}"#),
            call("get-tiny-image", "{}"),
            call("get-structured-content", r#"{"location":"Chicago"}"#),
            call("no-such-tool", "{}"),
            call("echo", r#"{"message":7}"#),
            ("prompts/get", r#"{"name":"simple-prompt"}"#.into()),
            ("completion/complete", "{}".into()),
            ("no/such/method", "{}".into()),
            list("ping"),
        ],
    );
}

#[test]
fn server_filesystem_answers_the_same_through_the_proxy() {
    let root = TempDir::new().expect("a temporary directory");
    let root = root.path().canonicalize().expect("it is there");
    fs::write(root.join("a.txt"), "hello\r\nwörld\u{2028}\n").expect("it can be written");
    fs::create_dir(root.join("sub")).expect("it can be written");
    let at = |name: &str| format!("{:?}", root.join(name).display().to_string());
    let server = command("mcp-server-filesystem", &[&root]);
    same_bytes_and_all_recorded(
        &server,
        &[
            list("tools/list"),
            call("list_directory", &format!(r#"{{"path":{}}}"#, at(""))),
            call("read_text_file", &format!(r#"{{"path":{}}}"#, at("a.txt"))),
            call("read_media_file", &format!(r#"{{"path":{}}}"#, at("a.txt"))),
            call("read_text_file", r#"{"path":"/no/such/file"}"#),
            call("list_allowed_directories", "{}"),
            call("directory_tree", &format!(r#"{{"path":{}}}"#, at(""))),
        ],
    );
}

#[test]
fn server_memory_answers_the_same_through_the_proxy() {
    // The graph is kept by the process's own folder of packages; it is only read here.
    let server = command("mcp-server-memory", &[]);
    same_bytes_and_all_recorded(
        &server,
        &[
            list("tools/list"),
            call("read_graph", "{}"),
            call("search_nodes", r#"{"query":"nobody"}"#),
            call("open_nodes", r#"{"names":["nobody"]}"#),
            call("create_entities", r#"{"entities":"not an array"}"#),
        ],
    );
}
