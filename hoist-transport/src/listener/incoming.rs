//! What a POST brings.

use std::time::Duration;

use bytes::Bytes;
use hoist_proxy_core::{
    Ambiguity, INVALID_REQUEST, Kind, Line, Message, PARSE_ERROR, RawJson, RequestId,
};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming as HttpIncoming;
use tokio::time::timeout;

use super::respond::{Refused, empty, refusal};
use crate::http_server::one_line;

/// How long a body may bring nothing.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// A message of a host's, or several in one.
#[derive(Debug)]
pub(super) enum Incoming {
    One(Message),
    /// A batch (2025-03-26), and what is in it.
    Batch(Line, Vec<Message>),
}

impl Incoming {
    /// The messages.
    pub(super) fn messages(&self) -> &[Message] {
        match self {
            Self::One(message) => std::slice::from_ref(message),
            Self::Batch(_, messages) => messages,
        }
    }

    pub(super) fn line(&self) -> &Line {
        match self {
            Self::One(message) => message.line(),
            Self::Batch(line, _) => line,
        }
    }

    /// The requests among them.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Message> {
        self.messages().iter().filter(|message| message.kind() == Kind::Request)
    }
}

/// Reads a body of at most so many bytes.
pub(super) async fn body(
    headers: &HeaderMap,
    mut body: HttpIncoming,
    max_bytes: usize,
) -> Result<Bytes, Refused> {
    let too_long = || {
        let why = format!("a message may have {max_bytes} bytes at most");
        refusal(StatusCode::PAYLOAD_TOO_LARGE, None, INVALID_REQUEST, &why)
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > max_bytes as u64) {
        return Err(too_long());
    }
    let mut all: Option<Bytes> = None;
    let mut more = Vec::new();
    loop {
        let late = |_| empty(StatusCode::REQUEST_TIMEOUT);
        let frame = match timeout(BODY_PATIENCE, body.frame()).await.map_err(late)? {
            None => break,
            Some(Ok(frame)) => frame,
            Some(Err(_)) => return Err(empty(StatusCode::BAD_REQUEST).into()),
        };
        let Ok(bytes) = frame.into_data() else { continue };
        match &all {
            None => all = Some(bytes),
            Some(first) => {
                if more.is_empty() {
                    more.extend_from_slice(first);
                }
                more.extend_from_slice(&bytes);
            }
        }
        if more.len().max(all.as_ref().map_or(0, Bytes::len)) > max_bytes {
            return Err(too_long());
        }
    }
    Ok(if more.is_empty() { all.unwrap_or_default() } else { more.into() })
}

/// What is in a body.
pub(super) fn read(body: Bytes) -> Result<Incoming, Refused> {
    let body = match body.strip_prefix(b"\xef\xbb\xbf") {
        // A mark that a file may begin with; what follows it is the message.
        Some(rest) => body.slice_ref(rest),
        None => body,
    };
    let line = one_line(body);
    let invalid = |why: &str| refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, why);
    let unreadable = || {
        let why = "the body is not one JSON value";
        refusal(StatusCode::BAD_REQUEST, None, PARSE_ERROR, why)
    };
    if !line.is_array() {
        return Message::parse(&line).map(Incoming::One).map_err(|ambiguity| match ambiguity {
            Ambiguity::NotJson => unreadable(),
            ambiguity => invalid(&format!("the body is no JSON-RPC message: {ambiguity}")),
        });
    }
    let array = RawJson::parse(line.body_bytes()).map_err(|_| unreadable())?;
    let messages: Result<Vec<Message>, Ambiguity> = array
        .items()
        .map(|item| Message::parse(&Line::from_wire(item.as_bytes().clone())))
        .collect();
    match messages {
        Ok(messages) if messages.is_empty() => Err(invalid("the batch is empty")),
        Ok(messages) => Ok(Incoming::Batch(line, messages)),
        Err(ambiguity) => {
            Err(invalid(&format!("an element of the batch is no JSON-RPC message: {ambiguity}")))
        }
    }
}

