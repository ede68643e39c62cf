//! One HTTP request and its answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hoist_proxy_core::{
    Host, INVALID_REQUEST, Kind, Message, RequestId, SessionId, modern_version, names,
};
use http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming as HttpIncoming;
use tokio::time::timeout;

use super::access::{Access, Denied};
use super::event::{Event, EventId, Role};
use super::incoming::{Accepts, Incoming, answerable, body, is_json, read, text};
use super::modern::{self, FIRST_MODERN, HEADER_MISMATCH};
use super::respond::{Body, KEEP_ALIVE, Refused, empty, events, json, refusal, whole_events};
use super::router::{Awaited, Carries, Wanted};
use super::session::{Attached, ENDED, NEVER_BEGAN, Session};
use super::table::{NoSession, Sessions};
use crate::http_server::{PROTOCOL_VERSION, ParamHeaders, SESSION_ID};

/// Where hosts connect, below the listener's address.
pub(super) const PATH: &str = "/mcp";

/// Where anybody may ask whether the listener is up.
const HEALTH_PATH: &str = "/healthz";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const HOIST_SESSION: HeaderName = HeaderName::from_static("hoist-session");

/// The revisions of the legacy era, oldest first.
const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The only revision with batches.
const BATCHES: &str = "2025-03-26";

/// From this revision on, streams begin with an event that they can be resumed from.
const PRIMED_FROM: &str = "2025-11-25";

/// How long the head of an answer waits for the rest of it, to leave with it: most servers answer
/// within.
const SOON: Duration = Duration::from_millis(20);

/// JSON-RPC's code for what a method cannot be called with.
const INVALID_PARAMS: i64 = -32602;

/// So many streams one session may have, those that their hosts left among them.
const MAX_STREAMS: usize = 4_096;

pub(super) struct Service {
    pub(super) access: Access,
    pub(super) sessions: Arc<Sessions>,
    pub(super) max_body_bytes: usize,
    /// Makes session ids that nobody guesses.
    pub(super) new_id: fn() -> Option<String>,
}

type Answer = Result<Response<Body>, Refused>;

impl Service {
    /// Answers a request that came from `address`.
    pub(super) async fn answer(
        &self,
        request: Request<HttpIncoming>,
        address: IpAddr,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answer = match self.admit(&parts) {
            Ok(()) => self.route(parts, body, address).await,
            Err(refused) => Err(refused),
        };
        answer.unwrap_or_else(Response::from)
    }

    fn admit(&self, parts: &Parts) -> Result<(), Refused> {
        let denied = |denied: Denied| {
            let refused = refusal(denied.status(), None, INVALID_REQUEST, denied.why());
            if denied == Denied::Token { refused.with(WWW_AUTHENTICATE, "Bearer") } else { refused }
        };
        self.access.check_site(&parts.uri, &parts.headers).map_err(denied)?;
        if parts.uri.path() == HEALTH_PATH {
            return Ok(());
        }
        self.access.check_token(&parts.headers).map_err(denied)
    }

    async fn route(&self, parts: Parts, body: HttpIncoming, address: IpAddr) -> Answer {
        match (parts.uri.path(), &parts.method) {
            (HEALTH_PATH, &Method::GET | &Method::HEAD) => Ok(empty(StatusCode::OK)),
            (HEALTH_PATH, _) => Err(not_allowed("GET, HEAD")),
            (PATH, &Method::POST) => self.post(&parts.headers, body, address).await,
            (PATH, &Method::GET) => self.get(&parts.headers),
            (PATH, &Method::DELETE) => self.delete(&parts.headers),
            (PATH, _) => Err(not_allowed("POST, GET, DELETE")),
            _ => {
                let why = format!("there is nothing here; hosts connect at {PATH}");
                Err(refusal(StatusCode::NOT_FOUND, None, INVALID_REQUEST, &why))
            }
        }
    }

