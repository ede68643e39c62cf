//! Servers that cannot start, or end before they answer.

use std::sync::Arc;

use hoist_proxy_core::{BoxFuture, Connection, Error, SessionContext, Upstream};

use crate::client::{Client, get, post};
use crate::setup::{Setup, any_port, initialize, modern, request, run};

/// A server that cannot be reached.
#[derive(Debug)]
struct Unreachable;

impl Upstream for Unreachable {
    fn connect<'a>(
        &'a self,
        _session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        let source = Arc::new(std::io::Error::other("secret"));
        let error = Error::Connect { what: "no such program".to_owned(), source: Some(source) };
        Box::pin(std::future::ready(Err(error)))
    }
}

#[tokio::test]
async fn a_server_that_cannot_start_is_said_so() {
    let (_, address, running) = run(any_port(), Unreachable).await;
    for ask in [
        post(&initialize("2025-11-25")),
        post(&initialize("2025-11-25")).json_only(),
        modern("0", "server/discover", "c").1,
        modern("0", "x", "c").1.json_only(),
    ] {
        let answer = Client::connect(address).await.ask(&ask).await;
        assert_eq!((answer.status, answer.json()["id"].as_i64()), (502, Some(0)));
        assert!(answer.why().contains("could not be started"), "{}", answer.why());
        assert_eq!(answer.head.header("mcp-session-id"), None);
    }
    assert_eq!(running.end().await.failed, 4);
}

#[tokio::test]
async fn a_server_that_dies_answers_nobody_so_the_proxy_does() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let mut json = setup.client().await;
    session.client.say(&post(&request("1", "x")).session(&session.id)).await;
    session.server.expect(&request("1", "x")).await;
    json.say(&post(&request("\"2\"", "x")).session(&session.id).json_only()).await;
    session.server.expect(&request("\"2\"", "x")).await;
    let mut standing = setup.client().await;
    standing.open(&get(&session.id)).await;
    drop(session.server);
    assert!(session.client.head().await.is_events());
    let told: serde_json::Value = serde_json::from_str(&session.client.message().await).unwrap();
    assert_eq!(told["id"], 1);
    assert!(told["error"]["message"].as_str().unwrap().contains("the server ended"), "{told}");
    session.client.expect_end().await;
    let told = json.answer().await;
    assert_eq!((told.status, told.json()["id"].as_str()), (200, Some("2")));
    assert!(told.why().contains("the server ended"), "{}", told.why());
    assert_eq!(standing.event().await.unwrap().data.as_deref(), Some(""));
    standing.expect_end().await;
    let gone = setup.ask(&post(&request("3", "x")).session(&session.id)).await;
    assert_eq!(gone.status, 404);
    setup.end().await;
}

#[tokio::test]
async fn a_modern_host_gets_another_server_once_its_own_has_died() {
    let mut setup = Setup::new().await;
    let mut client = setup.client().await;
    client.say(&modern("1", "x", "c").1).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    drop(server);
    let told = client.answer().await;
    assert_eq!((told.status, told.json()["id"].as_i64()), (200, Some(1)));
    client.say(&modern("2", "x", "c").1).await;
    let mut server = setup.server().await.peer;
    server.expect(&modern("2", "x", "c").0).await;
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_session_that_its_host_ends_answers_what_it_still_asks() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    session.client.open(&post(&request("1", "x")).session(&session.id)).await;
    session.server.expect(&request("1", "x")).await;
    let mut standing = setup.client().await;
    standing.open(&get(&session.id)).await;
    assert_eq!(setup.ask(&crate::client::delete(&session.id)).await.status, 200);
    let told: serde_json::Value = serde_json::from_str(&session.client.message().await).unwrap();
    assert_eq!(told["id"], 1);
    assert!(told["error"]["message"].as_str().unwrap().contains("has ended"), "{told}");
    session.client.expect_end().await;
    standing.event().await.unwrap();
    standing.expect_end().await;
    session.server.expect_end().await;
    drop(session);
    setup.end().await;
}
