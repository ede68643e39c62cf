//! Runs of benchmarks, trajectories, and sessions with several servers.

use std::fs::File;
use std::process::Stdio;

use hoist_trace::Episode;
use serde_json::{Value, json};

use crate::files::{Dir, call, header, hoist, opening, result, session};

/// A run of tau2-bench, as it stands in a results file.
pub(crate) fn run(id: &str, reward: f64, odd: bool) -> Value {
    let mut messages = vec![
        json!({"role": "user", "content": "Where is it?", "timestamp": "2026-01-01T10:00:00"}),
        json!({"role": "assistant", "content": null, "timestamp": "2026-01-01T10:00:01.5",
               "usage": {"prompt_tokens": 1000, "completion_tokens": 1},
               "tool_calls": [{"id": "a", "name": "find", "arguments": {"n": 1}}]}),
        json!({"role": "tool", "id": "a", "content": "Error: gone", "error": true,
               "timestamp": "2026-01-01T10:00:01.502"}),
    ];
    if odd {
        messages.push(json!({"role": "tool", "id": "z", "content": "?"}));
        messages.push(json!({"role": "assistant", "tool_calls": [{"id": "b", "name": "find"}]}));
    }
    json!({"id": id, "task_id": "7", "trial": 0, "agent_cost": 0.25, "messages": messages,
           "reward_info": {"reward": reward}})
}

pub(crate) fn results(runs: &[Value]) -> String {
    json!({
        "info": {"agent_info": {"llm": "model-2"}, "environment_info": {"domain_name": "shop"}},
        "tasks": [], "simulations": runs,
    })
    .to_string()
}

#[test]
fn one_run_is_a_timeline() {
    let dir = Dir::new();
    dir.write("results.json", results(&[run("r-1", 1.0, false)]));
    let said = dir.hoist(["show", "results.json"]);
    let expected = r#"session  r-1
task     7
started  2026-01-01 10:00:00.000 UTC, took 1.5 s
server   shop
agent    model-2
used     1000 tokens read, 1 token written, 0.25 USD
reward   1
calls    1 call in 1 turn, 1 error

    0.000 s  user: Where is it?
turn 0
    1.500 s  #a find {"n":1}
    1.502 s  #a error (2 ms) Error: gone
"#;
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (expected, ""));
    assert_eq!(said.code, Some(0));
}

#[test]
fn several_runs_are_a_table_mixed_with_logs() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s-1"));
    dir.write("b/results.json", results(&[run("r-1", 1.0, false), run("r-2", 0.5, false)]));
    dir.write("b/db.json", "{\"orders\": {}}");
    let said = dir.hoist(["show", "."]);
    let expected = "\
session                      server         host         agent        calls  errors  turns  duration
s-1                          orders         claude-code  model-1          3       1      2    1m 11s
r-1                          shop           -            model-2          1       1      1     1.5 s
r-2                          shop           -            model-2          1       1      1     1.5 s

3 sessions: 5 calls, 3 errors, 4 turns, 1m 14s; 1 of 2 runs solved
";
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (expected, ""));
    // A file of several is a table, too.
    let said = dir.hoist(["show", "b/results.json"]);
    assert_eq!(said.stdout.lines().count(), 5, "{said:?}");
    let said = dir.hoist(["show", "--json", "b/results.json", "a.jsonl"]);
    let ids: Vec<String> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Episode>(line).expect("an episode").id)
        .collect();
    assert_eq!(ids, ["r-1", "r-2", "s-1"]);
}

#[test]
fn what_cannot_be_read_of_a_file_of_runs_is_said_and_the_rest_is_shown() {
    let dir = Dir::new();
    let bad = json!({"id": "bad", "messages": 7});
    let text = results(&[run("r-1", 1.0, false), bad, run("r-2", 0.0, false)]);
    dir.write("results.json", &text);
    let said = dir.hoist(["show", "results.json"]);
    assert!(said.stdout.ends_with("; 1 of 2 runs solved; 1 run not readable\n"), "{said:?}");
    assert!(said.stderr.starts_with("hoist show: results.json:1:"), "{said:?}");
    assert!(said.stderr.contains(": skipped simulations[1]: invalid type: integer `7`"));
    assert_eq!(said.code, Some(0));
    assert_eq!(dir.hoist(["show", "--strict", "results.json"]).code, Some(1));

    dir.write("cut.json", &text[..text.len() - 20]);
    let said = dir.hoist(["show", "--json", "cut.json"]);
    assert_eq!((said.stdout.lines().count(), said.code), (1, Some(0)), "{said:?}");
    let place = format!("hoist show: cut.json:1:{}: the file ends", text.len() - 19);
    assert!(said.stderr.contains(&place), "{said:?}");
    let said = dir.hoist(["show", "cut.json", "results.json"]);
    assert!(
        said.stdout.contains("; 2 runs not readable; 1 file not read to the end\n"),
        "{said:?}"
    );

    dir.write("none.json", "{\"orders\": {}}");
    let said = dir.hoist(["show", "none.json", "results.json"]);
    assert!(said.stderr.starts_with("hoist show: none.json holds no session: "), "{said:?}");
    assert!(said.stdout.contains("; 1 file not readable\n"), "{said:?}");
    assert_eq!(said.code, Some(1));
}

