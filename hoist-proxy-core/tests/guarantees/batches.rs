//! *Batches*: with a layer that acts, every element crosses on its own; passively, the array.

use hoist_proxy_core::testkit::{self, Session};
use hoist_proxy_core::{Acts, Direction, Response};

use crate::util::{
    Act, Gate, Log, act, amends, answer, call, cancel, cross, handshake, holds_answer, note,
    passes, passes_all, ping, raw, refuses, session,
};

fn array(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}

fn amended(id: usize) -> String {
    answer(id).replace("[]", r#"[{"type":"text","text":"x"}]"#)
}

/// Refuses the tool `danger`, as a guard does.
fn guards() -> Act {
    act("guards", |request, next| {
        Box::pin(async move {
            if request.name().as_deref() == Some("danger") {
                return Ok(Response::error(-32000, "refused"));
            }
            next.run(request).await
        })
    })
    .strict()
}

fn danger(id: usize) -> String {
    call(id).replace(r#""t""#, r#""danger""#)
}

fn refused(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"refused"}}}}"#)
}

#[tokio::test(start_paused = true)]
async fn passively_an_array_passes_untouched() {
    let log = Log::default();
    for layers in [Vec::new(), vec![log.layer()]] {
        let mut session = testkit::session(layers);
        for line in [
            array(&[danger(1), note(1), ping(2)]),
            " [1, 2 ,[]] ".into(),
            "[]".into(),
            "\u{feff}[1.0]".into(),
            "[".into(),
        ] {
            cross(&mut session.host, &mut session.server, &line).await;
            cross(&mut session.server, &mut session.host, &line).await;
        }
        session.end().await;
    }
    assert_eq!(log.entries().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn elements_cross_alone_and_their_answers_go_back_together_in_order() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    session.host.send(&array(&[call(1), note(1), ping(2), call(3)])).await;
    for line in [call(1), note(1), ping(2), call(3)] {
        session.server.expect(&line).await;
    }
    for id in [3, 2] {
        session.server.send(&answer(id)).await;
    }
    session.server.send(&note(2)).await;
    session.host.expect(&note(2)).await;
    session.host.expect_nothing().await;
    session.server.send(&answer(1)).await;
    session.host.expect(&array(&[amended(1), answer(2), amended(3)])).await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_carries_no_call_past_a_guard() {
    for (before, after) in [("", ""), (" \t", " "), ("\u{feff}", ""), (" \u{feff} ", "\r")] {
        let layer = guards();
        let mut session = session(&[&layer]);
        let batch = format!("{before}{}{after}", array(&[danger(1), call(2), danger(3)]));
        session.host.send(&batch).await;
        session.server.expect(&call(2)).await;
        session.server.send(&answer(2)).await;
        session.host.expect(&array(&[refused(1), answer(2), refused(3)])).await;
        session.server.expect_nothing().await;
        assert_eq!(layer.ran.count(), 3);
        session.end().await;
    }
    // Without the guard the same calls reach the server.
    let layer = passes();
    let mut open = session(&[&layer]);
    open.host.send(&array(&[danger(1)])).await;
    open.server.expect(&danger(1)).await;
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_refusals_alone_is_answered() {
    let layer = refuses();
    let mut session = session(&[&layer]);
    session.host.send(&array(&[call(1), call(2)])).await;
    session.host.expect(&array(&[refused(1), refused(2)])).await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_notifications_gets_no_answer() {
    let layer = passes_all();
    let mut session = session(&[&layer]);
    session.host.send(&array(&[note(1), note(2)])).await;
    session.server.expect(&note(1)).await;
    session.server.expect(&note(2)).await;
    session.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_element_is_left_out_of_the_answer() {
    let gate = Gate::new();
    let layer = holds_answer(&gate);
    let mut session = session(&[&layer]);
    session.host.send(&array(&[call(1), ping(2), ping(3)])).await;
    for line in [call(1), ping(2), ping(3)] {
        session.server.expect(&line).await;
    }
    session.server.send(&answer(2)).await;
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    // One is answered and held, one is with the server.
    session.host.send(&cancel(1)).await;
    cross(&mut session.host, &mut session.server, &cancel(3)).await;
    session.host.expect(&array(&[answer(2)])).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_may_cancel_what_it_asks() {
    let layer = passes();
    let mut session = session(&[&layer]);
    session.host.send(&array(&[call(1), cancel(1)])).await;
    session.server.expect(&call(1)).await;
    session.server.expect(&cancel(1)).await;
    session.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_in_a_batch_is_answered_in_its_place() {
    for strict in [false, true] {
        let layer = if strict { passes().strict() } else { passes() };
        let mut session = session(&[&layer]);
        session.host.send(&array(&["1".into(), call(1), array(&[call(2)]), "null".into()])).await;
        session.server.expect(&call(1)).await;
        session.server.expect_nothing().await;
        session.server.send(&answer(1)).await;
        let got = session.host.receive().await;
        let ids: Vec<_> = raw(&got).items().map(|i| i.get("id").unwrap().to_string()).collect();
        assert_eq!(ids, ["null", "1", "null", "null"], "{got}");
        assert_eq!(got.matches("-32600").count(), 3, "{got}");
        assert_eq!(layer.ran.count(), 1);
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_element_that_can_be_read_in_two_ways_does_not_keep_the_others_waiting() {
    let twice = r#"{"jsonrpc":"2.0","id":9,"method":"ping","method":"tools/call"}"#;
    let note_twice = r#"{"jsonrpc":"2.0","method":"notifications/a","method":"b"}"#;
    let answer_twice = r#"{"jsonrpc":"2.0","id":5,"result":1,"result":2}"#;
    let batch = array(&[twice.into(), note_twice.into(), answer_twice.into(), call(1)]);
    // Strict: refused where it stands, and nothing of it reaches the server.
    let layer = passes().strict();
    let mut strict = session(&[&layer]);
    strict.host.send(&batch).await;
    let error = strict.server.receive().await;
    assert!(error.contains(r#""id":5,"error""#), "{error}");
    strict.server.expect(&call(1)).await;
    strict.server.expect_nothing().await;
    strict.server.send(&answer(1)).await;
    let got = strict.host.receive().await;
    let ids: Vec<_> = raw(&got).items().map(|i| i.get("id").unwrap().to_string()).collect();
    assert_eq!(ids, ["9", "1"], "{got}");
    assert_eq!(layer.ran.count(), 1);
    strict.end().await;
    // Otherwise: it passes unread, and its answer has its place.
    let layer = amends("x");
    let mut session = session(&[&layer]);
    session.host.send(&batch).await;
    for line in [twice, note_twice, answer_twice, &call(1)] {
        session.server.expect(line).await;
    }
    session.server.send(&answer(1)).await;
    session.server.send(&answer(9)).await;
    session.host.expect(&array(&[answer(9), amended(1)])).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_or_broken_array_goes_on_unless_a_layer_is_strict() {
    let layer = passes();
    let mut lenient = session(&[&layer]);
    for line in ["[]", " [ ] ", "[1,", "[{\"id\":1}", "[1]]"] {
        cross(&mut lenient.host, &mut lenient.server, line).await;
    }
    cross(&mut lenient.host, &mut lenient.server, &call(1)).await;
    assert_eq!(layer.ran.count(), 1);
    let layer = passes().strict();
    let mut strict = session(&[&layer]);
    cross(&mut strict.host, &mut strict.server, "[]").await;
    for line in ["[1,", "[{\"id\":1}", "[1]]"] {
        strict.host.send(line).await;
        let got = strict.host.receive().await;
        assert!(got.contains("-32700") && got.contains(r#""id":null"#), "{got}");
    }
    strict.server.expect_nothing().await;
    cross(&mut strict.host, &mut strict.server, &call(1)).await;
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_servers_array_with_an_awaited_answer_is_taken_apart() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.host, &mut session.server, &ping(2)).await;
    session.server.send(&array(&[answer(2), note(1), answer(1), ping(7)])).await;
    for line in [answer(2), note(1), amended(1), ping(7)] {
        session.host.expect(&line).await;
    }
    assert_eq!(layer.ran.count(), 1);
    // One that concerns nobody here passes whole; what it answered is over.
    for id in [3, 4] {
        cross(&mut session.host, &mut session.server, &ping(id)).await;
    }
    let both = format!(" {}", array(&[answer(3), answer(4)]));
    cross(&mut session.server, &mut session.host, &both).await;
    for id in [3, 4] {
        cross(&mut session.host, &mut session.server, &call(id)).await;
        session.server.send(&answer(id)).await;
        session.host.expect(&amended(id)).await;
    }
    assert_eq!(layer.ran.count(), 3);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_awaited_answer_no_layer_may_read_is_found_in_an_array() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    let twice = r#"{"id":1,"result":{},"result":{"content":[]}}"#;
    session.server.send(&format!("[{twice}]")).await;
    session.host.expect(twice).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_answers_from_the_host_reaches_the_server() {
    let layer = amends("x").acts(Acts::nothing().on(Direction::ToHost, "roots/list"));
    let mut session: Session = session(&[&layer]);
    handshake(&mut session).await;
    let asks = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    for id in [1, 2] {
        cross(&mut session.server, &mut session.host, &asks(id)).await;
    }
    session.host.send(&array(&[answer(2), answer(1)])).await;
    session.server.expect(&amended(2)).await;
    session.server.expect(&amended(1)).await;
    session.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}
