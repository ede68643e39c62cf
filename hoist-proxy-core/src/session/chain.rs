//! Running a request through the layers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::future::BoxFuture;
use tokio::time::{Instant, Sleep};

use super::core::{Core, Link};
use super::exchange_state::{Answer, ExchangeState};
use super::hold::HoldClock;
use super::send::{Forwarding, send_own};
use crate::{Breakage, Error, Next, Request, WhenBroken};

/// Where a layer hands its request on, and gets the answer from. Erases the lifetime of what runs
/// inside, so that [`Next`] has one lifetime only.
pub(crate) trait Slot: Send + Sync {
    /// The layer passes on the request it was called with.
    fn hand_on(&self, request: Request);
    /// Drives what is inside, and yields its answer.
    fn poll_answer(&self, cx: &mut Context<'_>) -> Poll<Answer>;
    /// A request of the layer's own starts.
    fn own_started(&self);
    /// A request of the layer's own is over.
    fn own_ended(&self);
}

/// A request on its way inward, and its answer on its way outward.
pub(crate) enum Running<'a> {
    /// Through a layer that acts on it; or a request of the proxy's own.
    Boxed(BoxFuture<'a, Answer>),
    /// Over the wire.
    Forwarding(Forwarding<'a>),
}

impl<'a> Running<'a> {
    pub(crate) fn boxed(self) -> BoxFuture<'a, Answer> {
        match self {
            Self::Boxed(run) => run,
            Self::Forwarding(mut run) => Box::pin(std::future::poll_fn(move |cx| run.poll(cx))),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        match self {
            Self::Boxed(run) => run.as_mut().poll(cx),
            Self::Forwarding(run) => run.poll(cx),
        }
    }
}

/// Passes a request to the next layer that acts on it, or to the wire.
pub(crate) fn proceed(
    core: &Core,
    exchange: Arc<ExchangeState>,
    mut position: usize,
    request: Request,
) -> Running<'_> {
    let direction = exchange.direction;
    while let Some(link) = core.link(direction, position) {
        position += 1;
        if link.acts.acts_on(direction, request.method()) {
            let progress = Progress::Untouched(request);
            let state = Mutex::new(InsideState { progress, waker: None, own: 0 });
            let inside = Inside { core, exchange, link, position, state };
            return Running::Boxed(Box::pin(async move { through(&inside).await }));
        }
    }
    if request.is_own() {
        return Running::Boxed(Box::pin(send_own(core, exchange, request)));
    }
    Running::Forwarding(Forwarding::new(core, exchange, request))
}

/// Runs a request through one layer, and through what is inside it; keeps what is inside alive
/// when the layer breaks.
async fn through(inside: &Inside<'_>) -> Answer {
    let Inside { core, exchange, link, position, .. } = inside;
    let mut layer = Holder {
        core,
        inside,
        call: None,
        clock: HoldClock::new(link.hold),
        timer: None,
        counted: false,
        broken: None,
    };
    if let Some(request) = inside.untouched() {
        let serial = request.serial.unwrap_or_default();
        let next =
            Next { core, exchange, slot: inside, serial, position: *position, layer: &link.name };
        match catch_unwind(AssertUnwindSafe(|| link.interceptor.call(request, next))) {
            Ok(call) => layer.call = Some(call),
            Err(_) => layer.break_off(Breakage::Panicked, None),
        }
    }
    std::future::poll_fn(|cx| layer.poll(cx)).await
}

/// What runs inside a layer.
struct Inside<'a> {
    core: &'a Core,
    exchange: Arc<ExchangeState>,
    link: &'a Link,
    position: usize,
    state: Mutex<InsideState<'a>>,
}

struct InsideState<'a> {
    progress: Progress<'a>,
    /// Who waits for the answer in the layer.
    waker: Option<Waker>,
    /// How many requests of the layer's own are in flight.
    own: usize,
}

/// How far the request has come inside the layer.
enum Progress<'a> {
    /// As the layer got it, until it hands it on.
    Untouched(Request),
    Running(Running<'a>),
    Answered(Answer),
    /// The answer, or the request that nobody handed on, has gone outward.
    Over,
}

impl<'a> Inside<'a> {
    fn state(&self) -> MutexGuard<'_, InsideState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, request: Request) {
        let running = proceed(self.core, Arc::clone(&self.exchange), self.position, request);
        self.state().progress = Progress::Running(running);
    }

    /// The request as the layer gets it.
    fn untouched(&self) -> Option<Request> {
        match &self.state().progress {
            Progress::Untouched(request) => Some(request.copy()),
            _ => None,
        }
    }

    /// Drives what runs inside; true when an answer has come.
    fn drive(&self, cx: &mut Context<'_>) -> bool {
        let mut state = self.state();
        let Progress::Running(running) = &mut state.progress else { return false };
        let Poll::Ready(answer) = running.poll(cx) else { return false };
        state.progress = Progress::Answered(answer);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        true
    }
}

