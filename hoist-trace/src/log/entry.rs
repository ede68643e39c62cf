//! One line of a log after the header.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::error::describe;

/// Who wrote a line: the member `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Origin {
    /// The host.
    Client,
    /// The server.
    Server,
    /// The proxy, for a message of its own.
    Proxy,
    /// The conversation, which crosses no wire.
    Context,
}

impl Origin {
    /// The name it has in a log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Proxy => "proxy",
            Self::Context => "context",
        }
    }

    fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Client, Self::Server, Self::Proxy, Self::Context]
            .into_iter()
            .find(|origin| origin.as_str().as_bytes() == name)
    }
}

/// Lines that came and could not be recorded. Stands where they would have stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gap {
    /// How many lines of this origin are missing here.
    pub lines: u64,
    /// How many bytes they had on the wire, line ends included.
    pub bytes: u64,
}

/// What a log's line holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// One JSON value, exactly as it was sent, white space around it included.
    Message(String),
    /// A line that was not one JSON value in UTF-8, as text: what was no UTF-8 is U+FFFD.
    Raw(String),
    /// Lines that are missing.
    Gap(Gap),
}

/// One line of a log after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Where it stands in the file, from 1 (the header).
    pub line: u64,
    /// When the proxy read it (the first of them, for a gap), in milliseconds after the session
    /// started. Never decreases down a log.
    pub t_ms: u64,
    /// Who wrote it.
    pub from: Origin,
    /// The layer that made it, for an entry of [`Origin::Proxy`] or [`Origin::Context`]; `proxy` for
    /// the engine itself.
    pub by: Option<String>,
    /// What it holds.
    pub content: Content,
}

impl Entry {
    /// The message's text, where the line is one.
    pub fn message(&self) -> Option<&str> {
        match &self.content {
            Content::Message(text) => Some(text),
            _ => None,
        }
    }

    /// Reads a line, without its line feed. An error is a column (in bytes, from 1) and what is
    /// wrong there.
    pub(crate) fn parse(text: &[u8], line: u64) -> Result<Self, (usize, String)> {
        match Self::parse_as_written(text, line) {
            Some(entry) => Ok(entry),
            None => Self::parse_any(text, line),
        }
    }

    /// Reads the form the recorder writes. The message is cut out by position, not by a parser, so
    /// that white space around it stays; that it is one value is checked, so what is read here any
    /// JSON parser reads alike.
    fn parse_as_written(text: &[u8], line: u64) -> Option<Self> {
        let rest = text.strip_prefix(b"{\"t_ms\":")?;
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at_checked(digits)?;
        let t_ms: u64 = serde_json::from_slice(digits).ok()?;
        let (from, rest) = simple_string(rest.strip_prefix(b",\"from\":\"")?)?;
        let from = Origin::from_name(from.as_bytes())?;
        let (by, rest) = match rest.strip_prefix(b",\"by\":\"") {
            Some(rest) => {
                let (by, rest) = simple_string(rest)?;
                (Some(by.to_owned()), rest)
            }
            None => (None, rest),
        };
        let message = rest.strip_prefix(b",\"message\":")?.strip_suffix(b"}")?;
        serde_json::from_slice::<&RawValue>(message).ok()?;
        let message = str::from_utf8(message).ok()?.to_owned();
        Some(Self { line, t_ms, from, by, content: Content::Message(message) })
    }

    fn parse_any(text: &[u8], line: u64) -> Result<Self, (usize, String)> {
        #[derive(Deserialize)]
        struct Members<'a> {
            t_ms: u64,
            from: Origin,
            #[serde(default)]
            by: Option<String>,
            // Without this, `"message":null` would read as no message.
            #[serde(default, borrow, deserialize_with = "present")]
            message: Option<&'a RawValue>,
            #[serde(default, borrow)]
            raw: Option<Cow<'a, str>>,
            #[serde(default)]
            gap: Option<Gap>,
        }

        // A derived struct also reads an array, which is no entry.
        let start = text.len() - text.trim_ascii_start().len();
        if text.get(start) != Some(&b'{') {
            return Err((start + 1, "it is not a JSON object".to_owned()));
        }
        // The parser does not look into strings of members it skips.
        let text = str::from_utf8(text)
            .map_err(|e| (e.valid_up_to() + 1, "it is not UTF-8 from here on".to_owned()))?;
        let members: Members<'_> = serde_json::from_str(text).map_err(|error| {
            second_header(text.as_bytes(), start).unwrap_or_else(|| describe(&error))
        })?;
        let content = match (members.message, members.raw, members.gap) {
            (Some(message), None, None) => Content::Message(message.get().to_owned()),
            (None, Some(raw), None) => Content::Raw(raw.into_owned()),
            (None, None, Some(Gap { lines: 0, .. })) => {
                return Err((start + 1, "a gap must have lines, at least 1".to_owned()));
            }
            (None, None, Some(gap)) => Content::Gap(gap),
            _ => {
                let what = "it must have exactly one of message, raw and gap".to_owned();
                return Err((start + 1, what));
            }
        };
        Ok(Self { line, t_ms: members.t_ms, from: members.from, by: members.by, content })
    }
}

