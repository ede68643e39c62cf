//! *No differential*: with a strict layer, nothing of the host's that could be read in two ways
//! reaches the server; other layers do not act on it.

use crate::util::{Log, act, amends, answer, call, cross, passes, ping, raw, session};
use hoist_proxy_core::testkit;
use hoist_proxy_core::{Acts, Direction, Line};

/// Messages that two parsers may read in two ways, with the id of the answer and its code.
fn ambiguous() -> Vec<(String, &'static str, i64)> {
    let call = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
    };
    let mut cases: Vec<(String, &str, i64)> = [
        r#"{"name":"safe","name":"danger"}"#,
        r#"{"name":"safe","n\u0061me":"danger"}"#,
        r#"{"name":"safe","Name":"danger"}"#,
        r#"{"Name":"danger"}"#,
        r#"{"name":"a","arguments":{},"arguments":{"x":1}}"#,
        r#"{"name":"a","Arguments":{"x":1}}"#,
        r#"{"name":"a","arguments":{"x":1,"x":2}}"#,
        r#"{"name":"a","arguments":{"x":1,"\u0078":2}}"#,
        r#"{"name":"a","arguments":{"x":[1,{"y":{"z":1,"z":2}}]}}"#,
        r#"{"name":"a","arguments":{"\ud83d":1}}"#,
        r#"{"name":"a","_meta":{},"_meta":{}}"#,
    ]
    .into_iter()
    .map(|params| (call(params), "7", -32600))
    .collect();
    for (line, id, code) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call"}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{},"params":{}}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","PARAMS":{}}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"x"}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"x":1,"x":2,"method":"x"}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":7}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"\ud83d"}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{}}"#, "7", -32600),
        (r#"{"jsonrpc":"2.0","id":7}"#, "7", -32600),
        // Here it is the id that cannot be told.
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"x"}"#, "null", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"ID":8,"method":"x"}"#, "null", -32600),
        (r#"{"jsonrpc":"2.0","Id":7,"method":"x"}"#, "null", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "null", -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#, "null", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"id":{},"method":"x"}"#, "null", -32600),
        ("7", "null", -32600),
        ("\"x\"", "null", -32600),
        ("{}", "null", -32600),
        ("not JSON", "null", -32700),
        (r#"{"jsonrpc":"2.0","method":"x","params":"#, "null", -32700),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call",}"#, "null", -32700),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"} {}"#, "null", -32700),
        (" \u{feff}{\"id\":7,\"method\":\"tools/call\"}", "null", -32700),
    ] {
        cases.push((line.into(), id, code));
    }
    cases
}

