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
    if let Some(difference) = what_is_missing(log, from, wire) {
        panic!("{difference}");
    }
}

/// How a log differs from what crossed on one side, if it does.
pub(crate) fn what_is_missing(log: &Log, from: Origin, wire: &[u8]) -> Option<String> {
    let lines: Vec<&[u8]> = wire.split_inclusive(|b| *b == b'\n').map(without_end).collect();
    let entries: Vec<&Content> =
        log.entries.iter().filter(|e| e.from == from).map(|e| &e.content).collect();
    for (at, (line, content)) in lines.iter().zip(&entries).enumerate() {
        let is_same = match content {
            Content::Message(message) => message.as_bytes() == *line,
            Content::Raw(raw) => *raw == String::from_utf8_lossy(line),
            _ => false,
        };
        if !is_same {
            let line = String::from_utf8_lossy(line);
            return Some(format!("line {at} of {from:?} is {content:?}, but {line:?} crossed"));
        }
    }
    let (crossed, logged) = (lines.len(), entries.len());
    (crossed != logged).then(|| format!("{crossed} lines of {from:?} crossed, {logged} are logged"))
}

/// A line without its end, of which a carriage return is part only before a line feed.
fn without_end(line: &[u8]) -> &[u8] {
    let Some(body) = line.strip_suffix(b"\n") else { return line };
    body.strip_suffix(b"\r").unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: &[u8] = b"{\"id\":1}\r\n\xff\n{\"id\":2}\r";

    /// A log of these entries of the host's.
    fn log(entries: &[&str]) -> Log {
        let dir = tempfile::TempDir::new().expect("a temporary directory");
        let path = dir.path().join("log.jsonl");
        let header = r#"{"hoist_mcp_log":2,"session":"s","started_unix_ms":1}"#;
        let entry = |entry: &&str| format!("{{\"t_ms\":1,\"from\":\"client\",{entry}}}\n");
        let entries: Vec<String> = entries.iter().map(entry).collect();
        let text = format!("{header}\n{}", entries.concat());
        fs::write(&path, text).expect("it can be written");
        whole_log(&path)
    }

    const ONE: &str = "\"message\":{\"id\":1}";
    const NOISE: &str = "\"raw\":\"\u{fffd}\"";
    const TWO: &str = "\"message\":{\"id\":2}\r";

    #[test]
    fn a_log_that_holds_every_line_is_found_to() {
        holds_every_line(&log(&[ONE, NOISE, TWO]), Origin::Client, WIRE);
    }

    #[test]
    fn a_log_is_found_out_that_lacks_a_line_or_changed_one() {
        for entries in [
            &[ONE, NOISE][..],
            &[ONE, TWO],
            &[NOISE, ONE, TWO],
            &[ONE, NOISE, TWO, TWO],
            &[ONE, NOISE, "\"message\":{\"id\":2.0}\r"],
            &[ONE, NOISE, "\"message\":{\"id\":2}"],
            &[ONE, NOISE, "\"gap\":{\"lines\":1,\"bytes\":9}"],
        ] {
            let log = log(entries);
            let check = move || holds_every_line(&log, Origin::Client, WIRE);
            let checked = std::thread::spawn(check).join();
            assert!(checked.is_err(), "{entries:?}");
        }
    }
}
