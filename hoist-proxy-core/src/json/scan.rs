//! Reading the envelope of a message that is too long to keep, as its bytes stream by.

use crate::RequestId;

/// The longest id or method name that is kept, in bytes of its JSON text.
const MAX_KEPT: usize = 1024;

/// What the envelope of a streamed message said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScannedEnvelope {
    /// What kind of message it seems to be.
    pub kind: ScannedKind,
    /// Its id, when it has one of a kept length.
    pub id: Option<RequestId>,
}

/// What kind of message a streamed message seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScannedKind {
    /// It has a method and an id.
    Request,
    /// It has a method and no id.
    Notification,
    /// It has an id, and a result or an error.
    Response,
    /// Anything else: an array, noise, an object with none of these.
    Other,
}

/// Reads `id`, `method`, `result` and `error` of a message given in any number of chunks, in
/// constant memory. It does not validate; text that is no JSON object gives [`ScannedKind::Other`].
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::json::{EnvelopeScanner, ScannedKind};
///
/// let mut scanner = EnvelopeScanner::new();
/// scanner.feed(br#"{"method":"tools/call","par"#);
/// scanner.feed(br#"ams":{"id":[1,2]},"id":7}"#);
/// let envelope = scanner.finish();
/// assert_eq!(envelope.kind, ScannedKind::Request);
/// assert_eq!(envelope.id.unwrap().raw(), "7");
/// ```
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the state of a scanner, not options")]
pub struct EnvelopeScanner {
    state: State,
    /// Open brackets; 1 inside the message's own object.
    depth: u64,
    /// Whether the string at hand is a key of the message's own object.
    key: bool,
    /// Whether the bytes at hand are kept: a key or an id.
    kept: Vec<u8>,
    keeping: bool,
    current: Current,
    has_method: bool,
    has_outcome: bool,
    id: Option<Vec<u8>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// Between tokens.
    Between,
    /// In a string.
    InString,
    /// In a string, right behind a backslash.
    Escaped,
    /// In a number or a word.
    Scalar,
    /// No JSON object: nothing more is read.
    Not,
}

/// Which member of the message's own object the value at hand belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Current {
    #[default]
    Key,
    Id,
    Method,
    Outcome,
    Other,
}

impl EnvelopeScanner {
    /// A scanner at the start of a message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes of the message.
    pub fn feed(&mut self, chunk: &[u8]) {
        let mut at = 0;
        while at < chunk.len() {
            if self.state == State::Not {
                return;
            }
            // The inside of a long string is most of a long message: skip to what ends it.
            if self.state == State::InString && !self.keeping {
                match memchr::memchr2(b'"', b'\\', &chunk[at..]) {
                    None => return,
                    Some(found) => at += found,
                }
            }
            self.byte(chunk[at]);
            at += 1;
        }
    }

    /// What the envelope said.
    pub fn finish(mut self) -> ScannedEnvelope {
        if self.state == State::Scalar {
            self.end_value();
        }
        let id = self.id.take().and_then(|raw| {
            let valid = serde_json::from_slice::<&serde_json::value::RawValue>(&raw).is_ok();
            if valid { RequestId::parse(&raw) } else { None }
        });
        let kind = match (self.has_method, &id, self.has_outcome) {
            _ if self.state == State::Not => ScannedKind::Other,
            (true, Some(_), _) => ScannedKind::Request,
            (true, None, _) => ScannedKind::Notification,
            (false, Some(_), true) => ScannedKind::Response,
            _ => ScannedKind::Other,
        };
        ScannedEnvelope { kind, id }
    }

