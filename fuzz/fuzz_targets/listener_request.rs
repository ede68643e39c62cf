//! Whatever a host sends the listener, byte for byte: it is answered in HTTP or not at all, what
//! reaches a server is one message to a line, and everything ends.

#![no_main]

use std::net::SocketAddr;
use std::time::Duration;

use hoist_fuzz::input::Input;
use hoist_proxy_core::testkit::{self, Peer};
use hoist_proxy_core::{BoxFuture, Connection, Error, Proxy, SessionContext, Upstream};
use hoist_transport::Listener;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;

const MAX_BODY_BYTES: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(serve(data));
});

async fn serve(data: &[u8]) {
    let here = "127.0.0.1:0".parse().expect("an address");
    let listening = Listener::new(here).max_body_bytes(MAX_BODY_BYTES).max_sessions(4).bind().await;
    let listening = listening.expect("a free port");
    let (address, closed) = (listening.address(), listening.closed());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(Proxy::new(listening, Servers).run(async {
        let _ = stopped.await;
    }));
    let begin = r#"{"id":0,"method":"initialize","params":{}}"#;
    let mut begun = say(address, &post("Accept: application/json\r\n", begin.as_bytes())).await;
    let begun = String::from_utf8(rest(&mut begun).await).expect("an answer in ASCII");
    let session = begun.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let mut host = say(address, &request(data, session.expect("a session begins"))).await;
    // Whatever is open then ends with it.
    drop(stop);
    let answer = rest(&mut host).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "no HTTP: {answer:?}");
    let ended = timeout(Duration::from_secs(5), running).await.expect("the proxy ends");
    let report = ended.expect("it does not panic").expect("hosts were accepted");
    assert_eq!(report.failed, 0);
    timeout(Duration::from_secs(5), closed).await.expect("every connection closes");
}

/// The bytes that a host sends, of which the input says as much as it likes.
fn request(data: &[u8], session: &str) -> Vec<u8> {
    let mut input = Input(data);
    let kind = input.byte().wrapping_sub(b'0') % 6;
    let rest = input.rest();
    let at = rest.windows(2).position(|two| two == b"\n\n").unwrap_or(rest.len());
    // Lines of headers, and what follows them.
    let headers = String::from_utf8_lossy(&rest[..at]).replace("$SESSION", session);
    let headers: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
    let body = rest.get(at + 2..).unwrap_or_default();
    let both = "Accept: application/json, text/event-stream\r\n";
    match kind {
        0 => rest.to_vec(),
        1 => post(&format!("{both}Mcp-Session-Id: {session}\r\n"), rest),
        2 => {
            let said =
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: t\r\n";
            post(&format!("{both}{said}"), rest)
        }
        3 => post(&headers, body),
        4 => post(&format!("{both}{headers}"), body),
        _ => format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").into_bytes(),
    }
}

fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A host that sends these bytes, and nothing after them; and what comes back at once.
async fn say(address: SocketAddr, request: &[u8]) -> Host {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let mut heard = Vec::new();
    // The listener may close first, with what it has not read still on the way.
    let _ = stream.write_all(request).await;
    // A host that ends what it sends wants no answer, so give one the time to come.
    let _ = timeout(Duration::from_millis(2), stream.read_buf(&mut heard)).await;
    let _ = stream.shutdown().await;
    Host { stream, heard }
}

#[derive(Debug)]
struct Host {
    stream: TcpStream,
    heard: Vec<u8>,
}

/// All that comes back.
async fn rest(host: &mut Host) -> Vec<u8> {
    let more = host.stream.read_to_end(&mut host.heard);
    let _ = timeout(Duration::from_secs(5), more).await.expect("the connection ends");
    std::mem::take(&mut host.heard)
}

/// A server for each session, that answers whatever it is asked.
#[derive(Debug)]
struct Servers;

impl Upstream for Servers {
    fn connect<'a>(
        &'a self,
        session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        Box::pin(async move {
            let (peer, server) = testkit::server();
            tokio::spawn(play(peer));
            server.connect(session).await
        })
    }
}

async fn play(mut peer: Peer) {
    while let Some(line) = peer.receive_line().await {
        let body = line.body();
        assert!(!body.contains(&b'\n'), "a message on several lines: {line:?}");
        let message = serde_json::from_slice::<Value>(body);
        // What serde's values cannot hold is a message all the same.
        let Ok(message) = message else { continue };
        let requests = match &message {
            Value::Array(batch) => batch.iter().collect(),
            message => vec![message],
        };
        for request in requests {
            assert!(request.is_object(), "no message: {line:?}");
            if request.get("method").is_some() && request.get("id").is_some() {
                let answer = serde_json::json!({"id": request["id"], "result": {"tools": []}});
                peer.send(r#"{"method":"notifications/message"}"#).await;
                peer.send(&answer.to_string()).await;
            }
        }
    }
}
