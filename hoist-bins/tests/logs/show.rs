//! What `hoist show` shows of good logs.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use hoist_trace::Episode;

use crate::files::{Dir, call, entry, header, hoist, opening, result, session};

#[test]
fn one_log_is_a_timeline() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("20260923T212000.123Z-4242"));
    let said = dir.hoist(["show", "a.jsonl"]);
    let expected = r##"session  20260923T212000.123Z-4242
started  2026-09-23 21:20:00.123 UTC, took 1m 11s
server   orders (order-server 1.4), protocol 2025-11-25
command  npx -y some server
host     claude-code 2.1
agent    model-1
calls    3 calls in 2 turns, 1 error

turn 0
    1.203 s  #3 get_order_details {"order_id":"#W1"}
    1.204 s  #4 get_user_details {}
    1.222 s  #3 = (19 ms) status: pending
    1.230 s  #4 error -32602 (26 ms) no user
turn 1
    9.000 s  #5 cancel_order {"order_id":"#W1"}
   71.000 s  #5 = (1m 02s) done↵and\tdone
"##;
    assert_eq!(said.stdout, expected);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

#[test]
fn several_logs_are_a_table() {
    let dir = Dir::new();
    dir.write("logs/b.jsonl", session("20260923T212000.123Z-4242"));
    dir.write("logs/a.jsonl", header("20260923T212000.123Z-1") + &opening());
    dir.write(
        "logs/deep/er/c.jsonl",
        header("probe") + &entry(60_000, "client", r#"{"id":1,"method":"server/discover"}"#),
    );
    dir.write("logs/b.flow.jsonl", "no log");
    dir.write("logs/b.confirm.jsonl", "no log");
    dir.write("logs/notes.txt", "no log");
    let said = dir.hoist(["show", "logs"]);
    let expected = "\
session                      server         host         agent        calls  errors  turns  duration
20260923T212000.123Z-1       orders         claude-code  model-1          0       0      0      2 ms
20260923T212000.123Z-4242    orders         claude-code  model-1          3       1      2    1m 11s
probe                        orders         -            model-1      probe       0      0    1m 00s

2 sessions: 3 calls, 1 error, 2 turns, 1m 11s; 1 probe not counted
";
    assert_eq!(said.stdout, expected);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    // The same logs, named one by one; a companion that is named is read.
    let said = dir.hoist(["show", "logs/a.jsonl", "logs/b.jsonl", "logs/deep"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), expected));
    let said = dir.hoist(["show", "logs/b.flow.jsonl"]);
    assert_eq!(said.code, Some(1), "{said:?}");
}

#[test]
fn lines_are_cut_to_the_width_that_is_asked_for() {
    let dir = Dir::new();
    let wide = "世".repeat(300);
    let log = header("s") + &call(1, 1, "tool", "{}") + &result(2, 1, &wide);
    dir.write("a.jsonl", log);
    for (columns, expected) in [("41", 41), ("100", 100), ("0", 100), ("x", 100), ("3", 20)] {
        for words in [&["show", "a.jsonl"][..], &["show", "."]] {
            let said = dir.run(hoist().args(words).env("COLUMNS", columns));
            assert_eq!(said.code, Some(0), "{said:?}");
            let widths = said.stdout.lines().map(unicode_width::UnicodeWidthStr::width);
            // The sums stand alone.
            let widest = widths.take_while(|width| *width > 0 || words[1] != ".").max();
            let widest = widest.expect("there are lines");
            assert!(widest <= expected, "{columns}: {widest}");
            assert!(words[1] == "." || widest >= expected - 1, "{columns}: {widest}");
        }
    }
    let said = dir.hoist(["show", "--full", "a.jsonl"]);
    assert!(said.stdout.ends_with(&format!("#1 = (1 ms) {wide}\n")), "{}", said.stdout);
}

