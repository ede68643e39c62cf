//! The two directions of a child, and how its supervisor learns that it must end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hoist_proxy_core::{Closing, Frame, Framing, Line, Part, ReadLines, WriteLines};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{oneshot, watch};

use crate::{LineReader, LineWriter};

/// What the supervisor is told of the child's connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    /// The child's input was closed, or is to be once the child has read it, for no other reason
    /// than that there is nothing more for it.
    pub(super) input_over: bool,
    pub(super) must_end: bool,
}

/// Tells the supervisor that the child must end. That the last of them is dropped says the same:
/// nobody waits for the child any more.
#[derive(Debug, Clone)]
pub(super) struct Urgent(watch::Sender<Told>);

impl Urgent {
    pub(super) fn channel() -> (Self, watch::Receiver<Told>) {
        let (to, from) = watch::channel(Told::default());
        (Self(to), from)
    }

    fn tell(&self) {
        self.0.send_if_modified(|told| !std::mem::replace(&mut told.must_end, true));
    }

    fn tell_input_over(&self) {
        self.0.send_if_modified(|told| !std::mem::replace(&mut told.input_over, true));
    }
}

/// The supervisor's end of [`CutOff`].
#[derive(Debug)]
pub(super) struct CutOffSender {
    fired: oneshot::Sender<()>,
    at_once: Arc<AtomicBool>,
}

impl CutOffSender {
    /// Resolves once nobody reads.
    pub(super) async fn closed(&mut self) {
        self.fired.closed().await;
    }

    /// Has the output end: at once, or once it has run dry.
    pub(super) fn fire(self, at_once: bool) {
        self.at_once.store(at_once, Ordering::Relaxed);
        let _ = self.fired.send(());
    }
}

/// Ends the output of a child that is gone, while a process that left the child's group still
/// holds it open.
#[derive(Debug)]
pub(super) struct CutOff {
    fired: Option<oneshot::Receiver<()>>,
    at_once: Arc<AtomicBool>,
}

impl CutOff {
    pub(super) fn channel() -> (CutOffSender, Self) {
        let (to, from) = oneshot::channel();
        let at_once = Arc::new(AtomicBool::new(false));
        (
            CutOffSender { fired: to, at_once: Arc::clone(&at_once) },
            Self { fired: Some(from), at_once },
        )
    }

    /// Whether it has fired. A supervisor that was dropped with its runtime never fires.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(fired) = &mut self.fired else { return true };
        match Pin::new(fired).poll(cx) {
            Poll::Ready(Ok(())) => {
                self.fired = None;
                true
            }
            _ => false,
        }
    }
}

/// Lines from a child's standard output.
#[derive(Debug)]
pub(super) struct ChildReader {
    pub(super) lines: LineReader<ChildStdout>,
    pub(super) cut_off: CutOff,
    pub(super) urgent: Urgent,
}

impl ReadLines for ChildReader {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        if self.cut_off.at_once.load(Ordering::Relaxed) {
            self.lines.end();
        }
        let polled = self.lines.poll_frame(cx, framing);
        if polled.is_pending() && self.cut_off.poll(cx) {
            self.lines.end();
            return self.lines.poll_frame(cx, framing);
        }
        polled
    }
}

impl Drop for ChildReader {
    fn drop(&mut self) {
        if !self.lines.has_ended() {
            self.urgent.tell();
        }
    }
}

/// Lines to a child's standard input.
#[derive(Debug)]
pub(super) struct ChildWriter {
    pub(super) lines: LineWriter<ChildStdin>,
    pub(super) urgent: Urgent,
}

impl WriteLines for ChildWriter {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lines.poll_ready(cx)
    }

    fn send(&mut self, line: Line) {
        self.lines.send(line);
    }

    fn send_part(&mut self, part: Part) {
        self.lines.send_part(part);
    }

    fn accepts_parts(&self) -> bool {
        self.lines.accepts_parts()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lines.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, closing: Closing) -> Poll<io::Result<()>> {
        if closing == Closing::Urgent {
            self.urgent.tell();
        } else {
            self.urgent.tell_input_over();
        }
        self.lines.poll_close(cx, closing)
    }
}

impl Drop for ChildWriter {
    fn drop(&mut self) {
        if !self.lines.is_closed() {
            self.urgent.tell();
        }
    }
}
