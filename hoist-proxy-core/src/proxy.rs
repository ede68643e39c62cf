//! The proxy: where hosts come from, how servers are reached, and the layers between.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, FutureExt, Shared};
use tokio::task::JoinSet;

use crate::session::{self, Core, Limits, Link, SessionSettings};
use crate::{
    Connection, Downstream, Ended, Error, Finish, Layer, SessionContext, SessionId, Upstream,
};

/// The longest message that must be held whole, by default: 64 MiB.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// The most exchanges one session holds at once.
pub const MAX_HELD: usize = 256;
/// The most exchanges of one session that are in flight through acting layers at once.
pub const MAX_EXCHANGES: usize = 16_384;

/// A proxy, put together.
///
/// Layers are listed outermost first: the first one is next to the host, and sees a request before
/// the others and its response after them.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::testkit;
/// use hoist_proxy_core::{Acts, Direction, Proxy, interceptor_fn, layer_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let named = |name: &'static str| {
///     layer_fn(move |_session| {
///         let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
///         Ok(Box::new(interceptor_fn(name, acts, move |request, next| {
///             Box::pin(async move {
///                 println!("{name}: request");
///                 let response = next.run(request).await;
///                 println!("{name}: response");
///                 response
///             })
///         })))
///     })
/// };
/// let (mut host, downstream) = testkit::host();
/// let (mut server, upstream) = testkit::server();
/// let proxy = Proxy::new(downstream, upstream).layer(named("outer")).layer(named("inner"));
/// let running = tokio::spawn(proxy.run(std::future::pending()));
///
/// host.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#).await;
/// server.expect(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#).await;
/// server.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
/// // Printed by now: outer: request, inner: request, inner: response, outer: response.
/// host.expect(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
/// # drop((host, server));
/// # running.await.unwrap().unwrap().into_last().unwrap();
/// # }
/// ```
#[must_use = "a proxy does nothing until it is run"]
pub struct Proxy<D, U> {
    downstream: D,
    upstream: U,
    layers: Vec<Box<dyn Layer>>,
    limits: Limits,
    end_grace: Duration,
    name_session: Box<dyn Fn(u64) -> SessionId + Send + Sync>,
    on_session: OnSession,
}

type OnSession = Box<dyn Fn(SessionEvent<'_>) + Send + Sync>;

/// What becomes of a session, as [`Proxy::on_session`] is told.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEvent<'a> {
    /// The server is reached, and messages can cross.
    Began {
        /// The session.
        session: &'a SessionContext,
    },
    /// The session is over, and its layers have finished.
    Ended {
        /// The session.
        session: &'a SessionContext,
        /// How the server ended.
        ended: Ended,
    },
    /// The session could not begin.
    Failed {
        /// The session.
        session: &'a SessionContext,
        /// Why.
        error: &'a Error,
    },
}

/// What a proxy did until it ended.
///
/// A session that could not begin is no error of [`Proxy::run`], since others may have run: look
/// at [`last`](Self::last), or take [`into_last`](Self::into_last) where there is one session only.
#[derive(Debug, Default)]
#[must_use = "a session that could not begin is told of here only"]
#[non_exhaustive]
pub struct Report {
    /// How many sessions ran to their end.
    pub ended: u64,
    /// How many sessions could not begin.
    pub failed: u64,
    /// How the session that ended last ended: for stdio, the only one.
    pub last: Option<Result<Ended, Error>>,
}

