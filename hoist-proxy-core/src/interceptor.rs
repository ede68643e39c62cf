//! Code around what crosses a session.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::json::RawJson;
use crate::{Error, Line, Message, Next, Request, Response, Terminator};

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// From the host to the server.
    ToServer,
    /// From the server to the host.
    ToHost,
}

impl Direction {
    /// The other way.
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Self::ToServer => Self::ToHost,
            Self::ToHost => Self::ToServer,
        }
    }

    /// Who gets it, in words.
    pub(crate) fn receiver(self) -> &'static str {
        match self {
            Self::ToServer => "server",
            Self::ToHost => "host",
        }
    }
}

/// Where a crossing came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Side {
    /// The host wrote it.
    Client,
    /// The server wrote it.
    Server,
    /// The proxy made it: a request of its own, an answer it gave or changed.
    Proxy,
    /// An interceptor emitted it; it crosses no wire.
    Context,
}

/// One line with its side, who made it, and the time it was read.
#[derive(Debug, Clone, Copy)]
pub struct Crossing<'a> {
    pub(crate) side: Side,
    pub(crate) made_by: Option<&'a str>,
    pub(crate) read_at: Instant,
    pub(crate) body: Body<'a>,
    pub(crate) message: Option<&'a Message>,
}

/// The bytes of a crossing.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Body<'a> {
    /// A whole line.
    Line(&'a Line),
    /// A line that was passed on in parts as it came: its bytes without the terminator.
    Parts {
        /// The line's bytes, in order.
        chunks: &'a [Bytes],
        /// How the line ended.
        terminator: Terminator,
    },
    /// A line that was longer than the message limit, so its bytes were not kept.
    Lost {
        /// Its length in bytes, with its terminator.
        len_bytes: u64,
    },
}

impl<'a> Crossing<'a> {
    /// A crossing of a whole line, for tests of interceptors.
    pub fn new(side: Side, line: &'a Line, read_at: Instant) -> Self {
        Self { side, made_by: None, read_at, body: Body::Line(line), message: None }
    }

    /// The same crossing with another body, for tests of interceptors.
    #[must_use]
    pub fn with_body(self, body: Body<'a>) -> Self {
        Self { body, ..self }
    }

    /// The same crossing, made by a layer of this name.
    #[must_use]
    pub fn with_made_by(self, layer: &'a str) -> Self {
        Self { made_by: Some(layer), ..self }
    }

    /// Where it came from.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The name of the layer that made it, when the proxy did: `"proxy"` for the engine itself.
    pub fn made_by(&self) -> Option<&'a str> {
        self.made_by
    }

    /// When the proxy read it, or made it.
    pub fn read_at(&self) -> Instant {
        self.read_at
    }

    /// Its bytes.
    pub fn body(&self) -> Body<'a> {
        self.body
    }

    /// Its bytes without the terminator, joined if they came in parts; `None` when they were not
    /// kept.
    pub fn bytes(&self) -> Option<Cow<'a, [u8]>> {
        match self.body {
            Body::Line(line) => Some(Cow::Borrowed(line.body())),
            Body::Parts { chunks, .. } => Some(Cow::Owned(chunks.concat())),
            Body::Lost { .. } => None,
        }
    }

    /// Its JSON-RPC view, where the engine has read one; it does so only when some layer acts.
    pub fn message(&self) -> Option<&'a Message> {
        self.message
    }
}

/// Takes the crossings an interceptor emits while it observes one.
#[derive(Debug, Default)]
pub struct Emit {
    pub(crate) lines: Vec<Line>,
}

impl Emit {
    /// A place to emit to, for tests of interceptors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Emits a line of context. The layers inside this one observe it before the crossing at
    /// hand; it crosses no wire.
    pub fn context(&mut self, value: &RawJson) {
        self.lines.push(Line::from_body(value.as_bytes()));
    }

    /// What was emitted, for tests of interceptors.
    pub fn into_lines(self) -> Vec<Line> {
        self.lines
    }
}

/// What an interceptor acts on. Declared once, at the start of a session, so that what nobody
/// acts on takes the fast path: when nobody acts at all, the engine reads no JSON.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Acts, Direction};
///
/// let acts = Acts::nothing().on(Direction::ToServer, "tools/call").refusing_ambiguous();
/// assert!(acts.acts_on(Direction::ToServer, "tools/call"));
/// assert!(!acts.acts_on(Direction::ToServer, "tools/list"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Acts {
    to_server: Methods,
    to_host: Methods,
    notifications: bool,
    refuses_ambiguous: bool,
}

