//! One event of a stream.

use std::collections::VecDeque;
use std::fmt;

use bytes::{BufMut as _, Bytes, BytesMut};

/// An event's id: which stream it is of, and its number among the session's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl EventId {
    /// The id that a host says it saw last; `None` for one that no stream of ours has.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        let id = Self { stream: stream.parse().ok()?, number: number.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// What a stream carries to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: Option<EventId>,
    /// The message; nothing for an event that only says where a stream begins.
    pub(super) message: Bytes,
    /// What it is to the request that the stream is of.
    pub(super) role: Role,
}

/// What a message is to the request whose stream carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Something else.
    Beside,
    /// Its answer, or one of a batch's.
    Answer {
        /// The code, where it is an error.
        error: Option<i64>,
    },
}

/// Messages up to this length are sent in one piece with what surrounds them.
const COPIED_BYTES: usize = 16 << 10;

/// How long hosts are asked to wait before they open a stream again, in milliseconds: long enough
/// for whatever broke it to be over.
const RETRY: &[u8] = b"retry: 1000\n";

impl Event {
    /// How much memory it takes up, about, in bytes.
    pub(super) fn cost_bytes(&self) -> usize {
        self.message.len() + 64
    }

    /// Adds the event as it crosses the wire. Short ones become one piece with what is last there; a
    /// long message is not copied.
    pub(super) fn wire(&self, wire: &mut Wire) {
        let head = &mut wire.last;
        if !self.message.is_empty() {
            // Some clients take events without a name for none.
            head.put_slice(b"event: message\n");
        }
        if let Some(id) = self.id {
            head.put_slice(format!("id: {id}\n").as_bytes());
            if self.message.is_empty() {
                head.put_slice(RETRY);
            }
        }
        head.put_slice(b"data: ");
        let message = one_line(&self.message);
        if message.len() <= COPIED_BYTES {
            head.put_slice(&message);
        } else {
            wire.pieces.extend([head.split().freeze(), message]);
        }
        wire.last.put_slice(b"\n\n");
    }
}

/// What is about to cross the wire.
#[derive(Debug, Default)]
pub(super) struct Wire {
    pieces: VecDeque<Bytes>,
    /// What short ones are added to.
    last: BytesMut,
}

impl Wire {
    /// Whether enough is there to be sent.
    pub(super) fn is_plenty(&self) -> bool {
        !self.pieces.is_empty() || self.last.len() >= COPIED_BYTES
    }

    pub(super) fn len_bytes(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum::<usize>() + self.last.len()
    }

    /// A line that hosts take no notice of.
    pub(super) fn comment(&mut self) {
        self.last.put_slice(b": still here\n\n");
    }

    /// The next piece to send.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if let Some(piece) = self.pieces.pop_front() {
            return Some(piece);
        }
        (!self.last.is_empty()).then(|| self.last.split().freeze())
    }
}

/// A carriage return between two tokens is white space to JSON, but ends a line of a stream.
fn one_line(message: &Bytes) -> Bytes {
    if memchr::memchr2(b'\r', b'\n', message).is_none() {
        return message.clone();
    }
    let spaced = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
    message.iter().map(spaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(message: &[u8], id: Option<EventId>) -> String {
        let message = Bytes::copy_from_slice(message);
        let mut wire = Wire::default();
        Event { id, message, role: Role::Beside }.wire(&mut wire);
        let len_bytes = wire.len_bytes();
        let all: Vec<u8> = std::iter::from_fn(|| wire.next()).flatten().collect();
        assert_eq!(all.len(), len_bytes);
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn an_event_has_its_message_on_one_line() {
        let id = EventId { stream: 3, number: 17 };
        assert_eq!(wire(b"{}", None), "event: message\ndata: {}\n\n");
        assert_eq!(wire(b"{}", Some(id)), "event: message\nid: 3-17\ndata: {}\n\n");
        assert_eq!(wire(b"", Some(id)), "id: 3-17\nretry: 1000\ndata: \n\n");
        assert_eq!(wire(b"{\r\"a\":\r\n1}", None), "event: message\ndata: { \"a\":  1}\n\n");
    }

    #[test]
    fn a_long_message_is_not_copied() {
        let message = Bytes::from(vec![b'1'; COPIED_BYTES + 1]);
        let event =
            |message: &Bytes| Event { id: None, message: message.clone(), role: Role::Beside };
        let mut wire = Wire::default();
        event(&Bytes::from_static(b"{}")).wire(&mut wire);
        assert!(!wire.is_plenty());
        event(&message).wire(&mut wire);
        event(&Bytes::from_static(b"[]")).wire(&mut wire);
        let pieces: Vec<Bytes> = std::iter::from_fn(|| wire.next()).collect();
        assert_eq!(pieces[0], "event: message\ndata: {}\n\nevent: message\ndata: ");
        assert_eq!(pieces[1].as_ptr(), message.as_ptr());
        assert_eq!(pieces[2], "\n\nevent: message\ndata: []\n\n");
    }

    #[test]
    fn only_ids_of_our_own_making_are_read() {
        let id = EventId { stream: 3, number: 17 };
        assert_eq!(EventId::parse("3-17"), Some(id));
        for other in ["", "3", "3-", "-17", "03-17", "+3-17", "3-17-1", "3-17 ", "a-b"] {
            assert_eq!(EventId::parse(other), None, "{other:?}");
        }
    }
}
