//! Whether a line is one JSON value.
//!
//! `serde_json` answers that for a line in one piece. A long line reaches the recorder in many, and
//! joining them would double the memory of the largest messages; `serde_json`'s reader for streams
//! takes one byte at a time, which is slower than such a message comes in. Hence an automaton of
//! our own for that case alone, which a property test holds to `serde_json`'s verdict.

use bytes::Bytes;
use serde_json::value::RawValue;

/// Whether these bytes together are exactly one JSON value in UTF-8 without a line feed, so that
/// they can stand in a log line as they are. Depth, number size and lone surrogates do not matter.
pub(super) fn is_one_value(chunks: &[Bytes]) -> bool {
    if let [line] = chunks {
        return memchr::memchr(b'\n', line).is_none()
            && serde_json::from_slice::<&RawValue>(line).is_ok();
    }
    let mut check = Check::default();
    chunks.iter().all(|chunk| check.feed(chunk)) && check.is_complete()
}

/// What may come next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Value,
    /// Behind `[`: a value or `]`.
    ValueOrEnd,
    /// Behind `{`: a key or `}`.
    KeyOrEnd,
    /// Behind `,` in an object.
    Key,
    Colon,
    /// Behind a value: `,`, a closing bracket, or the end.
    AfterValue,
    String {
        key: bool,
    },
    Escape {
        key: bool,
    },
    /// Behind `\u`, with so many digits left.
    Hex {
        key: bool,
        left: u8,
    },
    /// In a word, with this much left.
    Word(&'static [u8]),
    /// Behind `-`.
    Minus,
    /// Behind a leading zero.
    Zero,
    Integer,
    /// Behind the point, with no digit yet.
    Point,
    Fraction,
    /// Behind `e`.
    Exponent,
    /// Behind the exponent's sign.
    ExponentSign,
    ExponentDigits,
}

#[derive(Debug, Default)]
struct Check {
    state: State,
    /// The open brackets, one bit each: an object's is 1.
    open: Vec<u64>,
    depth: usize,
    /// The first bytes of a character that the last chunk ended in.
    partial: Vec<u8>,
}

impl Check {
    /// Takes the next bytes; false once they cannot be part of a value.
    fn feed(&mut self, chunk: &[u8]) -> bool {
        self.feed_utf8(chunk) && self.feed_json(chunk).is_some()
    }

    fn is_complete(&self) -> bool {
        let value_ended = matches!(
            self.state,
            State::AfterValue
                | State::Zero
                | State::Integer
                | State::Fraction
                | State::ExponentDigits
        );
        self.depth == 0 && value_ended && self.partial.is_empty()
    }

    fn feed_utf8(&mut self, mut chunk: &[u8]) -> bool {
        while !self.partial.is_empty() {
            let Some((&first, rest)) = chunk.split_first() else { return true };
            chunk = rest;
            self.partial.push(first);
            match str::from_utf8(&self.partial) {
                Ok(_) => self.partial.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return false,
            }
        }
        match str::from_utf8(chunk) {
            Ok(_) => true,
            Err(error) => {
                self.partial.extend_from_slice(&chunk[error.valid_up_to()..]);
                error.error_len().is_none()
            }
        }
    }

    /// `None` at the first byte that does not fit.
    fn feed_json(&mut self, chunk: &[u8]) -> Option<()> {
        let mut rest = chunk;
        loop {
            if let State::String { .. } = self.state {
                rest = skip_plain_text(rest)?;
            }
            let Some((&byte, after)) = rest.split_first() else { return Some(()) };
            self.state = self.step(byte)?;
            rest = after;
        }
    }

