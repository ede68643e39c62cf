//! What the server sends: which requests a message answers.

use bytes::Bytes;
use hoist_proxy_core::json::object_set;
use hoist_proxy_core::{Ambiguity, Kind, Line, Message, RawJson, RequestId};

/// What a message of the server's is to the requests that wait.
#[derive(Debug, PartialEq)]
pub(super) enum About {
    /// It answers requests of these ids, or none.
    Answers(Vec<RequestId>),
    /// An error that does not say which request it answers.
    NamelessError(RawJson),
    /// An answer, by the look of it, but parsers may differ over which.
    Ambiguous,
    /// No JSON-RPC.
    Junk,
}

pub(super) fn about(text: &Bytes) -> About {
    let line = Line::from_wire(text.clone());
    if line.is_array() {
        let Ok(batch) = RawJson::parse(text.clone()) else { return About::Junk };
        let mut ids = Vec::new();
        for element in batch.items() {
            match about(element.as_bytes()) {
                About::Answers(more) => ids.extend(more),
                About::Junk => return About::Junk,
                About::NamelessError(_) | About::Ambiguous => {}
            }
        }
        return About::Answers(ids);
    }
    match Message::parse(&line) {
        Ok(message) => match (message.kind(), message.id()) {
            (Kind::Response, Some(id)) if id.is_null() => {
                RawJson::parse(text.clone()).map_or(About::Junk, About::NamelessError)
            }
            (Kind::Response, Some(id)) => About::Answers(vec![id.clone()]),
            _ => About::Answers(Vec::new()),
        },
        Err(Ambiguity::NotJson) => About::Junk,
        Err(Ambiguity::RepeatedKey(_)) => About::Ambiguous,
        Err(_) => match RawJson::parse(text.clone()) {
            Ok(object) if object.get("error").is_some_and(|error| error.is_object()) => {
                About::NamelessError(object)
            }
            _ => About::Junk,
        },
    }
}

/// The same error, as the answer to the request of this id.
pub(super) fn named(error: &RawJson, id: &RequestId) -> Line {
    let Ok(id) = RawJson::parse(id.raw().to_owned()) else { return Line::from_body(b"") };
    let mut answer = object_set(error, "id", &id);
    if answer.get("jsonrpc").is_none() {
        answer = object_set(&answer, "jsonrpc", &RawJson::string("2.0"));
    }
    Line::from_body(answer.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> About {
        about(&Bytes::copy_from_slice(text.as_bytes()))
    }

    fn ids(ids: &[&str]) -> About {
        About::Answers(ids.iter().map(|id| RequestId::parse(id.as_bytes()).unwrap()).collect())
    }

    #[test]
    fn answers_are_told_from_the_rest() {
        assert_eq!(of(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), ids(&["1"]));
        assert_eq!(of(r#"{"id":"a","error":{"code":1}}"#), ids(&["\"a\""]));
        assert_eq!(of(r#"{"method":"x"}"#), ids(&[]));
        assert_eq!(of(r#"{"id":1,"method":"ping"}"#), ids(&[]));
        assert_eq!(
            of(r#" [{"id":1,"result":1},{"method":"x"},{"id":2,"result":1}]"#),
            ids(&["1", "2"])
        );
        for junk in
            ["", "null", "7", "<html>", r#"{"Output":null}"#, "{}", "[1]", "[{}]", "{\"id\":1}"]
        {
            assert_eq!(of(junk), About::Junk, "{junk}");
        }
        assert_eq!(of(r#"{"id":1,"id":2,"result":1}"#), About::Ambiguous);
    }

    #[test]
    fn an_error_that_names_no_request_is_given_its_name() {
        let id = RequestId::parse(b"1.0").unwrap();
        for text in [r#"{"jsonrpc":"2.0","id":null,"error":{"code":5}}"#, r#"{"error":{"code":5}}"#]
        {
            let About::NamelessError(error) = of(text) else { panic!("{text}") };
            let line = named(&error, &id);
            let message = Message::parse(&line).unwrap();
            assert_eq!(message.id().unwrap().raw(), "1.0");
            assert_eq!(message.error().unwrap().as_str(), r#"{"code":5}"#);
            assert!(String::from_utf8_lossy(line.body()).contains(r#""jsonrpc":"2.0""#));
        }
    }
}
