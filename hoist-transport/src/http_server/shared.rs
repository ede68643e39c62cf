//! What the exchanges of one session share: the server, the session's state, the way to the host.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hoist_proxy_core::json::ScannedKind;
use hoist_proxy_core::{Aside, Frame, Line, Message, RawJson, TooLong, names};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout};

use super::client::{HttpClient, SendError};
use super::exchange::{Stream, get_headers, post_headers};
use super::inbound::{About, about};
use super::one_line::one_line;
use super::param_headers::ParamHeaders;
use super::post::{Post, PostKind};
use super::refusal::Refusal;
use super::request_headers::{PROTOCOL_VERSION, describe};
use super::sse::{SseEvent, SseParser};

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// How long the end of a session is waited for.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a new session's beginning may take.
const RESTART_TIMEOUT: Duration = Duration::from_secs(60);

/// So many pages of tools are read at most.
const MAX_PAGES: usize = 100;

/// What waits for the host takes up this much memory at most: 64 MiB.
const ROOM_UNITS: usize = (64 << 20) / UNIT;
const UNIT: usize = 4 << 10;

/// A frame that waits for the host, and the room it takes up.
pub(super) struct Waiting {
    pub(super) frame: Frame,
    _room: OwnedSemaphorePermit,
}

pub(super) struct Shared {
    pub(super) client: HttpClient,
    pub(super) max_message_bytes: usize,
    restart: bool,
    session: Mutex<Session>,
    restarting: tokio::sync::Mutex<()>,
    param_headers: Mutex<ParamHeaders>,
    frames: mpsc::Sender<Waiting>,
    /// Room for what waits for the host, in units of [`UNIT`].
    room: Arc<Semaphore>,
    /// Which session the host may hear the server in.
    ready: watch::Sender<u64>,
    /// How many requests of its own the proxy has made.
    own_requests: AtomicU64,
    /// When the server last said anything.
    heard: watch::Sender<Instant>,
}

/// The legacy session, as far as it has begun.
#[derive(Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    /// The revision the server agreed to.
    version: Option<HeaderValue>,
    /// Counts the sessions that began.
    generation: u64,
    /// What began it, to begin it again.
    initialize: Option<Post>,
    initialized: Option<Post>,
}

impl Shared {
    pub(super) fn new(
        client: HttpClient,
        max_message_bytes: usize,
        restart: bool,
        frames: mpsc::Sender<Waiting>,
    ) -> Self {
        Self {
            client,
            max_message_bytes,
            restart,
            session: Mutex::default(),
            restarting: tokio::sync::Mutex::default(),
            param_headers: Mutex::default(),
            frames,
            room: Arc::new(Semaphore::new(ROOM_UNITS)),
            ready: watch::Sender::new(0),
            own_requests: AtomicU64::new(0),
            heard: watch::Sender::new(Instant::now()),
        }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // Nothing panics while it is held.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn restarts(&self) -> bool {
        self.restart && self.session().initialize.is_some()
    }

    /// When the server last said anything.
    pub(super) fn heard(&self) -> Instant {
        *self.heard.borrow()
    }

    /// Passes a line on to the host; waits while the host does not read. Once the host is gone,
    /// nobody does.
    pub(super) async fn to_host(&self, line: Line) {
        self.heard.send_replace(Instant::now());
        let len_bytes = line.wire().len();
        self.wait_for_host(Frame::Line(line), len_bytes).await;
    }

    /// A message of the server's was over the limit: the log has its length, and nobody its bytes.
    pub(super) async fn lost(&self, long: TooLong) {
        self.heard.send_replace(Instant::now());
        self.wait_for_host(Frame::TooLong(long), 0).await;
    }

    /// Shows the log a line that is not the host's to see.
    pub(super) async fn aside(&self, aside: Aside) {
        let (Aside::Said(line) | Aside::Heard(line)) = &aside else { return };
        let len_bytes = line.wire().len();
        self.wait_for_host(Frame::Aside(aside), len_bytes).await;
    }

    async fn wait_for_host(&self, frame: Frame, len_bytes: usize) {
        // A message larger than all of the room has to be alone in it.
        let units = (len_bytes / UNIT + 1).min(ROOM_UNITS);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(units).await else { return };
        let _ = self.frames.send(Waiting { frame, _room: room }).await;
    }

    /// Passes on a line that came in answer to a post.
    pub(super) async fn answer(&self, post: &Post, line: Line) {
        if post.kind == PostKind::Initialize {
            self.agreed(&line, post);
        }
        self.learn_headers(post, &line);
        self.to_host(line).await;
    }

    /// Notes what the tools of a modern list want in headers.
    pub(super) fn learn_headers(&self, post: &Post, answer: &Line) {
        let Some(request) = post.message.as_ref().filter(|_| post.is_modern()) else { return };
        if request.method() == Some(names::TOOLS_LIST)
            && let Ok(answer) = Message::parse(answer)
        {
            self.param_headers().listed(request, &answer);
        }
    }

