//! Text from elsewhere, made fit for a terminal.
//!
//! What a tool returns, what it is called and what a file is named is written by others. A terminal
//! obeys control characters, so none of them gets through, nor does what turns a line around or
//! cannot be seen.

use std::path::Path;

use unicode_width::UnicodeWidthChar;

/// The text with nothing in it that a terminal obeys or hides, on one line.
pub(crate) fn visible(text: &str) -> String {
    cut(text, usize::MAX)
}

/// The text on one line, cut to this many columns.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let mut line = Line::of(Some(columns));
    line.push(text);
    line.finish()
}

/// A file's name to be shown.
pub(crate) fn file(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// A count with its word: `1 call`, `2 calls`.
pub(crate) fn counted(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Builds one line, made visible and cut as it grows, so that of a long text only the start is
/// looked at.
#[derive(Debug)]
pub(crate) struct Line {
    text: String,
    columns: usize,
    characters: usize,
    /// The width, and how many bytes of the text leave room for a sign that more was there; `None`
    /// where nothing is cut and line feeds stay.
    limit: Option<Limit>,
    is_cut: bool,
}

#[derive(Debug)]
struct Limit {
    columns: usize,
    keep_bytes: usize,
}

/// How far the lines of a text go in that are not its first, where nothing is cut.
const INDENT: &str = "             ";

/// So many characters to a column are looked at: marks that stand over others take no column, and
/// there may be a million of them.
const MAX_CHARACTERS_PER_COLUMN: usize = 8;

impl Line {
    /// An empty line, of this many columns at most.
    pub(crate) fn of(columns: Option<usize>) -> Self {
        Self {
            text: String::new(),
            columns: 0,
            characters: 0,
            limit: columns.map(|columns| Limit { columns, keep_bytes: 0 }),
            is_cut: false,
        }
    }

    /// Adds a text.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            if self.is_cut {
                break;
            }
            self.push_visible(character);
        }
        self
    }

    /// What was built.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn push_visible(&mut self, character: char) {
        match character {
            '\n' if self.limit.is_none() => {
                self.text.push('\n');
                self.text.push_str(INDENT);
            }
            '\t' if self.limit.is_none() => self.text.push('\t'),
            '\n' => self.push_char('↵'),
            '\t' => self.push_escape("\\t"),
            '\r' => self.push_escape("\\r"),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' => {
                self.push_escape(&format!("\\x{:02x}", u32::from(character)));
            }
            _ if is_hidden(character) => {
                self.push_escape(&format!("\\u{{{:x}}}", u32::from(character)));
            }
            _ => self.push_char(character),
        }
    }

    fn push_escape(&mut self, escape: &str) {
        escape.chars().for_each(|character| self.push_char(character));
    }

    fn push_char(&mut self, character: char) {
        if self.is_cut {
            return;
        }
        self.columns += columns(character);
        self.characters += 1;
        if let Some(limit) = &mut self.limit {
            let too_many = limit.columns.saturating_mul(MAX_CHARACTERS_PER_COLUMN);
            if self.columns > limit.columns || self.characters > too_many {
                self.text.truncate(limit.keep_bytes);
                self.text.push('…');
                self.is_cut = true;
                return;
            }
            if self.columns < limit.columns {
                limit.keep_bytes = self.text.len() + character.len_utf8();
            }
        }
        self.text.push(character);
    }
}

/// How many columns a character takes.
fn columns(character: char) -> usize {
    match character {
        // It makes the character before it a picture, of two columns in place of one.
        '\u{fe0f}' => 1,
        _ => character.width().unwrap_or(0),
    }
}

/// Whether a terminal shows nothing for the character, or turns what follows around.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Milliseconds as a person says them, in 7 characters up to 99 hours.
pub(crate) fn duration(ms: u64) -> String {
    let (s, min) = (ms / 1000, ms / 60_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{s}.{} s", ms % 1000 / 100),
        60_000..3_600_000 => format!("{min}m {:02}s", s % 60),
        _ => format!("{}h {:02}m", min / 60, min % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        for (text, expected) in [
            ("plain é 世 😀", "plain é 世 😀"),
            ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("\u{9b}2J", "\\x9b2J"),
            ("a\nb\tc\rd\0", "a↵b\\tc\\rd\\x00"),
            ("\x7f\x08", "\\x7f\\x08"),
            ("\u{202e}evil\u{2066}", "\\u{202e}evil\\u{2066}"),
            ("\u{feff}\u{200b}\u{2028}", "\\u{feff}\\u{200b}\\u{2028}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("👩\u{200d}👩", "👩\u{200d}👩"),
        ] {
            assert_eq!(visible(text), expected);
            assert_eq!(cut(text, 1000), expected);
        }
        for code in (0..0x20).chain(0x7f..0xa0) {
            let character = char::from_u32(code).unwrap();
            let shown = visible(&format!("a{character}b"));
            assert!(!shown.chars().any(char::is_control), "{code:x}: {shown:?}");
        }
    }

    #[test]
    fn a_text_that_is_not_cut_keeps_its_lines_and_nothing_else() {
        let mut line = Line::of(None);
        line.push("a\n\x1b[1mb\t\r");
        assert_eq!(line.finish(), format!("a\n{INDENT}\\x1b[1mb\t\\r"));
    }

    #[track_caller]
    fn check_cut(text: &str, columns: usize, expected: &str) {
        assert_eq!(cut(text, columns), expected);
        let width: usize = expected.chars().map(super::columns).sum();
        assert!(width <= columns, "{width} > {columns}");
    }

    #[test]
    fn a_line_is_as_wide_as_it_may_be_and_no_wider() {
        check_cut("abcde", 5, "abcde");
        check_cut("abcdef", 5, "abcd…");
        check_cut("世界世", 6, "世界世");
        check_cut("世界世", 5, "世界…");
        check_cut("世界世", 4, "世…");
        check_cut("abc\x1bdef", 6, "abc\\x…");
        check_cut("❤\u{fe0f}❤\u{fe0f}❤\u{fe0f}", 4, "❤\u{fe0f}❤…");
        check_cut("ab", 1, "…");
        check_cut("a", 1, "a");
        check_cut("", 0, "");
        let mut line = Line::of(Some(5));
        line.push("abc").push("def").push("ghi");
        assert_eq!(line.finish(), "abcd…");
    }

    #[test]
    fn marks_without_a_width_do_not_make_a_line_endless() {
        let text = format!("a{}", "\u{301}".repeat(1_000_000));
        let shown = cut(&text, 10);
        assert!(shown.chars().count() <= 81, "{}", shown.chars().count());
    }

    #[test]
    fn durations_are_short() {
        for (ms, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (12_345, "12.3 s"),
            (59_999, "59.9 s"),
            (60_000, "1m 00s"),
            (3_599_999, "59m 59s"),
            (3_600_000, "1h 00m"),
            (u64::MAX, "5124095576030h 25m"),
        ] {
            assert_eq!(duration(ms), expected);
        }
    }
}
