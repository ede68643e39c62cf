//! Posts what the host sends, in order, for as long as the session lasts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{AbortHandle, Abortable, BoxFuture, FutureExt as _};
use futures::stream::FuturesUnordered;
use hoist_proxy_core::{Line, RequestId};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::exchange::exchange;
use super::post::{Post, PostKind};
use super::shared::Shared;

/// Once the host has nothing more to say, a server that is silent for so long is waited for no
/// longer.
const QUIET: Duration = Duration::from_secs(60);

/// What follows a message that is not answered waits until the server has taken it, so that it
/// arrives first; but no longer than this.
const TAKEN: Duration = Duration::from_secs(10);

/// How many lines wait behind one that must arrive first, before no more are read.
const MAX_WAITING: usize = 64;

/// The work of one session.
pub(super) struct Driver {
    pub(super) shared: Arc<Shared>,
    pub(super) from_host: mpsc::Receiver<Line>,
    /// Turns true once the session must end soon.
    pub(super) urgent: watch::Receiver<bool>,
    running: FuturesUnordered<BoxFuture<'static, u64>>,
    /// The exchanges that run, by number.
    exchanges: HashMap<u64, Exchange>,
    /// Which of them each request belongs to.
    requests: HashMap<RequestId, u64>,
    /// Whether the server is listened to for what it says on its own.
    listens: bool,
    next: u64,
    /// The exchange that must be over before another begins.
    first: Option<First>,
    waiting: VecDeque<Post>,
}

struct Exchange {
    kind: PostKind,
    ids: Vec<RequestId>,
    is_modern: bool,
    cancelled: Arc<AtomicBool>,
    abort: AbortHandle,
}

#[derive(Clone, Copy)]
struct First {
    exchange: u64,
    until: Option<Instant>,
}

impl Driver {
    pub(super) fn new(
        shared: Arc<Shared>,
        from_host: mpsc::Receiver<Line>,
        urgent: watch::Receiver<bool>,
    ) -> Self {
        Self {
            shared,
            from_host,
            urgent,
            running: FuturesUnordered::new(),
            exchanges: HashMap::new(),
            requests: HashMap::new(),
            listens: false,
            next: 0,
            first: None,
            waiting: VecDeque::new(),
        }
    }

    /// Runs until the host has no more to say and every request is answered, or until it must end.
    pub(super) async fn run(mut self) {
        let mut host_is_done = false;
        loop {
            if host_is_done && !self.awaits_answers() {
                break;
            }
            let quiet = host_is_done.then(|| self.shared.heard() + QUIET);
            let until = self.first.and_then(|first| first.until);
            let may_read = !host_is_done && self.waiting.len() < MAX_WAITING;
            tokio::select! {
                biased;
                () = told(&mut self.urgent) => break,
                Some(exchange) = self.running.next() => self.over(exchange),
                line = self.from_host.recv(), if may_read => match line {
                    Some(line) => self.take(&line),
                    None => host_is_done = true,
                },
                () = at(until), if until.is_some() => self.go_on(),
                () = at(quiet), if quiet.is_some() => {
                    if self.shared.heard() + QUIET <= Instant::now() {
                        tracing::warn!("the server has been silent for {} s; what it has not \
                                        answered is given up", QUIET.as_secs());
                        break;
                    }
                }
            }
        }
        // Dropped, the streams that are open are closed.
        self.running.clear();
        self.shared.delete().await;
    }

    fn awaits_answers(&self) -> bool {
        !self.waiting.is_empty()
            || self.exchanges.values().any(|exchange| {
                exchange.kind != PostKind::Listen && !exchange.cancelled.load(Ordering::Relaxed)
            })
    }

    /// Takes a line of the host's.
    fn take(&mut self, line: &Line) {
        let Some(post) = Post::of(line) else { return };
        // The server may wait for an answer before it goes on with what must come first.
        if self.first.is_some() && post.kind != PostKind::Answer {
            self.waiting.push_back(post);
        } else {
            self.begin(post);
        }
    }

    fn begin(&mut self, post: Post) {
        if post.kind == PostKind::Cancelled
            && let Some(number) = post.cancelled().and_then(|id| self.requests.remove(&id))
            && let Some(exchange) = self.exchanges.get(&number)
        {
            exchange.cancelled.store(true, Ordering::Relaxed);
            if exchange.is_modern {
                // In the modern era a request is cancelled by closing its stream.
                exchange.abort.abort();
                return;
            }
        }
        let number = self.next;
        self.next += 1;
        if post.kind == PostKind::Initialize {
            self.first = Some(First { exchange: number, until: None });
        } else if post.is_one_way() && post.kind != PostKind::Answer {
            let until = Some(Instant::now() + TAKEN);
            self.first = Some(First { exchange: number, until });
        }
        self.requests.extend(post.ids.iter().map(|id| (id.clone(), number)));
        let (abort, registration) = AbortHandle::new_pair();
        let cancelled = Arc::new(AtomicBool::new(false));
        let begun = Exchange {
            kind: post.kind,
            ids: post.ids.clone(),
            is_modern: post.is_modern(),
            cancelled: Arc::clone(&cancelled),
            abort,
        };
        self.exchanges.insert(number, begun);
        let shared = Arc::clone(&self.shared);
        let work = async move {
            let ends_handshake = post.kind == PostKind::Initialized;
            let handshake = ends_handshake.then(|| post.clone());
            exchange(Arc::clone(&shared), post, cancelled).await;
            if let Some(post) = handshake {
                shared.handshake_is_over(&post);
            }
        };
        self.running.push(Abortable::new(work, registration).map(move |_| number).boxed());
    }

    /// An exchange is over.
    fn over(&mut self, number: u64) {
        let Some(exchange) = self.exchanges.remove(&number) else { return };
        for id in &exchange.ids {
            if self.requests.get(id) == Some(&number) {
                self.requests.remove(id);
            }
        }
        if exchange.kind == PostKind::Initialized && !self.listens {
            // From now on the server may speak on its own.
            self.listens = true;
            let stream = Arc::clone(&self.shared).standing_stream();
            self.running.push(stream.map(|()| u64::MAX).boxed());
        }
        if self.first.is_some_and(|first| first.exchange == number) {
            self.go_on();
        }
    }

    /// What had to come first has arrived.
    fn go_on(&mut self) {
        self.first = None;
        while self.first.is_none()
            && let Some(post) = self.waiting.pop_front()
        {
            self.begin(post);
        }
    }
}

async fn told(urgent: &mut watch::Receiver<bool>) {
    if urgent.wait_for(|urgent| *urgent).await.is_err() {
        // Nobody is left who could say so: whoever held the connection dropped it.
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
