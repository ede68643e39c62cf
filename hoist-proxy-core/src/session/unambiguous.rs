//! Whether a message can be read in one way only, and what one that cannot seems to be.

use serde_json::value::RawValue;

use crate::json::{EnvelopeScanner, ScannedEnvelope, ScannedKind, members};
use crate::line::without_bom;
use crate::{Ambiguity, Line, Message, RequestId};

/// Checks a message of the host's: no key twice in the envelope, in `params` or anywhere in
/// `params.arguments`, and in the first two no key that differs from one of MCP's only in letter
/// case. Other parsers may read the other value.
pub(crate) fn check_unambiguous(message: &Message) -> Result<(), Ambiguity> {
    let Some(faults) = message.key_faults() else { return Ok(()) };
    first_of([&faults.envelope, &faults.params, &faults.arguments])
}

/// Checks an answer: no key twice in the envelope or the result, and none that differs from one
/// of MCP's only in letter case.
pub(crate) fn check_answer(message: &Message) -> Result<(), Ambiguity> {
    let Some(faults) = message.key_faults() else { return Ok(()) };
    first_of([&faults.envelope, &faults.result])
}

fn first_of<const N: usize>(faults: [&Option<Ambiguity>; N]) -> Result<(), Ambiguity> {
    faults.into_iter().flatten().next().map_or(Ok(()), |fault| Err(fault.clone()))
}

/// What a line seems to be that is no message for certain. Where a key of the envelope stands
/// twice its last place counts, as it does for most parsers.
pub(crate) fn seems(line: &Line) -> ScannedEnvelope {
    let text = without_bom(line.body());
    if serde_json::from_slice::<&RawValue>(text).is_err() {
        let mut scanner = EnvelopeScanner::new();
        scanner.feed(line.body());
        return scanner.finish();
    }
    let (mut id, mut has_id, mut has_method, mut has_outcome) = (None, false, false, false);
    for member in members(text) {
        match member.decoded_key().as_deref() {
            Some("id") => {
                has_id = true;
                id = RequestId::parse(&text[member.value]);
            }
            Some("method") => has_method = true,
            Some("result" | "error") => has_outcome = true,
            _ => {}
        }
    }
    let kind = match (has_method, &id, has_outcome) {
        (true, Some(_), _) => ScannedKind::Request,
        (true, None, _) if !has_id => ScannedKind::Notification,
        (false, Some(_), true) => ScannedKind::Response,
        _ => ScannedKind::Other,
    };
    ScannedEnvelope { kind, id }
}

/// Whether it is the id that cannot be told.
pub(crate) fn is_about_id(ambiguity: &Ambiguity) -> bool {
    match ambiguity {
        Ambiguity::RepeatedKey(key) | Ambiguity::LetterCase(key) => key.eq_ignore_ascii_case("id"),
        Ambiguity::Envelope(what) => *what == "id",
        Ambiguity::NotJson | Ambiguity::NotText => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_for_certain_seems_to_be_one() {
        for (text, kind, id) in [
            (r#"{"id":1,"id":2,"method":"m"}"#, ScannedKind::Request, Some("2")),
            (r#"{"i\u0064":1,"method":"m","method":"n"}"#, ScannedKind::Request, Some("1")),
            (r#"{"method":"m","method":"n"}"#, ScannedKind::Notification, None),
            (r#"{"id":{},"method":"m"}"#, ScannedKind::Other, None),
            (r#"{"id":7,"result":1,"result":2}"#, ScannedKind::Response, Some("7")),
            (r#"{"id":7}"#, ScannedKind::Other, Some("7")),
            ("[1]", ScannedKind::Other, None),
            ("noise", ScannedKind::Other, None),
        ] {
            let seems = seems(&Line::from_wire(format!("{text}\n")));
            assert_eq!((seems.kind, seems.id.as_ref().map(RequestId::raw)), (kind, id), "{text}");
        }
        let latin1 = Line::from_wire(&b"{\"id\":7,\"result\":\"\xe9\"}\n"[..]);
        assert_eq!(seems(&latin1).kind, ScannedKind::Response);
        let huge = format!(r#"{{"id":"{}","method":"m","method":"n"}}"#, "x".repeat(5000));
        assert_eq!(seems(&Line::from_wire(huge)).kind, ScannedKind::Request);
    }

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
