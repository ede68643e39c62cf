use std::time::Duration;

use super::super::testing::{Bench, answer, at, note, request};
use super::*;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":"s1","method":"roots/list"}"#;

fn with_token(id: &str, token: &str) -> String {
    format!(
        r#"{{"id":{id},"method":"tools/call","params":{{"_meta":{{"progressToken":{token}}}}}}}"#
    )
}

fn progress(token: &str) -> String {
    format!(r#"{{"method":"notifications/progress","params":{{"progressToken":{token},"n":1.0}}}}"#)
}

#[test]
fn progress_goes_to_the_request_that_gave_the_token() {
    let mut bench = Bench::legacy();
    let one = bench.post(&[&with_token("1", "0")]);
    let two = bench.post(&[&with_token("2", "\"0\"")]);
    let standing = bench.get();
    bench.server(&progress("\"0\""));
    bench.server(&progress("0"));
    bench.expect(one, &[&progress("0")]);
    bench.expect(two, &[&progress("\"0\"")]);
    // Late progress is still the host's to hear, but has no request's stream to go to.
    bench.server(&answer("1", "done"));
    bench.server(&progress("0"));
    bench.expect_last(one, &[&answer("1", "done")]);
    bench.expect(standing, &[&progress("0")]);
}

#[test]
fn the_servers_own_messages_go_to_the_newest_standing_stream() {
    let mut bench = Bench::legacy();
    let oldest = bench.post(&[&request("1", "a")]);
    let newest = bench.post(&[&request("2", "b")]);
    let body = bench.post_json(&[&request("0", "c")]);
    bench.server(&note("one"));
    assert_eq!(bench.server(REQUEST), [] as [&str; 0]);
    bench.expect(oldest, &[&note("one"), REQUEST]);
    let (first, last) = (bench.get(), bench.get());
    bench.server(&note("two"));
    bench.expect(last, &[&note("two")]);
    bench.drop(last);
    bench.server(&note("three"));
    bench.expect(first, &[&note("three")]);
    bench.drop(first);
    // The oldest request that still waits for its answer, and has a stream of events.
    bench.server(&answer("1", "done"));
    bench.server(&note("four"));
    bench.expect(newest, &[&note("four")]);
    bench.expect_last(oldest, &[&answer("1", "done")]);
    bench.server(&answer("2", "done"));
    bench.server(&note("five"));
    bench.server(REQUEST);
    bench.expect_last(newest, &[&answer("2", "done")]);
    bench.expect(body, &[]);
    // Nobody is there: it waits for whoever comes next.
    let next = bench.post(&[&request("3", "c")]);
    bench.expect(next, &[&note("five"), REQUEST]);
}

#[test]
fn a_request_that_finds_no_stream_is_refused_in_time() {
    let mut bench = Bench::legacy();
    assert_eq!(bench.server(REQUEST), [] as [&str; 0]);
    bench.wait(Duration::from_secs(29));
    assert!(bench.router.expire(bench.now).is_empty());
    bench.wait(Duration::from_secs(1));
    let told = bench.router.expire(bench.now);
    assert_eq!(told.len(), 1);
    let told = String::from_utf8(told[0].body().to_vec()).unwrap();
    assert_eq!(at(&told, &["id"]).as_deref(), Some("\"s1\""));
    assert!(told.contains(NO_STREAM), "{told}");
    let place = bench.get();
    bench.expect(place, &[]);
}

#[test]
fn requests_past_the_bound_are_refused_at_once() {
    let mut bench = Bench::legacy();
    for n in 0..1_000 {
        assert_eq!(bench.server(&request(&n.to_string(), "ping")), [] as [&str; 0]);
    }
    let told = bench.server(REQUEST);
    assert_eq!(at(&told[0], &["id"]).as_deref(), Some("\"s1\""));
    // In a batch as well.
    let told = bench.server(&format!("[{},{REQUEST}]", note("x")));
    assert_eq!(told.len(), 1);
    assert_eq!(at(&told[0], &["id"]).as_deref(), Some("\"s1\""));
}

#[test]
fn a_modern_server_that_asks_is_told_that_nobody_hears() {
    let mut bench = Bench::modern();
    let (place, _) = bench.ask(&request("1", "a"));
    for asked in [REQUEST.to_owned(), format!("[{REQUEST}]")] {
        let told = bench.server(&asked);
        assert_eq!(told.len(), 1, "{asked}");
        assert_eq!(at(&told[0], &["id"]).as_deref(), Some("\"s1\""));
        assert_eq!(at(&told[0], &["error", "code"]).as_deref(), Some("-32601"));
    }
    bench.expect(place, &[]);
}

#[test]
fn a_batch_of_the_servers_is_taken_apart() {
    let mut bench = Bench::legacy();
    let one = bench.post(&[&request("1", "a")]);
    let two = bench.post(&[&request("2", "b")]);
    let line = format!(" [ {}, {} ,{}]", answer("2", "b"), note("n"), answer("1", "a"));
    bench.server(&line);
    bench.expect_last(one, &[&note("n"), &answer("1", "a")]);
    bench.expect_last(two, &[&answer("2", "b")]);
}

#[test]
fn arrays_in_arrays_cost_no_stack() {
    let mut bench = Bench::legacy();
    let place = bench.post(&[&request("1", "a")]);
    let deep = 1_000_000;
    let line = format!("[{}{}{}]", "[".repeat(deep), answer("1", "deep"), "]".repeat(deep));
    bench.server(&line);
    bench.server(&format!("[[],{}]", answer("1", "flat")));
    bench.expect_last(place, &[&answer("1", "flat")]);
}

#[test]
fn what_is_no_message_goes_nowhere_but_for_a_broken_answer() {
    let mut bench = Bench::legacy();
    let one = bench.post(&[&request("1", "a")]);
    let two = bench.post(&[&request("2", "b")]);
    for noise in ["", "ready", "{", "[", "[]", "{}", "7", "\u{feff}", r#"{"id":1}"#] {
        bench.server(noise);
    }
    // What parsers may read in two ways is the host's to read.
    let twice = r#"{"id":1,"result":{},"result":{"x":2}}"#;
    bench.server(&format!("\u{feff}{twice}"));
    bench.expect_last(one, &[twice]);
    bench.server(r#"{"id":2,"result":{"x":"#);
    let (taken, has_ended) = bench.take(two);
    assert!(has_ended);
    assert_eq!(at(&taken[0], &["id"]).as_deref(), Some("2"));
    assert!(taken[0].contains("no JSON"), "{taken:?}");
}

#[test]
fn modern_notifications_go_to_whom_they_concern() {
    let mut bench = Bench::modern();
    let listen = request("1", "subscriptions/listen");
    let (one, _) = bench.ask(&listen);
    let (two, _) = bench.ask(&request("\"1\"", "subscriptions/listen"));
    let (call, _) = bench.ask(&with_token("2", "5"));
    let changed = |id: &str| {
        format!(
            r#"{{"method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    bench.server(&changed("\"1\""));
    bench.server(&changed("1"));
    bench.server(&changed("9"));
    bench.server(&note("notifications/tools/list_changed"));
    bench.server(&progress("5"));
    bench.server(&progress("6"));
    bench.expect(one, &[&changed("1")]);
    bench.expect(two, &[&changed("\"1\"")]);
    bench.expect(call, &[&progress("5")]);
    bench.server(&answer("2", "done"));
    bench.server(&progress("5"));
    bench.expect_last(call, &[&answer("2", "done")]);
    // The server ends the one, and answers the other.
    bench.server(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#);
    bench.expect_last(one, &[]);
    bench.server(&answer("\"1\"", "over"));
    bench.expect_last(two, &[&answer("\"1\"", "over")]);
}

#[test]
fn a_stream_that_the_server_ends_is_over_whatever_else_it_says() {
    let mut bench = Bench::modern();
    let (place, _) = bench.ask(&request("1", "subscriptions/listen"));
    bench.server(
        r#"{"method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    );
    bench.expect_last(place, &[]);
}

#[test]
fn a_modern_host_that_takes_one_body_gets_nothing_but_its_answer() {
    let mut bench = Bench::modern();
    let asked = r#"{"id":1,"method":"x","params":{"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"info"}}}"#;
    let (place, _) = bench.ask_as(asked, Carries::AnswersOnly);
    bench.server(&progress("1"));
    bench.server(&note("notifications/message"));
    bench.server(
        r#"{"method":"n","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#,
    );
    bench.server(&answer("1", "done"));
    bench.expect_last(place, &[&answer("1", "done")]);
}

#[test]
fn log_messages_go_to_the_one_request_that_asked_for_them() {
    let mut bench = Bench::modern();
    let asked = |id: &str| {
        format!(
            r#"{{"id":{id},"method":"tools/call","params":{{"_meta":{{"io.modelcontextprotocol/logLevel":"info"}}}}}}"#
        )
    };
    let log = note("notifications/message");
    let (silent, _) = bench.ask(&request("1", "tools/call"));
    bench.server(&log);
    let (one, _) = bench.ask(&asked("2"));
    bench.expect(one, &[]);
    bench.server(&log);
    bench.expect(one, &[&log]);
    // Where two asked, it may be about the other's.
    let (two, _) = bench.ask(&asked("3"));
    bench.server(&log);
    bench.expect(one, &[]);
    bench.expect(two, &[]);
    bench.server(&answer("2", "done"));
    bench.server(&log);
    bench.expect(two, &[&log]);
    bench.expect(silent, &[]);
}

#[test]
fn a_late_answer_is_not_given_to_whoever_uses_the_id_next() {
    let mut bench = Bench::modern();
    let (gone, _) = bench.ask(&with_token("1", "1"));
    assert_eq!(bench.drop(gone), ["1"]);
    let (next, line) = bench.ask(&with_token("1", "1"));
    let (id, token) =
        (at(&line, &["id"]).unwrap(), at(&line, &["params", "_meta", "progressToken"]));
    assert_ne!(id, "1");
    bench.server(&progress("1"));
    bench.server(&answer("1", "late"));
    bench.expect(next, &[]);
    bench.server(&progress(&token.unwrap()));
    bench.server(&answer(&id, "own"));
    bench.expect_last(next, &[&progress("1"), &answer("1", "own")]);
    // Once the late answer has come the id is free.
    let (_, line) = bench.ask(&with_token("1", "1"));
    assert_eq!(line, with_token("1", "1"));
}

#[test]
fn ids_of_requests_that_nobody_waits_for_are_not_kept_for_ever() {
    let mut bench = Bench::modern();
    for n in 0..5_000 {
        let (place, _) = bench.ask(&with_token(&n.to_string(), &n.to_string()));
        bench.drop(place);
    }
    let (_, line) = bench.ask(&with_token("1", "1"));
    assert_eq!(line, with_token("1", "1"), "one of long ago");
    let (_, line) = bench.ask(&with_token("4999", "4999"));
    assert_ne!(line, with_token("4999", "4999"), "one of just now");
}

#[test]
fn the_revision_is_read_from_the_answer_whatever_comes_before() {
    let mut bench = Bench::legacy();
    let place = bench.post(&[&request("0", "initialize")]);
    bench.server(&note("notifications/message"));
    let agreed = r#"{"id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
    bench.server(agreed);
    bench.expect_last(place, &[&note("notifications/message"), agreed]);
    assert_eq!(bench.router.agreed.as_deref(), Some("2025-06-18"));
    // No other answer has a say in it.
    bench.post(&[&request("1", "ping")]);
    bench.server(r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#);
    assert_eq!(bench.router.agreed.as_deref(), Some("2025-06-18"));
}
