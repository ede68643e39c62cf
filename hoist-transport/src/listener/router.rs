//! Which stream each message of the server's goes to: a pure state machine of one session.
//!
//! A stream belongs to the requests of one POST, or stands by itself (a GET). It outlives its
//! connection where the host may come back for the rest of it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use hoist_proxy_core::{Era, Line, Message, RequestId, names};
use tokio::time::Instant;

use super::abandoned::Abandoned;
use super::event::{Event, EventId, Role};
use super::replay::Replay;
use super::waiting::{Kept, Waiting};
use crate::http_server::ParamHeaders;

/// How long a stream may take nothing while too much waits in the session.
const STALLED_AFTER: Duration = Duration::from_secs(60);

/// So much may wait in a session's streams before the server is not read from any more: 64 MiB.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// A stream, and the connection that has it now. A stream that was resumed has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: u64,
    connection: u64,
}

/// A request that is to be answered on a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Awaited {
    /// The id the server knows it by.
    pub(super) id: Option<RequestId>,
    /// The id the host gave, where the server knows it by another.
    pub(super) host_id: Option<RequestId>,
    /// The progress token the server knows, and the host's where that is another.
    pub(super) token: Option<(RequestId, Option<RequestId>)>,
    /// Whether the server may say things about it to log (modern).
    pub(super) logs: bool,
    /// When the host cancelled it (legacy): the server need not answer it any more.
    pub(super) cancelled: Option<Instant>,
    /// The request itself, where its answer says which arguments are repeated in headers.
    pub(super) listing: Option<Message>,
    /// Whether its answer says which revision the session has.
    pub(super) begins: bool,
}

/// What a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// The answers, and what the server says meanwhile.
    Everything,
    /// The answers, to be one body.
    AnswersOnly,
}

/// How long the answer to a cancelled request is still waited for.
const LATE_ANSWER: Duration = Duration::from_secs(30);

/// How a POST's stream is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) carries: Carries,
    /// Whether it begins with an event that has an id and nothing else, from which it can be
    /// resumed.
    pub(super) is_primed: bool,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) carries: Carries,
    /// What is not answered yet; empty for one that stands by itself.
    pub(super) awaited: Vec<Awaited>,
    is_standing: bool,
    queue: VecDeque<Event>,
    /// The connection that has it; none while the host is away.
    connection: Option<u64>,
    /// When it last took anything, or had nothing to take.
    moved: Instant,
    waker: Option<Waker>,
}

#[derive(Debug)]
pub(super) struct Router {
    pub(super) era: Era,
    pub(super) streams: BTreeMap<u64, Stream>,
    /// The streams that wait for an answer to this id, by age.
    pub(super) by_id: HashMap<RequestId, VecDeque<u64>>,
    pub(super) by_token: HashMap<RequestId, u64>,
    pub(super) abandoned: Abandoned,
    pub(super) waiting: Waiting,
    replay: Replay,
    queued_bytes: usize,
    last_stream: u64,
    last_event: u64,
    last_connection: u64,
    pub(super) renamed: u64,
    /// What the tools listed so far want in headers.
    pub(super) params: ParamHeaders,
    /// The revision that was agreed on, as far as it is known (legacy).
    pub(super) agreed: Option<String>,
    /// Why the session is over, once it is.
    over: Option<&'static str>,
}

impl Awaited {
    /// A legacy request as it is awaited: under its own id and its own token.
    pub(super) fn of(message: &Message) -> Self {
        let meta = message.params().and_then(|params| params.get(names::META));
        let token = meta.and_then(|meta| meta.get(names::PROGRESS_TOKEN));
        let token = token.and_then(|token| RequestId::parse(token.as_bytes()));
        Self {
            id: message.id().map(RequestId::detached),
            token: token.map(|token| (token.detached(), None)),
            begins: message.method() == Some(names::INITIALIZE),
            ..Self::default()
        }
    }
}

impl Router {
    pub(super) fn new(era: Era) -> Self {
        Self {
            era,
            streams: BTreeMap::new(),
            by_id: HashMap::new(),
            by_token: HashMap::new(),
            abandoned: Abandoned::default(),
            waiting: Waiting::default(),
            replay: Replay::default(),
            queued_bytes: 0,
            last_stream: 0,
            last_event: 0,
            last_connection: 0,
            renamed: 0,
            params: ParamHeaders::default(),
            agreed: None,
            over: None,
        }
    }

