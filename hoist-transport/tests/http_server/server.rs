//! An HTTP server that says exactly what a test tells it to, byte for byte.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hoist_proxy_core::testkit::{self, Peer};
use hoist_proxy_core::{Body, Crossing, Emit, Interceptor, Proxy, Report, layer_fn};
use hoist_transport::HttpServer;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The message's method, or that of HTTP where there is no message.
    pub(crate) fn rpc(&self) -> String {
        match self.json()["method"].as_str() {
            Some(method) => method.to_owned(),
            None => self.method.clone(),
        }
    }

    /// The message's id, as it was spelt.
    pub(crate) fn id(&self) -> String {
        self.json()["id"].to_string()
    }
}

/// What is sent back.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    /// Goes on once the test says this number, or a higher one.
    Wait(u32),
    /// Ends the connection.
    Close,
}

pub(crate) type Reply = Vec<Step>;

/// An answer with a body.
pub(crate) fn reply(status: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text += &[name, ": ", value, "\r\n"].concat();
    }
    vec![Step::Bytes((text + "\r\n" + body).into_bytes())]
}

pub(crate) fn json(body: &str) -> Reply {
    reply("200 OK", &[("content-type", "application/json")], body)
}

/// A stream of events, ended by the end of the connection.
pub(crate) fn events(steps: impl IntoIterator<Item = Step>) -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut all = vec![Step::Bytes(head.into())];
    all.extend(steps);
    all.push(Step::Close);
    all
}

pub(crate) fn bytes(text: &str) -> Step {
    Step::Bytes(text.into())
}

pub(crate) fn accepted() -> Reply {
    reply("202 Accepted", &[], "")
}

/// An answer to the request, with this text as its result.
pub(crate) fn result(request: &Request, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{text}}}"#, request.id())
}