impl<D: Downstream, U: Upstream + 'static> Proxy<D, U> {
    /// A proxy between the hosts of `downstream` and the server `upstream` reaches.
    pub fn new(downstream: D, upstream: U) -> Self {
        let process = std::process::id();
        Self {
            downstream,
            upstream,
            layers: Vec::new(),
            limits: Limits {
                max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
                max_held: MAX_HELD,
                max_exchanges: MAX_EXCHANGES,
            },
            end_grace: Duration::from_secs(5),
            name_session: Box::new(move |number| {
                SessionId::at(SystemTime::now(), process, Some(number))
            }),
            on_session: Box::new(|_| {}),
        }
    }

    /// Adds a layer inside those added before.
    pub fn layer(mut self, layer: impl Layer + 'static) -> Self {
        self.layers.push(Box::new(layer));
        self
    }

    /// The longest message, in bytes, that is held whole: in a session with a layer that acts, or
    /// for a transport that cannot send a message in parts. One that is longer is answered with
    /// an error. A passive session forwards it all the same, and an observer learns its length
    /// only.
    pub fn max_message_bytes(mut self, max_bytes: usize) -> Self {
        self.limits.max_message_bytes = max_bytes.max(1024);
        self
    }

    /// How long the end of a session waits for a layer that holds and, after a shutdown, for a
    /// host that does not read. 5 seconds by default.
    pub fn end_grace(mut self, grace: Duration) -> Self {
        self.end_grace = grace;
        self
    }

    /// Names each session, given its number from 1 on. By default [`SessionId::at`] with the
    /// process id and the number.
    pub fn session_names(
        mut self,
        name: impl Fn(u64) -> SessionId + Send + Sync + 'static,
    ) -> Self {
        self.name_session = Box::new(name);
        self
    }

    /// Tells of each session's beginning and end, from the session's own task.
    pub fn on_session(mut self, tell: impl Fn(SessionEvent<'_>) + Send + Sync + 'static) -> Self {
        self.on_session = Box::new(tell);
        self
    }

    /// Serves hosts until no more come and every session has ended. Each session is one task.
    ///
    /// Once `shutdown` is ready no more hosts are accepted, and the sessions are ended: the
    /// servers' input is closed, and what they still write within their transport's grace time is
    /// forwarded.
    ///
    /// # Errors
    ///
    /// When `downstream` fails. A session that cannot begin is told of in the [`Report`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops every session: layers are not told of the end, and connections
    /// are dropped.
    pub async fn run(
        mut self,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Report, Error> {
        let shutdown: Shared<BoxFuture<'static, ()>> = shutdown.boxed().shared();
        let parts = Arc::new(Parts {
            upstream: self.upstream,
            layers: self.layers,
            limits: self.limits,
            end_grace: self.end_grace,
            on_session: self.on_session,
        });
        let mut report = Report::default();
        let mut sessions = JoinSet::new();
        let mut number = 0;
        let mut stopping = shutdown.clone();
        let outcome = loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stopping => break Ok(()),
                Some(ended) = sessions.join_next(), if !sessions.is_empty() => {
                    report.add(ended);
                    continue;
                }
                accepted = self.downstream.accept() => accepted,
            };
            match accepted {
                Ok(Some(host)) => {
                    number += 1;
                    let context = SessionContext::new((self.name_session)(number));
                    let context = context.of_host(host.host.clone());
                    let (parts, shutdown) = (Arc::clone(&parts), shutdown.clone());
                    sessions.spawn(async move { parts.session(host, context, shutdown).await });
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // From here on no host can come: whoever still tries must not wait in vain.
        drop(self.downstream);
        while let Some(ended) = sessions.join_next().await {
            report.add(ended);
        }
        outcome.map(|()| report)
    }
}

/// What every session of a proxy shares.
struct Parts<U> {
    upstream: U,
    layers: Vec<Box<dyn Layer>>,
    limits: Limits,
    end_grace: Duration,
    on_session: OnSession,
}

impl<U: Upstream> Parts<U> {
    async fn session(
        &self,
        host: Connection,
        context: SessionContext,
        shutdown: Shared<BoxFuture<'static, ()>>,
    ) -> Result<Ended, Error> {
        let mut chain = Vec::with_capacity(self.layers.len());
        let mut failed = None;
        for layer in &self.layers {
            match layer.layer(&context) {
                Ok(interceptor) => chain.push(Link::new(interceptor)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let core = Core::new(chain, self.limits);
        let connected = match failed {
            Some(error) => Err(error),
            None => self.upstream.connect(&context).await,
        };
        let server = match connected {
            Ok(server) => server,
            Err(error) => {
                finish(&core, Finish::NeverBegan).await;
                (self.on_session)(SessionEvent::Failed { session: &context, error: &error });
                return Err(error);
            }
        };
        (self.on_session)(SessionEvent::Began { session: &context });
        let settings = SessionSettings { end_grace: self.end_grace, shutdown: shutdown.boxed() };
        let ended = session::run(&core, host, server, settings).await;
        finish(&core, Finish::Ended).await;
        (self.on_session)(SessionEvent::Ended { session: &context, ended });
        Ok(ended)
    }
}

/// Tells the layers, outermost first, that the session is over.
async fn finish(core: &Core, finish: Finish) {
    for link in &core.chain {
        let finishing =
            std::panic::AssertUnwindSafe(async { link.interceptor.finish(finish).await });
        if finishing.catch_unwind().await.is_err() {
            tracing::error!("layer {} panicked while it finished", link.name);
        }
    }
}

impl Report {
    /// How the session that ended last ended: for stdio, the only one. A proxy that was told to
    /// stop before any host came ended well.
    ///
    /// # Errors
    ///
    /// Why that session could not begin.
    pub fn into_last(self) -> Result<Ended, Error> {
        self.last.unwrap_or_else(|| Ok(Ended::default()))
    }

    fn add(&mut self, ended: Result<Result<Ended, Error>, tokio::task::JoinError>) {
        let ended = ended.unwrap_or_else(|error| {
            tracing::error!("a session broke: {error}");
            Err(Error::other(error))
        });
        match &ended {
            Ok(_) => self.ended += 1,
            Err(_) => self.failed += 1,
        }
        self.last = Some(ended);
    }
}

impl<D, U> fmt::Debug for Proxy<D, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}
