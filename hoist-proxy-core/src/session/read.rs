//! What becomes of a line that was read in a session with a layer that acts.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use foldhash::HashMap;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::batch::Batch;
use super::chain::proceed;
use super::core::{Core, Retry};
use super::elements::Unpacking;
use super::exchange_state::{Answer, ExchangeState, Primary};
use super::ledger::Answered;
use super::unambiguous::{check_unambiguous, is_about_id, seems};
use crate::era::names;
use crate::exchange::ENGINE;
use crate::json::ScannedKind;
use crate::{
    Ambiguity, Body, Crossing, Direction, Era, Error, Kind, Line, Message, Request, RequestId,
    Response, Side, TooLong, wire_error,
};

/// An exchange at work.
pub(crate) struct Work<'a> {
    core: &'a Core,
    state: Arc<ExchangeState>,
    run: BoxFuture<'a, Answer>,
}

impl Future for Work<'_> {
    /// `None` when it was cancelled: what it leaves behind is said when it is dropped.
    type Output = Option<Done>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.state.poll_aborted(cx).is_ready() {
            return Poll::Ready(None);
        }
        self.core.count_poll();
        // Tokio's budget would make an exchange whose answer is there wait for another turn, and
        // lose its place; the readers keep to the budget, so the session yields all the same.
        let run = pin!(tokio::task::unconstrained(&mut self.run));
        let result = ready!(run.poll(cx));
        Poll::Ready(Some(Done { number: self.state.number, result }))
    }
}

/// What an exchange came to.
pub(crate) struct Done {
    number: u64,
    result: Answer,
}

/// An exchange in flight.
struct Active {
    state: Arc<ExchangeState>,
    reply: Reply,
}

/// Where an answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// Out, as a line of its own.
    Line,
    /// Into the answer to a batch.
    Batch { batch: u64, index: usize },
}

/// The exchanges in flight, and what decides about lines.
pub(crate) struct Exchanges<'a> {
    pub(super) core: &'a Core,
    active: HashMap<u64, Active>,
    pub(super) batches: HashMap<u64, Batch>,
    pub(super) unpacking: Option<Unpacking>,
    started: Vec<Work<'a>>,
    /// A time that stands in where nobody looks at times.
    pub(crate) epoch: Instant,
}

impl<'a> Exchanges<'a> {
    pub(crate) fn new(core: &'a Core) -> Self {
        Self {
            core,
            active: HashMap::default(),
            batches: HashMap::default(),
            unpacking: None,
            started: Vec::new(),
            epoch: Instant::now(),
        }
    }

    /// The exchanges that were started since the last time.
    pub(crate) fn started(&mut self) -> std::vec::Drain<'_, Work<'a>> {
        self.started.drain(..)
    }

    /// A line was read that goes `direction`.
    pub(crate) fn line(&mut self, direction: Direction, line: &Line, now: Instant) {
        let parsed = if line.is_array() { None } else { Some(Message::parse(line)) };
        let message = parsed.as_ref().and_then(|p| p.as_ref().ok());
        self.core.observe(&Crossing {
            side: side(direction),
            made_by: None,
            read_at: now,
            body: Body::Line(line),
            message,
        });
        match parsed {
            Some(parsed) => self.message(direction, line, parsed, Reply::Line),
            None => self.array(direction, line),
        }
    }

    pub(super) fn message(
        &mut self,
        direction: Direction,
        line: &Line,
        parsed: Result<Message, Ambiguity>,
        reply: Reply,
    ) {
        let strict = self.core.strict && direction == Direction::ToServer;
        let message = match parsed {
            Ok(message) => message,
            Err(ambiguity) if strict && !line.body().trim_ascii().is_empty() => {
                return self.refuse(line, ambiguity, reply);
            }
            Err(_) => return self.unreadable(direction, line, reply),
        };
        if strict && let Err(ambiguity) = check_unambiguous(&message) {
            return self.refuse(line, ambiguity, reply);
        }
        match message.kind() {
            Kind::Request => self.request(direction, &message, reply),
            Kind::Notification => self.notification(direction, &message),
            Kind::Response => self.response(direction, &message),
        }
    }

