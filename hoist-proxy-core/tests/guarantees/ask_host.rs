//! A layer asks the host something in the middle of an exchange.

use std::time::Duration;

use hoist_proxy_core::testkit;
use hoist_proxy_core::{Error, Response};

use crate::util::{
    Act, Gate, Log, act, answer, call, cancel, cross, handshake, handshake_with, id_of, ping, raw,
    session,
};

const PARAMS: &str = r#"{"message":"sure?","requestedSchema":{"type":"object"}}"#;

/// Asks before it passes the call on; refuses when the answer is none.
fn asks() -> Act {
    act("asks", |request, next| {
        Box::pin(async move {
            let asked = next
                .exchange()
                .ask_host("elicitation/create", raw(PARAMS), Duration::from_secs(60))
                .await;
            match asked {
                Ok(answer) if answer.as_result().is_some() => next.run(request).await,
                Ok(_) => Ok(Response::error(-1, "no")),
                Err(Error::HostCannot { .. }) => Ok(Response::error(-2, "cannot")),
                Err(error) => Err(error),
            }
        })
    })
}

fn modern_with(id: impl std::fmt::Display, capabilities: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}{more}}}}}"#
    )
}

fn modern(id: impl std::fmt::Display) -> String {
    modern_with(id, r#"{"elicitation":{}}"#, "")
}

/// The retry of a request that was answered with this question.
fn retry(id: impl std::fmt::Display, question: &str) -> String {
    let result = raw(question).get("result").unwrap();
    let state = result.get("requestState").unwrap();
    let requests = result.get("inputRequests").unwrap();
    let key = requests.as_str().split('"').nth(1).unwrap();
    modern_with(
        id,
        r#"{"elicitation":{}}"#,
        &format!(
            r#","inputResponses":{{"{key}":{{"action":"accept","content":{{}}}}}},"requestState":{state}"#
        ),
    )
}

#[tokio::test(start_paused = true)]
async fn a_legacy_host_is_asked_with_an_own_id_and_the_server_sees_nothing_of_it() {
    let layer = asks();
    let mut session = session(&[&layer]);
    handshake_with(&mut session, r#"{"elicitation":{}}"#).await;
    session.host.send(&call(1)).await;
    session
        .host
        .expect(&format!(
            r#"{{"jsonrpc":"2.0","id":"hoist-1","method":"elicitation/create","params":{PARAMS}}}"#
        ))
        .await;
    session.server.expect_nothing().await;
    let accept = r#"{"jsonrpc":"2.0","id":"hoist-1","result":{"action":"accept"}}"#;
    session.host.send(accept).await;
    session.server.expect(&call(1)).await;
    // A second answer is swallowed as well.
    session.host.send(accept).await;
    session.server.expect_nothing().await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_legacy_host_without_the_capability_is_not_asked() {
    for capabilities in ["{}", r#"{"sampling":{}}"#, r#"{"elicitation":null}"#] {
        let layer = asks();
        let mut session = session(&[&layer]);
        handshake_with(&mut session, capabilities).await;
        session.host.send(&call(1)).await;
        let got = session.host.receive().await;
        assert!(got.contains(r#""code":-2"#), "{got}");
        session.server.expect_nothing().await;
        assert_eq!(layer.ran.count(), 1);
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_host_that_does_not_answer_in_time_is_told_and_its_call_answered() {
    let layer = asks();
    let mut session = session(&[&layer]);
    handshake_with(&mut session, r#"{"elicitation":{}}"#).await;
    session.host.send(&call(1)).await;
    let question = session.host.receive().await;
    tokio::time::advance(Duration::from_secs(61)).await;
    session.host.expect(&cancel(id_of(&question))).await;
    let got = session.host.receive().await;
    assert!(got.contains(r#""id":1,"error""#), "{got}");
    // Its late answer goes no further.
    session.host.send(&answer(id_of(&question))).await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_legacy_call_cancelled_while_the_host_is_asked_is_over() {
    let layer = asks();
    let mut session = session(&[&layer]);
    handshake_with(&mut session, r#"{"elicitation":{}}"#).await;
    session.host.send(&call(1)).await;
    let question = session.host.receive().await;
    session.host.send(&cancel(1)).await;
    session.host.expect(&cancel(id_of(&question))).await;
    session.host.expect_nothing().await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_host_is_asked_by_the_answer_and_goes_on_under_the_new_id() {
    let (log, layer) = (Log::default(), asks());
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    session.host.send(&modern(1)).await;
    let question = session.host.receive().await;
    let got = raw(&question);
    assert_eq!(got.get("id").unwrap().as_str(), "1");
    let result = got.get("result").unwrap();
    assert_eq!(result.get("resultType").unwrap().text().unwrap(), "input_required");
    let requests = result.get("inputRequests").unwrap();
    let want = format!(r#"{{"method":"elicitation/create","params":{PARAMS}}}"#);
    assert!(requests.as_str().ends_with(&format!("{want}}}")), "{question}");
    session.server.expect_nothing().await;
    // The host may use the first id for something else meanwhile.
    cross(&mut session.host, &mut session.server, &ping(1)).await;
    cross(&mut session.host, &mut session.server, &cancel(1)).await;
    session.host.send(&retry("\"new\"", &question)).await;
    session.server.expect(&modern("\"new\"")).await;
    cross(&mut session.server, &mut session.host, &answer("\"new\"")).await;
    session.host.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    assert!(log.lines().contains(&format!("Proxy asks {question}")));
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_answer_in_hand_is_given_under_the_new_id() {
    let layer = act("asks", |request, next| {
        Box::pin(async move {
            let answer = next.run(request).await?;
            let exchange = next.exchange();
            for _ in 0..2 {
                exchange.ask_host("elicitation/create", raw("{}"), Duration::MAX).await?;
            }
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &modern(1)).await;
    session.server.send(&answer(1)).await;
    let question = session.host.receive().await;
    session.host.send(&retry(2, &question)).await;
    let question = session.host.receive().await;
    assert_eq!(id_of(&question), "2");
    session.host.send(&retry(3, &question)).await;
    session.host.expect(&answer(3)).await;
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_request_state_is_refused_and_anybody_elses_goes_on() {
    let layer = asks();
    let mut session = session(&[&layer]);
    session.host.send(&modern(1)).await;
    let question = session.host.receive().await;
    session.host.send(&retry(2, &question)).await;
    session.server.expect(&modern(2)).await;
    // The same state a second time.
    session.host.send(&retry(3, &question)).await;
    let got = session.host.receive().await;
    assert!(got.contains(r#""id":3,"error":{"code":-32602"#), "{got}");
    session.server.expect_nothing().await;
    cross(&mut session.server, &mut session.host, &answer(2)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_state_of_the_servers_or_of_another_proxys_goes_on() {
    // The far proxy's layer asks; the near one has asked before under its own first number.
    let (near_layer, far_layer) = (asks(), asks());
    let mut near = session(&[&near_layer]);
    let mut far = session(&[&far_layer]);
    near.host.send(&modern(1)).await;
    let first = near.host.receive().await;
    near.host.send(&retry(2, &first)).await;
    far.host.send(&near.server.receive().await).await;
    near.server.send(&far.host.receive().await).await;
    let second = near.host.receive().await;
    // To the near proxy this is a new request: its layer asks again, and passes it on.
    near.host.send(&retry(3, &second)).await;
    let third = near.host.receive().await;
    near.host.send(&retry(4, &third)).await;
    let passed = near.server.receive().await;
    assert_eq!(passed, retry(4, &second), "the far proxy's state goes to the far proxy");
    far.host.send(&passed).await;
    far.server.expect(&modern(4)).await;
    assert_eq!((near_layer.ran.count(), far_layer.ran.count()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_modern_host_without_the_capability_is_not_asked() {
    let layer = asks();
    let mut session = session(&[&layer]);
    for (id, capabilities) in ["{}", "null", r#"{"elicitation":null}"#].iter().enumerate() {
        session.host.send(&modern_with(id, capabilities, "")).await;
        let got = session.host.receive().await;
        assert!(got.contains(r#""code":-2"#), "{got}");
    }
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 3);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_host_that_never_retries_leaves_nothing_behind() {
    let layer = asks();
    let mut session = session(&[&layer]);
    session.host.send(&modern(1)).await;
    let question = session.host.receive().await;
    session.host.expect_nothing().await;
    tokio::time::advance(Duration::from_secs(61)).await;
    session.host.expect_nothing().await;
    session.host.send(&retry(2, &question)).await;
    let got = session.host.receive().await;
    assert!(got.contains(r#""id":2,"error":{"code":-32602"#), "{got}");
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_does_not_answer_is_a_host_that_cannot() {
    let layer = asks();
    let mut session = session(&[&layer]);
    session.host.send(&modern(1)).await;
    let question = session.host.receive().await;
    let state = raw(&question).get("result").unwrap().get("requestState").unwrap();
    let bare = modern_with(2, r#"{"elicitation":{}}"#, &format!(r#","requestState":{state}"#));
    session.host.send(&bare).await;
    let got = session.host.receive().await;
    assert!(got.contains(r#""id":2,"error":{"code":-2"#), "{got}");
    session.server.expect_nothing().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_call_in_flight_while_the_host_is_asked_is_still_answered() {
    let layer = act("asks", |request, next| {
        Box::pin(async move {
            let exchange = next.exchange();
            let ask = exchange.ask_host("elicitation/create", raw("{}"), Duration::MAX);
            let (answer, _asked) = futures::future::try_join(next.run(request), ask).await?;
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &modern(1)).await;
    let question = session.host.receive().await;
    session.server.send(&answer(1)).await;
    session.host.expect_nothing().await;
    session.host.send(&retry(2, &question)).await;
    session.host.expect(&answer(2)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_by_way_of_a_batch() {
    let layer = asks();
    let mut session = session(&[&layer]);
    session.host.send(&format!("[{},{}]", modern(1), ping(2))).await;
    session.server.expect(&ping(2)).await;
    session.server.send(&answer(2)).await;
    let got = session.host.receive().await;
    assert!(got.starts_with(r#"[{"jsonrpc":"2.0","id":1,"error":{"code":-2"#), "{got}");
    // A retry in a batch goes on, and keeps nobody in the batch waiting.
    session.host.send(&modern(3)).await;
    let question = session.host.receive().await;
    session.host.send(&format!("[{},{}]", retry(4, &question), ping(5))).await;
    session.server.expect(&modern(4)).await;
    session.server.expect(&ping(5)).await;
    session.server.send(&answer(5)).await;
    session.host.expect(&format!("[{}]", answer(5))).await;
    cross(&mut session.server, &mut session.host, &answer(4)).await;
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_the_host_thinks() {
    let layer = asks().hold_ms(10);
    let mut session = session(&[&layer]);
    handshake_with(&mut session, r#"{"elicitation":{}}"#).await;
    session.host.send(&call(1)).await;
    let question = session.host.receive().await;
    tokio::time::advance(Duration::from_secs(59)).await;
    session.host.send(&answer(id_of(&question))).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_ends_while_it_is_asked_lets_the_session_end() {
    let over = Gate::new();
    let told = over.clone();
    let layer = act("asks", move |_request, next| {
        let told = told.clone();
        Box::pin(async move {
            let asked = next.exchange().ask_host("ping", raw("{}"), Duration::MAX).await;
            assert!(matches!(asked, Err(Error::Closed { .. })));
            told.open();
            Ok(Response::error(-1, "nobody said yes"))
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    session.host.receive().await;
    session.host.close();
    let got = session.host.receive().await;
    assert!(got.contains("nobody said yes"), "{got}");
    over.pass().await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}
