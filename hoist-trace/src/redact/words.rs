//! Words, and what each is replaced by.
//!
//! A word is a run of letters, digits and underscores. What it is replaced by depends on the key and
//! on itself alone, never on where it stands, so what was equal stays equal across arguments,
//! results and prose, and what was part of a text stays part of it.

use std::collections::{BTreeMap, HashMap};

use super::cipher::Cipher;
use super::clear::{Clear, Rule};
use super::key::Key;
use super::letters::{Alphabets, Symbol};

/// How many tokens are remembered, and how long the words may be.
const MAX_REMEMBERED: usize = 1 << 17;
const MAX_REMEMBERED_BYTES: usize = 64;

/// Words of so many bytes are not taken apart in memory: one may be a picture of megabytes.
const LONG_BYTES: usize = 1 << 10;

/// How many digits of an exponent are left.
const MAX_EXPONENT_DIGITS: usize = 3;

/// Words that were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Replaced {
    /// Words of letters, names among them.
    pub words: u64,
    /// Words with digits in them that are no numbers: ids.
    pub ids: u64,
    /// Numbers.
    pub numbers: u64,
    /// Runs of emoji, accents or unusual punctuation.
    pub symbols: u64,
}

#[derive(Debug, Clone, Copy)]
enum Became {
    Word,
    Id,
    Number,
    Symbols,
    /// It stays, as a number of one digit.
    OneDigit,
    /// All of its parts stay, or there are none.
    Clear,
}

#[derive(Debug)]
pub(super) struct Words {
    cipher: Cipher,
    clear: Clear,
    /// For reading long words while the cipher writes by its own.
    long_alphabets: Alphabets,
    remembered: HashMap<Box<str>, (Box<str>, Became)>,
    pub(super) replaced: Replaced,
    /// How often each word stayed in clear.
    pub(super) kept: BTreeMap<(Rule, Box<str>), u64>,
    pub(super) one_digit: u64,
}

impl Words {
    pub(super) fn new(key: &Key, clear: Clear) -> Self {
        Self {
            cipher: Cipher::new(key),
            clear,
            long_alphabets: Alphabets::default(),
            remembered: HashMap::new(),
            replaced: Replaced::default(),
            kept: BTreeMap::new(),
            one_digit: 0,
        }
    }

    pub(super) fn clear(&self) -> &Clear {
        &self.clear
    }

    /// Writes what a word is replaced by.
    pub(super) fn word(&mut self, word: &str, out: &mut String) {
        self.remember(word, out, Self::replace);
    }

    /// Writes what a run of characters that are no words is replaced by.
    pub(super) fn symbols(&mut self, run: &str, out: &mut String) {
        self.remember(run, out, |words, run, out| {
            let mut symbols: Vec<_> =
                run.chars().map(|c| words.cipher.alphabets.symbol(c)).collect();
            words.cipher.exchange(&mut symbols, |_, _| true);
            words.spell(&symbols, out);
            Became::Symbols
        });
    }

    /// Writes what a run of punctuation is replaced by, if it could be a secret.
    pub(super) fn marks(&mut self, run: &str, out: &mut String) {
        if !is_unusual(run.chars()) {
            return out.push_str(run);
        }
        self.remember(run, out, |words, run, out| {
            let mut symbols: Vec<_> = run.chars().map(|c| words.cipher.alphabets.mark(c)).collect();
            words.cipher.exchange(&mut symbols, |alphabets, symbols| {
                is_unusual(symbols.iter().map(|symbol| alphabets.char(*symbol)))
            });
            words.spell(&symbols, out);
            Became::Symbols
        });
    }

    fn remember(
        &mut self,
        word: &str,
        out: &mut String,
        replace: impl FnOnce(&mut Self, &str, &mut String) -> Became,
    ) {
        let start = out.len();
        let became = if let Some((token, became)) = self.remembered.get(word) {
            out.push_str(token);
            *became
        } else {
            let became = replace(self, word, out);
            if word.len() <= MAX_REMEMBERED_BYTES {
                if self.remembered.len() >= MAX_REMEMBERED {
                    self.remembered.clear();
                }
                self.remembered.insert(word.into(), (out[start..].into(), became));
            }
            became
        };
        match became {
            Became::Word => self.replaced.words += 1,
            Became::Id => self.replaced.ids += 1,
            Became::Number => self.replaced.numbers += 1,
            Became::Symbols => self.replaced.symbols += 1,
            Became::OneDigit => self.one_digit += 1,
            Became::Clear => {}
        }
        if matches!(became, Became::Word | Became::Clear) {
            self.count_kept(word);
        }
    }

    /// Counts the parts of a word that stayed.
    fn count_kept(&mut self, word: &str) {
        let lower = word.to_ascii_lowercase();
        let whole = if lower.contains(char::is_numeric) { Some(&*lower) } else { None };
        for part in
            whole.into_iter().chain(whole.is_none().then(|| lower.split('_')).into_iter().flatten())
        {
            if let Some(rule) = self.clear.rule(part).filter(|_| !part.is_empty()) {
                *self.kept.entry((rule, part.into())).or_default() += 1;
            }
        }
    }