    /// A host's message that can be read in two ways goes no further.
    pub(super) fn refuse(&mut self, line: &Line, ambiguity: Ambiguity, reply: Reply) {
        tracing::warn!("refused a message of the host's: {ambiguity}");
        let seems = seems(line);
        let (kind, id) = match seems.kind {
            ScannedKind::Response => (seems.kind, seems.id),
            // Nothing of it can be told, not even that it is a notification.
            _ if ambiguity == Ambiguity::NotJson || is_about_id(&ambiguity) => {
                (ScannedKind::Other, None)
            }
            kind => (kind, seems.id),
        };
        let error = Error::Ambiguous(ambiguity);
        match kind {
            // Nothing is ever sent in answer to a notification.
            ScannedKind::Notification => self.leave(Direction::ToHost, reply),
            // The server waits for this one: it gets an error in its place.
            ScannedKind::Response => {
                if let Some(id) = &id {
                    self.answer_with_error(Direction::ToServer, id, &error);
                }
                self.leave(Direction::ToHost, reply);
            }
            ScannedKind::Request | ScannedKind::Other => {
                let line = error_line(&error, &id.unwrap_or_else(RequestId::null));
                self.reply(Direction::ToHost, reply, ENGINE, line, true);
            }
        }
    }

    /// A line that is no message for certain: no layer acts on it, and it goes on as it is. What
    /// seems to be an answer still ends the request it seems to answer, or that would be waited
    /// for for ever.
    fn unreadable(&mut self, direction: Direction, line: &Line, reply: Reply) {
        let seems = seems(line);
        match (seems.kind, seems.id) {
            (ScannedKind::Response, Some(id)) => {
                let answered = self.core.state().ledger.answered(direction.reverse(), &id);
                match answered {
                    Answered::Deliver(waiter) => {
                        waiter.give(Ok(Response::unreadable(line.clone(), id)));
                    }
                    Answered::Swallow => {}
                    Answered::Pass => self.forward(direction, line.clone()),
                }
            }
            (ScannedKind::Request, Some(id)) => self.unread(direction, line, &id, reply),
            _ => self.forward(direction, line.clone()),
        }
    }

    /// A request that no layer may read goes on past them.
    fn unread(&mut self, direction: Direction, line: &Line, id: &RequestId, reply: Reply) {
        if reply == Reply::Line {
            self.core.state().ledger.ordinary(direction, id);
            return self.forward(direction, line.clone());
        }
        let request = Request::unread(self.core.next_serial(), line.clone(), id.clone());
        self.start(direction, request, id, reply, self.core.chain.len());
    }

    fn request(&mut self, direction: Direction, message: &Message, reply: Reply) {
        let (Some(id), Some(method)) = (message.id(), message.method()) else { return };
        if direction == Direction::ToServer {
            if method == names::INITIALIZE {
                let mut state = self.core.state();
                state.handshake.initialize = Some(id.detached());
                state.handshake.initializing = true;
                state.handshake.host_capabilities =
                    message.params().and_then(|p| p.get("capabilities"));
            }
            if let Some(state) = self.own_request_state(message) {
                return self.retry(&state, message, reply);
            }
        }
        let taken = {
            let mut state = self.core.state();
            state.ledger.reuse(direction, id);
            state.ledger.is_taken_by_own(direction, id)
        };
        let acted_on = self.core.acts_on(direction, method) && self.is_plain(direction, message);
        if acted_on || taken || reply != Reply::Line {
            let number = self.core.next_serial();
            let Some(request) = Request::of_peer(number, message) else { return };
            let first = if acted_on { 0 } else { self.core.chain.len() };
            self.start(direction, request, id, reply, first);
        } else {
            self.core.state().ledger.ordinary(direction, id);
            self.forward(direction, message.line().clone());
        }
    }

    /// Whether a request or notification can be read in one way only, so that layers may act on
    /// it.
    fn is_plain(&self, direction: Direction, message: &Message) -> bool {
        // With a strict layer, what the host sends has been checked.
        (self.core.strict && direction == Direction::ToServer) || check_unambiguous(message).is_ok()
    }

    /// Starts an exchange: the request runs through the layers from the `first` on.
    fn start(
        &mut self,
        direction: Direction,
        request: Request,
        id: &RequestId,
        reply: Reply,
        first: usize,
    ) {
        let max = self.core.limits.max_exchanges;
        if self.active.len() >= max {
            let line = error_line(&Error::TooManyRequests { max }, id);
            return self.reply(direction.reverse(), reply, ENGINE, line, true);
        }
        let number = request.serial.unwrap_or_default();
        let in_batch = reply != Reply::Line;
        let state = Arc::new(ExchangeState::new(number, direction, &request, id.clone(), in_batch));
        self.core.state().ledger.hold(direction, id, number);
        let run = proceed(self.core, Arc::clone(&state), first, request).boxed();
        self.started.push(Work { core: self.core, state: Arc::clone(&state), run });
        self.active.insert(number, Active { state, reply });
    }

