//! Connections to a server: plain, by TLS, or through a proxy.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hoist_proxy_core::BoxFuture;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use tower_service::Service;

use super::InvalidServer;

/// The proxies for requests, as `HTTP_PROXY` and its like name them; empty texts name none.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxySettings {
    /// For `http` URLs.
    pub http: String,
    /// For `https` URLs.
    pub https: String,
    /// For URLs that neither of the above is for.
    pub all: String,
    /// Hosts, domains and networks that no proxy is used for, by commas. Loopback is one of them
    /// whether it is named or not.
    pub no: String,
}

impl std::fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // They may hold passwords.
        f.debug_struct("ProxySettings").field("no", &self.no).finish_non_exhaustive()
    }
}

impl ProxySettings {
    /// The proxy for a URL, if it has one.
    fn proxy_for(&self, uri: &Uri) -> Result<Option<Intercept>, InvalidServer> {
        if uri.host().is_some_and(is_loopback) {
            return Ok(None);
        }
        let builder = Matcher::builder().all(&*self.all).http(&*self.http).https(&*self.https);
        let Some(proxy) = builder.no(&*self.no).build().intercept(uri) else { return Ok(None) };
        match proxy.uri().scheme_str() {
            Some("http") => Ok(Some(proxy)),
            other => Err(InvalidServer::Proxy(other.unwrap_or("no").to_owned())),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Makes the connections to one server.
#[derive(Clone)]
pub(super) struct Connector(Way);

#[derive(Clone)]
enum Way {
    Plain(HttpConnector),
    /// An HTTP proxy is sent the whole URL.
    Forward {
        proxy: Uri,
        inner: HttpConnector,
    },
    Tls(HttpsConnector<HttpConnector>),
    TlsTunnel(HttpsConnector<Tunnel<HttpConnector>>),
}

impl Connector {
    /// For a server at `uri`, and what to send to its proxy as `Proxy-Authorization`.
    pub(super) fn new(
        uri: &Uri,
        proxies: &ProxySettings,
        roots: &[CertificateDer<'static>],
    ) -> Result<(Self, Option<HeaderValue>), InvalidServer> {
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        http.enforce_http(false);
        http.set_connect_timeout(Some(Duration::from_secs(30)));
        let proxy = proxies.proxy_for(uri)?;
        let authorization = proxy.as_ref().and_then(|proxy| proxy.basic_auth().cloned());
        let is_tls = uri.scheme() == Some(&http::uri::Scheme::HTTPS);
        let way = match (is_tls, proxy) {
            (false, None) => Way::Plain(http),
            (false, Some(proxy)) => {
                return Ok((
                    Self(Way::Forward { proxy: proxy.uri().clone(), inner: http }),
                    authorization,
                ));
            }
            (true, None) => Way::Tls(tls(roots, http)?),
            (true, Some(proxy)) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), http);
                if let Some(authorization) = authorization {
                    tunnel = tunnel.with_auth(authorization);
                }
                Way::TlsTunnel(tls(roots, tunnel)?)
            }
        };
        Ok((Self(way), None))
    }
}

/// TLS with the system's roots and these over connections of `inner`; HTTP/2 where the server
/// offers it.
fn tls<C>(roots: &[CertificateDer<'static>], inner: C) -> Result<HttpsConnector<C>, InvalidServer> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(
        roots.iter().cloned(),
        Arc::clone(&provider),
    )
    .map_err(InvalidServer::Tls)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(InvalidServer::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_http1()
        .enable_http2()
        .wrap_connector(inner))
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = Io;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Io, Failure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        match &mut self.0 {
            Way::Plain(inner) | Way::Forward { inner, .. } => {
                ready!(inner.poll_ready(cx)).map_err(Into::into).into()
            }
            Way::Tls(inner) => inner.poll_ready(cx),
            Way::TlsTunnel(inner) => inner.poll_ready(cx),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match &mut self.0 {
            Way::Plain(inner) => boxed(inner.call(uri), false),
            Way::Forward { proxy, inner } => boxed(inner.call(proxy.clone()), true),
            Way::Tls(inner) => boxed(inner.call(uri), false),
            Way::TlsTunnel(inner) => boxed(inner.call(uri), false),
        }
    }
}

fn boxed<T: AnyIo + 'static, E: Into<Failure>>(
    connecting: impl Future<Output = Result<T, E>> + Send + 'static,
    to_proxy: bool,
) -> BoxFuture<'static, Result<Io, Failure>> {
    Box::pin(async move {
        match connecting.await {
            Ok(io) => Ok(Io { io: Box::new(io), to_proxy }),
            Err(error) => Err(error.into()),
        }
    })
}

trait AnyIo: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> AnyIo for T {}

/// A connection, whatever it goes through.
pub(super) struct Io {
    io: Box<dyn AnyIo>,
    /// Whether it ends at a proxy that wants the whole URL.
    to_proxy: bool,
}

impl Connection for Io {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.to_proxy)
    }
}

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_read(cx, buf)
    }
}

impl Write for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy_for(settings: &ProxySettings, url: &str) -> Option<String> {
        let proxy = settings.proxy_for(&url.parse().unwrap()).unwrap();
        proxy.map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn a_proxy_is_used_for_what_it_is_named_for_and_never_for_loopback() {
        let mut settings = ProxySettings::default();
        assert_eq!(proxy_for(&settings, "http://a.example/"), None);
        settings.all = "http://all.example:1".to_owned();
        settings.https = "secure.example:2".to_owned();
        settings.no = "b.example, 10.0.0.0/8".to_owned();
        for (url, expected) in [
            ("http://a.example/", Some("http://all.example:1/")),
            ("https://a.example/", Some("http://secure.example:2/")),
            ("https://x.b.example/", None),
            ("http://10.1.2.3/", None),
            ("http://localhost:5/", None),
            ("http://LocalHost/", None),
            ("https://127.0.0.2/", None),
            ("http://[::1]:9/", None),
        ] {
            assert_eq!(proxy_for(&settings, url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_said() {
        let settings = ProxySettings { all: "socks5://p:1".to_owned(), ..Default::default() };
        let error = settings.proxy_for(&"http://a.example/".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("socks5"), "{error}");
        let settings =
            ProxySettings { all: "http://user:secret@p:1".to_owned(), ..Default::default() };
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
