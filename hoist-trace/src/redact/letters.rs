//! What a character may be replaced by: another one of its class.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What the characters of a class have in common. A token has, at each place, a character of the
/// class that stood there, so it has the same length in characters and in bytes of UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    /// Stays what it is.
    Fixed(char),
    /// An ASCII letter; whether it is upper case is kept beside.
    Letter,
    /// An ASCII digit.
    Digit,
    /// An ASCII digit other than zero.
    NonZero,
    /// An ASCII punctuation mark that means nothing to a path or a URL.
    Mark,
    /// A character outside ASCII: a kind of one script, by where that begins.
    Block(u32, Kind),
}

/// The kinds of characters in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Lower,
    Upper,
    Letter,
    Number,
    Symbol,
}

/// ASCII punctuation that is exchanged: not what takes paths, escapes and words apart.
const MARKS: &[u8] = b"!\"#$&'()*+,-.:;<=>?@[]^`{|}~";

/// Blocks wider than 256 characters, which would else give away much of what a character was.
const WIDE: [(u32, u32); 9] = [
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xac00, 0xd7a3),
    (0xe000, 0xf8ff),
    (0x1_f000, 0x1_faff),
    (0x2_0000, 0x2_a6df),
    (0x2_a700, 0x3_23af),
    (0xf_0000, 0xf_ffff),
    (0x10_0000, 0x10_ffff),
];

/// A kind that has fewer characters than this in its script is put together with the others of which
/// that is so: else a word of them would hardly be changed.
const FEW: usize = 16;

/// What such a class has in the place of its script's beginning: this and the length in UTF-8.
const TOGETHER: u32 = 0x8000_0000;

/// One character of a word that is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) class: Class,
    /// Its place in the class.
    pub(super) index: u32,
    pub(super) upper: bool,
}

impl Symbol {
    fn new(class: Class, index: u32) -> Self {
        Self { class, index, upper: false }
    }

    pub(super) fn fixed(c: char) -> Self {
        Self::new(Class::Fixed(c), 0)
    }

    /// A digit of a number, which is not zero where `non_zero`.
    pub(super) fn digit(byte: u8, non_zero: bool) -> Self {
        let index = u32::from(byte.wrapping_sub(b'0'));
        if non_zero && index > 0 {
            Self::new(Class::NonZero, index - 1)
        } else {
            Self::new(Class::Digit, index)
        }
    }
}

/// Whether it is part of a word: a letter, a digit, an underscore.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && c.is_alphanumeric())
}

/// Whether it says something though it is no letter: an emoji, a combining accent, a character of
/// private use. Not so punctuation of whatever script, spaces, arrows and frames.
pub(super) fn is_symbol(c: char) -> bool {
    if c.is_ascii() || c.is_alphanumeric() || c.is_whitespace() || c.is_control() {
        return false;
    }
    !matches!(c as u32,
        0x80..=0xff | 0x2000..=0x206f | 0x2190..=0x25ff | 0x3000..=0x303f | 0xff00..=0xffef
        | 0xfff0..=0xffff | 0xfeff)
}

/// The characters of the classes outside ASCII, made out as they are met.
#[derive(Debug, Default)]
pub(super) struct Alphabets(HashMap<(u32, Kind), Arc<[char]>>);

impl Alphabets {
    pub(super) fn symbol(&mut self, c: char) -> Symbol {
        match c {
            'a'..='z' => Symbol::new(Class::Letter, c as u32 - 'a' as u32),
            'A'..='Z' => Symbol { class: Class::Letter, index: c as u32 - 'A' as u32, upper: true },
            '0'..='9' => Symbol::new(Class::Digit, c as u32 - '0' as u32),
            _ if c.is_ascii() => Symbol::fixed(c),
            _ if c.is_alphanumeric() || is_symbol(c) => {
                let (mut start, kind) = (block(c).0, kind(c));
                if self.block(start, kind).len() < FEW {
                    start = TOGETHER | u32::try_from(c.len_utf8()).unwrap_or(0);
                }
                let place = self.block(start, kind).binary_search(&c);
                place.map_or_else(
                    |_| Symbol::fixed(c),
                    |at| Symbol::new(Class::Block(start, kind), u32::try_from(at).unwrap_or(0)),
                )
            }
            _ => Symbol::fixed(c),
        }
    }

    /// As [`symbol`](Self::symbol), but that punctuation is no fixed character.
    pub(super) fn mark(&mut self, c: char) -> Symbol {
        let place = MARKS.iter().position(|mark| char::from(*mark) == c);
        place.map_or_else(
            || self.symbol(c),
            |at| Symbol::new(Class::Mark, u32::try_from(at).unwrap_or(0)),
        )
    }

    /// How many characters the class has.
    pub(super) fn radix(&mut self, class: Class) -> u32 {
        match class {
            Class::Fixed(_) => 1,
            Class::Letter => 26,
            Class::Digit => 10,
            Class::NonZero => 9,
            Class::Mark => u32::try_from(MARKS.len()).unwrap_or(1),
            Class::Block(start, kind) => u32::try_from(self.block(start, kind).len()).unwrap_or(1),
        }
    }