/// What a well-behaved legacy server says, of session `s1`.
pub(crate) fn legacy(request: &Request) -> Reply {
    match request.rpc().as_str() {
        "initialize" => {
            let body = result(request, r#"{"protocolVersion":"2025-06-18"}"#);
            let headers = [("content-type", "application/json"), ("mcp-session-id", "s1")];
            reply("200 OK", &headers, &body)
        }
        "GET" => reply("405 Method Not Allowed", &[], ""),
        "DELETE" => reply("200 OK", &[], ""),
        _ if request.json()["id"].is_null() || request.json()["method"].is_null() => accepted(),
        _ => json(&result(request, "{}")),
    }
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server, the host behind a proxy to it, and what crossed.
pub(crate) struct Setup {
    pub(crate) host: Peer,
    requests: Arc<Mutex<Vec<Request>>>,
    seen: watch::Receiver<usize>,
    go: watch::Sender<u32>,
    running: JoinHandle<Result<Report, hoist_proxy_core::Error>>,
    /// What an observer saw, where there is one.
    observed: Observed,
}

type Observed = Arc<Mutex<Vec<String>>>;

/// Writes down what crosses, as a log does.
struct Observer(Observed);

impl Interceptor for Observer {
    fn name(&self) -> &'static str {
        "observer"
    }

    fn observe(&self, crossing: &Crossing<'_>, _emit: &mut Emit) {
        let what = match (crossing.bytes(), crossing.body()) {
            (Some(bytes), _) => String::from_utf8_lossy(&bytes).into_owned(),
            (None, Body::Lost { len_bytes }) => format!("lost {len_bytes}"),
            (None, other) => panic!("{other:?}"),
        };
        self.0.lock().unwrap().push(format!("{:?} {what}", crossing.side()));
    }
}

impl Setup {
    pub(crate) async fn new(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(handler, |server| server).await
    }

    /// As [`new`](Self::new), with the server's options set.
    pub(crate) async fn with(
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        set_up: impl FnOnce(HttpServer) -> HttpServer,
    ) -> Self {
        Self::at("/mcp", handler, set_up).await
    }

    /// As [`new`](Self::new), with another path and query.
    pub(crate) async fn with_path(
        path: &str,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::at(path, handler, |server| server).await
    }

    async fn at(
        path: &str,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        set_up: impl FnOnce(HttpServer) -> HttpServer,
    ) -> Self {
        let here = |address| format!("http://{address}{path}");
        Self::behind(None, here, handler, set_up).await
    }

    /// As [`with`](Self::with), and observed.
    pub(crate) async fn watched(
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        set_up: impl FnOnce(HttpServer) -> HttpServer,
    ) -> Self {
        let here = |address| format!("http://{address}/mcp");
        Self::start(None, here, handler, set_up, true).await
    }

    /// A server behind TLS, or not, at the URL that is made of its address.
    pub(crate) async fn behind(
        tls: Option<TlsAcceptor>,
        url: impl FnOnce(SocketAddr) -> String,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        set_up: impl FnOnce(HttpServer) -> HttpServer,
    ) -> Self {
        Self::start(tls, url, handler, set_up, false).await
    }

    async fn start(
        tls: Option<TlsAcceptor>,
        url: impl FnOnce(SocketAddr) -> String,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        set_up: impl FnOnce(HttpServer) -> HttpServer,
        watches: bool,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = url(listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (count, seen) = watch::channel(0);
        let (go, goes) = watch::channel(0);
        let handler: Arc<Handler> = Arc::new(handler);
        let (notes, count) = (Arc::clone(&requests), Arc::new(count));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (handler, notes) = (Arc::clone(&handler), Arc::clone(&notes));
                let (count, goes, tls) = (Arc::clone(&count), goes.clone(), tls.clone());
                tokio::spawn(async move {
                    // A connection that breaks is the other side's affair.
                    let _ = match tls {
                        None => serve(stream, &*handler, &notes, &count, goes).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => serve(stream, &*handler, &notes, &count, goes).await,
                            Err(error) => Err(error),
                        },
                    };
                });
            }
        });
        let (host, downstream) = testkit::host();
        let server = set_up(HttpServer::new(&url).unwrap());
        let observed = Observed::default();
        let mut proxy = Proxy::new(downstream, server);
        if watches {
            let to = Arc::clone(&observed);
            proxy = proxy.layer(layer_fn(move |_| Ok(Box::new(Observer(Arc::clone(&to))))));
        }
        let running = tokio::spawn(proxy.run(std::future::pending()));
        Self { host, requests, seen, go, running, observed }
    }

    /// What an observer saw that was there from the start.
    pub(crate) fn observed(&self) -> Vec<String> {
        self.observed.lock().unwrap().clone()
    }

    /// What the server was asked, so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Those of a JSON-RPC method, or of an HTTP method without a message.
    pub(crate) fn asked(&self, rpc: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.rpc() == rpc).collect()
    }

    /// Waits until the server was asked so many times.
    pub(crate) async fn until_asked(&mut self, times: usize) {
        self.seen.wait_for(|seen| *seen >= times).await.unwrap();
    }

    /// Lets replies go on that wait for this number.
    pub(crate) fn go(&self, number: u32) {
        self.go.send_replace(number);
    }

    pub(crate) async fn handshake(&mut self) {
        self.host.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#).await;
        let answer = self.host.receive().await;
        assert!(answer.contains("\"result\""), "{answer}");
        self.host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    /// Sends a request and returns its answer.
    pub(crate) async fn ask(&mut self, id: &str, method: &str) -> Value {
        self.host.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)).await;
        serde_json::from_str(&self.host.receive().await).unwrap()
    }

    /// Ends the session and returns all the server was asked.
    pub(crate) async fn end(mut self) -> Vec<Request> {
        self.host.close();
        self.host.expect_end().await;
        self.running.await.unwrap().unwrap().into_last().unwrap();
        self.requests.lock().unwrap().clone()
    }
}

pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    handler: &Handler,
    notes: &Mutex<Vec<Request>>,
    count: &watch::Sender<usize>,
    mut goes: watch::Receiver<u32>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await? {
        notes.lock().unwrap().push(request.clone());
        count.send_modify(|count| *count += 1);
        for step in handler(&request) {
            match step {
                Step::Bytes(bytes) => stream.write_all(&bytes).await?,
                Step::Wait(number) => {
                    let _ = goes.wait_for(|go| *go >= number).await;
                }
                Step::Close => return stream.shutdown().await,
            }
        }
    }
    Ok(())
}

async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Request>> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break buffer.drain(..end + 4).collect::<Vec<u8>>();
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap().split(' ');
    let mut request = Request {
        method: words.next().unwrap().to_owned(),
        path: words.next().unwrap().to_owned(),
        ..Request::default()
    };
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = String::from_utf8(buffer.drain(..length).collect()).unwrap();
    Ok(Some(request))
}