    fn replace(&mut self, word: &str, out: &mut String) -> Became {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.number(word, out);
        }
        if let Some((mantissa, e, exponent)) = scientific(word) {
            let became = self.number(mantissa, out);
            out.push(e);
            if exponent.len() <= MAX_EXPONENT_DIGITS {
                out.push_str(exponent);
                return became;
            }
            self.number(exponent, out);
            return Became::Number;
        }
        if word.contains(char::is_numeric) {
            if self.clear.rule(&word.to_ascii_lowercase()).is_some() {
                out.push_str(word);
                return Became::Clear;
            }
            if word.len() >= LONG_BYTES {
                self.long(word, out);
                return Became::Id;
            }
            let mut symbols: Vec<_> =
                word.chars().map(|c| self.cipher.alphabets.symbol(c)).collect();
            let clear = &self.clear;
            self.cipher.exchange(&mut symbols, |alphabets, symbols| {
                let word: String = symbols.iter().map(|symbol| alphabets.char(*symbol)).collect();
                scientific(&word).is_none() && clear.rule(&word.to_ascii_lowercase()).is_none()
            });
            self.spell(&symbols, out);
            return Became::Id;
        }
        let mut became = Became::Clear;
        for (n, part) in word.split('_').enumerate() {
            if n > 0 {
                out.push('_');
            }
            if part.is_empty() || self.clear.rule(&part.to_ascii_lowercase()).is_some() {
                out.push_str(part);
                continue;
            }
            became = Became::Word;
            if part.len() >= LONG_BYTES {
                self.long(part, out);
                continue;
            }
            let mut symbols: Vec<_> =
                part.chars().map(|c| self.cipher.alphabets.symbol(c)).collect();
            let clear = &self.clear;
            self.cipher.exchange(&mut symbols, |alphabets, symbols| {
                let part: String = symbols.iter().map(|symbol| alphabets.char(*symbol)).collect();
                clear.rule(&part.to_ascii_lowercase()).is_none()
            });
            self.spell(&symbols, out);
        }
        became
    }

    /// Writes what digits are replaced by. Zeros at either end stay, so that a number stays one of
    /// its length, is read back as it was written, and `1.50` stays equal to `1.5`.
    fn number(&mut self, digits: &str, out: &mut String) -> Became {
        let core = digits.trim_matches('0');
        if core.len() <= 1 {
            out.push_str(digits);
            return Became::OneDigit;
        }
        if self.clear.rule(digits).is_some() {
            out.push_str(digits);
            return Became::Clear;
        }
        if core.len() >= LONG_BYTES {
            let last = core.len() - 1;
            let symbols = core.bytes().enumerate();
            let symbols = symbols.map(|(at, byte)| Symbol::digit(byte, at == 0 || at == last));
            let (before, after) =
                digits.split_at(digits.len() - digits.trim_start_matches('0').len());
            out.push_str(before);
            self.cipher.exchange_long(core.as_bytes(), symbols, out);
            out.push_str(&after[core.len()..]);
            return Became::Number;
        }
        let leading = digits.len() - digits.trim_start_matches('0').len();
        let trailing = digits.len() - leading - core.len();
        let last = core.len() - 1;
        let mut symbols: Vec<_> = core
            .bytes()
            .enumerate()
            .map(|(at, byte)| Symbol::digit(byte, at == 0 || at == last))
            .collect();
        let class = width(digits);
        let clear = &self.clear;
        let whole = |alphabets: &mut Alphabets, symbols: &[Symbol]| {
            let mut text = digits[..leading].to_owned();
            text.extend(symbols.iter().map(|symbol| alphabets.char(*symbol)));
            text.push_str(&digits[digits.len() - trailing..]);
            text
        };
        self.cipher.exchange(&mut symbols, |alphabets, symbols| {
            let text = whole(alphabets, symbols);
            width(&text) == class && clear.rule(&text).is_none()
        });
        let text = whole(&mut self.cipher.alphabets, &symbols);
        out.push_str(&text);
        Became::Number
    }

    /// Writes what a long word, or part of one, is replaced by.
    fn long(&mut self, word: &str, out: &mut String) {
        let mut alphabets = std::mem::take(&mut self.long_alphabets);
        let symbols = word.chars().map(|c| alphabets.symbol(c));
        self.cipher.exchange_long(word.to_ascii_lowercase().as_bytes(), symbols, out);
        self.long_alphabets = alphabets;
    }

    fn spell(&mut self, symbols: &[Symbol], out: &mut String) {
        out.extend(symbols.iter().map(|symbol| self.cipher.alphabets.char(*symbol)));
    }
}

/// Which of Rust's integers the digits fit.
fn width(digits: &str) -> u8 {
    // Short ones all fit, and long ones do not.
    if digits.len() < 19 {
        0
    } else if digits.parse::<i64>().is_ok() {
        1
    } else if digits.parse::<u64>().is_ok() {
        2
    } else {
        3
    }
}

