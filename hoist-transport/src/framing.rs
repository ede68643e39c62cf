//! Newline framing: cuts a byte stream into frames. No I/O.
//!
//! Only 0x0A ends a line. A carriage return, U+2028 and the like are content.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use hoist_proxy_core::json::EnvelopeScanner;
use hoist_proxy_core::{Frame, Framing, Line, Part, TooLong};

/// A partial line at least this long is set aside rather than copied when the buffer is full.
const SET_ASIDE_BYTES: usize = 16 * 1024;

/// Cuts a byte stream into frames.
///
/// Read into [`buffer`](Self::buffer), then take frames with [`next`](Self::next) until there is
/// none; at the end of the stream take the rest with [`finish`](Self::finish). Frames share the
/// buffer's memory: nothing is copied, except for a line that did not fit into one buffer and
/// that is wanted whole.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Frame, Framing};
/// use hoist_transport::Framer;
///
/// let framing = Framing::Whole { max_bytes: 1024 };
/// let mut framer = Framer::new();
/// framer.buffer(64).extend_from_slice(b"one\ntw");
/// let Some(Frame::Line(one)) = framer.next(framing) else { panic!("a line is there") };
/// assert_eq!(one.body(), b"one");
/// assert_eq!(framer.next(framing), None);
///
/// framer.buffer(64).extend_from_slice(b"o");
/// let Some(Frame::Line(two)) = framer.finish(framing) else { panic!("a rest is there") };
/// assert_eq!(two.wire(), &b"two"[..]);
/// ```
#[derive(Debug, Default)]
pub struct Framer {
    /// What was read and not given yet, less what was set aside.
    buffer: BytesMut,
    /// How many bytes of `buffer` are known to hold no line end.
    searched: usize,
    /// The start of the current line, from buffers that were full. Holds no line end.
    aside: VecDeque<Bytes>,
    /// The length of `aside`, in bytes.
    aside_bytes: usize,
    current: Current,
}

/// What becomes of the current line.
#[derive(Debug, Default)]
enum Current {
    /// It is waited for.
    #[default]
    Whole,
    /// It is given in parts.
    Parts,
    /// It is too long and not kept.
    Dropped { len_bytes: u64, scanner: Box<EnvelopeScanner> },
}

impl Framer {
    /// A framer at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where to append what is read: room for a good part of `read_bytes` is there.
    ///
    /// Call it after [`next`](Self::next) gave nothing. The memory of frames that were dropped is
    /// used again.
    pub fn buffer(&mut self, read_bytes: usize) -> &mut BytesMut {
        let spare = self.buffer.capacity() - self.buffer.len();
        if spare < read_bytes.div_ceil(4) {
            let held = self.buffer.len();
            // A new buffer starts with a copy of the partial line. A long one must not be copied
            // over and over.
            if held >= SET_ASIDE_BYTES && self.searched == held {
                let start = self.take(held);
                self.aside_bytes += start.len();
                self.aside.push_back(start);
            }
            self.buffer.reserve(read_bytes);
        }
        &mut self.buffer
    }

    /// The next frame of what was read; `None` when more is needed.
    pub fn next(&mut self, framing: Framing) -> Option<Frame> {
        if matches!(self.current, Current::Dropped { .. }) {
            return self.next_dropped();
        }
        let (limit_bytes, cut_through) = match framing {
            Framing::Raw => return self.next_raw(),
            Framing::CutThrough { whole_bytes } => (whole_bytes, true),
            Framing::Whole { max_bytes } => (max_bytes, false),
            // A framing this crate does not know yet: whole lines suit any.
            _ => (usize::MAX, false),
        };
        if matches!(self.current, Current::Parts) {
            return self.next_part();
        }
        let end = self.line_end();
        let seen_bytes = self.aside_bytes + end.unwrap_or(self.buffer.len());
        if seen_bytes <= limit_bytes {
            return end.map(|end| self.whole_line(end));
        }
        if cut_through {
            self.current = Current::Parts;
            return self.next_part();
        }
        let mut scanner = Box::<EnvelopeScanner>::default();
        for chunk in self.aside.drain(..) {
            scanner.feed(&chunk);
        }
        let len_bytes = std::mem::take(&mut self.aside_bytes) as u64;
        self.current = Current::Dropped { len_bytes, scanner };
        self.next_dropped()
    }

