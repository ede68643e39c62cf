//! The two halves of one side: what is read from it, what is written to it.

use std::task::{Context, Poll};

use bytes::Bytes;

use crate::{Closing, Direction, Line, Part, ReadLines, Terminator, WriteLines};

/// How many bytes of its own lines a session writes to a side that has no room before it stops
/// reading what gives rise to them.
const MAX_OVERDRAFT_BYTES: usize = 16 * 1024 * 1024;

/// The reading half of one side.
pub(super) struct Inlet {
    pub(super) reader: Box<dyn ReadLines>,
    pub(super) open: bool,
    /// Nothing more was there to be read; whatever comes wakes the session.
    pub(super) dry: bool,
    /// A line that is being passed on in parts.
    pub(super) partial: Partial,
}

impl Inlet {
    pub(super) fn new(reader: Box<dyn ReadLines>) -> Self {
        Self { reader, open: true, dry: false, partial: Partial::default() }
    }
}

/// The writing half of one side.
pub(super) struct Outlet {
    direction: Direction,
    pub(super) writer: Box<dyn WriteLines>,
    /// Writing failed, or nobody reads: what would be written is dropped.
    pub(super) dead: bool,
    pub(super) closed: Option<Closing>,
    pub(super) dirty: bool,
    /// Bytes of the proxy's own lines since the writer last had room.
    overdraft_bytes: usize,
    /// The last line had no end, since its sender went away in the middle of it.
    unterminated: bool,
}

impl Outlet {
    pub(super) fn new(direction: Direction, writer: Box<dyn WriteLines>) -> Self {
        Self {
            direction,
            writer,
            dead: false,
            closed: None,
            dirty: false,
            overdraft_bytes: 0,
            unterminated: false,
        }
    }

    pub(super) fn has_room(&mut self, cx: &mut Context<'_>) -> bool {
        if self.dead || self.closed.is_some() {
            return true;
        }
        match self.writer.poll_ready(cx) {
            Poll::Ready(Ok(())) => {
                self.overdraft_bytes = 0;
                true
            }
            Poll::Ready(Err(error)) => {
                self.failed(&error);
                true
            }
            Poll::Pending => false,
        }
    }

    pub(super) fn is_overdrawn(&mut self, cx: &mut Context<'_>) -> bool {
        self.overdraft_bytes > MAX_OVERDRAFT_BYTES && !self.has_room(cx)
    }

    /// A line of the proxy's own making, whether there is room or not.
    pub(super) fn overdraw(&mut self, line: Line) {
        self.overdraft_bytes += line.wire().len();
        self.send(line);
    }

    pub(super) fn send(&mut self, line: Line) {
        if !self.dead && self.closed.is_none() {
            if self.unterminated {
                // Or the two would be read as one.
                self.writer.send(Line::from_wire(&b"\n"[..]));
            }
            self.unterminated = line.terminator() == Terminator::None;
            self.writer.send(line);
            self.dirty = true;
        }
    }

    pub(super) fn send_part(&mut self, part: Part) {
        if !self.dead && self.closed.is_none() {
            self.writer.send_part(part);
            self.dirty = true;
        }
    }

    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        if self.dirty && !self.dead && self.closed.is_none() {
            match self.writer.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.dirty = false,
                Poll::Ready(Err(error)) => self.failed(&error),
                Poll::Pending => {}
            }
        }
    }

    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>, closing: Closing) -> Poll<()> {
        if self.closed == Some(closing) || self.closed == Some(Closing::Urgent) {
            return Poll::Ready(());
        }
        match self.writer.poll_close(cx, closing) {
            Poll::Ready(result) => {
                if let Err(error) = result {
                    self.failed(&error);
                }
                self.closed = Some(closing);
                self.dirty = false;
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    pub(super) fn failed(&mut self, error: &std::io::Error) {
        if !self.dead && !peer_left(error) {
            let receiver = self.direction.receiver();
            tracing::warn!("nothing more reaches the {receiver}: writing failed: {error}");
        }
        self.dead = true;
        self.dirty = false;
    }
}

/// Whether an error only says that the peer is gone, which is nothing to report. A full disk behind
/// an output, say, is.
pub(super) fn peer_left(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}

/// The kept bytes of a line that is passed on in parts.
#[derive(Default)]
pub(super) struct Partial {
    pub(super) chunks: Vec<Bytes>,
    pub(super) len_bytes: u64,
    pub(super) lost: bool,
}

impl Partial {
    pub(super) fn push(&mut self, bytes: &Bytes, max_bytes: usize) {
        self.len_bytes += bytes.len() as u64;
        if self.len_bytes > max_bytes as u64 {
            self.lost = true;
            self.chunks = Vec::new();
        } else if !self.lost && !bytes.is_empty() {
            self.chunks.push(bytes.clone());
        }
    }

    /// Takes the terminator off the end; it may lie across two chunks.
    pub(super) fn cut_terminator(&mut self) -> Terminator {
        let mut ends = self.chunks.iter().rev().flat_map(|c| c.iter().rev());
        let terminator = match (ends.next(), ends.next()) {
            (Some(b'\n'), Some(b'\r')) => Terminator::CrLf,
            (Some(b'\n'), _) => Terminator::Lf,
            _ => Terminator::None,
        };
        let mut left = terminator.len_bytes();
        while left > 0
            && let Some(last) = self.chunks.last_mut()
        {
            let cut = left.min(last.len());
            last.truncate(last.len() - cut);
            left -= cut;
            if last.is_empty() {
                self.chunks.pop();
            }
        }
        terminator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminator_is_cut_even_across_chunks() {
        for (chunks, want, terminator) in [
            (vec!["ab", "c\n"], "abc", Terminator::Lf),
            (vec!["abc\r", "\n"], "abc", Terminator::CrLf),
            (vec!["abc", "\r\n"], "abc", Terminator::CrLf),
            (vec!["abc\r\n"], "abc", Terminator::CrLf),
            (vec!["ab", "c"], "abc", Terminator::None),
            (vec!["\n"], "", Terminator::Lf),
        ] {
            let mut partial = Partial::default();
            for chunk in &chunks {
                partial.push(&Bytes::from(*chunk), 100);
            }
            assert_eq!(partial.cut_terminator(), terminator, "{chunks:?}");
            assert_eq!(partial.chunks.concat(), want.as_bytes(), "{chunks:?}");
        }
    }
}