/// `12e7` taken apart.
fn scientific(word: &str) -> Option<(&str, char, &str)> {
    let at = word.find(['e', 'E'])?;
    let (mantissa, rest) = word.split_at(at);
    let (e, exponent) = rest.split_at(1);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(mantissa) && is_number(exponent))
        .then(|| (mantissa, e.chars().next().unwrap_or('e'), exponent))
}

/// Whether a run of ASCII punctuation is more than the usual: four different marks, not all of
/// which structure texts.
fn is_unusual(run: impl Iterator<Item = char>) -> bool {
    let (mut seen, mut is_odd) = (0_u128, false);
    for mark in run.filter(char::is_ascii) {
        seen |= 1 << mark as u32;
        is_odd |= !"\"'`{}[]():;,.=<>/\\|*#-?&%".contains(mark);
    }
    is_odd && seen.count_ones() >= 4
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn words(byte: u8) -> Words {
        Words::new(&Key::new(&[byte; 32]).unwrap(), Clear::new())
    }

    fn token(words: &mut Words, word: &str) -> String {
        let mut out = String::new();
        words.word(word, &mut out);
        out
    }

    #[test]
    fn public_words_and_one_digit_stay() {
        let mut words = words(1);
        for word in
            ["The", "get_order", "orderId", "7", "0", "00", "10", "2000", "0007", "1e400", "5E10"]
        {
            let stays = word != "orderId";
            assert_eq!(token(&mut words, word) == word, stays, "{word}");
        }
        assert_eq!(words.kept[&(Rule::PublicWord, "order".into())], 1);
        assert_eq!(words.one_digit, 8);
    }

    #[test]
    fn parts_without_digits_are_replaced_alone_and_ids_whole() {
        let mut words = words(1);
        let sofia = token(&mut words, "sofia");
        assert_eq!(token(&mut words, "get_sofia"), format!("get_{sofia}"));
        assert_eq!(token(&mut words, "Sofia").to_lowercase(), sofia);
        let id = token(&mut words, "user_7");
        assert!(!id.contains("user") && id.find('_') == Some(4), "{id}");
    }

    #[test]
    fn numbers_stay_numbers() {
        let mut words = words(1);
        let mut all = HashSet::new();
        for number in 11..2000_u32 {
            let digits = number.to_string();
            let token = token(&mut words, &digits);
            let read: u32 = token.parse().unwrap();
            assert_eq!(read.to_string().len(), digits.len());
            assert!(all.insert(token), "{number}");
        }
        let (a, b) = (token(&mut words, "50250"), token(&mut words, "05025"));
        assert_eq!(a.trim_matches('0'), b.trim_matches('0'));
        for (digits, fits) in [
            ("9223372036854775807", 1),
            ("9223372036854775809", 2),
            ("18446744073709551615", 2),
            ("18446744073709551617", 3),
            ("12345678901234567891", 2),
        ] {
            assert_eq!(width(digits), fits);
            assert_eq!(width(&token(&mut words, digits)), fits, "{digits}");
        }
        // Of those that are as long and fit the same integers there may be few.
        for n in 0..200_u64 {
            for number in [1_u64 << 63, u64::MAX - 200, 10_u64.pow(19) + 1, (1 << 63) - 200] {
                let digits = (number + n).to_string();
                let token = token(&mut words, &digits);
                assert_ne!(token, digits);
                assert_eq!(width(&token), width(&digits), "{digits} {token}");
                assert!(all.insert(token), "{digits}");
            }
        }
        let long = format!("00{}5000", "1203".repeat(400));
        let other = token(&mut words, &long);
        assert!(other.starts_with("00") && other.ends_with("000") && other.len() == long.len());
        assert!(!other[2..].starts_with('0') && other != long && other == token(&mut words, &long));
        let big = token(&mut words, "12e45678");
        assert!(big.contains('e') && big != "12e45678", "{big}");
    }

    #[test]
    fn long_words_keep_their_form() {
        let mut words = words(1);
        let long = "Aé9z_".repeat(1000);
        let other = token(&mut words, &long);
        assert_eq!((other.len(), other.chars().count()), (long.len(), long.chars().count()));
        for (a, b) in long.chars().zip(other.chars()) {
            assert_eq!(
                (a.is_uppercase(), a.is_numeric(), a == '_'),
                (b.is_uppercase(), b.is_numeric(), b == '_')
            );
        }
        assert_ne!(other, long);
        assert_eq!(token(&mut words, &long.to_ascii_lowercase()), other.to_ascii_lowercase());
        assert_ne!(token(&mut words, &format!("{long}a"))[..100], other[..100]);
        let letters = token(&mut words, &"abc".repeat(1000));
        assert!(letters.len() == 3000 && letters != "abc".repeat(1000));
    }

    #[test]
    fn unusual_punctuation_is_replaced() {
        let mut words = words(1);
        let mut marks = |run: &str| {
            let mut out = String::new();
            words.marks(run, &mut out);
            out
        };
        assert_eq!(marks("\"},{\""), "\"},{\"");
        assert_eq!(marks("://"), "://");
        let token = marks("!@$%^&*");
        assert_ne!(token, "!@$%^&*");
        assert_eq!(token.len(), 7);
        assert!(token.contains('%'));
    }
}
