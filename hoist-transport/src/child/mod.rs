//! The server side: a child process for each session.

mod failure;
mod group;
mod halves;
mod shutdown;

use std::ffi::OsString;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hoist_proxy_core::{BoxFuture, Connection, Ended, Error, SessionContext, Upstream};
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use self::group::{ProcessGroup, Tell};
use self::halves::{ChildReader, ChildWriter, CutOff, CutOffSender, Told, Urgent};
use self::shutdown::{Action, Shutdown};
use crate::termination::{Follow, Requests};
use crate::{LineReader, LineWriter, Termination};

/// A server that is started as a child process, one for each session.
///
/// The child inherits the environment, the working directory and standard error, and leads a
/// process group of its own, so that what it starts can be ended with it.
///
/// How it ends:
///
/// - [`Closing::Gentle`](hoist_proxy_core::Closing::Gentle) closes its input. It may take its
///   time.
/// - [`Closing::Urgent`](hoist_proxy_core::Closing::Urgent), or dropping the connection, closes
///   its input and starts the clock: after the grace its process group gets SIGTERM, after
///   another SIGKILL.
/// - A host that insists ([`told_by`](Self::told_by)) has SIGTERM sent at once, and SIGKILL after
///   the grace or 1.5 seconds, whichever is shorter.
/// - When the child has ended and others of its group have not, the same clock runs for them.
/// - A process that has left the group cannot be ended. Its hold on the child's output is cut off
///   a grace after the last of the group has ended.
///
/// All of this needs the runtime that [`connect`](Upstream::connect) was called in: the child's
/// supervisor is a task of it. The exit status is that of the child, or 128 + n when signal n
/// ended it.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{SessionContext, SessionId, Upstream};
/// use hoist_transport::ChildServer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ChildServer::new("a-server-that-is-not-there", ["--fast"]).search_path("/opt/bin");
/// let session = SessionContext::new(SessionId::new("example")?);
/// let error = server.connect(&session).await.unwrap_err();
/// assert!(error.to_string().contains("a-server-that-is-not-there"));
/// assert!(error.to_string().contains("/opt/bin"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ChildServer {
    program: OsString,
    args: Vec<OsString>,
    grace: Duration,
    search_path: Option<OsString>,
    termination: Option<Termination>,
}

impl ChildServer {
    /// The grace unless another is given.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

    /// A server that `program` starts with `args`. A name without a slash is looked for in the
    /// PATH.
    pub fn new(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            grace: Self::DEFAULT_GRACE,
            search_path: None,
            termination: None,
        }
    }

    /// How long a server that must end has before SIGTERM, and then before SIGKILL.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The text of the PATH, to be named when the program was not found in it. It changes nothing
    /// about where programs are looked for.
    pub fn search_path(mut self, path: impl Into<OsString>) -> Self {
        self.search_path = Some(path.into());
        self
    }

    /// Heeds a host that insists. A host that has closed its end and then signals, or that signals
    /// twice, is about to kill this process, so the child must be gone before: it gets SIGTERM at
    /// once.
    ///
    /// A first signal while the host's end is open changes nothing here. It is for the proxy,
    /// which closes the child's input ([`Closing::Urgent`](hoist_proxy_core::Closing::Urgent)).
    pub fn told_by(mut self, termination: &Termination) -> Self {
        self.termination = Some(termination.clone());
        self
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(false);
        #[cfg(unix)]
        command.process_group(0);
        command.spawn()
    }

    fn start(&self) -> Result<Started, Error> {
        let mut child = self.spawn().map_err(|source| Error::Connect {
            what: failure::text(&self.program, self.search_path.as_deref(), &source),
            source: Some(Arc::new(source)),
        })?;
        let group = ProcessGroup::of(&child);
        let stdin = child.stdin.take().expect("its input was asked for as a pipe");
        let stdout = child.stdout.take().expect("its output was asked for as a pipe");
        let (urgent, told) = Urgent::channel();
        let signals = self.termination.as_ref().map(Termination::follow).unwrap_or_default();
        let (cut_off_sender, cut_off) = CutOff::channel();
        let (ended_sender, has_ended) = oneshot::channel();
        let shutdown = Shutdown::new(self.grace);
        let supervisor = Supervisor { child, group, shutdown, told, signals, urgent: false };
        tokio::spawn(supervisor.run(ended_sender, cut_off_sender));
        Ok(Started {
            reader: ChildReader { lines: LineReader::new(stdout), cut_off, urgent: urgent.clone() },
            writer: ChildWriter { lines: LineWriter::new(stdin), urgent: urgent.clone() },
            ended: HasEnded { has_ended, _urgent: urgent },
        })
    }
}

