//! Finding where JSON values end, in a stream that is not held in memory.
//!
//! A file of results is one JSON value of hundreds of megabytes. This walks over it and hands out
//! single values as the text they are written in. Whether what is walked over is good JSON is not
//! checked beyond strings and brackets; what is handed out is, by whoever reads it.

use std::io::{self, BufRead};

/// Where a byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Bytes before it.
    pub(super) offset: u64,
    /// Its line, from 1.
    pub(super) line: u64,
    /// Its column in that line, in bytes from 1.
    pub(super) column: u64,
}

impl Place {
    pub(super) const START: Self = Self { offset: 0, line: 1, column: 1 };

    /// The place behind these bytes.
    fn behind(self, bytes: &[u8]) -> Self {
        let offset = self.offset + bytes.len() as u64;
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            return Self { offset, line: self.line, column: self.column + bytes.len() as u64 };
        };
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        Self { offset, line: self.line + lines, column: (bytes.len() - last) as u64 }
    }
}

/// Why walking on is not possible.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    /// The text ends in the middle of a value.
    Cut,
    /// The text is no JSON here.
    Syntax(&'static str),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Whether a value was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Whole,
    /// It is longer than what may be kept.
    TooLong {
        len_bytes: u64,
    },
}

/// Walks over JSON text.
#[derive(Debug)]
pub(super) struct Scanner<R> {
    input: R,
    place: Place,
}

impl<R: BufRead> Scanner<R> {
    /// A scanner of what `input` gives from this place on.
    pub(super) fn new(input: R, place: Place) -> Self {
        Self { input, place }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn into_inner(self) -> R {
        self.input
    }

    /// The next byte that is no white space, which stays; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            let chunk = fill(&mut self.input)?;
            // A byte order mark, which some editors put in front.
            let mark = usize::try_from(self.place.offset).ok().and_then(|at| BOM.get(at));
            if mark.is_some() && chunk.first() == mark {
                self.advance(1);
                continue;
            }
            let blank = chunk.iter().take_while(|byte| is_space(**byte)).count();
            let found = chunk.get(blank).copied();
            let at_end = chunk.is_empty();
            self.advance(blank);
            if found.is_some() || at_end {
                return Ok(found);
            }
        }
    }

    /// As [`peek`](Self::peek), where the text must not end.
    pub(super) fn peek_inside(&mut self) -> Result<u8, Fault> {
        self.peek()?.ok_or(Fault::Cut)
    }

    /// Goes over the byte that was peeked at.
    pub(super) fn take(&mut self) {
        self.advance(1);
    }

    /// Goes over a member's name and the colon behind it.
    pub(super) fn key(&mut self, into: &mut Vec<u8>) -> Result<(), Fault> {
        if self.peek_inside()? != b'"' {
            return Err(Fault::Syntax("a member's name was expected"));
        }
        self.value(Some((into, MAX_KEY_BYTES)))?;
        if self.peek_inside()? != b':' {
            return Err(Fault::Syntax("a colon was expected"));
        }
        self.take();
        Ok(())
    }

    /// Goes over a value, and keeps its text if there is something to keep it in.
    pub(super) fn value(&mut self, keep: Option<(&mut Vec<u8>, usize)>) -> Result<Kept, Fault> {
        let mut walk = Walk::begin(self.peek_inside()?)?;
        let (mut keep, max_bytes) = match keep {
            Some((buffer, max_bytes)) => {
                buffer.clear();
                // One huge value must not keep its memory for the rest of the file.
                buffer.shrink_to(4 << 20);
                (Some(buffer), max_bytes)
            }
            None => (None, 0),
        };
        let start = self.place.offset;
        loop {
            let chunk = fill(&mut self.input)?;
            if chunk.is_empty() {
                return if walk.may_end() { Ok(Kept::Whole) } else { Err(Fault::Cut) };
            }
            let (used, over) = walk.on(chunk);
            if let Some(buffer) = &mut keep
                && buffer.len() + used <= max_bytes
            {
                buffer.extend_from_slice(&chunk[..used]);
            }
            self.advance(used);
            match over {
                Over::No => {}
                Over::Mismatch => return Err(Fault::Syntax("a bracket closes what is not open")),
                Over::Yes => break,
            }
        }
        let len_bytes = self.place.offset - start;
        match keep {
            Some(_) if len_bytes > max_bytes as u64 => Ok(Kept::TooLong { len_bytes }),
            _ => Ok(Kept::Whole),
        }
    }

    fn advance(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // What was peeked at is there still: nothing was consumed since.
        if let Ok(chunk) = self.input.fill_buf() {
            let bytes = bytes.min(chunk.len());
            self.place = self.place.behind(&chunk[..bytes]);
            self.input.consume(bytes);
        }
    }
}

/// The longest name of a member that is kept; longer ones are not those that count.
const MAX_KEY_BYTES: usize = 256;

const BOM: [u8; 3] = *b"\xef\xbb\xbf";