    /// The tool that a modern call asks for, where it must not be called over HTTP.
    pub(super) fn broken_tool(&self, post: &Post) -> Option<String> {
        let message = post.message.as_ref().filter(|_| post.is_modern())?;
        self.param_headers().broken_tool(message)
    }

    fn param_headers(&self) -> MutexGuard<'_, ParamHeaders> {
        self.param_headers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server took the post that begins a session. Its id, or that it has none, replaces what
    /// an earlier one had.
    pub(super) fn session_began(&self, id: Option<HeaderValue>, post: &Post) {
        let mut session = self.session();
        session.id = id.map(|mut id| {
            id.set_sensitive(true);
            id
        });
        session.version = None;
        session.generation += 1;
        session.initialize = Some(post.clone());
        session.initialized = None;
    }

    /// Notes the revision that the answer to `initialize` names.
    fn agreed(&self, line: &Line, post: &Post) {
        let Ok(message) = Message::parse(line) else { return };
        if message.id() != post.ids.first() {
            return;
        }
        let version = message.result().and_then(|result| result.get("protocolVersion"));
        let version = version.as_ref().and_then(RawJson::text);
        let mut session = self.session();
        session.version = version.and_then(|version| HeaderValue::from_str(&version).ok());
        if message.error().is_some() {
            // The server refused to begin.
            session.initialize = None;
        }
    }

    /// The host is done with the handshake, by this post.
    pub(super) fn handshake_is_over(&self, post: &Post) {
        let mut session = self.session();
        session.initialized = Some(post.clone());
        self.ready.send_replace(session.generation);
    }

    /// The headers of a post, and of which session they are.
    pub(super) fn post_headers(&self, post: &Post) -> (u64, HeaderMap) {
        let mut headers = post_headers();
        let session = self.session();
        match (&post.version, &post.message) {
            (Some(version), Some(message)) => {
                describe(&mut headers, message, version);
                self.param_headers().add_to(&mut headers, message);
            }
            _ if post.kind == PostKind::Initialize => {}
            _ => session.add_to(&mut headers),
        }
        (session.generation, headers)
    }

    /// Asks for the session's own stream, or for what is left of one behind the event of this id.
    pub(super) async fn get(
        &self,
        last_id: Option<Bytes>,
    ) -> Result<Response<Incoming>, SendError> {
        let mut headers = get_headers(last_id.as_ref());
        self.session().add_to(&mut headers);
        self.client.send(&Method::GET, &headers, &Bytes::new()).await
    }

    /// Ends the session, where there is one. Any answer is fine.
    pub(super) async fn delete(&self) {
        let mut headers = HeaderMap::new();
        {
            let mut session = self.session();
            if session.id.is_none() {
                return;
            }
            session.add_to(&mut headers);
            session.id = None;
        }
        let nothing = Bytes::new();
        let sending = self.client.send(&Method::DELETE, &headers, &nothing);
        if let Ok(Err(error)) = timeout(DELETE_TIMEOUT, sending).await {
            tracing::debug!(%error, "the session was not ended at the server");
        }
    }

