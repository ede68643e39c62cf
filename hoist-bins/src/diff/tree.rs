//! JSON by what it says, and where two values differ.

use std::collections::BTreeMap;
use std::fmt::Write;

use hoist_trace::canonical_json;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Deeper values are compared as they are written.
const MAX_DEPTH: usize = 128;

/// A value. Two are equal that say the same, in whatever order and way it is written; of a key that
/// stands twice, the last counts. No digit of a number is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tree {
    Object(BTreeMap<String, Self>),
    List(Vec<Self>),
    /// Everything else, as JSON text.
    Leaf(String),
}

/// Where two values differ; `None` where one of them has nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// Such as `text.items[0].price`.
    pub(super) path: String,
    pub(super) a: Option<Tree>,
    pub(super) b: Option<Tree>,
}

impl Tree {
    pub(super) fn parse(json: &str) -> Self {
        Self::read(&canonical_json(json), MAX_DEPTH)
    }

    /// A text by what it says: what is an object or a list in JSON as that, all else as text.
    pub(super) fn of_text(text: &str) -> Self {
        let is_json = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<&RawValue>(text) {
            Ok(value) if is_json => Self::parse(value.get()),
            _ => Self::string(text),
        }
    }

    pub(super) fn string(text: &str) -> Self {
        Self::Leaf(serde_json::Value::from(text).to_string())
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::Leaf(value.to_string())
    }

    /// Reads a canonical text.
    fn read(json: &str, depth: usize) -> Self {
        match json.as_bytes().first() {
            Some(b'{') if depth > 0 => serde_json::from_str::<BTreeMap<String, &RawValue>>(json)
                .map(|members| {
                    let read =
                        |(key, value): (_, &RawValue)| (key, Self::read(value.get(), depth - 1));
                    Self::Object(members.into_iter().map(read).collect())
                }),
            Some(b'[') if depth > 0 => serde_json::from_str::<Vec<&RawValue>>(json).map(|items| {
                Self::List(items.iter().map(|item| Self::read(item.get(), depth - 1)).collect())
            }),
            _ => return Self::Leaf(json.to_owned()),
        }
        // A key that is no Unicode text.
        .unwrap_or_else(|_| Self::Leaf(json.to_owned()))
    }

    /// The value as JSON in one line; equal values have equal texts.
    pub(super) fn json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Leaf(leaf) => text.push_str(leaf),
            Self::List(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    item.write(text);
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    text.push_str(&serde_json::Value::from(&**key).to_string());
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }

    /// Where this value, of A, and that one, of B, differ.
    pub(super) fn changes(&self, other: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        compare(Some(self), Some(other), &mut String::new(), &mut changes);
        changes
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.json()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

fn compare(a: Option<&Tree>, b: Option<&Tree>, path: &mut String, changes: &mut Vec<Change>) {
    let len = path.len();
    match (a, b) {
        (Some(Tree::Object(one)), Some(Tree::Object(other))) => {
            let only_b = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(only_b) {
                push_key(path, key);
                compare(one.get(key), other.get(key), path, changes);
                path.truncate(len);
            }
        }
        (Some(Tree::List(one)), Some(Tree::List(other))) => {
            for at in 0..one.len().max(other.len()) {
                let written = write!(path, "[{at}]");
                debug_assert!(written.is_ok(), "writing to a string cannot fail");
                compare(one.get(at), other.get(at), path, changes);
                path.truncate(len);
            }
        }
        (a, b) if a == b => {}
        (a, b) => changes.push(Change { path: path.clone(), a: a.cloned(), b: b.cloned() }),
    }
}

/// Adds a key: bare where it is a plain word, else in brackets and quotes.
fn push_key(path: &mut String, key: &str) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !key.is_empty() && key.chars().all(is_word) {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        path.push('[');
        path.push_str(&serde_json::Value::from(key).to_string());
        path.push(']');
    }
}

/// Whether a path is this one, or of something within it. `[*]` in `outer` is any place of a list.
pub(super) fn is_within(path: &str, outer: &str) -> bool {
    let mut rest = path;
    for (at, part) in outer.split("[*]").enumerate() {
        if at > 0 {
            let Some((place, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']'))
            else {
                return false;
            };
            if !place.bytes().all(|byte| byte.is_ascii_digit()) {
                return false;
            }
            rest = behind;
        }
        let Some(behind) = rest.strip_prefix(part) else { return false };
        rest = behind;
    }
    rest.is_empty() || rest.starts_with(['.', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_the_same_is_equal() {
        for (one, other) in [
            ("{ \"b\":1, \"a\": [ 2 ] }", r#"{"a":[2],"b":1.0}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#""\u00e9\/""#, r#""é/""#),
            ("10", "1e1"),
            ("-0.0", "0"),
            ("-0.05", "-5E-2"),
            ("12345678901234567890123", "1.2345678901234567890123e22"),
            ("1e400", "10e399"),
        ] {
            assert_eq!(Tree::parse(one), Tree::parse(other), "{one} {other}");
            assert_eq!(Tree::parse(one).json(), Tree::parse(other).json());
        }
        for (one, other) in [
            ("1", "\"1\""),
            ("12345678901234567890", "12345678901234567891"),
            ("[1,2]", "[2,1]"),
            ("1", "-1"),
            ("1", "10"),
            ("0.1", "0.01"),
            ("null", "{}"),
            (r#""\ud83d""#, r#""\ud83e""#),
        ] {
            assert_ne!(Tree::parse(one), Tree::parse(other), "{one} {other}");
        }
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(Tree::parse(&deep).json(), deep);
        for number in ["12.5", "1200", "-0.05", "0.5", "1e99999999999999999999"] {
            assert_eq!(Tree::parse(number).json(), number);
        }
    }

    #[test]
    fn a_text_that_is_json_is_read_and_other_text_is_not() {
        assert_eq!(Tree::of_text("{\n \"a\": 1 }"), Tree::parse(r#"{"a":1}"#));
        for text in ["1.0", "null", "{a}", "", "[1] and more"] {
            assert_eq!(Tree::of_text(text), Tree::string(text));
        }
    }

    #[test]
    fn changes_have_paths() {
        let a = Tree::parse(r#"{"a":{"b":[1,2]},"gone":1,"odd key":1,"same":1}"#);
        let b = Tree::parse(r#"{"a":{"b":[1,3,4]},"odd key":"x","same":1.0,"new":{}}"#);
        let changes: Vec<_> = a
            .changes(&b)
            .into_iter()
            .map(|Change { path, a, b }| (path, a.map(|a| a.json()), b.map(|b| b.json())))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            ("a.b[1]".to_owned(), some("2"), some("3")),
            ("a.b[2]".to_owned(), None, some("4")),
            ("gone".to_owned(), some("1"), None),
            ("[\"odd key\"]".to_owned(), some("1"), some("\"x\"")),
            ("new".to_owned(), None, some("{}")),
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn a_path_is_within_another() {
        for (path, outer) in [
            ("text", "text"),
            ("text.a", "text"),
            ("text[0].a", "text"),
            ("text.items[12].at", "text.items[*].at"),
            ("text[0][1].x", "text[*][*]"),
        ] {
            assert!(is_within(path, outer), "{path} {outer}");
        }
        for (path, outer) in [
            ("text", "text.a"),
            ("texts", "text"),
            ("text.at", "text.a"),
            ("text[\"a\"]", "text[*]"),
            ("text.items[1].b", "text.items[*].a"),
        ] {
            assert!(!is_within(path, outer), "{path} {outer}");
        }
    }
}
