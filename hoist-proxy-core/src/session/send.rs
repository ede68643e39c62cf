//! The innermost step: a request leaves on the wire, and its answer is waited for.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::core::{Core, State, Waiter};
use super::exchange_state::{Answer, ExchangeState, Primary};
use crate::era::names;
use crate::exchange::{ENGINE, Source};
use crate::json::{message_set, object_remove, object_set};
use crate::{Direction, Era, Error, Line, RawJson, Request, RequestId};

/// The peer's request on its way to the other side, and its answer on its way back.
///
/// Not an `async` function: every exchange has one, and so it needs no memory of its own.
pub(crate) struct Forwarding<'a> {
    core: &'a Core,
    exchange: Arc<ExchangeState>,
    stage: Stage<'a>,
}

enum Stage<'a> {
    Waiting(Request),
    Sent(Sent<'a>),
    Over,
}

impl<'a> Forwarding<'a> {
    pub(crate) fn new(core: &'a Core, exchange: Arc<ExchangeState>, request: Request) -> Self {
        Self { core, exchange, stage: Stage::Waiting(request) }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        if matches!(self.stage, Stage::Waiting(_)) {
            ready!(self.poll_may_leave(cx));
            if let Stage::Waiting(request) = std::mem::replace(&mut self.stage, Stage::Over)
                && !self.exchange.is_cancelled()
            {
                let waiter = Waiter::Exchange(Arc::clone(&self.exchange));
                self.stage = Stage::Sent(leave(self.core, &self.exchange, request, waiter)?);
            }
        }
        let Stage::Sent(sent) = &mut self.stage else { return Poll::Ready(Err(Error::Cancelled)) };
        let answer = ready!(self.exchange.poll_answer(cx));
        if !matches!(answer, Err(Error::Cancelled)) {
            sent.answered = true;
            self.exchange.set_primary(Primary::Answered);
        }
        self.stage = Stage::Over;
        Poll::Ready(answer)
    }

    /// A request of the proxy's own may be in flight under the id the peer chose.
    fn poll_may_leave(&self, cx: &mut Context<'_>) -> Poll<()> {
        let (exchange, direction) = (&self.exchange, self.exchange.direction);
        self.core.poll_until(cx, |state| {
            let may = exchange.is_cancelled()
                || !exchange.with_id(|id| state.ledger.is_taken_by_own(direction, id));
            may.then_some(())
        })
    }
}

/// Sends a request of the proxy's own and waits for its answer.
pub(crate) async fn send_own(
    core: &Core,
    exchange: Arc<ExchangeState>,
    request: Request,
) -> Answer {
    ready_for_own(core, &exchange).await?;
    room_for_own(core, exchange.direction).await;
    if exchange.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let (waiter, answer) = oneshot::channel();
    let mut sent = leave(core, &exchange, request, Waiter::Own(waiter))?;
    // What a layer began is awaited, even if the peer has cancelled.
    let answer = answer.await.unwrap_or(Err(Error::Closed { direction: exchange.direction }));
    sent.answered = !matches!(answer, Err(Error::Cancelled));
    answer
}

/// A request that left and is not answered yet. Dropping it tells the other side, where that is
/// the proxy's to tell.
struct Sent<'a> {
    core: &'a Core,
    exchange: Arc<ExchangeState>,
    id: RequestId,
    serial: u64,
    own: bool,
    made_by: Option<Arc<str>>,
    answered: bool,
}

fn leave<'a>(
    core: &'a Core,
    exchange: &Arc<ExchangeState>,
    request: Request,
    waiter: Waiter,
) -> Result<Sent<'a>, Error> {
    let direction = exchange.direction;
    let serial = request.serial.unwrap_or_default();
    let own = request.is_own();
    let made_by = request.made_by.clone();
    let (id, line, made) = {
        let mut state = core.state();
        // A host that has closed its end may read on: what the server asks still reaches it.
        if state.is_closed(direction) && (own || direction == Direction::ToServer) {
            return Err(Error::Closed { direction });
        }
        let (id, line, made) = match request.source {
            Source::Own => {
                let id = state.ledger.issue(direction);
                let params = own_params(exchange, request.params);
                (id.clone(), own_line(&id, &request.method, params.as_ref()), true)
            }
            Source::Peer { line, id } => {
                if exchange.with_id(|now| *now == id) {
                    (id, line, request.changed)
                } else {
                    // A modern retry: the exchange goes on under the id the host waits under now.
                    let now = exchange.id();
                    let body = message_set(line.body(), "id", now.raw().as_bytes());
                    (now, line.with_body(&body), true)
                }
            }
        };
        if !state.is_closed(direction) {
            state.ledger.send(direction, &id, serial, waiter);
        }
        (id.detached(), line, made)
    };
    if !own {
        exchange.set_primary(Primary::Sent);
    }
    if made {
        core.observe_own(made_by.as_deref().unwrap_or(ENGINE), &line);
    }
    let mut state = core.state();
    state.handshake.forwarded_any |= direction == Direction::ToServer;
    if own {
        state.push_own(direction, line);
    } else {
        state.push(direction, line);
    }
    let closed = state.is_closed(direction);
    drop(state);
    if closed {
        // Nobody is left to answer it.
        return Err(Error::Closed { direction });
    }
    let exchange = Arc::clone(exchange);
    Ok(Sent { core, exchange, id, serial, own, made_by, answered: false })
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if self.answered {
            self.wake_waiting();
            return;
        }
        let direction = self.exchange.direction;
        let cancelled_by_peer = !self.own && self.exchange.is_cancelled();
        let mut state = self.core.state();
        if cancelled_by_peer {
            // The peer's own cancellation has gone on; a late answer passes.
            state.ledger.forget(direction, &self.id, self.serial);
            drop(state);
            self.wake_waiting();
            return;
        }
        state.ledger.abandon(direction, &self.id, self.serial);
        let closed = state.is_closed(direction);
        drop(state);
        if !closed {
            let made_by = self.made_by.as_deref().unwrap_or(ENGINE);
            self.core.send_own(direction, made_by, cancelled_line(&self.id));
        }
        self.wake_waiting();
    }
}

