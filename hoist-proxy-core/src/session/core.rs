//! What a session's layers share: the chain, the requests in flight, the lines waiting to leave.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use memchr::memmem;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::ask::new_state_prefix;
use super::exchange_state::{Answer, ExchangeState};
use super::ledger::Ledger;
use crate::{
    Acts, Body, Crossing, Direction, Emit, Hold, Interceptor, Line, Message, RawJson, RequestId,
    Side, WhenBroken,
};

/// Limits of one session.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "limits are maxima")]
pub(crate) struct Limits {
    /// The longest message that is kept, in bytes.
    pub(crate) max_message_bytes: usize,
    /// The most exchanges that may be held at once.
    pub(crate) max_held: usize,
    /// The most exchanges that may be in flight through the layers at once.
    pub(crate) max_exchanges: usize,
}

/// Who waits for an answer.
pub(crate) enum Waiter {
    /// An exchange, for the answer to the peer's request.
    Exchange(Arc<ExchangeState>),
    /// Whoever made a request of the proxy's own.
    Own(oneshot::Sender<Answer>),
}

impl Waiter {
    /// Hands the answer over. Whoever waited may be gone since; then nobody is left to tell.
    pub(crate) fn give(self, answer: Answer) {
        match self {
            Self::Exchange(exchange) => exchange.give_answer(answer),
            Self::Own(waiter) => {
                let _ = waiter.send(answer);
            }
        }
    }
}

/// One layer's interceptor, with what it declared.
pub(crate) struct Link {
    pub(crate) interceptor: Box<dyn Interceptor>,
    pub(crate) name: Arc<str>,
    pub(crate) acts: Acts,
    pub(crate) hold: Option<Hold>,
    pub(crate) when_broken: WhenBroken,
    /// It panicked while observing or judging, and is not asked again.
    pub(crate) silenced: AtomicBool,
}

impl Link {
    pub(crate) fn new(interceptor: Box<dyn Interceptor>) -> Self {
        Self {
            name: interceptor.name().into(),
            acts: interceptor.acts(),
            hold: interceptor.max_hold(),
            when_broken: interceptor.when_broken(),
            silenced: AtomicBool::new(false),
            interceptor,
        }
    }

    /// Runs what must not take the session down.
    pub(crate) fn guarded<T>(&self, what: &str, run: impl FnOnce() -> T) -> Option<T> {
        if self.silenced.load(Ordering::Relaxed) {
            return None;
        }
        if let Ok(value) = catch_unwind(AssertUnwindSafe(run)) {
            return Some(value);
        }
        self.silenced.store(true, Ordering::Relaxed);
        tracing::error!("layer {} panicked while it {what}; it is left out of that now", self.name);
        None
    }
}

/// What a session's layers share.
#[expect(
    clippy::struct_excessive_bools,
    reason = "what the layers declared, independent of each other"
)]
pub(crate) struct Core {
    /// Outermost (host side) first.
    pub(crate) chain: Vec<Link>,
    pub(crate) limits: Limits,
    /// Some layer observes, or acts.
    pub(crate) observing: bool,
    /// Some layer acts, so lines are read whole and parsed.
    pub(crate) acting: bool,
    /// Some layer wants ambiguous messages of the host refused.
    pub(crate) strict: bool,
    /// What the request states of this session start with.
    pub(crate) ask_prefix: String,
    /// Finds that in a message.
    pub(crate) ask_finder: memmem::Finder<'static>,
    /// Some layer judges notifications.
    pub(crate) judging: bool,
    state: Mutex<State>,
    serial: AtomicU64,
    held: AtomicUsize,
    polls: AtomicUsize,
}

/// A line on its way out.
pub(crate) struct Leaving {
    pub(crate) direction: Direction,
    pub(crate) line: Line,
    /// A request of the proxy's own, which waited until there was room for it.
    pub(crate) own: bool,
}

#[derive(Default)]
struct Unwritten {
    to_server: usize,
    to_host: usize,
}

/// How many bytes of its own requests a session gives a side that has no room before further
/// ones wait. Not reading that side instead would deadlock with a peer that does not read while
/// it writes.
const MAX_UNWRITTEN_BYTES: usize = 16 * 1024 * 1024;

