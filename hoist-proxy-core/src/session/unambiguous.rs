//! Whether a host's message can be read in one way only.

use crate::json::{Keys, check_keys, check_repeated_anywhere};
use crate::message::ENVELOPE_KEYS;
use crate::{Ambiguity, Message};

/// The keys of the params of MCP's requests and notifications, all revisions.
const PARAM_KEYS: Keys = Keys(&[
    "_meta",
    "argument",
    "arguments",
    "capabilities",
    "clientInfo",
    "content",
    "context",
    "cursor",
    "includeContext",
    "inputResponses",
    "level",
    "maxTokens",
    "message",
    "messages",
    "metadata",
    "model",
    "modelPreferences",
    "name",
    "notifications",
    "progress",
    "progressToken",
    "protocolVersion",
    "reason",
    "ref",
    "requestId",
    "requestState",
    "requestedSchema",
    "roots",
    "stopSequences",
    "systemPrompt",
    "task",
    "taskId",
    "temperature",
    "total",
    "uri",
]);

/// Checks a message of the host's: no key twice in the envelope, in `params` or anywhere in
/// `params.arguments`, and in the first two no key that differs from one of MCP's only in letter
/// case. Other parsers may read the other value.
pub(crate) fn check_unambiguous(message: &Message) -> Result<(), Ambiguity> {
    let body = crate::line::without_bom(message.line().body());
    check_keys(body, ENVELOPE_KEYS)?;
    if let Some(params) = message.params() {
        check_keys(params.as_bytes(), PARAM_KEYS)?;
        if let Some(arguments) = params.get("arguments") {
            check_repeated_anywhere(arguments.as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Line;

    #[test]
    fn what_two_parsers_may_read_in_two_ways_is_found() {
        let check = |text: &str| {
            Message::parse(&Line::from_wire(text.to_owned())).and_then(|m| check_unambiguous(&m))
        };
        for good in [
            r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"Name":1,"name":2}}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"x":1,"x":2}}}"#,
            r#"{"id":1,"method":"ping"}"#,
            r#"{"id":1,"method":"m","params":[1,1]}"#,
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let call = |params: &str| format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#);
        for bad in [
            call(r#"{"name":"safe","name":"danger"}"#),
            call(r#"{"name":"safe","Name":"danger"}"#),
            call(r#"{"name":"safe","n\u0061me":"danger"}"#),
            call(r#"{"name":"a","arguments":{"x":{"y":1,"y":2}}}"#),
            call(r#"{"name":"a","arguments":{},"ARGUMENTS":{}}"#),
            r#"{"id":1,"Method":"x","method":"y"}"#.into(),
            r#"{"id":1,"method":"x","method":"y"}"#.into(),
            r#"{"id":1,"ID":2,"method":"x"}"#.into(),
        ] {
            assert!(check(&bad).is_err(), "{bad}");
        }
    }
}
