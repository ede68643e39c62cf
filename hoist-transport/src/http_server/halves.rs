//! The two directions of a session over HTTP, as the engine sees them.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, ready};

use hoist_proxy_core::{Closing, Frame, Framing, Line, ReadLines, WriteLines};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::PollSender;

use super::shared::Waiting;

/// What the server says.
pub(super) struct HttpReader {
    pub(super) frames: mpsc::Receiver<Waiting>,
}

impl ReadLines for HttpReader {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        _framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        // What is over the limit was not let in: only that it came is said.
        self.frames.poll_recv(cx).map(|waiting| waiting.map(|waiting| Ok(waiting.frame)))
    }
}

/// What is said to the server.
pub(super) struct HttpWriter {
    lines: PollSender<Line>,
    /// Lines that came without having been asked for.
    waiting: VecDeque<Line>,
    urgent: watch::Sender<bool>,
    is_closed: bool,
}

impl HttpWriter {
    pub(super) fn new(lines: mpsc::Sender<Line>, urgent: watch::Sender<bool>) -> Self {
        Self { lines: PollSender::new(lines), waiting: VecDeque::new(), urgent, is_closed: false }
    }

    fn poll_hand_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            ready!(self.lines.poll_reserve(cx)).map_err(gone)?;
            if let Some(line) = self.waiting.pop_front() {
                self.lines.send_item(line).map_err(gone)?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn gone<E>(_: E) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the session with the server is over")
}

impl WriteLines for HttpWriter {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_hand_over(cx))?;
        self.lines.poll_reserve(cx).map_err(gone)
    }

    fn send(&mut self, line: Line) {
        self.waiting.push_back(line);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_hand_over(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, closing: Closing) -> Poll<io::Result<()>> {
        if closing == Closing::Urgent {
            self.urgent.send_replace(true);
        }
        if !self.is_closed {
            ready!(self.poll_hand_over(cx))?;
            // A place that was kept for another line would keep the channel open.
            self.lines.abort_send();
            self.lines.close();
            self.is_closed = true;
        }
        Poll::Ready(Ok(()))
    }
}
