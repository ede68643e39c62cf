//! What a POST may bring, and in which forms.

use tokio::io::AsyncWriteExt as _;

use crate::client::{Request, delete, get, post};
use crate::setup::{Setup, any_port, note, request, result};

#[tokio::test]
async fn other_methods_and_paths_are_told_what_there_is() {
    let mut setup = Setup::new().await;
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD"] {
        let answer = setup.ask(&Request::new(method, "/mcp")).await;
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.head.header("allow"), Some("POST, GET, DELETE"));
    }
    for path in ["/", "/mcp/", "/MCP", "/sse", "//mcp", "/mcp/../mcp"] {
        let answer = setup.ask(&Request::new("GET", path)).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.why().contains("/mcp"), "{}", answer.why());
    }
    let answer = setup.ask(&Request::new("GET", "/mcp?x=y").with("Mcp-Session-Id", "z")).await;
    assert_eq!(answer.status, 404, "a query changes nothing");
    assert!(answer.why().contains("session"), "{}", answer.why());
    // Without a session there is no stream to be had, and none to end.
    for method in ["GET", "DELETE"] {
        let bare = Request::new(method, "/mcp").with("Accept", "text/event-stream");
        let answer = setup.ask(&bare).await;
        assert_eq!((answer.status, answer.head.header("allow")), (405, Some("POST")), "{method}");
    }
    // The same at the right path begins a session.
    drop(setup.begin("2025-11-25").await);
    setup.end().await;
}