    fn byte(&mut self, byte: u8) {
        match self.state {
            State::Start => match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => {}
                b'{' => {
                    self.depth = 1;
                    self.state = State::Between;
                    self.current = Current::Key;
                }
                _ => self.state = State::Not,
            },
            State::InString => {
                self.keep(byte);
                match byte {
                    b'\\' => self.state = State::Escaped,
                    b'"' => {
                        self.state = State::Between;
                        if self.key {
                            self.end_key();
                        } else if self.depth == 1 {
                            self.end_value();
                        }
                    }
                    _ => {}
                }
            }
            State::Escaped => {
                self.keep(byte);
                self.state = State::InString;
            }
            State::Scalar => match byte {
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' => {
                    if self.depth == 1 {
                        self.end_value();
                    }
                    self.state = State::Between;
                    self.between(byte);
                }
                _ => self.keep(byte),
            },
            State::Between => self.between(byte),
            State::Not => {}
        }
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.state = State::InString;
                self.key = self.depth == 1 && self.current == Current::Key;
                self.keeping = self.key || (self.depth == 1 && self.current == Current::Id);
                self.keep(byte);
            }
            b'{' | b'[' => {
                if self.depth == 1 {
                    self.start_container();
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => {
                if self.depth == 1 {
                    self.current = Current::Key;
                }
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                self.state = State::Scalar;
                self.keeping = self.depth == 1 && self.current == Current::Id;
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.keeping {
            if self.kept.len() < MAX_KEPT {
                self.kept.push(byte);
            } else {
                self.keeping = false;
                self.kept.clear();
            }
        }
    }

    fn end_key(&mut self) {
        let key = super::tokens::decode(&self.kept);
        self.current = match key.as_deref() {
            Some("id") => Current::Id,
            Some("method") => Current::Method,
            Some("result" | "error") => Current::Outcome,
            _ => Current::Other,
        };
        drop(key);
        self.key = false;
        self.keeping = false;
        self.kept.clear();
    }

    /// A member of the envelope has an object or an array as its value.
    fn start_container(&mut self) {
        if self.current == Current::Outcome {
            self.has_outcome = true;
        }
    }

    /// A string or scalar value of the envelope has ended.
    fn end_value(&mut self) {
        match self.current {
            Current::Id if self.keeping => self.id = Some(std::mem::take(&mut self.kept)),
            Current::Method => self.has_method = true,
            Current::Outcome => self.has_outcome = true,
            _ => {}
        }
        self.keeping = false;
        self.kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(text: &[u8], split: usize) -> ScannedEnvelope {
        let mut scanner = EnvelopeScanner::new();
        for chunk in text.chunks(split.max(1)) {
            scanner.feed(chunk);
        }
        scanner.finish()
    }

    #[test]
    fn envelopes_are_read_in_any_chunks() {
        for (text, kind, id) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, ScannedKind::Request, Some("1")),
            (
                r#"{"method":"m","params":{"id":"no"},"id":"a\"b"}"#,
                ScannedKind::Request,
                Some(r#""a\"b""#),
            ),
            (r#"{"method":"m","params":[{"id":1}]}"#, ScannedKind::Notification, None),
            (r#"{"id": -1.5e3 ,"result":{"method":"x"}}"#, ScannedKind::Response, Some("-1.5e3")),
            (r#"{"id":null,"error":{"code":1}}"#, ScannedKind::Response, Some("null")),
            (r#"{"i\u0064":9,"result":7}"#, ScannedKind::Response, Some("9")),
            (r#"{"id":4,"result":"x{"#, ScannedKind::Other, Some("4")),
            (r#"{"id":{"id":3},"method":"m"}"#, ScannedKind::Notification, None),
            (r#"[{"id":1,"method":"m"}]"#, ScannedKind::Other, None),
            ("noise", ScannedKind::Other, None),
            ("", ScannedKind::Other, None),
            ("\u{feff}{\"id\":1,\"method\":\"m\"}", ScannedKind::Request, Some("1")),
        ] {
            for split in [1, 2, 3, 7, 1000] {
                let got = scan(text.as_bytes(), split);
                assert_eq!(got.kind, kind, "{text}");
                assert_eq!(got.id.as_ref().map(RequestId::raw), id, "{text}");
            }
        }
    }

    #[test]
    fn a_huge_id_is_not_kept() {
        let text = format!(r#"{{"method":"m","id":"{}"}}"#, "x".repeat(5000));
        assert_eq!(scan(text.as_bytes(), 100).id, None);
        let text = format!(r#"{{"{}":1,"method":"m","id":2}}"#, "k".repeat(5000));
        assert_eq!(scan(text.as_bytes(), 100).id.unwrap().raw(), "2");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunks_give_the_same(
            text in proptest::collection::vec(any::<u8>(), 0..200), split in 1usize..20,
        ) {
            prop_assert_eq!(scan(&text, split), scan(&text, 1000));
        }
    }
}
