//! Pipes and sockets that were handed to this process, driven without blocking and without
//! changing them for anybody else.
//!
//! `O_NONBLOCK` belongs to the open file description, which the parent, and with `2>&1` the
//! child's stderr, share. Setting it would make *their* writes fail. So a pipe is opened anew,
//! which gives a description of our own, and a socket is asked not to block call by call.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::unix::pipe;

/// How much is received from a socket at once.
const RECEIVE_BYTES: usize = 64 * 1024;

/// How a descriptor can be driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    Socket,
    /// A file, a terminal, anything else: only by waiting.
    Other,
}

impl Kind {
    pub(crate) fn of(fd: impl AsFd) -> Self {
        match rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Fifo) => Self::Pipe,
            Ok(FileType::Socket) => Self::Socket,
            _ => Self::Other,
        }
    }
}

/// The pipe's reading end, opened anew.
pub(crate) fn reopen_receiver(fd: BorrowedFd<'_>) -> io::Result<pipe::Receiver> {
    pipe::OpenOptions::new().open_receiver(proc_path(fd))
}

/// The pipe's writing end, opened anew.
pub(crate) fn reopen_sender(fd: BorrowedFd<'_>) -> io::Result<PollWriter> {
    let sender = pipe::OpenOptions::new().open_sender(proc_path(fd))?;
    Ok(PollWriter { fd: Arc::new(sender), kind: Kind::Pipe })
}

/// Where the descriptor can be opened anew. Fails to open where there is no such file system.
fn proc_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// A socket's reading side.
pub(crate) struct SocketReader {
    /// What waits until the socket is readable. It never reads itself: that would block.
    fd: pipe::Receiver,
    /// Received bytes pass through here, since a receiving call that fills uninitialised memory
    /// is not to be had without unsafe code. Allocated at the first use.
    scratch: Vec<u8>,
}

impl SocketReader {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self { fd: pipe::Receiver::from_owned_fd_unchecked(fd)?, scratch: Vec::new() })
    }
}

impl AsyncRead for SocketReader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { fd, scratch } = self.get_mut();
        if scratch.is_empty() {
            scratch.resize(RECEIVE_BYTES, 0);
        }
        let want = buf.remaining().min(scratch.len());
        loop {
            ready!(fd.poll_read_ready(cx))?;
            let received = fd.try_io(|| {
                let (received, _) =
                    rustix::net::recv(&*fd, &mut scratch[..want], RecvFlags::DONTWAIT)?;
                Ok(received)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(received) => {
                    buf.put_slice(&scratch[..received]);
                    if received < want {
                        // The socket was emptied: have the next read wait, not try in vain.
                        let _ = fd.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

/// The writing side of a pipe or a socket.
pub(crate) struct PollWriter {
    /// For a socket: what waits until it is writable. It never writes itself: that would block.
    fd: Arc<pipe::Sender>,
    kind: Kind,
}

impl PollWriter {
    /// A socket's writing side.
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<Self> {
        let fd = Arc::new(pipe::Sender::from_owned_fd_unchecked(fd)?);
        Ok(Self { fd, kind: Kind::Socket })
    }

    /// Ready once nobody reads any more, without a write being needed to learn it.
    pub(crate) fn gone(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let fd = Arc::clone(&self.fd);
        async move {
            loop {
                match fd.ready(gone_interest()).await {
                    Ok(ready) if ready.is_empty() => {}
                    // Urgent data, say. Its mark stays set, so waiting for it again would only
                    // spin; a write will meet the end sooner or later.
                    Ok(_) if !is_gone(&*fd) => std::future::pending().await,
                    _ => return,
                }
            }
        }
    }

    fn try_write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.kind == Kind::Pipe {
            return self.fd.try_write_vectored(bufs);
        }
        self.fd.try_io(|| {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let mut control = SendAncillaryBuffer::default();
            Ok(rustix::net::sendmsg(&*self.fd, bufs, &mut control, flags)?)
        })
    }
}

/// Ready once nobody reads what is written to `fd` by somebody else: it is only watched, which
/// changes nothing about it. Fails for what cannot be watched: a file.
pub(crate) fn gone(fd: OwnedFd) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    PollWriter::socket(fd).map(|watched| watched.gone())
}

/// What is reported when the peer is gone: an error on a pipe, a hang-up (which counts as "will
/// not be readable any more") on a socket and a terminal.
fn gone_interest() -> Interest {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return Interest::ERROR | Interest::PRIORITY;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return Interest::ERROR;
}

fn is_gone(fd: impl AsFd) -> bool {
    shows(fd, PollFlags::empty(), PollFlags::ERR | PollFlags::HUP)
}

/// Whether the other side of what is read here has closed its end, even if what it wrote before
/// has not been read. Not to be told of a file, whose end is just where it ends.
pub(crate) fn has_hung_up(fd: impl AsFd) -> bool {
    // A socket's peer may have closed one direction only.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let half = PollFlags::RDHUP;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let half = PollFlags::empty();
    shows(fd, half, half | PollFlags::ERR | PollFlags::HUP)
}

fn shows(fd: impl AsFd, asked: PollFlags, wanted: PollFlags) -> bool {
    let mut fds = [PollFd::new(&fd, asked)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().intersects(wanted)
}

impl AsyncWrite for PollWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.fd.poll_write_ready(cx))?;
            match self.try_write(bufs) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A file, terminal or pipe that is read and written by waiting, even if somebody who shares it
/// has set it not to block.
#[derive(Debug)]
pub(crate) struct Waiting(File);

impl Waiting {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self(fd.into())
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        rustix::event::poll(&mut [PollFd::new(&self.0, flags)], None)?;
        Ok(())
    }
}

impl Read for Waiting {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::IN)?;
                }
                other => return other,
            }
        }
    }
}

impl Write for Waiting {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT)?;
                }
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl fmt::Debug for SocketReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketReader").field("fd", &self.fd.as_raw_fd()).finish_non_exhaustive()
    }
}

impl fmt::Debug for PollWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollWriter")
            .field("fd", &self.fd.as_raw_fd())
            .field("kind", &self.kind)
            .finish()
    }
}
