//! *Own requests*: they carry the era of the exchange they serve, and wait until the session is
//! open for them.

use hoist_proxy_core::{Error, Request};

use crate::util::{
    Act, act, answer, answer_own, call, cross, handshake, id_of, looks_up, lookup, ping, raw,
    session,
};

fn modern(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}},"io.modelcontextprotocol/clientInfo":{{"name":"h","version":"1.0"}},"progressToken":7,"traceparent":"x"}}}}}}"#
    )
}

/// Looks something up and passes the call on, whatever came of it; keeps what came of it.
fn tries() -> (Act, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = seen.clone();
    let layer = act("tries", move |request, next| {
        let kept = kept.clone();
        Box::pin(async move {
            let found = next.run(lookup(0)).await;
            kept.lock().unwrap().push(match found {
                Ok(_) => "found".into(),
                Err(error) => error.to_string(),
            });
            next.run(request).await
        })
    });
    (layer, seen)
}

#[tokio::test(start_paused = true)]
async fn legacy_own_requests_wait_for_the_handshake_to_end() {
    let layer = looks_up(1);
    let mut session = session(&[&layer]);
    let initialize = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}"#;
    cross(&mut session.host, &mut session.server, initialize).await;
    session.host.send(&call(1)).await;
    session.server.expect_nothing().await;
    cross(&mut session.server, &mut session.host, &answer("\"init\"")).await;
    session.server.expect_nothing().await;
    session.host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    session.server.expect(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let own = answer_own(&mut session.server).await;
    assert_eq!(
        own,
        r#"{"jsonrpc":"2.0","id":"hoist-1","method":"tools/call","params":{"name":"lookup","arguments":{"n":0}}}"#
    );
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn they_do_not_wait_for_a_host_that_has_gone_in_the_middle_of_the_handshake() {
    let (layer, seen) = tries();
    let mut session = session(&[&layer]);
    let initialize = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}"#;
    cross(&mut session.host, &mut session.server, initialize).await;
    cross(&mut session.server, &mut session.host, &answer("\"init\"")).await;
    session.host.send(&call(1)).await;
    session.server.expect_nothing().await;
    session.host.close();
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(*seen.lock().unwrap(), [Error::TooEarly.to_string()]);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn they_are_never_the_first_on_a_connection() {
    // Legacy, no handshake at all.
    let (layer, seen) = tries();
    let mut legacy = session(&[&layer]);
    cross(&mut legacy.host, &mut legacy.server, &ping(0)).await;
    cross(&mut legacy.server, &mut legacy.host, &answer(0)).await;
    cross(&mut legacy.host, &mut legacy.server, &call(1)).await;
    cross(&mut legacy.server, &mut legacy.host, &answer(1)).await;
    assert_eq!(*seen.lock().unwrap(), [Error::TooEarly.to_string()]);
    assert_eq!(layer.ran.count(), 1);
    legacy.end().await;
    // Modern: the first call goes ahead of it, the second has its lookup.
    let (layer, seen) = tries();
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &modern(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    session.host.send(&modern(2)).await;
    answer_own(&mut session.server).await;
    session.server.expect(&modern(2)).await;
    cross(&mut session.server, &mut session.host, &answer(2)).await;
    assert_eq!(*seen.lock().unwrap(), [Error::TooEarly.to_string(), "found".into()]);
    assert_eq!(layer.ran.count(), 2);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn modern_ones_carry_the_version_and_no_capabilities() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            let answer = next.run(request).await?;
            let params = r#"{"a":1.0,"_meta":{"progressToken":1,"x/y":[null]}}"#;
            next.run(Request::own("a/b", Some(raw(params)))).await?;
            next.run(Request::own("c/d", None)).await?;
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &modern(1)).await;
    session.server.send(&answer(1)).await;
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let client = r#""io.modelcontextprotocol/clientInfo":{"name":"h","version":"1.0"}"#;
    let none = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let first = answer_own(&mut session.server).await;
    let params = raw(&first).get("params").unwrap();
    assert_eq!(
        params.as_str(),
        format!(r#"{{"a":1.0,"_meta":{{"x/y":[null],{version},{client},{none}}}}}"#)
    );
    let second = answer_own(&mut session.server).await;
    let params = raw(&second).get("params").unwrap();
    assert_eq!(params.as_str(), format!(r#"{{"_meta":{{{version},{client},{none}}}}}"#));
    session.host.expect(&answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_gives_its_own_meta_keeps_it_less_the_progress_token() {
    // As a committer does: the host's own metadata.
    let layer = act("commits", |request, next| {
        Box::pin(async move {
            let params = request.params().cloned();
            let answer = next.run(request).await?;
            next.run(Request::own("tools/call", params)).await?;
            Ok(answer)
        })
    });
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &modern(1)).await;
    session.server.send(&answer(1)).await;
    let own = answer_own(&mut session.server).await;
    let want = modern(1).replace(r#""id":1"#, &format!(r#""id":{}"#, id_of(&own)));
    assert_eq!(own, want.replace(r#","progressToken":7"#, ""));
    session.host.expect(&answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn legacy_ones_carry_no_meta_but_a_given_one() {
    let layer = act("looks-up", |request, next| {
        Box::pin(async move {
            next.run(Request::own("a/b", None)).await?;
            let params = r#"{"_meta":{"x":1,"progressToken":"p"}}"#;
            next.run(Request::own("c/d", Some(raw(params)))).await?;
            next.run(request).await
        })
    });
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let first = answer_own(&mut session.server).await;
    assert_eq!(first, r#"{"jsonrpc":"2.0","id":"hoist-1","method":"a/b"}"#);
    let second = answer_own(&mut session.server).await;
    assert_eq!(raw(&second).get("params").unwrap().as_str(), r#"{"_meta":{"x":1}}"#);
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_dual_era_host_that_falls_back_gets_legacy_lookups() {
    let layer = looks_up(1);
    let mut session = session(&[&layer]);
    let discover = modern(0).replace("tools/call", "server/discover");
    cross(&mut session.host, &mut session.server, &discover).await;
    let no = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#;
    cross(&mut session.server, &mut session.host, no).await;
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let own = answer_own(&mut session.server).await;
    assert!(!own.contains("_meta"), "{own}");
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn they_pass_the_layers_inside_and_not_those_outside() {
    let outer = crate::util::passes();
    let middle = looks_up(2);
    let inner = act("inner", |request, next| {
        Box::pin(async move {
            if request.is_own() {
                assert!(request.id().is_none());
                return Ok(hoist_proxy_core::Response::result(raw("{}")));
            }
            next.run(request).await
        })
    });
    let mut session = session(&[&outer, &middle, &inner]);
    handshake(&mut session).await;
    cross(&mut session.host, &mut session.server, &call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!((outer.ran.count(), middle.ran.count(), inner.ran.count()), (1, 1, 3));
    session.end().await;
}
