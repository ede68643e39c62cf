//! The demo server over Streamable HTTP, which insists on what the protocol says.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
use hoist_proxy_core::{Kind, Line, Message, RawJson, modern_version, names};
use http::header::{ACCEPT, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::connection::{Connection, Effect};
use super::server::Server;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Where the server is, below its address.
const PATH: &str = "/mcp";

/// The longest message taken.
const MAX_BODY_BYTES: usize = 4 << 20;

/// In what way the server is not what a client would wish for. Each is within the protocol, or seen
/// in servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// Answers are events of a stream.
    Sse,
    /// A stream ends before its answer, which is given to a GET that resumes it.
    DropStreams,
    /// Events come in pieces of a few bytes, their data over several lines.
    SplitEvents,
    /// A session is gone after its third request.
    ExpireSessions,
    /// The server is at another path of the same origin.
    Redirect,
    /// Answers claim to be compressed.
    Gzip,
    /// There is no stream for what the server says on its own.
    NoGet,
}

impl Oddity {
    /// The words for them.
    pub const NAMES: &'static [&'static str] =
        &["sse", "drop-streams", "split-events", "expire-sessions", "redirect", "gzip", "no-get"];

    /// The oddity of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Sse,
            Self::DropStreams,
            Self::SplitEvents,
            Self::ExpireSessions,
            Self::Redirect,
            Self::Gzip,
            Self::NoGet,
        ];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

/// Serves over HTTP until the process ends. `started` is told the URL once hosts can connect.
///
/// Legacy clients get a session with `initialize`, and must name it and its revision from then on.
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

type Body = UnsyncBoxBody<Bytes, Infallible>;

