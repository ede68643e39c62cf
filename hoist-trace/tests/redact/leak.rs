//! Whether a copy gives away what its original holds. Knows nothing of how tokens are made.
//!
//! A *value* is a text, key or number of the input, or a word of one, that has four characters and 20
//! bits or more. Bits are counted as the length times the bits of the classes of characters that
//! are in it, over letters, digits and what else says something; spaces and punctuation say nothing.
//! A value all of whose words stay in clear by the list is none.
//!
//! A token is random within its form, so among millions of them a short one is some value of the
//! input by chance, which gives nothing away. Chance falls differently under another key; a leak
//! does not. So a leak is a value that stands in the same line of the copies under every one of
//! several keys: in any letter case, plain, escaped for JSON as often as you like, or for a URL.

use std::collections::BTreeSet;

/// How many bits a value has that must not get out, and how many characters.
const LEAST_BITS: f64 = 20.0;
const LEAST_CHARS: usize = 4;

pub(crate) fn bits(value: &str) -> f64 {
    let (mut lower, mut upper, mut digits, mut others) = (false, false, false, false);
    let mut len = 0.0;
    for c in value.chars() {
        match c {
            'a'..='z' => lower = true,
            'A'..='Z' => upper = true,
            '0'..='9' => digits = true,
            _ if !c.is_ascii() && c.is_alphanumeric() => others = true,
            _ => continue,
        }
        len += 1.0;
    }
    let size = [(lower, 26.0), (upper, 26.0), (digits, 10.0), (others, 100.0)];
    let size: f64 = size.iter().filter(|(there, _)| *there).map(|(_, size)| size).sum();
    if size == 0.0 { 0.0 } else { len * size.log2() }
}

/// The values in a text that must not get out.
pub(crate) fn values(text: &str, is_clear: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Without escapes: what those begin with is part of no value.
    let form = forms(text).pop().unwrap_or_default();
    // Texts that are JSON strings, whole; and words.
    let is_text = |part: &&str| part.len() <= 200 && !part.starts_with([':', ',', '[', '{']);
    let strings = form.split('"').filter(is_text);
    let words = form.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    for value in strings.chain(words) {
        let value = value.trim();
        if value.chars().count() >= LEAST_CHARS
            && bits(value) >= LEAST_BITS
            && !words_of(value).all(|word| stays(&word, is_clear))
        {
            found.insert(value.to_lowercase());
        }
    }
    found
}

/// The values of the input that stand in the same line of all copies.
pub(crate) fn leaks(
    values: &BTreeSet<String>,
    copies: &[String],
    is_clear: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    assert!(copies.len() > 1, "with one copy, chance cannot be told from a leak");
    // Each line as it is, and without clear words, one of which may have a value in it by its
    // spelling; several words do not.
    let lines: Vec<Vec<[String; 2]>> = copies
        .iter()
        .map(|copy| {
            let line = |line: &str| {
                let mut forms = forms(line);
                forms[0] = without_units(line);
                let line = forms.join("\n").to_lowercase();
                let hidden = without_clear(&line, is_clear);
                [line, hidden]
            };
            copy.split('\n').map(line).collect()
        })
        .collect();
    let found = values.iter().filter(|value| {
        let is_one_word = usize::from(value.chars().all(char::is_alphanumeric));
        (0..lines[0].len()).any(|at| {
            let is_there = |line: &[String; 2]| line[is_one_word].contains(*value);
            lines.iter().all(|copy| copy.get(at).is_some_and(is_there))
        })
    });
    found.cloned().collect()
}

/// The text with a dot for each character of a clear word.
fn without_clear(text: &str, is_clear: &dyn Fn(&str) -> bool) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let pieces: Vec<&str> =
            if part.contains(char::is_numeric) { vec![part] } else { part.split('_').collect() };
        let hidden = pieces.into_iter().map(|piece| {
            if is_word(first) && stays(piece, is_clear) {
                ".".repeat(piece.chars().count())
            } else {
                piece.to_owned()
            }
        });
        out.push_str(&hidden.collect::<Vec<_>>().join("_"));
        rest = after;
    }
    out
}

fn words_of(value: &str) -> impl Iterator<Item = String> {
    let words = value.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words
        .flat_map(|word| {
            let whole = word.contains(char::is_numeric);
            let parts: Vec<&str> = if whole { vec![word] } else { word.split('_').collect() };
            parts.into_iter().map(str::to_ascii_lowercase).collect::<Vec<_>>()
        })
        .filter(|word| !word.is_empty())
}

/// Whether a word is clear, or is `2000` or `1e400`: a digit among zeros, or a clear number, and up to
/// three digits of an exponent.
fn stays(word: &str, is_clear: &dyn Fn(&str) -> bool) -> bool {
    let (mantissa, exponent) = word.split_once('e').unwrap_or((word, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_number = digits(mantissa) && digits(exponent) && exponent.len() <= 3;
    is_clear(word) || is_number && (mantissa.trim_matches('0').len() <= 1 || is_clear(mantissa))
}

/// The text, and what it is with JSON's escapes and a URL's taken off, as often as there are any.
fn forms(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    all.extend(repeat(unescape, text));
    let plain = all[all.len() - 1].clone();
    all.extend(repeat(percent_decode, &plain));
    all
}

/// What a step makes of a text, and of that again, while it makes a difference.
fn repeat(step: fn(&str) -> String, text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    while all.len() < 12 {
        let last = all.last().map_or(text, String::as_str);
        let next = step(last);
        if next == last {
            break;
        }
        all.push(next);
    }
    all
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = text;
    loop {
        let unit = rest
            .strip_prefix("\\u")
            .and_then(|rest| rest.get(..4))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        if let Some(unit) = unit {
            units.push(unit);
            rest = &rest[6..];
            continue;
        }
        out.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{fffd}')));
        let mut chars = rest.chars();
        match (chars.next(), chars.clone().next()) {
            (None, _) => return out,
            (Some('\\'), Some(escape @ ('"' | '\\' | '/'))) => {
                out.push(escape);
                rest = &rest[2..];
            }
            (Some('\\'), Some('n' | 't' | 'r' | 'b' | 'f')) => {
                out.push(' ');
                rest = &rest[2..];
            }
            (Some(c), _) => {
                out.push(c);
                rest = chars.as_str();
            }
        }
    }
}

/// The text without escapes such as `\u0041`, whose own letters and digits are nobody's.
fn without_units(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_unit = part.get(..4).is_some_and(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        out.push(' ');
        out.push_str(if is_unit { &part[4..] } else { part });
    }
    out
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}