#[test]
fn nothing_in_a_log_reaches_the_terminal_as_a_command() {
    let dir = Dir::new();
    let evil = "\\u001b[31m\\u001b]0;owned\\u0007\\u009b2J\\u202e\\r";
    let text = |method: &str, params: &str| {
        format!(r#"{{"id":"{evil}","method":"{method}","params":{params}}}"#)
    };
    let log = [
        header(evil).replace("some server", evil).replace("model-1", evil),
        opening().replace("claude-code", evil).replace("1.4", evil).replace("2025-11-25", evil),
        entry(3, "client", &text("tools/call", &format!(r#"{{"name":"{evil}","arguments":{{"a":"\u007f{evil}"}}}}"#))),
        entry(4, "server", &format!(r#"{{"id":"{evil}","result":{{"content":[{{"type":"text","text":"{evil}\nb"}},{{"type":"{evil}"}}],"structuredContent":"{evil}"}}}}"#)),
        entry(5, "context", &format!(r#"{{"role":"user","content":"{evil}"}}"#)),
        entry(6, "context", &format!(r#"{{"role":"assistant","content":"{evil}"}}"#)),
        format!("{{\"t_ms\":7,\"from\":\"proxy\",\"by\":\"{evil}\",\"message\":{}}}\n", text("tools/call", r#"{"name":"x"}"#)),
        entry(8, "client", &text("tools/list", "{}")),
        format!("{{\"t_ms\":7,\"from\":\"{evil}\",\"message\":1}}\n"),
    ]
    .concat();
    dir.write("a.jsonl", &log);
    dir.write("d/\u{1b}[1m\n.jsonl", &log);
    for words in [
        &["show", "a.jsonl"][..],
        &["show", "--full", "a.jsonl"],
        &["show", "--full", "d"],
        &["show", "."],
        &["show", "d/\u{1b}[2m"],
        &["show", "a.jsonl", "\u{1b}[2m"],
        &["validate", "."],
    ] {
        let said = dir.hoist(words);
        for text in [&said.stdout, &said.stderr] {
            let bad = text.chars().find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
            assert_eq!(bad, None, "{words:?}: {text:?}");
        }
        assert!((said.stdout + &said.stderr).contains("\\x1b["), "{words:?}");
    }
    let said = dir.hoist(["show", "--full", "a.jsonl"]);
    assert!(said.stdout.contains("\\x1b[31m\\x1b]0;owned\\x07\\x9b2J\\u{202e}\\r\n             b"));
}

#[test]
fn who_made_a_call_and_what_became_of_it_is_said() {
    let dir = Dir::new();
    let log = [
        header("s"),
        entry(1, "context", r#"{"role":"user","content":"cancel it"}"#),
        entry(2, "context", r#"{"role":"assistant","content":"I look"}"#),
        call(3, 1, "agents", "{}"),
        "{\"t_ms\":4,\"from\":\"proxy\",\"by\":\"flow\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":\"hoist-1\",\"method\":\"tools/call\",\"params\":{\"name\":\"flows\"}}}\n".to_owned(),
        "{\"t_ms\":5,\"from\":\"server\",\"gap\":{\"lines\":2,\"bytes\":90}}\n".to_owned(),
        call(6, 2, "given_up", "{}"),
        entry(7, "client", r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#),
        entry(8, "server", r#"{"id":"hoist-1","result":{"content":[{"type":"image"}],"isError":true}}"#),
        call(9, 3, "structured", "{}"),
        entry(10, "server", r#"{"id":3,"result":{"structuredContent":{"a": 1}}}"#),
        "{\"t_ms\":11,\"fr".to_owned(),
    ]
    .concat();
    dir.write("a.jsonl", log);
    let said = dir.hoist(["show", "a.jsonl"]);
    let (head, timeline) = said.stdout.split_once("\n\n").expect("there is a heading");
    assert_eq!(
        timeline,
        r#"    0.001 s  user: cancel it
turn 0
    0.002 s  model: I look
    0.003 s  #1 (no answer) agents {}
    0.004 s  #hoist-1 by flow: flows {}
             2 lines (90 bytes) that came here were not recorded
    0.006 s  #2 (cancelled) given_up {}
    0.008 s  #hoist-1 error (4 ms) [image]
    0.009 s  #3 structured {}
    0.010 s  #3 = (1 ms) {"a": 1}
"#
    );
    assert!(
        head.ends_with(
            "missing  2 lines not recorded (90 bytes), the last line is torn (14 bytes)\n\
             calls    4 calls in 1 turn, 1 error, 2 without an answer"
        ),
        "{head}"
    );
    assert_eq!(
        said.stderr,
        "hoist show: a.jsonl:12:1: skipped the last line, which is torn: 14 bytes\n"
    );
    assert_eq!(said.code, Some(0));
    assert_eq!(dir.hoist(["show", "--strict", "a.jsonl"]).code, Some(1));
}

#[test]
fn a_session_without_calls_says_so() {
    let dir = Dir::new();
    dir.write("a.jsonl", header("s") + &opening());
    assert!(dir.hoist(["show", "a.jsonl"]).stdout.ends_with("\n\nNo tool was called.\n"));
    dir.write(
        "a.jsonl",
        header("s") + &entry(3, "client", r#"{"id":1,"method":"server/discover"}"#),
    );
    assert!(dir.hoist(["show", "a.jsonl"]).stdout.contains("\n\nA probe: "));
}

#[test]
fn json_is_an_episode_per_line_and_nothing_else() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("a"));
    dir.write("b.jsonl", session("b") + "junk\n");
    let said = dir.hoist(["show", "--json", "a.jsonl"]);
    let episode: Episode = serde_json::from_str(&said.stdout).expect("it is an episode");
    assert_eq!((episode.id.as_str(), episode.calls().count()), ("a", 3));
    assert_eq!(said.stdout.matches('\n').count(), 1);
    let said = dir.hoist(["show", "--json", "."]);
    let ids: Vec<String> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Episode>(line).expect("it is an episode").id)
        .collect();
    assert_eq!(ids, ["a", "b"]);
    assert!(said.stderr.starts_with("hoist show: ./b.jsonl:10:1: "), "{said:?}");
    assert_eq!(said.code, Some(0));
}

#[test]
fn standard_input_is_a_log_too() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("a"));
    let expected = dir.hoist(["show", "a.jsonl"]).stdout;
    let log = fs::File::open(dir.join("a.jsonl")).expect("it is there");
    let said = dir.run(hoist().args(["show", "-"]).stdin(log));
    assert_eq!((said.code, said.stdout), (Some(0), expected));
    let log = fs::File::open(dir.join("a.jsonl")).expect("it is there");
    let said = dir.run(hoist().args(["validate", "-"]).stdin(log));
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "1 log, 0 problems, 0 notes\n"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let dir = Dir::new();
    for n in 0..300 {
        dir.write(format!("{n:03}.jsonl"), session("s") + "junk\n");
    }
    for words in [
        &["show", "."][..],
        &["show", "--json", "."],
        &["validate", "."],
        &["validate", "--json", "."],
    ] {
        let mut process = hoist()
            .args(words)
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut stdout = process.stdout.take().expect("a pipe was asked for");
        stdout.read_exact(&mut [0; 20]).expect("something is written");
        drop(stdout);
        let output = process.wait_with_output().expect("it ends");
        let stderr = String::from_utf8(output.stderr).expect("it is text");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {stderr}");
        assert!(!stderr.contains("standard output"), "{words:?}: {stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_a_failure() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s"));
    for words in [&["show", "a.jsonl"][..], &["show", "."], &["validate", "."]] {
        let full = fs::File::options().write(true).open("/dev/full").expect("it can be opened");
        let mut process = hoist()
            .args(words)
            .current_dir(dir.path())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut stderr = String::new();
        let pipe = process.stderr.as_mut().expect("a pipe was asked for");
        pipe.read_to_string(&mut stderr).expect("it is text");
        assert_eq!(process.wait().expect("it ends").code(), Some(1), "{words:?}");
        assert!(stderr.contains("writing to standard output failed: "), "{stderr}");
    }
}

#[test]
fn a_log_in_a_pipe_is_read_as_it_comes() {
    let dir = Dir::new();
    let mut process = hoist()
        .args(["show", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut stdin = process.stdin.take().expect("a pipe was asked for");
    for byte in session("s").bytes() {
        stdin.write_all(&[byte]).expect("it is read");
    }
    drop(stdin);
    let output = process.wait_with_output().expect("it ends");
    dir.write("a.jsonl", session("s"));
    let expected = dir.hoist(["show", "a.jsonl"]).stdout;
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
