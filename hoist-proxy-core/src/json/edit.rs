//! Edits that keep every byte they do not change.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};

use super::{RawJson, members};
use crate::json::tokens::skip_space;

/// `object` with member `key` set to `value`: in place where the key stands (its last place, if
/// it stands twice), else added as the last member. Everything else keeps its bytes.
///
/// A value that is no object is returned as it is.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{RawJson, json::object_set};
///
/// let object = RawJson::parse(r#"{ "b":1.0, "a": [1,2] }"#)?;
/// let seven = RawJson::parse("7")?;
/// assert_eq!(object_set(&object, "a", &seven).as_str(), r#"{ "b":1.0, "a": 7 }"#);
/// assert_eq!(object_set(&object, "c", &seven).as_str(), r#"{ "b":1.0, "a": [1,2],"c":7 }"#);
/// # Ok::<(), hoist_proxy_core::InvalidJson>(())
/// ```
#[must_use]
pub fn object_set(object: &RawJson, key: &str, value: &RawJson) -> RawJson {
    let text = object.as_bytes();
    if let Some(member) = members(text).filter(|m| m.key_is(key)).last() {
        return splice(text, member.value.start, member.value.end, &[value.as_bytes()]);
    }
    if !object.is_object() {
        return object.clone();
    }
    let key = RawJson::string(key);
    let (at, comma) = match members(text).last() {
        Some(last) => (last.value.end, &b","[..]),
        None => (1, &b""[..]),
    };
    splice(text, at, at, &[comma, key.as_bytes(), b":", value.as_bytes()])
}

/// `array` with `item` added at its end. Everything else keeps its bytes.
///
/// A value that is no array is returned as it is.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{RawJson, json::array_push};
///
/// let array = RawJson::parse("[1.0, 2 ]")?;
/// assert_eq!(array_push(&array, &RawJson::string("x")).as_str(), r#"[1.0, 2,"x" ]"#);
/// # Ok::<(), hoist_proxy_core::InvalidJson>(())
/// ```
#[must_use]
pub fn array_push(array: &RawJson, item: &RawJson) -> RawJson {
    let text = array.as_bytes();
    if !array.is_array() {
        return array.clone();
    }
    let (at, comma) = match super::elements(text).last() {
        Some(last) => (last.end, &b","[..]),
        None => (1, &b""[..]),
    };
    splice(text, at, at, &[comma, item.as_bytes()])
}

/// `object` without member `key`, wherever it stands. Everything else keeps its bytes.
///
/// A value that is no object is returned as it is.
#[must_use]
pub fn object_remove(object: &RawJson, key: &str) -> RawJson {
    let mut object = object.clone();
    while let Some(span) = removal(object.as_bytes(), key) {
        object = splice(object.as_bytes(), span.start, span.end, &[]);
    }
    object
}

/// What to cut to remove the first member `key`: with the comma in front of it, or, for the first
/// member, the one behind it.
fn removal(text: &[u8], key: &str) -> Option<Range<usize>> {
    let mut members = members(text);
    let mut before = None;
    let found = members.by_ref().find(|m| {
        let hit = m.key_is(key);
        if !hit {
            before = Some(m.value.end);
        }
        hit
    })?;
    let start = before.unwrap_or(found.key.start);
    let end = match (before, members.next()) {
        (None, Some(after)) => after.key.start,
        _ => found.value.end,
    };
    Some(start..end)
}

/// The text with `start..end` replaced by `parts`.
fn splice(text: &[u8], start: usize, end: usize, parts: &[&[u8]]) -> RawJson {
    RawJson::checked(splice_bytes(text, start, end, parts))
}

pub(crate) fn splice_bytes(text: &[u8], start: usize, end: usize, parts: &[&[u8]]) -> Bytes {
    let added: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = BytesMut::with_capacity(text.len() - (end - start) + added);
    out.put_slice(&text[..start]);
    for part in parts {
        out.put_slice(part);
    }
    out.put_slice(&text[end..]);
    out.freeze()
}

