//! Hosts of the modern era.

use crate::client::{Client, Request, post};
use crate::setup::{Setup, any_port, modern, modern_with, note, request, result};

/// Asks, and returns the connection on which the answer is to come.
async fn ask(setup: &Setup, request: &Request) -> Client {
    let mut client = setup.client().await;
    client.say(request).await;
    client
}

#[tokio::test]
async fn a_request_is_answered_in_one_body_where_nothing_comes_before() {
    let mut setup = Setup::new().await;
    let (text, discover) = modern("0", "server/discover", "c");
    let mut client = ask(&setup, &discover).await;
    let mut server = setup.server().await.peer;
    server.expect(&text).await;
    server.send(&result("0", "this is it")).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, &*answer.body), (200, &*result("0", "this is it")));
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    assert_eq!(answer.head.header("mcp-session-id"), None);
    // Where something does, in events, that have no ids.
    let (text, call) = modern_with("1", "tools/list", "c", r#","progressToken":7"#);
    client.say(&call).await;
    server.expect(&text).await;
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":7}}"#;
    server.send(progress).await;
    assert!(client.head().await.is_events());
    assert_eq!(client.event().await.unwrap().text, format!("event: message\ndata: {progress}\n\n"));
    server.send(&result("1", "done")).await;
    assert_eq!(client.message().await, result("1", "done"));
    client.expect_end().await;
    // To a host that takes nothing else, a body is one event.
    let (text, ping) = modern("2", "x", "c");
    client.say(&ping.with("Accept", "text/event-stream")).await;
    server.expect(&text).await;
    server.send(&result("2", "done")).await;
    assert!(client.head().await.is_events());
    assert_eq!(client.message().await, result("2", "done"));
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn errors_have_the_status_that_goes_with_their_code() {
    let mut setup = Setup::new().await;
    let (_, first) = modern("0", "x", "c");
    let mut client = ask(&setup, &first).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    server.send(&result("0", "")).await;
    client.answer().await;
    for (id, (code, status)) in (1..).zip([
        (-32601, 404),
        (-32602, 400),
        (-32600, 400),
        (-32700, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32603, 200),
        (-32000, 200),
        (7, 200),
    ]) {
        let (_, asked) = modern(&format!("{id}"), "x", "c");
        client.say(&asked).await;
        server.receive().await;
        let error =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":""}}}}"#);
        server.send(&error).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, &*answer.body), (status, &*error));
    }
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let mut setup = Setup::new().await;
    let (_, fine) = modern("1", "tools/list", "c");
    for bad in [
        fine.clone().without("Mcp-Method"),
        fine.clone().with("Mcp-Method", "tools/call"),
        fine.clone().without("MCP-Protocol-Version"),
        fine.clone().with("MCP-Protocol-Version", "2025-11-25"),
        fine.clone().and("Mcp-Method", "tools/list"),
    ] {
        let answer = setup.ask(&bad).await;
        assert_eq!((answer.status, answer.code()), (400, -32020), "{}", bad.head());
        assert_eq!(answer.json()["id"], 1);
    }
    assert!(!setup.has_begun_another(), "nothing of that reaches a server");
    let call = r#"{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let call =
        post(call).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "tools/call");
    assert_eq!(setup.ask(&call).await.code(), -32020);
    let mut client = ask(&setup, &call.with("Mcp-Name", "t")).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    server.send(&result("1", "done")).await;
    assert_eq!(client.answer().await.status, 200);
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn what_is_modern_in_its_head_only_is_refused() {
    let mut setup = Setup::new().await;
    let head = |body: &str| post(body).with("MCP-Protocol-Version", "2026-07-28");
    let answer = setup.ask(&head(&request("1", "ping")).with("Mcp-Method", "ping")).await;
    assert_eq!((answer.status, answer.code()), (400, -32602));
    let answer = setup.ask(&head(&format!("[{}]", request("1", "ping")))).await;
    assert_eq!((answer.status, answer.code()), (400, -32600));
    assert!(!setup.has_begun_another());
    setup.end().await;
}

