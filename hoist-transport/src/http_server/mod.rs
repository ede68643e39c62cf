//! A server that is reached by URL: MCP's Streamable HTTP transport, from the client's side.

mod client;
mod connector;
mod driver;
mod exchange;
mod halves;
mod inbound;
mod one_line;
mod param_headers;
mod post;
mod refusal;
mod request_headers;
mod shared;
mod sse;
mod target;

use std::fmt;
use std::sync::Arc;

use hoist_proxy_core::{BoxFuture, Connection, Ended, Error, SessionContext, Upstream};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::header::{TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use tokio::sync::{mpsc, oneshot, watch};

use self::client::HttpClient;
use self::connector::Connector;
pub use self::connector::{InvalidProxy, ProxySettings};
use self::driver::Driver;
use self::halves::{HttpReader, HttpWriter};
pub(crate) use self::one_line::one_line;
pub(crate) use self::param_headers::ParamHeaders;
pub(crate) use self::request_headers::{MCP_METHOD, MCP_NAME, PROTOCOL_VERSION, describe};
pub(crate) use self::shared::SESSION_ID;
use self::shared::Shared;
pub use self::sse::{SseEvent, SseParser};
pub use self::target::InvalidUrl;
use self::target::Target;

/// A server that is reached by URL, over MCP's Streamable HTTP; one session of it for each session
/// of the proxy's.
///
/// Every line is posted to the URL, and what the server answers comes back as lines: one JSON body,
/// or the events of a stream. Requests run side by side; what follows `initialize` waits for its
/// answer, and what follows a notification until the server has taken it.
///
/// A request that the server refuses, or that cannot reach it, is answered with a JSON-RPC error
/// that says why. No request is posted twice that the server may have run.
///
/// # Examples
///
/// ```
/// use hoist_transport::HttpServer;
///
/// let server = HttpServer::new("https://example.com/mcp")?
///     .header("X-Team", "orders")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct HttpServer {
    target: Target,
    headers: HeaderMap,
    roots: Vec<CertificateDer<'static>>,
    proxies: ProxySettings,
    restart: bool,
    max_message_bytes: usize,
}

/// What is wrong with how a server is to be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServer {
    /// The URL cannot be used.
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    /// A header's name cannot stand in a request. It is not shown: it may be a whole header.
    #[error("what is to be a header's name is none: it has a character that no such name may have")]
    HeaderName,
    /// The value for the header of this name cannot stand in a request.
    #[error(
        "the value for the header {0:?} has a line's end or another character that none may have"
    )]
    HeaderValue(String),
    /// The header is the transport's own.
    #[error("the header {0:?} is set by the proxy itself")]
    ReservedHeader(String),
    /// A certificate file holds no certificate, or one that cannot be read.
    #[error("no certificate in PEM form can be read: {0}")]
    Certificate(String),
    /// The proxy for the URL cannot be used.
    #[error("the proxy that {variable} names cannot be used")]
    Proxy {
        /// What names it: `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY`, for a member of
        /// [`ProxySettings`].
        variable: &'static str,
        /// What is wrong with its URL.
        source: InvalidProxy,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
}

impl HttpServer {
    /// The longest message unless another is given: 64 MiB.
    pub const MAX_MESSAGE_BYTES: usize = 64 << 20;

    /// The server at this URL, which is used as it stands, query and all.
    ///
    /// # Errors
    ///
    /// [`InvalidServer::Url`].
    pub fn new(url: &str) -> Result<Self, InvalidServer> {
        Ok(Self {
            target: Target::parse(url)?,
            headers: HeaderMap::new(),
            roots: Vec::new(),
            proxies: ProxySettings::default(),
            restart: true,
            max_message_bytes: Self::MAX_MESSAGE_BYTES,
        })
    }

