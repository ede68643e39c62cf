//! Sessions of the legacy era.

use hoist_proxy_core::Host;

use crate::client::{delete, get, post};
use crate::setup::{Setup, agreed, initialize, note, request, result};

#[tokio::test]
async fn each_session_has_a_server_of_its_own() {
    let mut setup = Setup::new().await;
    let mut one = setup.begin("2025-11-25").await;
    let mut two = setup.begin("2025-03-26").await;
    assert_ne!(one.id, two.id);
    assert!(one.id.len() >= 32 && one.id.bytes().all(|byte| byte.is_ascii_graphic()), "{}", one.id);
    // The same ids at once, each to its own.
    one.client.send(&post(&request("1", "ping")).session(&one.id).text()).await;
    two.client.send(&post(&request("1", "ping")).session(&two.id).text()).await;
    one.server.expect(&request("1", "ping")).await;
    two.server.expect(&request("1", "ping")).await;
    two.server.send(&result("1", "two")).await;
    one.server.send(&result("1", "one")).await;
    for (session, text) in [(&mut one, "one"), (&mut two, "two")] {
        assert!(session.client.head().await.is_events());
        assert_eq!(session.client.message().await, result("1", text));
        session.client.expect_end().await;
    }
    drop((one, two));
    setup.end().await;
}

#[tokio::test]
async fn only_a_session_that_there_is_can_be_used() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let asked = request("\"x\"", "ping");
    let missing = setup.ask(&post(&asked)).await;
    assert_eq!((missing.status, missing.json()["id"].as_str()), (400, Some("x")));
    let refused = setup.ask(&post(&asked).session("made-up")).await;
    assert_eq!((refused.status, refused.json()["id"].as_str()), (404, Some("x")));
    for request in [get("made-up"), delete("made-up"), get("\u{e9}"), get("")] {
        assert_eq!(setup.ask(&request).await.status, 404);
    }
    // What is no request is told without an id.
    let refused = setup.ask(&post(r#"{"id":7,"result":{}}"#).session("made-up")).await;
    assert_eq!((refused.status, refused.json()["id"].is_null()), (404, true));

    let ended = setup.ask(&delete(&session.id)).await;
    assert_eq!((ended.status, &*ended.body), (200, ""));
    session.server.expect_end().await;
    for request in [post(&asked).session(&session.id), get(&session.id), delete(&session.id)] {
        assert_eq!(setup.ask(&request).await.status, 404);
    }
    // A host that begins anew with the id of old gets a session of another.
    let mut client = setup.client().await;
    client.send(&post(&initialize("2025-11-25")).session(&session.id).text()).await;
    let mut server = setup.server().await.peer;
    server.expect(&initialize("2025-11-25")).await;
    server.send(&agreed("2025-11-25")).await;
    let head = client.head().await;
    assert_ne!(head.header("mcp-session-id").unwrap(), session.id);
    drop((session, server));
    setup.end().await;
}

#[tokio::test]
async fn the_revision_that_was_agreed_on_is_held_to() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-06-18").await;
    let said = post(&note("n")).session(&session.id);
    for fine in ["2025-06-18", "2025-03-26", "2025-11-25"] {
        assert_eq!(setup.ask(&said.clone().with("MCP-Protocol-Version", fine)).await.status, 202);
        session.server.expect(&note("n")).await;
    }
    for bad in ["1999-01-01", "2026-07-28", "x", ""] {
        for request in [said.clone(), get(&session.id), delete(&session.id)] {
            let answer = setup.ask(&request.with("MCP-Protocol-Version", bad)).await;
            assert_eq!(answer.status, 400, "{bad}");
        }
    }
    session.server.expect_nothing().await;
    // One that nobody has heard of is fine where server and host agreed on it.
    let mut own = setup.begin("2025-99-99").await;
    let said = post(&note("n")).session(&own.id).with("MCP-Protocol-Version", "2025-99-99");
    assert_eq!(setup.ask(&said).await.status, 202);
    own.server.expect(&note("n")).await;
    drop((session, own));
    setup.end().await;
}

