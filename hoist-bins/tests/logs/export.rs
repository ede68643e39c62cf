//! `hoist export`: the tables, and what `DuckDB` and pandas make of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::files::{Dir, call, entry, header, hoist, opening, result, session};
use crate::runs::{results, run};
use crate::venv::venv;

/// Texts that some reader somewhere takes for something else.
const TEXTS: [&str; 18] = [
    "",
    " ",
    "=1+1",
    "say \"hi\", twice",
    "line\nfeed",
    "both\r\nends\r",
    "nul\0byte",
    "😀 é \u{2028}",
    "null",
    "NA",
    "12345678901234567890",
    "1e400",
    "2026-01-01",
    "2026-01-01T10:00:00Z",
    "007",
    "\ttab",
    "back\\slash\\\"",
    "'",
];

/// What the result of the call that stands at this place has besides its text.
const STRUCTURED: &str = r#"{"n":12345678901234567890,"x":1.0}"#;

/// A call for each text, which is its argument and its result; the last has no result.
fn odd() -> String {
    let mut log = header("s-odd") + &opening();
    for (at, text) in TEXTS.into_iter().enumerate() {
        let (id, t_ms) = (at as u64 + 1, at as u64 * 10_000 + 10);
        log += &call(t_ms, id, "echo", &json!({ "v": text }).to_string());
        let content = json!([{"type": "text", "text": text}]);
        let result = format!(r#"{{"content":{content},"structuredContent":{STRUCTURED}}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        log += &entry(t_ms + 5, "server", &answer);
    }
    log + &call(1_000_000, 99, "echo", "{}")
}

/// A directory with sessions of several kinds, exported to `out`.
fn exported() -> Dir {
    let dir = Dir::new();
    dir.write("in/a.jsonl", odd());
    dir.write("in/b.jsonl", session("007"));
    dir.write("in/results.json", results(&[run("r-1", 0.5, false), run("r-1", 1.0, false)]));
    let said = dir.hoist(["export", "--out", "out", "in"]);
    assert_eq!(said.stdout, "out: 4 episodes, 23 turns, 24 calls, each as JSONL and CSV\n");
    assert_eq!((said.stderr.as_str(), said.code), ("", Some(0)));
    dir
}

fn rows(dir: &Dir, table: &str) -> Vec<Value> {
    let text = fs::read_to_string(dir.join(format!("out/{table}.jsonl"))).expect("it was written");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn tables_hold_what_the_sessions_hold() {
    let dir = exported();
    let episodes = rows(&dir, "episodes");
    assert_eq!(
        episodes[1],
        json!({
            "session": 2, "episode": "007", "source": "hoist-mcp", "file": "in/b.jsonl", "at": "",
            "domain": "orders", "task_id": null, "agent": "model-1", "host": "claude-code",
            "host_version": "2.1", "servers": "[\"orders\"]",
            "started": "2026-09-23T21:20:00.123Z", "started_unix_ms": 1_790_198_400_123_u64,
            "duration_ms": 71_000, "reward": null, "input_tokens": null, "output_tokens": null,
            "cost_usd": null, "tools": 0, "turns": 2, "calls": 3, "results": 3, "errors": 1,
            "probe": false,
        })
    );
    let of_run = ["at", "task_id", "host", "reward", "input_tokens", "output_tokens", "cost_usd"]
        .map(|column| episodes[2][column].clone());
    let expected = json!(["simulations[0]", "7", null, 0.5, 1000, 1, 0.25]);
    assert_eq!(json!(of_run), expected);
    // One that stands in the file twice can still be told apart.
    assert_eq!((&episodes[3]["session"], &episodes[3]["episode"]), (&json!(4), &json!("r-1#2")));

    let turns = rows(&dir, "turns");
    assert_eq!(
        turns[19],
        json!({"session": 2, "episode": "007", "turn": 0, "seq": 4, "t_ms": 1203, "text": null,
               "calls": 2})
    );

    let calls = rows(&dir, "calls");
    assert_eq!(
        calls[20],
        json!({
            "session": 2, "episode": "007", "turn": 0, "seq": 5, "id": "4", "server": "orders",
            "name": "get_user_details", "arguments": "{}", "made_by": "agent", "cancelled": false,
            "t_ms": 1204, "result": "no user", "structured": null, "other_content": null,
            "is_error": true, "error_code": -32602, "result_seq": 7, "result_t_ms": 1230,
            "duration_ms": 26,
        })
    );
    for (at, text) in TEXTS.into_iter().enumerate() {
        assert_eq!(calls[at]["result"], text);
        assert_eq!(calls[at]["arguments"], json!({ "v": text }).to_string());
        assert_eq!(calls[at]["structured"], STRUCTURED);
    }
    let open = ["result", "is_error", "result_t_ms", "duration_ms"].map(|c| calls[18][c].clone());
    assert_eq!(json!(open), json!([null, null, null, null]));
}

#[test]
fn every_column_is_documented_in_its_place() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/formats.md");
    let document = fs::read_to_string(document).expect("it is there");
    let dir = exported();
    for table in ["episodes", "turns", "calls"] {
        let heading = format!("\n| `{table}` | type | meaning |\n| --- | --- | --- |\n");
        let (_, rest) = document.split_once(&heading).expect("it has a table");
        let (documented, _) = rest.split_once("\n\n").expect("it ends");
        let mut documented: Vec<&str> = documented
            .lines()
            .flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(", "))
            .map(|name| name.trim().trim_matches('`'))
            .collect();
        let csv = fs::read_to_string(dir.join(format!("out/{table}.csv"))).expect("it is there");
        let mut columns: Vec<&str> = csv.lines().next().unwrap_or_default().split(',').collect();
        documented.sort_unstable();
        columns.sort_unstable();
        assert_eq!(columns, documented, "{table}");
    }
}

