//! Hosts that connect by URL: MCP's Streamable HTTP transport, from the server's side.

mod abandoned;
mod accept;
mod access;
mod counted;
mod deliver;
mod event;
mod groups;
mod incoming;
mod modern;
mod rename;
mod replay;
mod respond;
mod router;
mod service;
mod session;
mod table;
#[cfg(test)]
mod testing;
mod tls;
mod waiting;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hoist_proxy_core::{BoxFuture, Connection, Downstream, Error};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use self::accept::Acceptor;
use self::access::{Access, Token};
use self::service::{PATH, Service};
use self::table::Sessions;
pub use self::tls::InvalidListener;
use self::tls::Tls;

/// Serves hosts over MCP's Streamable HTTP: how it is to be done.
///
/// Hosts of every revision connect to the same URL. Each session of a host is one session of the
/// proxy's, with a server of its own. A legacy host's session begins with `initialize`; modern
/// requests, which belong to no session, are gathered in sessions by what they say of themselves.
///
/// Without a [token](Self::token) it listens on loopback addresses only, and answers requests only
/// that name it by one of its own names.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::Proxy;
/// use hoist_transport::{ChildServer, Listener};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let listening = Listener::new("127.0.0.1:0".parse()?).bind().await?;
/// println!("hosts connect to {}", listening.url());
/// let server = ChildServer::new("some-mcp-server", ["--verbose"]);
/// let stop = async { /* when it is to end */ };
/// Proxy::new(listening, server).run(stop).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Listener {
    address: SocketAddr,
    token: Option<Token>,
    idle: Duration,
    max_sessions: usize,
    max_body_bytes: usize,
    tls: Option<Tls>,
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Without a token, everybody who reaches the address could use the server.
    #[error(
        "{address} is no loopback address, and whoever reaches it could use the server; hosts must show a token there"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses the address.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

impl Listener {
    /// How long a session lasts that nobody uses, unless told otherwise: four hours.
    pub const IDLE: Duration = Duration::from_secs(240 * 60);
    /// How many sessions there are at once at most, unless told otherwise.
    pub const MAX_SESSIONS: usize = 64;
    /// The longest message a host may send, in bytes, unless told otherwise: 4 MiB.
    pub const MAX_BODY_BYTES: usize = 4 << 20;

    /// A listener at this address; port 0 is any that is free.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
            idle: Self::IDLE,
            max_sessions: Self::MAX_SESSIONS,
            max_body_bytes: Self::MAX_BODY_BYTES,
            tls: None,
        }
    }

    /// Answers only requests with `Authorization: Bearer` and this token, which is never shown.
    /// Any address may be listened on then.
    ///
    /// # Errors
    ///
    /// [`InvalidListener::Token`] for one that no header can hold.
    pub fn token(mut self, token: &str) -> Result<Self, InvalidListener> {
        let is_legal = |byte: u8| matches!(byte, b'!'..=b'~');
        if token.is_empty() || !token.bytes().all(is_legal) {
            return Err(InvalidListener::Token);
        }
        self.token = Some(Token(token.to_owned()));
        Ok(self)
    }

    /// Serves over TLS, with the certificates (the server's own first) and the private key of two
    /// PEM texts.
    ///
    /// # Errors
    ///
    /// [`InvalidListener::Certificate`], [`InvalidListener::Key`], [`InvalidListener::Tls`].
    pub fn tls(mut self, certificates: &[u8], key: &[u8]) -> Result<Self, InvalidListener> {
        self.tls = Some(Tls::new(certificates, key)?);
        Ok(self)
    }

    /// Ends a session once no request came and no stream was open for so long.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// How many sessions there may be at once. Further ones are refused (503).
    pub fn max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions.max(1);
        self
    }

    /// The longest message a host may send, in bytes. A longer one is refused (413).
    pub fn max_body_bytes(mut self, max_body_bytes: usize) -> Self {
        self.max_body_bytes = max_body_bytes;
        self
    }

    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// [`ListenError`].
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime that drives I/O and time.
    pub async fn bind(self) -> Result<Listening, ListenError> {
        let address = self.address;
        if self.token.is_none() && !address.ip().is_loopback() {
            return Err(ListenError::NotLoopback { address });
        }
        let failed = |source| ListenError::Bind { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let has_token = self.token.is_some();
        let (sender, hosts) = mpsc::channel(self.max_sessions);
        let sessions = Arc::new(Sessions::new(sender, self.max_sessions, self.idle, has_token));
        let service = Service {
            access: Access { address, token: self.token },
            sessions,
            max_body_bytes: self.max_body_bytes,
            new_id: tls::unguessable,
        };
        let stop = watch::Sender::new(false);
        let (closed, is_closed) = watch::channel(());
        let acceptor = Acceptor::new(socket, Arc::new(service), self.tls);
        tokio::spawn(acceptor.run(stop.subscribe(), closed));
        Ok(Listening {
            url: format!("{scheme}://{address}{PATH}"),
            address,
            hosts,
            stop,
            is_closed,
        })
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("address", &self.address)
            .field("token", &self.token)
            .field("idle", &self.idle)
            .field("max_sessions", &self.max_sessions)
            .field("max_body_bytes", &self.max_body_bytes)
            .field("tls", &self.tls.is_some())
            .finish()
    }
}

/// A [`Listener`] at work: where the hosts of a proxy come from.
///
/// Dropped, it takes no more connections; sessions that there are go on until the proxy ends them.
#[derive(Debug)]
pub struct Listening {
    url: String,
    address: SocketAddr,
    hosts: mpsc::Receiver<Connection>,
    stop: watch::Sender<bool>,
    is_closed: watch::Receiver<()>,
}

impl Listening {
    /// What hosts connect to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resolves once this is dropped and every connection is closed, so that all that was said to
    /// hosts has left.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut is_closed = self.is_closed.clone();
        async move {
            // Nothing is ever sent: the end of the channel is the news.
            while is_closed.changed().await.is_ok() {}
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl Downstream for Listening {
    fn accept(&mut self) -> BoxFuture<'_, Result<Option<Connection>, Error>> {
        Box::pin(async move { Ok(self.hosts.recv().await) })
    }
}
