//! A host by URL without an SDK.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A connection over HTTP/1.1, for one request at a time.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
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
        Self { stream: BufReader::new(stream), address: address.to_owned() }
    }

    /// Makes a request and reads the head of its answer.
    pub(super) async fn ask(&mut self, method: &str, headers: &[(&str, &str)], body: &str) -> Head {
        let length = body.len().to_string();
        let own = [
            ("Host", &*self.address),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Content-Length", &length),
        ];
        let mut text = format!("{method} /mcp HTTP/1.1\r\n");
        for (name, value) in own.iter().chain(headers) {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text.extend(["\r\n", body]);
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
        Head { status: status.expect("a status line"), lines }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("it is text");
        line.trim_end().to_owned()
    }

    /// The messages of a body, to its end: a stream of events, or one message.
    pub(super) async fn messages(&mut self, head: &Head) -> Vec<Value> {
        let mut body = Vec::new();
        if let Some(length) = head.header("content-length") {
            body = vec![0; length.parse().expect("a number")];
            self.stream.read_exact(&mut body).await.expect("the body is whole");
        } else {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        }
        let body = String::from_utf8(body).expect("a body is text");
        if head.header("content-type") != Some("text/event-stream") {
            return vec![serde_json::from_str(&body).expect("a body is a message")];
        }
        assert!(body.is_empty() || body.ends_with("\n\n"), "the stream ends within an event");
        let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let messages = data.filter(|data| !data.is_empty());
        messages.map(|data| serde_json::from_str(data).expect("an event is a message")).collect()
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await, 16).expect("a chunk's size");
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).await.expect("the chunk is whole");
        chunk.truncate(size);
        (size > 0).then_some(chunk)
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

const MODERN: &str = "2026-07-28";

/// A modern request.
pub(super) fn modern(method: &str, id: usize, mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// All that comes of a modern request, with these headers besides its own.
pub(super) async fn ask_modern(
    address: &str,
    headers: &[(&str, &str)],
    message: &Value,
) -> (u16, Vec<Value>) {
    let mut all = headers.to_vec();
    all.push(("MCP-Protocol-Version", MODERN));
    all.extend(message["method"].as_str().map(|method| ("Mcp-Method", method)));
    all.extend(message["params"]["name"].as_str().map(|name| ("Mcp-Name", name)));
    let mut connection = Connection::open(address).await;
    let head = connection.ask("POST", &all, &message.to_string()).await;
    let messages = connection.messages(&head).await;
    (head.status, messages)
}
