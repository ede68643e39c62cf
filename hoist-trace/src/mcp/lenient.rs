//! What can be read of messages that break a rule: for the few that do, behind the strict reading.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of an object as they stand: keys may stand there twice, and values may be anything.
#[derive(Debug)]
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// `None` for what is no object.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        super::wire::object(text).ok()
    }

    /// The last member of this name, as most parsers have it; `None` for a null.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rfind(|(key, _)| key == name);
        found.map(|(_, value)| *value).filter(|value| value.get() != "null")
    }

    /// The last member of this name, if it is a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    /// Every member of this name, nulls too.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a RawValue> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| *value)
    }

    pub(super) fn into_names(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(name, _)| name)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Lossy(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A text in which what is no Unicode, a lone surrogate, is U+FFFD; `None` for what is no text.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok().map(|Lossy(text)| text)
}

/// A text, or whatever else stands in its place as it was written.
pub(super) fn text_or_json(raw: &RawValue) -> String {
    text(raw).unwrap_or_else(|| raw.get().to_owned())
}

struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyText;
        impl Visitor<'_> for AnyText {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(without_surrogates(bytes).into_owned()))
            }
        }
        // As bytes, `serde_json` lets lone surrogates pass.
        deserializer.deserialize_bytes(AnyText)
    }
}

/// UTF-8, but that surrogates may stand in it as if they were characters.
fn without_surrogates(mut bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut all = String::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let good = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        all.push_str(&String::from_utf8_lossy(&bytes[..good]));
        bytes = &bytes[good..];
        if !bytes.is_empty() {
            all.push(char::REPLACEMENT_CHARACTER);
            let surrogate = matches!(bytes, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]);
            bytes = &bytes[if surrogate { 3 } else { 1 }..];
        }
    }
    Cow::Owned(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_unicode_is_one_replacement_each() {
        for (json, expected) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ude00 \ud83d""#, "\u{1f600} \u{fffd}"),
            (r#""é\n""#, "é\n"),
            (r#""\ud800\u0041\ud800""#, "\u{fffd}A\u{fffd}"),
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(text(raw).as_deref(), Some(expected), "{json}");
        }
        for other in ["1", "null", "[97]", "{}"] {
            let raw: &RawValue = serde_json::from_str(other).unwrap();
            assert_eq!(text(raw), None, "{other}");
            assert_eq!(text_or_json(raw), other);
        }
    }

    #[test]
    fn the_last_of_two_members_counts() {
        let members = Members::of(r#" {"a":1,"\ud800":2,"a":"x","b":null}"#).unwrap();
        assert_eq!(members.text("a").as_deref(), Some("x"));
        assert_eq!(members.get("\u{fffd}").unwrap().get(), "2");
        assert!(members.get("b").is_none());
        assert_eq!((members.all("a").count(), members.all("b").count()), (2, 1));
        assert!(Members::of("[1]").is_none());
    }
}
