//! Files and logs as they should not be: what is good of them is shown, the rest is said.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::files::{Dir, call, entry, header, opening, result, session};

/// What stands between `show`'s blank line and the end.
fn timeline(shown: &str) -> &str {
    shown.split_once("\n\n").expect("there is a heading").1
}

#[test]
fn what_is_no_log_is_said_and_nothing_is_shown() {
    let dir = Dir::new();
    let binary = vec![0xff; 3_000_000];
    let cases: [(&str, &[u8], &str); 9] = [
        ("empty", b"", "empty.jsonl is empty: a session log starts with a header line"),
        ("text", b"hello\n", "text.jsonl:1:1: not a Hoist session log"),
        ("binary", &binary, "binary.jsonl:1:1: not a Hoist session log"),
        ("cut", b"{\"hoist_mcp_log\":2,\"sess", "cut.jsonl:1:24: not a Hoist session log"),
        (
            "bom",
            b"\xef\xbb\xbf{\"hoist_mcp_log\":2}\n",
            "bom.jsonl:1:1: not a Hoist session log: its first line must be a header with \
             \"hoist_mcp_log\":2 (a byte order mark stands in front; take it away)",
        ),
        ("one", b"{\"hoist_mcp_log\":1}\n", "one.jsonl:1: session log format 1 cannot be read"),
        ("three", b"{\"hoist_mcp_log\":3}\n", "three.jsonl:1: session log format 3 cannot be read"),
        ("twice", b"{\"hoist_mcp_log\":2,\"hoist_mcp_log\":2}\n", "twice.jsonl:1:34: not a"),
        ("flow", b"{\"t_ms\":1,\"from\":\"client\",\"message\":1}\n", "flow.jsonl:1:"),
    ];
    for (name, bytes, said) in cases {
        let file = format!("{name}.jsonl");
        dir.write(&file, bytes);
        for flag in [&["--full"][..], &["--json"], &[]] {
            let shown = dir.hoist([&["show"], flag, &[&file]].concat());
            assert_eq!((shown.code, shown.stdout.as_str()), (Some(1), ""), "{name}: {shown:?}");
            assert!(shown.stderr.starts_with(&format!("hoist show: {said}")), "{shown:?}");
            assert_eq!(shown.stderr.matches('\n').count(), 1, "{shown:?}");
        }
        let checked = dir.hoist(["validate", &file]);
        assert_eq!((checked.code, checked.stderr.as_str()), (Some(1), ""), "{checked:?}");
        let place = said.split(": ").next().unwrap_or_default().replace(" is empty", "");
        assert!(checked.stdout.starts_with(&place), "{checked:?}");
        // The place stands in front, and only there.
        assert_eq!(checked.stdout.matches(&file).count(), 1, "{checked:?}");
        assert!(checked.stdout.ends_with("\n1 log, 1 problem, 0 notes\n"), "{checked:?}");
    }
    // Among good ones, they are said and passed over.
    dir.write("good.jsonl", session("good"));
    let shown = dir.hoist(["show", "."]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.stderr.matches('\n').count(), 9, "{shown:?}");
    assert!(shown.stdout.contains("\ngood "), "{shown:?}");
    assert!(shown.stdout.ends_with("; 9 logs not readable\n"), "{shown:?}");
    assert_eq!(dir.hoist(["show", "--strict", "."]).code, Some(1));
    // One that was named is missed.
    assert_eq!(dir.hoist(["show", "good.jsonl", "text.jsonl"]).code, Some(1));
    fs::remove_file(dir.join("good.jsonl")).expect("it is there");
    let shown = dir.hoist(["show", "."]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(1), ""), "{shown:?}");
}

