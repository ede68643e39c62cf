//! The order of what is in a log, and logs that are written side by side.

use std::collections::{HashMap, HashSet};
use std::fs;

use hoist_trace::log::Origin;
use hoist_trace::mcp::read_log;
use serde_json::Value;
use tempfile::TempDir;

use crate::host::{Host, demo};
use crate::log::{holds_every_line, whole_log};
use crate::play::Play;
use crate::ways::Way;

#[test]
fn a_request_stands_before_its_response_and_time_never_goes_back() {
    const CALLS: usize = 1000;
    for way in [Way::Recorded, Way::ActingRecorded] {
        let mut run = way.start(vec![demo().into()], &[]);
        run.host.initialize();
        let calls: String = (1..=CALLS)
            .map(|id| {
                let delay_ms = (id * 7919) % 20;
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"lookup","arguments":{{"delay_ms":{delay_ms}}}}}}}"#
                ) + "\n"
            })
            .collect();
        run.host.send_bytes(calls.as_bytes());
        let mut in_order = true;
        for at in 1..=CALLS {
            let line = run.host.line().expect("an answer");
            let answer: Value = serde_json::from_slice(&line).expect("it is JSON");
            assert!(answer.get("result").is_some(), "{answer}");
            in_order &= answer["id"] == at;
        }
        assert!(!in_order, "the answers were to come out of order");
        run.host.end();
        run.check_log();

        let mut asked = HashSet::new();
        let log = run.log();
        let mut answered = 0;
        for entry in &log.entries {
            let message = entry.message().expect("every line is a message");
            let id = serde_json::from_str::<Value>(message).expect("it is JSON")["id"].to_string();
            if entry.from == Origin::Client {
                asked.insert(id);
            } else {
                assert!(asked.contains(&id), "{way:?}: answer {id} before its request");
                answered += 1;
            }
        }
        assert_eq!(answered, CALLS + 1);
        assert!(log.entries.is_sorted_by_key(|entry| entry.t_ms), "{way:?}");
    }
}

#[test]
fn two_proxies_in_one_directory_write_two_whole_logs() {
    const CALLS: usize = 1000;
    let dir = TempDir::new().expect("a temporary directory");
    let logs = dir.path().join("logs");
    let mut hosts: Vec<(Host, TempDir, &str)> = ["a", "b"]
        .map(|name| {
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{name}\"}}\n");
            let own = TempDir::new().expect("a temporary directory");
            let play = Play::new().answers(&vec![answer; CALLS]);
            let flags = ["--record", logs.to_str().expect("it is text"), "--server-name", name];
            let mut command = Way::Passive.command(own.path(), play.command(own.path()), &flags);
            (Host::spawn(&mut command), own, name)
        })
        .into();
    for n in 0..CALLS {
        for (host, _, name) in &mut hosts {
            host.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{name}","params":{n}}}"#));
        }
    }
    for (host, _, _) in &mut hosts {
        host.end();
        assert_eq!(host.received.split_inclusive(|b| *b == b'\n').count(), CALLS);
    }
    let mut found = HashMap::new();
    for entry in fs::read_dir(&logs).expect("it was made") {
        let path = entry.expect("it can be listed").path();
        let name = read_log(&path).expect("a log").header.server_name.expect("it was given");
        found.insert(name, path);
    }
    assert_eq!(found.len(), 2);
    for (host, _, name) in &hosts {
        let log = whole_log(&found[*name]);
        assert_eq!(log.entries.len(), 2 * CALLS);
        holds_every_line(&log, Origin::Client, &host.sent);
        holds_every_line(&log, Origin::Server, &host.received);
    }
}
