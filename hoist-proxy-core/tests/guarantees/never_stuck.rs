//! *Never stuck*: a layer that hangs, fails or panics breaks its own exchange and nothing else.

use std::time::Duration;

use hoist_proxy_core::testkit::Session;
use hoist_proxy_core::{Acts, Direction, Error, Hold, MAX_HELD, Response};
use tokio::time::Instant;

use crate::util::{
    Act, Gate, act, amends, answer, answer_own, call, cross, handshake, hangs_after, hangs_before,
    holds_answer, id_of, looks_up, lookup, note, passes, ping, raw, session,
};

#[derive(Debug)]
struct Oops;

impl std::fmt::Display for Oops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("oops /etc/secret")
    }
}

impl std::error::Error for Oops {}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

fn panics_before() -> Act {
    act("breaks", |_request, _next| panic!("before"))
}

fn panics_in_its_future() -> Act {
    act("breaks", |_request, _next| Box::pin(async { panic!("before") }))
}

fn panics_after() -> Act {
    act("breaks", |request, next| {
        Box::pin(async move {
            let _answer = next.run(request).await;
            panic!("after")
        })
    })
}

fn fails_before() -> Act {
    act("breaks", |_request, _next| Box::pin(async { Err(Error::other(Oops)) }))
}

fn fails_after() -> Act {
    act("breaks", |request, next| {
        Box::pin(async move {
            next.run(request).await?;
            Err(Error::other(Oops))
        })
    })
}

/// Gives up the request it passed on, and fails.
fn fails_while_in_flight() -> Act {
    act("breaks", |request, next| {
        Box::pin(async move {
            let mut run = next.run(request);
            crate::util::let_leave(&mut run).await;
            Err(Error::other(Oops))
        })
    })
}

fn error_of(line: &str) -> (i64, String) {
    let error = raw(line).get("error").unwrap();
    let message = error.get("message").unwrap().text().unwrap().into_owned();
    (error.get("code").unwrap().as_str().parse().unwrap(), message)
}

