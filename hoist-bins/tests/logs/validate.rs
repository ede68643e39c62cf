//! What `hoist validate` finds.

use serde_json::{Value, json};

use crate::files::{Dir, call, entry, header, hoist, opening, session};

fn broken() -> String {
    [
        header("s"),
        opening(),
        call(10, 7, "never_answered", "{}"),
        "\n".to_owned(),
        "  junk\n".to_owned(),
        header("other"),
        entry(9, "server", r#"{"id":1,"result":{}}"#),
        "{\"t_ms\":10,\"from\":\"server\",\"gap\":{\"lines\":3,\"bytes\":20}}\n".to_owned(),
        entry(10, "server", r#"{"id":1,"id":2,"method":"x"}"#),
        "{\"t_ms\":9,\"fr".to_owned(),
    ]
    .concat()
}

#[test]
fn every_finding_has_its_place_in_the_order_of_lines() {
    let dir = Dir::new();
    dir.write("a.jsonl", broken());
    dir.write("b.jsonl", session("b"));
    let said = dir.hoist(["validate", "a.jsonl", "b.jsonl"]);
    assert_eq!(
        said.stdout,
        "\
a.jsonl:4: note: tools/call request 7 was not answered before the log ends
a.jsonl:6:3: not a log entry: it is not a JSON object
a.jsonl:7:1: not a log entry: a second header, of format 2 and session other: more than one session was written into this file
a.jsonl:8: time goes back: 9 ms after 10 ms
a.jsonl:8: an answer to request 1, which nobody made or which is answered
a.jsonl:9: note: 3 lines (20 bytes) that came here were not recorded
a.jsonl:10: not a JSON-RPC message: duplicate field `id`
a.jsonl:11: the last line is torn: it has 13 bytes and no line feed
2 logs, 6 problems, 2 notes
"
    );
    assert_eq!((said.code, said.stderr.as_str()), (Some(1), ""));
}

#[test]
fn json_is_a_finding_per_line_and_nothing_else() {
    let dir = Dir::new();
    dir.write("a.jsonl", broken());
    dir.write("no.jsonl", "hello\n");
    let said = dir.hoist(["validate", "--json", "."]);
    let found: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(found.len(), 9);
    assert_eq!(
        found[1],
        json!({
            "file": "./a.jsonl", "line": 6, "column": 3, "kind": "bad-line",
            "message": "not a log entry: it is not a JSON object", "problem": true,
        })
    );
    assert_eq!(
        found[5],
        json!({
            "file": "./a.jsonl", "line": 9, "kind": "gap", "problem": false,
            "message": "3 lines (20 bytes) that came here were not recorded",
        })
    );
    let kinds: Vec<&str> = found.iter().filter_map(|row| row["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "unanswered",
            "bad-line",
            "bad-line",
            "time-goes-back",
            "answer-without-request",
            "gap",
            "not-json-rpc",
            "torn-line",
            "not-a-log"
        ]
    );
    assert_eq!((said.code, said.stderr.as_str()), (Some(1), ""));
}

#[test]
fn a_log_with_notes_only_is_fine() {
    let dir = Dir::new();
    dir.write("a.jsonl", header("s") + &call(10, 7, "never_answered", "{}"));
    let said = dir.hoist(["validate", "."]);
    assert!(said.stdout.ends_with("\n1 log, 0 problems, 1 note\n"), "{said:?}");
    assert_eq!(said.code, Some(0));
}

#[test]
fn none_is_left_out_of_many() {
    let dir = Dir::new();
    let log = header("s") + &call(10, 7, "never_answered", "{}") + &"junk\n".repeat(25_000);
    dir.write("a.jsonl", log);
    let said = dir.hoist(["validate", "."]);
    assert_eq!(said.stdout.matches(": not a log entry: ").count(), 25_000);
    assert!(said.stdout.contains("./a.jsonl:25002:1: not a log entry"));
    assert!(said.stdout.ends_with("1 log, 25000 problems, 1 note\n"));
}

/// Numbers as one digit each, spaces as one, and of each line only so much as no number moves.
fn without_numbers(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let mut shown = String::new();
        for c in line.chars() {
            let c = if c.is_ascii_digit() { '0' } else { c };
            // A column is as wide as its longest number.
            if !(matches!(c, '0' | ' ') && shown.ends_with(c)) {
                shown.push(c);
            }
        }
        shown.trim_start().chars().take(50).collect()
    });
    lines.collect()
}

#[test]
fn the_samples_of_the_documentation_are_what_is_shown() {
    let document = include_str!("../../../README.md");
    let sample = |start: &str| {
        let (_, rest) = document.split_once(start).expect("the sample is there");
        rest.split_once("```").expect("and its end").0.to_owned()
    };
    let dir = Dir::new();
    let tried = dir.run(hoist().args(["try", "--record", "logs"])).stdout;
    let recorded = sample(
        "`cargo run --bin hoist -- try` shows what the agent asked for, and then \
                           what was recorded:\n\n```text\n",
    );
    let from = tried.find("What the proxy recorded").expect("it is shown");
    let tried = without_numbers(&tried[from..]);
    let recorded = without_numbers(&recorded);
    assert_eq!(recorded, tried[..recorded.len()]);
    let log = std::fs::read_dir(dir.join("logs")).expect("it is there").next();
    let log = log.expect("a log").expect("it can be read").path();
    let shown = dir.run(hoist().arg("show").arg(log)).stdout;
    let hoist = env!("CARGO_BIN_EXE_hoist");
    let shown = shown.replace(hoist, "/home/ada/.cargo/bin/hoist");
    let (_, rest) = document.split_once("$ hoist show ~/.hoist/logs/").expect("it is there");
    let expected = rest.split_once('\n').expect("a line").1.split_once("```").expect("its end").0;
    assert_eq!(without_numbers(expected), without_numbers(&shown));
}

#[test]
fn what_hoist_writes_is_without_a_fault() {
    let dir = Dir::new();
    let said = dir.run(hoist().args(["try", "--record", "logs"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("hoist show ~/.hoist/logs"), "{}", said.stdout);
    let said = dir.hoist(["validate", "logs"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "1 log, 0 problems, 0 notes\n"));
    let said = dir.hoist(["show", "logs"]);
    assert!(said.stdout.contains("\n1 session: 4 calls, 0 errors, 3 turns, "), "{}", said.stdout);
}
