use std::time::Duration;

use super::super::testing::{Bench, answer, at, note, request};
use super::*;

/// A message of about so many bytes, of the server's own.
fn long_note(len: usize) -> String {
    format!(r#"{{"method":"n","params":"{}"}}"#, "x".repeat(len))
}

#[test]
fn an_answer_goes_to_its_own_request_by_id_and_type() {
    let mut bench = Bench::legacy();
    let number = bench.post(&[&request("1", "a")]);
    let text = bench.post(&[&request("\"1\"", "b")]);
    let escaped = bench.post(&[&request("\"\\u0061\"", "c")]);
    bench.server(&answer("\"1\"", "text"));
    bench.server(&answer("\"a\"", "escaped"));
    bench.expect(number, &[]);
    bench.expect_last(text, &[&answer("\"1\"", "text")]);
    bench.expect_last(escaped, &[&answer("\"a\"", "escaped")]);
    bench.server(&answer("1.0", "number"));
    bench.expect_last(number, &[&answer("1.0", "number")]);
    // An answer that nobody waits for is on no stream, not even the one that stands by itself.
    let standing = bench.get();
    bench.server(&answer("1", "again"));
    bench.server(&answer("7", "nobody's"));
    bench.expect(standing, &[]);
}

#[test]
fn repeated_ids_are_answered_in_the_order_they_were_asked_in() {
    let mut bench = Bench::legacy();
    let first = bench.post(&[&request("1", "a")]);
    let second = bench.post(&[&request("1", "b")]);
    bench.server(&answer("1", "one"));
    bench.expect_last(first, &[&answer("1", "one")]);
    bench.expect(second, &[]);
    bench.server(&answer("1", "two"));
    bench.expect_last(second, &[&answer("1", "two")]);
}

#[test]
fn a_batch_ends_with_its_last_answer() {
    let mut bench = Bench::legacy();
    let place = bench.post(&[&request("1", "a"), &request("2", "b")]);
    bench.server(&answer("2", "b"));
    bench.expect(place, &[&answer("2", "b")]);
    bench.server(&answer("1", "a"));
    bench.expect_last(place, &[&answer("1", "a")]);

    // The same id twice is two requests, and two answers.
    let place = bench.post(&[&request("3", "a"), &request("3", "b")]);
    bench.server(&answer("3", "a"));
    bench.expect(place, &[&answer("3", "a")]);
    bench.server(&answer("3", "b"));
    bench.expect_last(place, &[&answer("3", "b")]);
    assert!(bench.router.by_id.is_empty());
}

#[test]
fn a_detached_legacy_stream_goes_on() {
    let mut bench = Bench::legacy();
    let place = bench.primed(&[&request("1", "a")]);
    assert_eq!(bench.take_numbers(place), [1]);
    assert_eq!(bench.drop(place), [] as [&str; 0]);
    bench.server(&answer("1", "late"));
    // It was answered while the host was away, and is kept for it.
    assert!(bench.router.streams.is_empty());
    let place = bench.resume(1, 1).unwrap();
    bench.expect_last(place, &[&answer("1", "late")]);
    // Once it is seen nothing is left.
    assert_eq!(bench.resume(1, 2), None);
}

#[test]
fn an_unfinished_stream_is_resumed_with_nothing_twice() {
    let mut bench = Bench::legacy();
    let asked = r#"{"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}"#;
    let progress = |n: u64| {
        format!(
            r#"{{"method":"notifications/progress","params":{{"progressToken":1,"progress":{n}}}}}"#
        )
    };
    let place = bench.primed(&[asked]);
    for n in 0..4 {
        bench.server(&progress(n));
    }
    // The host saw the first event only, though two more had left.
    for _ in 0..3 {
        assert!(bench.next(place).is_ready());
    }
    // It comes back before the first connection is known to be gone.
    let resumed = bench.resume(1, 1).unwrap();
    bench.expect_last(place, &[]);
    assert_eq!(bench.drop(place), [] as [&str; 0]);
    let expected: Vec<String> = (0..4).map(progress).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    bench.expect(resumed, &expected);
    bench.server(&progress(4));
    bench.drop(resumed);
    let resumed = bench.resume(1, 5).unwrap();
    bench.expect(resumed, &[&progress(4)]);
    bench.server(&answer("1", "done"));
    bench.expect_last(resumed, &[&answer("1", "done")]);
    assert_eq!(bench.router.queued_bytes, 0);
}

#[test]
fn only_what_a_stream_has_can_be_resumed() {
    let mut bench = Bench::legacy();
    let json = bench.post_json(&[&request("1", "a")]);
    let other = bench.primed(&[&request("2", "b")]);
    // A body is no stream of events, and these events were never sent.
    for (stream, number) in [(1, 0), (2, 2), (2, u64::MAX), (3, 0), (0, 0)] {
        assert_eq!(bench.resume(stream, number), None, "{stream}-{number}");
    }
    bench.server(&answer("1", "body"));
    bench.expect_last(json, &[&answer("1", "body")]);
    bench.server(&answer("2", "events"));
    bench.expect_last(other, &["", &answer("2", "events")]);
}

#[test]
fn a_standing_stream_is_resumed_and_gets_what_came_meanwhile() {
    let mut bench = Bench::legacy();
    let place = bench.router.open_standing(true, bench.now);
    bench.server(&note("seen"));
    bench.server(&note("sent"));
    assert_eq!(bench.take_numbers(place), [1, 2, 3]);
    bench.server(&note("unsent"));
    bench.drop(place);
    bench.server(&note("meanwhile"));
    let resumed = bench.resume(1, 2).unwrap();
    bench.expect(resumed, &[&note("sent"), &note("unsent"), &note("meanwhile")]);
    bench.server(&note("more"));
    bench.expect(resumed, &[&note("more")]);
}

#[test]
fn what_a_standing_stream_did_not_send_goes_to_the_next_one() {
    let mut bench = Bench::legacy();
    let old = bench.get();
    bench.server(&note("unsent"));
    bench.drop(old);
    let new = bench.get();
    bench.expect(new, &[&note("unsent")]);
    // The old one must not carry it again.
    if let Some(old) = bench.resume(1, 0) {
        bench.expect(old, &[]);
    }
}

#[test]
fn of_two_standing_streams_the_other_takes_over() {
    let mut bench = Bench::legacy();
    let (old, new) = (bench.get(), bench.get());
    bench.server(&note("first"));
    bench.server(&note("second"));
    bench.expect(old, &[]);
    assert!(bench.next(new).is_ready());
    bench.drop(new);
    bench.expect(old, &[&note("second")]);
    bench.server(&note("third"));
    bench.expect(old, &[&note("third")]);
}

#[test]
fn a_modern_stream_that_closes_cancels_its_request() {
    let mut bench = Bench::modern();
    let (place, _) = bench.ask(&request("1", "tools/call"));
    assert_eq!(bench.drop(place), ["1"]);
    assert!(bench.router.streams.is_empty() && bench.router.by_id.is_empty());
    // One that was answered is not cancelled.
    let (place, _) = bench.ask(&request("2", "tools/call"));
    bench.server(&answer("2", "done"));
    assert_eq!(bench.drop(place), [] as [&str; 0]);
    assert_eq!(bench.router.queued_bytes, 0);
}

#[test]
fn modern_events_have_no_ids_and_legacy_ones_count_up() {
    let mut bench = Bench::modern();
    let (place, _) = bench.ask(&request("1", "tools/call"));
    bench.server(&answer("1", "done"));
    let Poll::Ready(Some(event)) = bench.next(place) else { panic!("an event") };
    assert_eq!((event.id, event.role), (None, Role::Answer { error: None }));

    let mut bench = Bench::legacy();
    let (one, other) = (bench.primed(&[&request("1", "a")]), bench.get());
    bench.server(&note("n"));
    bench.server(r#"{"id":1,"error":{"code":-32601,"message":""}}"#);
    assert_eq!(bench.take_numbers(other), [2]);
    let Poll::Ready(Some(first)) = bench.next(one) else { panic!("an event") };
    assert!(first.message.is_empty());
    assert_eq!(first.id, Some(EventId { stream: 1, number: 1 }));
    let Poll::Ready(Some(last)) = bench.next(one) else { panic!("an event") };
    assert_eq!(last.role, Role::Answer { error: Some(-32601) });
}

#[test]
fn the_end_of_a_session_answers_everybody() {
    for era in [Era::Legacy, Era::Modern] {
        let mut bench = Bench::new(era);
        let (events, _) = bench.ask(&request("\"\\u0061\"", "a"));
        let (body, _) = bench.ask_as(&request("2", "b"), Carries::AnswersOnly);
        let standing = bench.get();
        bench.router.end("it is over", bench.now);
        for (place, id) in [(events, "\"\\u0061\""), (body, "2")] {
            let (taken, has_ended) = bench.take(place);
            assert!(has_ended);
            assert_eq!(taken.len(), 1, "{taken:?}");
            // Under the id that the host gave, as it spelt it.
            assert_eq!(at(&taken[0], &["id"]).as_deref(), Some(id));
            assert_eq!(
                at(&taken[0], &["error", "message"]).as_deref(),
                Some("\"hoist: it is over\"")
            );
        }
        bench.expect_last(standing, &[]);
        // Whoever comes too late is told as well.
        let (late, _) = bench.ask(&request("3", "c"));
        let (taken, has_ended) = bench.take(late);
        assert_eq!((taken.len(), has_ended), (1, true));
        assert!(bench.router.streams.is_empty() && bench.router.by_id.is_empty());
    }
}

#[test]
fn the_end_of_a_session_answers_each_of_a_batch() {
    let mut bench = Bench::legacy();
    let place = bench.post(&[&request("1", "a"), &request("2", "b"), &request("2", "c")]);
    bench.server(&answer("1", "done"));
    bench.router.end("it is over", bench.now);
    let (taken, has_ended) = bench.take(place);
    let ids: Vec<_> = taken.iter().filter_map(|text| at(text, &["id"])).collect();
    assert_eq!((ids, has_ended), (vec!["1".into(), "2".into(), "2".into()], true));
}

#[test]
fn whoever_reads_nothing_while_too_much_waits_is_cut_off() {
    let mut bench = Bench::legacy();
    let slow = bench.post(&[&request("1", "a")]);
    let stuck = bench.get();
    let chunk = long_note(16 << 20);
    for _ in 0..4 {
        bench.server(&chunk);
    }
    assert!(bench.router.is_full());
    // One that takes something now and then is not cut off.
    bench.wait(STALLED_AFTER * 59 / 60);
    assert_eq!(bench.router.cut_stalled(bench.now), []);
    assert!(bench.next(stuck).is_ready());
    bench.server(&chunk);
    bench.wait(Duration::from_secs(2));
    assert_eq!(bench.router.cut_stalled(bench.now), []);
    bench.wait(STALLED_AFTER);
    assert_eq!(bench.router.cut_stalled(bench.now), []);
    assert!(!bench.router.is_full());
    bench.expect_last(stuck, &[]);
    // What it did not take goes where there is room for it, and no further.
    assert!(bench.router.waiting.bytes() <= 16 << 20);
    bench.server(&answer("1", "done"));
    let (taken, has_ended) = bench.take(slow);
    assert_eq!((taken.last(), has_ended), (Some(&answer("1", "done")), true));
}

#[test]
fn a_modern_host_that_is_cut_off_cancels_its_request() {
    let mut bench = Bench::modern();
    let (place, _) = bench.ask(r#"{"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}"#);
    let progress = format!(
        r#"{{"method":"notifications/progress","params":{{"progressToken":1,"m":"{}"}}}}"#,
        "x".repeat(33 << 20)
    );
    bench.server(&progress);
    bench.wait(STALLED_AFTER);
    assert_eq!(bench.router.cut_stalled(bench.now), [], "half of it is not too much");
    bench.server(&progress);
    let cancelled = bench.router.cut_stalled(bench.now);
    assert_eq!(cancelled.iter().map(RequestId::raw).collect::<Vec<_>>(), ["1"]);
    assert_eq!(bench.router.queued_bytes, 0);
    bench.expect_last(place, &[]);
}

#[test]
fn a_thousand_messages_wait_for_a_host_that_was_there_and_left() {
    let mut bench = Bench::legacy();
    let place = bench.get();
    for n in 0..1_500 {
        bench.server(&note(&format!("n{n}")));
    }
    bench.drop(place);
    let place = bench.get();
    let (taken, _) = bench.take(place);
    assert_eq!((taken.len(), &taken[0]), (1_000, &note("n500")));
}
