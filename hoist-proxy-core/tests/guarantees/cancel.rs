//! *Cancel*: what the host gives up reaches the server only if the server has it, and nothing
//! that was done for it goes on.

use hoist_proxy_core::{Acts, Direction, Error, Response};

use crate::util::{
    Gate, act, amends, answer, call, cancel, cross, handshake, holds_answer, holds_request, id_of,
    looks_up, lookup, passes, ping, session,
};

/// A cancellation in odd spelling, so that it can be told from one the proxy makes.
fn odd_cancel(id: &str) -> String {
    format!(
        r#"{{ "method":"notifications\/cancelled", "params":{{"reason":"no", "requestId":{id}}},"jsonrpc":"2.0"}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn of_a_request_held_and_not_sent_the_server_sees_nothing() {
    let gate = Gate::new();
    let layer = holds_request(&gate);
    let mut session = session(&[&layer]);
    session.host.send(&call(1)).await;
    session.server.expect_nothing().await;
    session.host.send(&odd_cancel("1")).await;
    session.server.expect_nothing().await;
    gate.open();
    session.server.expect_nothing().await;
    session.host.expect_nothing().await;
    // The id is free again.
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_request_sent_and_unanswered_the_server_sees_the_hosts_own_line() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call("\"a\"")).await;
    cross(&mut session.host, &mut session.server, &odd_cancel("\"\\u0061\"")).await;
    session.server.expect_nothing().await;
    session.host.expect_nothing().await;
    // A late answer passes as one to nothing: it is the host's to drop.
    cross(&mut session.server, &mut session.host, &answer("\"a\"")).await;
    // The id may be used again, and then its answer is the layer's.
    cross(&mut session.host, &mut session.server, &call("\"a\"")).await;
    session.server.send(&answer("\"a\"")).await;
    let got = session.host.receive().await;
    assert!(got.contains(r#""text":"x""#), "{got}");
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_request_answered_and_held_the_answer_is_dropped_and_the_server_sees_nothing() {
    let gate = Gate::new();
    let layer = holds_answer(&gate);
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    session.host.send(&cancel(1)).await;
    session.host.expect_nothing().await;
    gate.open();
    session.host.expect_nothing().await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn own_requests_in_flight_are_cancelled_and_their_late_answers_swallowed() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            let lookups = [next.run(lookup(0)), next.run(lookup(1))];
            futures::future::try_join_all(lookups).await?;
            next.run(request).await
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let first = id_of(&session.server.receive().await);
    let second = id_of(&session.server.receive().await);
    session.server.send(&answer(&first)).await;
    session.server.expect_nothing().await;
    session.host.send(&cancel(1)).await;
    // Only what is still unanswered.
    session.server.expect(&cancel(&second)).await;
    session.server.send(&answer(&second)).await;
    session.host.expect_nothing().await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_hosts_line_goes_before_the_cancellations_of_own_requests() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            let (answer, _found) =
                futures::future::try_join(next.run(request), next.run(lookup(0))).await?;
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    session.server.expect(&call(1)).await;
    let own = id_of(&session.server.receive().await);
    session.host.send(&odd_cancel("1")).await;
    session.server.expect(&odd_cancel("1")).await;
    session.server.expect(&cancel(own)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

/// As a committer: it writes, one after the other, and is told of a cancellation.
#[tokio::test(start_paused = true)]
async fn a_layer_that_asked_is_told_and_what_it_began_is_awaited() {
    let done = Gate::new();
    let told = done.clone();
    let layer = act("commits", move |_request, next| {
        let told = told.clone();
        Box::pin(async move {
            let exchange = next.exchange();
            let cancelled = exchange.cancelled();
            let first = next.run(lookup(0)).await?;
            assert!(first.as_result().is_some());
            cancelled.await;
            assert!(exchange.is_cancelled());
            let second = next.run(lookup(1)).await;
            assert!(matches!(second, Err(Error::Cancelled)));
            told.open();
            Ok(Response::error(-1, "nobody reads this"))
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let write = id_of(&session.server.receive().await);
    session.host.send(&cancel(1)).await;
    session.server.expect_nothing().await;
    // The host uses the id again meanwhile.
    session.host.send(&ping(1)).await;
    session.server.expect(&ping(1)).await;
    session.server.send(&answer(&write)).await;
    tokio::time::timeout(std::time::Duration::from_secs(1), done.pass()).await.expect("told");
    session.server.expect_nothing().await;
    session.host.expect_nothing().await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_asked_and_passed_the_request_on_gets_the_cancellation_too() {
    let saw = Gate::new();
    let told = saw.clone();
    let layer = act("asks", move |request, next| {
        let told = told.clone();
        Box::pin(async move {
            let _cancelled = next.exchange().cancelled();
            let answer = next.run(request).await;
            assert!(matches!(answer, Err(Error::Cancelled)));
            told.open();
            answer
        })
    });
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.host, &mut session.server, &odd_cancel("1")).await;
    tokio::time::timeout(std::time::Duration::from_secs(1), saw.pass()).await.expect("told");
    session.server.expect_nothing().await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_of_an_unknown_id_goes_on_and_costs_nothing_later() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    for id in ["9", "\"hoist-1\"", "null", "{}"] {
        cross(&mut session.host, &mut session.server, &odd_cancel(id)).await;
    }
    let none = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    cross(&mut session.host, &mut session.server, none).await;
    cross(&mut session.host, &mut session.server, &call(9)).await;
    session.server.send(&answer(9)).await;
    let got = session.host.receive().await;
    assert!(got.contains(r#""text":"x""#), "{got}");
    cross(&mut session.host, &mut session.server, &ping(9)).await;
    cross(&mut session.server, &mut session.host, &answer(9)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_hosts_cancellation_never_hits_an_own_request() {
    let layer = looks_up(1);
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let own = id_of(&session.server.receive().await);
    session.host.send(&cancel(&own)).await;
    // The server would take it for the lookup's.
    session.server.expect_nothing().await;
    session.server.send(&answer(own)).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_oldest_of_two_requests_with_one_id_is_cancelled_first() {
    let gate = Gate::new();
    let layer = holds_answer(&gate);
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    // The first is answered and held: the server sees nothing.
    session.host.send(&cancel(1)).await;
    session.server.expect_nothing().await;
    // The second is not: the server sees it.
    cross(&mut session.host, &mut session.server, &cancel(1)).await;
    gate.open();
    session.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_request_is_cancelled_as_without_a_proxy() {
    let layer = passes();
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &ping(1)).await;
    cross(&mut session.host, &mut session.server, &cancel(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    // One that was never answered leaves nothing behind either.
    cross(&mut session.host, &mut session.server, &ping(1)).await;
    cross(&mut session.host, &mut session.server, &cancel(1)).await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_cancels_its_own_requests_the_same_way() {
    let gate = Gate::new();
    let layer =
        holds_request(&gate).acts(Acts::nothing().on(Direction::ToHost, "sampling/createMessage"));
    let mut session = session(&[&layer]);
    session
        .server
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#)
        .await;
    session.host.expect_nothing().await;
    session.server.send(&cancel(1)).await;
    session.host.expect_nothing().await;
    gate.open();
    session.host.expect_nothing().await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_leaves_its_id_to_others() {
    let gate = Gate::new();
    let layer = act("holds", {
        let gate = gate.clone();
        move |request, next| {
            let gate = gate.clone();
            Box::pin(async move {
                if request.id().is_some_and(|id| id.raw() == "\"hoist-1\"") {
                    gate.pass().await;
                }
                next.run(lookup(0)).await?;
                next.run(request).await
            })
        }
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call("\"hoist-1\"")).await;
    session.server.expect_nothing().await;
    session.host.send(&cancel("\"hoist-1\"")).await;
    session.host.send(&call(1)).await;
    assert_eq!(id_of(&crate::util::answer_own(&mut session.server).await), "\"hoist-1\"");
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}