/// The forms in which a host takes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    /// Only where it says so in as many words: whoever takes anything is given the simple form.
    pub(super) events: bool,
    /// Whether it takes a stream where there is nothing else to be had.
    pub(super) any_stream: bool,
}

impl Accepts {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let anything = !headers.contains_key(ACCEPT);
        let mut found = Self { json: anything, events: false, any_stream: anything };
        for value in headers.get_all(ACCEPT) {
            let Ok(value) = value.to_str() else { continue };
            for range in value.split(',') {
                let mut parts = range.split(';').map(str::trim);
                let media = parts.next().unwrap_or_default().to_ascii_lowercase();
                let is_refused = parts.any(|part| {
                    let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
                    weight.is_some_and(|weight| weight.parse() == Ok(0.0))
                });
                if is_refused {
                    continue;
                }
                match &*media {
                    "application/json" | "application/*" => found.json = true,
                    "*/*" => (found.json, found.any_stream) = (true, true),
                    "text/event-stream" | "text/*" => {
                        (found.events, found.any_stream) = (true, true);
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// Whether the body says that it is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE) else { return false };
    let media = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    media.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// A header's value, where it has one that can be read.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The id that a refusal of this message answers.
pub(super) fn answerable(message: &Message) -> Option<&RequestId> {
    message.id().filter(|_| message.kind() == Kind::Request)
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    #[test]
    fn forms_are_taken_as_they_are_asked_for() {
        let check = |accept: Option<&str>, json, events| {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            let found = Accepts::of(&headers);
            assert_eq!((found.json, found.events), (json, events), "{accept:?}");
        };
        check(None, true, false);
        check(Some("*/*"), true, false);
        check(Some("application/json, text/event-stream"), true, true);
        check(Some("Text/Event-Stream;q=0.5"), false, true);
        check(Some("application/json;q=0, text/event-stream"), false, true);
        check(Some("application/json; charset=utf-8"), true, false);
        check(Some("text/html"), false, false);
        check(Some(""), false, false);
    }

    #[test]
    fn whoever_takes_anything_takes_a_stream_where_there_is_nothing_else() {
        let any_stream = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            Accepts::of(&headers).any_stream
        };
        assert!(Accepts::of(&HeaderMap::new()).any_stream);
        for fine in ["*/*", "text/event-stream", "text/*;q=0.1", "application/json, */*"] {
            assert!(any_stream(fine), "{fine}");
        }
        for not in ["application/json", "application/*", "*/*;q=0", "text/html", ""] {
            assert!(!any_stream(not), "{not}");
        }
    }

    #[test]
    fn bodies_are_messages_or_refused() {
        let status = |text: &str| match read(Bytes::copy_from_slice(text.as_bytes())) {
            Ok(incoming) => Ok(incoming.messages().len()),
            Err(refused) => Err(Response::from(refused).status().as_u16()),
        };
        assert_eq!(status(r#"{"id":1,"method":"ping"}"#), Ok(1));
        assert_eq!(status("\u{feff} {\n\"id\":1,\r\n\"method\":\"ping\"}\n"), Ok(1));
        assert_eq!(status(r#"[{"id":1,"method":"ping"},{"method":"x"}]"#), Ok(2));
        for bad in [
            "",
            "null",
            "7",
            "\"x\"",
            "[]",
            "{}",
            "{\"id\":1",
            "[1]",
            "[[]]",
            "\u{feff}",
            r#"{"id":1,"id":2,"method":"ping"}"#,
            r#"{"id":{},"method":"ping"}"#,
            r#"[{"id":1,"method":"ping"}"#,
            "{\"id\":1,\"method\":\"ping\"} x",
        ] {
            assert_eq!(status(bad), Err(400), "{bad}");
        }
    }

    #[test]
    fn a_body_stays_as_it_is_but_for_line_ends() {
        let text = "{\"id\":1.0,\n \"method\":\"p\\u0069ng\"}";
        let incoming = read(Bytes::copy_from_slice(text.as_bytes())).unwrap();
        assert_eq!(incoming.line().body(), text.replace('\n', " ").as_bytes());
    }
}
