//! One direction of an in-memory connection: a bounded queue of lines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::Line;

/// A bounded queue between one writer and one reader.
#[derive(Debug)]
pub(super) struct Pipe(Mutex<State>);

#[derive(Debug)]
struct State {
    lines: VecDeque<Line>,
    capacity: usize,
    writer_closed: bool,
    reader_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Nobody reads the pipe any more.
#[derive(Debug)]
pub(super) struct Gone;

impl Pipe {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            lines: VecDeque::new(),
            capacity: capacity.max(1),
            writer_closed: false,
            reader_closed: false,
            reader: None,
            writer: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn poll_read(&self, cx: &mut Context<'_>) -> Poll<Option<Line>> {
        let mut state = self.state();
        if let Some(line) = state.lines.pop_front() {
            wake(state.writer.take());
            return Poll::Ready(Some(line));
        }
        if state.writer_closed {
            return Poll::Ready(None);
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn try_read(&self) -> Option<Line> {
        let mut state = self.state();
        let line = state.lines.pop_front();
        wake(state.writer.take());
        line
    }

    /// Whether a line may be written now.
    pub(super) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        let mut state = self.state();
        if state.reader_closed {
            return Poll::Ready(Err(Gone));
        }
        if state.lines.len() < state.capacity {
            return Poll::Ready(Ok(()));
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Writes a line, whether there is room or not.
    pub(super) fn write(&self, line: Line) {
        let mut state = self.state();
        if !state.reader_closed && !state.writer_closed {
            state.lines.push_back(line);
            wake(state.reader.take());
        }
    }

    pub(super) fn has_room(&self) -> bool {
        let state = self.state();
        !state.reader_closed && state.lines.len() < state.capacity
    }

    pub(super) fn close_writer(&self) {
        let mut state = self.state();
        state.writer_closed = true;
        wake(state.reader.take());
    }

    pub(super) fn close_reader(&self) {
        let mut state = self.state();
        state.reader_closed = true;
        state.lines.clear();
        wake(state.writer.take());
    }

    /// Ready once nobody reads any more.
    pub(super) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.reader_closed {
            return Poll::Ready(());
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
