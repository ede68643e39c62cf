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
use hyper_util::client::proxy::matcher::Matcher;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use tower_service::Service;

use super::InvalidServer;
use super::target::{InvalidUrl, Target};

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

/// What is wrong with the URL of a proxy. It is never shown: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProxy {
    /// The proxy would be spoken to in another way than HTTP's.
    #[error("a proxy is reached by an http:// URL here, not by {0}://")]
    Scheme(String),
    /// It is no URL of a proxy.
    #[error(
        "it is not as http://HOST:PORT; a user and a password stand in front of HOST, with an @ \
         behind them, and in them / is written %2F, ? is %3F and # is %23"
    )]
    Malformed,
}

impl ProxySettings {
    /// The proxy for a URL, if it has one. What names no proxy is an error, not a way around it:
    /// whoever sets one may not want the server to be reached without.
    fn proxy_for(&self, uri: &Uri) -> Result<Option<Target>, InvalidServer> {
        if uri.host().is_some_and(is_loopback) {
            return Ok(None);
        }
        let own = if uri.scheme() == Some(&http::uri::Scheme::HTTPS) {
            ("HTTPS_PROXY", &self.https)
        } else {
            ("HTTP_PROXY", &self.http)
        };
        let named = [own, ("ALL_PROXY", &self.all)].into_iter().find(|(_, url)| !url.is_empty());
        let Some((variable, url)) = named else { return Ok(None) };
        // The matcher is asked only whether there is to be a proxy: it passes over what is none.
        let any = Matcher::builder().all("http://any.invalid").no(&*self.no).build();
        if any.intercept(uri).is_none() {
            return Ok(None);
        }
        match proxy(url) {
            Ok(proxy) => Ok(Some(proxy)),
            Err(source) => Err(InvalidServer::Proxy { variable, source }),
        }
    }
}

/// The proxy at a URL, whose `http://` may be left away.
fn proxy(url: &str) -> Result<Target, InvalidProxy> {
    const OTHERS: [&str; 7] = ["https", "socks", "socks4", "socks4a", "socks5", "socks5h", "ftp"];
    if let Some((scheme, _)) = url.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        if OTHERS.contains(&&*scheme) {
            return Err(InvalidProxy::Scheme(scheme));
        }
    }
    // A space, too, is no part of a URL, wherever it stands.
    let parsed = match Target::parse(url) {
        Err(InvalidUrl::NoScheme) => Target::parse(&format!("http://{url}")),
        other => other,
    };
    let proxy = parsed.map_err(|_| InvalidProxy::Malformed)?;
    let ends_in_colon = proxy.uri().authority().is_some_and(|at| at.as_str().ends_with(':'));
    // `http:/host` and `http//host` would be read as a host of the name `http`.
    if proxy.uri().path_and_query().is_some_and(|path| path != "/")
        || url.contains('#')
        || ends_in_colon
    {
        return Err(InvalidProxy::Malformed);
    }
    Ok(proxy)
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
        inner: Through<HttpConnector>,
    },
    Tls(HttpsConnector<HttpConnector>),
    TlsTunnel(HttpsConnector<Through<Tunnel<HttpConnector>>>),
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
        let authorization = proxy.as_ref().and_then(|proxy| proxy.authorization().cloned());
        let is_tls = uri.scheme() == Some(&http::uri::Scheme::HTTPS);
        let way = match (is_tls, proxy) {
            (false, None) => Way::Plain(http),
            (false, Some(proxy)) => {
                let inner = Through::new(proxy.uri(), http);
                return Ok((
                    Self(Way::Forward { proxy: proxy.uri().clone(), inner }),
                    authorization,
                ));
            }
            (true, None) => Way::Tls(tls(roots, http)?),
            (true, Some(proxy)) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), http);
                if let Some(authorization) = authorization {
                    tunnel = tunnel.with_auth(authorization);
                }
                Way::TlsTunnel(tls(roots, Through::new(proxy.uri(), tunnel))?)
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
            Way::Plain(inner) => ready!(inner.poll_ready(cx)).map_err(Into::into).into(),
            Way::Forward { inner, .. } => ready!(inner.poll_ready(cx)).map_err(Into::into).into(),
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

