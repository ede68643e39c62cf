//! JSON as serde_json reads it: slow and plain, to compare with.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The decoded key. A lone surrogate stands in it as three bytes that are no UTF-8.
    pub key: Vec<u8>,
    /// Where its value stands in the text.
    pub value: Range<usize>,
}

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// Not exactly one JSON value in UTF-8.
    Invalid,
    /// An object, with its members in order.
    Object(Vec<Member>),
    /// An array, with the places of its items.
    Array(Vec<Range<usize>>),
    /// Any other value.
    Scalar,
}

/// The value in a text without the white space around it.
pub fn value_of(text: &[u8]) -> Option<&[u8]> {
    serde_json::from_slice::<&RawValue>(text).ok().map(|raw| raw.get().as_bytes())
}

/// Reads one level of a text.
pub fn read(text: &[u8]) -> Json {
    let Some(value) = value_of(text) else { return Json::Invalid };
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    match value.first() {
        Some(b'{') => Json::Object(
            (&mut deserializer).deserialize_map(Level(text)).expect("the value is an object"),
        ),
        Some(b'[') => Json::Array(
            (&mut deserializer)
                .deserialize_seq(Level(text))
                .expect("the value is an array")
                .into_iter()
                .map(|item| item.value)
                .collect(),
        ),
        _ => Json::Scalar,
    }
}

/// Whether some object in a valid text has a key twice, at any depth; `None` when a key is no
/// Unicode text.
pub fn repeats_a_key(text: &[u8]) -> Option<bool> {
    let mut repeated = false;
    let mut open = vec![text];
    while let Some(text) = open.pop() {
        match read(text) {
            Json::Object(members) => {
                for (at, member) in members.iter().enumerate() {
                    std::str::from_utf8(&member.key).ok()?;
                    repeated |= members[..at].iter().any(|other| other.key == member.key);
                    open.push(&text[member.value.clone()]);
                }
            }
            Json::Array(items) => open.extend(items.into_iter().map(|item| &text[item])),
            Json::Scalar | Json::Invalid => {}
        }
    }
    Some(repeated)
}

/// Collects one level of a container in this text.
struct Level<'t>(&'t [u8]);

impl Level<'_> {
    fn place(&self, raw: &RawValue) -> Range<usize> {
        let start = raw.get().as_ptr() as usize - self.0.as_ptr() as usize;
        start..start + raw.get().len()
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Vec<Member>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let raw: &RawValue = map.next_value()?;
            members.push(Member { key, value: self.place(raw) });
        }
        Ok(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(raw) = seq.next_element::<&RawValue>()? {
            items.push(Member { key: Vec::new(), value: self.place(raw) });
        }
        Ok(items)
    }
}

/// A key, read as bytes: as text, one with a lone surrogate would be an error.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_read_with_its_places() {
        let text = br#" {"a" : 1.0, "\u0061":[2, {}] , "\ud83d":null} "#;
        let Json::Object(members) = read(text) else { panic!("an object") };
        let found: Vec<_> = members
            .iter()
            .map(|m| (&m.key[..], std::str::from_utf8(&text[m.value.clone()]).unwrap()))
            .collect();
        assert_eq!(found, [(&b"a"[..], "1.0"), (b"a", "[2, {}]"), (b"\xed\xa0\xbd", "null")]);
        let Json::Array(items) = read(b"[1, [2]]") else { panic!("an array") };
        assert_eq!(items, [1..2, 4..7]);
        assert_eq!(read(b"7"), Json::Scalar);
        assert_eq!(read(b"7 7"), Json::Invalid);
    }

    #[test]
    fn repeated_keys_are_found_at_any_depth() {
        assert_eq!(repeats_a_key(br#"{"a":{"b":1},"b":[{"a":1}]}"#), Some(false));
        assert_eq!(repeats_a_key(br#"[[{"a":{"b":1,"\u0062":2}}]]"#), Some(true));
        assert_eq!(repeats_a_key(br#"{"\ud83d":1}"#), None);
    }
}
