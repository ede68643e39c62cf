//! A host by URL without an SDK.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A connection over HTTP/1.1, for one request at a time.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    /// Of the body that is being read: what has come of an event.
    pending: Vec<u8>,
    /// The length of a body that is not read yet, where its head gives it.
    unread: Option<usize>,
}

/// The start of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    lines: Vec<String>,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Connection {
    pub(super) async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("the proxy listens");
        stream.set_nodelay(true).expect("a socket of our own");
        Self {
            stream: BufReader::new(stream),
            address: address.to_owned(),
            pending: Vec::new(),
            unread: None,
        }
    }

    /// Makes a request and reads the head of its answer.
    pub(super) async fn ask(&mut self, method: &str, headers: &[(&str, &str)], body: &str) -> Head {
        let mut text = format!("{method} /mcp HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text.push_str("Accept: application/json, text/event-stream\r\n");
        text.push_str("Content-Type: application/json\r\n");
        let _ = write!(text, "Content-Length: {}\r\n\r\n{body}", body.len());
        self.stream.write_all(text.as_bytes()).await.expect("the proxy reads");
        let mut lines = Vec::new();
        loop {
            let line = self.line().await;
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).and_then(|status| status.parse().ok());
        let head = Head { status: status.expect("a status line"), lines };
        self.unread = head.header("content-length").and_then(|length| length.parse().ok());
        head
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("it is text");
        line.trim_end().to_owned()
    }

    /// The next message of a body, which is a stream of events, or one message; `None` at its end.
    pub(super) async fn message(&mut self, head: &Head) -> Option<Value> {
        if let Some(length) = self.unread.take() {
            self.pending = vec![0; length];
            self.stream.read_exact(&mut self.pending).await.expect("the body is whole");
            if head.header("content-type") == Some("application/json") {
                return serde_json::from_slice(&std::mem::take(&mut self.pending)).ok();
            }
        }
        loop {
            while let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.pending.drain(..end + 2).collect();
                let event = String::from_utf8(event).expect("an event is text");
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data.filter(|data| !data.is_empty()) {
                    return Some(serde_json::from_str(data).expect("an event is a message"));
                }
            }
            if head.header("content-length").is_some() {
                return None;
            }
            let size = usize::from_str_radix(&self.line().await, 16).expect("a chunk's size");
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.expect("the chunk is whole");
            if size == 0 {
                assert!(self.pending.is_empty(), "the stream ends within an event");
                return None;
            }
            self.pending.extend_from_slice(&chunk[..size]);
        }
    }

    /// All messages of a body.
    pub(super) async fn messages(&mut self, head: &Head) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(message) = self.message(head).await {
            messages.push(message);
        }
        messages
    }
}

/// A legacy session.
#[derive(Debug, Clone)]
pub(super) struct Legacy {
    pub(super) address: String,
    pub(super) id: String,
}

const VERSION: &str = "2025-06-18";

impl Legacy {
    /// Begins one; the answer's head where it is refused.
    pub(super) async fn begin(address: &str) -> Result<Self, Head> {
        let mut connection = Connection::open(address).await;
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        let initialize =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let head = connection.ask("POST", &[], &initialize.to_string()).await;
        let answer = connection.messages(&head).await;
        if head.status != 200 {
            return Err(head);
        }
        assert!(answer[0]["result"].is_object(), "{answer:?}");
        let id = head.header("mcp-session-id").expect("it begins a session").to_owned();
        let session = Self { address: address.to_owned(), id };
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let head = connection.ask("POST", &session.headers(), &note.to_string()).await;
        assert_eq!(head.status, 202);
        Ok(session)
    }

    pub(super) fn headers(&self) -> [(&str, &str); 2] {
        [("Mcp-Session-Id", &self.id), ("MCP-Protocol-Version", VERSION)]
    }

    /// Sends a request whose answer has begun to come: its stream is open.
    pub(super) async fn open(&self, message: &Value) -> (Connection, Head) {
        let mut connection = Connection::open(&self.address).await;
        let head = connection.ask("POST", &self.headers(), &message.to_string()).await;
        (connection, head)
    }

    /// All that comes of a request.
    pub(super) async fn ask(&self, message: &Value) -> Vec<Value> {
        let (mut connection, head) = self.open(message).await;
        assert_eq!(head.status, 200, "{head:?}");
        connection.messages(&head).await
    }

    pub(super) async fn end(&self) -> u16 {
        let mut connection = Connection::open(&self.address).await;
        connection.ask("DELETE", &self.headers(), "").await.status
    }
}

/// A call, with a token to report its progress by.
pub(super) fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}
