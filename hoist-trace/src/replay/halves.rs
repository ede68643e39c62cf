//! One session with a recorded server.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use hoist_proxy_core::json::object_set;
use hoist_proxy_core::{
    Ambiguity, Closing, Frame, Framing, INVALID_REQUEST, Kind, Line, Message, PARSE_ERROR, RawJson,
    ReadLines, RequestId, WriteLines, names,
};
use serde_json::json;
use tokio::time::{Instant, Sleep};

use super::recording::{Answer, Question};
use super::{Miss, ReplayServer, lock};

/// The `_meta` key of a notification that came of a subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;

/// Requests that any server answers, and that say nothing.
const EMPTY: [&str; 4] =
    ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

pub(super) struct State {
    server: ReplayServer,
    /// How often each question was asked.
    asked: HashMap<Question, usize>,
    /// What is to be said, by when and then in order.
    due: BTreeMap<(Instant, u64), Line>,
    said: u64,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// So many lines wait for a host that does not read.
const MAX_DUE: usize = 1_024;

impl State {
    pub(super) fn new(server: ReplayServer) -> Self {
        Self {
            server,
            asked: HashMap::new(),
            due: BTreeMap::new(),
            said: 0,
            closed: false,
            reader: None,
            writer: None,
        }
    }

    fn hear(&mut self, line: &Line) {
        if line.is_array() {
            let Ok(batch) = RawJson::parse(line.body_bytes()) else { return };
            let elements: Vec<Line> =
                batch.items().map(|item| Line::from_wire(item.as_bytes().clone())).collect();
            for element in &elements {
                self.hear(element);
            }
            return;
        }
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err(_) if line.body().trim_ascii().is_empty() => return,
            Err(ambiguity) => return self.unreadable(&ambiguity),
        };
        let Some(id) = message.id().filter(|_| message.kind() == Kind::Request) else { return };
        let Some(question) = Question::of(&message) else { return };
        let time = self.asked.entry(question.clone()).or_default();
        let found = self.server.recording.answer(&question, *time, self.server.strict).cloned();
        *time += 1;
        match found {
            Some(answer) => self.answer(&message, id, &answer),
            None if EMPTY.contains(&&*question.method) => {
                self.say(Instant::now(), &reply(id, "result", "{}"));
            }
            None => self.miss(id, &question),
        }
    }

    fn answer(&mut self, request: &Message, id: &RequestId, answer: &Answer) {
        let now = Instant::now();
        let at = if self.server.pace { now + answer.after } else { now };
        let meta = request.params().and_then(|params| params.get(names::META));
        let token = meta.and_then(|meta| meta.get(names::PROGRESS_TOKEN));
        for notification in &answer.before {
            if let Some(notification) = readdressed(notification, answer, id, token.as_ref()) {
                self.say(at, &notification);
            }
        }
        if let Some(message) = &answer.message {
            self.say(at, &object_set(message, "id", &raw(id)));
        }
    }

    /// What is no message for certain may still be waited for.
    fn unreadable(&mut self, ambiguity: &Ambiguity) {
        let code = if *ambiguity == Ambiguity::NotJson { PARSE_ERROR } else { INVALID_REQUEST };
        let error = json!({"code": code, "message": format!("hoist: {ambiguity}")});
        self.say(Instant::now(), &reply(&RequestId::null(), "error", &error.to_string()));
    }

    fn miss(&mut self, id: &RequestId, question: &Question) {
        let call = question.call();
        let call = call.as_ref().map(|(name, arguments)| (&**name, &**arguments));
        let recording = Arc::clone(&self.server.recording);
        let nearest = call.and_then(|(name, arguments)| recording.nearest(name, arguments));
        let used_up = recording.answer(question, 0, true).is_some();
        let miss = Miss { method: &question.method, call, nearest, used_up };
        self.server.missed(&miss);
        let is_known = recording.knows(&question.method);
        let code = if is_known { INVALID_PARAMS } else { METHOD_NOT_FOUND };
        let error = json!({"code": code, "message": format!("hoist: {miss}")});
        self.say(Instant::now(), &reply(id, "error", &error.to_string()));
    }

    fn say(&mut self, at: Instant, message: &RawJson) {
        self.said += 1;
        self.due.insert((at, self.said), Line::from_body(message.as_bytes()));
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// A recorded notification, about the request that is there now; `None` where that did not ask for
/// it.
fn readdressed(
    notification: &RawJson,
    answer: &Answer,
    id: &RequestId,
    token: Option<&RawJson>,
) -> Option<RawJson> {
    let Some(params) = notification.get("params") else { return Some(notification.clone()) };
    let same = |raw: RawJson, id: &RequestId| RequestId::parse(raw.as_bytes()).as_ref() == Some(id);
    if let (Some(given), Some(recorded)) = (params.get(names::PROGRESS_TOKEN), &answer.token)
        && same(given, recorded)
    {
        let params = object_set(&params, names::PROGRESS_TOKEN, token?);
        return Some(object_set(notification, "params", &params));
    }
    if let Some(meta) = params.get(names::META)
        && meta.get(SUBSCRIPTION_ID).is_some_and(|given| same(given, &answer.id))
    {
        let meta = object_set(&meta, SUBSCRIPTION_ID, &raw(id));
        let params = object_set(&params, names::META, &meta);
        return Some(object_set(notification, "params", &params));
    }
    Some(notification.clone())
}

fn reply(id: &RequestId, member: &str, value: &str) -> RawJson {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"{member}":{value}}}"#, id.raw());
    RawJson::parse(text).unwrap_or_else(|_| RawJson::string(""))
}

fn raw(id: &RequestId) -> RawJson {
    RawJson::parse(id.raw().to_owned()).unwrap_or_else(|_| RawJson::string(id.raw()))
}

/// What the recorded server says.
pub(super) struct Reader {
    state: Arc<Mutex<State>>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Reader {
    pub(super) fn new(state: Arc<Mutex<State>>) -> Self {
        Self { state, timer: None }
    }
}

impl ReadLines for Reader {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        _framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        loop {
            let next = {
                let mut state = lock(&self.state);
                let next = state.due.first_key_value().map(|(key, _)| key.0);
                match next {
                    Some(at) if at <= Instant::now() => {
                        if let Some(writer) = state.writer.take() {
                            writer.wake();
                        }
                        let line = state.due.pop_first().map(|(_, line)| Ok(Frame::Line(line)));
                        return Poll::Ready(line);
                    }
                    Some(at) => at,
                    None if state.closed => return Poll::Ready(None),
                    None => {
                        state.reader = Some(cx.waker().clone());
                        return Poll::Pending;
                    }
                }
            };
            lock(&self.state).reader = Some(cx.waker().clone());
            let timer = self.timer.insert(Box::pin(tokio::time::sleep_until(next)));
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

/// What the recorded server is asked.
pub(super) struct Writer {
    state: Arc<Mutex<State>>,
}

impl Writer {
    pub(super) fn new(state: Arc<Mutex<State>>) -> Self {
        Self { state }
    }
}

impl WriteLines for Writer {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.state);
        if state.due.len() < MAX_DUE || state.closed {
            return Poll::Ready(Ok(()));
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn send(&mut self, line: Line) {
        lock(&self.state).hear(&line);
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>, closing: Closing) -> Poll<io::Result<()>> {
        let mut state = lock(&self.state);
        state.closed = true;
        if closing == Closing::Urgent {
            state.due.clear();
        }
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }
}
