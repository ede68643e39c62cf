//! One session of a host's: what its HTTP requests and the engine's connection share.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hoist_proxy_core::{
    Closing, Connection, Era, Frame, Framing, Host, Line, Message, ReadLines, RequestId,
    WriteLines, names,
};
use http::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::event::{Event, EventId};
use super::modern;
use super::router::{Awaited, Place, Router, Wanted};

/// So many lines of a host's wait for the engine at most.
const INBOUND_LINES: usize = 64;

/// Why a request of an ended session is not answered.
pub(super) const ENDED: &str = "the session has ended";
const SERVER_ENDED: &str = "the server ended before it answered";
pub(super) const NEVER_BEGAN: &str =
    "the server could not be started or reached; the proxy's own messages say why";

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    /// Its number, which is also its place in the table.
    pub(super) number: u64,
    state: Mutex<State>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    router: Router,
    inbound: VecDeque<Inbound>,
    /// No more comes from the host: it said so, or was given up.
    host_left: bool,
    /// The engine has let go of the connection.
    is_over: bool,
    /// Whether the server was ever heard, or the engine ever wrote.
    has_begun: bool,
    /// When a request last came, or a stream closed.
    active: Instant,
    /// How many modern requests it has had.
    asked: u64,
    /// Requests that are being read or answered right now.
    requests: usize,
    reader: Option<Waker>,
    writer: Option<Waker>,
    gone: Option<Waker>,
}

#[derive(Debug)]
struct Inbound {
    line: Line,
    _room: Option<OwnedSemaphorePermit>,
}

/// Counts a request of the host's, for as long as it is there.
#[derive(Debug)]
pub(super) struct Visit(Arc<Session>);

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.active = Instant::now();
    }
}

impl Session {
    pub(super) fn new(number: u64, era: Era) -> Arc<Self> {
        Arc::new(Self {
            number,
            state: Mutex::new(State {
                router: Router::new(era),
                inbound: VecDeque::new(),
                host_left: false,
                is_over: false,
                has_begun: false,
                active: Instant::now(),
                asked: 0,
                requests: 0,
                reader: None,
                writer: None,
                gone: None,
            }),
            room: Arc::new(Semaphore::new(INBOUND_LINES)),
        })
    }

    /// The engine's side of it.
    pub(super) fn connection(
        self: &Arc<Self>,
        host: Host,
        let_go: impl FnOnce() + Send + 'static,
    ) -> Connection {
        let writer = HostWriter { session: Arc::clone(self), let_go: Some(Box::new(let_go)) };
        Connection::new(HostReader { session: Arc::clone(self) }, writer).from_host(host)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a request is there.
    pub(super) fn visit(self: &Arc<Self>) -> Visit {
        let mut state = self.state();
        state.requests += 1;
        state.active = Instant::now();
        drop(state);
        Visit(Arc::clone(self))
    }

    /// Whether requests can still be made in it.
    pub(super) fn is_open(&self) -> bool {
        let state = self.state();
        !state.host_left && !state.is_over
    }

    /// How long nothing has come and no stream was open; zero while there is one.
    pub(super) fn idle_for(&self, now: Instant) -> Duration {
        let state = self.state();
        if state.requests > 0 || state.router.connected() > 0 {
            return Duration::ZERO;
        }
        now.saturating_duration_since(state.active)
    }

    /// Waits for room for another line of the host's; `None` once the session is over.
    pub(super) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// Hands a line to the engine, and the requests it cancels to the streams.
    pub(super) fn say(
        &self,
        line: Line,
        room: OwnedSemaphorePermit,
        cancels: &[RequestId],
    ) -> bool {
        let mut state = self.state();
        if state.host_left || state.is_over {
            return false;
        }
        for id in cancels {
            state.router.cancelled(id, Instant::now());
        }
        state.push(Inbound { line, _room: Some(room) });
        true
    }

    /// Hands the line of a request to the engine, and opens the stream of its answer.
    pub(super) fn ask(
        self: &Arc<Self>,
        line: Line,
        room: OwnedSemaphorePermit,
        awaited: Vec<Awaited>,
        wanted: Wanted,
    ) -> Option<Attached> {
        let mut state = self.state();
        if state.host_left || state.is_over {
            return None;
        }
        let place = state.router.open_post(awaited, wanted, Instant::now());
        state.push(Inbound { line, _room: Some(room) });
        drop(state);
        Some(Attached { session: Arc::clone(self), place })
    }

    /// The same for a modern message, whose ids may be in use by others.
    pub(super) fn ask_modern(
        self: &Arc<Self>,
        message: &Message,
        room: OwnedSemaphorePermit,
        wanted: Wanted,
    ) -> Option<Attached> {
        let mut state = self.state();
        if state.host_left || state.is_over {
            return None;
        }
        state.asked += 1;
        let (line, awaited) = state.router.admit(message);
        let place = state.router.open_post(vec![awaited], wanted, Instant::now());
        state.push(Inbound { line, _room: Some(room) });
        drop(state);
        Some(Attached { session: Arc::clone(self), place })
    }

    /// A stream for what the server says on its own; behind an event, the rest of that one's.
    pub(super) fn listen(
        self: &Arc<Self>,
        last: Option<EventId>,
        is_primed: bool,
    ) -> Option<Attached> {
        let mut state = self.state();
        let now = Instant::now();
        let place = match last {
            Some(last) => state.router.resume(last, now)?,
            None => state.router.open_standing(is_primed, now),
        };
        drop(state);
        Some(Attached { session: Arc::clone(self), place })
    }

    /// Whether the server was ever there.
    pub(super) fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    /// The revision that was agreed on, as far as it is known.
    pub(super) fn agreed(&self) -> Option<String> {
        self.state().router.agreed.clone()
    }

    /// Whether it has had no more than one modern request.
    pub(super) fn is_alone(&self) -> bool {
        self.state().asked <= 1
    }

    /// What is wrong with the headers of a modern message, as far as the tools listed in this
    /// session tell.
    pub(super) fn mismatch(
        &self,
        headers: &HeaderMap,
        message: &Message,
        version: &str,
    ) -> Option<String> {
        modern::mismatch(headers, message, version, &self.state().router.params)
    }

    /// How many streams there are.
    pub(super) fn streams(&self) -> usize {
        self.state().router.streams()
    }

    /// Ends the session from the host's side.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if state.host_left {
            return;
        }
        state.host_left = true;
        self.room.close();
        state.router.end(ENDED, Instant::now());
        state.wake_all();
    }

    /// What time brings: requests of the server's that no host heard, hosts that read nothing.
    pub(super) fn tick(&self, now: Instant) {
        let mut state = self.state();
        let told = state.router.expire(now);
        let cancelled = state.router.cut_stalled(now);
        state.router.end_cancelled(now);
        state.push_all(told);
        state.cancel(&cancelled);
        if !state.router.is_full() {
            wake(&mut state.writer);
        }
    }
}