#[test]
fn standard_input_may_be_runs() {
    let dir = Dir::new();
    let path = dir.write("in", results(&[run("r-1", 1.0, false)]));
    let input = || Stdio::from(File::open(&path).expect("it is there"));
    let said = dir.run(hoist().args(["show", "-"]).stdin(input()));
    assert!(said.stdout.starts_with("session  r-1\n"), "{said:?}");
    let said = dir.run(hoist().args(["validate", "-"]).stdin(input()));
    assert_eq!(said.stdout, "1 run, 0 problems, 0 notes\n");
}

#[test]
fn validate_says_which_run_breaks_which_rule() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s-1"));
    let bad = json!({"id": "bad", "messages": 7});
    dir.write("r.json", results(&[run("r-1", 1.0, true), bad]));
    let said = dir.hoist(["validate", "r.json", "a.jsonl"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "r.json:1: r-1: message 4: a result for call z, which was not made or has one already",
            "r.json:1: note: r-1: message 5: call b of find has no result",
        ]
    );
    assert!(lines[2].starts_with("r.json:1:"), "{lines:?}");
    assert!(lines[2].contains(": skipped simulations[1]: invalid type"), "{lines:?}");
    assert_eq!(lines[3..], ["1 log, 1 run, 2 problems, 1 note"]);
    assert_eq!(said.code, Some(1));
    let said = dir.hoist(["validate", "--json", "r.json"]);
    let first: Value =
        serde_json::from_str(said.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        first,
        json!({
            "file": "r.json", "line": 1, "run": "r-1", "kind": "result-without-call",
            "message": "message 4: a result for call z, which was not made or has one already",
            "problem": true,
        })
    );
    // The place stands in front, and only there.
    let text = results(&[run("r-1", 1.0, false)]);
    dir.write("r.json", &text[..text.len() - 1]);
    let said = dir.hoist(["validate", "r.json"]);
    let place = format!("r.json:1:{}: the file ends in the middle", text.len());
    assert!(said.stdout.starts_with(&place), "{said:?}");
}

#[test]
fn merged_shows_several_servers_as_one_session() {
    let dir = Dir::new();
    let log = |session: &str, server: &str, id: u64| {
        let named = format!("\"server_name\":\"{server}\",\"started");
        let header = header(session).replace("\"started", &named);
        header + &opening() + &call(id * 10, id, "look", "{}") + &result(id * 10 + 5, id, server)
    };
    dir.write("a.jsonl", log("s-1", "docs", 1));
    dir.write("b.jsonl", log("s-2", "tickets", 2));
    let said = dir.hoist(["show", "--merged", "a.jsonl", "b.jsonl"]);
    assert!(said.stdout.contains("\ns-1                          docs,tickets   "), "{said:?}");
    assert!(said.stdout.ends_with("\n1 session: 2 calls, 0 errors, 1 turn, 25 ms\n"), "{said:?}");
    let said = dir.hoist(["show", "--merged", "--json", "."]);
    let episode: Episode = serde_json::from_str(&said.stdout).expect("one episode");
    let names: Vec<&str> = episode.calls().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["docs::look", "tickets::look"]);
    assert!(dir.hoist(["show", "."]).stdout.contains("\n2 sessions: 2 calls"));
    dir.write("c.jsonl", log("s-3", "docs", 3));
    let said = dir.hoist(["show", "--merged", "--strict", "."]);
    assert!(said.stderr.contains("two servers named \"docs\" at once"), "{said:?}");
    assert!(said.stdout.contains("\n3 sessions: 3 calls"), "{said:?}");
    assert_eq!(said.code, Some(0));
    let said = dir.hoist(["show", "--merged", "--follow", "a.jsonl"]);
    assert_eq!(said.code, Some(2), "{said:?}");
}