struct Shared {
    server: Server,
    oddities: Vec<Oddity>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

struct Session {
    connection: Mutex<Connection>,
    /// The revision that was agreed on.
    revision: String,
    state: Mutex<SessionState>,
}

#[derive(Default)]
struct SessionState {
    requests: u32,
    /// Answers whose streams ended before they came, by event id.
    kept: HashMap<String, String>,
    /// Alive while the session's own stream is open.
    own_stream: Weak<()>,
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
        let effects = session.connection().receive(line.body());
        let is_request = line.is_array()
            || message.as_ref().is_none_or(|message| message.kind() == Kind::Request);
        if !is_request {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        let answers = answers(|ticket| session.connection().finish(ticket), effects).await;
        Ok(self.respond(StatusCode::OK, &answers, Some(&session)))
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
        let answer = answer.into_string();
        let agreed = RawJson::parse(answer.clone()).ok();
        let agreed = agreed.and_then(|answer| answer.get("result")?.get("protocolVersion"));
        let revision = agreed.as_ref().and_then(RawJson::text).unwrap_or_default().into_owned();
        let session =
            Session { connection: Mutex::new(connection), revision, state: Mutex::default() };
        let id = unguessable();
        let mut response = self.respond(StatusCode::OK, &[answer], None);
        if let Ok(value) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION_ID, value);
        }
        self.sessions().insert(id, Arc::new(session));
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
        let mut connection = self.server.connect();
        let effects = connection.receive(message.line().body());
        if message.kind() != Kind::Request {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        if message.method() == Some(names::LISTEN) {
            let acknowledged = effects.into_iter().filter_map(|effect| match effect {
                Effect::Send(message) => Some(event(None, message.as_str())),
                _ => None,
            });
            let first: Vec<_> = acknowledged.collect();
            // It stays open until the client closes it.
            return Ok(events(stream::iter(first).chain(stream::pending())));
        }
        let answered: Vec<(String, Option<i32>)> = {
            let connection = Mutex::new(connection);
            let finish =
                |ticket| connection.lock().unwrap_or_else(PoisonError::into_inner).finish(ticket);
            answers_with_codes(finish, effects).await
        };
        let status = match answered.first().and_then(|(_, code)| *code) {
            Some(-32601) => StatusCode::NOT_FOUND,
            Some(-32602 | -32600 | -32023..=-32020) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        let answers: Vec<String> = answered.into_iter().map(|(answer, _)| answer).collect();
        Ok(self.respond(status, &answers, None))
    }

    fn get(&self, headers: &HeaderMap) -> Result<Response<Body>, Refused> {
        let session = self.session(headers)?;
        if !text(headers, &ACCEPT).contains("text/event-stream") {
            let what = "accept text/event-stream";
            return Err(Refused(StatusCode::NOT_ACCEPTABLE, -32000, what));
        }
        let last = text(headers, &LAST_EVENT_ID);
        if let Some(answer) = session.state().kept.remove(last) {
            return Ok(events(stream::iter([event(None, &answer)])));
        }
        let open = Arc::new(());
        {
            let mut state = session.state();
            if state.own_stream.strong_count() > 0 {
                let what = "the session's stream is open already";
                return Err(Refused(StatusCode::CONFLICT, -32000, what));
            }
            state.own_stream = Arc::downgrade(&open);
        }
        // The server says nothing on its own; the stream is open all the same.
        let greeting = stream::iter([": the server says nothing on its own\n\n".to_owned()]);
        let stream = greeting.chain(stream::pending());
        Ok(events(stream.inspect(move |_| {
            let _ = &open;
        })))
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

    /// The answers as one body, or as events.
    fn respond(
        &self,
        status: StatusCode,
        answers: &[String],
        session: Option<&Session>,
    ) -> Response<Body> {
        if self.is(Oddity::DropStreams)
            && let (Some(session), [answer]) = (session, answers)
        {
            let id = unguessable();
            session.state().kept.insert(id.clone(), answer.clone());
            return events(stream::iter([format!("retry: 1\nid: {id}\ndata:\n\n")]));
        }
        let streams = [Oddity::Sse, Oddity::SplitEvents, Oddity::DropStreams];
        if status == StatusCode::OK && streams.into_iter().any(|oddity| self.is(oddity)) {
            let all: String = answers.iter().map(|answer| self.event(answer)).collect();
            let step = if self.is(Oddity::SplitEvents) { 7 } else { all.len().max(1) };
            let pieces: Vec<Bytes> =
                all.as_bytes().chunks(step).map(Bytes::copy_from_slice).collect();
            return events_of_bytes(stream::iter(pieces));
        }
        let mut response = match answers {
            [] => return empty(StatusCode::ACCEPTED),
            [answer] => json(status, answer.clone()),
            _ => json(status, format!("[{}]", answers.join(","))),
        };
        if self.is(Oddity::Gzip) {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    fn event(&self, answer: &str) -> String {
        if !self.is(Oddity::SplitEvents) {
            return event(None, answer);
        }
        // A line feed between two members is white space.
        event(None, &answer.replacen(",\"", ",\n\"", 2))
    }
}

impl Session {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request; whether it is one too many.
    fn is_over(&self) -> bool {
        let mut state = self.state();
        state.requests += 1;
        state.requests > 3
    }
}

fn gone() -> Refused {
    Refused(StatusCode::NOT_FOUND, -32001, "there is no such session")
}

/// The answers to one message, each once it is due; none to what was cancelled.
async fn answers(
    finish: impl FnMut(super::Ticket) -> Option<super::Outgoing>,
    effects: Vec<Effect>,
) -> Vec<String> {
    let answers = answers_with_codes(finish, effects).await;
    answers.into_iter().map(|(answer, _)| answer).collect()
}

async fn answers_with_codes(
    mut finish: impl FnMut(super::Ticket) -> Option<super::Outgoing>,
    effects: Vec<Effect>,
) -> Vec<(String, Option<i32>)> {
    let mut answers = Vec::new();
    for effect in effects {
        let answer = match effect {
            Effect::Send(answer) => Some(answer),
            Effect::Later { ticket, after } => {
                tokio::time::sleep(after.min(Duration::from_secs(86_400))).await;
                finish(ticket)
            }
            Effect::Forget { .. } => None,
        };
        answers.extend(answer.map(|answer| {
            let code = answer.error_code();
            (answer.into_string(), code)
        }));
    }
    answers
}

fn event(id: Option<&str>, data: &str) -> String {
    let mut event = String::new();
    if let Some(id) = id {
        let _ = writeln!(event, "id: {id}");
    }
    for line in data.split('\n') {
        let _ = writeln!(event, "data: {line}");
    }
    event.push('\n');
    event
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What a header says: itself, or the text whose base64 it is.
fn decoded(value: &str) -> String {
    use base64::Engine as _;
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let bytes = encoded.map(|text| base64::engine::general_purpose::STANDARD.decode(text));
    match bytes {
        Some(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => value.to_owned(),
    }
}

/// A text that nobody guesses who does not know the system's random keys: good enough for a demo.
fn unguessable() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}

fn empty(status: StatusCode) -> Response<Body> {
    response(status, None, Full::default().boxed_unsync())
}

fn json(status: StatusCode, text: String) -> Response<Body> {
    response(status, Some("application/json"), Full::from(text).boxed_unsync())
}

fn events(events: impl Stream<Item = String> + Send + 'static) -> Response<Body> {
    events_of_bytes(events.map(Bytes::from))
}

fn events_of_bytes(bytes: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = bytes.map(|bytes| Ok(Frame::data(bytes)));
    response(StatusCode::OK, Some("text/event-stream"), StreamBody::new(frames).boxed_unsync())
}

fn response(status: StatusCode, kind: Option<&'static str>, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}
