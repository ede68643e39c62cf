//! Pseudonymised copies: whatever a log holds, the copy is read as it is, and no value gets out.

#![no_main]

use std::collections::BTreeSet;

use hoist_fuzz::input::Input;
use hoist_trace::log::{Content, Entry, LogReader};
use hoist_trace::redact::{Clear, Key, Redactor, Rule, Survey, line_of};
use libfuzzer_sys::fuzz_target;

#[path = "../../hoist-trace/tests/redact/leak.rs"]
mod leak;

const HEADER: &[u8] = b"{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":0}\n";

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.byte();
    let text = if mode % 3 == 0 {
        // One message, which is much likelier to be read.
        let message =
            [b"{\"t_ms\":1,\"from\":\"server\",\"message\":", input.rest(), b"}\n"].concat();
        [HEADER, &message[..]].concat()
    } else {
        [HEADER, input.rest()].concat()
    };
    let log = LogReader::new(&text[..], "log").expect("the header is good");
    let entries: Vec<Entry> = log.filter_map(Result::ok).collect();

    let mut survey = Survey::new();
    survey.session();
    entries.iter().for_each(|entry| survey.entry(entry));
    let clear = survey.finish();
    // One session shares nothing with others.
    let of_many = |rule| matches!(rule, Rule::Constant | Rule::SharedKey);
    assert!(!clear.sources().iter().any(|source| of_many(source.rule)));

    let is_clear = |word: &str| clear.rule(word).is_some();
    let values: BTreeSet<String> = entries
        .iter()
        .flat_map(contents)
        .flat_map(|text| leak::values(text, &is_clear))
        .filter(|value| !is_revision(value))
        .collect();
    let copies: Vec<String> = (1..=3).map(|byte| copy(&entries, &clear, byte)).collect();
    let leaks = leak::leaks(&values, &copies, &is_clear);
    assert!(leaks.is_empty(), "{leaks:?} in {}", copies[0]);
});

/// What is in a copy, an entry in a line; it is checked that it is read back as it was.
fn copy(entries: &[Entry], clear: &Clear, byte: u8) -> String {
    let key = Key::new(&[byte; Key::MIN_BYTES]).expect("it is long enough");
    let mut redactor = Redactor::new(&key, clear.clone());
    let mut text = String::new();
    for entry in entries {
        let copied = redactor.entry(entry);
        let line = [HEADER, line_of(&copied).as_bytes()].concat();
        let mut log = LogReader::new(&line[..], "copy").expect("the header is good");
        let again = log.next().expect("there is an entry").expect("it is one");
        assert_eq!(
            (&again.content, again.t_ms, again.from),
            (&copied.content, entry.t_ms, entry.from)
        );
        text.push_str(&contents(&copied).join(" ").replace('\n', " "));
        text.push('\n');
    }
    text
}

fn contents(entry: &Entry) -> Vec<&str> {
    let content = match &entry.content {
        Content::Message(text) | Content::Raw(text) => Some(text.as_str()),
        _ => None,
    };
    entry.by.as_deref().into_iter().chain(content).collect()
}

/// A revision of MCP, which stays where a version stands.
fn is_revision(value: &str) -> bool {
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"].contains(&value)
}
