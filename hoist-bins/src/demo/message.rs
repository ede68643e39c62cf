//! Incoming JSON-RPC messages, their parts left as the text that arrived.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::wire::{INVALID_REQUEST, PARSE_ERROR, RpcError};

/// One message of a client.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Request(Request<'a>),
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// This server asks its client nothing, so there is nothing such a message could answer.
    Response,
    /// Not a JSON-RPC message; with the id if it has one that an answer can name.
    Invalid {
        id: Option<Id>,
        error: RpcError,
    },
}

/// A request that can be answered.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) id: Id,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

/// One line: a message or, where the revision has them, several.
#[derive(Debug)]
pub(super) enum Line<'a> {
    One(Incoming<'a>),
    Batch(Vec<&'a RawValue>),
}

/// Reads one line.
pub(super) fn read_line(line: &[u8]) -> Line<'_> {
    let invalid = |code, message: &str| {
        Line::One(Incoming::Invalid { id: None, error: RpcError::new(code, message) })
    };
    let Ok(text) = std::str::from_utf8(line) else {
        return invalid(PARSE_ERROR, "the message is not UTF-8");
    };
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        return invalid(PARSE_ERROR, "the message is not JSON");
    };
    if !raw.get().starts_with('[') {
        return Line::One(read_message(raw));
    }
    match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        Ok(messages) if !messages.is_empty() => Line::Batch(messages),
        _ => invalid(INVALID_REQUEST, "a batch must hold at least one message"),
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// Reads one message, which is JSON already.
pub(super) fn read_message(raw: &RawValue) -> Incoming<'_> {
    let invalid = |id, message: &str| Incoming::Invalid {
        id,
        error: RpcError::new(INVALID_REQUEST, message),
    };
    let Some(envelope) = object::<Envelope<'_>>(raw) else {
        return invalid(None, "a message must be an object that has each member once");
    };
    let id = envelope.id.and_then(Id::read);
    if envelope.jsonrpc.is_none_or(|version| version.get() != r#""2.0""#) {
        return invalid(id, "jsonrpc must be \"2.0\"");
    }
    let method = envelope.method.map(string);
    let params = envelope.params;
    match (method, envelope.id, id) {
        (Some(Some(method)), Some(_), Some(id)) => {
            Incoming::Request(Request { id, method, params })
        }
        (Some(Some(method)), None, _) => Incoming::Notification { method, params },
        (Some(Some(_)), Some(_), None) => invalid(None, "id must be a string or an integer"),
        (None, _, _) if envelope.result.is_some() || envelope.error.is_some() => Incoming::Response,
        (_, _, id) => invalid(id, "method must be a string"),
    }
}

/// A request's id: a string or an integer, spelled as the client spelled it.
#[derive(Clone, Debug)]
pub(super) struct Id {
    raw: String,
    /// The same id in one spelling, since `"a"` and `"\u0061"` name the same request.
    canonical: String,
}

impl Id {
    /// The id that `raw` spells, if it may be one.
    pub(super) fn read(raw: &RawValue) -> Option<Self> {
        let raw = raw.get();
        let is_integer =
            raw.strip_prefix('-').unwrap_or(raw).bytes().all(|byte| byte.is_ascii_digit());
        if !is_integer && !raw.starts_with('"') {
            return None;
        }
        let decoded = serde_json::from_str::<String>(raw).ok();
        let canonical = decoded.and_then(|text| serde_json::to_string(&text).ok());
        Some(Self { raw: raw.to_owned(), canonical: canonical.unwrap_or_else(|| raw.to_owned()) })
    }

    /// The JSON text of the id.
    pub(super) fn as_json(&self) -> &str {
        &self.raw
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

/// Reads a JSON object as a struct; serde by itself would also take an array of the members'
/// values.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Reads a JSON string, escapes undone.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// Keeps a member that is null apart from one that is absent.
pub(super) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::{Id, Incoming, Line, read_line};

    #[track_caller]
    fn check(line: &[u8], expected: &str) {
        let seen = match read_line(line) {
            Line::Batch(messages) => format!("batch of {}", messages.len()),
            Line::One(Incoming::Request(request)) => {
                format!("request {} {}", request.id.as_json(), request.method)
            }
            Line::One(Incoming::Notification { method, .. }) => format!("notification {method}"),
            Line::One(Incoming::Response) => "response".to_owned(),
            Line::One(Incoming::Invalid { id, error }) => {
                format!("{} for {}", error.code, id.as_ref().map_or("nobody", Id::as_json))
            }
        };
        assert_eq!(seen, expected, "{}", String::from_utf8_lossy(line));
    }

    #[test]
    fn tells_messages_apart() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#, "request 0 ping"),
            (
                r#"{"method":"tools\/list","params":{},"jsonrpc":"2.0","id":"a"}"#,
                "request \"a\" tools/list",
            ),
            (
                r#" {"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x"} "#,
                "request 123456789012345678901234567890 x",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "notification notifications/initialized",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, "response"),
            (r#"[{"jsonrpc":"2.0","method":"x"},1]"#, "batch of 2"),
            ("[]", "-32600 for nobody"),
            ("", "-32700 for nobody"),
            ("{", "-32700 for nobody"),
            ("{} {}", "-32700 for nobody"),
            ("7", "-32600 for nobody"),
            ("{}", "-32600 for nobody"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "-32600 for nobody"),
            (r#"{"jsonrpc":"2.0","id":1.0,"method":"x"}"#, "-32600 for nobody"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "-32600 for nobody"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "-32600 for 1"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "-32600 for 1"),
            (r#"{"id":1,"method":"x"}"#, "-32600 for 1"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, "-32600 for nobody"),
        ] {
            check(line.as_bytes(), expected);
        }
        check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "-32700 for nobody");
    }

    #[test]
    fn ids_are_the_same_in_any_spelling() {
        let id = |text: &str| Id::read(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(id(r#""a""#), id(r#""\u0061""#));
        assert_ne!(id("1"), id(r#""1""#));
        assert_eq!(id(r#""\ud800""#).as_json(), r#""\ud800""#);
    }
}
