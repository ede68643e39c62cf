//! JSON with its values replaced: shapes, lengths, order, white space and escapes of structure stay.

use super::public::REVISIONS;
use super::scan::{Part, Scanner, Token, decode, encode, is_container};
use super::text;
use super::words::Words;

/// How deep JSON may stand in strings of JSON and still be told; below, it is prose.
const MAX_NESTED: u8 = 6;

/// Strings and numbers that were not what they were before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Changed {
    /// Texts, lines that are no JSON among them.
    pub texts: u64,
    /// Numbers.
    pub numbers: u64,
    /// Names of members.
    pub keys: u64,
}

/// Writes a JSON text with its keys, strings and numbers replaced.
pub(super) fn replace(words: &mut Words, changed: &mut Changed, json: &str, out: &mut String) {
    replace_nested(words, changed, json, 0, out);
}

/// Writes a text, which may be JSON itself.
pub(super) fn replace_text(words: &mut Words, changed: &mut Changed, text: &str, out: &mut String) {
    text_nested(words, changed, text, 0, out);
}

fn text_nested(words: &mut Words, changed: &mut Changed, text: &str, nested: u8, out: &mut String) {
    if nested < MAX_NESTED && is_container(text) {
        replace_nested(words, changed, text, nested, out);
        return;
    }
    let start = out.len();
    text::replace(words, text, out);
    changed.texts += u64::from(out[start..] != *text);
}

fn replace_nested(
    words: &mut Words,
    changed: &mut Changed,
    json: &str,
    nested: u8,
    out: &mut String,
) {
    let mut scanner = Scanner::new(json);
    let mut says_version = false;
    loop {
        let (between, token) = scanner.next();
        out.push_str(between);
        match token {
            None => return,
            Some(Token::Open { object }) => out.push(if object { '{' } else { '[' }),
            Some(Token::Close { object }) => out.push(if object { '}' } else { ']' }),
            Some(Token::Literal(text)) => out.push_str(text),
            Some(Token::Number(text)) => {
                let start = out.len();
                number(words, text, out);
                changed.numbers += u64::from(out[start..] != *text);
            }
            Some(Token::Key(raw)) => {
                says_version = raw.to_ascii_lowercase().contains("version");
                let mut keys = Changed::default();
                // A name that is JSON is a text all the same.
                string(words, &mut keys, raw, MAX_NESTED, out);
                changed.keys += keys.texts;
            }
            Some(Token::Text(raw)) if says_version && REVISIONS.contains(&raw) => {
                out.push('"');
                out.push_str(raw);
                out.push('"');
            }
            Some(Token::Text(raw)) => string(words, changed, raw, nested + 1, out),
        }
    }
}

fn string(words: &mut Words, changed: &mut Changed, raw: &str, nested: u8, out: &mut String) {
    out.push('"');
    let parts = decode(raw);
    let is_unicode = parts.len() == 1;
    for part in parts {
        match part {
            Part::Text(text) => {
                let mut replaced = String::with_capacity(text.len());
                let nested = if is_unicode { nested } else { MAX_NESTED };
                text_nested(words, changed, &text, nested, &mut replaced);
                encode(&replaced, out);
            }
            // It is no character; that there was half of one is all that stays.
            Part::Half { high: true } => out.push_str("\\ud800"),
            Part::Half { high: false } => out.push_str("\\udc00"),
        }
    }
    out.push('"');
}

/// A number: its digits before and behind the point, each as a word is replaced.
fn number(words: &mut Words, text: &str, out: &mut String) {
    let exponent = text.find(['e', 'E']).unwrap_or(text.len());
    let (mantissa, rest) = text.split_at(exponent);
    for part in mantissa.split_inclusive(['-', '.']) {
        let digits = part.trim_end_matches(['-', '.']);
        if !digits.is_empty() {
            words.word(digits, out);
        }
        out.push_str(&part[digits.len()..]);
    }
    let digits = rest.trim_start_matches(['e', 'E', '+', '-']);
    out.push_str(&rest[..rest.len() - digits.len()]);
    if digits.len() <= 3 {
        out.push_str(digits);
    } else {
        words.word(digits, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{Clear, Key};

    fn replaced(json: &str) -> String {
        let mut words = Words::new(&Key::new(&[5; 32]).unwrap(), Clear::new());
        let mut out = String::new();
        replace(&mut words, &mut Changed::default(), json, &mut out);
        out
    }

    /// With letters as `x` and digits as `9`.
    fn shape(json: &str) -> String {
        json.chars()
            .map(|c| match c {
                'a'..='z' => 'x',
                'A'..='Z' => 'X',
                '0'..='9' => '9',
                c => c,
            })
            .collect()
    }

    #[test]
    fn the_shape_stays() {
        let json =
            r##" {"id": "#W12345", "Sofia" :[ 12345, -12.50,true,null,1e400,0.125E-12 ],"x":{}}"##;
        let out = replaced(json);
        assert_eq!(shape(&out), shape(json));
        for secret in ["W12345", "Sofia", "12345", "125E"] {
            assert!(!out.contains(secret), "{secret} in {out}");
        }
        for stays in ["\"id\"", "true,null,1e400,0.", "E-12 ]"] {
            assert!(out.contains(stays), "{stays} in {out}");
        }
    }

    #[test]
    fn json_in_strings_is_json_after_it() {
        let json = r#"{"text":"{\"name\":\"Sof\\u00eda\",\"number\":[12345]}","other":"Sofía","total":12345}"#;
        let out = replaced(json);
        let outer: serde_json::Value = serde_json::from_str(&out).unwrap();
        let inner: serde_json::Value =
            serde_json::from_str(outer["text"].as_str().unwrap()).unwrap();
        assert_eq!(inner["name"], outer["other"]);
        assert_eq!(inner["number"][0], outer["total"]);
        assert_ne!(outer["total"], 12345);
    }

    #[test]
    fn odd_json_stays_as_odd() {
        let json = r#"{"a":"x\ud800yqz\udc12","a":1,"version":"2025-06-18","date":"2025-06-18"}"#;
        let out = replaced(json);
        assert!(out.contains(r"\ud800") && out.contains(r"\udc00"), "{out}");
        assert!(
            out.contains(r#""version":"2025-06-18""#) && !out.contains(r#""date":"2025-06-18""#)
        );
        let deep = format!("{}\"Sofia\"{}", "[".repeat(10_000), "]".repeat(10_000));
        let out = replaced(&deep);
        assert_eq!(out.len(), deep.len());
        assert!(!out.contains("Sofia"));
        // JSON in JSON in JSON …
        let mut nested = "[\"Sofia\"]".to_owned();
        for _ in 0..10 {
            nested = serde_json::to_string(&[nested]).unwrap();
        }
        let out = replaced(&nested);
        assert!(!out.contains("Sofia") && serde_json::from_str::<Vec<String>>(&out).is_ok());
    }
}