/// A way to or through a proxy, whose failures are told from those of the server.
#[derive(Clone)]
struct Through<C> {
    place: String,
    inner: C,
}

impl<C> Through<C> {
    fn new(proxy: &Uri, inner: C) -> Self {
        let place = proxy.authority().map(ToString::to_string).unwrap_or_default();
        Self { place, inner }
    }
}

/// The proxy could not be reached, or makes no connection to the server.
#[derive(Debug, thiserror::Error)]
#[error("the proxy {place} gives no way to the server")]
pub(super) struct ProxyFailed {
    place: String,
    source: Failure,
}

impl<C> Service<Uri> for Through<C>
where
    C: Service<Uri>,
    C::Error: Into<Failure>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = ProxyFailed;
    type Future = BoxFuture<'static, Result<C::Response, ProxyFailed>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProxyFailed>> {
        let ready = ready!(self.inner.poll_ready(cx));
        Poll::Ready(ready.map_err(|e| ProxyFailed { place: self.place.clone(), source: e.into() }))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let place = self.place.clone();
        let connecting = self.inner.call(uri);
        Box::pin(async move {
            connecting.await.map_err(|error| ProxyFailed { place, source: error.into() })
        })
    }
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
    fn what_names_no_proxy_is_never_passed_over() {
        let server: Uri = "http://a.example/".parse().unwrap();
        for url in [
            "http://u:s3cret@[bad",
            "http://",
            "http:",
            "http:/proxy:3128",
            "http//proxy",
            "http://p :1",
            " http://p:1",
            "http://p:1 ",
            "http://p:1\n",
            "ftp://p:1",
            "https://p:1",
            "socks5://u:s3cret@p:1",
            "s3cret://p:1",
            "http://p:99999",
            "http://p:x",
            "http://p:-1",
            "p:+80",
            "u:s3cret@p:x",
            "http://u:s3cret/x@p:1",
            "u:s3cret/x@p:1",
            "http://p:1/path",
            "http://p:1/#x",
            "http://p:1?x",
            "\u{fffd}",
            "://p",
        ] {
            let settings = ProxySettings { http: url.to_owned(), ..Default::default() };
            let error = settings.proxy_for(&server).expect_err(url);
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(error.to_string().contains("HTTP_PROXY"), "{url}: {error}");
            assert!(
                !format!("{error} {source} {settings:?}").contains("s3cret"),
                "{url}: {source}"
            );
            // It is nothing to servers that have another proxy, or none.
            assert_eq!(proxy_for(&settings, "https://a.example/"), None, "{url}");
            assert_eq!(proxy_for(&settings, "http://127.0.0.1/"), None, "{url}");
            let except = ProxySettings { no: "a.example".to_owned(), ..settings };
            assert_eq!(proxy_for(&except, "http://a.example/"), None, "{url}");
            let all = ProxySettings { all: url.to_owned(), ..Default::default() };
            let error = all.proxy_for(&server).expect_err(url);
            assert!(error.to_string().contains("ALL_PROXY"), "{url}: {error}");
        }
        let settings = ProxySettings { all: "socks5://p:1".to_owned(), ..Default::default() };
        let error = settings.proxy_for(&server).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("not by socks5://"), "{source}");
    }

    #[test]
    fn a_proxy_may_be_named_without_its_scheme_and_with_a_password() {
        for (url, expected, authorization) in [
            ("p:1", "http://p:1/", None),
            ("p", "http://p/", None),
            ("HTTP://p:1/", "http://p:1/", None),
            ("http://[::1]:1", "http://[::1]:1/", None),
            ("user:p%40ss@p:1", "http://p:1/", Some("Basic dXNlcjpwQHNz")),
        ] {
            let proxy = proxy(url).expect(url);
            assert_eq!(proxy.uri().to_string(), expected);
            assert_eq!(proxy.authorization().map(|a| a.to_str().unwrap()), authorization, "{url}");
        }
    }
}
