//! Which stream a legacy host hears what on, and what becomes of one that breaks.

use crate::client::{Client, get, post};
use crate::setup::{Session, Setup, note, request, result, settle};

async fn standing(setup: &Setup, session: &Session) -> Client {
    let mut client = setup.client().await;
    client.open(&get(&session.id)).await;
    client
}

/// A host goes away, and the listener sees it.
async fn gone(client: Client) {
    drop(client);
    settle().await;
}

#[tokio::test]
async fn a_request_hears_what_is_said_while_it_waits() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-06-18").await;
    session.client.say(&post(&request("1", "call")).session(&session.id)).await;
    session.server.expect(&request("1", "call")).await;
    session.server.send(&note("one")).await;
    session.server.send(&request("\"s\"", "roots/list")).await;
    assert!(session.client.head().await.is_events());
    let event = session.client.event().await.unwrap();
    assert_eq!(
        event.text,
        format!("event: message\nid: {}\ndata: {}\n\n", event.id.clone().unwrap(), note("one"))
    );
    assert_eq!(session.client.message().await, request("\"s\"", "roots/list"));
    let answer = r#"{"jsonrpc":"2.0","id":"s","result":{"roots":[]}}"#;
    assert_eq!(setup.ask(&post(answer).session(&session.id)).await.status, 202);
    session.server.expect(answer).await;
    session.server.send(&result("1", "done")).await;
    assert_eq!(session.client.message().await, result("1", "done"));
    session.client.expect_end().await;
    // The connection is there for the next one.
    session.client.say(&post(&request("2", "call")).session(&session.id)).await;
    session.server.expect(&request("2", "call")).await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn the_servers_own_messages_wait_for_a_stream_and_go_to_the_newest() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    session.server.send(&note("early")).await;
    session.server.send(&request("\"s\"", "ping")).await;
    session.server.expect_nothing().await;
    let mut old = standing(&setup, &session).await;
    assert_eq!(old.event().await.unwrap().data.as_deref(), Some(""));
    assert_eq!(old.message().await, note("early"));
    assert_eq!(old.message().await, request("\"s\"", "ping"));
    let mut new = standing(&setup, &session).await;
    session.server.send(&note("later")).await;
    assert_eq!(new.message().await, note("later"));
    gone(new).await;
    session.server.send(&note("last")).await;
    assert_eq!(old.message().await, note("last"));
    drop(session);
    old.expect_end().await;
    setup.end().await;
}

#[tokio::test]
async fn streams_of_the_newest_revision_can_be_resumed_from_their_first_event() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut client = setup.client().await;
    client.open(&post(&request("1", "call")).session(&session.id)).await;
    session.server.expect(&request("1", "call")).await;
    let first = client.event().await.unwrap();
    let id = first.id.clone().unwrap();
    assert_eq!(first.text, format!("id: {id}\nretry: 1000\ndata: \n\n"));
    gone(client).await;
    // The host is away, and nothing is cancelled.
    session.server.send(&note("meanwhile")).await;
    session.server.expect_nothing().await;
    let mut client = setup.client().await;
    client.open(&get(&session.id).with("Last-Event-ID", &id)).await;
    session.server.send(&result("1", "done")).await;
    let done = loop {
        let event = client.event().await.unwrap();
        if event.data.as_deref() == Some(&*result("1", "done")) {
            break event.id.unwrap();
        }
    };
    client.expect_end().await;
    // It is kept for a host that missed it, and gone for one that did not.
    client.open(&get(&session.id).with("Last-Event-ID", &id)).await;
    assert_eq!(client.message().await, result("1", "done"));
    client.expect_end().await;
    let over = client.ask(&get(&session.id).with("Last-Event-ID", &done)).await;
    assert_eq!(over.status, 400, "{}", over.body);
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn an_answer_is_kept_for_a_host_that_was_away() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut client = setup.client().await;
    client.open(&post(&request("1", "call")).session(&session.id)).await;
    let id = client.event().await.unwrap().id.unwrap();
    session.server.expect(&request("1", "call")).await;
    gone(client).await;
    session.server.send(&result("1", "late")).await;
    let mut client = setup.client().await;
    client.open(&get(&session.id).with("Last-Event-ID", &id)).await;
    assert_eq!(client.message().await, result("1", "late"));
    client.expect_end().await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_standing_stream_is_resumed_with_nothing_lost_or_twice() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-06-18").await;
    let mut client = standing(&setup, &session).await;
    for n in 0..3 {
        session.server.send(&note(&format!("n{n}"))).await;
    }
    let seen = client.event().await.unwrap();
    assert_eq!(seen.data.as_deref(), Some(&*note("n0")));
    client.message().await;
    client.message().await;
    gone(client).await;
    session.server.send(&note("n3")).await;
    let mut client = setup.client().await;
    client.open(&get(&session.id).with("Last-Event-ID", &seen.id.unwrap())).await;
    for n in 1..4 {
        assert_eq!(client.message().await, note(&format!("n{n}")));
    }
    session.server.send(&note("n4")).await;
    assert_eq!(client.message().await, note("n4"));
    drop(session);
    client.expect_end().await;
    setup.end().await;
}