#[test]
fn duckdb_and_pandas_read_what_was_written() {
    let dir = exported();
    for table in ["episodes", "turns", "calls"] {
        let written = rows(&dir, table);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/tables/read.py");
        let mut command = Command::new(readers());
        let said = dir.run(command.arg(script).args(["out", table]).stdin(Stdio::null()));
        assert_eq!(said.code, Some(0), "{said:?}");
        let read: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let check = |way: &str, expected: &dyn Fn(&str, &Value) -> Value| {
            let found = read[way].as_array().expect("rows");
            assert_eq!(found.len(), written.len(), "{way}, {table}");
            for (at, (found, row)) in found.iter().zip(&written).enumerate() {
                let row = row.as_object().expect("a row");
                assert_eq!(found.as_object().expect("a row").len(), row.len(), "{way}, {table}");
                for (column, value) in row {
                    let expected = expected(column, value);
                    assert!(
                        same(&found[column], &expected),
                        "{way}, {table} {at} {column}: {} for {expected}",
                        found[column]
                    );
                }
            }
        };
        check("duckdb jsonl", &|_, value| value.clone());
        check("duckdb csv", &|_, value| as_text(value));
        check("pandas jsonl", &|_, value| value.clone());
        // It takes nothing for an empty text.
        check("pandas csv", &|_, value| match as_text(value) {
            Value::Null => json!(""),
            text => text,
        });
        let as_it_comes = read["duckdb csv as it comes"].as_array().expect("rows");
        assert_eq!(as_it_comes.len(), written.len(), "{table}");
        for (found, row) in as_it_comes.iter().zip(&written) {
            for number in ["session", "t_ms", "calls", "duration_ms", "reward", "started"] {
                if let Some(value) = row.get(number) {
                    assert!(same(&found[number], value), "{number}: {found} for {row}");
                }
            }
        }
    }
}

/// The interpreter that has both.
fn readers() -> &'static Path {
    const PINNED: &str = include_str!("../peers/tables/requirements.txt");
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| venv("tables", PINNED))
}

/// A value as a CSV has it.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Null | Value::String(_) => value.clone(),
        other => json!(other.to_string()),
    }
}

/// Whether two are the same, where 1 is 1.0: a column with numbers and nothings has no integers in
/// pandas.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

#[test]
fn a_row_is_a_line_with_a_heading_and_line_feeds() {
    let dir = Dir::new();
    dir.write("a.jsonl", header("s-1") + &call(5, 1, "look", "{}") + &result(9, 1, ""));
    assert_eq!(dir.hoist(["export", "--out", "out", "a.jsonl"]).code, Some(0));
    let csv = fs::read_to_string(dir.join("out/calls.csv")).expect("it was written");
    let expected = concat!(
        "session,episode,turn,seq,id,server,name,arguments,made_by,cancelled,t_ms,result,structured,",
        "other_content,is_error,error_code,result_seq,result_t_ms,duration_ms\n",
        r#"1,"s-1",0,2,"1","orders","look","{}","agent",false,5,"",,,false,,3,9,4"#,
        "\n"
    );
    assert_eq!(csv, expected);
}

#[test]
fn sessions_may_be_named_with_a_flag_or_come_from_standard_input() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s-a"));
    let b = dir.write("b.jsonl", session("s-b"));
    dir.write("c.jsonl", session("s-c"));
    let words = ["export", "c.jsonl", "--sessions", "a.jsonl", "--out=out", "--sessions", "-"];
    let input = Stdio::from(fs::File::open(b).expect("it is there"));
    let said = dir.run(hoist().args(words).arg("--json").stdin(input));
    let expected = json!({"out": "out", "episodes": 3, "turns": 6, "calls": 9, "unread": 0});
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).expect("JSON"), expected);
    let ids: Vec<Value> =
        rows(&dir, "episodes").into_iter().map(|row| row["episode"].clone()).collect();
    assert_eq!(ids, ["s-a", "s-b", "s-c"]);
}

