//! The programs as somebody at a shell meets them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use hoist_trace::log::Origin;
use serde_json::Value;
use tempfile::TempDir;

use crate::host::{Host, demo, hoist_mcp};
use crate::log::{only_log, whole_log};
use crate::play::python;
use crate::ways::Way;

/// Every program under one roof, as Cargo built it.
fn hoist() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hoist"))
}

/// What a command came to that is given no input.
#[track_caller]
fn output(command: &mut Command) -> Output {
    let mut host = Host::spawn(command);
    host.close();
    let status = host.wait();
    let stderr = host.stderr().into_bytes();
    Output { status, stdout: std::mem::take(&mut host.received), stderr }
}

fn run(program: &Path, words: &[&str]) -> Output {
    output(Command::new(program).args(words))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

#[test]
fn a_usage_error_says_what_to_write_instead_and_exits_with_2() {
    for (program, words, parts) in [
        (hoist_mcp(), &["--recrod", "x", "--", "y"][..], &["--recrod", "--record"][..]),
        (hoist_mcp(), &[], &["put it after --", "hoist-mcp -- ", "by URL, with --upstream"]),
        (hoist_mcp(), &["--"], &["no server command"]),
        (hoist_mcp(), &["npx", "server"], &["`npx`", "put the server's command after --"]),
        (hoist_mcp(), &["--record", "--", "x"], &["--record needs a value"]),
        (hoist_mcp(), &["--grace", "-1", "--", "x"], &["--grace takes seconds", "`-1`"]),
        (hoist_mcp(), &["--retain-days=0", "--record=.", "--", "x"], &["whole number", "`0`"]),
        (hoist_mcp(), &["--max-message-bytes=1XB", "--", "x"], &["64MiB", "`1XB`"]),
        (demo(), &["--world", "moon"], &["echo or retail", "`moon`"]),
        (demo(), &["--wold", "echo"], &["--wold", "--world"]),
        (hoist(), &[], &["try", "mcp", "demo"]),
        (hoist(), &["tyr"], &["`tyr`", "did you mean try?"]),
        (hoist(), &["mcp", "--recrod", "x", "--", "y"], &["hoist mcp: ", "--record"]),
        (hoist(), &["demo", "--world=moon"], &["hoist demo: ", "retail"]),
        (hoist(), &["try", "--recrod", "x"], &["hoist try: ", "--record"]),
    ] {
        let output = run(program, words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
        assert!(parts.iter().all(|part| said.contains(part)), "{words:?}: {said}");
        assert!(said.contains("--help"), "{words:?}: {said}");
    }
}

#[test]
fn help_and_version_are_printed_for_every_program() {
    for (program, words, name) in [
        (hoist_mcp(), &[][..], "hoist-mcp"),
        (demo(), &[], "hoist-mcp-demo"),
        (hoist(), &[], "hoist"),
        (hoist(), &["mcp"], "hoist mcp"),
        (hoist(), &["demo"], "hoist demo"),
        (hoist(), &["try"], "hoist try"),
    ] {
        for flag in ["--help", "-h", "--version", "-V"] {
            let output = run(program, &[words, &[flag]].concat());
            let printed = text(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{name} {flag}");
            assert_eq!(text(&output.stderr), "", "{name} {flag}");
            if flag.ends_with('h') || flag.ends_with("help") {
                assert!(printed.contains(&format!("Usage: {name}")), "{printed}");
                assert!(printed.contains("--version"), "{printed}");
            } else {
                assert_eq!(printed, format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
            }
        }
    }
}

#[test]
fn the_server_gets_arguments_environment_and_folder_as_they_are() {
    const WORDS: [&str; 17] = [
        "a b",
        "",
        "q\"u'o`te",
        "--record",
        "x y",
        "--",
        "--listen",
        "127.0.0.1:1",
        "--domain=d",
        "$HOME",
        "*",
        "ü\u{1F600}",
        "-h",
        "--version",
        "back\\slash",
        "line\nbreak",
        "~",
    ];
    let odd = [
        ("ODD_TOKEN", "va lue=\u{e9}"),
        ("HTTPS_PROXY", "http://p.invalid:1"),
        ("SSL_CERT_FILE", "odd.pem"),
        ("EMPTY", ""),
    ];
    let mut direct = Value::Null;
    let dir = TempDir::new().expect("a temporary directory");
    let here = dir.path().join("wörk dir");
    fs::create_dir(&here).expect("it can be made");
    let here = here.canonicalize().expect("it is there");
    for way in Way::ALL {
        let mut words = python("report.py");
        words.extend(WORDS.map(Into::into));
        let mut command = way.command(dir.path(), words, &[]);
        command.current_dir(&here).envs(odd).env("HOIST_ACTED", "/dev/null");
        let mut host = Host::spawn(&mut command);
        host.send("{}");
        let line = host.line().expect("a report");
        let mut report: Value = serde_json::from_slice(&line).expect("it is JSON");
        host.end();
        assert_eq!(report[0], Value::from(WORDS.to_vec()), "{way:?}");
        assert_eq!(report[1], here.to_str().expect("it is text"), "{way:?}");
        for (name, value) in odd {
            assert_eq!(report[2][name], value, "{way:?}");
        }
        // Nothing is added, either.
        let environment = report[2].take();
        if way == Way::Direct {
            direct = environment;
        } else {
            let names = |v: &Value| v.as_object().expect("an object").clone();
            let (ours, theirs) = (names(&environment), names(&direct));
            let differ: Vec<_> = ours.iter().filter(|(k, v)| theirs.get(*k) != Some(v)).collect();
            assert!(differ.is_empty() && ours.len() == theirs.len(), "{way:?}: {differ:?}");
        }
    }
}

#[test]
fn a_short_path_is_named_when_a_tool_of_the_users_is_not_in_it() {
    let mut command = Command::new(hoist_mcp());
    command.env_clear().env("PATH", "/usr/bin:/bin").args(["--", "hoist-uvx", "server"]);
    let output = output(&mut command);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("hoist-uvx") && said.contains("/usr/bin:/bin"), "{said}");
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn the_pipeline_of_the_documentation_works() {
    let document = include_str!("../../../docs/usage.md");
    let start = document.find("printf '%s\\n'").expect("the pipeline is there");
    let end = start + document[start..].find("cat /tmp/hoist-logs").expect("and its end");
    let pipeline = &document[start..end];
    let dir = TempDir::new().expect("a temporary directory");
    let logs = dir.path().join("logs");
    let script = pipeline
        .replace("/tmp/hoist-logs", logs.to_str().expect("it is text"))
        .replace("target/debug/hoist-mcp-demo", demo().to_str().expect("it is text"))
        .replace("target/debug/hoist-mcp ", &format!("{} ", hoist_mcp().display()));
    assert!(!script.contains("target/debug/hoist-mcp ") || script.contains("/target/debug"));
    let output = output(Command::new("sh").args(["-c", &script]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Four requests and a notification go in, four answers come out.
    assert_eq!(text(&output.stdout).lines().count(), 4);
    let log = whole_log(&only_log(&logs));
    let from = |origin| log.entries.iter().filter(|e| e.from == origin).count();
    assert_eq!((from(Origin::Client), from(Origin::Server)), (5, 4));
}

/// `hoist try` in an empty world: no home, no network settings, another folder.
fn walkthrough(temporary: &Path, words: &[&OsStr]) -> Output {
    let mut command = Command::new(hoist());
    command.env_clear().env("TMPDIR", temporary).current_dir("/").arg("try").args(words);
    output(&mut command)
}

#[track_caller]
fn shows_a_session(output: &Output) -> String {
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    for part in [
        "find_user_id_by_email",
        r#"-> {"user_id":"user_7"}"#,
        "get_order_details",
        r#"cancel_pending_order {"order_id":"#,
        " ms  client   3  tools/call  find_user_id_by_email {",
        r#" ms  server   3  result  {"user_id":"user_7"}"#,
        "The log has all 13 messages byte for byte.",
        "hoist-mcp --record ~/.hoist/logs -- ",
    ] {
        assert!(shown.contains(part), "{part:?} is not in: {shown}");
    }
    shown
}

#[test]
fn the_walkthrough_needs_nothing_and_leaves_nothing() {
    let temporary = TempDir::new().expect("a temporary directory");
    let shown = shows_a_session(&walkthrough(temporary.path(), &[]));
    assert!(shown.contains("--record DIR keeps it"), "{shown}");
    let left = fs::read_dir(temporary.path()).expect("it is there").count();
    assert_eq!(left, 0, "a temporary directory was left");
}

#[test]
fn the_walkthrough_makes_no_directory_for_temporary_ones() {
    let dir = TempDir::new().expect("a temporary directory");
    let missing = dir.path().join("missing");
    let output = walkthrough(&missing, &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(
        said.contains("making a temporary directory in ") && said.contains("missing"),
        "{said}"
    );
    assert!(!missing.exists());
}

#[test]
fn the_walkthrough_keeps_its_log_where_it_is_told_to() {
    let dir = TempDir::new().expect("a temporary directory");
    let logs = dir.path().join("logs");
    let shown = shows_a_session(&walkthrough(dir.path(), &["--record".as_ref(), logs.as_os_str()]));
    let log = only_log(&logs);
    assert!(shown.contains(log.to_str().expect("it is text")), "{shown}");
    let log = whole_log(&log);
    assert_eq!(log.entries.len(), 13);
    assert_eq!(log.header.domain.as_deref(), Some("retail"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_help_that_cannot_be_written_is_a_failure() {
    for program in [hoist(), hoist_mcp(), demo()] {
        for flag in ["--help", "--version"] {
            let full = File::create("/dev/full").expect("it can be opened");
            let output = Command::new(program).arg(flag).stdout(full).output().expect("it runs");
            assert_eq!(output.status.code(), Some(1), "{flag}");
            let said = text(&output.stderr);
            assert!(said.contains("cannot write to standard output: No space"), "{said}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_said() {
    let full = File::create("/dev/full").expect("it can be opened");
    let requests =
        (0..100).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"));
    let mut process = Command::new(hoist_mcp())
        .args([OsStr::new("--"), demo().as_os_str()])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut input = process.stdin.take().expect("a pipe was asked for");
    input.write_all(requests.collect::<String>().as_bytes()).expect("it is read");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    let start = "hoist-mcp: nothing more reaches the host: writing failed: ";
    assert_eq!(said.lines().filter(|l| l.starts_with(start)).count(), 1, "{said}");
}
