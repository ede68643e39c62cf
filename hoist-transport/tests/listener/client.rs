//! A host that speaks HTTP/1.1 exactly as a test tells it to.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use memchr::memmem;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long to wait for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request, to be put into bytes.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// What a host usually sends with a message.
pub(crate) fn post(body: &str) -> Request {
    Request::new("POST", "/mcp")
        .with("Accept", "application/json, text/event-stream")
        .with("Content-Type", "application/json")
        .with("Content-Length", &body.len().to_string())
        .body(body)
}

/// A stream for what the server says on its own.
pub(crate) fn get(session: &str) -> Request {
    Request::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", session)
}

pub(crate) fn delete(session: &str) -> Request {
    Request::new("DELETE", "/mcp").with("Mcp-Session-Id", session)
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        let headers = vec![("Host".to_owned(), "localhost".to_owned())];
        Self { line: format!("{method} {target} HTTP/1.1"), headers, body: String::new() }
    }

    /// Adds a header, in place of any of the same name.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header beside any of the same name.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn session(self, session: &str) -> Self {
        self.with("Mcp-Session-Id", session)
    }

    /// Takes its answer as one body.
    pub(crate) fn json_only(self) -> Self {
        self.with("Accept", "application/json")
    }

    fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text + "\r\n" + &self.body
    }

    /// Its head only.
    pub(crate) fn head(&self) -> String {
        Self { body: String::new(), ..self.clone() }.text()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| &**value)
    }

    pub(crate) fn is_events(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }
}

/// An answer with a body.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The JSON-RPC error's code.
    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap()
    }

    pub(crate) fn why(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// An event, or a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) text: String,
}

/// A connection to the listener.
#[derive(Debug)]
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    buffer: Vec<u8>,
    /// What came of a stream of events and makes no whole one yet.
    events: Vec<u8>,
    /// How much of a body of known length is left.
    left: Option<usize>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, buffer: Vec::new(), events: Vec::new(), left: None }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Sends a request and reads all of its answer.
    pub(crate) async fn ask(&mut self, request: &Request) -> Answer {
        self.send(&request.text()).await;
        self.answer().await
    }

    /// Sends a request and reads the head of its answer, which is to be a stream of events.
    pub(crate) async fn open(&mut self, request: &Request) -> Head {
        self.send(&request.text()).await;
        let head = self.head().await;
        assert!(head.is_events() && head.status == 200, "{head:?}");
        head
    }

    /// Sends a request whose answer is read later.
    pub(crate) async fn say(&mut self, request: &Request) {
        self.send(&request.text()).await;
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await;
        let body = match head.header("content-length") {
            Some(length) => {
                let length: usize = length.parse().unwrap();
                while self.buffer.len() < length {
                    assert!(self.fill().await, "the body is cut off");
                }
                self.buffer.drain(..length).collect()
            }
            None if head.header("transfer-encoding").is_some() => {
                let mut body = Vec::new();
                while let Some(chunk) = self.chunk().await {
                    body.extend(chunk);
                }
                body
            }
            None => Vec::new(),
        };
        let status = head.status;
        Answer { head, status, body: String::from_utf8(body).unwrap() }
    }

    pub(crate) async fn head(&mut self) -> Head {
        let status = self.line().await;
        let status = status.split(' ').nth(1).unwrap_or_else(|| panic!("{status:?}"));
        let mut head = Head { status: status.parse().unwrap(), headers: Vec::new() };
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                self.left = head.header("content-length").map(|length| length.parse().unwrap());
                return head;
            };
            head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// The next event or comment; `None` at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = memmem::find(&self.events, b"\n\n") {
                let text = String::from_utf8(self.events.drain(..end + 2).collect()).unwrap();
                let field = |name: &str| {
                    let value = text.lines().find_map(|line| line.strip_prefix(name));
                    value.map(str::to_owned)
                };
                return Some(Event { id: field("id: "), data: field("data: "), text });
            }
            let Some(chunk) = self.chunk().await else {
                assert!(self.events.is_empty(), "the stream ends within an event");
                return None;
            };
            self.events.extend(chunk);
        }
    }

    /// The message of the next event that has one.
    pub(crate) async fn message(&mut self) -> String {
        loop {
            let event = self.event().await.expect("the stream goes on");
            if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                return data;
            }
        }
    }

    /// Checks that the stream ends here.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) -> impl Future<Output = ()> + '_ {
        let at = std::panic::Location::caller();
        async move {
            let event = self.event().await;
            assert_eq!(event, None, "the stream should end ({at})");
        }
    }

    /// Checks that the connection ends here.
    #[track_caller]
    pub(crate) fn expect_closed(&mut self) -> impl Future<Output = ()> + '_ {
        let at = std::panic::Location::caller();
        async move {
            let more = self.fill().await;
            let text = String::from_utf8_lossy(&self.buffer);
            assert!(!more && text.is_empty(), "the connection should end, not say {text} ({at})");
        }
    }

    /// The next piece of a body; `None` at its end.
    async fn chunk(&mut self) -> Option<Vec<u8>> {
        if let Some(left) = self.left.take() {
            while self.buffer.len() < left {
                assert!(self.fill().await, "the body is cut off");
            }
            self.left = Some(0);
            return (left > 0).then(|| self.buffer.drain(..left).collect());
        }
        let length = usize::from_str_radix(&self.line().await, 16).unwrap();
        while self.buffer.len() < length + 2 {
            assert!(self.fill().await, "the chunk is cut off");
        }
        let chunk = self.buffer.drain(..length).collect();
        self.buffer.drain(..2);
        (length > 0).then_some(chunk)
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = memmem::find(&self.buffer, b"\r\n") {
                let line = self.buffer.drain(..end + 2).take(end).collect();
                return String::from_utf8(line).unwrap();
            }
            assert!(self.fill().await, "the answer is cut off");
        }
    }

    /// Reads more; false at the end.
    async fn fill(&mut self) -> bool {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await;
        // A connection that is reset has ended, too.
        read.expect("something comes").unwrap_or_default() > 0
    }
}