    fn step(&mut self, byte: u8) -> Option<State> {
        use State as S;
        Some(match (self.state, byte) {
            (
                S::Value | S::ValueOrEnd | S::KeyOrEnd | S::Key | S::Colon | S::AfterValue,
                b' ' | b'\t' | b'\r',
            ) => self.state,
            (S::ValueOrEnd, b']') => self.close(false)?,
            (S::Value | S::ValueOrEnd, _) => self.begin_value(byte)?,
            (S::KeyOrEnd, b'}') => self.close(true)?,
            (S::KeyOrEnd | S::Key, b'"') => S::String { key: true },
            (S::Colon, b':') => S::Value,
            (S::String { key: true }, b'"') => S::Colon,
            (S::String { key: false }, b'"') => S::AfterValue,
            (S::String { key }, b'\\') => S::Escape { key },
            (S::Escape { key }, b'u') => S::Hex { key, left: 4 },
            (S::Escape { key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                S::String { key }
            }
            (S::Hex { key, left: 1 }, _) if byte.is_ascii_hexdigit() => S::String { key },
            (S::Hex { key, left }, _) if byte.is_ascii_hexdigit() => S::Hex { key, left: left - 1 },
            (S::Word([next, rest @ ..]), _) if byte == *next => {
                if rest.is_empty() {
                    S::AfterValue
                } else {
                    S::Word(rest)
                }
            }
            (S::Minus, b'0') => S::Zero,
            (S::Minus, b'1'..=b'9') | (S::Integer, b'0'..=b'9') => S::Integer,
            (S::Zero | S::Integer, b'.') => S::Point,
            (S::Point | S::Fraction, b'0'..=b'9') => S::Fraction,
            (S::Zero | S::Integer | S::Fraction, b'e' | b'E') => S::Exponent,
            (S::Exponent, b'+' | b'-') => S::ExponentSign,
            (S::Exponent | S::ExponentSign | S::ExponentDigits, b'0'..=b'9') => S::ExponentDigits,
            (S::AfterValue | S::Zero | S::Integer | S::Fraction | S::ExponentDigits, _) => {
                self.after_value(byte)?
            }
            _ => return None,
        })
    }

    fn begin_value(&mut self, byte: u8) -> Option<State> {
        Some(match byte {
            b'{' => self.open(true),
            b'[' => self.open(false),
            b'"' => State::String { key: false },
            b't' => State::Word(b"rue"),
            b'f' => State::Word(b"alse"),
            b'n' => State::Word(b"ull"),
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Integer,
            _ => return None,
        })
    }

    fn after_value(&mut self, byte: u8) -> Option<State> {
        match byte {
            b' ' | b'\t' | b'\r' => Some(State::AfterValue),
            b',' if self.depth > 0 => {
                Some(if self.in_object() { State::Key } else { State::Value })
            }
            b'}' => self.close(true),
            b']' => self.close(false),
            _ => None,
        }
    }

    fn open(&mut self, object: bool) -> State {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.open.len() {
            self.open.push(0);
        }
        self.open[word] = self.open[word] & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
        if object { State::KeyOrEnd } else { State::ValueOrEnd }
    }

    fn close(&mut self, object: bool) -> Option<State> {
        if self.depth == 0 || self.in_object() != object {
            return None;
        }
        self.depth -= 1;
        Some(State::AfterValue)
    }

    /// Whether the innermost open bracket is an object's; one must be open.
    fn in_object(&self) -> bool {
        let at = self.depth - 1;
        self.open[at / 64] >> (at % 64) & 1 == 1
    }
}

/// `text` from the first quote or backslash on; `None` where a control character stands before.
///
/// Most bytes of a long message pass here, so both passes are ones that run on whole vectors.
fn skip_plain_text(text: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr2(b'"', b'\\', text).unwrap_or(text.len());
    let (plain, rest) = text.split_at(end);
    let least = plain.iter().fold(u8::MAX, |least, &byte| least.min(byte));
    (least >= 0x20).then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn serde_says(text: &[u8]) -> bool {
        !text.contains(&b'\n') && serde_json::from_slice::<&RawValue>(text).is_ok()
    }

    /// The text as it comes, byte by byte, and cut in two at every place (of a short text).
    #[track_caller]
    fn check(text: &[u8], expected: bool) {
        let whole = Bytes::copy_from_slice(text);
        assert_eq!(serde_says(text), expected, "serde, {}", text.escape_ascii());
        assert_eq!(is_one_value(std::slice::from_ref(&whole)), expected, "{}", text.escape_ascii());
        let bytes: Vec<Bytes> = (0..text.len()).map(|i| whole.slice(i..=i)).collect();
        if bytes.len() != 1 {
            assert_eq!(is_one_value(&bytes), expected, "by bytes: {}", text.escape_ascii());
        }
        for cut in 0..=text.len().min(64) {
            let parts = [whole.slice(..cut), whole.slice(cut..)];
            assert_eq!(is_one_value(&parts), expected, "cut at {cut}: {}", text.escape_ascii());
        }
    }

    #[test]
    fn values_pass() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        for text in [
            "{}",
            "[]",
            " { } ",
            "\t[ ]\r",
            "null",
            "true",
            "false",
            "0",
            "-0",
            "10",
            "-1.50",
            "1e400",
            "1E+5",
            "0e-7",
            "0.10e1",
            "\"\"",
            r#""\ud800""#,
            r#""\"\\\/\b\f\n\r\tA""#,
            r#"{"a":1,"a":2}"#,
            r#"[1,[2,{"b":[]}],"x"]"#,
            r#"{"a":{"b":{"c":null}},"d":[{}]}"#,
            "\"é世😀\u{2028}\u{7f}\"",
            "12345678901234567890",
            "[\r1\r]",
            &deep,
        ] {
            check(text.as_bytes(), true);
        }
    }

    #[test]
    fn everything_else_fails() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "}",
            "]",
            "[}",
            "{]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "[1,]",
            "[,1]",
            "{,}",
            "{1:2}",
            "nul",
            "nulll",
            "truE",
            "01",
            "-",
            "-a",
            "1.",
            "1.e1",
            "1e",
            "1e+",
            ".5",
            "+1",
            "1 2",
            "{} {}",
            "\"",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u12\"",
            "\"a\u{1}\"",
            "\"a\tb\"",
            "'a'",
            "{\"a\" 1}",
            "[1 2]",
            "\u{feff}{}",
            "[1\n]",
            "NaN",
            "1,2",
            "{\"a\":1,\"b\"}",
            "[1]]",
        ] {
            check(text.as_bytes(), false);
        }
        for text in [
            &b"\"\xff\""[..],
            b"\"\xc3\"",
            b"\"\xe4\xb8\"",
            b"\"\xed\xa0\x80\"",
            b"\"a\xc3",
            b"\"\xf0\x9f\x98",
        ] {
            check(text, false);
        }
    }

    proptest! {
        #[test]
        fn the_verdict_is_serde_jsons(text in r#"[\[\]{},:"\\u0-9eE.+\- \rtrufalsnéx\n]{0,24}"#) {
            check(text.as_bytes(), serde_says(text.as_bytes()));
        }

        #[test]
        fn the_verdict_is_serde_jsons_near_json(
            text in r#"\{"(a|b\\n|é)":(\[(1|-2\.5e3|"\\u00e9"|null)?(,?true)?\]|\{"x":[01]\}|"[^\n]{0,4}")\}?"#,
            flip in any::<prop::sample::Index>(),
            with in any::<u8>(),
        ) {
            let mut bytes = text.into_bytes();
            check(&bytes, serde_says(&bytes));
            let at = flip.index(bytes.len());
            bytes[at] = with;
            check(&bytes, serde_says(&bytes));
        }
    }
}
