//! Every crossing is observed, with its side and who made it, before the line moves on.

use hoist_proxy_core::testkit;
use hoist_proxy_core::{
    Acts, Crossing, Direction, Emit, Interceptor, Pass, Response, Side, layer_fn,
};

use crate::util::{
    Log, act, amends, answer, answer_own, call, cancel, cross, handshake, looks_up, note, passes,
    ping, raw, refuses,
};

/// A layer that emits a line of context before each `tools/call`.
struct Context;

impl Interceptor for Context {
    fn name(&self) -> &'static str {
        "context"
    }

    fn observe(&self, crossing: &Crossing<'_>, emit: &mut Emit) {
        let called = crossing.message().and_then(|m| m.method()) == Some("tools/call");
        if crossing.side() == Side::Client && called {
            emit.context(&raw(r#"{"context":1}"#));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_with_two_lookups_is_seen_in_the_order_it_happened() {
    let (log, layer) = (Log::default(), looks_up(2));
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    handshake(&mut session).await;
    let before = log.entries().len();
    session.host.send(&call(1)).await;
    answer_own(&mut session.server).await;
    answer_own(&mut session.server).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    let own = |n: usize| {
        format!(
            r#"Proxy looks-up {{"jsonrpc":"2.0","id":"hoist-{}","method":"tools/call","params":{{"name":"lookup","arguments":{{"n":{n}}}}}}}"#,
            n + 1
        )
    };
    assert_eq!(
        log.lines()[before..],
        [
            format!("Client {}", call(1)),
            own(0),
            format!("Server {}", answer("\"hoist-1\"")),
            own(1),
            format!("Server {}", answer("\"hoist-2\"")),
            format!("Server {}", answer(1)),
        ]
    );
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn lookups_made_at_once_are_seen_before_their_answers() {
    let log = Log::default();
    let layer = act("flow", |request, next| {
        Box::pin(async move {
            let answer = next.run(request).await?;
            let lookups = [0, 1].map(|n| next.run(crate::util::lookup(n)));
            futures::future::try_join_all(lookups).await?;
            Ok(crate::util::with_item(answer, "found"))
        })
    });
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    handshake(&mut session).await;
    let before = log.entries().len();
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    for _ in 0..2 {
        session.server.receive().await;
    }
    for n in [1, 2] {
        session.server.send(&answer(format!("\"hoist-{n}\""))).await;
    }
    session.host.receive().await;
    let (client, server, proxy) = (Side::Client, Side::Server, Side::Proxy);
    assert_eq!(log.sides()[before..], [client, server, proxy, proxy, server, server, proxy]);
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_proxy_makes_names_the_layer_that_made_it() {
    let rewrites = act("rewrites", |request, next| {
        Box::pin(async move { next.run(request.with_params(raw("{}"))).await })
    });
    for (layer, want) in [
        (refuses(), vec!["Client", "Proxy refuses"]),
        (amends("x"), vec!["Client", "Server", "Proxy amends"]),
        (rewrites, vec!["Client", "Proxy rewrites", "Server"]),
        (passes(), vec!["Client", "Server"]),
        (act("breaks", |_, _| panic!("before")), vec!["Client", "Proxy proxy"]),
    ] {
        let (log, outer) = (Log::default(), passes());
        let mut session = testkit::session(vec![log.layer(), outer.layer(), layer.layer()]);
        session.host.send(&call(1)).await;
        if want.contains(&"Server") {
            session.server.receive().await;
            session.server.send(&answer(1)).await;
        }
        session.host.receive().await;
        let seen: Vec<String> = log
            .lines()
            .iter()
            .map(|l| l.split(" {").next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(seen, want);
        assert_eq!((outer.ran.count(), layer.ran.count()), (1, 1));
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_lookup_given_to_the_host_is_the_layers() {
    let log = Log::default();
    let layer = act("answers", |_request, next| {
        Box::pin(async move { next.run(crate::util::lookup(0)).await })
    });
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    answer_own(&mut session.server).await;
    session.host.expect(&answer(1)).await;
    let last = log.lines().pop().unwrap();
    assert_eq!(last, format!("Proxy answers {}", answer(1)));
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn cancellations_the_proxy_makes_are_seen() {
    let (log, layer) = (Log::default(), looks_up(1));
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    session.server.receive().await;
    session.host.send(&cancel(1)).await;
    session.server.expect(&cancel("\"hoist-1\"")).await;
    let lines = log.lines();
    assert_eq!(
        lines[lines.len() - 2..],
        [format!("Client {}", cancel(1)), format!("Proxy looks-up {}", cancel("\"hoist-1\""))]
    );
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn context_reaches_the_layers_inside_before_the_call_it_precedes() {
    let (outside, inside, acts) = (Log::default(), Log::default(), passes());
    let context = layer_fn(|_session| Ok(Box::new(Context)));
    let layers = vec![outside.layer(), Box::new(context), inside.layer(), acts.layer()];
    let mut session = testkit::session(layers);
    cross(&mut session.host, &mut session.server, &ping(1)).await;
    cross(&mut session.host, &mut session.server, &call(2)).await;
    assert_eq!(
        inside.lines(),
        [
            format!("Client {}", ping(1)),
            r#"Context context {"context":1}"#.into(),
            format!("Client {}", call(2)),
        ]
    );
    assert_eq!(outside.lines(), [format!("Client {}", ping(1)), format!("Client {}", call(2))]);
    assert_eq!(acts.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_notification_is_dropped_or_replaced_as_judged() {
    let log = Log::default();
    let layer = passes().judging(|note| match note.params().and_then(|p| p.get("n")) {
        Some(n) if n.as_str() == "1" => Pass::Drop,
        Some(n) if n.as_str() == "2" => {
            Pass::Replace(hoist_proxy_core::Line::from_body(crate::util::note(9).as_bytes()))
        }
        _ => Pass::On,
    });
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    for n in 1..4 {
        session.server.send(&note(n)).await;
    }
    session.host.expect(&note(9)).await;
    session.host.expect(&note(3)).await;
    assert_eq!(
        log.lines(),
        [
            format!("Server {}", note(1)),
            format!("Server {}", note(2)),
            format!("Proxy passes {}", note(9)),
            format!("Server {}", note(3)),
        ]
    );
    assert_eq!(layer.ran.count(), 3);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_a_layer_makes_is_complete_in_the_modern_era_only() {
    let layer = act("answers", |_request, _next| {
        Box::pin(async { Ok(Response::result(raw(r#"{"content":[]}"#))) })
    })
    .acts(Acts::nothing().on(Direction::ToServer, "tools/call"));
    let mut session = crate::util::session(&[&layer]);
    session.host.send(&call(1)).await;
    session.host.expect(&answer(1)).await;
    let modern = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    session.host.send(modern).await;
    session
        .host
        .expect(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"resultType":"complete"}}"#)
        .await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}
