//! `--retain-days`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::before_demo;
use crate::host::Host;

const HEADER: &str = "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":1}\n";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that was last written so many days ago.
fn file(path: &Path, text: &str, days: u32) {
    fs::write(path, text).expect("it can be written");
    let file = File::options().append(true).open(path).expect("it is ours");
    file.set_modified(SystemTime::now() - days * DAY).expect("it is ours");
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).expect("it is there");
    entries
        .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("text"))
        .collect()
}

#[test]
fn only_old_logs_of_our_own_are_deleted() {
    let dir = TempDir::new().expect("a temporary directory");
    let logs = dir.path().join("logs");
    fs::create_dir(&logs).expect("it can be made");
    let at = |name: &str| logs.join(name);
    file(&at("20200101T000000.000Z-1.jsonl"), HEADER, 10);
    file(&at("20200101T000000.000Z-1.flow.jsonl"), "{}\n", 10);
    file(&at("20200101T000000.000Z-2-3.jsonl"), HEADER, 8);
    let deleted = names(&logs);

    file(&at("20200101T000000.000Z-4.jsonl"), HEADER, 6);
    file(&at("20200101T000000.000Z-5.jsonl"), "{\"some\":\"thing else\"}\n", 10);
    file(&at("20200101T000000.000Z-6.jsonl"), "", 10);
    file(&at("notes.jsonl"), HEADER, 10);
    file(&at("20200101T000000.000Z-7.json"), HEADER, 10);
    fs::create_dir(at("20200101T000000.000Z-8.jsonl")).expect("it can be made");
    file(&dir.path().join("elsewhere"), HEADER, 10);
    std::os::unix::fs::symlink("../elsewhere", at("20200101T000000.000Z-9.jsonl"))
        .expect("it can be made");
    let kept: BTreeSet<String> = names(&logs).difference(&deleted).cloned().collect();

    let flags = ["--record".as_ref(), logs.as_os_str(), "--retain-days=7".as_ref()];
    let mut host = Host::spawn(&mut before_demo(&flags));
    host.initialize();
    host.end();
    let left = names(&logs);
    let new: Vec<&String> = left.difference(&kept).collect();
    assert_eq!(new.len(), 1, "only the session's own log is new: {new:?}");
    assert!(left.is_superset(&kept), "{left:?}");
    assert!(dir.path().join("elsewhere").exists());
}

#[test]
fn nothing_is_deleted_unless_asked() {
    let dir = TempDir::new().expect("a temporary directory");
    file(&dir.path().join("20200101T000000.000Z-1.jsonl"), HEADER, 4000);
    let mut host = Host::spawn(&mut before_demo(&["--record".as_ref(), dir.path().as_os_str()]));
    host.initialize();
    host.end();
    assert_eq!(names(dir.path()).len(), 2);
}