    /// How many streams there are, with a connection or without.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// How many streams have a connection.
    pub(super) fn connected(&self) -> usize {
        self.streams.values().filter(|stream| stream.connection.is_some()).count()
    }

    /// Whether so much waits for hosts that the server should wait.
    pub(super) fn is_full(&self) -> bool {
        self.queued_bytes > MAX_QUEUED_BYTES
    }

    /// A stream for a POST with these requests.
    pub(super) fn open_post(
        &mut self,
        awaited: Vec<Awaited>,
        wanted: Wanted,
        now: Instant,
    ) -> Place {
        let place = self.next_place();
        for Awaited { id, token, .. } in &awaited {
            if let Some(id) = id {
                self.by_id.entry(id.clone()).or_default().push_back(place.stream);
            }
            if let Some((token, _)) = token {
                self.by_token.insert(token.clone(), place.stream);
            }
        }
        self.insert(place, wanted.carries, awaited, now);
        if wanted.is_primed {
            self.push(place.stream, Bytes::new(), Role::Beside, now);
        }
        if wanted.carries == Carries::Everything && self.era == Era::Legacy {
            self.give_waiting(place.stream, now);
        }
        if let Some(why) = self.over {
            self.fail(place.stream, why, now);
        }
        place
    }

    /// A stream that stands by itself.
    pub(super) fn open_standing(&mut self, is_primed: bool, now: Instant) -> Place {
        let place = self.next_place();
        self.insert(place, Carries::Everything, Vec::new(), now);
        if let Some(stream) = self.streams.get_mut(&place.stream) {
            stream.is_standing = true;
        }
        if is_primed {
            self.push(place.stream, Bytes::new(), Role::Beside, now);
        }
        self.give_waiting(place.stream, now);
        place
    }

    /// The rest of a stream, from behind this event; `None` where nothing of it is left.
    pub(super) fn resume(&mut self, last: EventId, now: Instant) -> Option<Place> {
        let is_body = |stream: &Stream| stream.carries == Carries::AnswersOnly;
        if last.number > self.last_event || self.streams.get(&last.stream).is_some_and(is_body) {
            // No event of ours had this id.
            return None;
        }
        let mut missed = self.replay.after(last);
        self.last_connection += 1;
        let place = Place { stream: last.stream, connection: self.last_connection };
        if let Some(stream) = self.streams.get_mut(&last.stream) {
            // What the old connection has not taken is not missed twice.
            let first = stream.queue.front().and_then(|event| event.id);
            missed.retain(|event| {
                first.is_none_or(|first| event.id.is_some_and(|id| id.number < first.number))
            });
            self.queued_bytes += missed.iter().map(Event::cost_bytes).sum::<usize>();
            missed.append(&mut stream.queue);
            stream.queue = missed;
            stream.connection = Some(place.connection);
            stream.moved = now;
            wake(stream.waker.take());
            if stream.is_standing {
                self.give_waiting(last.stream, now);
            }
            return Some(place);
        }
        if missed.is_empty() {
            return None;
        }
        self.insert(place, Carries::Everything, Vec::new(), now);
        self.queued_bytes += missed.iter().map(Event::cost_bytes).sum::<usize>();
        if let Some(stream) = self.streams.get_mut(&place.stream) {
            stream.queue = missed;
        }
        Some(place)
    }

    fn next_place(&mut self) -> Place {
        self.last_stream += 1;
        self.last_connection += 1;
        Place { stream: self.last_stream, connection: self.last_connection }
    }

    fn insert(&mut self, place: Place, carries: Carries, awaited: Vec<Awaited>, now: Instant) {
        let stream = Stream {
            carries,
            awaited,
            is_standing: false,
            queue: VecDeque::new(),
            connection: Some(place.connection),
            moved: now,
            waker: None,
        };
        self.streams.insert(place.stream, stream);
    }

