//! A JSON-RPC message as far as an episode needs it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::lenient::{self, Members};

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

/// A message as far as it can be read.
#[derive(Debug)]
pub(super) struct Parsed<'a> {
    pub(super) message: Message<'a>,
    /// Something that had to be passed over.
    pub(super) fault: Option<serde_json::Error>,
    /// What is wrong with its `jsonrpc`, which changes nothing about how it is read.
    pub(super) version: Option<String>,
}

/// The members of a message.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
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

impl<'a> Envelope<'a> {
    /// Reads what strict reading fails on; `None` where it cannot be told what the message is.
    fn leniently(text: &'a str) -> Option<Self> {
        let members = Members::of(text)?;
        let once = |name: &str| members.all(name).count() <= 1;
        if !["id", "method", "params", "result", "error"].into_iter().all(once) {
            return None;
        }
        let method = match members.get("method") {
            None => None,
            Some(method) => Some(Text(lenient::text(method)?.into())),
        };
        let only = |name: &str| members.all(name).next();
        Some(Self {
            jsonrpc: members.all("jsonrpc").last(),
            id: only("id"),
            method,
            params: members.get("params"),
            result: only("result"),
            error: only("error"),
        })
    }

    /// What is wrong with the member that says the version.
    fn version_fault(&self) -> Option<String> {
        let Some(version) = self.jsonrpc else {
            return Some(r#"it has no "jsonrpc":"2.0""#.to_owned());
        };
        if version.get() == "\"2.0\"" || lenient::text(version).as_deref() == Some("2.0") {
            return None;
        }
        let found: String = version.get().chars().take(40).collect();
        Some(format!(r#"its jsonrpc is {found} and not "2.0""#))
    }
}

impl<'a> Message<'a> {
    /// Reads one object; an error says what is wrong with it.
    pub(super) fn parse(text: &'a str) -> Result<Parsed<'a>, serde_json::Error> {
        let (envelope, fault) = match object::<Envelope<'a>>(text) {
            Ok(envelope) => (envelope, None),
            Err(error) => match Envelope::leniently(text) {
                Some(envelope) => (envelope, Some(error)),
                None => return Err(error),
            },
        };
        let version = envelope.version_fault();
        Ok(Parsed { message: Self::of(envelope)?, fault, version })
    }

    fn of(envelope: Envelope<'a>) -> Result<Self, serde_json::Error> {
        let error = |what: &str| Err(serde::de::Error::custom(what));
        let Envelope { id: raw_id, method, params, result, error: failure, .. } = envelope;
        let id = raw_id.and_then(Id::from_raw);
        match (method, result, failure) {
            (Some(Text(method)), None, None) => match (id, raw_id) {
                (Some(id), _) => Ok(Self::Request { id, method, params }),
                (None, None) => Ok(Self::Notification { method, params }),
                (None, Some(_)) => error("the id of a request must be a text or a number"),
            },
            (None, Some(result), None) => match id {
                Some(id) => Ok(Self::Answer { id, outcome: Outcome::Result(result) }),
                None => error("a result must have the id of its request"),
            },
            (None, None, Some(failure)) => match (id, raw_id.map(RawValue::get)) {
                (Some(id), _) => Ok(Self::Answer { id, outcome: Outcome::Error(failure) }),
                (None, None | Some("null")) => Ok(Self::Complaint),
                (None, Some(_)) => error("the id of an error must be a text, a number or null"),
            },
            (None, None, None) if raw_id.is_none() => {
                error("it has none of method, result and error")
            }
            _ => error("a message must have exactly one of method, result and error"),
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

    fn told(text: &str) -> String {
        let parsed = match Message::parse(text) {
            Ok(parsed) => parsed,
            Err(error) => return format!("bad: {error}"),
        };
        let said = match parsed.message {
            Message::Request { id, method, params } => {
                format!("request {id:?} {method} {:?}", params.map(RawValue::get))
            }
            Message::Notification { method, .. } => format!("notification {method}"),
            Message::Answer { id, outcome: Outcome::Result(raw) } => format!("result {id:?} {raw}"),
            Message::Answer { id, outcome: Outcome::Error(raw) } => format!("error {id:?} {raw}"),
            Message::Complaint => "complaint".to_owned(),
        };
        let fault = parsed.fault.map(|fault| format!(" but {fault}")).unwrap_or_default();
        said + &fault
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = told(text);
        assert!(said.starts_with(expected), "{text}: {said}");
    }

    #[test]
    fn messages_are_told_apart() {
        check(r#"{"id":1,"method":"a\u0062","params":[1]}"#, r#"request Number(1) ab Some("[1]")"#);
        check(r#"{"id":1.0,"method":"a"}"#, "request Number(1) a None");
        check(r#"{"id":1e300,"method":"a"}"#, "request Other(\"1e300\")");
        check(r#"{"id":"\u0061","method":"a"}"#, "request Text(\"a\")");
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
        check(r#"{"id":null,"result":1}"#, "bad: a result must have the id");
        check(r#"{"id":1,"id":2,"method":"a"}"#, "bad: duplicate field `id`");
        check(r#"{"id":1,"method":7}"#, "bad: invalid type: integer `7`");
        for id in ["null", "true", "[]", "{}"] {
            check(&format!(r#"{{"id":{id},"method":"a"}}"#), "bad: the id of a request must be");
            let error = format!(r#"{{"id":{id},"error":{{}}}}"#);
            check(&error, if id == "null" { "complaint" } else { "bad: the id of an error must" });
        }
    }

    #[test]
    fn what_does_not_matter_is_passed_over_and_said() {
        for (text, expected) in [
            (r#"{"id":1,"method":"a\ud800"}"#, "request Number(1) a\u{fffd} None but "),
            (r#"{"id":1,"\ud800":7,"result":2}"#, "result Number(1) 2 but "),
        ] {
            let said = told(text);
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }

    #[test]
    fn the_version_is_checked_and_changes_nothing() {
        for (member, expected) in [
            (r#""jsonrpc":"2.0","#, None),
            (r#""jsonrpc":"\u0032.0","#, None),
            ("", Some("it has no \"jsonrpc\"")),
            (r#""jsonrpc":"1.0","#, Some("its jsonrpc is \"1.0\"")),
            (r#""jsonrpc":2.0,"#, Some("its jsonrpc is 2.0")),
            (r#""jsonrpc":null,"#, Some("its jsonrpc is null")),
        ] {
            let text = format!(r#"{{{member}"id":1,"method":"a"}}"#);
            let parsed = Message::parse(&text).unwrap();
            assert!(matches!(parsed.message, Message::Request { .. }), "{text}");
            assert!(parsed.fault.is_none());
            match (&parsed.version, expected) {
                (None, None) => {}
                (Some(said), Some(expected)) => assert!(said.starts_with(expected), "{said}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
