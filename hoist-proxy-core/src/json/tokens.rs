//! Walking a valid JSON text byte by byte, without recursion, so that depth costs nothing.
//!
//! Every function here is given text that `serde_json` has accepted. Given anything else they
//! still end and stay in bounds; they just find less.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// One member of an object: where its key (with quotes) and its value stand in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    text: &'a [u8],
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

impl<'a> Member<'a> {
    /// The decoded key; `None` when it is no Unicode text.
    pub(crate) fn decoded_key(&self) -> Option<Cow<'a, str>> {
        decode(&self.text[self.key.clone()])
    }

    /// Whether the decoded key is `key`.
    pub(crate) fn key_is(&self, key: &str) -> bool {
        let raw = &self.text[self.key.clone()];
        if raw.contains(&b'\\') {
            return self.decoded_key().is_some_and(|k| k == key);
        }
        raw.get(1..raw.len().saturating_sub(1)) == Some(key.as_bytes())
    }
}

/// Decodes a JSON string with its quotes; `None` when it is no Unicode text, or no string.
pub(crate) fn decode(raw: &[u8]) -> Option<Cow<'_, str>> {
    if raw.first() != Some(&b'"') {
        return None;
    }
    if !raw.contains(&b'\\') {
        return std::str::from_utf8(raw.get(1..raw.len().checked_sub(1)?)?).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(raw).ok().map(Cow::Owned)
}

/// The members of an object, in order; none for any other value.
pub(crate) fn members(text: &[u8]) -> impl Iterator<Item = Member<'_>> {
    let mut at = open(text, b'{');
    std::iter::from_fn(move || {
        let key_at = at?;
        let key_end = skip_value(text, key_at);
        let colon = skip_space(text, key_end);
        let value_at = skip_space(text, colon + 1);
        let value_end = skip_value(text, value_at);
        at = next_item(text, value_end);
        let well_formed = text.get(colon) == Some(&b':') && value_end > value_at;
        well_formed.then_some(Member { text, key: key_at..key_end, value: value_at..value_end })
    })
}

/// Where the items of an array stand, in order; none for any other value.
pub(crate) fn elements(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = open(text, b'[');
    std::iter::from_fn(move || {
        let start = at?;
        let end = skip_value(text, start);
        at = next_item(text, end);
        (end > start).then_some(start..end)
    })
}

/// Where the first item of a container starts; `None` when it is empty or another value.
fn open(text: &[u8], bracket: u8) -> Option<usize> {
    let start = skip_space(text, 0);
    if text.get(start) != Some(&bracket) {
        return None;
    }
    let first = skip_space(text, start + 1);
    (!matches!(text.get(first), None | Some(b'}' | b']'))).then_some(first)
}

/// Where the next item starts after the one that ended at `end`; `None` after the last.
fn next_item(text: &[u8], end: usize) -> Option<usize> {
    let comma = skip_space(text, end);
    (text.get(comma) == Some(&b',')).then(|| skip_space(text, comma + 1))
}

pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = text.get(at) {
        // Almost always there is none.
        if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            break;
        }
        at += 1;
    }
    at
}

/// Where the value that starts at `at` ends.
pub(crate) fn skip_value(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = skip_string(text, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                if depth == 0 {
                    return at;
                }
                depth -= 1;
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                if depth == 0 {
                    return at;
                }
                at += 1;
                continue;
            }
            _ => at = skip_scalar(text, at),
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

/// Where the string whose quote is at `at` ends, behind its closing quote.
pub(crate) fn skip_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(rest) = text.get(at..) {
        match memchr2(b'"', b'\\', rest) {
            None => return text.len(),
            Some(found) if rest[found] == b'"' => return at + found + 1,
            Some(found) => at += found + 2,
        }
    }
    text.len()
}

fn skip_scalar(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        if matches!(
            byte,
            b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"' | b' ' | b'\t' | b'\n' | b'\r'
        ) {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(String, String)> {
        members(text.as_bytes())
            .map(|m| (m.decoded_key().unwrap().into_owned(), text[m.value].to_owned()))
            .collect()
    }

    #[test]
    fn members_are_found_with_any_spacing() {
        let text = r#" { "a" : 1 , "b\"" : { "c" : [ "}" , "\\" ] } , "d":"x","e":null } "#;
        let found = values(text);
        let found: Vec<_> = found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            found,
            [("a", "1"), ("b\"", r#"{ "c" : [ "}" , "\\" ] }"#), ("d", "\"x\""), ("e", "null")]
        );
        assert!(values("{}").is_empty());
        assert!(values("[1]").is_empty());
        assert!(values("7").is_empty());
    }

    #[test]
    fn elements_are_found_with_any_spacing() {
        let text = " [ 1 , [ 2 , 3 ] ,{\"a\":[]}, \"x,y\" ] ";
        let found: Vec<_> = elements(text.as_bytes()).map(|s| &text[s]).collect();
        assert_eq!(found, ["1", "[ 2 , 3 ]", "{\"a\":[]}", "\"x,y\""]);
        assert_eq!(elements(b"[]").count(), 0);
        assert_eq!(elements(b" [ ] ").count(), 0);
    }

    #[test]
    fn broken_text_ends_the_walk_in_bounds() {
        for text in
            ["{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "[1,", "[\"\\", "{:1}", "{,}", "[,]"]
        {
            assert!(members(text.as_bytes()).count() <= 1);
            assert!(elements(text.as_bytes()).count() <= 1);
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("[{}{}]", "[".repeat(300_000), "]".repeat(300_000));
        assert_eq!(elements(deep.as_bytes()).count(), 1);
    }
}