    pub(super) fn char(&mut self, symbol: Symbol) -> char {
        let Symbol { class, index, upper } = symbol;
        let ascii = |first: u8| char::from(first + u8::try_from(index).unwrap_or(0));
        match class {
            Class::Fixed(c) => c,
            Class::Letter if upper => ascii(b'A'),
            Class::Letter => ascii(b'a'),
            Class::Digit => ascii(b'0'),
            Class::NonZero => ascii(b'1'),
            Class::Mark => char::from(MARKS[index as usize]),
            Class::Block(start, kind) => self.block(start, kind)[index as usize],
        }
    }

    fn block(&mut self, start: u32, of: Kind) -> &Arc<[char]> {
        self.0.entry((start, of)).or_insert_with(|| {
            if start & TOGETHER != 0 {
                return together(start & !TOGETHER, of).into();
            }
            let end = WIDE.iter().find(|(from, _)| *from == start).map_or(start | 0xff, |w| w.1);
            let all = (start..=end).filter_map(char::from_u32);
            // The first block begins with ASCII, and what stands in a wide one belongs to that.
            all.filter(|&c| {
                !c.is_ascii()
                    && block(c).0 == start
                    && (c.is_alphanumeric() || is_symbol(c))
                    && kind(c) == of
            })
            .collect()
        })
    }
}

/// All characters of a kind and a length in UTF-8 of which their scripts have few.
fn together(len_utf8: u32, of: Kind) -> Vec<char> {
    let mut by_block: BTreeMap<u32, Vec<char>> = BTreeMap::new();
    for c in ('\u{80}'..=char::MAX).filter(|c| u32::try_from(c.len_utf8()) == Ok(len_utf8)) {
        if (c.is_alphanumeric() || is_symbol(c)) && kind(c) == of {
            by_block.entry(block(c).0).or_default().push(c);
        }
    }
    by_block.into_values().filter(|all| all.len() < FEW).flatten().collect()
}

fn block(c: char) -> (u32, u32) {
    let code = c as u32;
    let wide = WIDE.into_iter().find(|(from, to)| (*from..=*to).contains(&code));
    wide.unwrap_or((code & !0xff, code | 0xff))
}

fn kind(c: char) -> Kind {
    if c.is_lowercase() {
        Kind::Lower
    } else if c.is_uppercase() {
        Kind::Upper
    } else if c.is_numeric() {
        Kind::Number
    } else if c.is_alphabetic() {
        Kind::Letter
    } else {
        Kind::Symbol
    }
}

/// A class as bytes, for the key to draw by.
pub(super) fn tweak(symbols: &[Symbol]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(symbols.len() + 8);
    for symbol in symbols {
        match symbol.class {
            Class::Fixed(c) => {
                bytes.push(b'f');
                bytes.extend((c as u32).to_le_bytes());
            }
            Class::Letter => bytes.push(b'l'),
            Class::Digit => bytes.push(b'd'),
            Class::NonZero => bytes.push(b'n'),
            Class::Mark => bytes.push(b'm'),
            Class::Block(start, kind) => {
                bytes.extend([b'b', kind as u8]);
                bytes.extend(start.to_le_bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_character_is_found_again_in_its_class() {
        let mut alphabets = Alphabets::default();
        let mut looked_at = HashSet::new();
        for c in (0..=0x3_ffff).step_by(7).filter_map(char::from_u32) {
            let symbol = alphabets.symbol(c);
            assert_eq!(alphabets.char(symbol), c, "{c:?}");
            assert!(symbol.index < alphabets.radix(symbol.class), "{c:?}");
            if let Class::Block(start, kind) = symbol.class
                && looked_at.insert(symbol.class)
            {
                let all = alphabets.block(start, kind).clone();
                assert!(all.iter().all(|other| other.len_utf8() == c.len_utf8()), "{c:?}");
                assert!(all.iter().all(|other| is_word(*other) == is_word(c)), "{c:?}");
            }
        }
        for c in MARKS {
            let symbol = alphabets.mark(char::from(*c));
            assert_eq!(alphabets.char(symbol), char::from(*c));
        }
    }

    #[test]
    fn what_says_something_is_exchanged() {
        let mut alphabets = Alphabets::default();
        for c in "aZ5éÉß世한あ٣😀\u{301}\u{e000}½ªƻ".chars() {
            let symbol = alphabets.symbol(c);
            assert!(alphabets.radix(symbol.class) > 8, "{c:?}: {symbol:?}");
        }
        for c in "_ -\n\u{2028}\u{fffd}…“。→─".chars() {
            let symbol = alphabets.symbol(c);
            assert_eq!(alphabets.radix(symbol.class), 1, "{c:?}: {symbol:?}");
        }
    }
}
