//! A listener whose sessions each have a server that the test plays.

use std::net::SocketAddr;
use std::time::Duration;

use hoist_proxy_core::testkit::{self, Peer};
use hoist_proxy_core::{
    BoxFuture, Connection, Error, Host, Proxy, Report, SessionContext, Upstream,
};
use hoist_transport::Listener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client::{Client, Request, post};

/// Makes a scripted server for each session.
#[derive(Debug)]
struct Servers(mpsc::Sender<Server>);

/// A session's server, and what is known of its host.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) peer: Peer,
    pub(crate) host: Host,
}

impl Upstream for Servers {
    fn connect<'a>(
        &'a self,
        session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        Box::pin(async move {
            let (peer, server) = testkit::server();
            let connection = server.connect(session).await?;
            let server = Server { peer, host: session.host.clone() };
            self.0.send(server).await.map_err(|_| Error::Connect {
                what: "the test wants no more servers".to_owned(),
                source: None,
            })?;
            Ok(connection)
        })
    }
}

#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    pub(crate) servers: mpsc::Receiver<Server>,
    proxy: Running,
}

/// A proxy at work.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    report: JoinHandle<Result<Report, Error>>,
    closed: BoxFuture<'static, ()>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

/// A session that has begun.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) server: Peer,
}

pub(crate) fn any_port() -> Listener {
    Listener::new("127.0.0.1:0".parse().unwrap())
}

/// Starts a proxy between this listener and this upstream.
pub(crate) async fn run(
    listener: Listener,
    upstream: impl Upstream + 'static,
) -> (String, SocketAddr, Running) {
    let listening = listener.bind().await.unwrap();
    let (url, address) = (listening.url().to_owned(), listening.address());
    let closed = Box::pin(listening.closed());
    let (stop, stopped) = oneshot::channel();
    let proxy = Proxy::new(listening, upstream).run(async {
        // Dropped or sent, it means the same.
        let _ = stopped.await;
    });
    let report = tokio::spawn(proxy);
    (url, address, Running { stop, report, closed })
}

impl Setup {
    pub(crate) async fn new() -> Self {
        Self::with(any_port()).await
    }

    pub(crate) async fn with(listener: Listener) -> Self {
        let (begun, servers) = mpsc::channel(2_000);
        let (url, address, proxy) = run(listener, Servers(begun)).await;
        Self { address, url, servers, proxy }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, request: &Request) -> crate::client::Answer {
        self.client().await.ask(request).await
    }

    /// The server of the next session that begins.
    pub(crate) async fn server(&mut self) -> Server {
        let next = timeout(Duration::from_secs(20), self.servers.recv()).await;
        next.expect("a session begins").unwrap()
    }

    /// Whether a session has begun that no test has asked for yet.
    pub(crate) fn has_begun_another(&mut self) -> bool {
        self.servers.try_recv().is_ok()
    }

    /// A legacy session of this revision, with its handshake behind it.
    pub(crate) async fn begin(&mut self, version: &str) -> Session {
        let mut client = self.client().await;
        client.send(&post(&initialize(version)).text()).await;
        let mut server = self.server().await.peer;
        server.expect(&initialize(version)).await;
        server.send(&agreed(version)).await;
        let head = client.head().await;
        let id = head.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(client.message().await, agreed(version));
        client.expect_end().await;
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = client.ask(&post(initialized).session(&id)).await;
        assert_eq!((answer.status, &*answer.body), (202, ""));
        server.expect(initialized).await;
        Session { client, id, server }
    }

    /// Tells the proxy to stop, and waits until all is over.
    pub(crate) async fn end(self) {
        let _ = self.proxy.end().await;
    }

    /// The running proxy, to be stopped while hosts still wait.
    pub(crate) fn into_running(self) -> Running {
        self.proxy
    }
}

impl Running {
    pub(crate) async fn end(self) -> Report {
        let Self { stop, report, closed } = self;
        let _ = stop.send(());
        let report = timeout(Duration::from_secs(20), report).await.expect("the proxy ends");
        timeout(Duration::from_secs(5), closed).await.expect("every connection closes");
        report.unwrap().unwrap()
    }
}

pub(crate) fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#
    )
}

pub(crate) fn agreed(version: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{version}"}}}}"#)
}

pub(crate) fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

pub(crate) fn result(id: &str, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{text}"}}"#)
}

pub(crate) fn note(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

/// A modern request, and the POST that carries it.
pub(crate) fn modern(id: &str, method: &str, client: &str) -> (String, Request) {
    modern_with(id, method, client, "")
}

/// As [`modern`], with more members in its `_meta`, each behind a comma.
pub(crate) fn modern_with(id: &str, method: &str, client: &str, meta: &str) -> (String, Request) {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{client}","version":"1"}}{meta}}}}}}}"#
    );
    let request = post(&text).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method);
    (text, request)
}

/// Lets every other task run, those too that are to see that a connection is gone.
pub(crate) async fn settle() {
    for _ in 0..256 {
        tokio::task::yield_now().await;
    }
}

/// A clock that stands still until it is told to move on, whatever sockets do meanwhile.
#[derive(Debug)]
pub(crate) struct Clock(#[expect(dead_code, reason = "it is what holds the clock")] Hold);

type Hold = std::sync::mpsc::Sender<()>;

impl Clock {
    pub(crate) fn stop() -> Self {
        tokio::time::pause();
        let (hold, let_go) = std::sync::mpsc::channel();
        // While a blocking task runs, a paused clock does not move by itself. A test that waits in
        // vain goes on after a while, and fails by its own patience.
        tokio::task::spawn_blocking(move || {
            let _ = let_go.recv_timeout(Duration::from_secs(30));
        });
        Self(hold)
    }

    /// Lets every task do what it can, moves on, and lets every task see it.
    pub(crate) async fn advance(&self, time: Duration) {
        settle().await;
        tokio::time::advance(time).await;
        settle().await;
    }
}