impl Slot for Inside<'_> {
    fn hand_on(&self, request: Request) {
        self.start(request);
    }

    fn poll_answer(&self, cx: &mut Context<'_>) -> Poll<Answer> {
        self.drive(cx);
        let mut state = self.state();
        if let Progress::Answered(answer) = &state.progress {
            return Poll::Ready(answer.clone());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn own_started(&self) {
        self.state().own += 1;
    }

    fn own_ended(&self) {
        self.state().own -= 1;
    }
}

/// A layer at work on a request.
struct Holder<'a, 'i> {
    core: &'a Core,
    inside: &'i Inside<'a>,
    /// The layer's future; gone once it broke.
    call: Option<BoxFuture<'i, Answer>>,
    clock: HoldClock,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether this counts among the held exchanges.
    counted: bool,
    broken: Option<Error>,
}

impl Holder<'_, '_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        loop {
            if let Some(call) = &mut self.call {
                match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
                    Ok(Poll::Ready(Ok(mut response))) => {
                        response.passed_by(&self.inside.link.name);
                        return Poll::Ready(Ok(response));
                    }
                    Ok(Poll::Ready(Err(error))) => self.failed(error),
                    Ok(Poll::Pending) => {}
                    Err(_) => self.break_off(Breakage::Panicked, None),
                }
            }
            if self.inside.drive(cx) && self.call.is_some() {
                continue;
            }
            if self.call.is_none() {
                return self.poll_broken(cx);
            }
            if self.holds(cx) {
                return Poll::Pending;
            }
        }
    }

    /// The layer waits: runs its clock, counts it. False when that broke it.
    fn holds(&mut self, cx: &mut Context<'_>) -> bool {
        let (with_layer, own) = {
            let state = self.inside.state();
            (!matches!(state.progress, Progress::Running(_)), state.own)
        };
        if with_layer && !self.counted {
            if !self.core.start_hold(&self.inside.exchange) {
                self.break_off(Breakage::Crowded, None);
                return false;
            }
            self.counted = true;
        } else if !with_layer && self.counted {
            self.uncount();
        }
        if !self.clock.has_limit() {
            return true;
        }
        let now = Instant::now();
        self.clock.run(with_layer && (own == 0 || self.clock.counts_own_requests()), now);
        if let Some(limit) = self.clock.reached(now) {
            self.break_off(Breakage::HeldTooLong(limit), None);
            return false;
        }
        if let Some(deadline) = self.clock.deadline() {
            let timer =
                self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if timer.deadline() != deadline {
                timer.as_mut().reset(deadline);
            }
            if timer.as_mut().poll(cx).is_ready() {
                // Time has passed since `now` was read.
                return self.holds(cx);
            }
        }
        true
    }

    fn uncount(&mut self) {
        if std::mem::take(&mut self.counted) {
            self.core.end_hold(&self.inside.exchange);
        }
    }

    /// The layer returned an error: its own, or the one it got from inside.
    fn failed(&mut self, error: Error) {
        let from_inside = matches!(self.inside.state().progress, Progress::Answered(Err(_)));
        if from_inside || self.inside.exchange.is_cancelled() {
            self.drop_call();
            self.broken = Some(error);
        } else {
            let cause: crate::Cause = Arc::new(error);
            self.break_off(Breakage::Failed, Some(cause));
        }
    }

    fn break_off(&mut self, how: Breakage, source: Option<crate::Cause>) {
        self.drop_call();
        let layer = self.inside.link.name.to_string();
        let error = Error::LayerBroke { layer, how, source };
        let cause = std::error::Error::source(&error).map(|s| format!(": {s}")).unwrap_or_default();
        tracing::warn!("{error}{cause}");
        self.broken = Some(error);
    }

    /// Drops the layer's future, and with it the requests of its own. A layer may panic even
    /// then.
    fn drop_call(&mut self) {
        let call = self.call.take();
        if catch_unwind(AssertUnwindSafe(move || drop(call))).is_err() {
            tracing::warn!("layer {} panicked while it was dropped", self.inside.link.name);
        }
        self.uncount();
    }

    /// Without the layer: the answer from inside, now or when it comes; else what the layer
    /// declared.
    fn poll_broken(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        loop {
            self.inside.drive(cx);
            let mut state = self.inside.state();
            if matches!(state.progress, Progress::Running(_)) {
                return Poll::Pending;
            }
            let progress = std::mem::replace(&mut state.progress, Progress::Over);
            drop(state);
            let goes_on = self.inside.link.when_broken == WhenBroken::Pass
                && !self.inside.exchange.is_cancelled();
            match progress {
                Progress::Answered(answer) => return Poll::Ready(answer),
                Progress::Untouched(request) if goes_on => self.inside.start(request),
                _ => return Poll::Ready(Err(self.broken.take().unwrap_or(Error::Cancelled))),
            }
        }
    }
}

impl Drop for Holder<'_, '_> {
    fn drop(&mut self) {
        // Also when the exchange is dropped as a whole, no layer may take the session down.
        self.drop_call();
    }
}
