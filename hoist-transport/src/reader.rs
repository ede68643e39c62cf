//! Lines from a byte stream.

use std::fmt;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use hoist_proxy_core::{Frame, Framing, ReadLines};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::Framer;

/// How much is read at once: what a pipe holds. Larger reads were measured to be slower, since
/// the bytes are no longer in the cache when they are written.
const READ_BYTES: usize = 64 * 1024;

/// Lines from a byte stream.
///
/// # Cancel safety
///
/// What was read and not yet given stays in the reader.
pub struct LineReader<R> {
    /// The stream; `None` once it has ended.
    stream: Option<R>,
    framer: Framer,
    /// What the stream ended with, to be told once the rest of its bytes was given.
    failed: Option<io::Error>,
}

impl<R: AsyncRead + Unpin + Send> LineReader<R> {
    /// Reads lines from `stream`.
    pub fn new(stream: R) -> Self {
        Self { stream: Some(stream), framer: Framer::new(), failed: None }
    }

    /// Whether the stream has ended. What it left may still be there to be read.
    pub fn has_ended(&self) -> bool {
        self.stream.is_none()
    }

    /// Takes the stream as ended, whatever it would still bring. What was read is still given.
    pub fn end(&mut self) {
        self.stream = None;
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(()) };
        match ready!(pin!(stream.read_buf(self.framer.buffer(READ_BYTES))).poll(cx)) {
            Ok(0) => self.end(),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.failed = Some(error);
                self.end();
            }
        }
        Poll::Ready(())
    }
}

impl<R: AsyncRead + Unpin + Send> ReadLines for LineReader<R> {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        loop {
            if let Some(frame) = self.framer.next(framing) {
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.has_ended() {
                let rest = self.framer.finish(framing).map(Ok);
                return Poll::Ready(rest.or_else(|| self.failed.take().map(Err)));
            }
            ready!(self.poll_read(cx));
        }
    }
}

impl<R> fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader")
            .field("ended", &self.stream.is_none())
            .field("framer", &self.framer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;

    use tokio::io::{AsyncWriteExt, ReadBuf};

    use super::*;

    const WHOLE: Framing = Framing::Whole { max_bytes: 64 << 20 };

    async fn next<R: AsyncRead + Unpin + Send>(
        lines: &mut LineReader<R>,
    ) -> Option<io::Result<Frame>> {
        poll_fn(|cx| lines.poll_frame(cx, WHOLE)).await
    }

    fn body(frame: Option<io::Result<Frame>>) -> Vec<u8> {
        match frame {
            Some(Ok(Frame::Line(line))) => line.body().to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn lines_come_one_by_one_and_the_rest_at_the_end() {
        let mut lines = LineReader::new(&b"one\ntwo\r\nthree"[..]);
        assert_eq!(body(next(&mut lines).await), b"one");
        assert_eq!(body(next(&mut lines).await), b"two");
        assert_eq!(body(next(&mut lines).await), b"three");
        assert!(next(&mut lines).await.is_none());
        assert!(next(&mut lines).await.is_none());
    }

    #[tokio::test]
    async fn a_line_over_several_writes_is_one_line() {
        let (mut to, from) = tokio::io::duplex(1000);
        let mut lines = LineReader::new(from);
        let message = vec![b'x'; 3 << 20];
        let writing = async {
            to.write_all(&message).await.unwrap();
            to.write_all(b"\nnext\n").await.unwrap();
        };
        let reading = async {
            assert_eq!(body(next(&mut lines).await), message);
            assert_eq!(body(next(&mut lines).await), b"next");
        };
        tokio::join!(writing, reading);
    }

    /// A stream that fails after its bytes.
    struct Breaks(&'static [u8]);

    impl AsyncRead for Breaks {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.0.is_empty() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            buf.put_slice(std::mem::take(&mut self.0));
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_came_before_a_failure_is_given_before_it() {
        let mut lines = LineReader::new(Breaks(b"one\nhalf"));
        assert_eq!(body(next(&mut lines).await), b"one");
        assert_eq!(body(next(&mut lines).await), b"half");
        let error = next(&mut lines).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert!(next(&mut lines).await.is_none());
    }
}
