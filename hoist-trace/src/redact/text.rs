//! Prose, paths, URLs: words among what takes them apart.

use super::letters::{is_symbol, is_word};
use super::words::Words;

/// What the characters of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Word,
    Symbols,
    Marks,
    /// Spaces, controls, punctuation outside ASCII: stays.
    Other,
}

fn run(c: char) -> Run {
    if is_word(c) {
        Run::Word
    } else if c.is_ascii_punctuation() {
        Run::Marks
    } else if is_symbol(c) {
        Run::Symbols
    } else {
        Run::Other
    }
}

/// Writes a text with its words replaced. `%40` is read as the `@` that it stands for, and what
/// replaces an escaped letter is escaped as it was.
pub(super) fn replace(words: &mut Words, text: &str, out: &mut String) {
    match unescaped(text) {
        None => replace_plain(words, text, out),
        Some((plain, escaped)) => {
            let mut replaced = String::with_capacity(plain.len());
            replace_plain(words, &plain, &mut replaced);
            // Each character is replaced by one.
            for ((before, c), escape) in plain.chars().zip(replaced.chars()).zip(escaped) {
                if escape.is_empty() {
                    out.push(c);
                } else if c == before {
                    out.push_str(escape);
                } else {
                    let in_capitals = !escape.contains(|c: char| c.is_ascii_lowercase());
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        out.push('%');
                        out.push(hex(byte >> 4, in_capitals));
                        out.push(hex(byte & 15, in_capitals));
                    }
                }
            }
        }
    }
}

fn replace_plain(words: &mut Words, text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = run(first);
        if let Some(spelled) = Spelled::at(rest) {
            let mut word = String::new();
            words.word(&spelled.word, &mut word);
            // Each character is replaced by one.
            for (n, c) in word.chars().enumerate() {
                out.push_str(if n > 0 { spelled.between } else { "" });
                out.push(c);
            }
            rest = &rest[spelled.len..];
            continue;
        }
        let end = rest.find(|c| run(c) != kind).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        match kind {
            Run::Word => words.word(part, out),
            Run::Symbols => words.symbols(part, out),
            Run::Marks => words.marks(part, out),
            Run::Other => out.push_str(part),
        }
        rest = after;
    }
}

/// A word that is spelt out, as in `W-1-2-3` or `5 5 5 1`: digits alone would stay.
struct Spelled<'a> {
    word: String,
    /// What stands between its characters, the same each time.
    between: &'a str,
    len: usize,
}

impl<'a> Spelled<'a> {
    /// Fewer characters than this are a list, or a version.
    const LEAST: usize = 4;

    /// What is spelt out at the beginning of a text that begins with a word.
    fn at(text: &'a str) -> Option<Self> {
        let alone = |text: &str| -> Option<char> {
            let mut chars = text.chars();
            let c = chars.next().filter(|c| c.is_alphanumeric())?;
            chars.next().is_none_or(|next| !is_word(next)).then_some(c)
        };
        let mut word = String::from(alone(text)?);
        let after = &text[word.len()..];
        let end = after.find(|c: char| !(c.is_ascii_punctuation() && c != '_' || c == ' '))?;
        let between = &after[..end];
        if !(1..=2).contains(&between.len()) {
            return None;
        }
        let mut rest = after;
        while let Some(next) = rest.strip_prefix(between)
            && let Some(c) = alone(next)
        {
            word.push(c);
            rest = &next[c.len_utf8()..];
        }
        let len = text.len() - rest.len();
        (word.chars().count() >= Self::LEAST).then_some(Self { word, between, len })
    }
}

fn hex(digit: u8, in_capitals: bool) -> char {
    let digit = char::from_digit(digit.into(), 16).unwrap_or('0');
    if in_capitals { digit.to_ascii_uppercase() } else { digit }
}

