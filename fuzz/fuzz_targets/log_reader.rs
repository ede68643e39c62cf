//! The reader of session logs: any bytes, in any chunks, give the same entries and the same report,
//! and the report adds up; what an episode is made of holds together.

#![no_main]

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, Read};

use hoist_fuzz::input::Input;
use hoist_trace::Episode;
use hoist_trace::log::{Content, Entry, LogError, LogReader, ReadReport};
use hoist_trace::mcp::read_session_from;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

const HEADER: &[u8] = b"{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":0}\n";

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let with_header = input.byte() % 2 == 0;
    let max_line_bytes = match input.byte() {
        small @ 0..64 => usize::from(small),
        _ => LogReader::<&[u8]>::MAX_LINE_BYTES,
    };
    let chunks = input.chunks();
    let text = [if with_header { HEADER } else { b"" }, input.rest()].concat();

    let whole = read(&text, &[usize::MAX], max_line_bytes);
    assert_eq!(whole, read(&text, &chunks, max_line_bytes), "in chunks of {chunks:?}");
    match whole {
        Ok((items, report)) => {
            check(&text, &items, report);
            check_episode(&text, max_line_bytes, report);
        }
        Err(why) => assert!(!with_header, "a good header was refused: {why}"),
    }
});

/// An entry, or where there was none: the line and what the error says.
type Item = Result<Entry, (u64, String)>;

/// Everything the reader gives, or why it does not take the file for a log.
fn read(
    text: &[u8],
    chunks: &[usize],
    max_line_bytes: usize,
) -> Result<(Vec<Item>, ReadReport), String> {
    let input = Chunked { rest: text, given: 0, chunks: chunks.iter().cycle() };
    let log = LogReader::new(input, "log").map_err(|error| error.to_string())?;
    let mut log = log.with_max_line_bytes(max_line_bytes);
    let items = (&mut log)
        .map(|item| {
            item.map_err(|error| match error {
                LogError::BadLine { line, column, ref what, .. } => {
                    assert!(column > 0 && !what.is_empty());
                    (line, error.to_string())
                }
                other => panic!("{other}"),
            })
        })
        .collect();
    assert!(log.next().is_none(), "an item after the end");
    Ok((items, log.report()))
}

fn check(text: &[u8], items: &[Item], report: ReadReport) {
    let lines: Vec<u64> =
        items.iter().map(|item| item.as_ref().map_or_else(|e| e.0, |e| e.line)).collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "{lines:?}");
    assert!(lines.first().is_none_or(|line| *line > 1), "line 1 is the header");

    let entries: Vec<&Entry> = items.iter().flatten().collect();
    let gaps = entries.iter().filter_map(|entry| match entry.content {
        Content::Gap(gap) => Some(gap),
        _ => None,
    });
    assert_eq!(report.entries, entries.len() as u64);
    assert_eq!(report.bad_lines, (items.len() - entries.len()) as u64);
    assert_eq!(report.gaps, gaps.clone().count() as u64);
    assert_eq!(
        report.lost_lines,
        gaps.clone().fold(0_u64, |sum, gap| sum.saturating_add(gap.lines))
    );
    assert_eq!(report.lost_bytes, gaps.fold(0_u64, |sum, gap| sum.saturating_add(gap.bytes)));

    let mut ended: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let rest = ended.pop().unwrap_or_default();
    assert_eq!(report.torn_bytes, rest.len() as u64);
    // A header without its line feed is all there is; else the header is one of the lines.
    assert_eq!(report.header_is_torn, ended.is_empty());
    let counted = report.entries + report.bad_lines + report.blank_lines;
    assert_eq!(counted, ended.len().saturating_sub(1) as u64);
    for entry in entries {
        check_entry(ended[entry.line as usize - 1], entry);
    }
}

/// Whatever a log holds, it is read as a session whose results belong to its calls.
fn check_episode(text: &[u8], max_line_bytes: usize, report: ReadReport) {
    let log = LogReader::new(text, "log").expect("it was read before");
    let session =
        read_session_from(log.with_max_line_bytes(max_line_bytes)).expect("no file fails");
    assert_eq!(session.report, report);
    let episode = session.episode;
    let mut calls = HashSet::new();
    for call in episode.calls() {
        assert!(calls.insert(&call.id), "two calls are {}", call.id);
        assert!(
            call.seq > 1 && call.seq <= report.entries + report.bad_lines + report.blank_lines + 1
        );
    }
    for result in episode.results() {
        assert!(calls.remove(&result.call), "no call, or two results: {result:?}");
    }
    let json = serde_json::to_string(&episode).expect("an episode can be written");
    let again: Episode = serde_json::from_str(&json).expect("and read again");
    assert_eq!(again, episode);
}

/// An entry says what any parser reads in its line.
fn check_entry(line: &[u8], entry: &Entry) {
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_slice(line).expect("it is an object");
    assert_eq!(members["t_ms"].get().parse(), Ok(entry.t_ms));
    assert_eq!(read_as::<String>(members["from"]), entry.from.as_str());
    let by = members.get("by").and_then(|by| read_as::<Option<String>>(by));
    assert_eq!(by, entry.by);
    match &entry.content {
        Content::Message(message) => {
            let value: &RawValue = serde_json::from_str(message).expect("a message is JSON");
            assert_eq!(value.get(), members["message"].get());
        }
        Content::Raw(raw) => assert_eq!(read_as::<String>(members["raw"]), *raw),
        Content::Gap(gap) => assert_eq!(read_as::<hoist_trace::log::Gap>(members["gap"]), *gap),
        other => panic!("{other:?}"),
    }
}

fn read_as<T: serde::de::DeserializeOwned>(raw: &RawValue) -> T {
    serde_json::from_str(raw.get()).expect("the entry was read")
}

/// A stream that gives its bytes in chunks of these lengths.
struct Chunked<'a, I> {
    rest: &'a [u8],
    given: usize,
    chunks: I,
}

impl<'c, I: Iterator<Item = &'c usize>> BufRead for Chunked<'_, I> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.given == 0 {
            self.given = self.rest.len().min(*self.chunks.next().expect("it cycles"));
        }
        Ok(&self.rest[..self.given])
    }

    fn consume(&mut self, amount: usize) {
        self.rest = &self.rest[amount..];
        self.given -= amount;
    }
}

impl<'c, I: Iterator<Item = &'c usize>> Read for Chunked<'_, I> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.len().min(into.len());
        into[..len].copy_from_slice(&self.rest[..len]);
        self.consume(len);
        Ok(len)
    }
}
