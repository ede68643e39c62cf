//! Hosts that end their sessions, and hosts that are just gone.

use std::collections::HashMap;
use std::fs;

use rustix::process::Pid;
use serde_json::json;
use tempfile::TempDir;

use super::Listening;
use super::raw::{Connection, Legacy, ask_modern, call, modern};
use crate::host::{PATIENCE, demo, hoist_mcp};
use crate::log::whole_log;
use crate::processes::{children, until, wait_until_none_has};

/// The proxy in front of the demo server, and where it records.
fn listening(folder: &TempDir, flags: &[&str]) -> Listening {
    let mut all = vec!["--record".into(), folder.path().join("logs").into()];
    all.extend(flags.iter().map(Into::into));
    Listening::start(hoist_mcp(), &all, &["--".into(), demo().into()], folder.path())
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let all = async { tokio::time::timeout(PATIENCE * 2, test).await };
    runtime.expect("a runtime").block_on(all).expect("all is answered")
}

/// What a process holds open, by kind: descriptors, and children that nobody has collected.
fn held(pid: Pid) -> (HashMap<String, usize>, usize) {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("the proxy runs");
    let mut kinds = HashMap::new();
    for entry in entries.filter_map(Result::ok) {
        // One may be closed meanwhile.
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let target = target.to_string_lossy();
        let kind = target.split(['[', ':']).next().unwrap_or_default().to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    (kinds, children(pid))
}

/// One call of a session's, which must be answered.
async fn use_it(session: &Legacy) {
    let answer = session.ask(&call(1, "lookup", &json!({"text": "a"}))).await;
    assert_eq!(answer.last().map(|answer| &answer["result"]["isError"]), Some(&json!(false)));
}

const SESSIONS: usize = 60;

#[test]
fn sessions_that_their_hosts_end_leave_nothing_behind() {
    let folder = TempDir::new().expect("a temporary directory");
    let proxy = listening(&folder, &[]);
    let pid = proxy.host.id();
    let before = held(pid);
    run(async {
        for number in 0..SESSIONS {
            let session = Legacy::begin(proxy.address()).await.expect("there is room");
            use_it(&session).await;
            // Some have a stream open, or a call that is not answered, which they let go of or not.
            let slow = json!({"delay_ms": 60_000});
            let waiting = session.open(&call(2, "lookup", &slow)).await;
            let mut standing = Connection::open(proxy.address()).await;
            let head = standing.ask("GET", &session.headers(), "").await;
            assert_eq!(head.status, 200);
            if number % 2 == 0 {
                drop((waiting, standing));
                assert_eq!(session.end().await, 200);
            } else {
                assert_eq!(session.end().await, 200);
                let (mut waiting, head) = waiting;
                let answer = waiting.messages(&head).await;
                assert!(answer[0]["error"].is_object(), "{answer:?}");
                assert_eq!(standing.messages(&head).await, Vec::<serde_json::Value>::new());
            }
            assert_eq!(session.end().await, 404);
        }
    });
    until("what it held before", || (held(pid) == before).then_some(()));
    let said = proxy.stop();
    assert_eq!(said.matches(" ended").count(), SESSIONS, "{said}");
}

#[test]
fn hosts_that_are_gone_keep_their_sessions_until_the_proxy_ends() {
    const ROOM: usize = 8;
    let folder = TempDir::new().expect("a temporary directory");
    let proxy = listening(&folder, &["--listen-max-sessions", "8"]);
    let pid = proxy.host.id();
    let sockets = held(pid).0["socket"];
    run(async {
        let mut sessions = Vec::new();
        for _ in 0..ROOM {
            let session = Legacy::begin(proxy.address()).await.expect("there is room");
            use_it(&session).await;
            sessions.push(session);
        }
        // Their connections are closed, and their servers wait for them.
        until("the end of connections", || (held(pid).0["socket"] == sockets).then_some(()));
        assert_eq!(children(pid), ROOM);
        for session in &sessions {
            use_it(session).await;
        }
        let refused = Legacy::begin(proxy.address()).await.expect_err("there is no room");
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
        assert_eq!(sessions[0].end().await, 200);
        // There is room once the server has ended, too.
        until("the end of a server", || (children(pid) == ROOM - 1).then_some(()));
        let session = loop {
            match Legacy::begin(proxy.address()).await {
                Ok(session) => break session,
                Err(refused) => assert_eq!(refused.status, 503),
            }
        };
        use_it(&session).await;
    });
    let said = proxy.stop();
    wait_until_none_has("HOME", folder.path());
    assert_eq!(said.matches(" ended").count(), ROOM + 1, "{said}");
    let logs = fs::read_dir(folder.path().join("logs")).expect("the proxy made it");
    let mut calls = 0;
    for log in logs {
        let log = whole_log(&log.expect("it can be listed").path());
        let is_call = |text: &str| text.contains(r#""method":"tools/call""#);
        calls += log.entries.iter().filter_map(|e| e.message()).filter(|m| is_call(m)).count();
    }
    assert_eq!(calls, 2 * ROOM + 1);
}

#[test]
fn runs_that_are_over_make_room_for_others() {
    let folder = TempDir::new().expect("a temporary directory");
    let proxy = listening(&folder, &["--listen-max-sessions", "2"]);
    run(async {
        let legacy = Legacy::begin(proxy.address()).await.expect("there is room");
        // Nothing tells that such a run is over, and each has a session.
        for number in 0..5 {
            let message = modern("server/discover", number, json!({}));
            let (status, answer) = ask_modern(proxy.address(), &[], &message).await;
            assert_eq!(status, 200, "{number}: {answer:?}");
        }
        assert_eq!(Legacy::begin(proxy.address()).await.map(drop).err().map(|h| h.status), None);
        use_it(&legacy).await;
        // What is left is somebody's.
        let message = modern("server/discover", 0, json!({}));
        assert_eq!(ask_modern(proxy.address(), &[], &message).await.0, 503);
    });
    let said = proxy.stop();
    assert_eq!(said.matches(" ended").count(), 7, "{said}");
}
