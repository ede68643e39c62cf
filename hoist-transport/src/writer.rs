//! Lines to a byte stream.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use futures::future::BoxFuture;
use hoist_proxy_core::{Closing, Line, Part, WriteLines};
use tokio::io::AsyncWrite;

/// Lines up to this length are copied together: cheaper than a segment of its own for each, and
/// the buffer they were read into is free again.
const COPIED_BYTES: usize = 4 * 1024;

/// How long the run of lines copied together may get.
const RUN_BYTES: usize = 64 * 1024;

/// How much may wait before no further line is asked for.
const QUEUED_BYTES: usize = 256 * 1024;

/// Segments given to one write. Each is either over [`COPIED_BYTES`] or ends a run, so more would
/// not fit into a pipe at once anyway.
const SEGMENTS: usize = 32;

/// Lines to a byte stream.
///
/// Lines wait until [`poll_flush`](WriteLines::poll_flush) and leave together, in one write where
/// the stream takes several buffers. Closing drops the stream: on a pipe nothing else closes it.
///
/// After a failed write, every call fails as that write did, and what is sent is discarded.
pub struct LineWriter<W> {
    /// The stream; `None` once closed.
    stream: Option<W>,
    queue: VecDeque<Bytes>,
    /// The run of short lines behind the queue.
    run: BytesMut,
    queued_bytes: usize,
    /// Whether the stream was written to since it was last flushed.
    dirty: bool,
    failed: Option<Failed>,
    gone: Option<BoxFuture<'static, ()>>,
}

/// What a write failed with: an [`io::Error`] cannot be cloned.
#[derive(Debug, Clone, Copy)]
struct Failed {
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl From<&io::Error> for Failed {
    fn from(error: &io::Error) -> Self {
        Self { kind: error.kind(), code: error.raw_os_error() }
    }
}

impl From<Failed> for io::Error {
    fn from(failed: Failed) -> Self {
        failed.code.map_or_else(|| failed.kind.into(), Self::from_raw_os_error)
    }
}

impl<W: AsyncWrite + Unpin + Send> LineWriter<W> {
    /// Writes lines to `stream`.
    pub fn new(stream: W) -> Self {
        Self {
            stream: Some(stream),
            queue: VecDeque::new(),
            run: BytesMut::new(),
            queued_bytes: 0,
            dirty: false,
            failed: None,
            gone: None,
        }
    }

    /// Adds what tells that nobody reads the stream any more
    /// ([`poll_gone`](WriteLines::poll_gone)). It is dropped together with the stream.
    #[must_use]
    pub fn with_gone(mut self, gone: impl Future<Output = ()> + Send + 'static) -> Self {
        self.gone = Some(Box::pin(gone));
        self
    }

    /// Whether the stream was closed, or has failed.
    pub fn is_closed(&self) -> bool {
        self.stream.is_none()
    }

    fn push(&mut self, bytes: Bytes) {
        if self.stream.is_none() || bytes.is_empty() {
            return;
        }
        self.queued_bytes += bytes.len();
        if bytes.len() > COPIED_BYTES {
            self.seal_run();
            self.queue.push_back(bytes);
            return;
        }
        if self.run.len() + bytes.len() > RUN_BYTES {
            self.seal_run();
        }
        self.run.extend_from_slice(&bytes);
    }

    fn seal_run(&mut self) {
        if !self.run.is_empty() {
            self.queue.push_back(self.run.split().freeze());
        }
    }

    /// Writes until nothing waits.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.queued_bytes > 0 {
            let Some(stream) = &mut self.stream else { break };
            let written = match ready!(poll_write(stream, &self.queue, &self.run, cx)) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                other => other,
            };
            match written {
                Ok(written) => {
                    self.dirty = true;
                    self.advance(written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(self.fail(error))),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, written: usize) {
        self.queued_bytes -= written;
        let mut left = written;
        while left > 0 {
            let Some(front) = self.queue.front_mut() else {
                self.run.advance(left);
                break;
            };
            let taken = left.min(front.len());
            left -= taken;
            front.advance(taken);
            if front.is_empty() {
                self.queue.pop_front();
            }
        }
        if self.run.is_empty() && self.queued_bytes == 0 {
            self.run.clear();
        }
    }

    fn fail(&mut self, error: io::Error) -> io::Error {
        self.failed = Some(Failed::from(&error));
        self.drop_stream();
        error
    }

    fn drop_stream(&mut self) {
        self.stream = None;
        self.gone = None;
        self.queue = VecDeque::new();
        self.run = BytesMut::new();
        self.queued_bytes = 0;
    }
}

/// Gives the stream as much as it takes at once.
fn poll_write<W: AsyncWrite + Unpin>(
    stream: &mut W,
    queue: &VecDeque<Bytes>,
    run: &BytesMut,
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let stream = Pin::new(stream);
    match queue.front() {
        None => stream.poll_write(cx, run),
        Some(only) if queue.len() == 1 && run.is_empty() => stream.poll_write(cx, only),
        Some(_) if stream.is_write_vectored() => {
            let mut slices = [IoSlice::new(&[]); SEGMENTS];
            let segments = queue.iter().map(|segment| &segment[..]).chain([&run[..]]);
            let mut count = 0;
            for (slice, segment) in slices.iter_mut().zip(segments) {
                *slice = IoSlice::new(segment);
                count += 1;
            }
            stream.poll_write_vectored(cx, &slices[..count])
        }
        Some(first) => stream.poll_write(cx, first),
    }
}

impl<W: AsyncWrite + Unpin + Send> WriteLines for LineWriter<W> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(failed) = self.failed {
            return Poll::Ready(Err(failed.into()));
        }
        if self.stream.is_none() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.queued_bytes > QUEUED_BYTES {
            let drained = self.poll_drain(cx)?;
            if drained.is_pending() && self.queued_bytes > QUEUED_BYTES {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, line: Line) {
        self.push(line.into_wire());
    }

    fn send_part(&mut self, part: Part) {
        self.push(part.bytes);
    }

    fn accepts_parts(&self) -> bool {
        true
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(failed) = self.failed {
            return Poll::Ready(Err(failed.into()));
        }
        ready!(self.poll_drain(cx))?;
        if self.dirty {
            let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(())) };
            if let Err(error) = ready!(Pin::new(stream).poll_flush(cx)) {
                return Poll::Ready(Err(self.fail(error)));
            }
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, closing: Closing) -> Poll<io::Result<()>> {
        let flushed = self.poll_flush(cx);
        // A peer that must end soon is not waited for until it reads.
        if flushed.is_pending() && closing != Closing::Urgent {
            return Poll::Pending;
        }
        self.drop_stream();
        match flushed {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.failed.is_some() {
            return Poll::Ready(());
        }
        let Some(gone) = &mut self.gone else { return Poll::Pending };
        ready!(gone.as_mut().poll(cx));
        // Whoever asks again gets the same answer.
        self.gone = Some(Box::pin(std::future::ready(())));
        Poll::Ready(())
    }
}

impl<W> fmt::Debug for LineWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter")
            .field("closed", &self.stream.is_none())
            .field("queued_bytes", &self.queued_bytes)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
