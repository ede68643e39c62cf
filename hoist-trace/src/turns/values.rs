//! Where a session's values first appeared.

use std::collections::HashMap;
use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Values shorter than this appear anywhere by chance, and say nothing.
const MIN_BYTES: usize = 3;

/// Values longer than this are texts, which a model writes rather than copies.
const MAX_BYTES: usize = 256;

/// The strings and numbers in a JSON text that can be told again when they are met, as text; what
/// cannot be read has none.
pub(crate) fn leaves(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Too deep, or a lone surrogate: what was found before it is as good.
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let _ = Leaves(&mut found).deserialize(&mut deserializer);
    found.sort_unstable();
    found.dedup();
    found
}

struct Leaves<'a>(&'a mut Vec<String>);

impl Leaves<'_> {
    fn add(&mut self, text: &str) {
        if (MIN_BYTES..=MAX_BYTES).contains(&text.len()) {
            self.0.push(text.to_owned());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Leaves<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Leaves<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.add(text);
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.add(&number.to_string());
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.add(&number.to_string());
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.add(&number.to_string());
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Leaves(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<serde::de::IgnoredAny>()?.is_some() {
            map.next_value_seed(Leaves(self.0))?;
        }
        Ok(())
    }
}

/// Finds, in texts read in order, where each of some values appears first.
#[derive(Debug)]
pub(crate) struct FirstSeen<P> {
    search: AhoCorasick,
    numbers: HashMap<String, usize>,
    values: Vec<Option<P>>,
    left: usize,
}

impl<P: Copy> FirstSeen<P> {
    /// For these values. `None` where there are none, or too many to search for.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut numbers = HashMap::new();
        let mut patterns = Vec::new();
        for value in values {
            if !numbers.contains_key(&value) {
                numbers.insert(value.clone(), patterns.len());
                patterns.push(value);
            }
        }
        if patterns.is_empty() {
            return None;
        }
        let search = AhoCorasick::builder()
            .kind((patterns.len() > 100).then_some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .ok()?;
        let left = patterns.len();
        Some(Self { search, numbers, values: vec![None; left], left })
    }

    /// Reads the next text, which stands at this place.
    ///
    /// A value appears where no letter, digit or underscore continues it.
    pub(crate) fn read(&mut self, text: &str, place: P) {
        // Results are often JSON in a text, in which other characters than ASCII's stand escaped.
        if memchr::memmem::find(text.as_bytes(), b"\\u").is_some() {
            self.search(&unescaped(text), place);
        }
        self.search(text, place);
    }

    fn search(&mut self, text: &str, place: P) {
        if self.left == 0 {
            return;
        }
        for found in self.search.find_overlapping_iter(text) {
            let seen = &mut self.values[found.pattern().as_usize()];
            if seen.is_none() && is_bounded(text, found.start(), found.end()) {
                *seen = Some(place);
                self.left -= 1;
                if self.left == 0 {
                    return;
                }
            }
        }
    }

    /// Where the value appeared first, so far.
    pub(crate) fn first(&self, value: &str) -> Option<P> {
        self.values[*self.numbers.get(value)?]
    }
}

/// The text with each `\\uXXXX` as the character it stands for.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split("\\u");
    plain.push_str(parts.next().unwrap_or_default());
    let mut units = Vec::new();
    for part in parts {
        let unit = part.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let rest = match unit {
            Some(unit) => {
                units.push(unit);
                &part[4..]
            }
            None => part,
        };
        // Two of them may be one character.
        if !rest.is_empty() || unit.is_none() {
            plain.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{fffd}')));
            plain.push_str(rest);
        }
    }
    plain.extend(char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')));
    plain
}

fn is_bounded(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (before, rest) = text.split_at(start);
    let (value, after) = rest.split_at(end - start);
    let goes_on = |inner: Option<char>, outer: Option<char>| {
        inner.is_some_and(is_word) && outer.is_some_and(is_word)
    };
    !goes_on(value.chars().next(), before.chars().next_back())
        && !goes_on(value.chars().next_back(), after.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_texts_and_numbers_worth_telling() {
        assert_eq!(
            leaves(
                r##"{"key":"#W12","b":[12345,-7.25,true,null,"#W12",{"c":"caf\u00e9"}],"d":12,"e":"ab"}"##
            ),
            ["#W12", "-7.25", "12345", "café"]
        );
        assert!(leaves("[").is_empty());
        assert_eq!(leaves(&format!("[\"{}\"]", "x".repeat(257))), [""; 0]);
        // What stands before the part that cannot be read counts.
        assert_eq!(leaves(&format!("[\"abc\",{}", "[".repeat(1000))), ["abc"]);
    }

    #[test]
    fn a_value_appears_where_nothing_continues_it() {
        let values = ["#W12", "W12", "user_7", "café", "11.5"].map(str::to_owned);
        let mut seen = FirstSeen::new(values).unwrap();
        for (place, text) in
            ["xW12 user_77 11.55", "a_user_7 cafés", "\"#W12\",user_7", "W12.11.5", "éW12 (café)"]
                .into_iter()
                .enumerate()
        {
            seen.read(text, place);
        }
        assert_eq!(seen.first("#W12"), Some(2));
        assert_eq!(seen.first("W12"), Some(2));
        assert_eq!(seen.first("user_7"), Some(2));
        assert_eq!(seen.first("11.5"), Some(3));
        assert_eq!(seen.first("café"), Some(4));
        assert_eq!(seen.first("another"), None);
        assert!(FirstSeen::<u8>::new([]).is_none());
    }

    #[test]
    fn escaped_characters_are_those_characters() {
        assert_eq!(unescaped(r"caf\u00e9 \ud83d\ude00! \ud83d \u12 \"), "café 😀! \u{fffd} 12 \\");
        let mut seen = FirstSeen::new(["José", "b😀c"].map(str::to_owned)).unwrap();
        seen.read(r#"{"name":"Jos\u00e9","x":"b\ud83d\ude00c"}"#, 1);
        assert_eq!((seen.first("José"), seen.first("b😀c")), (Some(1), Some(1)));
    }
}
