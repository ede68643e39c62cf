//! `hoist diff`: each kind of difference, what does not count as one, and bad input.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::files::{Dir, Said, call, entry, header, hoist, opening, result, session};
use crate::runs::{results, run};

/// A result with structured content, both written as JSON.
fn structured(t_ms: u64, id: u64, text: &str, value: &str) -> String {
    let content = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"#);
    let result = format!(r#"{content}"structuredContent":{value}}}"#);
    entry(t_ms, "server", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// A list of tools, asked for and answered.
fn tools(tools: &str) -> String {
    entry(3, "client", r#"{"jsonrpc":"2.0","id":"t","method":"tools/list"}"#)
        + &entry(
            4,
            "server",
            &format!(r#"{{"jsonrpc":"2.0","id":"t","result":{{"tools":{tools}}}}}"#),
        )
}

/// A log of these lines.
fn log(session: &str, lines: &[String]) -> String {
    header(session) + &opening() + &lines.concat()
}

/// Compares two logs, as JSON.
#[track_caller]
fn compared(a: &[String], b: &[String]) -> Value {
    let dir = Dir::new();
    dir.write("a.jsonl", log("s-a", a));
    dir.write("b.jsonl", log("s-b", b));
    read(&dir.hoist(["diff", "--json", "a.jsonl", "b.jsonl"]))
}

/// The report, whose exit code says the same.
#[track_caller]
fn read(said: &Said) -> Value {
    assert_eq!(said.stderr, "");
    let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let equal = report["equal"].as_bool().expect("a boolean");
    assert_eq!(said.code, Some(i32::from(!equal)), "{report}");
    assert_eq!(equal, report["differences"] == 0, "{report}");
    report
}

/// One pair of sessions, without its names.
fn pair(report: &Value) -> Value {
    let mut pair = report["sessions"]["pairs"][0].clone();
    for name in ["a", "b", "by", "task_id"] {
        pair.as_object_mut().expect("a pair").remove(name);
    }
    pair
}

#[test]
fn sessions_that_say_the_same_are_equal_however_it_is_written() {
    let one = [
        call(10, 1, "find", r#"{"n":1,"q":"é"}"#),
        call(11, 2, "look", "{}"),
        structured(20, 1, r#"{\"a\": 1, \"b\": 2}"#, r#"{"x":1.0,"y":[1]}"#),
        result(30, 2, "done"),
    ];
    // Other ids, times and spelling, and the turn's calls the other way round.
    let other = [
        call(10, 8, "look", "{}"),
        call(11, 7, "find", r#"{ "q":"\u00e9", "n":1.0 }"#),
        result(500, 8, "done"),
        structured(900, 7, r#"{\"b\":2,\"a\":1}"#, r#"{"y":[1],"x":1}"#),
    ];
    let report = compared(&one, &other);
    assert_eq!(report["equal"], true, "{report}");
    let empty = json!({"added": [], "gone": [], "changed": [], "results": []});
    assert_eq!(pair(&report), empty);
    // Time is told, and is no difference.
    assert_eq!(
        report["timing"],
        json!([
            {"tool": "find", "a": {"calls": 1, "p50_ms": 10}, "b": {"calls": 1, "p50_ms": 889}},
            {"tool": "look", "a": {"calls": 1, "p50_ms": 19}, "b": {"calls": 1, "p50_ms": 490}},
        ])
    );
    let dir = Dir::new();
    dir.write("a.jsonl", log("s-a", &one));
    dir.write("b.jsonl", log("s-b", &other));
    let said = dir.hoist(["diff", "a.jsonl", "b.jsonl"]);
    let expected = "\
A  a.jsonl: 1 session, 2 calls
B  b.jsonl: 1 session, 2 calls

tools are not compared: they were not listed on both sides

time to answer, p50                              A                 B
  find                                  10 ms of 1       889 ms of 1
  look                                  19 ms of 1       490 ms of 1

no difference
";
    assert_eq!((said.stdout.as_str(), said.code), (expected, Some(0)));
}

#[test]
fn tools_come_go_and_change() {
    let schema =
        |kind: &str| format!(r#"{{"type":"object","properties":{{"n":{{"type":"{kind}"}}}}}}"#);
    let tool = |name: &str, description: &str, kind: &str| {
        let schema = schema(kind);
        format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{schema}}}"#)
    };
    let one = [tools(&format!(
        "[{},{},{}]",
        tool("old", "", "string"),
        tool("same", "It is.", "string"),
        tool("find", "Finds.", "string")
    ))];
    let other = [tools(&format!(
        "[{},{},{}]",
        tool("find", "Finds it.", "number"),
        tool("new", "", "string"),
        tool("same", "It is.", "string")
    ))];
    let report = compared(&one, &other);
    assert_eq!(
        report["tools"],
        json!({
            "compared": true, "added": ["new"], "gone": ["old"],
            "changed": [{"tool": "find", "changes": [
                {"path": "description", "a": "Finds.", "b": "Finds it."},
                {"path": "input_schema.properties.n.type", "a": "string", "b": "number"},
            ]}],
        })
    );
    assert_eq!(report["differences"], 3);
    // A host that remembers the tools lists none, which says nothing of them.
    assert_eq!(compared(&one, &[])["tools"]["compared"], false);
    assert_eq!(compared(&one, &[])["equal"], true);
}

#[test]
fn calls_come_go_and_change() {
    let one = [
        call(10, 1, "find", r#"{"n":1}"#),
        result(11, 1, "a"),
        call(5_000, 2, "look", r#"{"id":7,"deep":[1,2]}"#),
        result(5_001, 2, "b"),
        call(10_000, 3, "gone", "{}"),
        result(10_001, 3, "c"),
        call(15_000, 4, "end", "{}"),
        result(15_001, 4, "d"),
    ];
    let other = [
        call(10, 1, "find", r#"{"n":1}"#),
        result(11, 1, "a"),
        call(5_000, 2, "look", r#"{"id":8,"deep":[1,3]}"#),
        result(5_001, 2, "other"),
        call(10_000, 3, "end", "{}"),
        result(10_001, 3, "d"),
        call(15_000, 4, "added", r#"{"x":"y"}"#),
        result(15_001, 4, "c"),
    ];
    let report = compared(&one, &other);
    assert_eq!(
        pair(&report),
        json!({
            "added": [{"id": "4", "tool": "added", "arguments": {"x": "y"}}],
            "gone": [{"id": "3", "tool": "gone", "arguments": {}}],
            "changed": [{"tool": "look", "a": "2", "b": "2", "changes": [
                {"path": "deep[1]", "a": 2, "b": 3}, {"path": "id", "a": 7, "b": 8},
            ]}],
            "results": [],
        })
    );
    assert_eq!(report["differences"], 3);
    // In another order, one of them is gone and comes again.
    let swapped = [
        call(10, 2, "look", r#"{"id":7,"deep":[1,2]}"#),
        result(11, 2, "b"),
        call(5_000, 1, "find", r#"{"n":1}"#),
        result(5_001, 1, "a"),
    ];
    let report = compared(&one[..4], &swapped);
    assert_eq!(report["differences"], 2, "{report}");
}

#[test]
fn results_differ_in_text_structure_error_and_presence() {
    let asked = |id: u64| call(id * 5_000, id, "get", &format!(r#"{{"n":{id}}}"#));
    let error = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"c"}}"#;
    let one = [
        asked(1),
        result(5_001, 1, "plain"),
        asked(2),
        structured(10_001, 2, r#"{\"s\":\"x\"}"#, r#"{"list":[{"id":1}],"same":true}"#),
        asked(3),
        result(15_001, 3, "c"),
        asked(4),
    ];
    let other = [
        asked(1),
        result(5_001, 1, "other"),
        asked(2),
        structured(10_001, 2, r#"{\"s\":\"y\"}"#, r#"{"list":[{"id":2}],"same":true}"#),
        asked(3),
        entry(15_001, "server", error),
        asked(4),
        result(20_001, 4, "late"),
    ];
    let report = compared(&one, &other);
    let changes: Vec<Value> = report["sessions"]["pairs"][0]["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| json!([row["tool"], row["arguments"], row["changes"]]))
        .collect();
    assert_eq!(
        json!(changes),
        json!([
            ["get", {"n": 1}, [{"path": "text", "a": "plain", "b": "other"}]],
            ["get", {"n": 2}, [
                {"path": "structured.list[0].id", "a": 1, "b": 2},
                {"path": "text.s", "a": "x", "b": "y"},
            ]],
            ["get", {"n": 3}, [
                {"path": "is_error", "a": false, "b": true},
                {"path": "error_code", "a": null, "b": -32602},
            ]],
            ["get", {"n": 4},
             [{"path": "", "a": null, "b": {"is_error": false, "text": "late"}}]],
        ])
    );

    let dir = Dir::new();
    dir.write("a.jsonl", log("s-a", &one));
    dir.write("b.jsonl", log("s-b", &other));
    let said = dir.hoist(["diff", "a.jsonl", "b.jsonl"]);
    let expected = r#"
s-a and s-b
  ! #1, #1 get {"n":1}: another result
      text: "plain" → "other"
  ! #2, #2 get {"n":2}: another result
      structured.list[0].id: 1 → 2
      text.s: "x" → "y"
  ! #3, #3 get {"n":3}: another result
      is_error: false → true
      error_code: nothing → -32602
  ! #4, #4 get {"n":4}: a result in B only
"#;
    assert!(said.stdout.contains(expected), "{said:?}");
    assert!(said.stdout.ends_with("\n4 differences\n"), "{said:?}");
    // What the user names is not compared, and said.
    let ignore = ["--ignore", "text", "--ignore=structured.list[*].id", "--ignore", "is_error"];
    let words = ["diff", "--json", "a.jsonl", "b.jsonl"];
    let report = read(&dir.hoist(words.into_iter().chain(ignore)));
    assert_eq!(report["differences"], 2, "{report}");
    let paths: Vec<&Value> =
        report["ignored"].as_array().expect("a list").iter().map(|row| &row["paths"]).collect();
    assert_eq!(json!(paths), json!([["text"], ["structured.list[*].id", "text"], ["is_error"]]));
}

#[test]
fn what_differs_between_repeats_of_one_call_does_not_count() {
    let at = |id: u64, time: &str, status: &str| {
        call(id * 5_000, id, "get", "{}")
            + &result(id * 5_000 + 1, id, &format!(r#"{{\"at\":{time},\"status\":\"{status}\"}}"#))
    };
    let repeated = [at(1, "1", "open"), at(2, "2", "open")];
    let report = compared(&repeated, &[at(1, "7", "open"), at(2, "7", "open")]);
    assert_eq!(report["equal"], true, "{report}");
    let ignored = json!([{"tool": "get", "arguments": {}, "paths": ["text.at"]}]);
    assert_eq!(report["ignored"], ignored);
    // The other side's repeats count as well, and nothing else is passed over.
    let report = compared(&[at(1, "7", "open"), at(2, "7", "shut")], &repeated);
    assert_eq!(report["ignored"][0]["paths"], json!(["text.at", "text.status"]));
    let report = compared(&repeated, &[at(1, "1", "shut"), at(2, "2", "shut")]);
    assert_eq!(report["differences"], 2, "{report}");
    assert_eq!(report["ignored"], json!([]));
    // Once on each side, nobody knows that it is volatile.
    assert_eq!(compared(&[at(1, "1", "open")], &[at(1, "2", "open")])["differences"], 1);

    // A call that fails only now and then is passed over where it does so on one side; what it
    // returns where it does not is compared all the same.
    let failed = |id: u64| {
        let error = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#);
        call(id * 5_000, id, "get", "{}") + &entry(id * 5_000 + 1, "server", &error)
    };
    let unsteady = [failed(1), at(2, "1", "open")];
    let report = compared(&unsteady, &[at(1, "1", "open"), at(2, "1", "shut")]);
    assert_eq!(
        report["ignored"][0]["paths"],
        json!(["error_code", "is_error", "text", "text.status"])
    );
    let report = compared(&unsteady, &[failed(1), at(2, "1", "shut")]);
    assert_eq!((&report["differences"], &report["ignored"]), (&json!(1), &json!([])));
    assert_eq!(compared(&[failed(1)], &[at(1, "1", "open")])["differences"], 1);

    let dir = Dir::new();
    dir.write("a.jsonl", log("s-a", &repeated));
    dir.write("b.jsonl", log("s-b", &[at(1, "3", "open"), at(2, "3", "open")]));
    let said = dir.hoist(["diff", "a.jsonl", "b.jsonl"]);
    assert!(said.stdout.contains("\nnot compared\n  get {}: text.at\n"), "{said:?}");
}

#[test]
fn sessions_are_matched_by_task_then_calls_then_order() {
    let dir = Dir::new();
    let of_task = |id: &str, task: &str, trial: u64| {
        let mut run = run(id, 1.0, false);
        run["task_id"] = json!(task);
        run["messages"][1]["tool_calls"][0]["arguments"] = json!({ "trial": trial });
        run
    };
    dir.write(
        "a.json",
        results(&[of_task("a1", "1", 0), of_task("a2", "2", 0), of_task("a3", "3", 0)]),
    );
    dir.write(
        "b.json",
        results(&[of_task("b3", "3", 0), of_task("b1", "1", 5), of_task("b4", "4", 0)]),
    );
    let matched = |report: &Value| -> Value {
        let pairs = report["sessions"]["pairs"].as_array().expect("a list");
        pairs.iter().map(|pair| json!([pair["a"], pair["b"], pair["by"]])).collect()
    };
    let tasks = read(&dir.hoist(["diff", "--json", "a.json", "b.json"]));
    assert_eq!(matched(&tasks), json!([["a1", "b1", "task"], ["a3", "b3", "task"]]));
    assert_eq!(tasks["sessions"]["gone"], json!(["a2"]));
    assert_eq!(tasks["sessions"]["added"], json!(["b4"]));
    assert_eq!(tasks["differences"], 3);
    let said = dir.hoist(["diff", "a.json", "b.json"]);
    assert!(said.stdout.contains("\nsessions\n  + b4\n  - a2\n\na1 and b1 (task 1)\n"), "{said:?}");

    let calls = |names: &[&str]| -> Vec<String> {
        let answered = |(id, name): (u64, &&str)| {
            call(id * 5_000, id, name, "{}") + &result(id * 5_000 + 1, id, "done")
        };
        (1..).zip(names).map(answered).collect()
    };
    dir.write("c/1.jsonl", log("c1", &calls(&["x", "y", "z"])));
    dir.write("c/2.jsonl", log("c2", &calls(&["x", "y"])));
    dir.write("c/3.jsonl", log("c3", &calls(&["p"])));
    dir.write("d/1.jsonl", log("d1", &calls(&["q"])));
    dir.write("d/2.jsonl", log("d2", &calls(&["x", "y"])));
    dir.write("d/3.jsonl", log("d3", &calls(&["x", "y", "w"])));
    let logs = read(&dir.hoist(["diff", "--json", "c", "d"]));
    let expected = json!([["c1", "d3", "calls"], ["c2", "d2", "calls"], ["c3", "d1", "order"]]);
    assert_eq!(matched(&logs), expected);
    // Two sessions alone are compared whatever they are.
    let alone = read(&dir.hoist(["diff", "--json", "c/1.jsonl", "d/1.jsonl"]));
    assert_eq!(matched(&alone), json!([["c1", "d1", "alone"]]));
    let same = read(&dir.hoist(["diff", "--json", "c", "c"]));
    assert_eq!(same["equal"], true);
}

#[test]
fn bad_input_is_never_taken_for_equal() {
    let dir = Dir::new();
    let path = dir.write("a.jsonl", session("s-1"));
    dir.write("none.json", "{}");
    dir.write("cut.jsonl", session("s-1") + "{broken\n");
    std::fs::create_dir(dir.join("empty")).expect("it can be made");
    for (words, complaint) in [
        (&["diff"][..], "hoist diff: name a session log or a directory"),
        (&["diff", "a.jsonl"], "two paths are compared, A and B, not 1\n"),
        (&["diff", "a.jsonl", "a.jsonl", "a.jsonl"], "A and B, not 3\n"),
        (&["diff", "-", "-"], "standard input can be read once only"),
        (&["diff", "--jsn", "a.jsonl", "a.jsonl"], "did you mean --json?"),
        (&["diff", "a.jsonl", "gone.jsonl"], "gone.jsonl"),
        (&["diff", "none.json", "a.jsonl"], "none.json holds no session"),
        (&["diff", "empty", "a.jsonl"], "hoist diff: no session in empty\n"),
        (&["diff", "cut.jsonl", "a.jsonl"], "what could be read is equal, but not all"),
    ] {
        let said = dir.hoist(words);
        assert!(said.stderr.contains(complaint), "{said:?}");
        assert_eq!(said.code, Some(2), "{said:?}");
    }
    let said = dir.hoist(["diff", "cut.jsonl", "a.jsonl"]);
    assert!(said.stdout.starts_with("A  cut.jsonl: 1 session, 3 calls, 1 not readable\n"));
    // Standard input is a side.
    let input = Stdio::from(File::open(path).expect("it is there"));
    let said = dir.run(hoist().args(["diff", "-", "a.jsonl"]).stdin(input));
    assert_eq!((said.stderr.as_str(), said.code), ("", Some(0)));
}

#[test]
fn what_a_log_holds_does_not_reach_the_terminal_as_a_command() {
    let dir = Dir::new();
    let with = |text: &str| log("s", &[call(10, 1, r"x\u001b[31m", "{}"), result(11, 1, text)]);
    dir.write("a.jsonl", with(r"\u001b]0;a\u0007"));
    dir.write("b.jsonl", with(r"\u202eb"));
    let said = dir.hoist(["diff", "a.jsonl", "b.jsonl"]);
    assert_eq!(said.code, Some(1));
    assert!(!said.stdout.contains(['\x1b', '\x07', '\u{202e}']), "{said:?}");
    assert!(said.stdout.contains(r"x\x1b[31m {}: another result"), "{said:?}");
}