/// What to say of a header where an entry should stand: "missing field `t_ms`" would be true, and
/// no help to who has to find out what happened.
fn second_header(text: &[u8], start: usize) -> Option<(usize, String)> {
    #[derive(Deserialize)]
    struct Members {
        hoist_mcp_log: u64,
        #[serde(default)]
        session: Option<String>,
    }
    let Members { hoist_mcp_log: format, session } = serde_json::from_slice(text).ok()?;
    let name = session.as_deref().unwrap_or("?");
    // Real names are short; a line that is no header after all may be long.
    let end = name.char_indices().nth(100).map_or(name.len(), |(at, _)| at);
    let what = format!(
        "a second header, of format {format} and session {}: more than one session was written \
         into this file",
        &name[..end],
    );
    Some((start + 1, what))
}

/// The string `text` begins in, up to its closing quote, and what follows; `None` where it has
/// escapes.
fn simple_string(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = text
        .iter()
        .position(|b| !matches!(b, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.'))?;
    let (string, rest) = text.split_at(end);
    Some((str::from_utf8(string).ok()?, rest.strip_prefix(b"\"")?))
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, from: Origin, by: Option<&str>, content: Content) {
        let entry = Entry::parse(text.as_bytes(), 7).unwrap();
        let by = by.map(str::to_owned);
        assert_eq!(entry, Entry { line: 7, t_ms: 12, from, by, content });
    }

    fn message(text: &str) -> Content {
        Content::Message(text.to_owned())
    }

    #[test]
    fn entries_are_read_in_any_form() {
        check(
            r#"{"t_ms":12,"from":"client","message":{"a":1.0}}"#,
            Origin::Client,
            None,
            message(r#"{"a":1.0}"#),
        );
        check(
            r#"{"t_ms":12,"from":"server","message": [1] }"#,
            Origin::Server,
            None,
            message(" [1] "),
        );
        check(
            r#"{"t_ms":12,"from":"server","message":null}"#,
            Origin::Server,
            None,
            message("null"),
        );
        check(
            r#"{"message":null,"from":"server","t_ms":12}"#,
            Origin::Server,
            None,
            message("null"),
        );
        check(
            r#"{"t_ms":12,"from":"proxy","by":"flow","message":"\ud800"}"#,
            Origin::Proxy,
            Some("flow"),
            message(r#""\ud800""#),
        );
        check(
            r#" { "x":{"t_ms":3}, "by":"fl\u006fw","from":"proxy","t_ms":12,"message":{"a":1,"a":2} , "y":1e400}"#,
            Origin::Proxy,
            Some("flow"),
            message(r#"{"a":1,"a":2}"#),
        );
        check(
            "{\"t_ms\":12,\"from\":\"context\",\"raw\":\"a\\u0007\u{2028}b\"}\r",
            Origin::Context,
            None,
            Content::Raw("a\u{7}\u{2028}b".to_owned()),
        );
        check(
            r#"{"t_ms":12,"from":"server","gap":{"lines":3,"bytes":99,"new":1}}"#,
            Origin::Server,
            None,
            Content::Gap(Gap { lines: 3, bytes: 99 }),
        );
        // What looks like the written form and is not: the member after the message counts.
        check(
            r#"{"t_ms":12,"from":"client","message":{},"z":{}}"#,
            Origin::Client,
            None,
            message("{}"),
        );
    }

    #[test]
    fn a_deep_message_is_read() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        check(
            &format!(r#"{{"t_ms":12,"from":"client","message":{deep}}}"#),
            Origin::Client,
            None,
            message(&deep),
        );
        check(
            &format!(r#"{{"from":"client","t_ms":12,"message":{deep}}}"#),
            Origin::Client,
            None,
            message(&deep),
        );
    }

    #[test]
    fn bad_lines_say_what_and_where() {
        for (text, column, what) in [
            (r#"{"t_ms":12,"from":"client","message":{]}"#, 39, "key must be a string"),
            (r#"{"t_ms":12,"from":"robot","message":{}}"#, 25, "unknown variant `robot`"),
            (r#"{"from":"client","message":{}}"#, 30, "missing field `t_ms`"),
            (r#"{"t_ms":-1,"from":"client","message":{}}"#, 10, "invalid value"),
            (r#"{"t_ms":12,"from":"client"}"#, 1, "exactly one of"),
            (r#"{"t_ms":12,"from":"client","message":1,"raw":"x"}"#, 1, "exactly one of"),
            (r#"{"t_ms":1,"t_ms":12,"from":"client","message":1}"#, 16, "duplicate field"),
            (r#" [12,"client",null,1]"#, 2, "not a JSON object"),
            ("garbage", 1, "not a JSON object"),
            (
                r#" {"session":"b","hoist_mcp_log":2,"started_unix_ms":5}"#,
                2,
                "a second header, of format 2 and session b: more than one session was written",
            ),
            (r#"{"hoist_mcp_log":3}"#, 1, "a second header, of format 3 and session ?: "),
            (r#"{"hoist_mcp_log":"x"}"#, 21, "missing field `t_ms`"),
        ] {
            let (at, said) = Entry::parse(text.as_bytes(), 1).unwrap_err();
            assert!(said.contains(what), "{text}: {said}");
            assert_eq!(at, column, "{text}: {said}");
        }
        Entry::parse(b"{\"t_ms\":12,\"from\":\"client\",\"message\":\"\xff\"}", 1).unwrap_err();
    }

    #[test]
    fn a_line_with_a_byte_that_is_no_utf8_is_no_entry_even_in_a_member_nobody_knows() {
        let line = b"{\"t_ms\":12,\"from\":\"client\",\"message\":1,\"new\":\"\xff\"}";
        let (at, said) = Entry::parse(line, 1).unwrap_err();
        assert_eq!((at, said.contains("not UTF-8")), (47, true), "{said}");
    }
}
