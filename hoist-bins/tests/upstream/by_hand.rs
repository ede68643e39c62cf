//! `hoist-mcp-demo --http` asked by hand, without a proxy.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::{legacy, modern, serve};

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

/// Asks the server by hand; the answer's head, and the connection, which a stream keeps open.
fn ask(url: &str, method: &str, headers: &str, body: &str) -> (String, BufReader<TcpStream>) {
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{method} /mcp HTTP/1.1\r\nHost: {address}\r\n{headers}");
    write!(connection, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut connection = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(connection.read_line(&mut head).unwrap(), 0, "{head}");
    }
    (head, connection)
}

fn session_id(head: &str) -> String {
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    id.unwrap().to_owned()
}

/// Begins a session in a revision; the headers of what follows in it.
fn begin(url: &str, revision: &str) -> String {
    let post = format!("{ACCEPT}{JSON}");
    let lines = legacy(revision);
    let (head, _) = ask(url, "POST", &post, &lines[0].to_string());
    let session = session_id(&head);
    let headers =
        format!("{post}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {revision}\r\n");
    let (head, _) = ask(url, "POST", &headers, &lines[1].to_string());
    assert!(head.starts_with("HTTP/1.1 202"), "{head}");
    headers
}

fn call(id: u32, delay_ms: u32) -> String {
    let params = json!({"name": "lookup", "arguments": {"delay_ms": delay_ms}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// The next field of an event, or `None` at the stream's end.
fn field(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut line = String::new();
    loop {
        line.clear();
        // The length of the last chunk.
        if stream.read_line(&mut line).unwrap() == 0 || line == "0\r\n" {
            return None;
        }
        if let Some((name, value)) = line.trim_end().split_once(':') {
            return Some((name.to_owned(), value.trim_start().to_owned()));
        }
    }
}

/// What is left of a stream: the id and the data of each event.
fn rest(mut stream: BufReader<TcpStream>) -> Vec<(String, String)> {
    let mut events = Vec::new();
    while let Some((name, value)) = field(&mut stream) {
        if name == "id" {
            events.push((value, String::new()));
        } else {
            events.last_mut().unwrap().1 = value;
        }
    }
    events
}

#[test]
fn the_server_insists_on_what_the_protocol_says() {
    let (_server, url) = serve(&[]);
    let status = |method: &str, headers: &str, body: &str| -> String {
        ask(&url, method, headers, body).0.split(' ').nth(1).unwrap().to_owned()
    };
    let lines = legacy("2025-11-25");
    let initialize = lines[0].to_string();
    let post = format!("{ACCEPT}{JSON}");
    assert_eq!(status("POST", JSON, &initialize), "406");
    assert_eq!(status("POST", ACCEPT, &initialize), "415");
    assert_eq!(status("PUT", &post, &initialize), "405");

    let (head, _) = ask(&url, "POST", &post, &initialize);
    let id = session_id(&head);
    let session = format!("{post}Mcp-Session-Id: {id}\r\n");
    let agreed = format!("{session}MCP-Protocol-Version: 2025-11-25\r\n");
    let (initialized, list) = (lines[1].to_string(), lines[2].to_string());
    assert_eq!(status("POST", &agreed, &initialized), "202");
    assert_eq!(status("POST", &agreed, &list), "200");
    assert_eq!(status("POST", &post, &list), "400");
    assert_eq!(status("POST", &session, &list), "400");
    let other = format!("{session}MCP-Protocol-Version: 2025-06-18\r\n");
    assert_eq!(status("POST", &other, &list), "400");
    let unknown = format!("{post}Mcp-Session-Id: {id}0\r\n");
    assert_eq!(status("POST", &unknown, &list), "404");

    let own_stream = ask(&url, "GET", &agreed, "");
    assert!(own_stream.0.starts_with("HTTP/1.1 200"), "{}", own_stream.0);
    assert_eq!(status("GET", &agreed, ""), "409");
    assert_eq!(status("DELETE", &agreed, ""), "200");
    assert_eq!(status("POST", &agreed, &list), "404");
    // Modern requests say in headers what they say in the body.
    assert_eq!(status("POST", &post, &modern()[0].to_string()), "400");
    // A subscription that is refused is no stream.
    let mut listen = modern()[0].clone();
    listen["method"] = "subscriptions/listen".into();
    let named = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    assert_eq!(status("POST", &format!("{post}{named}"), &listen.to_string()), "400");
}

#[test]
fn a_cancelled_call_is_over_at_once() {
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params":
        {"requestId": 1}});
    for odd in [&[][..], &["--odd", "sse"]] {
        let (_server, url) = serve(odd);
        let headers = begin(&url, "2025-11-25");
        let (say, first) = channel();
        // Should the wait for the first go on, the second is answered before it.
        for (id, delay_ms) in [(1, 60_000), (2, 20_000)] {
            let (say, url, headers) = (say.clone(), url.clone(), headers.clone());
            thread::spawn(move || {
                let (head, stream) = ask(&url, "POST", &headers, &call(id, delay_ms));
                let is_stream = head.contains("text/event-stream");
                let answers = if is_stream { rest(stream) } else { Vec::new() };
                // The test may be over.
                let _ = say.send((id, head, answers));
            });
        }
        // As long as it is not known whether the call has arrived.
        let (id, head, answers) = loop {
            let (head, _) = ask(&url, "POST", &headers, &cancel.to_string());
            assert!(head.starts_with("HTTP/1.1 202"), "{head}");
            if let Ok(ended) = first.recv_timeout(Duration::from_millis(10)) {
                break ended;
            }
        };
        assert_eq!(id, 1, "{odd:?}");
        let is_empty = answers.iter().all(|(_, data)| data.is_empty());
        assert!(head.starts_with("HTTP/1.1 202") || is_empty, "{odd:?}: {head}{answers:?}");
    }
}

#[test]
fn every_stream_can_be_resumed() {
    let (_server, url) = serve(&["--odd", "sse"]);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let headers = begin(&url, revision);
        let resume = |id: &str| {
            let (head, stream) = ask(&url, "GET", &format!("{headers}Last-Event-ID: {id}\r\n"), "");
            (head.split(' ').nth(1).unwrap().to_owned(), stream)
        };
        // The client goes away while the call waits, or while its answer is on the way.
        let (_, mut stream) = ask(&url, "POST", &headers, &call(1, 100));
        let (name, id) = field(&mut stream).unwrap();
        assert_eq!(name, "id");
        drop(stream);
        let answers = rest(resume(&id).1);
        let [(last, answer)] = answers.as_slice() else { panic!("{answers:?}") };
        assert!(answer.contains("\"id\":1") && answer.contains("delay_ms"), "{answer}");
        // It is there as often as it is asked for, and no event is sent to who has it.
        assert_eq!(rest(resume(&id).1), answers);
        assert_eq!(rest(resume(last).1), []);
        // So is the answer that began the session.
        let begun = rest(resume("1-0").1);
        assert!(begun[0].1.contains("protocolVersion"), "{begun:?}");
        for unknown in ["99-0", "x", ""] {
            assert_eq!(resume(unknown).0, "400", "{unknown:?}");
        }

        let (_, mut own) = ask(&url, "GET", &headers, "");
        let (_, id) = field(&mut own).unwrap();
        let (head, _) = ask(&url, "GET", &headers, "");
        assert!(head.starts_with("HTTP/1.1 409"), "{head}");
        // Whoever resumes it has it from then on.
        let (status, taken_over) = resume(&id);
        assert_eq!(status, "200");
        while field(&mut own).is_some() {}
        let (head, _) = ask(&url, "DELETE", &headers, "");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        // With the session its stream ends.
        rest(taken_over);
    }
}
