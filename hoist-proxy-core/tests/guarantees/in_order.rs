//! *In order*: lines leave each side in the order read, except a message that is being held.

use std::task::Poll;

use futures::stream::{FuturesUnordered, StreamExt};
use hoist_proxy_core::testkit;

use crate::util::{
    Gate, Log, act, amends, answer, call, cross, handshake, holds_answer, holds_request, looks_up,
    note, passes, passes_all, ping, session,
};

#[tokio::test(start_paused = true)]
async fn a_notification_right_behind_an_answer_stays_behind_it() {
    let (outer, inner) = (passes(), amends("x"));
    let mut session = session(&[&outer, &inner]);
    session.host.send(&call(1)).await;
    session.host.send(&note(1)).await;
    session.host.send(&call(2)).await;
    session.host.send(&note(2)).await;
    for line in [call(1), note(1), call(2), note(2)] {
        session.server.expect(&line).await;
    }
    session.server.send(&note(3)).await;
    session.server.send(&answer(2)).await;
    session.server.send(&note(4)).await;
    session.server.send(&answer(1)).await;
    session.server.send(&note(5)).await;
    let amended = |n| answer(n).replace("[]", r#"[{"type":"text","text":"x"}]"#);
    for line in [note(3), amended(2), note(4), amended(1), note(5)] {
        session.host.expect(&line).await;
    }
    assert_eq!((outer.ran.count(), inner.ran.count()), (2, 2));
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_answers_and_notifications_keep_their_order() {
    let layer = passes();
    let mut session = session(&[&layer]);
    for n in 0..400 {
        session.host.send(&call(n)).await;
    }
    for n in 0..400 {
        session.server.expect(&call(n)).await;
    }
    for n in (0..400).rev() {
        session.server.send(&answer(n)).await;
        session.server.send(&note(n)).await;
    }
    for n in (0..400).rev() {
        session.host.expect(&answer(n)).await;
        session.host.expect(&note(n)).await;
    }
    assert_eq!(layer.ran.count(), 400);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_overtaken_and_nothing_else_is() {
    let gate = Gate::new();
    let layer = holds_answer(&gate);
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.host, &mut session.server, &ping(2)).await;
    session.server.send(&answer(1)).await;
    for n in 0..3 {
        cross(&mut session.server, &mut session.host, &note(n)).await;
    }
    cross(&mut session.server, &mut session.host, &answer(2)).await;
    cross(&mut session.host, &mut session.server, &ping(3)).await;
    session.host.expect_nothing().await;
    gate.open();
    session.host.expect(&answer(1)).await;
    cross(&mut session.server, &mut session.host, &answer(3)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_held_request_is_overtaken_and_leaves_once() {
    let gate = Gate::new();
    let layer = holds_request(&gate);
    let mut session = session(&[&layer]);
    session.host.send(&call(1)).await;
    session.host.send(&ping(2)).await;
    session.host.send(&note(1)).await;
    session.server.expect(&ping(2)).await;
    session.server.expect(&note(1)).await;
    session.server.expect_nothing().await;
    gate.open();
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(2)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_leaves_and_is_observed_before_its_response() {
    let (log, layer) = (Log::default(), passes());
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    for n in 0..50 {
        session.host.send(&call(n)).await;
        session.server.expect(&call(n)).await;
        session.server.send(&answer(n)).await;
    }
    for n in 0..50 {
        session.host.expect(&answer(n)).await;
    }
    let lines = log.lines();
    for n in 0..50 {
        let at = |line: &str| lines.iter().position(|l| l == line).expect("it was observed");
        assert!(at(&format!("Client {}", call(n))) < at(&format!("Server {}", answer(n))));
    }
    assert_eq!(layer.ran.count(), 50);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn server_requests_and_their_answers_keep_their_order_too() {
    let layer = passes_all();
    let mut session = session(&[&layer]);
    session.server.send(&ping(1)).await;
    session.server.send(&note(1)).await;
    session.server.send(&ping("\"b\"")).await;
    for line in [ping(1), note(1), ping("\"b\"")] {
        session.host.expect(&line).await;
    }
    session.host.send(&answer("\"b\"")).await;
    session.host.send(&note(2)).await;
    session.host.send(&answer(1)).await;
    for line in [answer("\"b\""), note(2), answer(1)] {
        session.server.expect(&line).await;
    }
    assert_eq!(layer.ran.count(), 4);
    session.end().await;
}

/// A layer that wakes itself on every poll takes the executor's turns; a layer that holds nothing
/// must not lose its place by that.
#[tokio::test(start_paused = true)]
async fn restless_layers_change_nobody_elses_order() {
    let restless = act("restless", |request, next| {
        Box::pin(async move {
            let restless = request.params().is_some_and(|p| p.get("restless").is_some());
            if restless {
                let mut turns = 0;
                std::future::poll_fn(|cx| {
                    turns += 1;
                    if turns > 2000 {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
            }
            next.run(request).await
        })
    });
    let mut session = session(&[&restless]);
    for n in 0..8 {
        session
            .host
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":"r{n}","method":"tools/call","params":{{"restless":1}}}}"#
            ))
            .await;
    }
    for n in 0..50 {
        session.host.send(&call(n)).await;
        session.host.send(&note(n)).await;
    }
    let mut lines = Vec::new();
    for _ in 0..108 {
        let line = session.server.receive().await;
        if !line.contains("restless") {
            lines.push(line);
        }
    }
    let want: Vec<String> = (0..50).flat_map(|n| [call(n), note(n)]).collect();
    assert_eq!(lines, want);
    assert_eq!(restless.ran.count(), 58);
}

#[tokio::test(start_paused = true)]
async fn lookups_leave_before_the_request_they_precede() {
    let layer = looks_up(3);
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    for _ in 0..3 {
        crate::util::answer_own(&mut session.server).await;
    }
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_runs_the_call_in_a_set_of_its_own_keeps_the_order() {
    let layer = act("set", |request, next| {
        Box::pin(async move {
            let mut set: FuturesUnordered<_> = [next.run(request)].into_iter().collect();
            set.next().await.expect("one future is in it")
        })
    });
    let mut session = session(&[&layer]);
    for n in 0..50 {
        cross(&mut session.host, &mut session.server, &call(n)).await;
    }
    for n in 0..50 {
        session.server.send(&answer(n)).await;
        session.server.send(&note(n)).await;
    }
    for n in 0..50 {
        session.host.expect(&answer(n)).await;
        session.host.expect(&note(n)).await;
    }
    assert_eq!(layer.ran.count(), 50);
    session.end().await;
}