fn fill<R: BufRead>(input: &mut R) -> io::Result<&[u8]> {
    // The borrow checker does not see that what an interrupted try returned is gone.
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    input.fill_buf()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// How far into a value one is.
#[derive(Debug)]
struct Walk {
    /// The closing brackets that are awaited.
    open: Vec<u8>,
    in_string: bool,
    escaped: bool,
    scalar: bool,
}

enum Over {
    No,
    Yes,
    Mismatch,
}

impl Walk {
    fn begin(first: u8) -> Result<Self, Fault> {
        let scalar = match first {
            b'{' | b'[' | b'"' => false,
            b',' | b':' | b'}' | b']' => return Err(Fault::Syntax("a value was expected")),
            _ => true,
        };
        Ok(Self { open: Vec::new(), in_string: false, escaped: false, scalar })
    }

    /// Whether the text may end here: only a number or a word has no end of its own.
    fn may_end(&self) -> bool {
        self.scalar
    }

    /// Goes over bytes: how many of them are of the value, and whether it ends there.
    fn on(&mut self, chunk: &[u8]) -> (usize, Over) {
        if self.scalar {
            let ends = |byte: &u8| is_space(*byte) || b",:{}[]\"".contains(byte);
            return match chunk.iter().position(ends) {
                Some(end) => (end, Over::Yes),
                None => (chunk.len(), Over::No),
            };
        }
        let mut at = 0;
        while at < chunk.len() {
            if self.in_string {
                if std::mem::take(&mut self.escaped) {
                    at += 1;
                    continue;
                }
                let Some(found) = memchr::memchr2(b'"', b'\\', &chunk[at..]) else { break };
                at += found + 1;
                if chunk[at - 1] == b'\\' {
                    self.escaped = true;
                    continue;
                }
                self.in_string = false;
                if self.open.is_empty() {
                    return (at, Over::Yes);
                }
                continue;
            }
            let byte = chunk[at];
            at += 1;
            match byte {
                b'"' => self.in_string = true,
                b'{' => self.open.push(b'}'),
                b'[' => self.open.push(b']'),
                b'}' | b']' => {
                    if self.open.pop() != Some(byte) {
                        return (at - 1, Over::Mismatch);
                    }
                    if self.open.is_empty() {
                        return (at, Over::Yes);
                    }
                }
                _ => {}
            }
        }
        (chunk.len(), Over::No)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// The values in a row, each with its place, in chunks of each size.
    #[track_caller]
    fn check(text: &str, expected: &[(&str, u64, u64)]) {
        for size in [1, 2, 3, 7, 1 << 16] {
            let mut scanner =
                Scanner::new(BufReader::with_capacity(size, text.as_bytes()), Place::START);
            let mut found = Vec::new();
            let mut buffer = Vec::new();
            while scanner.peek().unwrap().is_some() {
                let place = scanner.place();
                let kept = scanner.value(Some((&mut buffer, 100))).unwrap();
                assert_eq!(kept, Kept::Whole, "{text}");
                let value = String::from_utf8(buffer.clone()).unwrap();
                found.push((value, place.line, place.column));
            }
            let found: Vec<_> = found.iter().map(|(v, l, c)| (v.as_str(), *l, *c)).collect();
            assert_eq!(found, expected, "in chunks of {size}");
            assert_eq!(scanner.place().offset, text.len() as u64);
        }
    }

    #[track_caller]
    fn fails(text: &str, what: &str, line: u64, column: u64) {
        for size in [1, 5, 1 << 16] {
            let mut scanner =
                Scanner::new(BufReader::with_capacity(size, text.as_bytes()), Place::START);
            let fault = loop {
                match scanner.value(None) {
                    Ok(_) => {}
                    Err(fault) => break fault,
                }
            };
            let said = match fault {
                Fault::Cut => "cut",
                Fault::Syntax(what) => what,
                Fault::Io(_) => unreachable!(),
            };
            let place = scanner.place();
            assert_eq!((said, place.line, place.column), (what, line, column), "{text}");
        }
    }

    #[test]
    fn values_are_told_apart() {
        check(
            r#" {"a":"}\"]\\"} [1,[2]]"x"12 null"#,
            &[
                (r#"{"a":"}\"]\\"}"#, 1, 2),
                ("[1,[2]]", 1, 17),
                ("\"x\"", 1, 24),
                ("12", 1, 27),
                ("null", 1, 30),
            ],
        );
        check("\u{feff}[\n\n]\n  true\n", &[("[\n\n]", 1, 4), ("true", 4, 3)]);
        check("", &[]);
    }

    #[test]
    fn what_is_cut_or_no_json_is_said_with_its_place() {
        fails("{\"a\":[1,\n\"x", "cut", 2, 3);
        fails("\"\\", "cut", 1, 3);
        fails("1 ", "cut", 1, 3);
        fails("{\n  \"a\": [1}]", "a bracket closes what is not open", 2, 10);
        fails(" , ", "a value was expected", 1, 2);
    }

    #[test]
    fn a_value_over_the_limit_is_gone_over() {
        let mut scanner = Scanner::new(&b"[1,2,3,4] 5"[..], Place::START);
        let mut buffer = Vec::new();
        let kept = scanner.value(Some((&mut buffer, 4))).unwrap();
        assert_eq!(kept, Kept::TooLong { len_bytes: 9 });
        assert_eq!(scanner.value(Some((&mut buffer, 4))).unwrap(), Kept::Whole);
        assert_eq!(buffer, b"5");
    }
}
