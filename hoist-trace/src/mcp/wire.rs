//! A JSON-RPC message as far as an episode needs it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A request's id, compared by decoded value and type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Id {
    Number(i64),
    Text(String),
    /// What is neither, as it was written: a fraction, a huge number, a lone surrogate.
    Other(String),
}

impl Id {
    pub(super) fn from_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.as_bytes().first()? {
            b'"' => Some(serde_json::from_str(text).map_or_else(|_| Self::other(text), Self::Text)),
            b'-' | b'0'..=b'9' => Some(Self::number(text)),
            _ => None,
        }
    }

    fn number(text: &str) -> Self {
        if let Ok(integer) = text.parse() {
            return Self::Number(integer);
        }
        // `1.0` and `1e0` are 1; up to 2^53 a double is exact.
        match text.parse::<f64>() {
            Ok(double) if double.fract() == 0.0 && double.abs() <= 9_007_199_254_740_992.0 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "an integer within 2^53")]
                Self::Number(double as i64)
            }
            _ => Self::other(text),
        }
    }

    fn other(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

/// One message.
#[derive(Debug)]
pub(super) enum Message<'a> {
    Request {
        id: Id,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Answer {
        id: Id,
        outcome: Outcome<'a>,
    },
    /// An error that names no request.
    Complaint,
}

/// What an answer says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
}

impl<'a> Message<'a> {
    /// Reads one object; an error says what is wrong with it.
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(default, borrow, deserialize_with = "present")]
            id: Option<&'a RawValue>,
            #[serde(default, borrow)]
            method: Option<Text<'a>>,
            #[serde(default, borrow)]
            params: Option<&'a RawValue>,
            #[serde(default, borrow, deserialize_with = "present")]
            result: Option<&'a RawValue>,
            #[serde(default, borrow, deserialize_with = "present")]
            error: Option<&'a RawValue>,
        }

        let Members { id, method, params, result, error } = object(text)?;
        let has_id = id.is_some();
        let id = id.and_then(Id::from_raw);
        match (method, result, error) {
            (Some(Text(method)), None, None) => Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            }),
            (None, Some(result), None) => {
                { id.map(|id| Self::Answer { id, outcome: Outcome::Result(result) }) }.ok_or_else(
                    || serde::de::Error::custom("a result must have the id of its request"),
                )
            }
            (None, None, Some(error)) => Ok(match id {
                Some(id) => Self::Answer { id, outcome: Outcome::Error(error) },
                None => Self::Complaint,
            }),
            (None, None, None) if !has_id => {
                Err(serde::de::Error::custom("it has none of method, result and error"))
            }
            _ => Err(serde::de::Error::custom(
                "a message must have exactly one of method, result and error",
            )),
        }
    }
}

/// A derived struct also reads an array, which is no object.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    if text.trim_ascii_start().starts_with('{') {
        serde_json::from_str(text)
    } else {
        Err(serde::de::Error::custom("it is not a JSON object"))
    }
}

/// Text that borrows where it can: serde's own `Option<Cow<str>>` always copies.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Keeps a null apart from an absent member.
pub(super) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                format!("request {id:?} {method} {:?}", params.map(RawValue::get))
            }
            Ok(Message::Notification { method, .. }) => format!("notification {method}"),
            Ok(Message::Answer { id, outcome: Outcome::Result(raw) }) => {
                format!("result {id:?} {raw}")
            }
            Ok(Message::Answer { id, outcome: Outcome::Error(raw) }) => {
                format!("error {id:?} {raw}")
            }
            Ok(Message::Complaint) => "complaint".to_owned(),
            Err(error) => format!("bad: {error}"),
        };
        assert!(said.starts_with(expected), "{text}: {said}");
    }

    #[test]
    fn messages_are_told_apart() {
        check(r#"{"id":1,"method":"a\u0062","params":[1]}"#, r#"request Number(1) ab Some("[1]")"#);
        check(r#"{"id":1.0,"method":"a"}"#, "request Number(1) a None");
        check(r#"{"id":1e300,"method":"a"}"#, "request Other(\"1e300\")");
        check(r#"{"id":"\u0061","method":"a"}"#, "request Text(\"a\")");
        check(r#"{"id":null,"method":"a"}"#, "notification a");
        check(r#"{"method":"a","x":1}"#, "notification a");
        check(r#"{"id":1,"result":null}"#, "result Number(1) null");
        check(r#"{"id":1,"error":{}}"#, "error Number(1) {}");
        check(r#"{"id":null,"error":{}}"#, "complaint");
        check(r#"{"error":{}}"#, "complaint");
    }

    #[test]
    fn what_is_no_message_says_why() {
        check("[]", "bad: it is not a JSON object");
        check("{}", "bad: it has none of");
        check(r#"{"id":1}"#, "bad: a message must have exactly one of");
        check(r#"{"id":1,"method":"a","result":1}"#, "bad: a message must have exactly one of");
        check(r#"{"result":1}"#, "bad: a result must have the id");
        check(r#"{"id":1,"id":2,"method":"a"}"#, "bad: duplicate field `id`");
        check(r#"{"id":1,"method":7}"#, "bad: invalid type: integer `7`");
    }
}