/// A child that was started.
struct Started {
    reader: ChildReader,
    writer: ChildWriter,
    ended: HasEnded,
}

/// The end of the child and of its group.
struct HasEnded {
    has_ended: oneshot::Receiver<Ended>,
    /// While somebody waits for the end, the child may take its time.
    _urgent: Urgent,
}

impl Future for HasEnded {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        // The supervisor only goes without a word when its runtime goes.
        Pin::new(&mut self.has_ended).poll(cx).map(Result::unwrap_or_default)
    }
}

impl Upstream for ChildServer {
    fn connect<'a>(
        &'a self,
        _session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        Box::pin(async move {
            let Started { reader, writer, ended } = self.start()?;
            Ok(Connection::new(reader, writer).with_ended(ended))
        })
    }
}

/// Owns the child from start to end.
struct Supervisor {
    child: Child,
    group: ProcessGroup,
    shutdown: Shutdown,
    told: watch::Receiver<Told>,
    signals: Follow,
    /// Whether the child was told to end, rather than ended by itself.
    urgent: bool,
}

impl Supervisor {
    async fn run(mut self, ended: oneshot::Sender<Ended>, mut cut_off: CutOffSender) {
        let how = self.until_over().await;
        // Whoever asks for it may have gone.
        let _ = ended.send(how);
        let until = Instant::now() + self.shutdown.last_grace();
        loop {
            tokio::select! {
                () = cut_off.closed() => return,
                requests = self.signals.next() => {
                    if !self.is_insistent(requests) {
                        continue;
                    }
                    self.urgent = true;
                }
                () = sleep_until(until) => {}
            }
            let at_once = self.urgent || self.told.borrow().must_end;
            return cut_off.fire(at_once);
        }
    }

    /// Waits for the end of the child and of its group, and brings it about when it is time.
    async fn until_over(&mut self) -> Ended {
        let mut how = None;
        while !self.shutdown.is_over() {
            let due = self.shutdown.due();
            tokio::select! {
                status = self.child.wait(), if how.is_none() => {
                    // Waiting can only fail when somebody else has collected the child.
                    how = Some(status.map_or_else(|_| Ended::default(), group::ended));
                    self.shutdown.child_ended(Instant::now(), self.group.look());
                }
                changed = self.told.changed(), if !self.urgent => {
                    if changed.is_err() || self.told.borrow().must_end {
                        self.urgent = true;
                        self.shutdown.urgent(Instant::now());
                    }
                }
                requests = self.signals.next() => {
                    if self.is_insistent(requests) {
                        self.shutdown.insist(Instant::now());
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.tick(),
            }
        }
        how.unwrap_or_default()
    }

    /// Whether the host is about to kill this process. The first signal is none of that while the
    /// host's end is open.
    fn is_insistent(&self, requests: Requests) -> bool {
        let host_left = requests.after_host || self.told.borrow().input_over;
        requests.signals >= 2 || (requests.signals == 1 && host_left)
    }

    fn tick(&mut self) {
        let group =
            if self.shutdown.watches_group() { self.group.look() } else { shutdown::Group::Left };
        match self.shutdown.tick(Instant::now(), group) {
            Some(Action::Terminate) => self.group.tell(&mut self.child, Tell::Terminate),
            Some(Action::Kill) => self.group.tell(&mut self.child, Tell::Kill),
            Some(Action::GiveUp) => {
                tracing::warn!(
                    "a process of the server's was sent SIGKILL and has not ended; it is not \
                     waited for any longer"
                );
            }
            None => {}
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