    async fn post(&self, headers: &HeaderMap, http_body: HttpIncoming, address: IpAddr) -> Answer {
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let why = "accept application/json or text/event-stream";
            return Err(refusal(StatusCode::NOT_ACCEPTABLE, None, INVALID_REQUEST, why));
        }
        if !is_json(headers) {
            let why = "send Content-Type: application/json";
            return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, INVALID_REQUEST, why));
        }
        let incoming = read(body(headers, http_body, self.max_body_bytes).await?)?;
        let says_modern = is_modern(text(headers, &PROTOCOL_VERSION).unwrap_or_default());
        let Incoming::One(message) = &incoming else {
            if says_modern {
                let why = "this revision has no batches";
                return Err(refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, why));
            }
            return self.legacy(headers, &incoming, accepts).await;
        };
        let begins = message.method() == Some(names::INITIALIZE) && message.kind() == Kind::Request;
        if begins && !says_modern {
            return self.initialize(headers, message, accepts).await;
        }
        // A host may put modern members into the messages of a session that it began by
        // `initialize`. In the modern era the session's header would mean nothing.
        let in_session = !says_modern && self.names_session(headers);
        match modern_version(message.params()) {
            Some(version) if !in_session => {
                self.modern(headers, message, &version, accepts, address).await
            }
            None if says_modern && !self.names_session(headers) => Err(without_meta(message)),
            _ => self.legacy(headers, &incoming, accepts).await,
        }
    }

    /// A legacy session begins.
    async fn initialize(&self, headers: &HeaderMap, message: &Message, accepts: Accepts) -> Answer {
        let host = host_session(headers)?.map_or_else(Host::default, Host::in_session);
        let id = (self.new_id)().ok_or_else(|| empty(StatusCode::INTERNAL_SERVER_ERROR))?;
        let session = self
            .sessions
            .with_room(|| self.sessions.open_legacy(id.clone(), host.clone()))
            .await
            .map_err(|why| no_session(why, Some(message)))?;
        let mut untold = Untold { sessions: &self.sessions, session: Some(Arc::clone(&session)) };
        let _visit = session.visit();
        let wanted = Wanted { carries: carries(accepts), is_primed: false };
        let attached = ask(&session, message.line(), vec![Awaited::of(message)], wanted)
            .await
            .ok_or_else(|| no_server(&session, message))?;
        let first = first(&attached, accepts).await;
        if let Some(Event { role: Role::Answer { error: Some(_) }, message, .. }) = first {
            // No session came of it.
            let status = if session.has_begun() { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
            return Ok(json(status, message));
        }
        let mut response = match first {
            None if !accepts.events => return Err(gone()),
            Some(event) if !accepts.events => json(StatusCode::OK, event.message),
            first => events(attached, first),
        };
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION_ID, id);
            untold.session = None;
        }
        Ok(response)
    }

    /// Whether a request names a legacy session that there is.
    fn names_session(&self, headers: &HeaderMap) -> bool {
        text(headers, &SESSION_ID).is_some_and(|id| self.sessions.legacy(id).is_some())
    }

    /// The legacy session that a request names.
    fn session(
        &self,
        headers: &HeaderMap,
        message: Option<&Message>,
    ) -> Result<(Arc<Session>, Option<String>), Refused> {
        let id = message.and_then(answerable);
        let Some(named) = headers.get(SESSION_ID) else {
            let why = "name the session in Mcp-Session-Id, or begin one with initialize";
            return Err(refusal(StatusCode::BAD_REQUEST, id, INVALID_REQUEST, why));
        };
        let found = named.to_str().ok().and_then(|named| self.sessions.legacy(named));
        let session = found.ok_or_else(|| {
            let why = "there is no such session, or none any more; begin one with initialize";
            refusal(StatusCode::NOT_FOUND, id, INVALID_REQUEST, why)
        })?;
        let agreed = session.agreed();
        if let Some(said) = headers.get(PROTOCOL_VERSION) {
            let said = said.to_str().unwrap_or_default();
            let is_agreed = agreed.as_deref().is_none_or(|agreed| agreed == said);
            if !is_agreed && !LEGACY_VERSIONS.contains(&said) {
                let why =
                    "MCP-Protocol-Version is no revision that is known, nor the one agreed on";
                return Err(refusal(StatusCode::BAD_REQUEST, id, INVALID_REQUEST, why));
            }
        }
        Ok((session, agreed))
    }

    async fn legacy(&self, headers: &HeaderMap, incoming: &Incoming, accepts: Accepts) -> Answer {
        let (session, agreed) = self.session(headers, incoming.messages().first())?;
        let header = text(headers, &PROTOCOL_VERSION);
        let has_batches =
            [agreed.as_deref(), header].into_iter().flatten().all(|said| said == BATCHES);
        let said = header.map(str::to_owned).or(agreed);
        if matches!(incoming, Incoming::Batch(..)) && !has_batches {
            let why = "the revision that was agreed on has no batches";
            return Err(refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, why));
        }
        let _visit = session.visit();
        let awaited: Vec<Awaited> = incoming.requests().map(Awaited::of).collect();
        if awaited.is_empty() {
            let room = session.room().await.ok_or_else(gone)?;
            let cancels: Vec<RequestId> =
                incoming.messages().iter().filter_map(cancelled).collect();
            return if session.say(incoming.line().clone(), room, &cancels) {
                Ok(empty(StatusCode::ACCEPTED))
            } else {
                Err(gone())
            };
        }
        if session.streams() >= MAX_STREAMS {
            return Err(busy());
        }
        let is_primed = accepts.events && said.is_some_and(|said| *said >= *PRIMED_FROM);
        let wanted = Wanted { carries: carries(accepts), is_primed };
        let attached = ask(&session, incoming.line(), awaited, wanted).await.ok_or_else(gone)?;
        if accepts.events {
            return Ok(soon(attached).await);
        }
        let mut answers = Vec::new();
        while let Some(event) = attached.event().await {
            answers.push(event.message);
        }
        Ok(json(StatusCode::OK, one_body(answers, incoming)))
    }

    /// A request that is complete in itself.
    async fn modern(
        &self,
        headers: &HeaderMap,
        message: &Message,
        version: &str,
        accepts: Accepts,
        address: IpAddr,
    ) -> Answer {
        let id = answerable(message);
        let name = host_session(headers)?.map(|name| name.to_string());
        let asked = modern::asked(message, name, address);
        if message.kind() == Kind::Request
            && let Some(why) = modern::mismatch(headers, message, version, &ParamHeaders::default())
        {
            return Err(refusal(StatusCode::BAD_REQUEST, id, HEADER_MISMATCH, &why));
        }
        if message.method() == Some(names::CANCELLED) {
            // A request is cancelled by closing its stream: an id may be another caller's.
            return Ok(empty(StatusCode::ACCEPTED));
        }
        let session = self
            .sessions
            .with_room(|| self.sessions.modern(&asked))
            .await
            .map_err(|why| no_session(why, Some(message)))?;
        let _visit = session.visit();
        if let Some(why) = session.mismatch(headers, message, version) {
            return Err(refusal(StatusCode::BAD_REQUEST, id, HEADER_MISMATCH, &why));
        }
        self.sessions.join(&session, &asked);
        let room = session.room().await.ok_or_else(|| no_server(&session, message))?;
        if message.kind() != Kind::Request {
            session.say(message.line().clone(), room, &[]);
            return Ok(empty(StatusCode::ACCEPTED));
        }
        if session.streams() >= MAX_STREAMS {
            return Err(busy());
        }
        if message.method() == Some(names::LISTEN) {
            self.sessions.listens(&session, true);
        }
        let wanted = Wanted { carries: carries(accepts), is_primed: false };
        let attached = session
            .ask_modern(message, room, wanted)
            .ok_or_else(|| no_server(&session, message))?;
        let first = first(&attached, accepts).await;
        let Some(Event { role: Role::Answer { error }, message: answer, .. }) = &first else {
            return match first {
                None if !accepts.events => Err(gone()),
                first => Ok(events(attached, first)),
            };
        };
        if message.method() == Some(names::LISTEN) && error.is_some() {
            self.sessions.listens(&session, false);
        }
        if asked.is_discover && error.is_some() && session.is_alone() {
            // The host goes on in another revision, or in the other era.
            self.sessions.end(&session);
        }
        if !session.has_begun() {
            return Ok(json(StatusCode::BAD_GATEWAY, answer.clone()));
        }
        match modern::status(*error) {
            StatusCode::OK if !accepts.json => Ok(events(attached, first)),
            status => Ok(json(status, answer.clone())),
        }
    }

    /// A stream for what the server says on its own, or the rest of one that broke off.
    fn get(&self, headers: &HeaderMap) -> Answer {
        if !headers.contains_key(SESSION_ID) {
            // Without a session there is nothing to hear. Codes other than this one make hosts
            // try again and again.
            return Err(not_allowed("POST"));
        }
        if !Accepts::of(headers).any_stream {
            let why = "accept text/event-stream";
            return Err(refusal(StatusCode::NOT_ACCEPTABLE, None, INVALID_REQUEST, why));
        }
        let (session, agreed) = self.session(headers, None)?;
        if session.streams() >= MAX_STREAMS {
            return Err(busy());
        }
        let _visit = session.visit();
        let said = text(headers, &PROTOCOL_VERSION).or(agreed.as_deref());
        let is_primed = said.is_some_and(|said| said >= PRIMED_FROM);
        let attached = match headers.get(LAST_EVENT_ID) {
            None => session.listen(None, is_primed),
            Some(last) => {
                let last = last.to_str().ok().and_then(EventId::parse);
                last.and_then(|last| session.listen(Some(last), false))
            }
        };
        let nothing_left = || {
            let why = "nothing is left of the stream of that event";
            refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, why)
        };
        attached.map(|attached| events(attached, None)).ok_or_else(nothing_left)
    }

    fn delete(&self, headers: &HeaderMap) -> Answer {
        if !headers.contains_key(SESSION_ID) {
            return Err(not_allowed("POST"));
        }
        let (session, _) = self.session(headers, None)?;
        self.sessions.end(&session);
        Ok(empty(StatusCode::OK))
    }
}