    /// A modern host retries a request that a layer answered with a question.
    fn retry(&mut self, request_state: &str, message: &Message, reply: Reply) {
        let Some(id) = message.id() else { return };
        let waiter = self.core.state().asks.remove(request_state);
        let responses = message.params().and_then(|p| p.get("inputResponses"));
        let retry = Retry { id: id.detached(), responses };
        let taken_up = waiter.is_some_and(|w| w.send(retry).is_ok());
        if taken_up {
            // The exchange answers as it began, with a line of its own.
            return self.leave(Direction::ToHost, reply);
        }
        let response =
            Response::error(-32602, "hoist: nobody waits for this requestState any more");
        let (line, _) = response.into_line(id, || Era::Modern);
        self.reply(Direction::ToHost, reply, ENGINE, line, true);
    }

    /// The `requestState` of a request, when it is one this session made.
    fn own_request_state(&self, message: &Message) -> Option<String> {
        let params = message.params()?;
        // Most requests are told apart without looking at their members.
        let text = params.as_bytes();
        if self.core.ask_finder.find(text).is_none() && memchr::memchr(b'\\', text).is_none() {
            return None;
        }
        let state = params.get("requestState")?;
        let text = state.text()?;
        text.starts_with(&self.core.ask_prefix).then(|| text.into_owned())
    }

    fn notification(&mut self, direction: Direction, message: &Message) {
        let method = message.method().unwrap_or_default();
        let cancels = method == names::CANCELLED;
        let acted_on = (cancels || self.core.judging) && self.is_plain(direction, message);
        if acted_on && cancels && !self.cancelled(direction, message) {
            return;
        }
        let line = if acted_on {
            self.core.judge(direction, message)
        } else {
            Some(message.line().clone())
        };
        let Some(line) = line else { return };
        self.forward(direction, line);
        if direction == Direction::ToServer && method == names::INITIALIZED {
            self.core.state().handshake.initialized = true;
            self.core.wake_waiting();
        }
    }

    /// The requester cancels: whether the notification goes on.
    fn cancelled(&mut self, direction: Direction, message: &Message) -> bool {
        let id = message
            .params()
            .and_then(|p| p.get("requestId"))
            .and_then(|raw| RequestId::parse(raw.as_bytes()));
        let Some(id) = id else { return true };
        let found = self
            .active
            .values()
            .filter(|a| a.state.direction == direction && a.state.is_awaited_as(&id))
            .map(|a| a.state.number)
            .min();
        let Some(number) = found else {
            let mut state = self.core.state();
            state.ledger.forget_ordinary(direction, &id);
            // The other side would take it for a request of the proxy's own.
            return !state.ledger.is_taken_by_own(direction, &id);
        };
        let sent = self.active.get(&number).is_some_and(|a| a.state.primary() == Primary::Sent);
        self.cancel(number);
        sent
    }

    fn cancel(&mut self, number: u64) {
        let Some(active) = self.active.get(&number) else { return };
        active.state.cancel();
        if active.state.is_told_of_cancel() {
            return;
        }
        active.state.abort();
        let (direction, id) = (active.state.direction, active.state.id());
        if active.state.primary() == Primary::NotSent {
            self.core.state().ledger.forget(direction, &id, number);
        }
        let reply = active.reply;
        self.active.remove(&number);
        self.leave(direction.reverse(), reply);
    }

