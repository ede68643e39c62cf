//! What is known of one exchange.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::task::AtomicWaker;

use crate::era::{modern_version, names};
use crate::{Direction, Era, Error, RawJson, Request, RequestId, Response};

/// What comes of a request.
pub(crate) type Answer = Result<Response, Error>;

/// What is known of one exchange, shared between its layers and the session.
pub(crate) struct ExchangeState {
    pub(crate) number: u64,
    pub(crate) direction: Direction,
    pub(crate) in_batch: bool,
    /// The request's params as they came, for the era, the version and the capabilities.
    params: Option<RawJson>,
    pub(crate) method: Cow<'static, str>,
    /// How many layers hold it: those around a held request of a layer's own count too.
    pub(super) holding: AtomicUsize,
    changing: Mutex<Changing>,
    /// The exchange is to be dropped as it is.
    aborted: AtomicBool,
    /// Who drops it.
    work: AtomicWaker,
}

struct Changing {
    /// The id the requester waits under: a modern retry gives the exchange a new one.
    id: RequestId,
    /// The host was asked something in answer to that id, and has not retried yet: nobody waits.
    asking: bool,
    primary: Primary,
    /// The answer to the peer's request, until it is taken.
    answer: Option<Answer>,
    /// Who waits for that answer.
    awaiting: Option<Waker>,
    cancelled: bool,
    told: bool,
    /// The layers that wait for a cancellation.
    wakers: Vec<Waker>,
}

/// Where the peer's request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primary {
    NotSent,
    Sent,
    Answered,
}

impl ExchangeState {
    pub(crate) fn new(
        number: u64,
        direction: Direction,
        request: &Request,
        id: RequestId,
        in_batch: bool,
    ) -> Self {
        Self {
            number,
            direction,
            in_batch,
            params: request.params().cloned(),
            method: request.method.clone(),
            holding: AtomicUsize::new(0),
            changing: Mutex::new(Changing {
                id,
                asking: false,
                primary: Primary::NotSent,
                answer: None,
                awaiting: None,
                cancelled: false,
                told: false,
                wakers: Vec::new(),
            }),
            aborted: AtomicBool::new(false),
            work: AtomicWaker::new(),
        }
    }

    fn changing(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn era(&self) -> Era {
        if self.modern_version().is_some() { Era::Modern } else { Era::Legacy }
    }

    pub(crate) fn modern_version(&self) -> Option<String> {
        modern_version(self.params.as_ref())
    }

    /// The request's own `_meta`.
    pub(crate) fn meta(&self) -> Option<RawJson> {
        self.params.as_ref()?.get(names::META)
    }

    pub(crate) fn id(&self) -> RequestId {
        self.with_id(RequestId::clone)
    }

    pub(crate) fn with_id<T>(&self, look: impl FnOnce(&RequestId) -> T) -> T {
        look(&self.changing().id)
    }

    /// The request was answered with a question.
    pub(crate) fn ask(&self) {
        self.changing().asking = true;
    }

    /// The requester waits again, under another id.
    pub(crate) fn resume(&self, id: RequestId) {
        let mut changing = self.changing();
        changing.id = id;
        changing.asking = false;
    }

    /// Whether the requester waits for an answer under this id.
    pub(crate) fn is_awaited_as(&self, id: &RequestId) -> bool {
        let changing = self.changing();
        !changing.asking && !changing.cancelled && changing.id == *id
    }

    pub(crate) fn primary(&self) -> Primary {
        self.changing().primary
    }

    pub(crate) fn set_primary(&self, primary: Primary) {
        self.changing().primary = primary;
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.changing().cancelled
    }

    /// Marks the exchange cancelled and wakes who waits for that.
    pub(crate) fn cancel(&self) {
        let (wakers, awaiting) = {
            let mut changing = self.changing();
            changing.cancelled = true;
            (std::mem::take(&mut changing.wakers), changing.awaiting.take())
        };
        for waker in wakers.into_iter().chain(awaiting) {
            waker.wake();
        }
    }

    /// Has the exchange dropped, at its next turn.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
        self.work.wake();
    }

    /// Ready once the exchange is to be dropped.
    pub(crate) fn poll_aborted(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.work.register(cx.waker());
        if self.aborted.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The peer's request is answered.
    pub(crate) fn give_answer(&self, answer: Answer) {
        let awaiting = {
            let mut changing = self.changing();
            changing.answer = Some(answer);
            changing.awaiting.take()
        };
        if let Some(waker) = awaiting {
            waker.wake();
        }
    }

    /// Waits for the answer to the peer's request; a cancelled one may never be answered.
    pub(crate) fn poll_answer(&self, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut changing = self.changing();
        if let Some(answer) = changing.answer.take() {
            return Poll::Ready(answer);
        }
        if changing.cancelled {
            return Poll::Ready(Err(Error::Cancelled));
        }
        if !changing.awaiting.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            changing.awaiting = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(crate) fn be_told_of_cancel(&self) {
        self.changing().told = true;
    }

    /// Whether a layer asked to be told of a cancellation rather than be dropped.
    pub(crate) fn is_told_of_cancel(&self) -> bool {
        self.changing().told
    }

    pub(crate) fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut changing = self.changing();
        if changing.cancelled {
            return Poll::Ready(());
        }
        if !changing.wakers.iter().any(|w| w.will_wake(cx.waker())) {
            changing.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
