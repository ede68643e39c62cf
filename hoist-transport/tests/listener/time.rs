//! What time brings, with a clock that the test moves.

use std::time::Duration;

use crate::client::{Request, delete, get, post};
use crate::setup::{Clock, Setup, any_port, initialize, modern, note, request, result};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-06-18").await;
    let mut standing = setup.client().await;
    standing.open(&get(&session.id)).await;
    let mut asked = setup.client().await;
    asked.say(&post(&request("1", "x")).session(&session.id)).await;
    session.server.expect(&request("1", "x")).await;
    // An answer that came at once would leave in one piece.
    clock.advance(SECOND / 10).await;
    assert!(asked.head().await.is_events());
    clock.advance(14 * SECOND).await;
    session.server.send(&note("n")).await;
    assert_eq!(standing.event().await.unwrap().data, Some(note("n")));
    clock.advance(2 * SECOND).await;
    let comment = asked.event().await.unwrap();
    assert!(comment.text.starts_with(':'), "{comment:?}");
    // Where something was sent, it is due that much later.
    clock.advance(12 * SECOND).await;
    session.server.send(&note("m")).await;
    assert_eq!(standing.event().await.unwrap().data, Some(note("m")));
    clock.advance(16 * SECOND).await;
    assert!(standing.event().await.unwrap().text.starts_with(':'));
    session.server.send(&result("1", "done")).await;
    assert_eq!(asked.message().await, result("1", "done"));
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn an_answer_that_takes_long_is_a_stream_then() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut client = setup.client().await;
    client.say(&modern("1", "x", "c").1).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    clock.advance(16 * SECOND).await;
    assert!(client.head().await.is_events());
    server.send(r#"{"id":1,"error":{"code":-32601,"message":""}}"#).await;
    assert!(client.message().await.contains("-32601"));
    client.expect_end().await;
    // A session that takes long to begin has its id by then, and its revision in the end.
    let mut client = setup.client().await;
    client.say(&post(&initialize("2025-06-18"))).await;
    let mut slow = setup.server().await.peer;
    slow.receive().await;
    clock.advance(16 * SECOND).await;
    let id = client.head().await.header("mcp-session-id").unwrap().to_owned();
    slow.send(&crate::setup::agreed("2025-06-18")).await;
    client.message().await;
    let bad = post(&note("n")).session(&id).with("MCP-Protocol-Version", "1999-01-01");
    assert_eq!(setup.ask(&bad).await.status, 400);
    drop((server, slow));
    setup.end().await;
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends() {
    let clock = Clock::stop();
    let mut setup = Setup::with(any_port().idle(60 * SECOND)).await;
    let mut used = setup.begin("2025-11-25").await;
    let mut quiet = setup.begin("2025-11-25").await;
    let mut open = setup.begin("2025-11-25").await;
    let mut standing = setup.client().await;
    standing.open(&get(&open.id)).await;
    for _ in 0..2 {
        clock.advance(40 * SECOND).await;
        assert_eq!(setup.ask(&post(&note("n")).session(&used.id)).await.status, 202);
        used.server.expect(&note("n")).await;
    }
    quiet.server.expect_end().await;
    assert_eq!(setup.ask(&post(&note("n")).session(&quiet.id)).await.status, 404);
    open.server.expect_nothing().await;
    used.server.expect_nothing().await;
    // From when its stream closes on, this one is quiet too.
    drop(standing);
    clock.advance(55 * SECOND).await;
    open.server.expect_nothing().await;
    clock.advance(10 * SECOND).await;
    open.server.expect_end().await;
    used.server.expect_end().await;
    drop((used, quiet, open));
    setup.end().await;
}

#[tokio::test]
async fn a_session_whose_host_may_have_left_makes_room() {
    let clock = Clock::stop();
    let mut setup = Setup::with(any_port().max_sessions(2)).await;
    let mut quiet = setup.begin("2025-11-25").await;
    let mut used = setup.begin("2025-11-25").await;
    let mut standing = setup.client().await;
    standing.open(&get(&used.id)).await;
    clock.advance(595 * SECOND).await;
    assert_eq!(setup.ask(&post(&initialize("2025-11-25"))).await.status, 503);
    clock.advance(10 * SECOND).await;
    let mut next = setup.client().await;
    next.say(&post(&initialize("2025-11-25"))).await;
    quiet.server.expect_end().await;
    used.server.expect_nothing().await;
    assert_eq!(setup.ask(&post(&note("n")).session(&quiet.id)).await.status, 404);
    drop(quiet);
    setup.server().await.peer.expect(&initialize("2025-11-25")).await;
    drop((used, standing, next));
    setup.end().await;
}

#[tokio::test]
async fn a_modern_run_ends_a_minute_after_its_subscription() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut listen = setup.client().await;
    listen.say(&modern("0", "subscriptions/listen", "c").1).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    server
        .send(r#"{"method":"n","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}}"#)
        .await;
    listen.head().await;
    clock.advance(600 * SECOND).await;
    server.expect_nothing().await;
    drop(listen);
    assert!(server.receive().await.contains("cancelled"));
    clock.advance(50 * SECOND).await;
    // A call is a sign of life.
    let mut client = setup.client().await;
    client.say(&modern("1", "x", "c").1).await;
    server.receive().await;
    server.send(&result("1", "done")).await;
    assert_eq!(client.answer().await.status, 200);
    clock.advance(55 * SECOND).await;
    server.expect_nothing().await;
    clock.advance(10 * SECOND).await;
    server.expect_end().await;
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_run_that_may_not_subscribe_does_not_end_for_that() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut client = setup.client().await;
    client.say(&modern("0", "subscriptions/listen", "c").1).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    server.send(r#"{"id":0,"error":{"code":-32601,"message":""}}"#).await;
    assert_eq!(client.answer().await.status, 404);
    clock.advance(600 * SECOND).await;
    server.expect_nothing().await;
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_request_of_the_servers_that_nobody_hears_is_refused() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    session.server.send(&request("\"s\"", "roots/list")).await;
    clock.advance(25 * SECOND).await;
    session.server.expect_nothing().await;
    clock.advance(10 * SECOND).await;
    let told: serde_json::Value = serde_json::from_str(&session.server.receive().await).unwrap();
    assert_eq!((told["id"].as_str(), told["error"].is_object()), (Some("s"), true));
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let text = post(&note("slow")).session(&session.id).text();
    let (first, last) = text.split_at(text.len() - 3);
    let (mut stuck, mut slow) = (setup.client().await, setup.client().await);
    stuck.send(first).await;
    slow.send(first).await;
    // Both are being read by the time that another is answered.
    assert_eq!(setup.ask(&Request::new("GET", "/healthz")).await.status, 200);
    clock.advance(29 * SECOND).await;
    slow.send(last).await;
    assert_eq!(slow.answer().await.status, 202);
    session.server.expect(&note("slow")).await;
    clock.advance(2 * SECOND).await;
    assert_eq!(stuck.answer().await.status, 408);
    stuck.expect_closed().await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let clock = Clock::stop();
    let setup = Setup::new().await;
    let (mut silent, mut half, mut used) =
        (setup.client().await, setup.client().await, setup.client().await);
    half.send("GET /healthz HT").await;
    assert_eq!(used.ask(&Request::new("GET", "/healthz")).await.status, 200);
    clock.advance(74 * SECOND).await;
    assert_eq!(used.ask(&Request::new("GET", "/healthz")).await.status, 200);
    clock.advance(2 * SECOND).await;
    for client in [&mut silent, &mut half] {
        // Whether it is told why or not.
        let mut said = Vec::new();
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut client.stream, &mut said).await;
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 408"), "{said:?}");
    }
    assert_eq!(used.ask(&Request::new("GET", "/healthz")).await.status, 200);
    clock.advance(76 * SECOND).await;
    used.expect_closed().await;
    setup.end().await;
}

#[tokio::test]
async fn a_host_that_ends_its_session_is_not_waited_for() {
    let clock = Clock::stop();
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    assert_eq!(setup.ask(&delete(&session.id)).await.status, 200);
    session.server.expect_end().await;
    clock.advance(SECOND).await;
    drop(session);
    setup.end().await;
}
