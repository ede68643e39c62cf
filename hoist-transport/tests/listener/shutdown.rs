//! The end of the proxy.

use crate::client::{Request, get, post};
use crate::setup::{Setup, initialize, note, request, result, settle};

#[tokio::test]
async fn what_was_said_leaves_before_the_end() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut waiting = setup.client().await;
    waiting.open(&post(&request("1", "x")).session(&session.id)).await;
    session.server.expect(&request("1", "x")).await;
    let mut json = setup.client().await;
    json.say(&post(&request("2", "x")).session(&session.id).json_only()).await;
    session.server.expect(&request("2", "x")).await;
    let mut standing = setup.client().await;
    standing.open(&get(&session.id)).await;
    // Connections on which nothing was ever said, and nothing is any more.
    let (mut silent, mut idle) = (setup.client().await, setup.client().await);
    assert_eq!(idle.ask(&Request::new("GET", "/healthz")).await.status, 200);

    let mut server = session.server;
    let playing = tokio::spawn(async move {
        server.expect_end().await;
        server.send(&note("last")).await;
        server.send(&result("1", "late")).await;
        server.close();
    });
    let ended = tokio::spawn(setup.into_running().end());
    assert_eq!(waiting.message().await, result("1", "late"));
    waiting.expect_end().await;
    let unanswered = json.answer().await;
    assert_eq!(unanswered.json()["id"], 2);
    assert!(unanswered.why().contains("ended"), "{}", unanswered.why());
    assert_eq!(standing.message().await, note("last"));
    standing.expect_end().await;
    for client in [&mut waiting, &mut json, &mut standing, &mut silent, &mut idle] {
        client.expect_closed().await;
    }
    playing.await.unwrap();
    assert_eq!(ended.await.unwrap().ended, 1);
}

#[tokio::test]
async fn nobody_begins_what_is_about_to_end() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut other = setup.client().await;
    other.say(&Request::new("GET", "/healthz")).await;
    other.answer().await;
    let head = post(&initialize("2025-11-25"));
    // The head is there when the end comes, the body is not.
    let text = head.text();
    let (first, last) = text.split_at(text.len() - 5);
    other.send(first).await;
    settle().await;
    let address = setup.address;
    let ended = tokio::spawn(setup.into_running().end());
    session.server.expect_end().await;
    other.send(last).await;
    let refused = other.answer().await;
    assert_eq!(refused.status, 503);
    assert!(refused.why().contains("about to end"), "{}", refused.why());
    drop(session);
    let _ = ended.await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
