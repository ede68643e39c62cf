//! One message of the host's: posted, and what comes of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hoist_proxy_core::json::{EnvelopeScanner, ScannedKind};
use hoist_proxy_core::{Aside, Line, RawJson, RequestId, TooLong};
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until};

use super::client::header_text;
use super::inbound::{About, about, named};
use super::one_line::one_line;
use super::post::{Post, PostKind};
use super::refusal::{Media, Refusal, media, refused};
use super::shared::{SESSION_ID, Shared};
use super::sse::{SseEvent, SseParser};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How often a stream is asked for again that brings nothing new.
const MAX_FRUITLESS: u32 = 8;

/// Posts a message and passes on what the server answers, until every request in it is answered:
/// with an error of the proxy's own where the server does not.
///
/// Once the host has cancelled it, it waits for no answer, and is told of none that is missing.
pub(super) async fn exchange(shared: Arc<Shared>, post: Post, cancelled: Arc<AtomicBool>) {
    let mut waiting = Waiting { ids: post.ids.clone().into(), cancelled };
    if let Err(refusal) = run(&shared, &post, &mut waiting).await {
        if waiting.cancelled.load(Ordering::Relaxed) {
            return;
        }
        for id in waiting.ids {
            shared.to_host(refusal.answer(&id)).await;
        }
    }
}

/// The requests of a post that are not answered.
struct Waiting {
    ids: VecDeque<RequestId>,
    cancelled: Arc<AtomicBool>,
}

impl Waiting {
    fn is_over(&self) -> bool {
        self.ids.is_empty()
    }

    fn answered(&mut self, ids: &[RequestId]) {
        self.ids.retain(|id| !ids.contains(id));
    }
}

async fn run(shared: &Arc<Shared>, post: &Post, waiting: &mut Waiting) -> Result<(), Refusal> {
    let mut may_restart = post.kind != PostKind::Initialize;
    let mut may_ask_for_tools = post.is_modern_tool_call();
    if let Some(tool) = shared.broken_tool(post) {
        return Err(Refusal::new(format!(
            "the tool {tool:?} cannot be called over HTTP: its schema marks an argument with \
             x-mcp-header against the rules"
        )));
    }
    loop {
        let (generation, headers) = shared.post_headers(post);
        let response = shared
            .client
            .send(&Method::POST, &headers, &post.body)
            .await
            .map_err(|error| Refusal::new(error.to_string()))?;
        let session_is_gone =
            response.status() == StatusCode::NOT_FOUND && headers.contains_key(SESSION_ID);
        if may_ask_for_tools && response.status() == StatusCode::BAD_REQUEST {
            let (parts, body) = response.into_parts();
            check_encoding(&parts)?;
            let line = one_line(collect(shared, &parts, body).await?);
            if !says_headers_are_wrong(&line) {
                return json(shared, post, &parts, line, waiting).await;
            }
            // What its tools want in headers has changed; refused for that, it was not run.
            may_ask_for_tools = false;
            shared.list_tools(post).await;
            continue;
        }
        if !session_is_gone || !may_restart || !shared.restarts() {
            return answered(shared, post, response, waiting).await;
        }
        // It was refused, so it was not run: it may be posted again, in a new session.
        may_restart = false;
        drop(response);
        shared.start_again(generation).await?;
    }
}

/// That an answer is not compressed, which was not asked for and is not undone.
fn check_encoding(parts: &Parts) -> Result<(), Refusal> {
    let encoding = header_text(&parts.headers, &CONTENT_ENCODING).unwrap_or_default();
    match encoding.trim() {
        "" => Ok(()),
        encoding if encoding.eq_ignore_ascii_case("identity") => Ok(()),
        encoding => Err(Refusal::new(format!(
            "the server answered in the encoding {encoding:?}, which was not asked for"
        ))),
    }
}

/// Whether an answer says that headers and body do not fit: MCP's error -32020.
fn says_headers_are_wrong(line: &Line) -> bool {
    let error = RawJson::parse(line.body_bytes()).ok().and_then(|answer| answer.get("error"));
    error.and_then(|error| error.get("code")).is_some_and(|code| code.as_str() == "-32020")
}

async fn answered(
    shared: &Arc<Shared>,
    post: &Post,
    response: Response<Incoming>,
    waiting: &mut Waiting,
) -> Result<(), Refusal> {
    let (parts, body) = response.into_parts();
    let status = parts.status;
    let kind = media(&parts.headers);
    check_encoding(&parts)?;
    if post.kind == PostKind::Initialize && status.is_success() {
        shared.session_began(parts.headers.get(SESSION_ID).cloned(), post);
    }
    if waiting.is_over() {
        // To a notification or an answer, whatever the server says is nothing to the host; but a
        // stream may carry messages.
        if !(status.is_success() && kind == Media::Events) {
            let _ = collect(shared, &parts, body).await;
            return Ok(());
        }
    }
    match kind {
        Media::Events if status.is_success() => events(shared, post, body, waiting).await,
        Media::Json => {
            let line = one_line(collect(shared, &parts, body).await?);
            json(shared, post, &parts, line, waiting).await
        }
        _ => Err(refused(&parts, &collect(shared, &parts, body).await?)),
    }
}

