//! The host side over standard input and output.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use hoist_proxy_core::{BoxFuture, Connection, Downstream, Error};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::blocking::{BlockingReader, BlockingWriter};
#[cfg(unix)]
use crate::unix_fd::{self, Kind, PollWriter, SocketReader, Waiting};
use crate::{LineReader, LineWriter, Termination};

/// One host, on the process's standard input and output.
///
/// A pipe or a socket is driven without blocking, and without a change that its other users could
/// notice; anything else by a thread for each direction. Nothing else in the process may read
/// standard input or write standard output.
///
/// # Examples
///
/// ```no_run
/// use hoist_proxy_core::Downstream;
/// use hoist_transport::Stdio;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), hoist_proxy_core::Error> {
/// let mut hosts = Stdio::new();
/// assert!(hosts.accept().await?.is_some());
/// assert!(hosts.accept().await?.is_none(), "there is only one");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Stdio {
    source: Source,
    termination: Option<Termination>,
}

#[derive(Debug, Default)]
enum Source {
    #[default]
    Process,
    #[cfg(unix)]
    Given {
        input: OwnedFd,
        output: OwnedFd,
    },
    Taken,
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type BoxWrite = Box<dyn AsyncWrite + Send + Unpin>;
type Writer = LineWriter<BoxWrite>;

impl Stdio {
    /// The process's own standard input and output.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads from `input` and writes to `output` in their place: whatever a process might have as
    /// its standard input and output.
    #[cfg(unix)]
    pub fn from_fds(input: OwnedFd, output: OwnedFd) -> Self {
        Self { source: Source::Given { input, output }, termination: None }
    }

    /// Has `termination` see whether this host has closed its end when a signal comes, also before
    /// that end was reached by reading. A duplicate of the input stays open as long as it lives.
    #[must_use]
    pub fn watched_by(mut self, termination: &Termination) -> Self {
        self.termination = Some(termination.clone());
        self
    }

    #[cfg(unix)]
    fn reader(&self, input: OwnedFd) -> io::Result<Reader> {
        if let Some(termination) = &self.termination {
            termination.watch_host(input.try_clone()?);
        }
        reader(input)
    }

    fn open(&mut self) -> io::Result<Option<Connection>> {
        let (reader, writer) = match std::mem::replace(&mut self.source, Source::Taken) {
            #[cfg(unix)]
            Source::Process => (
                self.reader(io::stdin().as_fd().try_clone_to_owned()?)?,
                writer(io::stdout().as_fd().try_clone_to_owned()?)?,
            ),
            #[cfg(not(unix))]
            Source::Process => (
                Box::new(BlockingReader::start(io::stdin())?) as Reader,
                LineWriter::new(Box::new(BlockingWriter::start(io::stdout())?) as BoxWrite),
            ),
            #[cfg(unix)]
            Source::Given { input, output } => (self.reader(input)?, writer(output)?),
            Source::Taken => return Ok(None),
        };
        Ok(Some(Connection::new(LineReader::new(reader), writer)))
    }
}

impl Downstream for Stdio {
    fn accept(&mut self) -> BoxFuture<'_, Result<Option<Connection>, Error>> {
        let opened = self.open().map_err(|source| Error::Io {
            what: "opening standard input and output",
            source: Arc::new(source),
        });
        Box::pin(std::future::ready(opened))
    }
}

#[cfg(unix)]
fn reader(fd: OwnedFd) -> io::Result<Reader> {
    // What cannot be driven without blocking after all (no /proc, not ours to open) still works
    // by waiting.
    match Kind::of(&fd) {
        Kind::Pipe => {
            if let Ok(pipe) = unix_fd::reopen_receiver(fd.as_fd()) {
                return Ok(Box::new(pipe));
            }
        }
        Kind::Socket => {
            if let Ok(socket) = fd.try_clone().and_then(SocketReader::new) {
                return Ok(Box::new(socket));
            }
        }
        Kind::Other => {}
    }
    Ok(Box::new(BlockingReader::start(Waiting::new(fd))?))
}

#[cfg(unix)]
fn writer(fd: OwnedFd) -> io::Result<Writer> {
    let polled = match Kind::of(&fd) {
        Kind::Pipe => unix_fd::reopen_sender(fd.as_fd()),
        Kind::Socket => fd.try_clone().and_then(PollWriter::socket),
        Kind::Other => Err(io::ErrorKind::Unsupported.into()),
    };
    match polled {
        Ok(polled) => {
            let gone = polled.gone();
            Ok(LineWriter::new(Box::new(polled) as BoxWrite).with_gone(gone))
        }
        Err(error) => waiting_writer(fd, &error),
    }
}

/// What writes by waiting, since it cannot be driven otherwise because of `error`.
#[cfg(unix)]
fn waiting_writer(fd: OwnedFd, error: &io::Error) -> io::Result<Writer> {
    // A terminal, or another user's pipe, can still tell that nobody reads; a file cannot.
    let gone = fd.try_clone().and_then(unix_fd::gone);
    let waiting = LineWriter::new(Box::new(BlockingWriter::start(Waiting::new(fd))?) as BoxWrite);
    // A pipe that nobody reads cannot be opened anew.
    if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
        return Ok(waiting.with_gone(std::future::ready(())));
    }
    Ok(match gone {
        Ok(gone) => waiting.with_gone(gone),
        Err(_) => waiting,
    })
}

#[cfg(test)]
#[cfg(unix)]
#[path = "stdio_tests.rs"]
mod tests;
