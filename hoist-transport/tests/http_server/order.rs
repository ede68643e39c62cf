//! What is sent when, and with which headers.

use crate::server::{Setup, Step, legacy, reply, result};

#[tokio::test]
async fn what_follows_initialize_waits_for_its_answer() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "initialize" => [vec![Step::Wait(1)], legacy(request)].concat(),
        "notifications/initialized" => [vec![Step::Wait(2)], legacy(request)].concat(),
        _ => legacy(request),
    })
    .await;
    setup.host.send(r#"{"id":0,"method":"initialize"}"#).await;
    setup.host.send(r#"{"method":"notifications/initialized"}"#).await;
    setup.host.send(r#"{"id":1,"method":"ping"}"#).await;
    setup.until_asked(1).await;
    setup.go(1);
    assert!(setup.host.receive().await.contains("2025-06-18"));
    setup.until_asked(2).await;
    assert_eq!(setup.requests()[1].rpc(), "notifications/initialized");
    assert!(setup.asked("ping").is_empty());
    setup.go(2);
    assert!(setup.host.receive().await.contains("\"id\":1"));
    let asked = setup.end().await;
    assert_eq!(asked[0].header("mcp-session-id"), None);
    assert_eq!(asked[0].header("mcp-protocol-version"), None);
    for later in &asked[1..] {
        assert_eq!(later.header("mcp-session-id"), Some("s1"), "{later:?}");
        assert_eq!(later.header("mcp-protocol-version"), Some("2025-06-18"), "{later:?}");
    }
    assert_eq!(asked.last().unwrap().method, "DELETE");
}

#[tokio::test]
async fn every_post_says_what_it_takes() {
    let mut setup = Setup::with(legacy, |server| {
        server.header("X-Team", "orders").unwrap().header("Authorization", "Bearer t").unwrap()
    })
    .await;
    setup.handshake().await;
    setup.ask("1", "ping").await;
    for request in setup.end().await {
        if request.method == "POST" {
            assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
            assert_eq!(request.header("content-type"), Some("application/json"));
        }
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        assert_eq!(request.header("x-team"), Some("orders"));
        assert_eq!(request.header("authorization"), Some("Bearer t"));
        assert!(request.header("user-agent").unwrap().starts_with("hoist-mcp/"));
    }
}

#[tokio::test]
async fn requests_run_side_by_side_and_bodies_are_the_hosts_bytes() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "slow" => [vec![Step::Wait(1)], legacy(request)].concat(),
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    setup.host.send("{ \"id\":1.0 ,\"method\":\"slow\", \"params\":{\"a\":1.50}}").await;
    assert_eq!(setup.ask("2", "ping").await["id"], 2);
    setup.go(1);
    assert!(setup.host.receive().await.contains("\"id\":1"));
    let slow = setup.asked("slow").pop().unwrap();
    assert_eq!(slow.body, "{ \"id\":1.0 ,\"method\":\"slow\", \"params\":{\"a\":1.50}}");
    setup.end().await;
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

#[tokio::test]
async fn modern_requests_carry_their_own_headers_and_no_session() {
    let mut setup = Setup::new(legacy).await;
    setup.handshake().await;
    setup
        .host
        .send(&format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"a é",{META}}}}}"#))
        .await;
    setup.host.receive().await;
    let call = setup.asked("tools/call").pop().unwrap();
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("=?base64?YSDDqQ==?="));
    assert_eq!(call.header("mcp-session-id"), None);
    setup.end().await;
}