#[test]
fn only_the_owner_reads_the_tables_and_nothing_is_overwritten() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s-1"));
    let mode = |path: &str| fs::metadata(dir.join(path)).expect("it is there").permissions().mode();
    assert_eq!(dir.hoist(["export", "--out", "x/y", "a.jsonl"]).code, Some(0));
    assert_eq!((mode("x") & 0o777, mode("x/y") & 0o777), (0o700, 0o700));
    let names = |folder: &str| {
        let entries = fs::read_dir(dir.join(folder)).expect("it is there");
        let mut names: Vec<_> = entries
            .map(|e| e.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    };
    let all =
        ["calls.csv", "calls.jsonl", "episodes.csv", "episodes.jsonl", "turns.csv", "turns.jsonl"];
    assert_eq!(names("x/y"), all);
    for name in all {
        assert_eq!(mode(&format!("x/y/{name}")) & 0o777, 0o600, "{name}");
    }

    for name in all {
        let kept = dir.write(format!("{name}.d/{name}"), "mine");
        let said = dir.hoist(["export", "--out", &format!("{name}.d"), "a.jsonl"]);
        let expected = format!(
            "hoist export: {name}.d/{name} exists, and nothing is overwritten; name another \
             directory with --out\n"
        );
        assert_eq!((said.stderr.as_str(), said.code), (expected.as_str(), Some(1)));
        assert_eq!(fs::read_to_string(kept).expect("it is kept"), "mine");
        assert_eq!(names(&format!("{name}.d")), [name]);
    }
    // So is a link that leads nowhere, and an export that goes on.
    fs::create_dir(dir.join("l")).expect("it can be made");
    std::os::unix::fs::symlink("gone", dir.join("l/turns.csv")).expect("it can be made");
    assert_eq!(dir.hoist(["export", "--out", "l", "a.jsonl"]).code, Some(1));
    dir.write("p/calls.csv.part", "");
    let said = dir.hoist(["export", "--out", "p", "a.jsonl"]);
    assert!(said.stderr.contains("p/calls.csv.part exists: an export"), "{said:?}");
    assert_eq!(names("p"), ["calls.csv.part"]);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_written() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s-1"));
    dir.write("none.json", "{}");
    let bad = json!({"id": "bad", "messages": 7});
    dir.write("r.json", results(&[bad, run("r-1", 1.0, false)]));
    let said = dir.hoist(["export", "--out", "1", "r.json", "a.jsonl"]);
    assert!(said.stderr.contains(": skipped simulations[0]: "), "{said:?}");
    assert_eq!(said.stdout, "1: 2 episodes, 3 turns, 4 calls, each as JSONL and CSV\n");
    assert_eq!(said.code, Some(0));
    assert_eq!(dir.hoist(["export", "--strict", "--out", "2", "r.json"]).code, Some(1));
    let said = dir.hoist(["export", "--out", "3", "none.json", "a.jsonl"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(dir.join("3/calls.csv").exists());

    // Nothing at all leaves nothing.
    fs::create_dir(dir.join("empty")).expect("it can be made");
    let said = dir.hoist(["export", "--out", "4", "empty"]);
    let expected = "hoist export: no session in empty, so nothing was written\n";
    assert_eq!((said.stderr.as_str(), said.code), (expected, Some(1)));
    assert_eq!(fs::read_dir(dir.join("4")).expect("it was made").count(), 0);
    let said = dir.hoist(["export", "--out", "a.jsonl", "empty"]);
    assert!(said.stderr.contains("cannot create the directory a.jsonl"), "{said:?}");

    for (words, complaint) in [
        (vec!["export", "a.jsonl"], "hoist export: --out is needed: --out DIR\n"),
        (vec!["export", "--out", "5"], "hoist export: name a session log or a directory"),
        (vec!["export", "--out", "5", "--sesions", "a"], "did you mean --sessions?"),
    ] {
        let said = dir.hoist(words);
        assert!(said.stderr.contains(complaint), "{said:?}");
        assert_eq!(said.code, Some(2));
    }
    assert!(!dir.join("5").exists());
}

#[test]
fn merged_exports_several_servers_as_one_session() {
    let dir = Dir::new();
    let log = |session: &str, server: &str, id: u64| {
        let named = format!("\"server_name\":\"{server}\",\"started");
        let header = header(session).replace("\"started", &named);
        header + &opening() + &call(id * 10, id, "look", "{}") + &result(id * 10 + 5, id, server)
    };
    dir.write("in/a.jsonl", log("s-1", "docs", 1));
    dir.write("in/b.jsonl", log("s-2", "tickets", 2));
    let said = dir.hoist(["export", "--merged", "--out", "out", "in"]);
    assert_eq!(said.stdout, "out: 1 episode, 1 turn, 2 calls, each as JSONL and CSV\n");
    assert_eq!(rows(&dir, "episodes")[0]["servers"], r#"["docs","tickets"]"#);
    assert_eq!(rows(&dir, "calls")[1]["name"], "tickets::look");
}
