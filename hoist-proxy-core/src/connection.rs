//! A duplex of lines to one party, and where connections come from.

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::json::ScannedEnvelope;
use crate::{Error, Line, SessionContext, SessionId};

/// How the engine wants the next piece of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Nobody looks: bytes as they come, in [`Frame::Part`]s, without looking for line ends.
    Raw,
    /// Nobody acts, somebody observes: whole lines up to `whole_bytes`, longer ones in parts as
    /// they come ([`Frame::Part`]).
    CutThrough {
        /// The longest line, in bytes with its terminator, that is waited for.
        whole_bytes: usize,
    },
    /// Somebody acts: whole lines only. One longer than `max_bytes` is read to its end, not kept,
    /// and given as [`Frame::TooLong`].
    Whole {
        /// The longest line, in bytes with its terminator, that is kept.
        max_bytes: usize,
    },
}

/// One piece of input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// A whole line.
    Line(Line),
    /// The next part of a line that is passed on before its end was read.
    Part(Part),
    /// A line that was longer than [`Framing::Whole`], or the transport, allows. Its bytes are gone.
    TooLong(TooLong),
    /// A line that the transport exchanged with the peer on its own account, to begin a session
    /// again, say. Observers see it; nobody else does.
    Aside(Aside),
}

/// A line that the transport exchanged with the peer on its own account.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aside {
    /// It said this to the peer.
    Said(Line),
    /// The peer said this.
    Heard(Line),
}

/// The next part of a line that is passed on before its end was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The bytes, terminator included in the last part.
    pub bytes: Bytes,
    /// Whether the line ends with this part. Never set under [`Framing::Raw`].
    pub last: bool,
}

/// What is known of a line that was longer than the message limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// The length of the line in bytes, with its terminator.
    pub len_bytes: u64,
    /// What its envelope said.
    pub envelope: ScannedEnvelope,
}

/// The reading half of a connection.
pub trait ReadLines: Send {
    /// The next piece of input; `None` at the end of it.
    ///
    /// The engine asks with the same `framing` for a connection's whole life. A reader that only
    /// ever has whole lines (one in memory, say) may give lines under any framing.
    ///
    /// # Errors
    ///
    /// Whatever reading failed with. The engine takes an error as the end of the input.
    ///
    /// # Cancel safety
    ///
    /// Input that was read but not yet returned stays in the reader.
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>>;
}

/// How a peer is told that nothing more comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closing {
    /// Nothing more will be sent; what the peer still says is waited for, however long it takes.
    Gentle,
    /// Nothing more will be sent, and the peer must end soon: the transport starts its grace
    /// clock and then ends it by force.
    Urgent,
}

/// The writing half of a connection.
///
/// The engine asks [`poll_ready`](Self::poll_ready) before it reads the *other* side, so a slow
/// reader of this half holds back the peer that writes to it, and nothing piles up.
pub trait WriteLines: Send {
    /// Whether another line may be given. Writes what is waiting, if it must, to make room.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Takes a line. It is written at the next [`poll_flush`](Self::poll_flush) at the latest.
    ///
    /// Called only between lines. Lines the proxy makes itself may come without
    /// [`poll_ready`](Self::poll_ready) having been asked; a writer must not lose them.
    fn send(&mut self, line: Line);

    /// Takes part of a line. Called only when [`accepts_parts`](Self::accepts_parts).
    ///
    /// A writer that takes no parts need not say so: it is given none.
    fn send_part(&mut self, part: Part) {
        // Passed on as a line, it would break the message; so it is left out.
        debug_assert!(false, "a part of {} bytes was not asked for", part.bytes.len());
    }

    /// Whether lines may come in parts. A transport that must know a line's end before it sends
    /// anything (an HTTP request per message) says no, and the engine reads whole lines.
    fn accepts_parts(&self) -> bool {
        false
    }

    /// Writes everything taken so far.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Writes everything, then closes this half. May be called again, with a more urgent
    /// [`Closing`], after it is done.
    fn poll_close(&mut self, cx: &mut Context<'_>, closing: Closing) -> Poll<io::Result<()>>;

    /// Ready once nobody reads what is written here any more. Pending for ever where a transport
    /// cannot know.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Pending
    }
}

/// How a party ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The exit status, for a party that is a process: its code, or 128 + n when signal n ended
    /// it.
    pub exit_code: Option<i32>,
}

impl Ended {
    /// A process that ended with this status.
    pub fn with_exit_code(code: i32) -> Self {
        Self { exit_code: Some(code) }
    }
}

/// What a session waits for once both directions of a connection are closed.
pub type WhenEnded = BoxFuture<'static, Ended>;

/// What is known of a host before it has said anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Host {
    /// The host session that the connection is part of, as the host names it: what the sessions
    /// that one agent has with several servers share.
    pub session: Option<SessionId>,
    /// Whether several hosts that do not know of each other may share the connection. What one of
    /// them did then says nothing about another.
    pub is_shared: bool,
}

impl Host {
    /// A host that named its session.
    pub fn in_session(session: SessionId) -> Self {
        Self { session: Some(session), is_shared: false }
    }

    /// Hosts that nothing tells apart.
    pub fn shared() -> Self {
        Self { session: None, is_shared: true }
    }
}

/// A duplex of lines to one party.
pub struct Connection {
    pub(crate) reader: Box<dyn ReadLines>,
    pub(crate) writer: Box<dyn WriteLines>,
    pub(crate) ended: Option<WhenEnded>,
    pub(crate) host: Host,
}

impl Connection {
    /// A connection made of its two halves.
    pub fn new(reader: impl ReadLines + 'static, writer: impl WriteLines + 'static) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Box::new(writer),
            ended: None,
            host: Host::default(),
        }
    }

    /// Says who is at the other end, for a connection that a [`Downstream`] yields.
    #[must_use]
    pub fn from_host(mut self, host: Host) -> Self {
        self.host = host;
        self
    }

    /// Adds what the session waits for once both directions are closed: the end of the process
    /// behind the connection, say. It should be ready soon after [`Closing::Urgent`].
    #[must_use]
    pub fn with_ended(mut self, ended: impl Future<Output = Ended> + Send + 'static) -> Self {
        self.ended = Some(Box::pin(ended));
        self
    }

    /// Takes the connection apart, for a transport that wraps another, or a test of one.
    pub fn into_parts(self) -> (Box<dyn ReadLines>, Box<dyn WriteLines>, Option<WhenEnded>) {
        (self.reader, self.writer, self.ended)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// A way to reach the server.
///
/// One connection per session: a child process started, an HTTP session opened, an in-memory pair.
pub trait Upstream: Send + Sync {
    /// Opens the connection of one session.
    ///
    /// # Errors
    ///
    /// [`Error::Connect`] when the server cannot be started or reached. The session then ends
    /// before it began, and nothing may be left behind.
    fn connect<'a>(
        &'a self,
        session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>>;
}

/// Where hosts come from.
///
/// Stdio yields exactly one connection, a listener many.
pub trait Downstream: Send {
    /// The next host; `None` when no more will come.
    ///
    /// # Errors
    ///
    /// When hosts can no longer be accepted; the proxy ends.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no host that was accepted.
    fn accept(&mut self) -> BoxFuture<'_, Result<Option<Connection>, Error>>;
}