#[tokio::test(start_paused = true)]
async fn what_can_be_read_in_two_ways_is_refused_with_a_strict_layer() {
    let (log, layer) = (Log::default(), passes().strict());
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    let cases = ambiguous();
    for (line, id, code) in &cases {
        session.host.send(line).await;
        let got = session.host.receive().await;
        let answer = raw(&got);
        assert_eq!(answer.get("id").unwrap().as_str(), *id, "{line}: {got}");
        let error = answer.get("error").unwrap().get("code").unwrap();
        assert_eq!(error.as_str(), code.to_string(), "{line}: {got}");
        session.server.expect_nothing().await;
    }
    assert_eq!(layer.ran.count(), 0);
    // What came and what was answered were both seen.
    assert_eq!(log.entries().len(), cases.len() * 2);
    // A plain call passes, and the layer runs.
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_strict_layer_it_reaches_the_server_and_no_layer_acts_on_it() {
    let (log, layer) = (Log::default(), amends("x"));
    let layer = layer.acts(Acts::nothing().on(Direction::ToServer, "tools/call"));
    let mut session = testkit::session(vec![log.layer(), layer.layer()]);
    for (line, ..) in &ambiguous() {
        cross(&mut session.host, &mut session.server, line).await;
    }
    assert_eq!(layer.ran.count(), 0);
    assert_eq!(log.entries().len(), ambiguous().len());
    // Their answers pass.
    cross(&mut session.server, &mut session.host, &answer(7)).await;
    // The same call, plain, is acted on.
    cross(&mut session.host, &mut session.server, &call(1)).await;
    session.server.send(&answer(1)).await;
    assert_ne!(session.host.receive().await, answer(1));
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn notifications_that_can_be_read_in_two_ways_are_dropped_without_an_answer() {
    let lines = [
        r#"{"jsonrpc":"2.0","method":"notifications/a","method":"notifications/b"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/a","params":{"level":1,"Level":2}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}"#,
    ];
    let layer = passes().strict();
    let mut strict = session(&[&layer]);
    for line in lines {
        strict.host.send(line).await;
    }
    strict.server.expect_nothing().await;
    strict.host.expect_nothing().await;
    cross(&mut strict.host, &mut strict.server, &call(1)).await;
    assert_eq!(layer.ran.count(), 1);
    // Without strictness they go on, unjudged, and cancel nothing here.
    let layer = passes().judging(|_note| hoist_proxy_core::Pass::Drop);
    let mut lenient = session(&[&layer]);
    cross(&mut lenient.host, &mut lenient.server, &call(2)).await;
    for line in lines {
        cross(&mut lenient.host, &mut lenient.server, line).await;
    }
    cross(&mut lenient.server, &mut lenient.host, &answer(2)).await;
    assert_eq!(layer.ran.count(), 1);
    lenient.end().await;
}

#[tokio::test(start_paused = true)]
async fn keys_of_the_users_own_may_differ_in_letter_case() {
    let layer = passes().strict();
    let mut session = session(&[&layer]);
    for params in [
        r#"{"name":"a","arguments":{"Name":1,"name":2,"X":1,"x":2}}"#,
        r#"{"name":"a","vendor":1,"Vendor":2}"#,
        r#"{"name":"a","_meta":{"k":1,"K":2}}"#,
        r#"{"name":"a","arguments":null}"#,
        r#"{"name":"a"}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        cross(&mut session.host, &mut session.server, &line).await;
        cross(&mut session.server, &mut session.host, &answer(1)).await;
    }
    assert_eq!(layer.ran.count(), 5);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn invalid_utf_8_of_the_hosts_is_refused_with_a_strict_layer() {
    let layer = passes().strict();
    let mut session = session(&[&layer]);
    let wire = b"{\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}\n";
    session.host.send_line(Line::from_wire(&wire[..])).await;
    let got = session.host.receive().await;
    assert!(got.contains("-32700"), "{got}");
    session.server.expect_nothing().await;
    // A blank line is no message, and harmless.
    cross(&mut session.host, &mut session.server, "").await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    assert_eq!(layer.ran.count(), 1);
}

/// Answers that two parsers may read in two ways.
const ODD_ANSWERS: [&str; 8] = [
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]},"result":{"content":[1]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"content":[1]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"Content":[1]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]},"Result":1}"#,
    r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"result":{"content":[]}}"#,
    r#"{"jsonrpc":"2.0","id":8,"id":7,"result":{"content":[]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]},"error":{"code":1}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{"content":[]},"method":"y"}"#,
];

#[tokio::test(start_paused = true)]
async fn a_servers_answer_that_can_be_read_in_two_ways_is_forwarded_and_not_acted_on() {
    for strict in [false, true] {
        let layer = if strict { amends("x").strict() } else { amends("x") };
        let mut session = session(&[&layer]);
        for (n, odd) in ODD_ANSWERS.iter().take(7).enumerate() {
            cross(&mut session.host, &mut session.server, &call(7)).await;
            cross(&mut session.server, &mut session.host, odd).await;
            assert_eq!(layer.ran.count(), n + 1);
        }
        // Nothing waits for ever behind them: a plain one is amended again.
        cross(&mut session.host, &mut session.server, &call(7)).await;
        session.server.send(&answer(7)).await;
        assert_ne!(session.host.receive().await, answer(7));
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_sees_neither_result_nor_error_of_an_unreadable_answer() {
    let layer = act("looks", |request, next| {
        Box::pin(async move {
            let answer = next.run(request).await?;
            assert!(answer.is_unreadable());
            assert!(answer.as_result().is_none() && answer.as_error().is_none());
            assert!(answer.as_complete().is_none());
            // Even a layer that insists changes nothing.
            Ok(answer.with_result(raw("{}")))
        })
    });
    let mut session = session(&[&layer]);
    for odd in &ODD_ANSWERS[..7] {
        cross(&mut session.host, &mut session.server, &call(7)).await;
        cross(&mut session.server, &mut session.host, odd).await;
    }
    assert_eq!(layer.ran.count(), 7);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_answer_of_the_hosts_ends_the_servers_request() {
    let strict = passes().strict();
    let mut session = session(&[&strict]);
    cross(&mut session.server, &mut session.host, &ping(1)).await;
    session.host.send(r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#).await;
    let got = session.server.receive().await;
    assert!(got.contains(r#""id":1,"error""#), "{got}");
    session.host.expect_nothing().await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    assert_eq!(strict.ran.count(), 1);
}