#[tokio::test]
async fn a_body_must_say_that_it_is_json() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let said = post(&note("n")).session(&session.id);
    for fine in ["Application/JSON; charset=\"UTF-8\"", "application/json;x", " application/json "]
    {
        let answer = setup.ask(&said.clone().with("Content-Type", fine)).await;
        assert_eq!(answer.status, 202, "{fine}");
        session.server.expect(&note("n")).await;
    }
    for bad in ["text/plain", "application/jsonx", "application/json-patch+json", ""] {
        let answer = setup.ask(&said.clone().with("Content-Type", bad)).await;
        assert_eq!(answer.status, 415, "{bad}");
    }
    assert_eq!(setup.ask(&said.without("Content-Type")).await.status, 415);
    session.server.expect_nothing().await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_host_gets_a_form_that_it_takes() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-06-18").await;
    let ask = post(&request("1", "ping")).session(&session.id);
    for (accept, is_events) in [
        (Some("application/json, text/event-stream"), true),
        (Some("text/event-stream"), true),
        (Some("text/*"), true),
        (Some("application/json"), false),
        (Some("*/*"), false),
        (Some("application/*;q=0.1, text/html"), false),
        (None, false),
    ] {
        let ask = match accept {
            Some(accept) => ask.clone().with("Accept", accept),
            None => ask.clone().without("Accept"),
        };
        let mut client = setup.client().await;
        client.send(&ask.text()).await;
        session.server.expect(&request("1", "ping")).await;
        session.server.send(&result("1", "pong")).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.head.is_events()), (200, is_events), "{accept:?}");
        assert_eq!(answer.body == result("1", "pong"), !is_events, "{accept:?}");
        if is_events {
            assert_eq!(answer.head.header("x-accel-buffering"), Some("no"));
            assert_eq!(answer.head.header("cache-control"), Some("no-cache, no-transform"));
        }
    }
    for bad in ["text/html", "application/json;q=0", ""] {
        let answer = setup.ask(&ask.clone().with("Accept", bad)).await;
        assert_eq!(answer.status, 406, "{bad}");
    }
    let stream = get(&session.id);
    assert_eq!(setup.ask(&stream.clone().with("Accept", "application/json")).await.status, 406);
    for fine in ["text/event-stream", "*/*"] {
        setup.client().await.open(&stream.clone().with("Accept", fine)).await;
    }
    setup.client().await.open(&stream.without("Accept")).await;
    session.server.expect_nothing().await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    for (bad, code) in [
        ("", -32700),
        ("{", -32700),
        ("{} {}", -32700),
        ("\u{feff}", -32700),
        ("null", -32600),
        ("7", -32600),
        ("\"x\"", -32600),
        ("{}", -32600),
        ("[]", -32600),
        ("[1]", -32600),
        ("[[]]", -32600),
        (r#"{"id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"[{"id":1,"method":"ping"}"#, -32700),
    ] {
        let answer = setup.ask(&post(bad).session(&session.id)).await;
        assert_eq!((answer.status, answer.code()), (400, code), "{bad}: {}", answer.body);
        assert!(answer.json()["id"].is_null());
    }
    session.server.expect_nothing().await;
    // A mark at the beginning and line ends between tokens are no harm.
    let answer = setup.ask(&post("\u{feff}{\r\n\"method\":\n\"n\"}").session(&session.id)).await;
    assert_eq!(answer.status, 202);
    session.server.expect("{  \"method\": \"n\"}").await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_not_read_on() {
    let mut setup = Setup::with(any_port().max_body_bytes(1_000)).await;
    let mut session = setup.begin("2025-11-25").await;
    let long = format!(r#"{{"method":"{}"}}"#, "n".repeat(1_000 - 13));
    assert_eq!(long.len(), 1_000);
    assert_eq!(setup.ask(&post(&long).session(&session.id)).await.status, 202);
    session.server.expect(&long).await;
    let longer = format!("{long} ");
    let refused = setup.ask(&post(&longer).session(&session.id)).await;
    assert_eq!((refused.status, refused.json()["id"].is_null()), (413, true));
    assert!(refused.why().contains("1000 bytes"), "{}", refused.why());

    // It is refused by what it says of itself, with nothing of it sent.
    let mut client = setup.client().await;
    let announced = post("").session(&session.id).with("Content-Length", "99999999999");
    client.send(&announced.head()).await;
    assert_eq!(client.answer().await.status, 413);
    client.expect_closed().await;

    // One that never ends is cut off where it is too long.
    let mut client = setup.client().await;
    let endless = post("").without("Content-Length").with("Transfer-Encoding", "chunked");
    client.send(&endless.session(&session.id).head()).await;
    let chunk = format!("100\r\n{}\r\n", "x".repeat(256));
    for _ in 0..4 {
        client.send(&chunk).await;
    }
    assert_eq!(client.answer().await.status, 413);
    session.server.expect_nothing().await;
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn four_mebibytes_are_not_too_long() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let long = format!(r#"{{"method":"{}"}}"#, "n".repeat((4 << 20) - 13));
    let mut client = setup.client().await;
    client.send(&post(&long).session(&session.id).text()).await;
    session.server.expect(&long).await;
    assert_eq!(client.answer().await.status, 202);
    // Once more in pieces, on the same connection.
    let chunked = post(&long).without("Content-Length").with("Transfer-Encoding", "chunked");
    client.send(&chunked.session(&session.id).head()).await;
    let (first, last) = long.split_at(1 << 20);
    for piece in [first, last] {
        client.send(&format!("{:x}\r\n{piece}\r\n", piece.len())).await;
    }
    client.send("0\r\n\r\n").await;
    session.server.expect(&long).await;
    assert_eq!(client.answer().await.status, 202);
    let longer = post(&format!("{long} ")).session(&session.id);
    client.send(&longer.head()).await;
    assert_eq!(client.answer().await.status, 413);
    drop(session);
    setup.end().await;
}

#[tokio::test]
async fn half_a_body_is_no_message() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    let said = post(&note("half")).session(&session.id);
    let text = said.text();
    let mut client = setup.client().await;
    client.send(&text[..text.len() - 1]).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.answer().await.status, 400);
    let mut client = setup.client().await;
    client.send(&text[..text.len() - 1]).await;
    drop(client);
    session.server.expect_nothing().await;
    // Others are served as ever, and so is the same one again.
    assert_eq!(setup.ask(&said).await.status, 202);
    session.server.expect(&note("half")).await;
    assert_eq!(setup.ask(&delete(&session.id)).await.status, 200);
    drop(session);
    setup.end().await;
}
