//! JSON texts and messages: read as serde_json reads them, edited without touching another byte.

#![no_main]

use hoist_fuzz::input::{Input, pieces};
use hoist_fuzz::oracle::{self, Json, Member};
use hoist_fuzz::session;
use hoist_proxy_core::json::{
    EnvelopeScanner, ScannedEnvelope, ScannedKind, array_push, object_remove, object_set,
};
use hoist_proxy_core::{Kind, Line, Message, RawJson, RequestId};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let chunks = input.chunks();
    let key =
        ["id", "method", "params", "a", "", "\u{e9}\"\\", "name"][usize::from(input.byte() % 7)];
    let text = input.rest();

    check_value(text, key);
    check_message(text, &chunks);
    session::check(text);
});

/// A value that is looked at and edited.
fn check_value(text: &[u8], key: &str) {
    let parsed = RawJson::parse(text.to_vec());
    let Some(value) = oracle::value_of(text) else {
        assert!(parsed.is_err());
        return;
    };
    let raw = parsed.expect("serde_json takes it");
    let mut on_one_line = value.to_vec();
    on_one_line.iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    assert_eq!(raw.as_bytes(), &on_one_line);

    let text = raw.as_bytes();
    let new = RawJson::string("n\u{e9}w \"value\"");
    let (members, items) = match oracle::read(text) {
        Json::Invalid => panic!("a line break is white space"),
        Json::Object(members) => (Some(members), None),
        Json::Array(items) => (None, Some(items)),
        Json::Scalar => (None, None),
    };
    assert_eq!((raw.is_object(), raw.is_array()), (members.is_some(), items.is_some()));

    let found: Vec<_> = raw.items().map(|item| item.as_bytes().clone()).collect();
    let want: Vec<_> = items.iter().flatten().map(|item| text.slice(item.clone())).collect();
    assert_eq!(found, want);
    let pushed = array_push(&raw, &new);
    match &items {
        None => assert_eq!(pushed, raw),
        Some(items) => {
            let at = items.last().map_or(1, |last| last.end);
            let comma = if items.is_empty() { "" } else { "," };
            assert_eq!(pushed.as_bytes(), &spliced(text, at, at, &format!("{comma}{new}")));
        }
    }

    let members = members.unwrap_or_default();
    // A key of the object's own, so that there is one to edit.
    let own = members.first().and_then(|m| std::str::from_utf8(&m.key).ok());
    for key in [Some(key), own].into_iter().flatten() {
        check_member(&raw, &members, key, &new);
    }
}

/// One member of an object is read, set and removed.
fn check_member(raw: &RawJson, members: &[Member], key: &str, new: &RawJson) {
    let text = raw.as_bytes();
    let last = members.iter().rev().find(|m| m.key == key.as_bytes());
    assert_eq!(
        raw.get(key).map(|v| v.as_bytes().clone()),
        last.map(|m| text.slice(m.value.clone()))
    );

    let set = object_set(raw, key, new);
    let want = match (last, members.last()) {
        (Some(member), _) => spliced(text, member.value.start, member.value.end, new.as_str()),
        (None, _) if !raw.is_object() => text.to_vec(),
        (None, None) => spliced(text, 1, 1, &format!("{}:{new}", RawJson::string(key))),
        (None, Some(end)) => {
            let member = format!(",{}:{new}", RawJson::string(key));
            spliced(text, end.value.end, end.value.end, &member)
        }
    };
    assert_eq!(set.as_bytes(), &want);
    assert_eq!(set.get(key).as_ref(), raw.is_object().then_some(new));

    let removed = object_remove(raw, key);
    let kept: Vec<_> = members.iter().filter(|m| m.key != key.as_bytes()).collect();
    if kept.len() == members.len() {
        assert_eq!(removed, *raw);
        return;
    }
    let Json::Object(left) = oracle::read(removed.as_bytes()) else { panic!("{removed}") };
    let values = |members: Vec<&Member>, text: &bytes::Bytes| -> Vec<_> {
        members.into_iter().map(|m| (m.key.clone(), text.slice(m.value.clone()))).collect()
    };
    assert_eq!(values(left.iter().collect(), removed.as_bytes()), values(kept, text));
    assert!(is_part_of(removed.as_bytes(), text), "{removed} is not what is left of {raw}");
}

/// A line, read as a message.
fn check_message(text: &[u8], chunks: &[usize]) {
    let scanned = scan(text, chunks);
    assert_eq!(scanned, scan(text, &[usize::MAX]));

    let line = Line::from_wire(text.to_vec());
    let Ok(message) = Message::parse(&line) else {
        assert!(!is_message(line.body()), "a message was refused");
        return;
    };
    assert!(is_message(line.body()), "this is no message");
    assert_eq!(message.line(), &line);
    let body = line.body();
    let text = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let Json::Object(members) = oracle::read(text) else { panic!("it is a message") };
    let value = |key: &str| {
        let member = members.iter().find(|m| m.key == key.as_bytes())?;
        std::str::from_utf8(&text[member.value.clone()]).ok()
    };
    assert_eq!(message.id().map(RequestId::raw), value("id"));
    assert_eq!(message.params().map(RawJson::as_str), value("params"));
    assert_eq!(message.result().map(RawJson::as_str), value("result"));
    assert_eq!(message.error().map(RawJson::as_str), value("error"));
    let method: Option<String> = value("method").map(|m| serde_json::from_str(m).expect("text"));
    assert_eq!(message.method(), method.as_deref());

    // The scanner keeps ids up to 1024 bytes.
    if message.id().is_none_or(|id| id.raw().len() <= 1024) {
        let kind = match message.kind() {
            Kind::Request => ScannedKind::Request,
            Kind::Notification => ScannedKind::Notification,
            Kind::Response => ScannedKind::Response,
            other => panic!("{other:?}"),
        };
        assert_eq!((scanned.kind, scanned.id.as_ref()), (kind, message.id()));
    }
}

/// Whether a line is one JSON-RPC message that can be read in one way.
fn is_message(body: &[u8]) -> bool {
    let text = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let Json::Object(members) = oracle::read(text) else { return false };
    let values = |key: &str| -> Vec<&[u8]> {
        members.iter().filter(|m| m.key == key.as_bytes()).map(|m| &text[m.value.clone()]).collect()
    };
    let keys = ["id", "method", "params", "result", "error"];
    if keys.iter().any(|key| values(key).len() > 1) {
        return false;
    }
    let has = |key: &str| !values(key).is_empty();
    let is_id = |id: &&[u8]| matches!(id[0], b'"' | b'n' | b'-' | b'0'..=b'9');
    let is_text = |text: &&[u8]| serde_json::from_slice::<String>(text).is_ok();
    let outcome = has("result") || has("error");
    values("id").iter().all(is_id)
        && values("method").iter().all(is_text)
        && (has("method") != outcome)
        && (has("method") || has("id"))
}

fn scan(text: &[u8], chunks: &[usize]) -> ScannedEnvelope {
    let mut scanner = EnvelopeScanner::new();
    pieces(text, chunks).for_each(|piece| scanner.feed(piece));
    scanner.finish()
}

fn spliced(text: &[u8], start: usize, end: usize, new: &str) -> Vec<u8> {
    [&text[..start], new.as_bytes(), &text[end..]].concat()
}

/// Whether `part` is `whole` with some bytes taken out.
fn is_part_of(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|byte| whole.any(|other| other == byte))
}
