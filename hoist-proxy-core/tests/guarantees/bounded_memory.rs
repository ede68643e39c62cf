//! *Bounded memory*: a message over the limit costs that message, never the session.

use hoist_proxy_core::MAX_EXCHANGES;
use hoist_proxy_core::testkit::{self, Session};

use crate::util::{
    Act, Log, act, answer, answer_own, call, cross, handshake, id_of, lookup, note, passes, ping,
    raw,
};

const LIMIT: usize = 4096;

fn limited(layers: &[&Act], log: &Log) -> Session {
    let mut all = vec![log.layer()];
    all.extend(layers.iter().map(|l| l.layer()));
    testkit::session_with(all, |proxy| proxy.max_message_bytes(LIMIT))
}

fn padded(line: &str) -> String {
    let end = line.len() - 1;
    format!(r#"{},"x":"{}"}}"#, &line[..end], "x".repeat(LIMIT))
}

fn is_too_long(line: &str, id: &str, code: &str) {
    let got = raw(line);
    assert_eq!(got.get("id").unwrap().as_str(), id);
    let error = got.get("error").unwrap();
    assert_eq!(error.get("code").unwrap().as_str(), code, "{line}");
    assert!(line.contains("limit of 4096 bytes"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_request_over_the_limit_is_answered_with_an_error() {
    let (log, layer) = (Log::default(), passes());
    let mut session = limited(&[&layer], &log);
    for (line, id) in [
        (call("\"a\\u0062\""), "\"a\\u0062\""),
        (ping(1.5), "1.5"),
        (r#"{"params":{"id":9},"method":"x","id":7,"p":{"id":8}}"#.to_owned(), "7"),
    ] {
        session.host.send(&padded(&line)).await;
        // The sender's own fault.
        is_too_long(&session.host.receive().await, id, "-32600");
    }
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 0);
    // The session lives, and the layer acts.
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    let lost = log.lines().iter().filter(|l| *l == "Client lost").count();
    assert_eq!(lost, 3);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_over_the_limit_is_an_error_in_its_place() {
    let (log, layer) = (Log::default(), passes());
    let mut session = limited(&[&layer], &log);
    // One that a layer waits for, one that nobody does, and one to a request of the server's.
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.host, &mut session.server, &ping(2)).await;
    for id in [1, 2] {
        session.server.send(&padded(&answer(id))).await;
        is_too_long(&session.host.receive().await, &id.to_string(), "-32603");
    }
    cross(&mut session.server, &mut session.host, &ping("\"s\"")).await;
    session.host.send(&padded(&answer("\"s\""))).await;
    is_too_long(&session.server.receive().await, "\"s\"", "-32603");
    session.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_own_answer_over_the_limit_is_the_layers_error() {
    let log = Log::default();
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            assert!(next.run(lookup(0)).await?.as_error().is_some());
            next.run(lookup(1)).await?;
            next.run(request).await
        })
    });
    let mut session = limited(&[&layer], &log);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let own = session.server.receive().await;
    session.server.send(&padded(&answer(id_of(&own)))).await;
    answer_own(&mut session.server).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn notifications_arrays_and_noise_over_the_limit_are_dropped() {
    let (log, layer) = (Log::default(), passes());
    let mut session = limited(&[&layer], &log);
    let noise = "n".repeat(LIMIT + 1);
    for line in [padded(&note(1)), format!("[{}]", padded(&call(1))), noise] {
        session.host.send(&line).await;
        session.server.send(&line).await;
    }
    session.host.expect_nothing().await;
    session.server.expect_nothing().await;
    // One at the limit passes.
    let fits = format!("{}{}", call(1), " ".repeat(LIMIT - 1 - call(1).len()));
    cross(&mut session.host, &mut session.server, &fits).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    assert_eq!(log.lines().iter().filter(|l| l.ends_with("lost")).count(), 6);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_passive_session_has_no_limit() {
    let log = Log::default();
    let mut session = limited(&[], &log);
    let line = padded(&call(1));
    cross(&mut session.host, &mut session.server, &line).await;
    let line = padded(&answer(1));
    cross(&mut session.server, &mut session.host, &line).await;
    assert_eq!(log.entries().len(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn requests_past_the_most_in_flight_are_refused() {
    let layer = passes();
    let (mut host, downstream) = testkit::host_with_capacity(MAX_EXCHANGES * 2);
    let (mut server, upstream) = testkit::server_with_capacity(MAX_EXCHANGES * 2);
    let proxy = hoist_proxy_core::Proxy::new(downstream, upstream).layer(layer.layer());
    let running = tokio::spawn(proxy.run(std::future::pending()));
    for n in 0..=MAX_EXCHANGES {
        host.send(&call(n)).await;
    }
    let got = host.receive().await;
    assert_eq!(id_of(&got), MAX_EXCHANGES.to_string());
    assert!(got.contains("in flight already"), "{got}");
    // One more fits once one is answered.
    for n in 0..MAX_EXCHANGES {
        server.expect(&call(n)).await;
    }
    cross(&mut server, &mut host, &answer(0)).await;
    cross(&mut host, &mut server, &call("\"again\"")).await;
    assert_eq!(layer.ran.count(), MAX_EXCHANGES + 1);
    drop((host, server));
    running.await.unwrap().unwrap().into_last().unwrap();
}