#[tokio::test]
async fn a_second_connection_takes_a_stream_over() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut first = standing(&setup, &session).await;
    let id = first.event().await.unwrap().id.unwrap();
    let mut second = setup.client().await;
    second.open(&get(&session.id).with("Last-Event-ID", &id)).await;
    first.expect_end().await;
    session.server.send(&note("n")).await;
    assert_eq!(second.message().await, note("n"));
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn an_event_that_never_was_is_told_so() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    session.client.say(&post(&request("1", "call")).session(&session.id).json_only()).await;
    session.server.expect(&request("1", "call")).await;
    // Streams 1 to 3 are there or were: initialize, this call.
    for rubbish in
        ["", "x", "1", "1-", "-1", "9-1", "1-1-1", "18446744073709551616-1", "1-99", "2-0", "é"]
    {
        let answer = setup.ask(&get(&session.id).with("Last-Event-ID", rubbish)).await;
        assert_eq!(answer.status, 400, "{rubbish}");
        assert!(answer.why().contains("that event"), "{}", answer.why());
    }
    // None of that takes the call's answer away.
    session.server.send(&result("1", "done")).await;
    assert_eq!(session.client.answer().await.body, result("1", "done"));
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_host_of_one_body_hears_the_rest_elsewhere() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    session.client.say(&post(&request("1", "call")).session(&session.id).json_only()).await;
    session.server.expect(&request("1", "call")).await;
    session.server.send(&note("beside")).await;
    session.server.send(&result("1", "done")).await;
    let answer = session.client.answer().await;
    assert_eq!(answer.body, result("1", "done"));
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    let mut stream = standing(&setup, &session).await;
    assert_eq!(stream.message().await, note("beside"));
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_slow_reader_holds_up_its_own_session_only() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut other = setup.begin("2025-11-25").await;
    // It never reads: more than sockets and queues hold together.
    session.client.say(&post(&request("1", "call")).session(&session.id)).await;
    session.server.expect(&request("1", "call")).await;
    let long = format!(r#"{{"method":"n","params":"{}"}}"#, "x".repeat(16 << 20));
    let sent = 6;
    for _ in 0..sent {
        session.server.send(&long).await;
    }
    for n in 0..3 {
        let id = n.to_string();
        other.client.say(&post(&request(&id, "ping")).session(&other.id)).await;
        other.server.expect(&request(&id, "ping")).await;
        other.server.send(&result(&id, "pong")).await;
        other.client.head().await;
        assert_eq!(other.client.message().await, result(&id, "pong"));
        other.client.expect_end().await;
    }
    // What the session's other streams bring still comes, once this one is read.
    session.client.head().await;
    for _ in 0..sent {
        assert_eq!(session.client.message().await.len(), long.len());
    }
    session.server.send(&result("1", "done")).await;
    assert_eq!(session.client.message().await, result("1", "done"));
    drop((session, other));
    setup.end().await;
}
