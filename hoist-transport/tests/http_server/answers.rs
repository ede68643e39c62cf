//! What becomes of what the server answers.

use crate::server::{Setup, Step, accepted, bytes, events, json, legacy, reply, result};

#[tokio::test]
async fn a_body_or_a_stream_comes_back_as_lines() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "pretty" => {
            let body =
                format!("{{\n  \"id\" : {},\r\n \"result\": {{ \"n\": 1.0 }}\n}}\n", request.id());
            reply("200 OK", &[("Content-Type", "Application/JSON; charset=utf-8")], &body)
        }
        "stream" => events([
            bytes(": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n"),
            bytes("event: other\ndata: {\"method\":\"not this\"}\n\n"),
            bytes(&format!(
                "event: message\ndata: {{\"id\":{},\ndata: \"result\":{{}}}}\n\n",
                request.id()
            )),
        ]),
        _ => legacy(request),
    })
    .await;
    setup.host.send(r#"{"id":"\u0061","method":"pretty"}"#).await;
    setup.host.expect("{   \"id\" : \"a\",   \"result\": { \"n\": 1.0 } }").await;
    setup.host.send(r#"{"id":2,"method":"stream"}"#).await;
    setup.host.expect(r#"{"jsonrpc":"2.0","method":"m"}"#).await;
    setup.host.expect(r#"{"id":2, "result":{}}"#).await;
    setup.end().await;
}

/// What the host gets for one request that the server answers so.
async fn told(answer: fn(&crate::server::Request) -> crate::server::Reply) -> serde_json::Value {
    let mut setup =
        Setup::new(
            move |request| {
                if request.rpc() == "x" { answer(request) } else { legacy(request) }
            },
        )
        .await;
    setup.handshake().await;
    let answer = setup.ask("7", "x").await;
    assert_eq!(answer["id"], 7, "{answer}");
    assert_eq!(setup.asked("x").len(), 1, "posted once");
    assert_eq!(setup.ask("8", "ping").await["result"], serde_json::json!({}), "and goes on");
    setup.end().await;
    answer
}

#[tokio::test]
async fn a_request_that_is_refused_is_answered_with_the_reason() {
    let page = [("content-type", "text/html")];
    for (answer, status, expected) in [
        (
            (|_| reply("500 Internal Server Error", &[("content-type", "text/html")], "<p>\n</p>"))
                as fn(&_) -> _,
            500,
            "HTTP 500 Internal Server Error",
        ),
        (|_| reply("502 Bad Gateway", &[], ""), 502, "HTTP 502 Bad Gateway"),
        (
            |_| reply("400 Bad Request", &[("content-type", "text/plain")], "no\nsession"),
            400,
            "HTTP 400 Bad Request: no session",
        ),
        (
            |_| reply("200 OK", &[("content-type", "text/html")], "<login>"),
            200,
            "a body of \"text/html\"",
        ),
        (|_| reply("200 OK", &[], ""), 200, "no body"),
        (|_| json(""), 200, "JSON that is no answer"),
        (|_| json("null"), 200, "JSON that is no answer"),
        (|_| json(r#"{"Output":null}"#), 200, "JSON that is no answer"),
        (|_| json(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#), 200, "JSON that is no answer"),
        (|_| accepted(), 202, "HTTP 202 Accepted"),
        (
            |_| reply("429 Too Many Requests", &[("retry-after", "3600")], ""),
            429,
            "tried again after 3600",
        ),
        (
            |_| reply("401 Unauthorized", &[("www-authenticate", "Bearer realm=\"x\"")], ""),
            401,
            "authorization is needed (Bearer realm=\"x\")",
        ),
    ] {
        let told = told(answer).await;
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{told}");
        assert!(!message.contains('<'), "no page: {told}");
        assert_eq!(told["error"]["data"]["httpStatus"], status, "{told}");
    }
    let _ = page;
}

#[tokio::test]
async fn an_error_of_the_servers_own_keeps_its_code() {
    let told_as = told(|request| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32055,"message":"own"}}}}"#,
            request.id()
        );
        reply("500 Internal Server Error", &[("content-type", "application/json")], &body)
    });
    assert_eq!(told_as.await["error"]["code"], -32055);
    // One that does not say which request it answers answers the one it came for.
    for body in [r#"{"jsonrpc":"2.0","id":null,"error":{"code":5}}"#, r#"{"error":{"code":5}}"#] {
        let answer = if body.contains("null") {
            told(|_| json(r#"{"jsonrpc":"2.0","id":null,"error":{"code":5}}"#)).await
        } else {
            told(|_| {
                reply(
                    "400 Bad Request",
                    &[("content-type", "application/json")],
                    r#"{"error":{"code":5}}"#,
                )
            })
            .await
        };
        assert_eq!(answer["error"]["code"], 5, "{body}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_in_front_of_a_body_is_not_passed_on() {
    let mut setup = Setup::new(|request| match request.rpc().as_str() {
        "json" => json(&format!("\u{feff}{}", result(request, "{}"))),
        "stream" => events([bytes(&format!("data: \u{feff}{}\n\n", result(request, "{}")))]),
        _ => legacy(request),
    })
    .await;
    for method in ["json", "stream"] {
        setup.host.send(&format!(r#"{{"id":1,"method":"{method}"}}"#)).await;
        setup.host.expect(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    }
    setup.end().await;
}

#[tokio::test]
async fn a_body_without_a_type_is_not_said_to_be_none() {
    let answer = told(|request| reply("200 OK", &[], &result(request, "{}"))).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("a body that has no Content-Type"), "{message}");
    let answer = told(|_| reply("200 OK", &[("content-type", "text/plain")], "")).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("no body"), "{answer}");
}

#[tokio::test]
async fn what_was_not_asked_for_is_not_unpacked() {
    let answer = told(|request| {
        let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
        reply("200 OK", &headers, &result(request, "{}"))
    })
    .await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("gzip"), "{answer}");
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_only() {
    let mut setup = Setup::new(|request| match (request.path.as_str(), request.rpc().as_str()) {
        ("/mcp", "x") => reply("307 Temporary Redirect", &[("location", "/mcp/?a")], ""),
        ("/mcp/?a", "x") => reply("308 Permanent Redirect", &[("location", "/b/c/d")], ""),
        ("/b/c/d", "x") => {
            reply("307 Temporary Redirect", &[("location", "../.././x/../there")], "")
        }
        ("/mcp", "nowhere") => reply("307 Temporary Redirect", &[], ""),
        ("/mcp", "away") => {
            reply("307 Temporary Redirect", &[("location", "http://127.0.0.1:1/?key=secret")], "")
        }
        ("/mcp", "old") => reply("302 Found", &[("location", "/there")], ""),
        (_, "loop") => reply("307 Temporary Redirect", &[("location", "/mcp")], ""),
        _ => legacy(request),
    })
    .await;
    setup.handshake().await;
    assert_eq!(setup.ask("1", "x").await["result"], serde_json::json!({}));
    let last = setup.asked("x").pop().unwrap();
    assert_eq!((last.path.as_str(), last.header("mcp-session-id")), ("/there", Some("s1")));
    assert_eq!(last.method, "POST");
    for (method, place) in [("away", "http://127.0.0.1:1/"), ("old", "/there")] {
        let answer = setup.ask("2", method).await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(place) && !message.contains("secret"), "{answer}");
    }
    let answer = setup.ask("3", "nowhere").await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("without saying"), "{answer}");
    assert_eq!(setup.asked("nowhere").len(), 1);
    let answer = setup.ask("4", "loop").await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("redirects without end") && !message.contains("508"), "{answer}");
    assert!(setup.asked("loop").len() < 20);
    setup.end().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_for_each_request() {
    let mut setup = Setup::with(legacy, |_| {
        // Nobody listens on a port that was just given back.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        hoist_transport::HttpServer::new(&format!("http://127.0.0.1:{port}/mcp?key=secret"))
            .unwrap()
    })
    .await;
    let answer = setup.ask("1", "initialize").await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be reached"), "{message}");
    assert!(!message.contains("secret"));
    setup.host.send(r#"{"method":"notifications/x"}"#).await;
    assert!(setup.ask("2", "ping").await["error"].is_object());
    setup.end().await;
}

#[tokio::test]
async fn a_notification_is_never_answered() {
    for answer in [
        (|_: &_| reply("500 Internal Server Error", &[("content-type", "text/html")], "<p>"))
            as fn(&crate::server::Request) -> _,
        |_| reply("204 No Content", &[], ""),
        |_| json("null"),
        |_| vec![Step::Close],
        |_| json(r#"{"error":{"code":1}}"#),
    ] {
        let mut setup = Setup::new(move |request| {
            if request.rpc() == "notifications/x" { answer(request) } else { legacy(request) }
        })
        .await;
        setup.handshake().await;
        setup.host.send(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
        assert_eq!(setup.ask("1", "ping").await["id"], 1);
        assert_eq!(setup.asked("notifications/x").len(), 1);
        setup.end().await;
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_an_error_for_its_request() {
    let mut setup = Setup::with(
        |request| match request.rpc().as_str() {
            "long" => json(&result(request, &format!("\"{}\"", "x".repeat(2000)))),
            _ => legacy(request),
        },
        |server| server.max_message_bytes(1000),
    )
    .await;
    let answer = setup.ask("1", "long").await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("1000 bytes"), "{answer}");
    setup.end().await;
}

#[tokio::test]
async fn a_message_over_the_limit_on_a_stream_is_seen_and_answered_at_once() {
    let long = "x".repeat(2000);
    let mut setup = Setup::watched(
        move |request| match request.rpc().as_str() {
            // The stream stays open, so only the message itself can end the request.
            "answer" => events([
                bytes(&format!(
                    "data: {{\"result\":\"{long}\",\ndata: \"id\":{}}}\n\n",
                    request.id()
                )),
                Step::Wait(1),
            ]),
            "notification" => events([
                bytes(&format!("data: {{\"method\":\"m\",\"params\":\"{long}\"}}\n\n")),
                bytes(&format!("data: {}\n\n", result(request, "{}"))),
            ]),
            "question" => events([
                bytes(&format!(
                    "data: {{\"id\":\"s\",\"method\":\"m\",\"params\":\"{long}\"}}\n\n"
                )),
                bytes(&format!("data: {}\n\n", result(request, "{}"))),
            ]),
            "nothing" => events([bytes(&format!("data: [\"{long}\"]\n\n"))]),
            "body" => json(&result(request, &format!("\"{long}\""))),
            _ => legacy(request),
        },
        |server| server.max_message_bytes(1000),
    )
    .await;
    setup.handshake().await;
    let error = setup.ask("1", "answer").await["error"]["message"].clone();
    assert_eq!(
        error,
        "hoist: the server's answer has 2022 bytes, more than the limit of 1000 bytes"
    );
    assert_eq!(setup.ask("2", "notification").await["result"], serde_json::json!({}));
    assert_eq!(setup.ask("3", "question").await["result"], serde_json::json!({}));
    let error = setup.ask("4", "nothing").await["error"]["message"].to_string();
    assert!(error.contains("after a message over the limit"), "{error}");
    let error = setup.ask("5", "body").await["error"]["message"].to_string();
    assert!(error.contains("more than the limit of 1000 bytes"), "{error}");
    setup.go(1);
    let lost: Vec<String> =
        setup.observed().into_iter().filter(|seen| seen.contains("lost")).collect();
    let expected = ["Server lost 2022", "Server lost 2027", "Server lost 2036", "Server lost 2005"];
    assert_eq!(lost[..4], expected);
    assert_eq!(lost.len(), 5, "{lost:?}");
    // The server is told that its request was not passed on.
    let requests = setup.end().await;
    let answers: Vec<_> = requests.iter().filter(|request| request.json()["id"] == "s").collect();
    assert_eq!(answers.len(), 1, "{requests:?}");
    assert!(answers[0].json()["error"].is_object(), "{requests:?}");
}

#[tokio::test]
async fn what_is_no_json_rpc_is_seen_and_not_passed_on() {
    let mut setup = Setup::watched(
        |request| match request.rpc().as_str() {
            "stream" => events([
                bytes("data: hello\ndata: there\n\ndata: {\"no\":\"message\"}\n\n"),
                bytes(&format!("data: {}\n\n", result(request, "{}"))),
            ]),
            "body" => json("{\"Output\":null}"),
            _ => legacy(request),
        },
        |server| server,
    )
    .await;
    setup.handshake().await;
    assert_eq!(setup.ask("1", "stream").await["result"], serde_json::json!({}));
    assert!(setup.ask("2", "body").await["error"].is_object());
    let observed = setup.observed();
    for line in ["hello there", "{\"no\":\"message\"}", "{\"Output\":null}"] {
        let line = format!("Server {line}");
        assert_eq!(observed.iter().filter(|seen| **seen == line).count(), 1, "{observed:?}");
    }
    setup.end().await;
}