#[derive(Debug, Clone, Default)]
enum Methods {
    #[default]
    None,
    These(Vec<Cow<'static, str>>),
    All,
}

impl Methods {
    fn has(&self, method: &str) -> bool {
        match self {
            Self::None => false,
            Self::These(methods) => methods.iter().any(|m| m == method),
            Self::All => true,
        }
    }

    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl Acts {
    /// Only observes.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Also handles requests of this method that go this way.
    #[must_use]
    pub fn on(mut self, direction: Direction, method: impl Into<Cow<'static, str>>) -> Self {
        match self.methods_mut(direction) {
            Methods::All => {}
            Methods::These(methods) => methods.push(method.into()),
            none @ Methods::None => *none = Methods::These(vec![method.into()]),
        }
        self
    }

    /// Also handles every request that goes this way.
    #[must_use]
    pub fn on_every(mut self, direction: Direction) -> Self {
        *self.methods_mut(direction) = Methods::All;
        self
    }

    /// Also gives a verdict on notifications.
    #[must_use]
    pub fn on_notifications(mut self) -> Self {
        self.notifications = true;
        self
    }

    /// Also wants no message from the host that the server might read in another way than the
    /// layers do: repeated keys, keys of another letter case, no valid JSON. The engine refuses
    /// those with a JSON-RPC error.
    #[must_use]
    pub fn refusing_ambiguous(mut self) -> Self {
        self.refuses_ambiguous = true;
        self
    }

    /// Whether requests of this method that go this way are handled.
    pub fn acts_on(&self, direction: Direction, method: &str) -> bool {
        match direction {
            Direction::ToServer => self.to_server.has(method),
            Direction::ToHost => self.to_host.has(method),
        }
    }

    /// Whether notifications are judged.
    pub fn judges_notifications(&self) -> bool {
        self.notifications
    }

    /// Whether ambiguous messages from the host are refused.
    pub fn refuses_ambiguous(&self) -> bool {
        self.refuses_ambiguous
    }

    /// Whether nothing is acted on.
    pub fn is_nothing(&self) -> bool {
        self.to_server.is_none()
            && self.to_host.is_none()
            && !self.notifications
            && !self.refuses_ambiguous
    }

    fn methods_mut(&mut self, direction: Direction) -> &mut Methods {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToHost => &mut self.to_host,
        }
    }
}

/// How long a layer may hold an exchange.
///
/// The clock runs while the request is with the layer and not inside [`Next::run`]: before it is
/// passed on, and after its answer came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub(crate) limit: Duration,
    pub(crate) counts_own_requests: bool,
}

impl Hold {
    /// At most this long. The clock stands still while the layer waits for the answers to requests
    /// of its own.
    pub fn at_most(limit: Duration) -> Self {
        Self { limit, counts_own_requests: false }
    }

    /// The clock also runs while the layer waits for requests of its own, so that a server that
    /// does not answer those cannot keep the host's answer back.
    #[must_use]
    pub fn counting_own_requests(mut self) -> Self {
        self.counts_own_requests = true;
        self
    }
}

/// What becomes of a request whose layer broke before it passed the request on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenBroken {
    /// It is answered with a JSON-RPC error: a layer that broke lets nothing through.
    Refuse,
    /// It goes on as if the layer were not there.
    Pass,
}

/// The verdict on a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub enum Pass {
    /// It goes on as it is.
    On,
    /// It goes no further.
    Drop,
    /// This line goes on in its place.
    Replace(Line),
}

/// A notification that crosses.
#[derive(Debug, Clone, Copy)]
pub struct Notification<'a> {
    pub(crate) direction: Direction,
    pub(crate) message: &'a Message,
}

impl<'a> Notification<'a> {
    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Its method.
    pub fn method(&self) -> &'a str {
        self.message.method().unwrap_or_default()
    }

    /// Its params, if it has any.
    pub fn params(&self) -> Option<&'a RawJson> {
        self.message.params()
    }

    /// Its line.
    pub fn line(&self) -> &'a Line {
        self.message.line()
    }
}

/// How a session's interceptors are told that it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The session ran and ended.
    Ended,
    /// The session never began: the server could not be reached, or another layer not be set up.
    NeverBegan,
}

/// Code around a session's requests and their responses, made by a [`Layer`](crate::Layer) for one
/// session.
///
/// Everything defaults to "pass it on". An interceptor
///
/// 1. *observes* every crossing, in the order the proxy read or wrote them,
/// 2. may *handle* the requests it declares in [`acts`](Self::acts), as middleware:
///    `next.run(request).await` passes a request inward and yields the response. It may answer
///    itself, change the request or the response, or call inward several times with requests of
///    its own ([`Request::own`]),
/// 3. may judge notifications,
/// 4. may ask the host something ([`Next::exchange`], [`Exchange::ask_host`](crate::Exchange)).
///
/// A session is one task. Every method here is called on it, never two at a time, but calls of
/// several exchanges interleave where they await.
///
/// A layer that fails, panics, or holds longer than it said breaks its own exchange and nothing
/// else: the layer outside it gets the answer from inside if there is one; else, if the request
/// was passed on, that answer when it comes; else what [`when_broken`](Self::when_broken) says.
///
/// [The guide](crate::docs::write_an_interceptor) goes through all of it, with code that runs.
pub trait Interceptor: Send + Sync {
    /// The layer's name: what the log says of lines it made, and what errors name.
    fn name(&self) -> &str;

    /// What the interceptor acts on. Asked once, when the session starts.
    fn acts(&self) -> Acts {
        Acts::nothing()
    }

    /// Sees a crossing, before the line moves on. Outermost interceptor first.
    ///
    /// May read one local file; nothing slower, since everything waits for it.
    fn observe(&self, crossing: &Crossing<'_>, emit: &mut Emit) {
        let _ = (crossing, emit);
    }

    /// How long the interceptor may hold an exchange; `None` for as long as it likes.
    fn max_hold(&self) -> Option<Hold> {
        None
    }

    /// What becomes of a request that was with the interceptor when it broke.
    fn when_broken(&self) -> WhenBroken {
        WhenBroken::Refuse
    }

    /// Judges a notification, when [`Acts::on_notifications`] says so.
    fn notify(&self, notification: &Notification<'_>) -> Pass {
        let _ = notification;
        Pass::On
    }

    /// Handles a request that [`acts`](Self::acts) names.
    ///
    /// # Errors
    ///
    /// An error breaks the layer for this exchange, see above. The error that `next.run` gave may
    /// be returned as it is.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the requester cancels, unless it asked
    /// [`Exchange::cancelled`](crate::Exchange::cancelled).
    fn call<'a>(
        &'a self,
        request: Request,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        next.run(request)
    }

    /// The session is over: writes out what is left. Nothing is called after it.
    fn finish(&self, finish: Finish) -> BoxFuture<'_, ()> {
        let _ = finish;
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for dyn Interceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interceptor({})", self.name())
    }
}
