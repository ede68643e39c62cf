//! HTTP as it is spoken badly, or in unusual ways.

use crate::client::{Request, post};
use crate::setup::{Setup, note, request, result};

#[tokio::test]
async fn requests_may_come_before_the_last_is_answered() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let ask = |id: &str| post(&request(id, "x")).session(&session.id).json_only().text();
    let all = [ask("1"), Request::new("GET", "/healthz").text(), ask("2")].concat();
    session.client.send(&all).await;
    session.server.expect(&request("1", "x")).await;
    session.server.send(&result("1", "one")).await;
    session.server.expect(&request("2", "x")).await;
    session.server.send(&result("2", "two")).await;
    assert_eq!(session.client.answer().await.body, result("1", "one"));
    assert_eq!(session.client.answer().await.status, 200);
    assert_eq!(session.client.answer().await.body, result("2", "two"));
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_slow_sender_holds_up_nobody() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let text = post(&note("slow")).session(&session.id).text();
    let mut slow = setup.client().await;
    let bytes: Vec<char> = text.chars().collect();
    for (at, byte) in bytes.iter().enumerate() {
        slow.send(&byte.to_string()).await;
        tokio::task::yield_now().await;
        if at % 50 == 0 {
            assert_eq!(setup.ask(&post(&note("n")).session(&session.id)).await.status, 202);
            session.server.expect(&note("n")).await;
        }
    }
    assert_eq!(slow.answer().await.status, 202);
    session.server.expect(&note("slow")).await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_nobody_else_is() {
    let setup = Setup::new().await;
    for bad in [
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n",
    ] {
        let mut client = setup.client().await;
        client.send(bad).await;
        assert_eq!(client.answer().await.status, 400, "{bad:?}");
        client.expect_closed().await;
    }
    assert_eq!(setup.ask(&Request::new("GET", "/healthz")).await.status, 200);
    setup.end().await;
}

#[tokio::test]
async fn a_host_may_wait_to_be_asked_for_its_body() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let said = post(&note("n")).session(&session.id).with("Expect", "100-continue");
    session.client.send(&said.head()).await;
    assert_eq!(session.client.head().await.status, 100);
    session.client.send(&note("n")).await;
    assert_eq!(session.client.answer().await.status, 202);
    session.server.expect(&note("n")).await;
    // Not where it would be in vain.
    let refused = said.with("Content-Length", "99999999");
    session.client.send(&refused.head()).await;
    assert_eq!(session.client.answer().await.status, 413);
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_host_of_the_first_http_is_served() {
    let setup = Setup::new().await;
    let mut client = setup.client().await;
    client.send("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 200);
    client.expect_closed().await;
    setup.end().await;
}