    /// What is left at the end of the stream: call it until it gives nothing.
    pub fn finish(&mut self, framing: Framing) -> Option<Frame> {
        if let Some(frame) = self.next(framing) {
            return Some(frame);
        }
        match std::mem::take(&mut self.current) {
            Current::Dropped { len_bytes, scanner } => Some(too_long(len_bytes, *scanner)),
            // Its parts so far were given; whoever follows them must learn that it has ended.
            Current::Parts => Some(part(Bytes::new(), true)),
            Current::Whole if self.aside_bytes + self.buffer.len() == 0 => None,
            Current::Whole => Some(self.whole_line(self.buffer.len())),
        }
    }

    fn next_raw(&mut self) -> Option<Frame> {
        self.current = Current::Whole;
        if let Some(chunk) = self.take_aside() {
            return Some(part(chunk, false));
        }
        if self.buffer.is_empty() {
            return None;
        }
        let all = self.take(self.buffer.len());
        Some(part(all, false))
    }

    fn next_part(&mut self) -> Option<Frame> {
        if let Some(chunk) = self.take_aside() {
            return Some(part(chunk, false));
        }
        if let Some(end) = self.line_end() {
            self.current = Current::Whole;
            let rest = self.take(end);
            return Some(part(rest, true));
        }
        if self.buffer.is_empty() {
            return None;
        }
        let all = self.take(self.buffer.len());
        Some(part(all, false))
    }

    fn next_dropped(&mut self) -> Option<Frame> {
        let end = self.line_end();
        let Current::Dropped { len_bytes, scanner } = &mut self.current else { return None };
        let dropped = end.unwrap_or(self.buffer.len());
        scanner.feed(&self.buffer[..dropped]);
        *len_bytes += dropped as u64;
        self.searched = 0;
        if dropped == self.buffer.len() {
            self.buffer.clear();
        } else {
            self.buffer.advance(dropped);
        }
        end?;
        match std::mem::take(&mut self.current) {
            Current::Dropped { len_bytes, scanner } => Some(too_long(len_bytes, *scanner)),
            _ => None,
        }
    }

    /// The line made of what was set aside and the first `end` bytes of the buffer.
    fn whole_line(&mut self, end: usize) -> Frame {
        if self.aside.is_empty() {
            return Frame::Line(Line::from_wire(self.take(end)));
        }
        // Joined once, at its exact size: growing by doubling would copy it several times over
        // and end with up to twice the memory.
        let mut wire = Vec::with_capacity(self.aside_bytes + end);
        while let Some(chunk) = self.take_aside() {
            wire.extend_from_slice(&chunk);
        }
        wire.extend_from_slice(&self.take(end));
        Frame::Line(Line::from_wire(wire))
    }

    /// The position behind the first line end in the buffer.
    fn line_end(&mut self) -> Option<usize> {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        if found.is_none() {
            self.searched = self.buffer.len();
        }
        found.map(|at| self.searched + at + 1)
    }

    fn take(&mut self, len: usize) -> Bytes {
        self.searched = 0;
        self.buffer.split_to(len).freeze()
    }

    fn take_aside(&mut self) -> Option<Bytes> {
        let chunk = self.aside.pop_front()?;
        self.aside_bytes -= chunk.len();
        Some(chunk)
    }
}

fn part(bytes: Bytes, last: bool) -> Frame {
    Frame::Part(Part { bytes, last })
}

fn too_long(len_bytes: u64, scanner: EnvelopeScanner) -> Frame {
    Frame::TooLong(TooLong { len_bytes, envelope: scanner.finish() })
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
