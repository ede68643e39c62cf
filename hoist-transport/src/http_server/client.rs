//! One request to a server and its answer.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, LOCATION, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::connector::{Connector, ProxyFailed};
use super::target::Target;

/// Sends requests to one server.
pub(super) struct HttpClient {
    client: Client<Connector, Full<Bytes>>,
    target: Target,
    /// What goes with every request.
    headers: HeaderMap,
}

/// Why no answer came.
#[derive(Debug)]
pub(super) enum SendError {
    /// The server could not be reached, or went away.
    Unreachable(hyper_util::client::legacy::Error),
    /// It sends the caller elsewhere.
    Redirect { status: StatusCode, to: String },
    /// It sends the caller from place to place.
    RedirectsWithoutEnd,
}

/// How often a redirect is followed.
const MAX_REDIRECTS: usize = 10;

/// How long a connection waits for its next request. Node's servers close theirs after 5 seconds,
/// and a request that meets the close is lost.
const IDLE: Duration = Duration::from_secs(4);

impl HttpClient {
    pub(super) fn new(
        connector: Connector,
        target: Target,
        mut headers: HeaderMap,
        proxy_authorization: Option<HeaderValue>,
    ) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(Duration::from_secs(30));
        let client = builder.build(connector);
        if let Some(authorization) = target.authorization() {
            headers.entry(AUTHORIZATION).or_insert_with(|| authorization.clone());
        }
        if let Some(authorization) = proxy_authorization {
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(concat!("hoist-mcp/", env!("CARGO_PKG_VERSION"))));
        // A compressed answer would have to be unpacked to be forwarded.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Self { client, target, headers }
    }

    /// Sends a request and returns the answer once its headers have come. `headers` stand above
    /// those that go with every request.
    pub(super) async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Incoming>, SendError> {
        let mut uri = self.target.uri().clone();
        for _ in 0..=MAX_REDIRECTS {
            let request = self.request(method, &uri, headers, body);
            let response = self.client.request(request).await.map_err(SendError::Unreachable)?;
            match self.redirect(&uri, &response) {
                None => return Ok(response),
                Some(Ok(next)) => uri = next,
                Some(Err(error)) => return Err(error),
            }
        }
        Err(SendError::RedirectsWithoutEnd)
    }

    fn request(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        for (name, value) in headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        request
    }

    /// Where the answer sends the request, if it does. Only 307 and 308 keep method and body, and
    /// only within the origin may credentials and body go along.
    fn redirect(
        &self,
        from: &Uri,
        response: &Response<Incoming>,
    ) -> Option<Result<Uri, SendError>> {
        let status = response.status();
        if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
            return None;
        }
        let location = header_text(response.headers(), &LOCATION).unwrap_or_default();
        let follows =
            matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        Some(match self.target.redirected(from, &location) {
            Some(next) if follows => Ok(next),
            _ => Err(SendError::Redirect { status, to: location }),
        })
    }
}

/// A `Location` without what may be a key or a password: its query, and its user part.
fn without_secrets(location: &str) -> String {
    let place = location.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = place.split_once("//") else { return place.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}//{host}{path}")
}

/// A header as text; `None` where there is none.
pub(super) fn header_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redirect { status, to } => {
                let place = without_secrets(to);
                if place.is_empty() {
                    return write!(
                        f,
                        "the server answered HTTP {status} without saying where to go instead: \
                         give the server's final URL"
                    );
                }
                write!(f, "the server answered HTTP {status} and points to {place:?}, which is ")?;
                f.write_str("not followed: give the server's final URL")
            }
            Self::RedirectsWithoutEnd => write!(
                f,
                "the server redirects without end: {MAX_REDIRECTS} redirects were followed; give \
                 the server's final URL"
            ),
            Self::Unreachable(error) => {
                let mut cause: &(dyn std::error::Error + 'static) = error;
                let mut proxy: Option<&ProxyFailed> = None;
                while let Some(source) = cause.source() {
                    cause = source;
                    proxy = proxy.or_else(|| cause.downcast_ref());
                }
                if let Some(proxy) = proxy {
                    return write!(f, "{proxy}: {cause}");
                }
                let what = if error.is_connect() {
                    "the server cannot be reached"
                } else {
                    "the connection to the server broke before it answered"
                };
                write!(f, "{what}: {cause}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_shown_without_its_secrets() {
        for (location, shown) in [
            ("https://user:p%40ss@h.test:8/a?key=secret#x", "https://h.test:8/a"),
            ("//user@h.test", "//h.test"),
            ("/a/b?key=secret", "/a/b"),
            ("a@b", "a@b"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(location), shown, "{location}");
        }
    }
}
