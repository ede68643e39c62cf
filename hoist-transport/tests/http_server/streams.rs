//! Streams of events: where they break, and how they are taken up again.

use crate::server::{Request, Setup, Step, bytes, events, legacy, reply, result};

fn event(request: &Request) -> String {
    format!("data: {}\n\n", result(request, "{}"))
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed_behind_its_last_event() {
    let mut setup =
        Setup::new(|request| match (request.rpc().as_str(), request.header("last-event-id")) {
            ("x", _) => events([
                bytes("retry: 1\nid: e1\ndata:\n\n"),
                bytes("id: e2\ndata: {\"method\":\"n\"}\n\n"),
            ]),
            ("GET", Some("e2")) => {
                events([bytes("id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n")])
            }
            _ => legacy(request),
        })
        .await;
    setup.handshake().await;
    setup.host.send(r#"{"id":7,"method":"x"}"#).await;
    setup.host.expect(r#"{"method":"n"}"#).await;
    setup.host.expect(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).await;
    assert_eq!(setup.asked("x").len(), 1, "posted once");
    setup.end().await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_an_error() {
    for refuses in [false, true] {
        let mut setup = Setup::new(move |request| match request.rpc().as_str() {
            // Without an id, nothing says where to go on.
            "x" if !refuses => events([bytes("data: {\"method\":\"n\"}\n\n")]),
            "x" => events([bytes("retry: 1\nid: e1\ndata: {\"method\":\"n\"}\n\n")]),
            _ => legacy(request),
        })
        .await;
        setup.handshake().await;
        setup.host.send(r#"{"id":7,"method":"x"}"#).await;
        setup.host.expect(r#"{"method":"n"}"#).await;
        let answer: serde_json::Value = serde_json::from_str(&setup.host.receive().await).unwrap();
        assert!(answer["error"]["message"].as_str().unwrap().contains("not known"), "{answer}");
        assert_eq!(setup.asked("x").len(), 1, "posted once");
        setup.end().await;
    }
}

#[tokio::test]
async fn an_answer_cut_anywhere_is_answered_once_or_an_error() {
    let request = Request { body: r#"{"id":7}"#.to_owned(), ..Request::default() };
    let body = event(&request);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let whole = [head, &body].concat();
    let (mut answered, mut failed) = (0, 0);
    for cut in 0..=whole.len() {
        let part = whole[..cut].to_owned();
        let mut setup = Setup::new(move |request| match request.rpc().as_str() {
            "x" => vec![Step::Bytes(part.clone().into_bytes()), Step::Close],
            _ => legacy(request),
        })
        .await;
        setup.host.send(r#"{"id":7,"method":"x"}"#).await;
        let answer: serde_json::Value = serde_json::from_str(&setup.host.receive().await).unwrap();
        assert_eq!(answer["id"], 7, "cut at {cut}: {answer}");
        if answer["error"].is_null() {
            answered += 1;
        } else {
            failed += 1;
        }
        setup.host.expect_nothing().await;
        assert_eq!(setup.end().await.len(), 1, "cut at {cut}: posted once");
    }
    // With the last brace the answer is whole; the line ends behind it may be missing.
    assert_eq!((answered, failed), (3, whole.len() - 2));
}

#[tokio::test]
async fn a_json_body_cut_anywhere_is_an_error() {
    let body = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    for cut in 0..body.len() {
        let mut setup = Setup::new(move |request| match request.rpc().as_str() {
            "x" => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
                vec![bytes(&head), bytes(&body[..cut]), Step::Close]
            }
            _ => legacy(request),
        })
        .await;
        let answer = setup.ask("7", "x").await;
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("not known"),
            "{cut}: {answer}"
        );
        setup.end().await;
    }
}

#[tokio::test]
async fn the_sessions_own_stream_carries_what_the_server_says() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "GET" => events([bytes("retry: 1\nid: g1\ndata: {\"method\":\"a\"}\n\n"), Step::Wait(1)]),
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    setup.host.expect(r#"{"method":"a"}"#).await;
    assert_eq!(setup.ask("1", "ping").await["id"], 1);
    // It is opened again where it broke off.
    setup.go(1);
    setup.host.expect(r#"{"method":"a"}"#).await;
    let gets = setup.asked("GET");
    assert_eq!(gets[0].header("last-event-id"), None);
    assert_eq!(gets[1].header("last-event-id"), Some("g1"));
    assert_eq!(gets[1].header("mcp-session-id"), Some("s1"));
    setup.end().await;
}

#[tokio::test]
async fn a_server_without_that_stream_is_asked_once() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "405 Method Not Allowed",
        "406 Not Acceptable",
    ] {
        let mut setup = Setup::new(move |request| match request.rpc().as_str() {
            "GET" => reply(status, &[], ""),
            _ => legacy(request),
        })
        .await;
        setup.handshake().await;
        for id in 1..4 {
            setup.ask(&id.to_string(), "ping").await;
        }
        let asked = setup.end().await;
        assert!(asked.iter().filter(|request| request.method == "GET").count() <= 1, "{status}");
    }
}

#[tokio::test]
async fn the_servers_requests_are_answered_by_the_host() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "x" => events([
            bytes("data: {\"id\":\"q\",\"method\":\"roots/list\"}\n\n"),
            Step::Wait(1),
            bytes(&event(request)),
        ]),
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    setup.host.send(r#"{"id":7,"method":"x"}"#).await;
    setup.host.expect(r#"{"id":"q","method":"roots/list"}"#).await;
    setup.host.send(r#"{"id":"q","result":{"roots":[]}}"#).await;
    assert_eq!(setup.ask("8", "ping").await["id"], 8);
    assert!(setup.requests().iter().any(|request| request.body.contains("\"roots\":[]")));
    setup.go(1);
    setup.host.expect(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).await;
    setup.end().await;
}

#[tokio::test]
async fn a_failing_stream_of_the_sessions_own_does_not_hurt_calls() {
    for answer in [
        (|_| vec![Step::Close]) as fn(&Request) -> crate::server::Reply,
        |_| reply("500 Internal Server Error", &[], ""),
        |_| events([]),
        |_| events([bytes("data: {\"method\":\"ping\"")]),
    ] {
        let mut setup = Setup::new(move |request| match request.rpc().as_str() {
            "GET" => answer(request),
            _ => legacy(request),
        })
        .await;
        setup.handshake().await;
        for id in 1..10 {
            assert_eq!(setup.ask(&id.to_string(), "ping").await["id"], id);
        }
        setup.end().await;
    }
}

#[tokio::test]
async fn json_that_is_called_a_stream_is_an_error_and_no_empty_result() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "x" => {
            let body = result(request, "{}");
            reply("200 OK", &[("content-type", "text/event-stream")], &body)
        }
        _ => legacy(request),
    })
    .await;
    assert!(setup.ask("7", "x").await["error"].is_object());
    setup.end().await;
}
