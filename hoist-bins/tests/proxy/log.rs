//! What a session's log must hold.

use std::fs;
use std::path::{Path, PathBuf};

use hoist_trace::log::{Content, Origin};
use hoist_trace::mcp::{Log, read_log};

/// The only log of a directory.
#[track_caller]
pub(crate) fn only_log(dir: &Path) -> PathBuf {
    let mut logs: Vec<PathBuf> = fs::read_dir(dir)
        .expect("the directory is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs.remove(0)
}

/// Reads a log that must be whole: nothing skipped, lost or torn.
#[track_caller]
pub(crate) fn whole_log(path: &Path) -> Log {
    let log = read_log(path).expect("the log can be read");
    assert!(log.problems.is_empty(), "{:?}", log.problems);
    assert_eq!(log.report.torn_bytes, 0);
    log
}

/// Checks that the log holds each line that crossed, exact and in order.
///
/// `wire` is what crossed on one side, in the bytes that crossed.
#[track_caller]
pub(crate) fn holds_every_line(log: &Log, from: Origin, wire: &[u8]) {
    let lines: Vec<&[u8]> = wire.split_inclusive(|b| *b == b'\n').map(without_end).collect();
    let entries: Vec<&Content> =
        log.entries.iter().filter(|e| e.from == from).map(|e| &e.content).collect();
    for (at, (line, content)) in lines.iter().zip(&entries).enumerate() {
        match content {
            Content::Message(message) => {
                assert_eq!(message.as_bytes(), *line, "line {at} of {from:?}");
            }
            Content::Raw(raw) => assert_eq!(*raw, String::from_utf8_lossy(line), "line {at}"),
            other => panic!("line {at} of {from:?} is {other:?}"),
        }
    }
    assert_eq!(lines.len(), entries.len(), "lines of {from:?}");
}

/// A line without its end, of which a carriage return is part only before a line feed.
fn without_end(line: &[u8]) -> &[u8] {
    let Some(body) = line.strip_suffix(b"\n") else { return line };
    body.strip_suffix(b"\r").unwrap_or(body)
}
