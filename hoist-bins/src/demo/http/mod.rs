//! The demo server over Streamable HTTP, which insists on what the protocol says.

mod oddity;
mod response;
mod session;
mod talk;

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
use hoist_proxy_core::{Kind, Line, Message, RawJson, modern_version, names};
use http::header::{ACCEPT, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub use self::oddity::Oddity;
use self::response::{Body, decoded, empty, event, events, events_of_bytes, json, text};
use self::session::{Place, Session, follow};
use self::talk::{Due, Talk};
use super::connection::Effect;
use super::server::Server;
use super::wire::Outgoing;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Where the server is, below its address.
const PATH: &str = "/mcp";

/// The longest message taken.
const MAX_BODY_BYTES: usize = 4 << 20;

/// Serves over HTTP until the process ends. `started` is told the URL once hosts can connect.
///
/// Legacy clients get a session with `initialize`, and must name it and its revision from then on.
/// Their event streams can be resumed: what was lost is there for a GET with `Last-Event-ID`.
/// Modern ones must repeat in headers what their requests say.
///
/// # Errors
///
/// When the address cannot be listened on.
pub async fn serve_http(
    server: Server,
    address: SocketAddr,
    oddities: Vec<Oddity>,
    started: impl FnOnce(&str),
) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    started(&format!("http://{}{PATH}", listener.local_addr()?));
    let shared = Arc::new(Shared { server, oddities, sessions: Mutex::default() });
    loop {
        // A connection that could not be accepted is its client's loss.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(shared.answer(request).await) }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // That a client goes away is no failure.
            let _ = serving.await;
        });
    }
}