/// A session whose id no host knows, and that is ended unless one is told: its host may have left, or
/// was refused by the server.
struct Untold<'a> {
    sessions: &'a Sessions,
    session: Option<Arc<Session>>,
}

impl Drop for Untold<'_> {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            self.sessions.end(session);
        }
    }
}

/// Hands the line of a request to the engine.
async fn ask(
    session: &Arc<Session>,
    line: &hoist_proxy_core::Line,
    awaited: Vec<Awaited>,
    wanted: Wanted,
) -> Option<Attached> {
    let room = session.room().await?;
    session.ask(line.clone(), room, awaited, wanted)
}

/// The first event of a stream. Nothing when it is due to show that it is alive before that, or
/// has ended.
async fn first(attached: &Attached, accepts: Accepts) -> Option<Event> {
    if accepts.events {
        timeout(KEEP_ALIVE, attached.event()).await.unwrap_or_default()
    } else {
        attached.event().await
    }
}

/// The id of the request that a message cancels.
fn cancelled(message: &Message) -> Option<RequestId> {
    let params = message.params().filter(|_| message.method() == Some(names::CANCELLED))?;
    RequestId::parse(params.get("requestId")?.as_bytes())
}

/// A stream of events; where the answer comes soon, all of it in one piece.
async fn soon(attached: Attached) -> Response<Body> {
    let mut found = Vec::new();
    let is_over = timeout(SOON, async {
        loop {
            match attached.event().await {
                None => return true,
                Some(event) => {
                    let is_news = event.role == Role::Beside && !event.message.is_empty();
                    found.push(event);
                    if is_news {
                        return false;
                    }
                }
            }
        }
    });
    let is_over = is_over.await.unwrap_or(false);
    if is_over { whole_events(&found) } else { events(attached, found) }
}