    /// The next event of a stream; `None` at its end, or when another connection has it.
    pub(super) fn poll_event(
        &mut self,
        place: Place,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Event>> {
        let Some(stream) = self.streams.get_mut(&place.stream) else { return Poll::Ready(None) };
        if stream.connection != Some(place.connection) {
            return Poll::Ready(None);
        }
        if let Some(event) = stream.queue.pop_front() {
            stream.moved = now;
            self.queued_bytes -= event.cost_bytes();
            return Poll::Ready(Some(event));
        }
        if stream.is_over() || self.over.is_some() {
            self.streams.remove(&place.stream);
            return Poll::Ready(None);
        }
        match &mut stream.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            waker => *waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// The connection of a stream is gone. The requests that end with it, by the server's ids.
    pub(super) fn disconnected(&mut self, place: Place, now: Instant) -> Vec<RequestId> {
        let Some(stream) = self.streams.get_mut(&place.stream) else { return Vec::new() };
        if stream.connection != Some(place.connection) {
            return Vec::new();
        }
        stream.connection = None;
        stream.waker = None;
        let unsent = std::mem::take(&mut stream.queue);
        self.queued_bytes -= unsent.iter().map(Event::cost_bytes).sum::<usize>();
        if self.era == Era::Modern {
            // The host wants no more of it.
            let awaited = std::mem::take(&mut stream.awaited);
            self.streams.remove(&place.stream);
            return awaited
                .into_iter()
                .filter_map(|request| {
                    self.abandoned.add(&request);
                    self.forget(place.stream, request)
                })
                .collect();
        }
        if !stream.is_standing {
            if stream.is_over() {
                self.streams.remove(&place.stream);
            }
            return Vec::new();
        }
        // What was not sent goes to whichever stream comes next.
        if let Some(first) = unsent.iter().find_map(|event| event.id) {
            self.replay.forget_from(place.stream, first.number);
        }
        for event in unsent.into_iter().rev().filter(|event| !event.message.is_empty()) {
            self.waiting.put_back(event.message, now);
        }
        self.streams.retain(|number, stream| {
            *number == place.stream || !stream.is_standing || stream.connection.is_some()
        });
        if let Some(other) = self.standing() {
            self.give_waiting(other, now);
        }
        Vec::new()
    }

    /// Forgets a request whose answer nobody waits for any more; its id if it was waited for.
    fn forget(&mut self, stream: u64, request: Awaited) -> Option<RequestId> {
        if let Some((token, _)) = &request.token
            && self.by_token.get(token) == Some(&stream)
        {
            self.by_token.remove(token);
        }
        let id = request.id?;
        if let Some(streams) = self.by_id.get_mut(&id) {
            // A batch may have the same id twice.
            if let Some(at) = streams.iter().position(|other| *other == stream) {
                streams.remove(at);
            }
            if streams.is_empty() {
                self.by_id.remove(&id);
            }
        }
        Some(id)
    }

    /// Takes note that a request of a stream was answered; how it was awaited.
    pub(super) fn answered(&mut self, id: &RequestId) -> Option<(u64, Awaited)> {
        let number = *self.by_id.get(id)?.front()?;
        let stream = self.streams.get_mut(&number)?;
        let at = stream.awaited.iter().position(|request| request.id.as_ref() == Some(id))?;
        let request = stream.awaited.remove(at);
        self.forget(number, request.clone());
        Some((number, request))
    }

    /// The server ends the stream of this request, and gives no answer.
    pub(super) fn end_stream_of(&mut self, id: &RequestId) {
        let Some((number, _)) = self.answered(id) else { return };
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.connection.is_some() {
            wake(stream.waker.take());
        } else if stream.is_over() {
            self.streams.remove(&number);
        }
    }

    /// The host cancels a request, and may leave its stream open all the same.
    pub(super) fn cancelled(&mut self, id: &RequestId, now: Instant) {
        let Some(number) = self.by_id.get(id).and_then(|streams| streams.front()) else { return };
        let Some(stream) = self.streams.get_mut(number) else { return };
        for request in &mut stream.awaited {
            if request.id.as_ref() == Some(id) {
                request.cancelled.get_or_insert(now);
            }
        }
    }

    /// Ends the streams of requests that were cancelled and not answered.
    pub(super) fn end_cancelled(&mut self, now: Instant) {
        let is_late = |request: &Awaited| {
            request.cancelled.is_some_and(|at| now.saturating_duration_since(at) >= LATE_ANSWER)
        };
        let late: Vec<RequestId> = self
            .streams
            .values()
            .flat_map(|stream| stream.awaited.iter().filter(|request| is_late(request)))
            .filter_map(|request| request.id.clone())
            .collect();
        for id in late {
            self.end_stream_of(&id);
        }
    }

    /// Puts a message on a stream.
    pub(super) fn push(&mut self, number: u64, message: Bytes, role: Role, now: Instant) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let has_ids = self.era == Era::Legacy && stream.carries == Carries::Everything;
        let id = has_ids.then(|| {
            self.last_event += 1;
            EventId { stream: number, number: self.last_event }
        });
        let event = Event { id, message, role };
        self.replay.keep(&event);
        if stream.connection.is_some() {
            if stream.queue.is_empty() {
                stream.moved = now;
            }
            self.queued_bytes += event.cost_bytes();
            stream.queue.push_back(event);
            wake(stream.waker.take());
        } else if stream.is_over() {
            // The host may come for what is kept of it, and for that only.
            self.streams.remove(&number);
        }
    }

    /// The stream that what belongs to no request goes to: the newest that stands by itself.
    pub(super) fn standing(&self) -> Option<u64> {
        let is_open = |stream: &Stream| stream.is_standing && stream.connection.is_some();
        self.streams.iter().rev().find(|(_, stream)| is_open(stream)).map(|(number, _)| *number)
    }

    /// The oldest stream of a request that carries more than its answer, and has a connection.
    pub(super) fn any_open(&self) -> Option<u64> {
        let is_open = |stream: &Stream| {
            stream.connection.is_some()
                && stream.carries == Carries::Everything
                && !stream.awaited.is_empty()
        };
        self.streams.iter().find(|(_, stream)| is_open(stream)).map(|(number, _)| *number)
    }

    fn give_waiting(&mut self, number: u64, now: Instant) {
        while let Some(Kept { message, .. }) = self.waiting.next() {
            self.push(number, message, Role::Beside, now);
        }
    }

    /// Ends the session's streams; whoever waits for an answer is told why there is none.
    pub(super) fn end(&mut self, why: &'static str, now: Instant) {
        self.over.get_or_insert(why);
        let numbers: Vec<u64> = self.streams.keys().copied().collect();
        for number in numbers {
            self.fail(number, why, now);
            if let Some(stream) = self.streams.get_mut(&number) {
                wake(stream.waker.take());
            }
        }
    }

    fn fail(&mut self, number: u64, why: &str, now: Instant) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let awaited = std::mem::take(&mut stream.awaited);
        for request in awaited {
            let id = request.host_id.clone().or_else(|| request.id.clone());
            self.forget(number, request);
            if let Some(id) = id {
                let message = error_line(&id, why).body_bytes();
                self.push(number, message, Role::Answer { error: Some(INTERNAL) }, now);
            }
        }
    }