impl State {
    fn push(&mut self, inbound: Inbound) {
        self.inbound.push_back(inbound);
        wake(&mut self.reader);
    }

    /// Lines that the transport itself has to say.
    fn push_all(&mut self, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            self.push(Inbound { line, _room: None });
        }
    }

    fn cancel(&mut self, ids: &[RequestId]) {
        self.push_all(ids.iter().map(cancellation));
    }

    fn wake_all(&mut self) {
        wake(&mut self.reader);
        wake(&mut self.writer);
        wake(&mut self.gone);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn sleep_in(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        waker => *waker = Some(cx.waker().clone()),
    }
}

/// What a closed stream says, in the words of a wire that has no streams.
fn cancellation(id: &RequestId) -> Line {
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"{}","params":{{"requestId":{},"reason":"the host closed the request's stream"}}}}"#,
        names::CANCELLED,
        id.raw()
    );
    Line::from_body(text.as_bytes())
}

/// A host's connection to one of its session's streams.
#[derive(Debug)]
pub(super) struct Attached {
    session: Arc<Session>,
    place: Place,
}

impl Attached {
    /// The next event; `None` at the end of the stream.
    pub(super) fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.session.state();
        let event = state.router.poll_event(self.place, Instant::now(), cx);
        if event.is_ready() && !state.router.is_full() {
            wake(&mut state.writer);
        }
        event
    }

    pub(super) async fn event(&self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut state = self.session.state();
        let now = Instant::now();
        state.active = now;
        let cancelled = state.router.disconnected(self.place, now);
        state.cancel(&cancelled);
        if !state.router.is_full() {
            wake(&mut state.writer);
        }
    }
}

/// What the engine reads from the host.
struct HostReader {
    session: Arc<Session>,
}

impl ReadLines for HostReader {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        _framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        // What is over the limit was not let in.
        let mut state = self.session.state();
        state.has_begun = true;
        if let Some(Inbound { line, .. }) = state.inbound.pop_front() {
            return Poll::Ready(Some(Ok(Frame::Line(line))));
        }
        if state.host_left {
            return Poll::Ready(None);
        }
        sleep_in(&mut state.reader, cx);
        Poll::Pending
    }
}

/// What the engine says to the host.
struct HostWriter {
    session: Arc<Session>,
    let_go: Option<Box<dyn FnOnce() + Send>>,
}

impl WriteLines for HostWriter {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.session.state();
        if !state.router.is_full() || state.host_left {
            return Poll::Ready(Ok(()));
        }
        sleep_in(&mut state.writer, cx);
        Poll::Pending
    }

    fn send(&mut self, line: Line) {
        let mut state = self.session.state();
        state.has_begun = true;
        let told = state.router.deliver(&line, Instant::now());
        state.push_all(told);
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>, _closing: Closing) -> Poll<io::Result<()>> {
        self.session.over();
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.session.state();
        if state.host_left {
            return Poll::Ready(());
        }
        sleep_in(&mut state.gone, cx);
        Poll::Pending
    }
}

impl Session {
    /// The engine is done with it.
    fn over(&self) {
        let mut state = self.state();
        if state.is_over {
            return;
        }
        state.is_over = true;
        self.room.close();
        let why = match (state.host_left, state.has_begun) {
            (true, _) => ENDED,
            (false, true) => SERVER_ENDED,
            (false, false) => NEVER_BEGAN,
        };
        state.router.end(why, Instant::now());
        state.inbound.clear();
        state.wake_all();
    }
}

impl Drop for HostWriter {
    fn drop(&mut self) {
        self.session.over();
        if let Some(let_go) = self.let_go.take() {
            let_go();
        }
    }
}
