//! Finding keys that two parsers may read in two ways.

use std::collections::HashSet;

use super::members;
use super::tokens::{decode, skip_space, skip_string, skip_value};
use crate::Ambiguity;

/// Which keys of an object are MCP's own, so that another letter case is suspicious.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys(pub(crate) &'static [&'static str]);

/// Checks one object's own keys: none twice, none that differs from one of `known` only in letter
/// case. `text` is any valid JSON; what is no object passes.
pub(crate) fn check_keys(text: &[u8], known: Keys) -> Result<(), Ambiguity> {
    let mut seen = HashSet::new();
    for member in members(text) {
        let key = member.decoded_key().ok_or(Ambiguity::NotText)?;
        if known.0.iter().any(|k| **k != *key && k.eq_ignore_ascii_case(&key)) {
            return Err(Ambiguity::LetterCase(key.into_owned()));
        }
        if !seen.insert(key.clone()) {
            return Err(Ambiguity::RepeatedKey(key.into_owned()));
        }
    }
    Ok(())
}

/// Checks that no object anywhere in `text` has a key twice.
///
/// One pass, no recursion. `text` is valid JSON.
pub(crate) fn check_repeated_anywhere(text: &[u8]) -> Result<(), Ambiguity> {
    // One set per open object; `None` for an open array.
    let mut open: Vec<Option<HashSet<Box<str>>>> = Vec::new();
    let mut at = skip_space(text, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' => open.push(Some(HashSet::new())),
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
                    let key = decode(&text[at..end]).ok_or(Ambiguity::NotText)?;
                    if seen.contains(&*key) {
                        return Err(Ambiguity::RepeatedKey(key.into_owned()));
                    }
                    seen.insert(key.into());
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
        let deep = format!("{}{}{}", "[".repeat(200_000), r#"{"a":1,"a":1}"#, "]".repeat(200_000));
        assert!(check_repeated_anywhere(deep.as_bytes()).is_err());
    }
}
