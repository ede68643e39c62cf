//! Runs each example as its documentation says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The server of the examples, which is another package's: `cargo test --workspace` has built it,
/// `cargo test -p hoist-examples` has not.
fn demo_server() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let example = Path::new(env!("CARGO_BIN_EXE_embed_recording_proxy"));
        let name = format!("hoist-mcp-demo{}", std::env::consts::EXE_SUFFIX);
        let server = example.with_file_name(name);
        if !server.exists() {
            let target = server.ancestors().nth(2).expect("it lies in Cargo's target directory");
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "-q", "-p", "hoist-bins", "--bin", "hoist-mcp-demo"]);
            cargo.args(if cfg!(debug_assertions) { &[][..] } else { &["--release"] });
            cargo.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
            assert!(cargo.status().unwrap().success(), "{cargo:?}");
        }
        server
    })
}

/// Runs a program to its end with this text on its standard input.
fn run(command: &mut Command, input: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn call(id: u32, tool: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{{"n":{id}.0}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#) + "\n"
}

#[track_caller]
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// What the server says to `input` with nothing in between.
fn answers(input: &str) -> String {
    text(run(&mut Command::new(demo_server()), input).stdout)
}

#[test]
fn a_session_is_recorded_and_read_as_an_episode() {
    let logs = tempfile::tempdir().unwrap();
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_embed_recording_proxy"));
    proxy.arg(logs.path()).arg(demo_server());
    let input = call(1, "lookup") + &call(2, "lookup");
    let output = run(&mut proxy, &input);
    let said = text(output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(text(output.stdout), answers(&input));
    assert!(said.contains("4 lines recorded"), "{said}");

    let log = fs::read_dir(logs.path()).unwrap().next().unwrap().unwrap().path();
    assert!(said.contains(&format!("recording to {}", log.display())), "{said}");
    let mut reader = Command::new(env!("CARGO_BIN_EXE_log_to_episode"));
    let output = run(reader.arg("no-such-log").arg(&log), "");
    assert_eq!(output.status.code(), Some(1), "one of the two cannot be read");
    assert!(text(output.stderr).contains("no-such-log"));
    let shown = text(output.stdout);
    for line in [r#"agent calls lookup {"n":1.0}"#, r#"agent calls lookup {"n":2.0}"#] {
        assert!(shown.contains(line), "{shown}");
    }
    assert_eq!(shown.matches("    result {").count(), 2, "{shown}");
}

#[test]
fn the_exit_code_of_the_server_is_the_proxys() {
    let logs = tempfile::tempdir().unwrap();
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_embed_recording_proxy"));
    let output = run(proxy.arg(logs.path()).arg(demo_server()).arg("--no-such-flag"), "");
    assert_eq!(output.status.code(), Some(2), "{}", text(output.stderr));
}

#[test]
fn one_tool_is_refused_and_each_is_counted() {
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_count_and_refuse"));
    proxy.arg("delete_all").arg(demo_server());
    let input = call(1, "lookup") + &call(2, "delete_all") + &call(3, "lookup");
    let output = run(&mut proxy, &input);
    assert!(output.status.success());
    let mut got: Vec<_> = text(output.stdout).lines().map(str::to_owned).collect();
    let refusal = got.remove(got.iter().position(|line| line.contains("switched off")).unwrap());
    assert!(refusal.contains(r#""id":2,"#) && refusal.contains(r#""isError":true"#), "{refusal}");
    let others = answers(&(call(1, "lookup") + &call(3, "lookup")));
    assert_eq!(got, others.lines().collect::<Vec<_>>());
    assert_eq!(text(output.stderr), "1 x delete_all\n2 x lookup\n");
}

#[test]
fn each_says_how_it_is_used() {
    for (program, args) in [
        (env!("CARGO_BIN_EXE_embed_recording_proxy"), &["--help"][..]),
        (env!("CARGO_BIN_EXE_count_and_refuse"), &["only-a-tool"]),
        (env!("CARGO_BIN_EXE_log_to_episode"), &[]),
    ] {
        let output = run(Command::new(program).args(args), "");
        assert_eq!(output.status.code(), Some(2), "{program}");
        assert!(text(output.stderr).starts_with("Usage: "), "{program}");
    }
}
