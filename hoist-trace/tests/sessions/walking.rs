//! Files and directories, mixed.

use std::path::PathBuf;

use hoist_trace::sessions::{Files, Item, Sessions};

use crate::files::Dir;

const RUN: &str = r#"{"task_id": "3", "run_info": {"simulation_id": "s-3"}, "messages": []}"#;
const RUNS: &str =
    r#"[{"task_id": 1, "trial": 0, "traj": []}, {"task_id": 1, "trial": 1, "traj": []}]"#;

pub(crate) fn log(session: &str) -> String {
    format!("{{\"hoist_mcp_log\":2,\"session\":\"{session}\",\"started_unix_ms\":5}}\n")
}

#[test]
fn formats_mix_and_are_told_by_what_is_in_a_file() {
    let dir = Dir::new();
    // Names say nothing.
    dir.write("a/1.txt", RUN);
    dir.write("a/2.jsonl", RUNS);
    dir.write("a/3", log("l-3"));
    dir.write("a/4.json", log("l-4"));
    dir.write("a/5.jsonl", format!("{{\"more\":[1],{}", &log("l-5")[1..]));
    dir.write("a/6.flow.jsonl", "no log");
    dir.write("a/db.json", r#"{"users": {"messages": []}, "orders": []}"#);
    dir.write("a/empty", "");
    dir.write("a/notes.md", "[see](x)");
    dir.write("a/tasks.json", r#"[{"id": "1", "description": {}}]"#);
    dir.write("b.json", RUNS);
    let expected = [
        "a/1.txt run 1: s-3",
        "a/2.jsonl [0]: 1-0",
        "a/2.jsonl [1]: 1-1",
        "a/3: l-3",
        "a/4.json: l-4",
        "a/5.jsonl: l-5",
        "b.json [0]: 1-0",
        "b.json [1]: 1-1",
    ];
    assert_eq!(dir.lines(Sessions::of([dir.path()])), expected);
    assert_eq!(dir.lines(Sessions::of([dir.join("a"), dir.join("b.json")])), expected);
    assert_eq!(dir.lines(Sessions::merged([dir.path()])), expected);
    // What was named is missed.
    let named = ["a/db.json", "a/tasks.json", "a/notes.md", "a/empty"].map(|name| dir.join(name));
    let lines = dir.lines(Sessions::of(named));
    assert_eq!(lines.iter().filter(|line| line.contains("holds no session")).count(), 3);
    assert_eq!(lines[3], "! a/empty is empty: a session log starts with a header line");
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_damaged_log_is_said_wherever_it_is_met() {
    let dir = Dir::new();
    dir.write("bad.jsonl", "{\"hoist_mcp_log\":2,\"sess");
    dir.write("text.jsonl", "hello\n");
    dir.write("text.txt", "hello\n");
    dir.write("cut", "{\"hoist_mcp_log\":2,\"sess");
    dir.write("empty.jsonl", "");
    let lines = dir.lines(Sessions::of([dir.path()]));
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("! bad.jsonl:1:24: not a Hoist session log"), "{lines:?}");
    assert!(lines[1].starts_with("! cut:1:24: not a Hoist session log"), "{lines:?}");
    assert!(lines[2].starts_with("! empty.jsonl is empty"), "{lines:?}");
    assert!(lines[3].starts_with("! text.jsonl:1:1: not a Hoist session log"), "{lines:?}");
}

#[test]
fn whoever_reads_logs_themselves_gets_them_opened() {
    let dir = Dir::new();
    dir.write("a.jsonl", log("l-1"));
    dir.write("b.json", RUN);
    let kinds: Vec<String> = Files::of([dir.path()])
        .map(|item| match item.unwrap() {
            Item::Log(log) => format!("log {}", log.reader.header().session),
            Item::Run(run) => format!("run {}", run.episode.id),
            _ => unreachable!(),
        })
        .collect();
    assert_eq!(kinds, ["log l-1", "run s-3"]);
}

#[test]
fn no_paths_are_no_sessions() {
    assert!(Sessions::of(Vec::<PathBuf>::new()).next().is_none());
    let dir = Dir::new();
    assert!(Sessions::of([dir.path()]).next().is_none());
}

#[cfg(unix)]
#[test]
fn links_in_a_directory_are_not_followed_and_loops_end() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new();
    dir.write("a/run.json", RUN);
    symlink("..", dir.join("a/up")).unwrap();
    symlink("loop", dir.join("a/loop")).unwrap();
    symlink("run.json", dir.join("a/link.json")).unwrap();
    symlink("/dev/zero", dir.join("a/zero.json")).unwrap();
    symlink("a", dir.join("dir-link")).unwrap();
    for sessions in [Sessions::of([dir.path()]), Sessions::merged([dir.path()])] {
        assert_eq!(dir.lines(sessions), ["a/run.json run 1: s-3"]);
    }
    // A link that is named is followed.
    assert_eq!(dir.lines(Sessions::of([dir.join("dir-link")])), ["dir-link/run.json run 1: s-3"]);
    assert_eq!(dir.lines(Sessions::of([dir.join("a/link.json")])), ["a/link.json run 1: s-3"]);
    let lines = dir.lines(Sessions::of([dir.join("a/loop")]));
    assert!(lines.len() == 1 && lines[0].starts_with("! cannot read a/loop"), "{lines:?}");
    let lines = dir.lines(Sessions::of([dir.join("a/zero.json")]));
    assert_eq!(lines.len(), 1, "{lines:?}");
}
