//! Many calls at once, all with the same ids and tokens: each is told what is its own.

use std::ffi::OsString;
use std::path::Path;

use hoist_trace::mcp::read_session;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Listening;
use super::raw::{Legacy, ask_modern, call, modern};
use crate::host::{PATIENCE, hoist_mcp};
use crate::play::python;

/// A server that answers once so many calls are in.
fn crowd(calls: usize) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--".into()];
    words.extend(python("crowd.py"));
    words.push(calls.to_string().into());
    words
}

fn text_call(id: usize, text: &str) -> Value {
    call(id, "echo", &json!({"text": text}))
}

/// What must come of such a call, and nothing else.
#[track_caller]
fn check(messages: &[Value], id: usize, text: &str) {
    let progress = |done: u32| {
        let params = json!({"progressToken": id, "progress": done, "message": text});
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    };
    let content = json!([{"type": "text", "text": text}]);
    let result = json!({"resultType": "complete", "content": content, "isError": false});
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
    assert_eq!(messages, [progress(1), progress(2), answer], "{text}");
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let all = async { tokio::time::timeout(PATIENCE * 2, test).await };
    runtime.expect("a runtime").block_on(all).expect("all is answered");
}

/// How many sessions, or callers, there are; so many calls has each legacy session.
const MANY: usize = 64;

#[test]
fn legacy_sessions_with_the_same_ids_are_told_each_its_own() {
    let folder = TempDir::new().expect("a temporary directory");
    let logs = folder.path().join("logs");
    let record = ["--record".into(), logs.clone().into()];
    let proxy = Listening::start(hoist_mcp(), &record, &crowd(MANY), folder.path());
    run(async {
        let mut sessions = Vec::new();
        for _ in 0..MANY {
            sessions.push(Legacy::begin(proxy.address()).await.expect("there is room"));
        }
        let mut calls = Vec::new();
        for (number, session) in sessions.iter().enumerate() {
            for id in 0..MANY {
                let session = session.clone();
                calls.push(tokio::spawn(async move {
                    let text = format!("call {id} of session {number}");
                    check(&session.ask(&text_call(id, &text)).await, id, &text);
                }));
            }
        }
        for call in calls {
            call.await.expect("it is told what is its own");
        }
    });
    proxy.stop();
    let mut sessions = 0;
    for log in std::fs::read_dir(&logs).expect("the proxy made it") {
        check_log(&log.expect("it can be listed").path(), MANY);
        sessions += 1;
    }
    assert_eq!(sessions, MANY);
}

#[track_caller]
fn check_log(log: &Path, calls: usize) {
    let session = read_session(log).expect("the log can be read");
    assert_eq!(session.findings.problems, 0, "{:?}", session.findings.first);
    let episode = session.episode;
    assert_eq!((episode.calls().count(), episode.results().count()), (calls, calls));
}

#[test]
fn modern_callers_that_share_a_session_are_told_each_its_own() {
    let folder = TempDir::new().expect("a temporary directory");
    let logs = folder.path().join("logs");
    let record = ["--record".into(), logs.clone().into()];
    let proxy = Listening::start(hoist_mcp(), &record, &crowd(MANY * MANY), folder.path());
    run(async {
        let mut calls = Vec::new();
        for caller in 0..MANY {
            for id in 0..MANY {
                let address = proxy.address().to_owned();
                calls.push(tokio::spawn(async move {
                    let text = format!("call {id} of caller {caller}");
                    let call = text_call(id, &text);
                    let call = modern("tools/call", id, call["params"].clone());
                    let named = [("Hoist-Session", "crowd")];
                    let (status, messages) = ask_modern(&address, &named, &call).await;
                    assert_eq!(status, 200, "{messages:?}");
                    check(&messages, id, &text);
                }));
            }
        }
        for call in calls {
            call.await.expect("it is told what is its own");
        }
    });
    proxy.stop();
    check_log(&crate::log::only_log(&logs), MANY * MANY);
}