    /// Begins the session again that the server has dropped, unless it was since `generation`.
    pub(super) async fn start_again(self: &Arc<Self>, generation: u64) -> Result<(), Refusal> {
        let _one_at_a_time = self.restarting.lock().await;
        let (initialize, initialized) = {
            let session = self.session();
            if session.generation != generation {
                return Ok(());
            }
            (session.initialize.clone(), session.initialized.clone())
        };
        let gone = "the server has ended the session";
        let Some(initialize) = initialize else { return Err(Refusal::new(gone)) };
        tracing::info!("the server has ended the session; it is started again");
        let starting = self.begin(&initialize, initialized.as_ref());
        match timeout(RESTART_TIMEOUT, starting).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(Refusal::new(format!("{gone} and did not start another: {why}"))),
            Err(_) => Err(Refusal::new(format!("{gone} and did not start another in time"))),
        }
    }

    async fn begin(&self, initialize: &Post, initialized: Option<&Post>) -> Result<(), String> {
        let send = async |post: &Post| {
            let (_, headers) = self.post_headers(post);
            self.aside(Aside::Said(Line::from_body(&post.body))).await;
            self.client.send(&Method::POST, &headers, &post.body).await.map_err(|e| e.to_string())
        };
        let response = send(initialize).await?;
        if !response.status().is_success() {
            return Err(format!("HTTP {}", response.status()));
        }
        let id = response.headers().get(SESSION_ID).cloned();
        let answer = self.own_answer(initialize, response).await?;
        let message = Message::parse(&answer).map_err(|error| error.to_string())?;
        if let Some(error) = message.error() {
            return Err(error.as_str().to_owned());
        }
        self.session_began(id, initialize);
        self.agreed(&answer, initialize);
        if let Some(initialized) = initialized {
            let response = send(initialized).await?;
            if !response.status().is_success() {
                return Err(format!("HTTP {} to its last step", response.status()));
            }
            self.handshake_is_over(initialized);
        }
        Ok(())
    }

    /// The answer to a post of the proxy's own; what comes before it goes to the host.
    async fn own_answer(&self, post: &Post, response: Response<Incoming>) -> Result<Line, String> {
        let answer = self.find_own_answer(post, response).await?;
        self.aside(Aside::Heard(answer.clone())).await;
        Ok(answer)
    }

    async fn find_own_answer(
        &self,
        post: &Post,
        response: Response<Incoming>,
    ) -> Result<Line, String> {
        let is_ours = |text: &Bytes| match about(text) {
            About::Answers(ids) => post.ids.first().is_some_and(|id| ids.contains(id)),
            _ => false,
        };
        let mut body = response.into_body();
        let mut whole = Vec::new();
        let mut parser = SseParser::new(self.max_message_bytes);
        loop {
            let frame = body.frame().await.transpose().map_err(|error| error.to_string())?;
            let mut found = Vec::new();
            let is_last = frame.is_none();
            match frame.map(http_body::Frame::into_data) {
                Some(Ok(bytes)) => {
                    if whole.len() + bytes.len() > self.max_message_bytes {
                        return Err("the answer is too long".to_owned());
                    }
                    whole.extend_from_slice(&bytes);
                    parser.feed(&bytes, &mut |event| found.push(event));
                }
                Some(Err(_)) => {}
                None => parser.finish(&mut |event| found.push(event)),
            }
            for event in found {
                let line = match event {
                    SseEvent::Message(data) => one_line(data),
                    SseEvent::TooLong(mut long) => {
                        // It answers no request of the host's.
                        let was_ours = post.ids.first() == long.envelope.id.as_ref();
                        if long.envelope.kind == ScannedKind::Response {
                            long.envelope.kind = ScannedKind::Other;
                            if was_ours {
                                self.lost(long).await;
                                return Err("the answer is too long".to_owned());
                            }
                        }
                        self.lost(long).await;
                        continue;
                    }
                };
                if is_ours(&line.body_bytes()) {
                    return Ok(line);
                }
                if about(&line.body_bytes()) == About::Junk {
                    self.aside(Aside::Heard(line)).await;
                } else {
                    self.to_host(line).await;
                }
            }
            if is_last {
                let line = one_line(whole.into());
                return if is_ours(&line.body_bytes()) {
                    Ok(line)
                } else {
                    Err("no answer".to_owned())
                };
            }
        }
    }

    /// Asks anew what the tools want in headers, in the revision of a call that was refused.
    pub(super) async fn list_tools(&self, call: &Post) {
        let Some(version) = &call.version else { return };
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let number = self.own_requests.fetch_add(1, Ordering::Relaxed);
            let Some(list) = Post::own(number, names::TOOLS_LIST, cursor.as_deref(), version)
            else {
                return;
            };
            let (_, headers) = self.post_headers(&list);
            self.aside(Aside::Said(Line::from_body(&list.body))).await;
            let Ok(response) = self.client.send(&Method::POST, &headers, &list.body).await else {
                return;
            };
            let Ok(answer) = self.own_answer(&list, response).await else { return };
            self.learn_headers(&list, &answer);
            let next = Message::parse(&answer)
                .ok()
                .and_then(|answer| answer.result()?.get("nextCursor")?.text().map(Cow::into_owned));
            // A cursor that does not move on would never end.
            if next.is_none() || next == cursor {
                return;
            }
            cursor = next;
        }
    }

    /// Carries what the server says on its own, in each session whose handshake is over.
    pub(super) async fn standing_stream(self: Arc<Self>) {
        let mut ready = self.ready.subscribe();
        loop {
            let generation = *ready.borrow_and_update();
            let stream = async {
                if generation > 0 {
                    self.stream_of(generation).await;
                }
                std::future::pending::<()>().await;
            };
            // A new session ends the stream of the old one.
            tokio::select! {
                () = stream => {}
                changed = ready.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }

    /// The stream of this session, opened again whenever it breaks off.
    async fn stream_of(self: &Arc<Self>, generation: u64) {
        let mut stream = Stream::new(self.max_message_bytes);
        let mut fruitless = 0;
        while self.session().generation == generation {
            let before = stream.events;
            match self.get(stream.parser.last_id().cloned()).await {
                Ok(response) if response.status() == StatusCode::OK => {
                    stream.parser.resume();
                    stream.pump_standing(self, response.into_body()).await;
                }
                // It has no such stream, or the session is over.
                Ok(response) if !response.status().is_server_error() => return,
                Ok(_) | Err(_) => {}
            }
            fruitless = if stream.events > before { 0 } else { fruitless + 1 };
            stream.pause(fruitless.max(3)).await;
        }
    }
}

impl Session {
    fn add_to(&self, headers: &mut HeaderMap) {
        if let Some(id) = &self.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = &self.version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
    }
}
