//! A keyed exchange of words for words of the same form.
//!
//! Within a form (the classes of a word's characters, in order) the exchange is one to one, so that
//! different words stay different however short they are, and no word stands for itself.

use std::collections::HashMap;
use std::sync::Arc;

use super::key::Key;
use super::letters::{Alphabets, Symbol, tweak};

/// From so many bits on, a word's token is drawn from the whole word: two tokens are then never
/// the same by any chance that counts, and a word of megabytes takes one pass.
const LONG_BITS: f64 = 96.0;

/// Rounds of the exchange. Its halves may be as small as one letter.
const ROUNDS: u8 = 10;

/// How many tables of single characters are kept.
const MAX_ORDERS: usize = 1 << 10;

#[derive(Debug)]
pub(super) struct Cipher {
    key: Key,
    pub(super) alphabets: Alphabets,
    /// For words of one character that is exchanged: what follows each.
    orders: HashMap<Vec<u8>, Arc<[u32]>>,
}

impl Cipher {
    pub(super) fn new(key: &Key) -> Self {
        Self { key: key.clone(), alphabets: Alphabets::default(), orders: HashMap::new() }
    }

    /// Exchanges a word for another one of its form, of those that `fits` takes: the word itself
    /// must be one of them. Where it is the only one, it stays.
    pub(super) fn exchange(
        &mut self,
        symbols: &mut [Symbol],
        fits: impl Fn(&mut Alphabets, &[Symbol]) -> bool,
    ) {
        let mut places = Vec::new();
        let mut radices = Vec::new();
        let mut bits = 0.0;
        for (place, symbol) in symbols.iter().enumerate() {
            let radix = self.alphabets.radix(symbol.class);
            if radix > 1 {
                places.push(place);
                radices.push(radix);
                bits += f64::from(radix).log2();
            }
        }
        if places.is_empty() {
            return;
        }
        let tweak = tweak(symbols);
        let mut word: Vec<u32> = places.iter().map(|place| symbols[*place].index).collect();
        loop {
            if bits >= LONG_BITS {
                self.draw(&tweak, &mut word, &radices);
            } else if let ([index], [radix]) = (&mut word[..], &radices[..]) {
                *index = self.next_in_order(&tweak, *index, *radix);
            } else {
                // No word stands for itself: a step in a shuffled order of all words of the form.
                (0..ROUNDS).for_each(|round| self.round(round, &tweak, &mut word, &radices, false));
                step(&mut word, &radices);
                (0..ROUNDS)
                    .rev()
                    .for_each(|round| self.round(round, &tweak, &mut word, &radices, true));
            }
            for (place, index) in places.iter().zip(&word) {
                symbols[*place].index = *index;
            }
            // Going round from a word that fits comes by one that fits, at the latest itself.
            if bits >= LONG_BITS || fits(&mut self.alphabets, symbols) {
                return;
            }
        }
    }

    /// Writes what a long word is exchanged for, holding neither whole: `word` is all that decides,
    /// in lower case, and `symbols` are its characters.
    pub(super) fn exchange_long(
        &mut self,
        word: &[u8],
        symbols: impl Iterator<Item = Symbol>,
        out: &mut String,
    ) {
        let seed = self.key.draw(&[b"very long", word]);
        let key = &self.key;
        let mut drawn = Stream::new(|block| key.draw(&[b"more", &seed, &block.to_le_bytes()]));
        for symbol in symbols {
            let radix = self.alphabets.radix(symbol.class);
            let index = if radix > 1 { drawn.below(radix) } else { symbol.index };
            out.push(self.alphabets.char(Symbol { index, ..symbol }));
        }
    }

    /// One round of a Feistel network: what the key draws from one half is added to the other, place
    /// by place, or taken off again.
    fn round(&self, round: u8, tweak: &[u8], word: &mut [u32], radices: &[u32], back: bool) {
        let (left, right) = word.split_at_mut(word.len() / 2);
        let (left_radices, right_radices) = radices.split_at(left.len());
        let (target, radices, source) = if round.is_multiple_of(2) {
            (left, left_radices, &*right)
        } else {
            (right, right_radices, &*left)
        };
        let source = bytes(source);
        let mut drawn = Stream::new(|block| {
            self.key.draw(&[b"round", &[round], tweak, &block.to_le_bytes(), &source])
        });
        for (index, radix) in target.iter_mut().zip(radices) {
            let by = drawn.below(*radix);
            *index = (*index + if back { *radix - by } else { by }) % *radix;
        }
    }

    /// A word that is drawn from all of this one.
    fn draw(&self, tweak: &[u8], word: &mut [u32], radices: &[u32]) {
        let seed = self.key.draw(&[b"long", tweak, &bytes(word)]);
        let mut drawn = Stream::new(|block| self.key.draw(&[b"more", &seed, &block.to_le_bytes()]));
        for (index, radix) in word.iter_mut().zip(radices) {
            *index = drawn.below(*radix);
        }
    }