fn carries(accepts: Accepts) -> Carries {
    if accepts.events { Carries::Everything } else { Carries::AnswersOnly }
}

fn one_body(answers: Vec<bytes::Bytes>, incoming: &Incoming) -> bytes::Bytes {
    match (incoming, answers.into_iter()) {
        (Incoming::One(_), mut answers) => answers.next().unwrap_or_default(),
        (Incoming::Batch(..), answers) => {
            let mut body = vec![b'['];
            for (at, answer) in answers.enumerate() {
                if at > 0 {
                    body.push(b',');
                }
                body.extend_from_slice(&answer);
            }
            body.push(b']');
            body.into()
        }
    }
}

/// The name that a host gives its session, which may become part of a path.
fn host_session(headers: &HeaderMap) -> Result<Option<SessionId>, Refused> {
    let Some(name) = headers.get(HOIST_SESSION) else { return Ok(None) };
    let name = name.to_str().ok().and_then(|name| SessionId::new(name).ok());
    name.map(Some).ok_or_else(|| {
        let why = "Hoist-Session is 1 to 128 of A-Z a-z 0-9 . _ - and does not start with a dot";
        refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, why)
    })
}

fn is_modern(version: &str) -> bool {
    let is_date = version.len() == 10
        && version.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date && version >= FIRST_MODERN
}

/// A message whose headers are modern, and whose body is not.
fn without_meta(message: &Message) -> Refused {
    let why = format!("params._meta has no {}", names::PROTOCOL_VERSION);
    refusal(StatusCode::BAD_REQUEST, answerable(message), INVALID_PARAMS, &why)
}

fn not_allowed(allowed: &'static str) -> Refused {
    Refused::from(empty(StatusCode::METHOD_NOT_ALLOWED)).with(ALLOW, allowed)
}

fn gone() -> Refused {
    refusal(StatusCode::NOT_FOUND, None, INVALID_REQUEST, ENDED)
}

/// The session that this request was given is over before it could be made. Neither its host nor its
/// revision knows of that session, so it is not told that the session is gone.
fn no_server(session: &Session, message: &Message) -> Refused {
    if session.has_begun() {
        return later("the server ended just before the request", Some(message));
    }
    let (id, code) = (answerable(message), hoist_proxy_core::INTERNAL_ERROR);
    refusal(StatusCode::BAD_GATEWAY, id, code, NEVER_BEGAN)
}

fn busy() -> Refused {
    let why = format!("a session may have {MAX_STREAMS} streams at most");
    later(&why, None)
}

fn later(why: &str, message: Option<&Message>) -> Refused {
    let id = message.and_then(answerable);
    let code = hoist_proxy_core::INTERNAL_ERROR;
    refusal(StatusCode::SERVICE_UNAVAILABLE, id, code, why).with(RETRY_AFTER, "1")
}

fn no_session(why: NoSession, message: Option<&Message>) -> Refused {
    match why {
        NoSession::TooMany => later("as many sessions are open as there may be", message),
        NoSession::Ending => later("the proxy is about to end", message),
    }
}
