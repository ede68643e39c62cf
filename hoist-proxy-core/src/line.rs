//! One message as it crossed the wire.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

/// How a line ended on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Terminator {
    /// The stream ended before the line did.
    None,
    /// A line feed, 0x0A.
    Lf,
    /// A carriage return and a line feed, 0x0D 0x0A.
    CrLf,
}

impl Terminator {
    /// The terminator that `wire` ends with.
    pub fn of(wire: &[u8]) -> Self {
        match wire {
            [.., b'\r', b'\n'] => Self::CrLf,
            [.., b'\n'] => Self::Lf,
            _ => Self::None,
        }
    }

    /// Its length on the wire, in bytes.
    pub fn len_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Lf => 1,
            Self::CrLf => 2,
        }
    }
}

/// One line of MCP's stdio form: exactly the bytes that were read, or that will be written.
///
/// Only 0x0A ends a line. A line need not be JSON, nor UTF-8; [`Message`](crate::Message) is the
/// view that says whether it is. Cloning is cheap: the bytes are shared.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Line, Terminator};
///
/// let line = Line::from_wire("{\"jsonrpc\":\"2.0\"}\r\n");
/// assert_eq!(line.body(), b"{\"jsonrpc\":\"2.0\"}");
/// assert_eq!(line.terminator(), Terminator::CrLf);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Line {
    wire: Bytes,
    terminator: Terminator,
}

impl Line {
    /// A line from its bytes on the wire, terminator included (or absent, for an unterminated
    /// last line).
    pub fn from_wire(wire: impl Into<Bytes>) -> Self {
        let wire = wire.into();
        let terminator = Terminator::of(&wire);
        Self { wire, terminator }
    }

    /// A new line with this body, ended by a line feed.
    ///
    /// A raw CR or LF inside `body` becomes a space: in a JSON text those bytes can only be
    /// insignificant white space, and a line must stay one line.
    pub fn from_body(body: &[u8]) -> Self {
        let mut wire = BytesMut::with_capacity(body.len() + 1);
        wire.put_slice(body);
        if memchr::memchr2(b'\n', b'\r', body).is_some() {
            for byte in &mut wire[..] {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        wire.put_u8(b'\n');
        Self { wire: wire.freeze(), terminator: Terminator::Lf }
    }

    /// The same line with another body, which must be free of line feeds; the terminator stays,
    /// and an unterminated line becomes one that ends with a line feed.
    #[must_use]
    pub(crate) fn with_body(&self, body: &[u8]) -> Self {
        let terminator: &[u8] = match self.terminator {
            Terminator::CrLf => b"\r\n",
            Terminator::Lf | Terminator::None => b"\n",
        };
        let mut wire = BytesMut::with_capacity(body.len() + terminator.len());
        wire.put_slice(body);
        wire.put_slice(terminator);
        Self::from_wire(wire.freeze())
    }

    /// The line's bytes without its terminator.
    pub fn body(&self) -> &[u8] {
        &self.wire[..self.wire.len() - self.terminator.len_bytes()]
    }

    /// The same, as shared bytes.
    pub fn body_bytes(&self) -> Bytes {
        self.wire.slice(..self.wire.len() - self.terminator.len_bytes())
    }

    /// The line's bytes as they cross the wire, terminator included.
    pub fn wire(&self) -> &Bytes {
        &self.wire
    }

    /// The line's bytes as they cross the wire, terminator included.
    pub fn into_wire(self) -> Bytes {
        self.wire
    }

    /// How the line ends.
    pub fn terminator(&self) -> Terminator {
        self.terminator
    }

    /// Whether the first byte that is not white space (or a byte order mark) opens a JSON array,
    /// which makes the line a batch (MCP 2025-03-26).
    pub fn is_array(&self) -> bool {
        first_byte(self.body()) == Some(b'[')
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 200;
        let body = self.body();
        let cut = &body[..body.len().min(SHOWN)];
        write!(f, "Line({:?}", String::from_utf8_lossy(cut))?;
        if body.len() > SHOWN {
            write!(f, "… {} bytes", body.len())?;
        }
        write!(f, ", {:?})", self.terminator)
    }
}

/// The UTF-8 byte order mark, which some peers put before their first message.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// `body` without a leading byte order mark.
pub(crate) fn without_bom(body: &[u8]) -> &[u8] {
    body.strip_prefix(BOM).unwrap_or(body)
}

/// The first byte of `body` that is neither JSON white space nor part of a byte order mark.
pub(crate) fn first_byte(body: &[u8]) -> Option<u8> {
    let body = without_bom(body.trim_ascii_start());
    body.iter().copied().find(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_wire_keeps_the_bytes_and_finds_the_terminator() {
        for (wire, body, terminator) in [
            (&b"abc\n"[..], &b"abc"[..], Terminator::Lf),
            (b"abc\r\n", b"abc", Terminator::CrLf),
            (b"abc", b"abc", Terminator::None),
            (b"abc\r", b"abc\r", Terminator::None),
            (b"\n", b"", Terminator::Lf),
            (b"\r\n", b"", Terminator::CrLf),
            (b"", b"", Terminator::None),
        ] {
            let line = Line::from_wire(wire.to_vec());
            assert_eq!(line.body(), body, "{wire:?}");
            assert_eq!(line.body_bytes(), body, "{wire:?}");
            assert_eq!(line.terminator(), terminator, "{wire:?}");
            assert_eq!(line.wire(), wire, "{wire:?}");
        }
    }

    #[test]
    fn from_body_stays_one_line() {
        let line = Line::from_body(b"{\r\n \"a\": 1\n}");
        assert_eq!(line.wire(), &b"{   \"a\": 1 }\n"[..]);
    }

    #[test]
    fn an_array_is_seen_behind_white_space_and_a_bom() {
        assert!(Line::from_wire("\u{feff} \t[1]\n").is_array());
        assert!(Line::from_wire(" \u{feff}[1]\n").is_array());
        assert!(!Line::from_wire("{\"a\":[1]}\n").is_array());
        assert!(!Line::from_wire("\n").is_array());
    }
}