    /// Sends a header with every request. Its value is never shown.
    ///
    /// # Errors
    ///
    /// [`InvalidServer::HeaderName`], [`InvalidServer::HeaderValue`],
    /// [`InvalidServer::ReservedHeader`].
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, InvalidServer> {
        let name: HeaderName = name.parse().map_err(|_| InvalidServer::HeaderName)?;
        let reserved = [
            ACCEPT,
            ACCEPT_ENCODING,
            CONNECTION,
            CONTENT_LENGTH,
            CONTENT_TYPE,
            HOST,
            TE,
            TRAILER,
            TRANSFER_ENCODING,
            UPGRADE,
        ];
        if reserved.contains(&name)
            || name == exchange::LAST_EVENT_ID
            || name.as_str().starts_with("mcp-")
        {
            return Err(InvalidServer::ReservedHeader(name.as_str().to_owned()));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| InvalidServer::HeaderValue(name.as_str().to_owned()))?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        Ok(self)
    }

    /// Trusts the certificates of a PEM text, beside those the system trusts.
    ///
    /// # Errors
    ///
    /// [`InvalidServer::Certificate`].
    pub fn root_certificates(mut self, pem: &[u8]) -> Result<Self, InvalidServer> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let certificates = certificates.map_err(|e| InvalidServer::Certificate(broken_pem(&e)))?;
        if certificates.is_empty() {
            let what = "it has no block that begins with -----BEGIN CERTIFICATE-----";
            return Err(InvalidServer::Certificate(what.to_owned()));
        }
        let mut checked = rustls::RootCertStore::empty();
        for (n, certificate) in certificates.iter().enumerate() {
            checked.add(certificate.clone()).map_err(|error| {
                InvalidServer::Certificate(format!("certificate {} in it: {error}", n + 1))
            })?;
        }
        self.roots.extend(certificates);
        Ok(self)
    }

    /// Reaches the server through these proxies, where one of them is for it.
    pub fn proxies(mut self, proxies: ProxySettings) -> Self {
        self.proxies = proxies;
        self
    }

    /// Whether a session that the server ends is started again, and the request that found it gone
    /// made in the new one. It is, unless this says no.
    pub fn restart(mut self, restart: bool) -> Self {
        self.restart = restart;
        self
    }

    /// The longest message of the server's, in bytes. A longer one is not passed on: observers see
    /// that it came, and a request that it answered gets an error.
    pub fn max_message_bytes(mut self, max_message_bytes: usize) -> Self {
        self.max_message_bytes = max_message_bytes;
        self
    }

    fn client(&self) -> Result<HttpClient, InvalidServer> {
        let (connector, proxy_authorization) =
            Connector::new(self.target.uri(), &self.proxies, &self.roots)?;
        Ok(HttpClient::new(
            connector,
            self.target.clone(),
            self.headers.clone(),
            proxy_authorization,
        ))
    }

    /// Checks that requests could be made, without making one.
    ///
    /// # Errors
    ///
    /// [`InvalidServer::Proxy`], [`InvalidServer::Tls`].
    pub fn check(&self) -> Result<(), InvalidServer> {
        self.client().map(drop)
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("target", &self.target).finish_non_exhaustive()
    }
}

/// What is wrong with a PEM text. The parser's own words show markers as lists of bytes.
fn broken_pem(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => {
            "a block in it has no end: the line -----END ...----- is missing".to_owned()
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line in it that should begin a block is broken".to_owned()
        }
        other => other.to_string(),
    }
}

/// How many lines wait for the host, or for the server.
const QUEUE: usize = 64;

impl Upstream for HttpServer {
    /// Begins without a word to the server: the host's first line is the first request.
    fn connect<'a>(
        &'a self,
        _session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        Box::pin(async move {
            let client = self.client().map_err(|error| Error::Connect {
                what: "the server".to_owned(),
                source: Some(Arc::new(error)),
            })?;
            let (to_host, from_server) = mpsc::channel(QUEUE);
            let (to_server, from_host) = mpsc::channel(QUEUE);
            let (urgent, told) = watch::channel(false);
            let (ended, end) = oneshot::channel::<()>();
            let shared =
                Arc::new(Shared::new(client, self.max_message_bytes, self.restart, to_host));
            let driver = Driver::new(shared, from_host, told);
            tokio::spawn(async move {
                driver.run().await;
                let _ = ended.send(());
            });
            let writer = HttpWriter::new(to_server, urgent);
            Ok(Connection::new(HttpReader { frames: from_server }, writer).with_ended(async move {
                let _ = end.await;
                Ended::default()
            }))
        })
    }
}
