//! Finding keys that two parsers may read in two ways.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::members;
use super::tokens::{decode, skip_space, skip_string, skip_value};
use crate::Ambiguity;

/// Which keys of an object are MCP's own, so that another letter case is suspicious.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys(pub(crate) &'static [&'static str]);

/// One object's own keys, checked one after the other.
#[derive(Default)]
pub(crate) struct KeyCheck<'a> {
    seen: Seen<'a>,
}

impl<'a> KeyCheck<'a> {
    /// Checks the next key, given with its quotes: it must not stand there twice, nor differ from
    /// one of `known` only in letter case. Returns it decoded.
    pub(crate) fn next(&mut self, raw: &'a [u8], known: Keys) -> Result<Cow<'a, [u8]>, Ambiguity> {
        let key = decoded(raw)?;
        let miscased = |k: &&str| k.as_bytes().eq_ignore_ascii_case(&key) && k.as_bytes() != &*key;
        if known.0.iter().any(miscased) {
            return Err(Ambiguity::LetterCase(text(&key)));
        }
        self.seen.insert(&key)?;
        Ok(key)
    }
}

/// The keys of one object. Few are kept in place, which takes no allocation and is mostly all
/// there is; many in a set, so that an object of many members takes no quadratic time.
#[derive(Default)]
struct Seen<'a> {
    few: [&'a [u8]; 16],
    len: usize,
    many: HashSet<Cow<'a, [u8]>>,
}

impl<'a> Seen<'a> {
    /// Adds a decoded key.
    #[expect(clippy::ptr_arg, reason = "whether the key is borrowed decides where it is kept")]
    fn insert(&mut self, key: &Cow<'a, [u8]>) -> Result<(), Ambiguity> {
        if self.few[..self.len].contains(&&**key) || self.many.contains(key) {
            return Err(Ambiguity::RepeatedKey(text(key)));
        }
        match (key, self.few.get_mut(self.len)) {
            (Cow::Borrowed(key), Some(place)) => {
                *place = key;
                self.len += 1;
            }
            _ => {
                self.many.insert(key.clone());
            }
        }
        Ok(())
    }
}

fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// A key with its quotes, decoded. Most have no escapes and are their own bytes.
pub(crate) fn decoded(raw: &[u8]) -> Result<Cow<'_, [u8]>, Ambiguity> {
    if raw.contains(&b'\\') {
        let decoded = decode(raw).ok_or(Ambiguity::NotText)?;
        return Ok(Cow::Owned(decoded.into_owned().into_bytes()));
    }
    Ok(Cow::Borrowed(raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()))
}

/// Checks one object's own keys: none twice, none that differs from one of `known` only in letter
/// case. `object` is any valid JSON; what is no object passes.
pub(crate) fn check_keys(object: &[u8], known: Keys) -> Result<(), Ambiguity> {
    check_keys_and_find(object, known, "").map(|_| ())
}

/// As [`check_keys`], and where the value of member `wanted` stands.
pub(crate) fn check_keys_and_find(
    object: &[u8],
    known: Keys,
    wanted: &str,
) -> Result<Option<Range<usize>>, Ambiguity> {
    let mut check = KeyCheck::default();
    let mut found = None;
    for member in members(object) {
        let key = check.next(&object[member.key], known)?;
        if *key == *wanted.as_bytes() {
            found = Some(member.value);
        }
    }
    Ok(found)
}

/// Checks that no object anywhere in `text` has a key twice.
///
/// One pass, no recursion. `text` is valid JSON.
pub(crate) fn check_repeated_anywhere(text: &[u8]) -> Result<(), Ambiguity> {
    // One set per open object; `None` for an open array.
    let mut open: Vec<Option<Seen<'_>>> = Vec::new();
    let mut at = skip_space(text, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' => open.push(Some(Seen::default())),
            b'[' => open.push(None),
            b'}' | b']' => {
                open.pop();
            }
            b'"' => {
                let end = skip_string(text, at);
                let after = skip_space(text, end);
                if text.get(after) == Some(&b':')
                    && let Some(Some(seen)) = open.last_mut()
                {
                    seen.insert(&decoded(&text[at..end])?)?;
                    at = after + 1;
                } else {
                    at = end;
                }
                continue;
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => {
                at = skip_value(text, at).max(at + 1);
                continue;
            }
        }
        at += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_miscased_keys_are_found_unescaped() {
        let known = Keys(&["method", "params", "id"]);
        assert!(check_keys(br#"{"method":1,"other":2,"Other":3}"#, known).is_ok());
        for (text, want) in [
            (r#"{"method":1,"m\u0065thod":2}"#, Ambiguity::RepeatedKey("method".into())),
            (r#"{"Method":1}"#, Ambiguity::LetterCase("Method".into())),
            (r#"{"x":1,"x":2}"#, Ambiguity::RepeatedKey("x".into())),
            (r#"{"\ud83d":1}"#, Ambiguity::NotText),
        ] {
            assert_eq!(check_keys(text.as_bytes(), known), Err(want), "{text}");
        }
    }

    #[test]
    fn repeated_keys_are_found_at_any_depth() {
        for good in [
            r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}"#,
            r#"{"a":"a","b":"a:","c":["a","a"]}"#,
            r#"[[],{},"x",1.5,null,true]"#,
            "7",
        ] {
            assert_eq!(check_repeated_anywhere(good.as_bytes()), Ok(()), "{good}");
        }
        for bad in [
            r#"{"a":1,"b":{"c":[{"x":1 , "\u0078" : 2}]}}"#,
            r#"{"a":{},"a":{}}"#,
            r#"[{"k":[1,2,{}],"k":3}]"#,
        ] {
            assert!(
                matches!(check_repeated_anywhere(bad.as_bytes()), Err(Ambiguity::RepeatedKey(_))),
                "{bad}"
            );
        }
        let many = |last: &str| {
            let keys: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":{n}")).collect();
            format!("{{{},\"{last}\":0}}", keys.join(","))
        };
        assert_eq!(check_repeated_anywhere(many("new").as_bytes()), Ok(()));
        for last in ["k0", "k15", "k16", "k999"] {
            assert!(check_repeated_anywhere(many(last).as_bytes()).is_err(), "{last}");
        }
        let deep = format!("{}{}{}", "[".repeat(200_000), r#"{"a":1,"a":1}"#, "]".repeat(200_000));
        assert!(check_repeated_anywhere(deep.as_bytes()).is_err());
    }
}