    fn next_in_order(&mut self, tweak: &[u8], index: u32, radix: u32) -> u32 {
        if let Some(order) = self.orders.get(tweak) {
            return order[index as usize];
        }
        if self.orders.len() >= MAX_ORDERS {
            self.orders.clear();
        }
        let mut all: Vec<([u8; 32], u32)> = (0..radix)
            .map(|index| (self.key.draw(&[b"order", tweak, &index.to_le_bytes()]), index))
            .collect();
        all.sort_unstable();
        let mut order = vec![0; all.len()];
        for (at, (_, index)) in all.iter().enumerate() {
            order[*index as usize] = all[(at + 1) % all.len()].1;
        }
        let next = order[index as usize];
        self.orders.insert(tweak.to_vec(), order.into());
        next
    }
}

fn bytes(word: &[u32]) -> Vec<u8> {
    word.iter().flat_map(|index| index.to_le_bytes()).collect()
}

/// Counts on by one, the first place being the fastest, and round from the last word to the first.
/// All words are on one round: on shorter ones a word might be the only one that fits, and stay.
fn step(word: &mut [u32], radices: &[u32]) {
    for (index, radix) in word.iter_mut().zip(radices) {
        *index = (*index + 1) % *radix;
        if *index > 0 {
            return;
        }
    }
}

/// Numbers from blocks that the key draws.
struct Stream<F> {
    draw: F,
    block: [u8; 32],
    blocks: u64,
    left: usize,
}

impl<F: Fn(u64) -> [u8; 32]> Stream<F> {
    fn new(draw: F) -> Self {
        Self { draw, block: [0; 32], blocks: 0, left: 0 }
    }

    /// The next number below `radix`, each as likely to within 2^-17.
    fn below(&mut self, radix: u32) -> u32 {
        if self.left == 0 {
            self.block = (self.draw)(self.blocks);
            self.blocks += 1;
            self.left = 8;
        }
        self.left -= 1;
        let at = self.left * 4;
        let word = [self.block[at], self.block[at + 1], self.block[at + 2], self.block[at + 3]];
        let scaled = u64::from(u32::from_le_bytes(word)) * u64::from(radix);
        u32::try_from(scaled >> 32).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn exchanged(cipher: &mut Cipher, word: &str) -> String {
        let mut symbols: Vec<_> = word.chars().map(|c| cipher.alphabets.symbol(c)).collect();
        cipher.exchange(&mut symbols, |_, _| true);
        symbols.into_iter().map(|symbol| cipher.alphabets.char(symbol)).collect()
    }

    fn cipher(byte: u8) -> Cipher {
        Cipher::new(&Key::new(&[byte; 32]).unwrap())
    }

    #[test]
    fn short_words_are_exchanged_one_to_one_and_none_for_itself() {
        let mut cipher = cipher(1);
        let two = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")));
        let digits = (0..1000).map(|n| format!("{n:03}"));
        let one = ('a'..='z').map(String::from);
        for words in [two.collect::<Vec<_>>(), digits.collect(), one.collect()] {
            let tokens: HashSet<String> =
                words.iter().map(|word| exchanged(&mut cipher, word)).collect();
            assert_eq!(tokens, words.iter().cloned().collect());
            for word in &words {
                assert_ne!(exchanged(&mut cipher, word), *word);
            }
        }
    }

    #[test]
    fn the_form_stays_and_the_key_counts() {
        let (mut one, mut other) = (cipher(1), cipher(2));
        for word in ["Sofia", "W1234567", "café", "世界", "a", "x_1", &"Zq9".repeat(50)] {
            let token = exchanged(&mut one, word);
            assert_eq!(token, exchanged(&mut one, word));
            assert!(word.len() < 5 || token != exchanged(&mut other, word), "{word}");
            assert_eq!(token.len(), word.len());
            for (a, b) in word.chars().zip(token.chars()) {
                assert_eq!(a.is_ascii_digit(), b.is_ascii_digit(), "{word} {token}");
                assert_eq!(a.is_uppercase(), b.is_uppercase(), "{word} {token}");
                assert_eq!(a == '_', b == '_', "{word} {token}");
            }
        }
    }

    #[test]
    fn only_words_that_fit_come_out() {
        let mut cipher = cipher(3);
        let fits = |alphabets: &mut Alphabets, symbols: &[Symbol]| {
            !matches!(alphabets.char(symbols[0]), 'a'..='m')
        };
        let mut tokens = HashSet::new();
        for c in 'n'..='z' {
            let mut symbols = [cipher.alphabets.symbol(c)];
            cipher.exchange(&mut symbols, fits);
            tokens.insert(cipher.alphabets.char(symbols[0]));
        }
        assert_eq!(tokens, ('n'..='z').collect());
    }

    #[test]
    fn a_word_is_exchanged_however_few_others_fit() {
        let mut cipher = cipher(4);
        let few = ["17", "40", "93"];
        let mut tokens = HashSet::new();
        let text = |alphabets: &mut Alphabets, symbols: &[Symbol]| -> String {
            symbols.iter().map(|symbol| alphabets.char(*symbol)).collect()
        };
        for word in few {
            let mut symbols: Vec<_> = word.chars().map(|c| cipher.alphabets.symbol(c)).collect();
            cipher.exchange(&mut symbols, |alphabets, symbols| {
                few.contains(&&*text(alphabets, symbols))
            });
            let token = text(&mut cipher.alphabets, &symbols);
            assert_ne!(token, word);
            tokens.insert(token);
        }
        assert_eq!(tokens, few.map(String::from).into());
    }
}
