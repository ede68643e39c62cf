//! How a session ends: nothing that was promised is lost, and nothing keeps it open for ever.

use std::time::Duration;

use hoist_proxy_core::testkit;
use hoist_proxy_core::{Error, Finish, Interceptor, Line, WhenBroken, layer_fn};
use tokio::time::Instant;

use crate::util::{
    Act, Gate, Stoppable, act, amends, answer, answer_own, call, cross, handshake, hangs_after,
    holds_answer, id_of, lookup, note, passes, ping, session,
};

fn is_error(line: &str, id: impl std::fmt::Display) -> bool {
    line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603"#))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_answers_what_is_open_with_an_error() {
    let layer = passes();
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.host, &mut session.server, &call(2)).await;
    session.server.send(&answer(2)).await;
    session.server.send(&note(1)).await;
    session.server.close();
    session.host.expect(&answer(2)).await;
    session.host.expect(&note(1)).await;
    let got = session.host.receive().await;
    assert!(is_error(&got, 1), "{got}");
    session.host.expect_end().await;
    assert_eq!(layer.ran.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_lets_held_answers_out_within_the_grace_time() {
    // One is released in time, one never: the inner answer of that one is not lost to a hang.
    let gate = Gate::new();
    let layer = holds_answer(&gate);
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    session.server.close();
    session.host.expect_nothing().await;
    tokio::time::advance(Duration::from_secs(4)).await;
    gate.open();
    session.host.expect(&answer(1)).await;
    session.host.expect_end().await;
    assert_eq!(layer.ran.count(), 1);

    let layer = hangs_after();
    let mut hung = crate::util::session(&[&layer]);
    cross(&mut hung.host, &mut hung.server, &call(1)).await;
    hung.server.send(&answer(1)).await;
    hung.server.close();
    let start = Instant::now();
    assert_eq!(hung.host.receive_line().await, None);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn own_requests_fail_once_the_server_is_gone() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            let answer = next.run(request).await?;
            assert!(matches!(next.run(lookup(0)).await, Err(Error::Closed { .. })));
            assert!(matches!(next.run(lookup(1)).await, Err(Error::Closed { .. })));
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    session.server.receive().await;
    session.server.close();
    session.host.expect(&answer(1)).await;
    session.host.expect_end().await;
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_stays_open_while_an_answer_is_held_after_the_hosts_end() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            let answer = next.run(request).await?;
            next.run(lookup(0)).await?;
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    let own = session.server.receive().await;
    session.host.close();
    // Its input is not closed: the lookup is in flight.
    session.server.expect_nothing().await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    session.server.expect_nothing().await;
    session.server.send(&answer(id_of(&own))).await;
    session.host.expect(&answer(1)).await;
    session.server.expect_end().await;
    session.server.close();
    session.host.expect_end().await;
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_after_the_hosts_end_is_still_heard() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    session.host.send_line(Line::from_wire(call(1))).await;
    session.host.close();
    let got = session.server.receive_line().await.expect("the call comes out");
    assert_eq!(got.wire(), call(1).as_bytes(), "unterminated, as it came");
    session.server.expect_end().await;
    session.server.send(&answer(1)).await;
    session.server.close();
    let got = session.host.receive().await;
    assert!(got.contains(r#""text":"x""#), "{got}");
    session.host.expect_end().await;
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_gone_ends_everything_at_once() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            next.run(lookup(0)).await?;
            next.run(request).await
        })
    });
    let Stoppable { host, mut server, stop: _stop, running } =
        Stoppable::start(vec![layer.layer()], 16);
    let mut both = (host, server);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    cross(&mut both.0, &mut both.1, initialized).await;
    both.0.send(&call(1)).await;
    let own = both.1.receive().await;
    drop(both.0);
    server = both.1;
    server.expect(&crate::util::cancel(id_of(&own))).await;
    server.expect_end().await;
    server.close();
    running.await.unwrap().unwrap().into_last().unwrap();
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_closes_the_server_and_forwards_what_it_still_says() {
    let layer = hangs_after();
    let mut session = Stoppable::start(vec![layer.layer()], 16);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    cross(&mut session.host, &mut session.server, &ping(2)).await;
    session.shut_down();
    session.server.expect_end().await;
    cross(&mut session.server, &mut session.host, &answer(2)).await;
    session.server.close();
    session.host.expect_end().await;
    session.ended().await.unwrap();
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_ever_for_a_host_that_does_not_read() {
    let mut session = Stoppable::start(Vec::new(), 1);
    for n in 0..8 {
        if !session.server.try_send(&note(n)) {
            session.server.expect_nothing().await;
        }
    }
    session.shut_down();
    session.server.expect_end().await;
    session.server.close();
    let start = Instant::now();
    let Stoppable { host, running, .. } = session;
    running.await.unwrap().unwrap().into_last().unwrap();
    assert!(start.elapsed() <= Duration::from_secs(5));
    drop(host);
}

/// Counts how often it is told that the session is over, and in which way.
struct Finishes(&'static str, std::sync::Arc<std::sync::Mutex<Vec<(&'static str, Finish)>>>);

impl Interceptor for Finishes {
    fn name(&self) -> &str {
        self.0
    }

    fn when_broken(&self) -> WhenBroken {
        WhenBroken::Pass
    }

    fn finish(&self, finish: Finish) -> hoist_proxy_core::BoxFuture<'_, ()> {
        self.1.lock().unwrap().push((self.0, finish));
        assert_ne!(self.0, "broken", "breaks as it is called");
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn every_layer_is_told_once_that_the_session_is_over() {
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let layer = |name: &'static str| {
        let told = told.clone();
        Box::new(layer_fn(move |_session| Ok(Box::new(Finishes(name, told.clone())))))
            as Box<dyn hoist_proxy_core::Layer>
    };
    let session = testkit::session(vec![layer("outer"), layer("broken"), layer("inner")]);
    session.end().await;
    let want = ["outer", "broken", "inner"].map(|name| (name, Finish::Ended));
    assert_eq!(*told.lock().unwrap(), want);
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_cannot_start_tells_those_set_up_before_it() {
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = told.clone();
    let first: Box<dyn hoist_proxy_core::Layer> =
        Box::new(layer_fn(move |_session| Ok(Box::new(Finishes("first", kept.clone())))));
    let second: Box<dyn hoist_proxy_core::Layer> = Box::new(layer_fn(|_session| {
        Err(Error::LayerSetup {
            layer: "second".into(),
            source: std::sync::Arc::new(std::io::Error::other("no")),
        })
    }));
    let mut session = Stoppable::start(vec![first, second], 4);
    session.host.expect_end().await;
    assert!(matches!(session.ended().await, Err(Error::LayerSetup { .. })));
    assert_eq!(*told.lock().unwrap(), [("first", Finish::NeverBegan)]);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_is_never_answered_ends_with_its_server() {
    let layer: Act = crate::util::looks_up(2).lenient();
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    answer_own(&mut session.server).await;
    session.server.receive().await;
    session.server.close();
    let got = session.host.receive().await;
    assert!(is_error(&got, 1), "{got}");
    session.host.expect_end().await;
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_holds_may_still_ask_the_server_after_the_hosts_end() {
    let gate = Gate::new();
    let opens = gate.clone();
    let layer = act("looks-up", move |request, next| {
        let gate = gate.clone();
        Box::pin(async move {
            let answer = next.run(request).await?;
            gate.pass().await;
            next.run(lookup(0)).await?;
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    session.host.close();
    session.server.expect_nothing().await;
    opens.open();
    answer_own(&mut session.server).await;
    session.host.expect(&answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}
