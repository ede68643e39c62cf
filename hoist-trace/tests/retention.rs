//! What retention deletes, and all that it leaves.
#![cfg(all(feature = "recorder", unix))]
#![expect(clippy::unwrap_used, reason = "what helpers of tests meet fails the test")]

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use hoist_proxy_core::{Finish, Interceptor, SessionContext, SessionId};
use hoist_trace::retention::prune;
use hoist_trace::{RecordOptions, Recorder};

const HEADER: &str = "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":5}\n";
const OLD: &str = "20200101T000000.000Z-1";

fn days_ago(days: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60)
}

fn put(path: &Path, text: &str, days: u64) {
    fs::write(path, text).unwrap();
    File::options().append(true).open(path).unwrap().set_modified(days_ago(days)).unwrap();
}

#[test]
fn only_old_logs_and_their_companions_go() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("logs");
    fs::create_dir(&dir).unwrap();
    let outside = temp.path().join("outside.jsonl");
    put(&outside, HEADER, 9);
    let gone = [
        format!("{OLD}.jsonl"),
        format!("{OLD}.flow.jsonl"),
        format!("{OLD}.confirm.jsonl"),
        format!("{OLD}-7-2.jsonl"),
    ];
    put(&dir.join(&gone[0]), HEADER, 9);
    put(&dir.join(&gone[1]), "x", 9);
    put(&dir.join(&gone[2]), "x", 9);
    put(&dir.join(&gone[3]), HEADER, 9);
    let long = format!(
        "{{\"hoist_mcp_log\":2,\"session\":\"{}\",\"started_unix_ms\":5}}\n",
        "s".repeat(70_000)
    );
    let stay = [
        ("notes.jsonl", HEADER, 9),
        ("20200101T000000.000Z-2.jsonl", HEADER, 6),
        ("20200101T000000.000Z-2.flow.jsonl", "x", 9),
        ("20200101T000000.000Z-3.jsonl", "{\"mine\":1}\n", 9),
        ("20200101T000000.000Z-3.flow.jsonl", "x", 9),
        ("20200101T000000.000Z-4.flow.jsonl", "x", 9),
        ("20200101T000000.000Z-5.jsonl", "", 9),
        ("20200101T000000.000Z-6.jsonl", &long, 9),
        ("20200101T000000.000Z-7.jsonl", "{\"hoist_mcp_log\":3}\n", 9),
        ("20200101T000000.000Z-8.jsonl.bak", HEADER, 9),
    ];
    for (name, text, days) in stay {
        put(&dir.join(name), text, days);
    }
    let link = dir.join("20200101T000000.000Z-9.jsonl");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let linked = dir.join(format!("{OLD}-7-2.flow.jsonl"));
    std::os::unix::fs::symlink(&outside, &linked).unwrap();
    fs::create_dir(dir.join("20200101T000000.000Z-10.jsonl")).unwrap();

    let pruned = prune(&dir, 7, SystemTime::now());
    assert!(pruned.errors.is_empty(), "{:?}", pruned.errors);
    let mut deleted = pruned.deleted.clone();
    deleted.sort();
    let mut expected: Vec<_> = gone.iter().map(|name| dir.join(name)).collect();
    expected.sort();
    assert_eq!(deleted, expected);
    assert!(gone.iter().all(|name| !dir.join(name).exists()));
    assert!(stay.iter().all(|(name, ..)| dir.join(name).exists()));
    assert!(outside.exists() && link.exists() && linked.exists());
    assert!(prune(&dir, 7, SystemTime::now()).deleted.is_empty());
    assert_eq!(prune(&temp.path().join("none"), 7, SystemTime::now()).errors.len(), 1);
    assert!(prune(&dir, u32::MAX, SystemTime::UNIX_EPOCH).deleted.is_empty());
}

#[tokio::test]
async fn an_open_log_stays_and_each_session_prunes() {
    let dir = tempfile::tempdir().unwrap();
    let session = |pid| SessionContext::new(SessionId::at(SystemTime::now(), pid, None));
    let open = Recorder::start(&RecordOptions::new(dir.path()), &session(1)).unwrap();
    let file = File::options().append(true).open(open.path()).unwrap();
    file.set_modified(days_ago(9)).unwrap();
    let old = dir.path().join(format!("{OLD}.jsonl"));
    put(&old, HEADER, 9);

    let options = RecordOptions::new(dir.path()).retain_days(7);
    let recorder = Recorder::start(&options, &session(2)).unwrap();
    recorder.finish(Finish::Ended).await;
    assert!(open.path().exists() && recorder.path().exists() && !old.exists());

    open.finish(Finish::Ended).await;
    let closed = prune(dir.path(), 7, SystemTime::now());
    assert_eq!(closed.deleted, [open.path()], "it is old, and no longer open");
}
