//! Trouble with the disk once a session runs: the traffic goes on, and what is lost is counted.

use std::fs;

use hoist_trace::log::{Content, Origin};
use hoist_trace::mcp::{Log, read_log};
use rustix::process::{Resource, Rlimit, prlimit};
use tempfile::TempDir;

use super::CALL;
use crate::host::Host;
use crate::log::only_log;
use crate::play::{Play, got};
use crate::processes::{Notes, until};
use crate::ways::{Run, Way};

const RECORDED: [Way; 2] = [Way::Recorded, Way::ActingRecorded];

/// Every answer is as long as many log entries.
fn answer() -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}\n", "x".repeat(1000))
}

/// From now on the process can make no file longer than this.
fn limit_files(host: &Host, max_bytes: Option<u64>) {
    let limit = Rlimit { current: max_bytes, maximum: None };
    prlimit(Some(host.id()), Resource::Fsize, limit).expect("it is our child");
}

fn exchange(run: &mut Run, calls: usize) {
    for _ in 0..calls {
        run.host.send(CALL);
        run.host.expect(answer());
    }
}

/// Waits until the log holds so many entries, and returns its length.
#[track_caller]
fn wait_for_lines(run: &Run, lines: usize) -> u64 {
    let path = only_log(&run.logs());
    until("lines in the log", || {
        let bytes = fs::read(&path).expect("it can be read");
        let count = bytes.split_inclusive(|b| *b == b'\n').count();
        (bytes.ends_with(b"\n") && count > lines).then_some(bytes.len() as u64)
    })
}

/// Checks that what crossed is in the log, line by line, but for what its gaps stand for. Says how
/// many lines those are.
#[track_caller]
fn check_with_gaps(log: &Log, from: Origin, wire: &[u8]) -> u64 {
    let mut lines = wire.split_inclusive(|b| *b == b'\n');
    let mut lost = 0;
    for entry in log.entries.iter().filter(|entry| entry.from == from) {
        match &entry.content {
            Content::Gap(gap) => {
                let missing: Vec<_> =
                    lines.by_ref().take(usize::try_from(gap.lines).expect("few")).collect();
                assert_eq!(missing.len() as u64, gap.lines);
                assert_eq!(missing.concat().len() as u64, gap.bytes);
                lost += gap.lines;
            }
            Content::Message(message) => {
                let line = lines.next().expect("no more is logged than crossed");
                assert_eq!(message.as_bytes(), line.strip_suffix(b"\n").unwrap_or(line));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lines.count(), 0, "lines of {from:?} are neither in the log nor in a gap");
    lost
}

/// How many lines the proxy says are missing.
#[track_caller]
fn said_lost(stderr: &str) -> u64 {
    let said = stderr.lines().last().expect("it says something");
    let count = said.split(' ').find_map(|word| word.parse().ok());
    assert!(said.contains("not recorded"), "{stderr}");
    count.unwrap_or_else(|| panic!("no number: {stderr}"))
}

#[test]
fn a_full_disk_stops_no_traffic_and_every_lost_line_is_counted() {
    for way in RECORDED {
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().answers(&vec![answer(); 240]);
        let mut run = way.start(play.command(dir.path()), &[]);
        exchange(&mut run, 20);
        // There is room for some entries, and for half of one.
        let len_bytes = wait_for_lines(&run, 40);
        limit_files(&run.host, Some(len_bytes + 3500));
        exchange(&mut run, 200);
        limit_files(&run.host, None);
        exchange(&mut run, 20);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent, "{way:?}");

        let log = read_log(&only_log(&run.logs())).expect("it is readable");
        assert!(log.problems.is_empty(), "{way:?}: {:?}", log.problems);
        assert_eq!(log.report.torn_bytes, 0);
        let lost = check_with_gaps(&log, Origin::Client, &run.host.sent)
            + check_with_gaps(&log, Origin::Server, &run.host.received);
        assert_eq!(lost, log.report.lost_lines);
        assert!((1..=400).contains(&lost), "{way:?}: {lost} lines lost");
        let newest = log.entries.last().and_then(|entry| entry.message());
        assert_eq!(newest, Some(answer().trim_end()), "{way:?}: it records again once it can");

        let stderr = run.host.stderr();
        assert_eq!(stderr.matches("cannot write the session log").count(), 1, "{stderr}");
        assert_eq!(said_lost(&stderr), lost, "{way:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 3, "{stderr}");
    }
}

#[test]
fn a_disk_that_stays_full_to_the_end_leaves_a_readable_log_and_a_count() {
    for way in RECORDED {
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().answers(&vec![answer(); 120]);
        let mut run = way.start(play.command(dir.path()), &[]);
        exchange(&mut run, 20);
        let len_bytes = wait_for_lines(&run, 40);
        limit_files(&run.host, Some(len_bytes));
        exchange(&mut run, 100);
        run.host.end();
        let log = read_log(&only_log(&run.logs())).expect("it is readable");
        assert!(log.problems.is_empty(), "{way:?}: {:?}", log.problems);
        assert_eq!(log.report.torn_bytes, 0, "{way:?}");
        // The 200 lines, and the few that gave way to the entries that say so.
        let lost = check_with_gaps(&log, Origin::Client, &run.host.sent)
            + check_with_gaps(&log, Origin::Server, &run.host.received);
        assert_eq!(lost, log.report.lost_lines, "{way:?}");
        assert!((200..=208).contains(&lost), "{way:?}: {lost} lines lost");
        assert_eq!(said_lost(&run.host.stderr()), lost, "{way:?}");
    }
}

#[test]
fn a_full_disk_and_a_full_stderr_together_stop_no_traffic() {
    for way in RECORDED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().fill_stderr(&notes.path()).answers(&vec![answer(); 100]);
        let mut command = way.command(dir.path(), play.command(dir.path()), &[]);
        let (mut host, stderr) = Host::spawn_deaf(&mut command);
        notes.wait_for("stderr is full");
        limit_files(&host, Some(0));
        for _ in 0..100 {
            host.send(CALL);
            host.expect(answer());
        }
        host.end();
        drop(stderr);
        let log = read_log(&only_log(&dir.path().join("logs"))).expect("it is readable");
        assert_eq!(log.entries.len(), 0, "{way:?}");
    }
}

#[test]
fn a_log_that_is_deleted_stops_no_traffic() {
    for way in RECORDED {
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().answers(&vec![answer(); 40]);
        let mut run = way.start(play.command(dir.path()), &["--retain-days", "1"]);
        exchange(&mut run, 10);
        fs::remove_file(only_log(&run.logs())).expect("it is there");
        exchange(&mut run, 10);
        fs::remove_dir(run.logs()).expect("it is empty");
        exchange(&mut run, 20);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent, "{way:?}");
        assert!(!run.logs().exists(), "{way:?}: what the user removed stays away");
    }
}