#[tokio::test]
async fn an_argument_that_a_tool_wants_in_a_header_must_be_there() {
    let mut setup = Setup::new().await;
    let (_, list) = modern("1", "tools/list", "c");
    let mut client = ask(&setup, &list).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    server.send(r#"{"id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}]}}"#).await;
    assert_eq!(client.answer().await.status, 200);
    let text = r#"{"id":2,"method":"tools/call","params":{"name":"t","arguments":{"r":"eu"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}"#;
    let call = post(text)
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", "t");
    for bad in [call.clone(), call.clone().with("Mcp-Param-Region", "us")] {
        let answer = setup.ask(&bad).await;
        assert_eq!((answer.status, answer.code()), (400, -32020));
    }
    server.expect_nothing().await;
    client.say(&call.with("Mcp-Param-Region", "eu")).await;
    server.expect(text).await;
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_stream_that_a_host_closes_is_a_request_that_it_cancels() {
    let mut setup = Setup::new().await;
    for is_json in [false, true] {
        let (text, mut call) = modern("7", "x", if is_json { "a" } else { "b" });
        if is_json {
            call = call.json_only();
        }
        let client = ask(&setup, &call).await;
        let mut server = setup.server().await.peer;
        server.expect(&text).await;
        drop(client);
        let cancelled = server.receive().await;
        assert!(cancelled.contains("notifications/cancelled"), "{cancelled}");
        assert!(cancelled.contains(r#""requestId":7,"#), "{cancelled}");
    }
    setup.end().await;
}

#[tokio::test]
async fn hosts_that_name_one_session_share_a_server_and_keep_their_ids() {
    let mut setup = Setup::new().await;
    let (text, one) = modern_with("1", "x", "a", r#","progressToken":1"#);
    let mut first = ask(&setup, &one.with("Hoist-Session", "s")).await;
    let server = setup.server().await;
    assert_eq!(server.host.session.as_ref().unwrap().as_str(), "s");
    let mut server = server.peer;
    server.expect(&text).await;
    let (text, two) = modern_with("1", "x", "b", r#","progressToken":1"#);
    let mut second = ask(&setup, &two.with("Hoist-Session", "s")).await;
    let renamed = server.receive().await;
    assert_ne!(renamed, text);
    let renamed: serde_json::Value = serde_json::from_str(&renamed).unwrap();
    let (id, token) = (&renamed["id"], &renamed["params"]["_meta"]["progressToken"]);
    let progress = |token: &str| {
        format!(r#"{{"method":"notifications/progress","params":{{"progressToken":{token}}}}}"#)
    };
    server.send(&progress(&token.to_string())).await;
    server.send(&result(&id.to_string(), "two")).await;
    server.send(&result("1", "one")).await;
    second.head().await;
    assert_eq!(second.message().await, progress("1"));
    assert_eq!(second.message().await, result("1", "two"));
    assert_eq!(first.answer().await.body, result("1", "one"));
    assert!(!setup.has_begun_another());
    // A session of another name is another's.
    let (_, three) = modern("1", "x", "a");
    let _third = ask(&setup, &three.clone().with("Hoist-Session", "t")).await;
    drop(setup.server().await);
    assert_eq!(setup.ask(&three.with("Hoist-Session", ".t")).await.status, 400);
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn callers_are_told_apart_on_ones_own_machine_and_not_where_there_is_a_token() {
    let mut setup = Setup::new().await;
    let _one = ask(&setup, &modern("1", "x", "a").1).await;
    let mut server_a = setup.server().await;
    assert!(!server_a.host.is_shared);
    let _two = ask(&setup, &modern("1", "x", "b").1).await;
    let server_b = setup.server().await;
    let _three = ask(&setup, &modern("2", "x", "a").1).await;
    server_a.peer.receive().await;
    server_a.peer.expect(&modern("2", "x", "a").0).await;
    drop((server_a, server_b));
    setup.end().await;

    let mut setup = Setup::with(any_port().token("t").unwrap()).await;
    let shown = |client: &str| modern("1", "x", client).1.with("Authorization", "Bearer t");
    let _one = ask(&setup, &shown("a")).await;
    let mut server = setup.server().await;
    assert!(server.host.is_shared);
    server.peer.receive().await;
    let _two = ask(&setup, &shown("b")).await;
    server.peer.receive().await;
    assert!(!setup.has_begun_another());
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_discovery_that_fails_leaves_no_session() {
    let mut setup = Setup::new().await;
    let (text, discover) = modern("0", "server/discover", "c");
    let mut client = ask(&setup, &discover).await;
    let mut server = setup.server().await.peer;
    server.expect(&text).await;
    let error = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#;
    server.send(error).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, &*answer.body), (404, error));
    server.expect_end().await;
    drop(server);
    // The host falls back, and is served.
    let session = setup.begin("2025-11-25").await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn notifications_begin_nothing_and_cancel_nothing_of_others() {
    let mut setup = Setup::new().await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let cancel =
        format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":1,{meta}}}}}"#);
    let cancel = post(&cancel).with("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(setup.ask(&cancel).await.status, 202);
    assert!(!setup.has_begun_another());
    let (_, call) = modern("1", "x", "");
    let _call = ask(&setup, &call.with("Hoist-Session", "s")).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    assert_eq!(setup.ask(&cancel.clone().with("Hoist-Session", "s")).await.status, 202);
    server.expect_nothing().await;
    let other = format!(r#"{{"method":"notifications/x","params":{{{meta}}}}}"#);
    let other_post = post(&other).with("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(setup.ask(&other_post.with("Hoist-Session", "s")).await.status, 202);
    server.expect(&other).await;
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_subscription_lasts_until_one_side_ends_it() {
    let mut setup = Setup::new().await;
    let (_, listen) = modern("5", "subscriptions/listen", "c");
    let mut client = ask(&setup, &listen).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    let said = |id: &str| {
        format!(
            r#"{{"method":"n","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    server.send(&said("5")).await;
    server.send(&note("of nobody")).await;
    server.send(&said("6")).await;
    server.send(&said("5")).await;
    client.head().await;
    assert_eq!(client.message().await, said("5"));
    assert_eq!(client.message().await, said("5"));
    server.send(r#"{"method":"notifications/cancelled","params":{"requestId":5}}"#).await;
    client.expect_end().await;
    // One that a host ends is cancelled.
    let (_, listen) = modern("6", "subscriptions/listen", "c");
    client.say(&listen).await;
    server.receive().await;
    drop(client);
    assert!(server.receive().await.contains(r#""requestId":6,"#));
    drop(server);
    setup.end().await;
}