/// An answer that is one JSON text.
async fn json(
    shared: &Arc<Shared>,
    post: &Post,
    parts: &Parts,
    line: Line,
    waiting: &mut Waiting,
) -> Result<(), Refusal> {
    let status = parts.status;
    match about(&line.body_bytes()) {
        About::Answers(ids) if waiting.ids.iter().any(|id| ids.contains(id)) => {
            waiting.answered(&ids);
            shared.answer(post, line).await;
        }
        About::NamelessError(error) if waiting.ids.len() == 1 => {
            let id = waiting.ids.pop_front().expect("there is one");
            shared.to_host(named(&error, &id)).await;
        }
        About::Ambiguous if waiting.ids.len() == 1 => {
            waiting.ids.clear();
            shared.answer(post, line).await;
        }
        _ if status.is_success() => {
            shared.aside(Aside::Heard(line)).await;
            return Err(Refusal {
                http_status: Some(status.as_u16()),
                ..Refusal::new(format!(
                    "the server answered HTTP {status} with JSON that is no answer to the request"
                ))
            });
        }
        _ => return Err(refused(parts, line.body())),
    }
    if waiting.is_over() {
        Ok(())
    } else {
        Err(Refusal::new("the server answered other requests of the batch, and not this one"))
    }
}

/// An answer that is a stream of events, which is asked for again where it breaks off and can be.
async fn events(
    shared: &Arc<Shared>,
    post: &Post,
    body: Incoming,
    waiting: &mut Waiting,
) -> Result<(), Refusal> {
    let mut stream = Stream::new(shared.max_message_bytes);
    let mut why = stream.pump(shared, Some(post), body, waiting).await;
    let mut fruitless = 0;
    while !waiting.is_over() {
        let before_it = if stream.lost { ", after a message over the limit" } else { "" };
        let lost = |what: &str| {
            Err(Refusal::new(format!("{what}{before_it}, so its outcome is not known")))
        };
        let may_resume = !post.is_modern() && !waiting.cancelled.load(Ordering::Relaxed);
        if !may_resume || stream.parser.last_id().is_none() || fruitless == MAX_FRUITLESS {
            return lost(&why);
        }
        stream.pause(fruitless).await;
        let before = stream.events;
        match shared.get(stream.parser.last_id().cloned()).await {
            Ok(response) if response.status().is_success() => {
                stream.parser.resume();
                why = stream.pump(shared, Some(post), response.into_body(), waiting).await;
            }
            Ok(response) if !response.status().is_server_error() => {
                return lost(&format!(
                    "{why}, and the server does not resume it (HTTP {})",
                    response.status()
                ));
            }
            Ok(response) => why = format!("the server answered HTTP {}", response.status()),
            Err(error) => why = error.to_string(),
        }
        fruitless = if stream.events > before { 0 } else { fruitless + 1 };
    }
    Ok(())
}

/// How long to wait before a stream is opened again: as long as the server asked for, and longer
/// each time that brought nothing, up to a minute.
fn pause(retry_ms: Option<u64>, fruitless: u32) -> Duration {
    let growing = Duration::from_millis(100) * 2_u32.saturating_pow(fruitless.min(10));
    let asked = retry_ms.map(Duration::from_millis);
    let pause = match asked {
        None => growing,
        Some(asked) if fruitless == 0 => asked,
        Some(asked) => asked.max(growing),
    };
    pause.min(Duration::from_secs(60))
}

/// An event stream, over as many connections as it takes.
pub(super) struct Stream {
    pub(super) parser: SseParser,
    /// How many events have come.
    pub(super) events: u64,
    /// Whether one was over the limit.
    lost: bool,
}

impl Stream {
    pub(super) fn new(max_message_bytes: usize) -> Self {
        Self { parser: SseParser::new(max_message_bytes), events: 0, lost: false }
    }

    /// Waits before the stream is opened again.
    pub(super) async fn pause(&self, fruitless: u32) {
        sleep_until(Instant::now() + pause(self.parser.retry_ms(), fruitless)).await;
    }