#[test]
fn what_is_not_there_or_no_file_is_said() {
    let dir = Dir::new();
    symlink("nowhere", dir.join("dangling.jsonl")).expect("it can be made");
    symlink("loop.jsonl", dir.join("loop.jsonl")).expect("it can be made");
    fs::create_dir(dir.join("dir.jsonl")).expect("it can be made");
    for name in ["none.jsonl", "dangling.jsonl", "loop.jsonl"] {
        let shown = dir.hoist(["show", name]);
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(1), ""), "{shown:?}");
        let expected = format!("hoist show: cannot read session log {name}: ");
        assert!(shown.stderr.starts_with(&expected), "{shown:?}");
        let checked = dir.hoist(["validate", "--json", name]);
        assert!(checked.stdout.contains(r#""kind":"unreadable""#), "{checked:?}");
        assert_eq!(checked.stdout.matches(name).count(), 1, "{checked:?}");
        assert_eq!(checked.code, Some(1));
    }
    let shown = dir.hoist(["show", "/dev/null"]);
    assert!(shown.stderr.starts_with("hoist show: /dev/null is empty"), "{shown:?}");
    // A directory with no log, whatever it is called.
    for command in ["show", "validate"] {
        let said = dir.hoist([command, "dir.jsonl", "."]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
        let expected = format!("hoist {command}: no session in dir.jsonl, .\n");
        assert_eq!(said.stderr, expected);
    }
}

#[test]
fn only_regular_files_of_a_directory_are_read() {
    let dir = Dir::new();
    let log = dir.write("logs/a.jsonl", session("a"));
    dir.write("elsewhere/b.jsonl", session("b"));
    mknodat(CWD, dir.join("logs/fifo.jsonl"), FileType::Fifo, Mode::RWXU, 0)
        .expect("it can be made");
    symlink(&log, dir.join("logs/link.jsonl")).expect("it can be made");
    symlink("/dev/zero", dir.join("logs/zero.jsonl")).expect("it can be made");
    symlink("..", dir.join("logs/up")).expect("it can be made");
    symlink(dir.join("elsewhere"), dir.join("logs/elsewhere")).expect("it can be made");
    fs::create_dir(dir.join("logs/dir.jsonl")).expect("it can be made");
    let shown = dir.hoist(["show", "logs"]);
    assert!(shown.stdout.contains("\n1 session: "), "{shown:?}");
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let checked = dir.hoist(["validate", "logs"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), "1 log, 0 problems, 0 notes\n"));
    // A link that is named is followed.
    symlink("logs", dir.join("linked")).expect("it can be made");
    assert!(dir.hoist(["show", "linked"]).stdout.contains("\n1 session: "));
    assert_eq!(dir.hoist(["show", "logs/link.jsonl"]).code, Some(0));
}

#[test]
fn names_need_not_be_text() {
    let dir = Dir::new();
    let name = OsString::from_vec(b"\xff\n\x1b.jsonl".to_vec());
    dir.write(&name, session("s") + "junk\n");
    let said = "\u{fffd}↵\\x1b.jsonl:10:1: ";
    let shown = dir.hoist(["show".into(), name.clone()]);
    assert!(shown.stdout.starts_with("session  s\n"), "{shown:?}");
    assert!(shown.stderr.starts_with(&format!("hoist show: {said}skipped")), "{shown:?}");
    let shown = dir.hoist(["show", "."]);
    assert!(shown.stderr.starts_with(&format!("hoist show: ./{said}skipped")), "{shown:?}");
    let checked = dir.hoist(["validate".into(), name]);
    assert!(checked.stdout.starts_with(&format!("{said}not a log entry")), "{checked:?}");
}

#[test]
fn skipped_lines_are_said_up_to_a_few() {
    let dir = Dir::new();
    let good = call(1, 1, "good", "{}");
    for bad in [5, 6, 3000] {
        dir.write("a.jsonl", header("s") + &"junk\n".repeat(bad) + &good);
        let shown = dir.hoist(["show", "a.jsonl"]);
        assert!(timeline(&shown.stdout).contains("#1 (no answer) good {}"), "{shown:?}");
        let lines: Vec<&str> = shown.stderr.lines().collect();
        assert!(lines[4].starts_with("hoist show: a.jsonl:6:1: skipped a line"), "{lines:?}");
        let more = match bad {
            5 => vec![],
            6 => vec!["hoist show: a.jsonl: and 1 more line; `hoist validate a.jsonl` lists them"],
            _ => vec![
                "hoist show: a.jsonl: and 2995 more lines; `hoist validate a.jsonl` lists them",
            ],
        };
        assert_eq!(lines[5..], more);
        assert_eq!(shown.code, Some(0));
    }
}

