//! Texts of several words, as shells cut them.

use super::{Words, text};

/// `text` with its words redacted like those of a command. What needs no change stays as it was
/// written, quotes and all.
pub(super) fn redact(text: &str, depth: u8, in_shell: bool) -> String {
    let mut words = Words::new(depth + 1, in_shell);
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = take_word(rest);
        if word.len_bytes == 0 {
            let len = rest.chars().next().map_or(0, char::len_utf8);
            redacted.push_str(&rest[..len]);
            rest = &rest[len..];
            continue;
        }
        let written = &rest[..word.len_bytes];
        let clean = words.redact(&word.content);
        match written.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            _ if clean == word.content => redacted.push_str(written),
            Some(quote) => redacted.extend([quote.to_string(), clean, quote.to_string()]),
            None => redacted.push_str(&clean),
        }
        rest = &rest[word.len_bytes..];
    }
    text::redact_flat(&redacted)
}

struct Word {
    /// How much of the text it takes, in bytes; 0 where none begins.
    len_bytes: usize,
    /// Without quotes and backslashes.
    content: String,
}

/// The word a text begins with.
fn take_word(text: &str) -> Word {
    let mut content = String::new();
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, c) if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '`') => {
                return Word { len_bytes: at, content };
            }
            (None | Some('"'), '\\') => content.extend(chars.next().map(|(_, c)| c)),
            (_, c) => content.push(c),
        }
    }
    Word { len_bytes: text.len(), content }
}