    /// Passes on what one connection brings, until it ends; why it did.
    async fn pump(
        &mut self,
        shared: &Arc<Shared>,
        post: Option<&Post>,
        mut body: Incoming,
        waiting: &mut Waiting,
    ) -> String {
        let mut found = Vec::new();
        let why = loop {
            match body.frame().await {
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    self.parser.feed(&bytes, &mut |event| found.push(event));
                }
                Some(Err(error)) => {
                    break format!("the connection broke before the answer came ({error})");
                }
                None => break "the server ended its stream before the answer came".to_owned(),
            }
            self.pass_on(shared, post, &mut found, waiting).await;
            // What comes behind the answer is for nobody.
            if post.is_some() && waiting.is_over() {
                return String::new();
            }
        };
        self.parser.finish(&mut |event| found.push(event));
        self.pass_on(shared, post, &mut found, waiting).await;
        why
    }

    async fn pass_on(
        &mut self,
        shared: &Arc<Shared>,
        post: Option<&Post>,
        found: &mut Vec<SseEvent>,
        waiting: &mut Waiting,
    ) {
        for event in found.drain(..) {
            self.events += 1;
            let line = match event {
                SseEvent::Message(data) => one_line(data),
                SseEvent::TooLong(long) => {
                    self.too_long(shared, long, waiting).await;
                    continue;
                }
            };
            match about(&line.body_bytes()) {
                About::Answers(ids) => {
                    waiting.answered(&ids);
                    match post {
                        Some(post) => shared.answer(post, line).await,
                        None => shared.to_host(line).await,
                    }
                }
                About::NamelessError(error) if waiting.ids.len() == 1 => {
                    let id = waiting.ids.pop_front().expect("there is one");
                    shared.to_host(named(&error, &id)).await;
                }
                About::NamelessError(_) | About::Ambiguous => {
                    if waiting.ids.len() == 1 {
                        waiting.ids.clear();
                    }
                    shared.to_host(line).await;
                }
                About::Junk => {
                    tracing::warn!("the server sent an event that is no JSON-RPC; it is dropped");
                    shared.aside(Aside::Heard(line)).await;
                }
            }
        }
    }

    /// A message was over the limit, so it is gone. A request it answered is told so, at once: no
    /// other answer will come.
    async fn too_long(&mut self, shared: &Shared, mut long: TooLong, waiting: &mut Waiting) {
        let refusal = too_long(Some(long.len_bytes), shared.max_message_bytes);
        self.lost = true;
        let mut answered = None;
        if long.envelope.kind == ScannedKind::Response {
            answered = long.envelope.id.take().filter(|id| waiting.ids.contains(id));
            // Nobody else is told: the request is another exchange's, or nobody's.
            long.envelope.kind = ScannedKind::Other;
        }
        shared.lost(long).await;
        if let Some(id) = answered {
            waiting.answered(std::slice::from_ref(&id));
            if !waiting.cancelled.load(Ordering::Relaxed) {
                shared.to_host(refusal.answer(&id)).await;
            }
        }
    }

    /// Passes on what a stream brings that answers no post.
    pub(super) async fn pump_standing(&mut self, shared: &Arc<Shared>, body: Incoming) {
        let mut nobody = Waiting { ids: VecDeque::new(), cancelled: Arc::default() };
        let _ = self.pump(shared, None, body, &mut nobody).await;
    }
}

/// What the host is told of an answer that is over the limit.
fn too_long(len_bytes: Option<u64>, max_bytes: usize) -> Refusal {
    let is = len_bytes.map_or_else(|| "is".to_owned(), |bytes| format!("has {bytes} bytes,"));
    let longer = if len_bytes.is_some() { "more" } else { "longer" };
    Refusal::new(format!("the server's answer {is} {longer} than the limit of {max_bytes} bytes"))
}

/// The whole body of an answer.
async fn collect(shared: &Shared, parts: &Parts, mut body: Incoming) -> Result<Bytes, Refusal> {
    // Room for the line's end too, so that it need not be copied once more.
    let said = header_text(&parts.headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let room = said.unwrap_or(0_usize).min(shared.max_message_bytes);
    let mut all = BytesMut::with_capacity(room + 1);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Refusal::new(format!(
                "the connection broke in the middle of the answer ({error}), so its outcome is not known"
            ))
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        if all.len() + bytes.len() > shared.max_message_bytes {
            let said = said.map(|bytes| bytes as u64);
            let len_bytes = said.unwrap_or((all.len() + bytes.len()) as u64);
            let envelope = EnvelopeScanner::new().finish();
            shared.lost(TooLong { len_bytes, envelope }).await;
            return Err(too_long(said, shared.max_message_bytes));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

/// The headers of a POST that are the same for all.
pub(super) fn post_headers() -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, BOTH)])
}

/// Those of a GET, which resumes a stream behind the event of this id.
pub(super) fn get_headers(last_id: Option<&Bytes>) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(ACCEPT, EVENTS)]);
    if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
        headers.insert(LAST_EVENT_ID, id);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_bring_nothing_are_asked_for_less_and_less_often() {
        let pauses = |retry_ms| -> Vec<u128> {
            (0..12).map(|fruitless| pause(retry_ms, fruitless).as_millis()).collect()
        };
        let growing = [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 60000, 60000];
        assert_eq!(pauses(None), growing);
        assert_eq!(pauses(Some(1000))[..6], [1000, 1000, 1000, 1000, 1600, 3200]);
        assert_eq!(pauses(Some(0))[..3], [0, 200, 400]);
        assert_eq!(pauses(Some(u64::MAX))[0], 60000);
    }
}
