use std::future::poll_fn;
use std::sync::{Arc, Mutex};

use futures::task::noop_waker_ref;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, duplex};

use super::*;

fn now<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    poll(&mut Context::from_waker(noop_waker_ref()))
}

fn line(len: usize) -> Line {
    let mut wire = vec![b'x'; len - 1];
    wire.push(b'\n');
    Line::from_wire(wire)
}

/// A stream that takes a few bytes at a time and remembers them.
#[derive(Debug, Clone)]
struct Slow {
    written: Arc<Mutex<Vec<u8>>>,
    steps: Vec<usize>,
    writes: usize,
    vectored: bool,
}

impl Slow {
    fn new(steps: Vec<usize>, vectored: bool) -> Self {
        Self { written: Arc::default(), steps, writes: 0, vectored }
    }

    /// How much this write takes; `None` when it must be tried again.
    fn step(&mut self) -> Option<usize> {
        let step = self.steps[self.writes % self.steps.len()];
        self.writes += 1;
        (step > 0).then_some(step)
    }
}

impl AsyncWrite for Slow {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        assert!(!buf.is_empty(), "an empty write");
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Some(step) = self.step() else {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        let mut written = self.written.lock().unwrap();
        let mut left = step;
        for buf in bufs {
            let taken = left.min(buf.len());
            written.extend_from_slice(&buf[..taken]);
            left -= taken;
        }
        Poll::Ready(Ok(step - left))
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        panic!("closing drops the stream")
    }
}

/// A stream nobody reads.
struct Broken;

impl AsyncWrite for Broken {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn short_lines_leave_in_one_write() {
    let slow = Slow::new(vec![usize::MAX], true);
    let mut lines = LineWriter::new(slow);
    for _ in 0..64 {
        assert!(now(|cx| lines.poll_ready(cx)).is_ready());
        lines.send(line(300));
    }
    assert!(now(|cx| lines.poll_flush(cx)).is_ready());
    let slow = lines.stream.as_ref().unwrap();
    assert_eq!(slow.writes, 1);
    assert_eq!(slow.written.lock().unwrap().len(), 64 * 300);
}

#[test]
fn lines_of_mixed_length_leave_in_one_vectored_write() {
    let mut lines = LineWriter::new(Slow::new(vec![usize::MAX], true));
    for len in [10, 10_000, 20, 30, 5000, 4096, 4097, 1] {
        lines.send(line(len));
    }
    assert!(now(|cx| lines.poll_flush(cx)).is_ready());
    assert_eq!(lines.stream.as_ref().unwrap().writes, 1);
}

#[tokio::test]
async fn a_full_queue_is_not_ready_until_it_was_written() {
    let (stream, mut peer) = duplex(1024);
    let mut lines = LineWriter::new(stream);
    let mut sent = 0;
    while now(|cx| lines.poll_ready(cx)).is_ready() {
        lines.send(line(1000));
        sent += 1000;
        assert!(sent < QUEUED_BYTES + 4096, "{sent} bytes and still ready");
    }
    // The proxy's own lines may come nonetheless.
    lines.send(line(50_000));
    sent += 50_000;
    let writing = async {
        poll_fn(|cx| lines.poll_ready(cx)).await.unwrap();
        poll_fn(|cx| lines.poll_close(cx, Closing::Gentle)).await.unwrap();
        assert!(lines.is_closed());
    };
    let mut got = Vec::new();
    let ((), read) = tokio::join!(writing, peer.read_to_end(&mut got));
    assert_eq!(read.unwrap(), sent, "nothing is lost, and the stream was dropped");
}

#[test]
fn a_failed_write_fails_everything_after_it() {
    let mut lines = LineWriter::new(Broken);
    lines.send(line(10));
    for _ in 0..2 {
        let Poll::Ready(Err(error)) = now(|cx| lines.poll_flush(cx)) else { panic!("no error") };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        lines.send(line(10));
        assert_eq!(lines.queued_bytes, 0, "kept what nobody will read");
    }
    assert!(matches!(now(|cx| lines.poll_ready(cx)), Poll::Ready(Err(_))));
    assert!(matches!(now(|cx| lines.poll_close(cx, Closing::Gentle)), Poll::Ready(Err(_))));
    assert!(now(|cx| lines.poll_gone(cx)).is_ready());
}

#[test]
fn an_error_of_the_system_keeps_its_code() {
    let failed = Failed::from(&io::Error::from_raw_os_error(32));
    assert_eq!(io::Error::from(failed).raw_os_error(), Some(32));
}

#[test]
fn urgent_closing_does_not_wait_for_the_peer() {
    let (stream, _peer) = duplex(16);
    let mut lines = LineWriter::new(stream);
    lines.send(line(1000));
    assert!(now(|cx| lines.poll_close(cx, Closing::Gentle)).is_pending());
    assert!(matches!(now(|cx| lines.poll_close(cx, Closing::Urgent)), Poll::Ready(Ok(()))));
    assert!(lines.is_closed());
    assert!(matches!(now(|cx| lines.poll_close(cx, Closing::Urgent)), Poll::Ready(Ok(()))));
    assert!(matches!(now(|cx| lines.poll_ready(cx)), Poll::Ready(Err(_))));
    lines.send(line(10));
    assert!(matches!(now(|cx| lines.poll_flush(cx)), Poll::Ready(Ok(()))));
}

#[test]
fn gone_is_told_again_and_again() {
    let (gone, is_gone) = tokio::sync::oneshot::channel::<()>();
    let mut lines = LineWriter::new(Slow::new(vec![1], true)).with_gone(async {
        let _ = is_gone.await;
    });
    assert!(now(|cx| lines.poll_gone(cx)).is_pending());
    drop(gone);
    assert!(now(|cx| lines.poll_gone(cx)).is_ready());
    assert!(now(|cx| lines.poll_gone(cx)).is_ready());
}

proptest! {
    #[test]
    fn any_lines_through_any_partial_writes_come_out_the_same(
        lens in proptest::collection::vec(
            prop_oneof![1usize..200, 4000usize..4200, 10_000usize..80_000], 1..60),
        steps in proptest::collection::vec(prop_oneof![Just(0usize), 1usize..40_000], 1..8),
        vectored in any::<bool>(),
        flush_every in 1usize..20,
    ) {
        let steps = if steps.iter().all(|step| *step == 0) { vec![0, 5000] } else { steps };
        let slow = Slow::new(steps, vectored);
        let written = Arc::clone(&slow.written);
        let mut lines = LineWriter::new(slow);
        let mut expected = Vec::new();
        for (n, len) in lens.iter().enumerate() {
            let fill = b'a' + u8::try_from(n % 26).unwrap();
            let bytes = Bytes::from(vec![fill; *len]);
            expected.extend_from_slice(&bytes);
            if n % 3 == 0 {
                lines.send_part(Part { bytes, last: n % 2 == 0 });
            } else {
                lines.send(Line::from_wire(bytes));
            }
            if n % flush_every == 0 {
                let _ = now(|cx| lines.poll_flush(cx));
            }
        }
        while now(|cx| lines.poll_close(cx, Closing::Gentle)).is_pending() {}
        prop_assert_eq!(&*written.lock().unwrap(), &expected);
    }
}