#[tokio::test]
async fn batches_are_for_the_one_revision_that_has_them() {
    let mut setup = Setup::new().await;
    let batch = format!("[{},{},{}]", request("1", "a"), note("n"), request("\"1\"", "b"));
    for (version, status) in
        [("2024-11-05", 400), ("2025-03-26", 200), ("2025-06-18", 400), ("2025-11-25", 400)]
    {
        let mut session = setup.begin(version).await;
        session.client.send(&post(&batch).session(&session.id).json_only().text()).await;
        if status == 200 {
            // It crosses as it is, and so do answers in any form.
            session.server.expect(&batch).await;
            session.server.send(&result("\"1\"", "b")).await;
            session.server.send(&format!("[{}]", result("1", "a"))).await;
        }
        let answer = session.client.answer().await;
        assert_eq!(answer.status, status, "{version}");
        if status == 200 {
            let both = format!("[{},{}]", result("\"1\"", "b"), result("1", "a"));
            assert_eq!(answer.body, both);
        } else {
            session.server.expect_nothing().await;
        }
    }
    // By the header where that says so, as hosts of no version header agree on theirs.
    let session = setup.begin("2025-03-26").await;
    let said = post(&batch).session(&session.id).with("MCP-Protocol-Version", "2025-06-18");
    assert_eq!(setup.ask(&said).await.status, 400);
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_batch_is_a_stream_of_answers_or_nothing() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-03-26").await;
    let batch = format!("[{},{}]", request("1", "a"), request("1", "b"));
    session.client.say(&post(&batch).session(&session.id)).await;
    session.server.expect(&batch).await;
    session.server.send(&format!("[{},{}]", result("1", "a"), result("1", "b"))).await;
    assert!(session.client.head().await.is_events());
    assert_eq!(session.client.message().await, result("1", "a"));
    assert_eq!(session.client.message().await, result("1", "b"));
    session.client.expect_end().await;
    // One that asks nothing is not answered.
    let quiet = format!("[{},{}]", note("n"), r#"{"id":1,"result":{}}"#);
    let answer = session.client.ask(&post(&quiet).session(&session.id)).await;
    assert_eq!((answer.status, &*answer.body), (202, ""));
    session.server.expect(&quiet).await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_session_may_have_a_name() {
    let mut setup = Setup::new().await;
    for bad in [".hidden", "a/b", "", "é", &"x".repeat(129), "a b"] {
        let named = post(&initialize("2025-11-25")).with("Hoist-Session", bad);
        let answer = setup.ask(&named).await;
        assert_eq!(answer.status, 400, "{bad}");
    }
    assert!(!setup.has_begun_another());
    for fine in ["a", "A.b_c-9", &"x".repeat(128)] {
        let named = post(&initialize("2025-11-25")).with("Hoist-Session", fine);
        let mut client = setup.client().await;
        client.send(&named.text()).await;
        let server = setup.server().await;
        assert_eq!(server.host.session.unwrap().as_str(), fine);
        assert!(!server.host.is_shared);
    }
    let mut client = setup.client().await;
    client.send(&post(&initialize("2025-11-25")).text()).await;
    assert_eq!(setup.server().await.host, Host::default());
    setup.end().await;
}

#[tokio::test]
async fn a_server_that_refuses_to_begin_leaves_no_session() {
    let mut setup = Setup::new().await;
    for is_json in [true, false] {
        let mut client = setup.client().await;
        let mut ask = post(&initialize("2025-11-25"));
        if is_json {
            ask = ask.json_only();
        }
        client.send(&ask.text()).await;
        let mut server = setup.server().await.peer;
        server.expect(&initialize("2025-11-25")).await;
        let refusal = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}"#;
        server.send(refusal).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, &*answer.body), (200, refusal));
        assert_eq!(answer.head.header("mcp-session-id"), None);
        server.expect_end().await;
    }
    setup.end().await;
}

#[tokio::test]
async fn a_host_that_does_not_wait_for_its_session_leaves_none() {
    let mut setup = Setup::new().await;
    for ask in [post(&initialize("2025-11-25")), post(&initialize("2025-11-25")).json_only()] {
        let mut client = setup.client().await;
        client.send(&ask.text()).await;
        let mut server = setup.server().await.peer;
        server.expect(&initialize("2025-11-25")).await;
        drop(client);
        server.expect_end().await;
    }
    setup.end().await;
}

#[tokio::test]
async fn what_a_server_says_before_it_answers_is_heard_and_changes_nothing() {
    let mut setup = Setup::new().await;
    let mut client = setup.client().await;
    client.send(&post(&initialize("2025-06-18")).text()).await;
    let mut server = setup.server().await.peer;
    server.expect(&initialize("2025-06-18")).await;
    server.send(&note("notifications/message")).await;
    let head = client.head().await;
    let id = head.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(client.message().await, note("notifications/message"));
    server.send(&agreed("2025-06-18")).await;
    assert_eq!(client.message().await, agreed("2025-06-18"));
    client.expect_end().await;
    // What was agreed on is known all the same.
    let bad = post(&note("n")).session(&id).with("MCP-Protocol-Version", "1999-01-01");
    assert_eq!(setup.ask(&bad).await.status, 400);
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_slow_call_holds_up_nobody() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    session.client.say(&post(&request("1", "slow")).session(&session.id)).await;
    session.server.expect(&request("1", "slow")).await;
    let mut other = setup.begin("2025-11-25").await;
    other.client.say(&post(&request("1", "fast")).session(&other.id)).await;
    other.server.expect(&request("1", "fast")).await;
    let mut second = setup.client().await;
    second.send(&post(&request("2", "fast")).session(&session.id).json_only().text()).await;
    session.server.expect(&request("2", "fast")).await;
    session.server.send(&result("2", "done")).await;
    assert_eq!(second.answer().await.body, result("2", "done"));
    other.server.send(&result("1", "done")).await;
    other.client.head().await;
    assert_eq!(other.client.message().await, result("1", "done"));
    session.server.send(&result("1", "late")).await;
    session.client.head().await;
    assert_eq!(session.client.message().await, result("1", "late"));
    drop((session, other));
    setup.end().await;
}