    /// Cuts off the connections that take nothing while too much waits, so that the server can be
    /// read from again.
    pub(super) fn cut_stalled(&mut self, now: Instant) -> Vec<RequestId> {
        if !self.is_full() {
            return Vec::new();
        }
        let is_stalled = |stream: &Stream| {
            !stream.queue.is_empty() && now.saturating_duration_since(stream.moved) >= STALLED_AFTER
        };
        let stalled: Vec<Place> = self
            .streams
            .iter()
            .filter(|(_, stream)| is_stalled(stream))
            .filter_map(|(number, stream)| {
                Some(Place { stream: *number, connection: stream.connection? })
            })
            .collect();
        let mut cancelled = Vec::new();
        for place in stalled {
            tracing::warn!("a host that reads nothing is cut off, since too much waits for it");
            let waker = self.streams.get_mut(&place.stream).and_then(|stream| stream.waker.take());
            cancelled.extend(self.disconnected(place, now));
            wake(waker);
        }
        cancelled
    }
}

impl Stream {
    /// Whether nothing more comes on it.
    fn is_over(&self) -> bool {
        self.awaited.is_empty() && !self.is_standing
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

pub(super) const INTERNAL: i64 = hoist_proxy_core::INTERNAL_ERROR;

/// An error of the proxy's own in answer to the request of this id.
pub(super) fn error_line(id: &RequestId, why: &str) -> Line {
    coded_error_line(id, INTERNAL, why)
}

pub(super) fn coded_error_line(id: &RequestId, code: i64, why: &str) -> Line {
    let error = serde_json::json!({"code": code, "message": format!("hoist: {why}")});
    // The id stands as its sender spelt it.
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.raw());
    Line::from_body(text.as_bytes())
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