    /// Nobody is left to answer.
    pub(crate) fn cancel_all(&mut self) {
        let mut numbers: Vec<u64> = self.active.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            self.cancel(number);
        }
    }

    fn response(&mut self, direction: Direction, message: &Message) {
        let Some(id) = message.id() else { return };
        let answered = {
            let mut state = self.core.state();
            if direction == Direction::ToHost && state.handshake.initialize.as_ref() == Some(id) {
                state.handshake.initialize = None;
                state.handshake.version = message
                    .result()
                    .and_then(|r| r.get("protocolVersion"))
                    .and_then(|v| v.text().map(Into::into));
            }
            state.ledger.answered(direction.reverse(), id)
        };
        match answered {
            Answered::Deliver(waiter) => waiter.give(Ok(Response::of(message))),
            Answered::Pass => self.forward(direction, message.line().clone()),
            Answered::Swallow => {}
        }
    }

    /// An exchange came to its end.
    pub(crate) fn finish(&mut self, done: Done) {
        let Some(active) = self.active.remove(&done.number) else { return };
        let direction = active.state.direction;
        let id = active.state.id();
        self.core.state().ledger.release(direction, &id, done.number);
        let response = match done.result {
            _ if active.state.is_cancelled() => None,
            Ok(response) => Some(response),
            Err(error) => {
                let (code, message) = wire_error(&error);
                Some(Response::error(code, &message))
            }
        };
        let Some(response) = response else {
            return self.leave(direction.reverse(), active.reply);
        };
        let made_by = response.made_by.clone();
        let (line, made) = response.into_line(&id, || active.state.era());
        self.reply(
            direction.reverse(),
            active.reply,
            made_by.as_deref().unwrap_or(ENGINE),
            line,
            made,
        );
    }

    /// An answer leaves, as a line or in a batch.
    fn reply(&mut self, direction: Direction, reply: Reply, by: &str, line: Line, made: bool) {
        match reply {
            Reply::Line => {
                if made {
                    self.core.observe_own(by, &line);
                }
                self.core.state().push(direction, line);
            }
            Reply::Batch { batch, index } => {
                if let Some(answers) = self.batches.get_mut(&batch) {
                    answers.answer(index, line);
                }
                self.batch_done(direction, batch);
            }
        }
    }

    /// An answer will not come.
    fn leave(&mut self, direction: Direction, reply: Reply) {
        if let Reply::Batch { batch, index } = reply {
            if let Some(answers) = self.batches.get_mut(&batch) {
                answers.leave(index);
            }
            self.batch_done(direction, batch);
        }
    }

    pub(super) fn batch_done(&mut self, direction: Direction, number: u64) {
        if self.batches.get(&number).is_some_and(Batch::is_done)
            && let Some(line) = self.batches.remove(&number).and_then(Batch::into_line)
        {
            self.core.send_own(direction, ENGINE, line);
        }
    }

    pub(super) fn forward(&mut self, direction: Direction, line: Line) {
        let mut state = self.core.state();
        state.handshake.forwarded_any |= direction == Direction::ToServer;
        state.push(direction, line);
    }

    /// A line was longer than the message limit, so its bytes are gone.
    pub(crate) fn too_long(&mut self, direction: Direction, line: &TooLong, now: Instant) {
        let len_bytes = line.len_bytes;
        self.core.observe(&Crossing {
            side: side(direction),
            made_by: None,
            read_at: now,
            body: Body::Lost { len_bytes },
            message: None,
        });
        let error =
            Error::MessageTooLong { len_bytes, max_bytes: self.core.limits.max_message_bytes };
        tracing::warn!("dropped a line on its way to the {}: {error}", direction.receiver());
        let Some(id) = &line.envelope.id else { return };
        match line.envelope.kind {
            // The sender waits for an answer: it gets an error.
            ScannedKind::Request => {
                let line = error_line(&error, id);
                self.core.send_own(direction.reverse(), ENGINE, line);
            }
            // The other side waits for this answer: it gets an error in its place.
            ScannedKind::Response => {
                let max_bytes = self.core.limits.max_message_bytes;
                let error = Error::AnswerTooLong { len_bytes, max_bytes };
                self.answer_with_error(direction, id, &error);
            }
            _ => {}
        }
    }

    /// The receiver of an answer that cannot be passed on gets an error.
    fn answer_with_error(&mut self, direction: Direction, id: &RequestId, error: &Error) {
        let line = error_line(error, id);
        let answered = self.core.state().ledger.answered(direction.reverse(), id);
        match answered {
            Answered::Deliver(waiter) => {
                let response = Message::parse(&line).ok().map(|message| {
                    let mut response = Response::of(&message);
                    response.mark_made(ENGINE.into());
                    response
                });
                waiter.give(response.ok_or(Error::Cancelled));
            }
            Answered::Swallow => {}
            Answered::Pass => self.core.send_own(direction, ENGINE, line),
        }
    }

    /// The party that requests going `direction` were for is gone.
    pub(crate) fn closed(&mut self, direction: Direction) {
        let waiting = {
            let mut state = self.core.state();
            match direction {
                Direction::ToServer => state.server_closed = true,
                Direction::ToHost => {
                    state.host_closed = true;
                    state.asks.clear();
                }
            }
            state.ledger.close(direction)
        };
        for waiter in waiting {
            waiter.give(Err(Error::Closed { direction }));
        }
        self.core.wake_waiting();
    }

    /// Nothing more can be sent to the server, but it may still answer.
    pub(crate) fn server_input_closed(&mut self) {
        self.core.state().server_closed = true;
        self.core.wake_waiting();
    }
}

fn side(direction: Direction) -> Side {
    match direction {
        Direction::ToServer => Side::Client,
        Direction::ToHost => Side::Server,
    }
}

fn error_line(error: &Error, id: &RequestId) -> Line {
    let (code, message) = wire_error(error);
    Response::error(code, &message).into_line(id, || Era::Legacy).0
}
