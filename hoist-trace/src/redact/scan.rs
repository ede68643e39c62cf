//! The tokens of a JSON text, with no limit to how deep it nests.

/// A token that matters, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `{` or `[`.
    Open {
        object: bool,
    },
    /// `}` or `]`.
    Close {
        object: bool,
    },
    /// A member's name, without its quotes, escapes and all.
    Key(&'a str),
    /// A string, the same.
    Text(&'a str),
    Number(&'a str),
    /// `true`, `false`, `null`.
    Literal(&'a str),
}

/// Takes a JSON text apart. What is no JSON gives some tokens; nothing is checked.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What stands between this token and the last one, and the token; at the end, what is left.
    pub(super) fn next(&mut self) -> (&'a str, Option<Token<'a>>) {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let between = bytes[start..]
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':'));
        let Some(between) = between else {
            self.at = bytes.len();
            return (&self.text[start..], None);
        };
        let at = start + between;
        let token = match bytes[at] {
            open @ (b'{' | b'[') => {
                self.at = at + 1;
                Token::Open { object: open == b'{' }
            }
            close @ (b'}' | b']') => {
                self.at = at + 1;
                Token::Close { object: close == b'}' }
            }
            b'"' => {
                let end = end_of_string(bytes, at + 1);
                self.at = (end + 1).min(bytes.len());
                let text = &self.text[at + 1..end];
                let next = bytes[self.at..].iter().find(|byte| !byte.is_ascii_whitespace());
                if next == Some(&b':') { Token::Key(text) } else { Token::Text(text) }
            }
            first => {
                let ends = |byte: &u8| {
                    byte.is_ascii_whitespace()
                        || matches!(byte, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"')
                };
                let len = bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                self.at = at + len;
                let text = &self.text[at..self.at];
                if first == b'-' || first.is_ascii_digit() {
                    Token::Number(text)
                } else {
                    Token::Literal(text)
                }
            }
        };
        (&self.text[start..at], Some(token))
    }
}

/// Where the string ends that begins at `at`: its quote, or the end of all.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        if bytes[at + found] == b'"' {
            return at + found;
        }
        at = (at + found + 2).min(bytes.len());
    }
    bytes.len()
}

/// A part of a string: text, or half of a surrogate pair.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Half { high: bool },
}

/// The string that a JSON text stands for, in parts; one where it is Unicode.
pub(super) fn decode(raw: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escape) = rest.chars().next() else { break };
        rest = &rest[escape.len_utf8()..];
        match escape {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => {
                let Some(unit) = hex4(rest) else { continue };
                rest = &rest[4..];
                let low = rest.strip_prefix("\\u").and_then(hex4);
                match (unit, low) {
                    (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                        let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        text.extend(char::from_u32(code));
                        rest = &rest[6..];
                    }
                    (0xd800..=0xdfff, _) => {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                        parts.push(Part::Half { high: unit < 0xdc00 });
                    }
                    _ => text.extend(char::from_u32(unit)),
                }
            }
            other => text.push(other),
        }
    }
    text.push_str(rest);
    parts.push(Part::Text(text));
    parts
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// Writes a text as it stands in a JSON string.
pub(super) fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control @ '\0'..='\u{1f}' => {
                use std::fmt::Write;
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            c => out.push(c),
        }
    }
}

/// Whether a text is one JSON object or array.
pub(super) fn is_container(text: &str) -> bool {
    text.trim_ascii_start().starts_with(['{', '['])
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_what_is_between_are_the_text() {
        let text = r#" {"a\"b" : [1.5e3,-0,"x\\",true , null],"c":{}} "#;
        let mut scanner = Scanner::new(text);
        let mut tokens = Vec::new();
        let mut between = String::new();
        loop {
            let (gap, token) = scanner.next();
            between.push_str(gap);
            let Some(token) = token else { break };
            tokens.push(token);
        }
        assert_eq!(between.trim(), ": ,,, , ,:");
        assert_eq!(
            tokens,
            [
                Token::Open { object: true },
                Token::Key("a\\\"b"),
                Token::Open { object: false },
                Token::Number("1.5e3"),
                Token::Number("-0"),
                Token::Text("x\\\\"),
                Token::Literal("true"),
                Token::Literal("null"),
                Token::Close { object: false },
                Token::Key("c"),
                Token::Open { object: true },
                Token::Close { object: true },
                Token::Close { object: true },
            ]
        );
    }

    #[test]
    fn strings_are_read_and_written() {
        let text = |text: &str| Part::Text(text.to_owned());
        assert_eq!(decode(r#"a\u00e9\ud83d\ude00\/\"\\"#), [text("aé😀/\"\\")]);
        assert_eq!(
            decode(r"a\ud800b\udc00\ud800"),
            [
                text("a"),
                Part::Half { high: true },
                text("b"),
                Part::Half { high: false },
                text(""),
                Part::Half { high: true },
                text(""),
            ]
        );
        let mut out = String::new();
        encode("a\"\\\n\u{1}é", &mut out);
        assert_eq!(out, r#"a\"\\\n\u0001é"#);
    }

    #[test]
    fn no_text_is_too_broken() {
        for text in
            ["\"", "\"\\", "\"\\u12", "{\"a", "[1,", "}", "tru\u{e9}", "\"\\ud800\\u12\"", "-"]
        {
            let mut scanner = Scanner::new(text);
            while let (_, Some(token)) = scanner.next() {
                if let Token::Text(raw) | Token::Key(raw) = token {
                    decode(raw);
                }
            }
        }
    }
}