/// What changes as messages cross.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) ledger: Ledger<Waiter>,
    /// Lines the proxy sends, in order, until the session moves them to the writers.
    pub(crate) outbox: VecDeque<Leaving>,
    /// Bytes of requests of the proxy's own that are not written yet, each way.
    unwritten: Unwritten,
    pub(crate) server_closed: bool,
    pub(crate) host_closed: bool,
    pub(crate) handshake: Handshake,
    /// Modern exchanges that wait for the host to retry with an answer, by request state.
    pub(crate) asks: HashMap<String, oneshot::Sender<Retry>>,
    /// Own requests that wait for the handshake to end, or for an id to be free.
    waiting: Vec<Waker>,
}

/// How far the connection has come.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// Something of the host's has gone to the server.
    pub(crate) forwarded_any: bool,
    /// The id of the host's `initialize`, until its answer.
    pub(crate) initialize: Option<RequestId>,
    /// The host has sent `initialize`.
    pub(crate) initializing: bool,
    /// The host's `notifications/initialized` has gone to the server.
    pub(crate) initialized: bool,
    /// The version the handshake settled.
    pub(crate) version: Option<String>,
    /// The capabilities the host declared in `initialize`.
    pub(crate) host_capabilities: Option<RawJson>,
}

/// A host's retry of a request that was answered `input_required`.
#[derive(Debug)]
pub(crate) struct Retry {
    pub(crate) id: RequestId,
    pub(crate) responses: Option<RawJson>,
}

impl State {
    /// A line leaves.
    pub(crate) fn push(&mut self, direction: Direction, line: Line) {
        self.outbox.push_back(Leaving { direction, line, own: false });
    }

    /// A request of the proxy's own leaves.
    pub(crate) fn push_own(&mut self, direction: Direction, line: Line) {
        *self.unwritten(direction) += line.wire().len();
        self.outbox.push_back(Leaving { direction, line, own: true });
    }

    /// Whether a request of the proxy's own may leave now.
    pub(crate) fn admits_own(&mut self, direction: Direction) -> bool {
        *self.unwritten(direction) < MAX_UNWRITTEN_BYTES
    }

    fn unwritten(&mut self, direction: Direction) -> &mut usize {
        match direction {
            Direction::ToServer => &mut self.unwritten.to_server,
            Direction::ToHost => &mut self.unwritten.to_host,
        }
    }
}

impl Core {
    pub(crate) fn new(chain: Vec<Link>, limits: Limits) -> Self {
        let ask_prefix = new_state_prefix();
        Self {
            observing: !chain.is_empty(),
            acting: chain.iter().any(|l| !l.acts.is_nothing()),
            strict: chain.iter().any(|l| l.acts.refuses_ambiguous()),
            ask_finder: memmem::Finder::new(&ask_prefix).into_owned(),
            ask_prefix,
            judging: chain.iter().any(|l| l.acts.judges_notifications()),
            chain,
            limits,
            state: Mutex::default(),
            serial: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
        }
    }

