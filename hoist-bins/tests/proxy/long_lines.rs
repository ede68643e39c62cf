//! Lines too long for a small buffer, and too long for memory.

use hoist_trace::log::{Content, Gap, Origin};
use tempfile::TempDir;

use crate::log::holds_every_line;
use crate::play::{Play, got};
use crate::ways::{Case, Way};

const MIB: usize = 1 << 20;

/// A call with an argument of so many bytes.
fn long_call(id: u32, fill: &str, len_bytes: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"arguments":"{}"}}}}"#,
        fill.repeat(len_bytes / fill.len())
    )
}

/// A server that answers calls 1, 2 … with a text of so many bytes each, and the texts.
fn long_answers(lengths: &[usize]) -> (Play, Vec<String>) {
    let mut play = Play::new();
    let mut texts = Vec::new();
    for (id, len_bytes) in (1..).zip(lengths) {
        let before = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""#);
        play = play.read(1).flood(&before, 'A', *len_bytes, "\"}}\n");
        texts.push(format!("{before}{}\"}}}}\n", "A".repeat(*len_bytes)));
    }
    (play, texts)
}

#[test]
fn a_line_of_two_mebibytes_is_nothing_special() {
    let lengths = [2 * MIB, 3, 2 * MIB, 70_000];
    let (play, answers) = long_answers(&lengths);
    Case::new(&["tools/call"; 4], play).same_in_every_way(|host| {
        for (id, answer) in (1..).zip(&answers) {
            host.send(&long_call(id, "é", 2 * MIB));
            host.expect(answer);
        }
    });
}

// One long line in a session: what waits for the disk is bounded, and two may not both fit.

#[test]
fn a_request_just_under_the_message_limit_is_recorded_and_answered() {
    let (play, answers) = long_answers(&[3]);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.send(&long_call(1, "b", 60 * MIB));
        host.expect(&answers[0]);
    });
}

#[test]
fn an_answer_just_under_the_message_limit_is_recorded_and_passed_on() {
    let (play, answers) = long_answers(&[60 * MIB]);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.send(&long_call(1, "b", 3));
        host.expect(&answers[0]);
    });
}

#[test]
fn a_line_past_the_message_limit_crosses_and_leaves_a_gap_in_the_log() {
    const LEN: usize = 100_000_000;
    for way in [Way::Direct, Way::Passive, Way::Recorded] {
        let dir = TempDir::new().expect("a temporary directory");
        let (play, answers) = long_answers(&[LEN, 3]);
        let mut run = way.start(play.command(dir.path()), &[]);
        run.host.send(&long_call(1, "b", LEN));
        run.host.expect(&answers[0]);
        let long_bytes = [run.host.sent.len(), run.host.received.len()];
        run.host.send(&long_call(2, "b", 3));
        run.host.expect(&answers[1]);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent, "{way:?}: the server got something else");
        if way == Way::Recorded {
            let log = run.log();
            assert_eq!(log.entries.len(), 4);
            for (at, origin) in [Origin::Client, Origin::Server].into_iter().enumerate() {
                let entries: Vec<_> = log.entries.iter().filter(|e| e.from == origin).collect();
                let Content::Gap(Gap { lines, bytes, .. }) = entries[0].content else {
                    panic!("{:?}", entries[0]);
                };
                assert_eq!((lines, bytes), (1, long_bytes[at] as u64), "{origin:?}");
                assert!(entries[1].message().is_some(), "{:?}", entries[1]);
            }
        }
    }
}

#[test]
fn a_request_past_the_message_limit_of_an_acting_proxy_is_refused_by_its_id() {
    for way in [Way::Acting, Way::ActingRecorded] {
        let dir = TempDir::new().expect("a temporary directory");
        let (play, answers) = long_answers(&[3]);
        let mut run = way.start(play.command(dir.path()), &["--max-message-bytes", "1MiB"]);
        run.host.send(&long_call(7, "b", 100_000_000));
        let refusal = run.host.answer("7");
        assert!(refusal.contains(r#""error":{"code":-"#), "{refusal}");
        assert!(refusal.contains("1048576"), "it does not say the limit: {refusal}");
        let before = run.host.sent.len();
        run.host.send(&long_call(1, "b", 3));
        run.host.expect(&answers[0]);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent[before..], "the server was sent more");
        assert_eq!(run.acted(), ["tools/call"]);
    }
}

#[test]
fn an_answer_past_the_message_limit_of_an_acting_proxy_becomes_an_error() {
    for way in [Way::Acting, Way::ActingRecorded] {
        let dir = TempDir::new().expect("a temporary directory");
        let (play, answers) = long_answers(&[100_000_000, 3]);
        let mut run = way.start(play.command(dir.path()), &["--max-message-bytes", "1MiB"]);
        run.host.send(&long_call(1, "b", 3));
        let refusal = run.host.answer("1");
        assert!(refusal.contains(r#""error":{"code":-"#), "{refusal}");
        run.host.send(&long_call(2, "b", 3));
        run.host.expect(&answers[1]);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent, "the server got something else");
        assert_eq!(run.acted(), ["tools/call"; 2]);
        if way.records() {
            let log = run.log();
            holds_every_line(&log, Origin::Client, &run.host.sent);
            let lost = log.entries.iter().filter(|e| matches!(e.content, Content::Gap(_))).count();
            assert_eq!(lost, 1, "the long answer is a gap");
        }
    }
}