/// `message` (a whole line's body: white space, a byte order mark and a terminator may surround
/// the object) with member `key` replaced, or added before the closing brace.
pub(crate) fn message_set(body: &[u8], key: &str, value: &[u8]) -> Bytes {
    let start = body.len() - crate::line::without_bom(body).len();
    let text = &body[start..];
    if let Some(member) = members(text).filter(|m| m.key_is(key)).last() {
        return splice_bytes(body, start + member.value.start, start + member.value.end, &[value]);
    }
    let (at, comma) = match members(text).last() {
        Some(last) => (last.value.end, &b","[..]),
        None => (skip_space(text, 0) + 1, &b""[..]),
    };
    let key = RawJson::string(key);
    splice_bytes(body, start + at, start + at, &[comma, key.as_bytes(), b":", value])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn edits_keep_every_other_byte() {
        for (object, key, value, want) in [
            ("{}", "a", "1", r#"{"a":1}"#),
            ("{ }", "a", "1", r#"{"a":1 }"#),
            (r#"{"a":1,"a":2}"#, "a", "3", r#"{"a":1,"a":3}"#),
            (r#"{"\u0061" : 1e400 , "b":"\/"}"#, "a", "{}", r#"{"\u0061" : {} , "b":"\/"}"#),
            (r#"{"b":{"a":1}}"#, "a", "2", r#"{"b":{"a":1},"a":2}"#),
            ("[1]", "a", "2", "[1]"),
        ] {
            assert_eq!(object_set(&raw(object), key, &raw(value)).as_str(), want);
        }
        assert_eq!(array_push(&raw("[]"), &raw("1")).as_str(), "[1]");
        assert_eq!(array_push(&raw("[ ]"), &raw("1")).as_str(), "[1 ]");
        assert_eq!(array_push(&raw("{}"), &raw("1")).as_str(), "{}");
    }

    #[test]
    fn a_member_is_removed_with_one_comma() {
        for (object, want) in [
            (r#"{"a":1}"#, "{}"),
            (r#"{ "a":1 }"#, "{  }"),
            (r#"{"a":1, "b":2}"#, r#"{"b":2}"#),
            (r#"{"b":2 , "a":1}"#, r#"{"b":2}"#),
            (r#"{"b":1,"a":[{}],"c":3}"#, r#"{"b":1,"c":3}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"b":2}"#),
            (r#"{"b":{"a":1}}"#, r#"{"b":{"a":1}}"#),
            ("[1]", "[1]"),
        ] {
            assert_eq!(object_remove(&raw(object), "a").as_str(), want, "{object}");
        }
    }

    #[test]
    fn a_message_keeps_what_surrounds_it() {
        let body = "\u{feff} {\"id\" : 1, \"x\":1.0 } ".as_bytes();
        let got = message_set(body, "id", b"\"a\"");
        assert_eq!(got, "\u{feff} {\"id\" : \"a\", \"x\":1.0 } ".as_bytes());
        let got = message_set(b"  {}", "id", b"1");
        assert_eq!(got, &b"  {\"id\":1}"[..]);
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i64>().prop_map(Into::into),
            ".{0,6}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::hash_map("[a-c\"\\\\]{0,2}", inner, 0..4)
                    .prop_map(|m| serde_json::Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_edit_does_what_the_same_edit_on_values_does(
            object in value(), key in "[a-c\"\\\\]{0,2}", new in value(), pretty: bool,
        ) {
            let text = if pretty {
                serde_json::to_string_pretty(&object).unwrap()
            } else {
                object.to_string()
            };
            let edited = object_set(&raw(&text), &key, &raw(&new.to_string()));
            let pushed = array_push(&raw(&text), &raw(&new.to_string()));
            let (mut want_edited, mut want_pushed) = (object.clone(), object);
            if let Some(map) = want_edited.as_object_mut() {
                map.insert(key, new.clone());
            }
            if let Some(array) = want_pushed.as_array_mut() {
                array.push(new);
            }
            prop_assert_eq!(edited.read::<serde_json::Value>().unwrap(), want_edited);
            prop_assert_eq!(pushed.read::<serde_json::Value>().unwrap(), want_pushed);
        }
    }
}