    /// An exchange is being polled.
    pub(crate) fn count_poll(&self) {
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// How many times exchanges were polled, all in all.
    pub(crate) fn polls(&self) -> usize {
        self.polls.load(Ordering::Relaxed)
    }

    /// Never held across an await or a call into a layer.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn legacy_version(&self) -> Option<String> {
        self.state().handshake.version.clone()
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.held.load(Ordering::Relaxed) >= self.limits.max_held
    }

    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// One more layer holds the exchange; false when too many exchanges are held already.
    pub(crate) fn start_hold(&self, exchange: &ExchangeState) -> bool {
        if exchange.holding.load(Ordering::Relaxed) == 0 {
            if self.is_crowded() {
                return false;
            }
            self.held.fetch_add(1, Ordering::Relaxed);
        }
        exchange.holding.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub(crate) fn end_hold(&self, exchange: &ExchangeState) {
        if exchange.holding.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.held.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The layer at `position` of the chain, counted the way a request goes.
    pub(crate) fn link(&self, direction: Direction, position: usize) -> Option<&Link> {
        match direction {
            Direction::ToServer => self.chain.get(position),
            Direction::ToHost => {
                self.chain.len().checked_sub(position + 1).and_then(|i| self.chain.get(i))
            }
        }
    }

    /// Whether some layer handles requests of this method that go this way.
    pub(crate) fn acts_on(&self, direction: Direction, method: &str) -> bool {
        self.chain.iter().any(|l| l.acts.acts_on(direction, method))
    }

    /// Shows a crossing to every layer, outermost first; what one emits, the ones inside it see
    /// before.
    pub(crate) fn observe(&self, crossing: &Crossing<'_>) {
        self.observe_from(0, crossing);
    }

    fn observe_from(&self, first: usize, crossing: &Crossing<'_>) {
        for (at, link) in self.chain.iter().enumerate().skip(first) {
            let mut emit = Emit::new();
            link.guarded("observed", || link.interceptor.observe(crossing, &mut emit));
            for line in &emit.lines {
                let context = Crossing {
                    side: Side::Context,
                    made_by: Some(&link.name),
                    read_at: crossing.read_at,
                    body: Body::Line(line),
                    message: None,
                };
                self.observe_from(at + 1, &context);
            }
        }
    }

    /// Shows the layers a line the proxy made.
    pub(crate) fn observe_own(&self, made_by: &str, line: &Line) {
        self.observe(&Crossing {
            side: Side::Proxy,
            made_by: Some(made_by),
            read_at: Instant::now(),
            body: Body::Line(line),
            message: None,
        });
    }

    /// A line of the proxy's own making leaves.
    pub(crate) fn send_own(&self, direction: Direction, made_by: &str, line: Line) {
        self.observe_own(made_by, &line);
        self.state().push(direction, line);
    }

    /// Whether requests of the proxy's own wait to be written.
    pub(crate) fn has_unwritten(&self, direction: Direction) -> bool {
        *self.state().unwritten(direction) > 0
    }

    /// All of them are written; true when others waited for that.
    pub(crate) fn all_written(&self, direction: Direction) -> bool {
        let before = std::mem::take(self.state().unwritten(direction));
        let waited = before >= MAX_UNWRITTEN_BYTES;
        if waited {
            self.wake_waiting();
        }
        waited
    }

    /// Asks the layers what becomes of a notification: the line that goes on, if one does.
    pub(crate) fn judge(&self, direction: Direction, message: &Message) -> Option<Line> {
        if !self.judging {
            return Some(message.line().clone());
        }
        let mut current = message.clone();
        let mut replaced_by = None;
        for position in 0..self.chain.len() {
            let Some(link) = self.link(direction, position) else { break };
            if !link.acts.judges_notifications() {
                continue;
            }
            let note = crate::Notification { direction, message: &current };
            match link.guarded("judged a notification", || link.interceptor.notify(&note)) {
                None | Some(crate::Pass::On) => {}
                Some(crate::Pass::Drop) => return None,
                Some(crate::Pass::Replace(other)) => {
                    replaced_by = Some(&link.name);
                    let Ok(message) = Message::parse(&other) else {
                        // The layers further in cannot look at it; it goes on as it is.
                        self.observe_own(&link.name, &other);
                        return Some(other);
                    };
                    current = message;
                }
            }
        }
        if let Some(name) = replaced_by {
            self.observe_own(name, current.line());
        }
        Some(current.line().clone())
    }

    /// Something happened that own requests may wait for.
    pub(crate) fn wake_waiting(&self) {
        let waiting = std::mem::take(&mut self.state().waiting);
        for waker in waiting {
            waker.wake();
        }
    }

    /// Waits until `ready` says how to go on; asked again after every change of the handshake or
    /// of the ids in flight.
    pub(crate) async fn wait_until<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        std::future::poll_fn(move |cx| self.poll_until(cx, &mut ready)).await
    }

    /// As [`wait_until`](Self::wait_until), for who is polled.
    pub(crate) fn poll_until<T>(
        &self,
        cx: &mut Context<'_>,
        ready: impl FnOnce(&mut State) -> Option<T>,
    ) -> Poll<T> {
        let mut state = self.state();
        if let Some(value) = ready(&mut state) {
            return Poll::Ready(value);
        }
        if !state.waiting.iter().any(|w| w.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