/// The server sees nothing of the call; the host gets an error that names the layer and nothing
/// of the cause.
async fn check_refused(layer: &Act) {
    let mut session = session(&[layer]);
    session.host.send(&call(7)).await;
    let got = session.host.receive().await;
    assert_eq!(id_of(&got), "7");
    let (code, message) = error_of(&got);
    assert_eq!(code, -32603);
    assert!(!message.contains("secret"), "{message}");
    session.server.expect_nothing().await;
    cross(&mut session.host, &mut session.server, &ping(8)).await;
    cross(&mut session.server, &mut session.host, &answer(8)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

/// The call crosses as if the layer were not there.
async fn check_passed(layer: &Act) {
    let mut session = session(&[layer]);
    session.host.send(&call(7)).await;
    session.server.expect(&call(7)).await;
    session.server.send(&answer(7)).await;
    session.host.expect(&answer(7)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_breaks_before_the_call_refuses_or_passes_as_it_declared() {
    let breaks = [panics_before, panics_in_its_future, fails_before];
    for make in breaks {
        check_refused(&make()).await;
        check_passed(&make().lenient()).await;
    }
    check_refused(&hangs_before().hold_ms(50)).await;
    check_passed(&hangs_before().hold_ms(50).lenient()).await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_breaks_after_the_call_releases_the_answer() {
    for layer in [panics_after(), fails_after(), fails_while_in_flight(), hangs_after().hold_ms(9)]
    {
        check_passed(&layer).await;
        check_passed(&layer.again().lenient()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_panics_while_it_is_dropped_breaks_nothing_else() {
    let make = || {
        act("bomb", |request, next| {
            Box::pin(async move {
                let _bomb = Bomb;
                next.run(request).await?;
                std::future::pending().await
            })
        })
    };
    // Dropped by the engine at its limit, ...
    check_passed(&make().hold_ms(10)).await;
    // ... by the host's cancellation, ...
    let layer = make();
    let mut cancelled = session(&[&layer]);
    cross(&mut cancelled.host, &mut cancelled.server, &call(1)).await;
    let cancel = crate::util::cancel(1);
    cross(&mut cancelled.host, &mut cancelled.server, &cancel).await;
    cross(&mut cancelled.host, &mut cancelled.server, &ping(2)).await;
    cross(&mut cancelled.server, &mut cancelled.host, &answer(2)).await;
    assert_eq!(layer.ran.count(), 1);
    cancelled.end().await;
    // ... when it is done, ...
    let layer = act("bomb", |request, next| {
        struct Done<F>(F, Bomb);
        impl<F: Future + Unpin> Future for Done<F> {
            type Output = F::Output;
            fn poll(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<F::Output> {
                std::pin::Pin::new(&mut self.0).poll(cx)
            }
        }
        Box::pin(Done(next.run(request), Bomb))
    });
    check_passed(&layer).await;
    // ... and at the end of the session.
    let layer = make();
    let mut ended = session(&[&layer]);
    cross(&mut ended.host, &mut ended.server, &call(1)).await;
    ended.server.send(&answer(1)).await;
    ended.host.expect_nothing().await;
    ended.server.close();
    assert_eq!(ended.host.receive_line().await, None);
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_held_answer_is_released_at_exactly_the_limit() {
    let layer = hangs_after().hold_ms(250);
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    // A slow server is not the layer's time.
    tokio::time::advance(Duration::from_secs(3600)).await;
    session.host.expect_nothing().await;
    let answered = Instant::now();
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    session.host.expect(&answer(1)).await;
    assert_eq!(answered.elapsed(), Duration::from_millis(250));
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn time_before_and_after_the_call_adds_up() {
    let layer = act("slow", |request, next| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let _answer = next.run(request).await?;
            std::future::pending().await
        })
    })
    .hold_ms(100);
    let mut session = session(&[&layer]);
    let start = Instant::now();
    session.host.send(&call(1)).await;
    session.server.expect(&call(1)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(60));
    session.server.send(&answer(1)).await;
    session.host.expect(&answer(1)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(100));
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn own_requests_stop_the_clock_unless_they_are_counted() {
    let make = || {
        act("looks-up", |request, next| {
            Box::pin(async move {
                let answer = next.run(request).await?;
                next.run(lookup(0)).await?;
                Ok(answer)
            })
        })
    };
    let layer = make().hold_ms(100);
    let mut waits = session(&[&layer]);
    handshake(&mut waits).await;
    cross(&mut waits.host, &mut waits.server, &call(1)).await;
    waits.server.send(&answer(1)).await;
    let own = waits.server.receive().await;
    tokio::time::advance(Duration::from_secs(60)).await;
    waits.host.expect_nothing().await;
    waits.server.send(&answer(id_of(&own))).await;
    waits.host.expect(&answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    waits.end().await;

    let layer = make().hold(Hold::at_most(Duration::from_millis(100)).counting_own_requests());
    let mut counts = session(&[&layer]);
    handshake(&mut counts).await;
    cross(&mut counts.host, &mut counts.server, &call(1)).await;
    let start = Instant::now();
    counts.server.send(&answer(1)).await;
    let own = counts.server.receive().await;
    counts.host.expect(&answer(1)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(100));
    // The lookup nobody waits for any more is cancelled, and its answer swallowed.
    counts.server.expect(&crate::util::cancel(id_of(&own))).await;
    counts.server.send(&answer(id_of(&own))).await;
    counts.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    counts.end().await;
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_handshake_is_the_layers_own_time() {
    let layer = looks_up(1).hold_ms(100).lenient();
    let mut session = session(&[&layer]);
    // A host that never says it is initialized.
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    cross(&mut session.host, &mut session.server, initialize).await;
    cross(&mut session.server, &mut session.host, &answer(0)).await;
    let start = Instant::now();
    cross(&mut session.host, &mut session.server, &call(1)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(100));
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

/// Amends what the layers inside gave, then breaks as it is told.
#[tokio::test(start_paused = true)]
async fn an_outer_layer_that_breaks_releases_the_inner_ones_amended_answer() {
    for outer in [panics_after(), fails_after(), hangs_after().hold_ms(10)] {
        let inner = amends("inner");
        let mut session = session(&[&outer, &inner]);
        cross(&mut session.host, &mut session.server, &call(1)).await;
        session.server.send(&answer(1)).await;
        let want = answer(1).replace("[]", r#"[{"type":"text","text":"inner"}]"#);
        session.host.expect(&want).await;
        assert_eq!((outer.ran.count(), inner.ran.count()), (1, 1));
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_inner_layer_that_breaks_gives_the_outer_one_the_servers_answer() {
    for inner in [panics_after(), fails_after(), hangs_after().hold_ms(10)] {
        let outer = amends("outer");
        let mut session = session(&[&outer, &inner]);
        cross(&mut session.host, &mut session.server, &call(1)).await;
        session.server.send(&answer(1)).await;
        let want = answer(1).replace("[]", r#"[{"type":"text","text":"outer"}]"#);
        session.host.expect(&want).await;
        assert_eq!((outer.ran.count(), inner.ran.count()), (1, 1));
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outer_layer_is_told_that_an_inner_one_refused_by_breaking() {
    let outer = act("outer", |request, next| {
        Box::pin(async move {
            match next.run(request).await {
                Err(Error::LayerBroke { layer, .. }) => {
                    Ok(Response::error(-1, &format!("{layer} is broken")))
                }
                other => other,
            }
        })
    });
    let inner = panics_before();
    let mut session = session(&[&outer, &inner]);
    session.host.send(&call(1)).await;
    let got = session.host.receive().await;
    assert_eq!(error_of(&got), (-1, "breaks is broken".into()));
    session.server.expect_nothing().await;
    assert_eq!((outer.ran.count(), inner.ran.count()), (1, 1));
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_answers_while_the_call_is_in_flight_has_the_last_word() {
    let layer = act("hasty", |request, next| {
        Box::pin(async move {
            let mut run = next.run(request);
            crate::util::let_leave(&mut run).await;
            Ok(Response::error(-1, "too slow"))
        })
    });
    let mut session = session(&[&layer]);
    session.host.send(&call(1)).await;
    session.server.expect(&call(1)).await;
    assert_eq!(error_of(&session.host.receive().await).0, -1);
    session.server.expect(&crate::util::cancel(1)).await;
    // The late answer would be a second one.
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    // The id may be used again, by a call or by what nobody acts on.
    for _ in 0..2 {
        cross(&mut session.host, &mut session.server, &ping(1)).await;
        cross(&mut session.server, &mut session.host, &answer(1)).await;
    }
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_than_256_exchanges_are_held() {
    for lenient in [true, false] {
        let gate = Gate::new();
        let holds = crate::util::holds_request(&gate);
        let layer = if lenient { holds.lenient() } else { holds };
        let mut session = session(&[&layer]);
        for n in 0..=MAX_HELD {
            session.host.send(&call(n)).await;
        }
        let last = call(MAX_HELD);
        if lenient {
            session.server.expect(&last).await;
            cross(&mut session.server, &mut session.host, &answer(MAX_HELD)).await;
        } else {
            let got = session.host.receive().await;
            assert_eq!(id_of(&got), MAX_HELD.to_string());
            assert!(error_of(&got).1.contains("too many"), "{got}");
        }
        session.server.expect_nothing().await;
        gate.open();
        // They go on in any order.
        for _ in 0..MAX_HELD {
            let id = id_of(&session.server.receive().await);
            session.server.send(&answer(&id)).await;
            session.host.expect(&answer(&id)).await;
        }
        // All places are free again.
        session.host.send(&call(9999)).await;
        session.server.expect(&call(9999)).await;
        cross(&mut session.server, &mut session.host, &answer(9999)).await;
        assert_eq!(layer.ran.count(), MAX_HELD + 2);
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_257th_answer_is_released_rather_than_held() {
    let gate = Gate::new();
    let layer = holds_answer(&gate);
    let mut session = session(&[&layer]);
    for n in 0..=MAX_HELD {
        cross(&mut session.host, &mut session.server, &call(n)).await;
        session.server.send(&answer(n)).await;
    }
    session.host.expect(&answer(MAX_HELD)).await;
    session.host.expect_nothing().await;
    gate.open();
    let mut left: std::collections::HashSet<String> = (0..MAX_HELD).map(answer).collect();
    for _ in 0..MAX_HELD {
        let line = session.host.receive().await;
        assert!(left.remove(&line), "{line}");
    }
    assert_eq!(layer.ran.count(), MAX_HELD + 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_exchange_held_by_two_layers_counts_once() {
    let gate = Gate::new();
    let outer = act("commits", |request, next| {
        Box::pin(async move {
            next.run(lookup(0)).await?;
            next.run(request).await
        })
    });
    let inner = crate::util::holds_request(&gate);
    let mut session = session(&[&outer, &inner]);
    handshake(&mut session).await;
    for n in 0..MAX_HELD {
        session.host.send(&call(n)).await;
    }
    session.host.expect_nothing().await;
    session.server.expect_nothing().await;
    assert_eq!((outer.ran.count(), inner.ran.count()), (MAX_HELD, MAX_HELD));
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_panics_while_it_observes_or_judges_is_left_out() {
    let layer = passes().judging(|_note| panic!("judging"));
    let mut session = session(&[&layer]);
    for n in 0..3 {
        cross(&mut session.server, &mut session.host, &note(n)).await;
    }
    assert_eq!(layer.ran.count(), 1);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_breaks_on_its_lookup_lets_the_call_go_on() {
    // Its lookup is answered; then it panics, with the host's request still in hand.
    let layer = act("breaks", |_request, next| {
        Box::pin(async move {
            let _found = next.run(lookup(0)).await;
            panic!("found it")
        })
    })
    .lenient();
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    answer_own(&mut session.server).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_returns_cancelled_by_itself_still_owes_an_answer() {
    for lenient in [false, true] {
        let broken = act("breaks", |_request, _next| Box::pin(async { Err(Error::Cancelled) }));
        if lenient {
            check_passed(&broken.lenient()).await;
        } else {
            check_refused(&broken).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn layers_break_towards_the_host_as_well() {
    let layer = act("breaks", |request, next| {
        Box::pin(async move {
            let _answer = next.run(request).await?;
            std::future::pending().await
        })
    })
    .acts(Acts::nothing().on(Direction::ToHost, "roots/list"))
    .hold_ms(10);
    let mut session: Session = session(&[&layer]);
    let asks = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    cross(&mut session.server, &mut session.host, asks).await;
    cross(&mut session.host, &mut session.server, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}
