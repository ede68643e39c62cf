//! A lazy JSON-RPC view of a line.

use std::borrow::Cow;

use std::ops::Range;

use crate::era::method_name;
use crate::json::{Envelope, KeyFaults, RawJson, decode};
use crate::{Ambiguity, Line, RequestId};

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// It has a method and an id.
    Request,
    /// It has a method and no id.
    Notification,
    /// It has an id, and a result or an error.
    Response,
}

/// A JSON-RPC message: a line with its envelope read.
///
/// Params, result and error stay the raw text they were, as slices of the line. Reading the
/// envelope of a small request takes about half a microsecond.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Kind, Line, Message};
///
/// let line = Line::from_wire("{\"method\":\"ping\",\"jsonrpc\":\"2.0\",\"id\":0}\n");
/// let message = Message::parse(&line)?;
/// assert_eq!(message.kind(), Kind::Request);
/// assert_eq!(message.method(), Some("ping"));
/// assert_eq!(message.id().unwrap().raw(), "0");
/// # Ok::<(), hoist_proxy_core::Ambiguity>(())
/// ```
#[derive(Debug, Clone)]
pub struct Message {
    line: Line,
    kind: Kind,
    id: Option<RequestId>,
    method: Option<Cow<'static, str>>,
    params: Option<RawJson>,
    result: Option<RawJson>,
    error: Option<RawJson>,
    faults: Option<Box<KeyFaults>>,
}

impl Message {
    /// Reads a line's envelope.
    ///
    /// # Errors
    ///
    /// [`Ambiguity`] when the line is not exactly one JSON-RPC message that every parser reads in
    /// the same way: no JSON, a batch, a key of the envelope that stands twice, a member of the
    /// wrong type.
    pub fn parse(line: &Line) -> Result<Self, Ambiguity> {
        let envelope = Envelope::read(line.body())?;
        let text = line.wire();
        let id = envelope
            .id
            .map(|id| RequestId::in_message(text, id).ok_or(Ambiguity::Envelope("id")))
            .transpose()?;
        let method = envelope
            .method
            .map(|method| decode(&text[method]).ok_or(Ambiguity::Envelope("method")))
            .transpose()?
            .map(method_name);
        let outcome = envelope.result.is_some() || envelope.error.is_some();
        let kind = match (&method, &id, outcome) {
            (Some(_), Some(_), false) => Kind::Request,
            (Some(_), None, false) => Kind::Notification,
            (None, Some(_), true) => Kind::Response,
            (Some(_), _, true) => return Err(Ambiguity::Envelope("method beside a result")),
            (None, None, _) | (None, Some(_), false) => return Err(Ambiguity::Envelope("method")),
        };
        let raw = |value: Range<usize>| RawJson::checked(text.slice(value));
        Ok(Self {
            line: line.clone(),
            kind,
            id,
            method,
            params: envelope.params.map(raw),
            result: envelope.result.map(raw),
            error: envelope.error.map(raw),
            faults: envelope.faults,
        })
    }

    /// Which of its keys can be read in two ways, though not by a parser that takes each key as it
    /// is spelt and the members of the envelope only: one that is none of MCP's and stands twice,
    /// one in another letter case, one further in.
    pub(crate) fn key_faults(&self) -> Option<&KeyFaults> {
        self.faults.as_deref()
    }

    /// The line, in the bytes it had on the wire.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// What the message is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The id of a request or response.
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// The method of a request or notification.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// The same, to keep.
    pub(crate) fn owned_method(&self) -> Option<Cow<'static, str>> {
        self.method.clone()
    }

    /// The params of a request or notification, if it has any.
    pub fn params(&self) -> Option<&RawJson> {
        self.params.as_ref()
    }

    /// The result of a response, if that is what it has.
    pub fn result(&self) -> Option<&RawJson> {
        self.result.as_ref()
    }

    /// The error of a response, if that is what it has.
    pub fn error(&self) -> Option<&RawJson> {
        self.error.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Message, Ambiguity> {
        Message::parse(&Line::from_wire(text.to_owned()))
    }

    #[test]
    fn kinds_are_told_apart() {
        for (text, kind, id) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Kind::Request, Some("1")),
            (r#"{"id":null,"method":"ping"}"#, Kind::Request, Some("null")),
            (r#"{"method":"tools\/call","params":null}"#, Kind::Notification, None),
            (r#"{"id":"a","result":null}"#, Kind::Response, Some("\"a\"")),
            (r#"{"id":null,"error":{}}"#, Kind::Response, Some("null")),
            ("\u{feff} {\"id\":1.0,\"result\":{}} \r\n", Kind::Response, Some("1.0")),
        ] {
            let message = parse(text).unwrap();
            assert_eq!(message.kind(), kind, "{text}");
            assert_eq!(message.id().map(RequestId::raw), id, "{text}");
        }
        assert_eq!(parse(r#"{"method":"tools\/call"}"#).unwrap().method(), Some("tools/call"));
    }

    #[test]
    fn members_stay_the_text_they_were() {
        let text = r#"{"id":1,"method":"m","params":{ "n":1e400, "s":"\ud83d" , "d":1.0}}"#;
        let message = parse(text).unwrap();
        assert_eq!(message.params().unwrap().as_str(), r#"{ "n":1e400, "s":"\ud83d" , "d":1.0}"#);
        let deep = format!(r#"{{"id":1,"result":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(parse(&deep).unwrap().result().unwrap().as_str().len(), 20_000);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_message() {
        for (text, want) in [
            ("", Ambiguity::NotJson),
            ("noise", Ambiguity::NotJson),
            ("{\"id\":1", Ambiguity::NotJson),
            ("[{\"id\":1,\"method\":\"m\"}]", Ambiguity::Envelope("outermost value")),
            ("7", Ambiguity::Envelope("outermost value")),
            (r#"{"id":1,"id":2,"method":"m"}"#, Ambiguity::RepeatedKey("id".into())),
            (r#"{"method":"a","meth\u006fd":"b"}"#, Ambiguity::RepeatedKey("method".into())),
            (r#"{"method":7}"#, Ambiguity::Envelope("method")),
            (r#"{"method":12}"#, Ambiguity::Envelope("method")),
            (r#"{"method":{}}"#, Ambiguity::Envelope("method")),
            (r#"{"method":null,"id":1}"#, Ambiguity::Envelope("method")),
            (r#"{"method":"\ud83d"}"#, Ambiguity::Envelope("method")),
            (r#"{"id":{},"method":"m"}"#, Ambiguity::Envelope("id")),
            (r#"{"id":1,"method":"m","result":1}"#, Ambiguity::Envelope("method beside a result")),
            (r#"{"id":1}"#, Ambiguity::Envelope("method")),
            ("{}", Ambiguity::Envelope("method")),
        ] {
            assert_eq!(parse(text).unwrap_err(), want, "{text}");
        }
        let bytes = Line::from_wire(&b"{\"id\":1,\"method\":\"\xff\"}\n"[..]);
        assert_eq!(Message::parse(&bytes).unwrap_err(), Ambiguity::NotJson);
    }
}
