//! Sessions that the server drops, and how they end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::server::{Reply, Request, Setup, Step, legacy, reply, result};

/// A server that forgets session `s1` after so many requests in it, and then gives `s2`, `s3`, ….
fn forgetful(requests: usize) -> impl Fn(&Request) -> Reply {
    let (sessions, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    move |request| {
        if request.rpc() == "initialize" {
            let number = sessions.fetch_add(1, Ordering::SeqCst) + 1;
            left.store(requests, Ordering::SeqCst);
            let body = result(request, r#"{"protocolVersion":"2025-06-18"}"#);
            let id = format!("s{number}");
            return reply(
                "200 OK",
                &[("content-type", "application/json"), ("mcp-session-id", &id)],
                &body,
            );
        }
        let current = format!("s{}", sessions.load(Ordering::SeqCst));
        let is_gone = request.header("mcp-session-id") != Some(&current)
            || (request.rpc() == "count" && left.fetch_sub(1, Ordering::SeqCst) == 0);
        if is_gone {
            // Behind its back the session is no more.
            return reply("404 Not Found", &[], "");
        }
        legacy(request)
    }
}

#[tokio::test]
async fn a_session_that_the_server_dropped_is_started_again() {
    let mut setup = Setup::new(forgetful(1)).await;
    setup.handshake().await;
    assert_eq!(setup.ask("1", "count").await["result"], serde_json::json!({}));
    // It is refused, so it was not run: made again, in a new session.
    assert_eq!(setup.ask("2", "count").await["result"], serde_json::json!({}));
    let asked = setup.end().await;
    let told: Vec<(String, Option<&str>)> = asked
        .iter()
        .filter(|request| request.method != "GET")
        .map(|request| (request.rpc(), request.header("mcp-session-id")))
        .collect();
    let told: Vec<(&str, Option<&str>)> =
        told.iter().map(|(rpc, id)| (rpc.as_str(), *id)).collect();
    assert_eq!(
        told,
        [
            ("initialize", None),
            ("notifications/initialized", Some("s1")),
            ("count", Some("s1")),
            ("count", Some("s1")),
            ("initialize", None),
            ("notifications/initialized", Some("s2")),
            ("count", Some("s2")),
            ("DELETE", Some("s2")),
        ]
    );
}

#[tokio::test]
async fn a_request_is_made_again_once() {
    // Each new session is gone at once.
    let mut setup = Setup::new(forgetful(0)).await;
    setup.handshake().await;
    let answer = setup.ask("1", "count").await;
    assert_eq!(answer["error"]["data"]["httpStatus"], 404, "{answer}");
    assert_eq!(setup.asked("count").len(), 2);
    setup.end().await;
}

#[tokio::test]
async fn without_restarts_the_host_is_told() {
    let mut setup = Setup::with(forgetful(0), |server| server.restart(false)).await;
    setup.handshake().await;
    assert_eq!(setup.ask("1", "count").await["error"]["data"]["httpStatus"], 404);
    assert_eq!(setup.asked("initialize").len(), 1);
    setup.end().await;
}

#[tokio::test]
async fn a_server_without_sessions_is_given_none() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "initialize" => {
            crate::server::json(&result(request, r#"{"protocolVersion":"2025-06-18"}"#))
        }
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    setup.ask("1", "ping").await;
    let asked = setup.end().await;
    assert!(asked.iter().all(|request| request.header("mcp-session-id").is_none()));
    assert!(asked.iter().all(|request| request.method != "DELETE"));
}

#[tokio::test]
async fn the_latest_initialize_counts() {
    let mut setup = Setup::new(forgetful(9)).await;
    setup.handshake().await;
    setup.handshake().await;
    setup.ask("1", "ping").await;
    assert_eq!(setup.asked("ping")[0].header("mcp-session-id"), Some("s2"));
    setup.end().await;
}

#[tokio::test]
async fn the_end_waits_for_answers_and_any_answer_to_it_will_do() {
    for end in ["404 Not Found", "405 Method Not Allowed", "200 OK"] {
        let mut setup = Setup::new(move |request| match request.rpc().as_str() {
            "slow" => [vec![Step::Wait(1)], legacy(request)].concat(),
            "DELETE" => reply(end, &[], ""),
            _ => legacy(request),
        })
        .await;
        setup.handshake().await;
        setup.host.send(r#"{"id":1,"method":"slow"}"#).await;
        setup.until_asked(4).await;
        setup.host.close();
        setup.go(1);
        assert!(setup.host.receive().await.contains("\"id\":1"), "{end}");
        let asked = setup.end().await;
        assert_eq!(asked.iter().filter(|request| request.method == "DELETE").count(), 1);
    }
}

#[tokio::test]
async fn an_end_that_the_server_never_answers_is_waited_for_2_seconds_at_most() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "DELETE" => vec![Step::Wait(1)],
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    // With the stream that is refused, so that what comes next is the end.
    setup.until_asked(3).await;
    setup.host.close();
    setup.until_asked(4).await;
    assert_eq!(setup.asked("DELETE").len(), 1);
    // The clock stands still but for what is waited for.
    tokio::time::pause();
    let began = Instant::now();
    let asked = timeout(Duration::from_secs(60), setup.end()).await.unwrap();
    let waited = began.elapsed();
    // A timer is never early, and late by a millisecond at most.
    assert!(waited <= Duration::from_millis(2001), "{waited:?}");
    assert_eq!(asked.len(), 4);
}

#[tokio::test]
async fn a_new_session_has_a_stream_of_its_own() {
    let forgetful = forgetful(0);
    let mut setup = Setup::new(move |request| match request.rpc().as_str() {
        "GET" => {
            let session = request.header("mcp-session-id").unwrap_or_default();
            let event = format!("data: {{\"method\":\"{session}\"}}\n\n");
            crate::server::events([crate::server::bytes(&event), Step::Wait(1)])
        }
        _ => forgetful(request),
    })
    .await;
    setup.handshake().await;
    setup.host.expect(r#"{"method":"s1"}"#).await;
    setup.host.send(r#"{"id":1,"method":"count"}"#).await;
    let mut said = [setup.host.receive().await, setup.host.receive().await];
    said.sort_unstable();
    assert!(said[0].contains("\"error\"") && said[1] == r#"{"method":"s2"}"#, "{said:?}");
    setup.end().await;
}