struct Shared {
    server: Server,
    oddities: Vec<Oddity>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

/// What a request is refused with.
struct Refused(StatusCode, i32, &'static str);

impl Shared {
    fn is(&self, oddity: Oddity) -> bool {
        self.oddities.contains(&oddity)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        if self.is(Oddity::Redirect) && path == PATH {
            let mut response = empty(StatusCode::TEMPORARY_REDIRECT);
            response.headers_mut().insert(LOCATION, HeaderValue::from_static("/mcp/"));
            return response;
        }
        if path.trim_end_matches('/') != PATH {
            return empty(StatusCode::NOT_FOUND);
        }
        let outcome = match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET if !self.is(Oddity::NoGet) => self.get(request.headers()),
            Method::DELETE => self.delete(request.headers()),
            _ => {
                let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
                return response;
            }
        };
        outcome.unwrap_or_else(|Refused(status, code, message)| {
            let error = format!(
                r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{message}"}}}}"#
            );
            json(status, error)
        })
    }

    async fn post(&self, request: Request<Incoming>) -> Result<Response<Body>, Refused> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        let accepts = text(&headers, &ACCEPT);
        if !(accepts.contains("application/json") && accepts.contains("text/event-stream")) {
            let what = "accept application/json and text/event-stream";
            return Err(Refused(StatusCode::NOT_ACCEPTABLE, -32000, what));
        }
        let kind = text(&headers, &CONTENT_TYPE).to_ascii_lowercase();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Refused(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                -32000,
                "send application/json",
            ));
        }
        let body = Limited::new(body, MAX_BODY_BYTES).collect().await;
        let too_long = Refused(StatusCode::PAYLOAD_TOO_LARGE, -32000, "the message is too long");
        let body = body.map_err(|_| too_long)?.to_bytes();
        let line = Line::from_body(&body);
        let message = Message::parse(&line).ok();
        let version = message.as_ref().and_then(|message| modern_version(message.params()));
        if let (Some(message), Some(version)) = (&message, version) {
            return self.modern(&headers, message, &version).await;
        }
        if message.as_ref().is_some_and(|message| message.method() == Some(names::INITIALIZE)) {
            return Ok(self.initialize(line.body()));
        }
        let session = self.session(&headers)?;
        if self.is(Oddity::ExpireSessions) && session.is_over() {
            self.sessions().remove(text(&headers, &SESSION_ID));
            return Err(gone());
        }
        let dues = session.talk.receive(line.body());
        let is_request = line.is_array()
            || message.as_ref().is_none_or(|message| message.kind() == Kind::Request);
        if !is_request || dues.is_empty() {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        if self.streams() {
            return Ok(self.stream(&session, dues, self.is(Oddity::DropStreams)));
        }
        // That the client goes away cancels nothing, in this era.
        let answers = tokio::spawn(async move { session.talk.answers(dues).await });
        Ok(self.respond(StatusCode::OK, &answers.await.unwrap_or_default()))
    }

    fn initialize(&self, body: &[u8]) -> Response<Body> {
        let mut connection = self.server.connect();
        let effects = connection.receive(body);
        let Some(Effect::Send(answer)) = effects.into_iter().next() else {
            return empty(StatusCode::BAD_REQUEST);
        };
        if answer.error_code().is_some() {
            return json(StatusCode::BAD_REQUEST, answer.into_string());
        }
        let agreed = RawJson::parse(answer.as_str().to_owned()).ok();
        let agreed = agreed.and_then(|answer| answer.get("result")?.get("protocolVersion"));
        let revision = agreed.as_ref().and_then(RawJson::text).unwrap_or_default().into_owned();
        let session = Arc::new(Session::new(Talk::new(connection), revision));
        let mut response = if self.streams() {
            self.stream(&session, vec![Due::Now(answer)], false)
        } else {
            self.respond(StatusCode::OK, &[answer])
        };
        let id = unguessable();
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION_ID, value);
        }
        self.sessions().insert(id, session);
        response
    }

    /// A request that is complete in itself.
    async fn modern(
        &self,
        headers: &HeaderMap,
        message: &Message,
        version: &str,
    ) -> Result<Response<Body>, Refused> {
        let named = match message.method() {
            Some(names::TOOLS_CALL | "prompts/get") => Some("name"),
            Some("resources/read") => Some("uri"),
            _ => None,
        };
        let name = named.and_then(|key| message.params()?.get(key)?.text().map(Cow::into_owned));
        let fits = text(headers, &PROTOCOL_VERSION) == version
            && Some(text(headers, &MCP_METHOD)) == message.method()
            && decoded(text(headers, &MCP_NAME)) == name.unwrap_or_default();
        if !fits {
            let what = "the headers do not say what the body says";
            return Err(Refused(StatusCode::BAD_REQUEST, -32020, what));
        }
        let talk = Talk::new(self.server.connect());
        let dues = talk.receive(message.line().body());
        if message.kind() != Kind::Request {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        // Where the client goes away before the answer, this is dropped: so it cancels.
        let answers = talk.answers(dues).await;
        let code = answers.first().and_then(Outgoing::error_code);
        if message.method() == Some(names::LISTEN) && code.is_none() {
            let acknowledged: Vec<_> =
                answers.iter().map(|message| event(None, message.as_str())).collect();
            // It stays open until the client closes it.
            return Ok(events(stream::iter(acknowledged).chain(stream::pending())));
        }
        let status = match code {
            Some(-32601) => StatusCode::NOT_FOUND,
            Some(-32602 | -32600 | -32023..=-32020) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        if status == StatusCode::OK && self.streams() {
            let all: Vec<_> = answers
                .iter()
                .map(|answer| event(None, &data(answer.as_str(), self.is(Oddity::SplitEvents))))
                .collect();
            return Ok(self.events(stream::iter(all)));
        }
        Ok(self.respond(status, &answers))
    }

    fn get(&self, headers: &HeaderMap) -> Result<Response<Body>, Refused> {
        let session = self.session(headers)?;
        if !text(headers, &ACCEPT).contains("text/event-stream") {
            let what = "accept text/event-stream";
            return Err(Refused(StatusCode::NOT_ACCEPTABLE, -32000, what));
        }
        let last =
            headers.get(LAST_EVENT_ID).map(|_| Place::of_event(text(headers, &LAST_EVENT_ID)));
        let is_resumed = last.is_some();
        if let Some(place) = last.filter(|place| *place != Some(Place::Own)) {
            let rest = place.and_then(|place| session.resume(place));
            let what = "Last-Event-ID names no event that is kept";
            let rest = rest.ok_or(Refused(StatusCode::BAD_REQUEST, -32000, what))?;
            return Ok(self.events(rest));
        }
        let Some((first, over)) = session.open_own_stream(is_resumed) else {
            let what = "the session's stream is open already";
            return Err(Refused(StatusCode::CONFLICT, -32000, what));
        };
        // The server says nothing on its own; the stream is open all the same.
        let until_over = stream::once(over).filter_map(|_| async { None });
        Ok(self.events(stream::iter([first]).chain(until_over)))
    }

    fn delete(&self, headers: &HeaderMap) -> Result<Response<Body>, Refused> {
        self.session(headers)?;
        self.sessions().remove(text(headers, &SESSION_ID));
        Ok(empty(StatusCode::OK))
    }

    /// The session that a request names, and whose revision it must name too.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refused> {
        let id = text(headers, &SESSION_ID);
        if id.is_empty() {
            let what = "name the session in Mcp-Session-Id";
            return Err(Refused(StatusCode::BAD_REQUEST, -32000, what));
        }
        let session = self.sessions().get(id).cloned().ok_or_else(gone)?;
        let version = text(headers, &PROTOCOL_VERSION);
        // The header is of 2025-06-18 and later.
        let is_needed = session.revision.as_str() >= "2025-06-18";
        if (is_needed || !version.is_empty()) && version != session.revision {
            let what = "name the agreed revision in MCP-Protocol-Version";
            return Err(Refused(StatusCode::BAD_REQUEST, -32000, what));
        }
        Ok(session)
    }

    /// Whether answers are events.
    fn streams(&self) -> bool {
        [Oddity::Sse, Oddity::SplitEvents, Oddity::DropStreams]
            .into_iter()
            .any(|oddity| self.is(oddity))
    }

    /// The answers to a message of a session, as a stream that can be resumed; cut off before the
    /// first, if it `breaks_off`.
    fn stream(&self, session: &Arc<Session>, dues: Vec<Due>, breaks_off: bool) -> Response<Body> {
        let retry = if breaks_off { "retry: 1\n" } else { "" };
        let (teller, said) = session.begin_stream(retry);
        let (session, splits) = (Arc::clone(session), self.is(Oddity::SplitEvents));
        tokio::spawn(async move {
            for answer in session.talk.answers(dues).await {
                teller.say(&data(answer.as_str(), splits));
            }
        });
        let most = if breaks_off { 1 } else { usize::MAX };
        self.events(follow(said, 0).take(most))
    }

    /// The answers as one body.
    fn respond(&self, status: StatusCode, answers: &[Outgoing]) -> Response<Body> {
        let mut response = match answers {
            [] => return empty(StatusCode::ACCEPTED),
            [answer] => json(status, answer.as_str().to_owned()),
            _ => {
                let all: Vec<_> = answers.iter().map(Outgoing::as_str).collect();
                json(status, format!("[{}]", all.join(",")))
            }
        };
        if self.is(Oddity::Gzip) {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    /// Events, in pieces where that is asked for.
    fn events(&self, all: impl Stream<Item = String> + Send + 'static) -> Response<Body> {
        if !self.is(Oddity::SplitEvents) {
            return events(all);
        }
        let pieces = |event: String| -> Vec<Bytes> {
            event.as_bytes().chunks(7).map(Bytes::copy_from_slice).collect()
        };
        events_of_bytes(all.flat_map(move |event| stream::iter(pieces(event))))
    }
}

/// The data of an event that is this message, over several lines where that is asked for.
fn data(message: &str, splits: bool) -> Cow<'_, str> {
    if splits {
        // A line feed between two members is white space.
        message.replacen(",\"", ",\n\"", 2).into()
    } else {
        message.into()
    }
}

fn gone() -> Refused {
    Refused(StatusCode::NOT_FOUND, -32001, "there is no such session")
}

/// A text that nobody guesses who does not know the system's random keys: good enough for a demo.
fn unguessable() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}