impl Sent<'_> {
    /// A request may wait for the id, where both the proxy and a peer use such ids.
    fn wake_waiting(&self) {
        if self.id.own_number().is_some() {
            self.core.wake_waiting();
        }
    }
}

impl State {
    pub(crate) fn is_closed(&self, direction: Direction) -> bool {
        match direction {
            Direction::ToServer => self.server_closed,
            Direction::ToHost => self.host_closed,
        }
    }
}

/// Waits until the session is open for requests of the proxy's own.
pub(crate) async fn ready_for_own(core: &Core, exchange: &ExchangeState) -> Result<(), Error> {
    if exchange.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let direction = exchange.direction;
    let era = exchange.era();
    core.wait_until(|state| {
        if state.is_closed(direction) {
            return Some(Err(Error::Closed { direction }));
        }
        let handshake = &state.handshake;
        match era {
            Era::Modern if handshake.forwarded_any => Some(Ok(())),
            Era::Legacy if handshake.initialized => Some(Ok(())),
            // The handshake is under way: its end is near, unless the host has gone away.
            Era::Legacy if handshake.initializing && !state.host_closed => None,
            Era::Modern | Era::Legacy => Some(Err(Error::TooEarly)),
        }
    })
    .await
}

/// Waits until there is room for another request of the proxy's own.
async fn room_for_own(core: &Core, direction: Direction) {
    core.wait_until(|state| {
        (state.is_closed(direction) || state.admits_own(direction)).then_some(())
    })
    .await;
}

/// The params of an own request, with the `_meta` its era asks for.
fn own_params(exchange: &ExchangeState, params: Option<RawJson>) -> Option<RawJson> {
    let version = exchange.modern_version();
    if params.is_none() && version.is_none() {
        return None;
    }
    let params = params.unwrap_or_else(empty_object);
    if !params.is_object() {
        return Some(params);
    }
    let given = params.get(names::META).map(|m| object_remove(&m, names::PROGRESS_TOKEN));
    let Some(version) = version else {
        return Some(match given {
            Some(meta) => object_set(&params, names::META, &meta),
            None => params,
        });
    };
    let mut meta = given.unwrap_or_else(empty_object);
    let mut add = |key: &str, value: &RawJson| {
        if meta.get(key).is_none() {
            meta = object_set(&meta, key, value);
        }
    };
    add(names::PROTOCOL_VERSION, &RawJson::string(&version));
    if let Some(info) = exchange.meta().and_then(|m| m.get(names::CLIENT_INFO)) {
        add(names::CLIENT_INFO, &info);
    }
    add(names::CLIENT_CAPABILITIES, &empty_object());
    Some(object_set(&params, names::META, &meta))
}

fn empty_object() -> RawJson {
    RawJson::checked(bytes::Bytes::from_static(b"{}"))
}

/// The line of a request the proxy makes.
pub(crate) fn own_line(id: &RequestId, method: &str, params: Option<&RawJson>) -> Line {
    let method = RawJson::string(method);
    let params = params.map(|p| format!(r#","params":{p}"#)).unwrap_or_default();
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"method":{method}{params}}}"#, id.raw());
    Line::from_body(body.as_bytes())
}

/// Tells the other side that request `id` is not waited for any more.
pub(crate) fn cancelled_line(id: &RequestId) -> Line {
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"{}","params":{{"requestId":{}}}}}"#,
        names::CANCELLED,
        id.raw()
    );
    Line::from_body(body.as_bytes())
}
