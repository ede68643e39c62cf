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
            for (c, escaped) in replaced.chars().zip(escaped) {
                if escaped {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        out.push('%');
                        out.push(hex(byte >> 4));
                        out.push(hex(byte & 15));
                    }
                } else {
                    out.push(c);
                }
            }
        }
    }
}

fn replace_plain(words: &mut Words, text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = run(first);
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

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

/// The text without its percent-escapes, and which of its characters stood escaped; `None` where
/// none is.
fn unescaped(text: &str) -> Option<(String, Vec<bool>)> {
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
        escaped.extend(text[done..next].chars().map(|_| false));
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
            escaped.extend(valid.chars().map(|_| true));
            at += valid.len() * 3;
            // What is no UTF-8 is no escape of a character.
            let end = at + chunk.invalid().len() * 3;
            plain.push_str(&text[at..end]);
            escaped.extend(text[at..end].chars().map(|_| false));
            at = end;
        }
        next = done;
    }
    plain.push_str(&text[done..]);
    escaped.extend(text[done..].chars().map(|_| false));
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
        let encoded = last.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        assert_eq!(escaped, josé.replace(&last, &encoded));
    }

    #[test]
    fn what_is_no_escape_stays_what_it_is() {
        assert!(unescaped("100% sure, 5%zz %").is_none());
        let (plain, escaped) = unescaped("a%41%ff%C3%A9%2z").unwrap();
        assert_eq!(plain, "aA%ffé%2z");
        assert_eq!(escaped.iter().filter(|is| **is).count(), 2);
        assert_eq!(escaped.len(), plain.chars().count());
        assert!(unescaped("%ff%fe").is_none());
    }
}