#[tokio::test]
async fn a_modern_request_is_cancelled_by_closing_its_stream() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "slow" => vec![Step::Wait(1)],
        _ => legacy(request),
    })
    .await;
    setup.host.send(&format!(r#"{{"id":1,"method":"slow","params":{{{META}}}}}"#)).await;
    setup.until_asked(1).await;
    setup.host.send(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    // The session ends although the request is never answered.
    let asked = setup.end().await;
    assert_eq!(asked.len(), 1, "the cancellation is not posted: {asked:?}");
}

#[tokio::test]
async fn a_legacy_cancellation_is_posted() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "slow" => [vec![Step::Wait(1)], legacy(request)].concat(),
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    setup.host.send(r#"{"id":1,"method":"slow"}"#).await;
    setup.host.send(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    assert_eq!(setup.ask("2", "ping").await["id"], 2);
    assert_eq!(setup.asked("notifications/cancelled").len(), 1);
    setup.go(1);
    assert!(setup.host.receive().await.contains("\"id\":1"));
    setup.end().await;
}

#[tokio::test]
async fn arguments_that_a_tool_wants_in_headers_are_put_there() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "tools/list" => crate::server::json(&result(
            request,
            r#"{"tools":[{"name":"t","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}]}"#,
        )),
        // As a server does whose tools have changed since they were listed.
        "tools/call" if request.header("mcp-param-region").is_none() => {
            let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"mismatch"}}"#;
            reply("400 Bad Request", &[("content-type", "application/json")], body)
        }
        _ => legacy(request),
    })
    .await;
    let call = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"r":"eu"}},{META}}}}}"#
    );
    setup.host.send(&call).await;
    setup.host.expect(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    let asked: Vec<String> = setup.requests().iter().map(crate::server::Request::rpc).collect();
    assert_eq!(asked, ["tools/call", "tools/list", "tools/call"]);
    assert_eq!(setup.requests()[2].header("mcp-param-region"), Some("eu"));
    // A call that is refused again is answered with the server's own error.
    setup.host.send(&call.replace("\"r\":\"eu\"", "")).await;
    let answer: serde_json::Value = serde_json::from_str(&setup.host.receive().await).unwrap();
    assert_eq!(answer["error"]["code"], -32020);
    assert_eq!(setup.asked("tools/call").len(), 4);
    setup.end().await;
}

#[tokio::test]
async fn a_legacy_request_that_was_cancelled_is_waited_for_no_longer() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "slow" => vec![Step::Wait(1)],
        "ends" => crate::server::events([Step::Wait(2)]),
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    setup.host.send(r#"{"id":1,"method":"slow"}"#).await;
    setup.host.send(r#"{"id":2,"method":"ends"}"#).await;
    for id in [1, 2] {
        let cancel =
            format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
        setup.host.send(&cancel).await;
    }
    assert_eq!(setup.ask("3", "ping").await["id"], 3);
    // A stream that ends without the answer is no error then.
    setup.go(2);
    assert_eq!(setup.ask("4", "ping").await["id"], 4);
    let asked = setup.end().await;
    assert_eq!(asked.iter().filter(|r| r.rpc() == "notifications/cancelled").count(), 2);
}

#[tokio::test]
async fn the_url_is_used_as_it_was_given() {
    let mut setup = Setup::with_path("/a//mcp/?k=v%20x", legacy).await;
    setup.handshake().await;
    setup.ask("1", "ping").await;
    let asked = setup.end().await;
    assert!(asked.iter().all(|request| request.path == "/a//mcp/?k=v%20x"), "{asked:?}");
}

#[tokio::test]
async fn a_tool_that_breaks_the_rules_for_headers_is_not_called() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "tools/list" => crate::server::json(&result(
            request,
            r#"{"tools":[{"name":"t","inputSchema":{"properties":{"r":{"type":"number","x-mcp-header":"R"}}}}]}"#,
        )),
        _ => legacy(request),
    })
    .await;
    setup.host.send(&format!(r#"{{"id":1,"method":"tools/list","params":{{{META}}}}}"#)).await;
    // The list itself stays as the server gave it.
    assert!(setup.host.receive().await.contains("\"t\""));
    let call = format!(r#"{{"id":2,"method":"tools/call","params":{{"name":"t",{META}}}}}"#);
    setup.host.send(&call).await;
    let answer: serde_json::Value = serde_json::from_str(&setup.host.receive().await).unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("x-mcp-header"), "{answer}");
    assert!(setup.asked("tools/call").is_empty());
    setup.end().await;
}