#[test]
fn odd_lines_cost_nothing_but_themselves() {
    let dir = Dir::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let log = [
        header("s").replace('\n', "\r\n"),
        call(5, 1, "crlf", "{}").replace('\n', "\r\n"),
        result(6, 1, "fine").replace('\n', "\r\n"),
        result(7, 99, "nobody asked"),
        call(3, 2, "clock_goes_back", "{}"),
        entry(8, "client", r#"{"id":3,"id":4,"method":"tools/call","params":{"name":"twice"}}"#),
        call(9, 5, "deep", &deep),
        entry(10, "server", &format!(r#"{{"id":5,"result":{{"structuredContent":{deep}}}}}"#)),
        "{\"t_ms\":18446744073709551616,\"from\":\"client\",\"message\":1}\n".to_owned(),
        call(u64::MAX - 1, 6, "huge", "{}"),
        result(u64::MAX, 6, "later"),
    ]
    .concat();
    dir.write("a.jsonl", log);
    let shown = dir.hoist(["show", "a.jsonl"]);
    let shown_lines: Vec<&str> = timeline(&shown.stdout).lines().collect();
    assert_eq!(
        shown_lines[..5],
        [
            "turn 0",
            "    0.005 s  #1 crlf {}",
            "    0.006 s  #1 = (1 ms) fine",
            "    0.007 s  #2 (no answer) clock_goes_back {}",
            shown_lines[4]
        ]
    );
    assert!(
        shown_lines[4].starts_with("    0.009 s  #5 deep [[[[[") && shown_lines[4].ends_with("[…")
    );
    assert_eq!(
        shown_lines[6..],
        ["18446744073709551.614 s  #6 huge {}", "18446744073709551.615 s  #6 = (1 ms) later"]
    );
    assert!(
        shown.stdout.contains("odd      3 broken rules; `hoist validate a.jsonl` lists them\n")
    );
    assert_eq!(dir.hoist(["show", "--json", "a.jsonl"]).code, Some(0));
    let checked = dir.hoist(["validate", "a.jsonl"]).stdout;
    let expected = [
        "a.jsonl:4: an answer to request 99, which nobody made or which is answered",
        "a.jsonl:5: time goes back: 3 ms after 7 ms",
        "a.jsonl:5: note: tools/call request 2 was not answered before the log ends",
        "a.jsonl:6: not a JSON-RPC message: duplicate field `id`",
        "a.jsonl:9:28: not a log entry: invalid type: floating point `1.8446744073709552e+19`",
    ];
    for (line, expected) in checked.lines().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(checked.ends_with("\n1 log, 4 problems, 1 note\n"), "{checked}");
}

#[test]
fn what_cannot_be_read_of_a_message_is_said_and_strict() {
    let dir = Dir::new();
    let lone = [header("s"), call(1, 1, "one", "{}"), result(2, 1, "\\ud800!")].concat();
    dir.write("lone.jsonl", lone);
    let unnamed = r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#;
    dir.write("null.jsonl", header("s") + &entry(1, "client", unnamed));
    for (file, said) in [
        ("lone.jsonl", "lone.jsonl:3: not as MCP has it: tools/call result: a text in it has half"),
        ("null.jsonl", "null.jsonl:2: not a JSON-RPC message: the id of a request must be"),
    ] {
        for (flags, code) in
            [(&["--json"][..], 0), (&["--strict", "--json"], 1), (&["--strict"], 1)]
        {
            let shown = dir.hoist([&["show"], flags, &[file]].concat());
            assert_eq!(shown.code, Some(code), "{flags:?}: {shown:?}");
            assert!(shown.stderr.starts_with(&format!("hoist show: {said}")), "{shown:?}");
            assert_eq!(shown.stderr.matches('\n').count(), 1, "{shown:?}");
            let several = dir.hoist([&["show"], flags, &[file, file]].concat());
            assert_eq!(several.code, Some(code), "{flags:?}: {several:?}");
            assert_eq!(several.stderr.matches(said).count(), 2, "{several:?}");
        }
        let shown = dir.hoist(["show", file]);
        assert!(shown.stdout.contains("\nodd      1 broken rule; "), "{shown:?}");
        assert_eq!(dir.hoist(["validate", file]).code, Some(1));
    }
    // The call was answered, and not with an error.
    let shown = dir.hoist(["show", "lone.jsonl"]);
    assert!(timeline(&shown.stdout).contains("#1 = (1 ms) \u{fffd}!"), "{shown:?}");
    // Many are said up to a few.
    dir.write("many.jsonl", header("s") + &entry(1, "client", "7").repeat(8));
    let shown = dir.hoist(["show", "--json", "many.jsonl"]);
    let lines: Vec<&str> = shown.stderr.lines().collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    let more =
        "hoist show: many.jsonl: and 3 more messages; `hoist validate many.jsonl` lists them";
    assert_eq!(lines[5], more);
}

#[test]
fn a_header_alone_is_a_session_and_torn_without_its_line_feed() {
    let dir = Dir::new();
    dir.write("a.jsonl", header("s").trim_end());
    let shown = dir.hoist(["show", "--strict", "a.jsonl"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{shown:?}");
    assert!(!shown.stdout.contains("torn"), "{shown:?}");
    let checked = dir.hoist(["validate", "a.jsonl"]);
    assert_eq!(checked.code, Some(1));
    assert!(checked.stdout.starts_with("a.jsonl:1: the last line is torn: "), "{checked:?}");
}

#[test]
fn two_sessions_in_one_file_are_said_to_be() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("first") + &session("second"));
    let shown = dir.hoist(["show", "a.jsonl"]);
    assert!(
        shown.stderr.starts_with(
            "hoist show: a.jsonl:10:1: skipped a line that is no log entry: a second header, of \
             format 2 and session second: more than one session was written into this file\n"
        ),
        "{shown:?}"
    );
    assert_eq!(dir.hoist(["validate", "a.jsonl"]).stdout.matches("a second header").count(), 1);
}

#[test]
fn a_line_over_the_limit_is_named_and_the_rest_is_read() {
    let dir = Dir::new();
    let mut file = BufWriter::new(File::create(dir.join("a.jsonl")).expect("it can be made"));
    let mut write = |bytes: &[u8]| file.write_all(bytes).expect("it can be written");
    write((header("s") + &opening()).as_bytes());
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..513 {
        write(&chunk);
    }
    write(format!("\n{}", call(9, 1, "after", "{}")).as_bytes());
    drop(file);
    let shown = dir.hoist(["show", "a.jsonl"]);
    let expected = "hoist show: a.jsonl:4:1: skipped a line that is no log entry: it has 537919488 \
                    bytes, over the limit of 536870912\n";
    assert_eq!(shown.stderr, expected);
    assert!(timeline(&shown.stdout).contains("#1 (no answer) after {}"), "{}", shown.stdout);
}

#[test]
fn a_directory_of_thousands_is_shown_in_order() {
    let dir = Dir::new();
    let mut expected = Vec::new();
    for n in 0..2_000 {
        dir.write(format!("{}/{n:04}.jsonl", n / 500), session(&format!("s{n:04}")));
        expected.push(format!("s{n:04}"));
    }
    let shown = dir.hoist(["show", "."]);
    let names = shown.stdout.lines().skip(1).take(2_000).filter_map(|line| line.split(' ').next());
    assert!(names.eq(expected.iter().map(String::as_str)), "{}", shown.stdout);
    assert!(
        shown.stdout.ends_with("2000 sessions: 6000 calls, 2000 errors, 4000 turns, 39h 26m\n")
    );
    let checked = dir.hoist(["validate", "."]);
    assert_eq!(checked.stdout, "2000 logs, 0 problems, 0 notes\n");
}