/// The text without its percent-escapes, and how each of its characters stood escaped, empty where
/// it did not; `None` where none did.
fn unescaped(text: &str) -> Option<(String, Vec<&str>)> {
    let bytes = text.as_bytes();
    let byte_at = |at: usize| -> Option<u8> {
        let [b'%', high, low] = bytes.get(at..at + 3)? else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
    };
    let mut next = memchr::memchr_iter(b'%', bytes).find(|at| byte_at(*at).is_some())?;
    let (mut plain, mut escaped) = (String::with_capacity(text.len()), Vec::new());
    let mut any = false;
    let mut done = 0;
    while next < bytes.len() {
        if byte_at(next).is_none() {
            next += 1;
            continue;
        }
        plain.push_str(&text[done..next]);
        escaped.extend(text[done..next].chars().map(|_| ""));
        let mut run = Vec::new();
        while let Some(byte) = byte_at(next + run.len() * 3) {
            run.push(byte);
        }
        done = next + run.len() * 3;
        let mut at = next;
        for chunk in run.utf8_chunks() {
            let valid = chunk.valid();
            any |= !valid.is_empty();
            plain.push_str(valid);
            for c in valid.chars() {
                let end = at + c.len_utf8() * 3;
                escaped.push(&text[at..end]);
                at = end;
            }
            // What is no UTF-8 is no escape of a character.
            let end = at + chunk.invalid().len() * 3;
            plain.push_str(&text[at..end]);
            escaped.extend(text[at..end].chars().map(|_| ""));
            at = end;
        }
        next = done;
    }
    plain.push_str(&text[done..]);
    escaped.extend(text[done..].chars().map(|_| ""));
    any.then_some((plain, escaped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{Clear, Key};

    fn replaced(words: &mut Words, text: &str) -> String {
        let mut out = String::new();
        replace(words, text, &mut out);
        out
    }

    #[test]
    fn a_value_is_the_same_in_prose_urls_and_alone() {
        let mut words = Words::new(&Key::new(&[5; 32]).unwrap(), Clear::new());
        let mail = replaced(&mut words, "sofia.hernandez5364@example.com");
        let id = replaced(&mut words, "#W1234567");
        let prose = replaced(&mut words, "Is #W1234567 of sofia.hernandez5364@example.com?");
        assert_eq!(prose, format!("Is {id} of {mail}?"));
        let url =
            replaced(&mut words, "https://x.io/u/sofia.hernandez5364%40example.com?o=%23W1234567");
        assert!(url.contains(&mail.replace('@', "%40")), "{url} {mail}");
        assert!(url.ends_with(&id.replace('#', "%23")), "{url} {id}");
        assert!(url.starts_with("https://"));
        let (josé, escaped) = (replaced(&mut words, "José"), replaced(&mut words, "Jos%c3%a9"));
        let last = josé.chars().last().unwrap().to_string();
        let encoded = last.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        assert_eq!(escaped, josé.replace(&last, &encoded));
        assert_eq!(replaced(&mut words, "%0a%0A%2f"), "%0a%0A%2f");
    }

    #[test]
    fn what_is_spelt_out_is_the_word() {
        let mut words = Words::new(&Key::new(&[5; 32]).unwrap(), Clear::new());
        let (id, number) = (replaced(&mut words, "W1234"), replaced(&mut words, "5551234"));
        let spelled = |word: &str, between: &str| {
            word.chars().map(String::from).collect::<Vec<_>>().join(between)
        };
        for between in ["-", " ", ", ", "."] {
            let text =
                format!("is {}, or {}?", spelled("W1234", between), spelled("5551234", between));
            let expected =
                format!("is {}, or {}?", spelled(&id, between), spelled(&number, between));
            assert_eq!(replaced(&mut words, &text), expected);
        }
        for stays in ["1.4.0", "1, 2 3 4", "1-2-3-45", "3--4---5", "1 2 3"] {
            let kept = replaced(&mut words, stays);
            assert!(kept.starts_with(&stays[..4]), "{stays}: {kept}");
        }
    }

    #[test]
    fn what_is_no_escape_stays_what_it_is() {
        assert!(unescaped("100% sure, 5%zz %").is_none());
        let (plain, escaped) = unescaped("a%41%ff%C3%A9%2z").unwrap();
        assert_eq!(plain, "aA%ffé%2z");
        assert_eq!(escaped.concat(), "%41%C3%A9");
        assert_eq!(escaped.len(), plain.chars().count());
        assert!(unescaped("%ff%fe").is_none());
    }
}
