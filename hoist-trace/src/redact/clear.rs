//! What stays in clear, and by which rule.

use std::collections::HashMap;

use serde::Serialize;

use super::public::is_public;

/// Why a word stays in clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// It is on the fixed list of words that say nothing of anybody.
    PublicWord,
    /// A number with one digit other than zeros at either end, or an exponent of up to three.
    OneDigit,
    /// It is the code of a JSON-RPC error, of up to five digits.
    ErrorCode,
    /// It is part of a tool's name.
    ToolName,
    /// It is part of the name of a property that a tool's schema declares.
    SchemaProperty,
    /// It is part of a value that a tool's schema lists: of `enum`, `const` or `default`.
    SchemaValue,
    /// It is part of a key that the objects at a path share in many sessions, and no value.
    SharedKey,
    /// It is part of a value of which a path has few, in many sessions: what a learner may take for
    /// a constant.
    Constant,
}

impl Rule {
    /// What the rule is, for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::PublicWord => "words of a fixed list (English function words, protocols, states)",
            Self::OneDigit => "numbers of one digit besides zeros",
            Self::ErrorCode => "codes of JSON-RPC errors",
            Self::ToolName => "names of tools",
            Self::SchemaProperty => "properties that schemas of tools declare",
            Self::SchemaValue => "values that schemas of tools list",
            Self::SharedKey => "keys that objects share in many sessions",
            Self::Constant => "few, short values at a path, each in many sessions",
        }
    }
}

/// What one source brings into clear.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The rule.
    pub rule: Rule,
    /// Where it was found, key by key, `*` for the elements of a list; empty where that does not
    /// matter. Keys stand as they were in the input.
    pub path: Vec<String>,
    /// What is in clear: names, or values.
    pub values: Vec<String>,
    /// How many different values the path has.
    pub distinct: u64,
}

/// The words that stay in clear in a dataset, but for those that do everywhere.
#[derive(Debug, Clone, Default)]
pub struct Clear {
    words: HashMap<Box<str>, Rule>,
    pub(super) sources: Vec<Source>,
}

impl Clear {
    /// Nothing but what is public.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the words come from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Adds what a source brings into clear that is not public already.
    pub(super) fn add(&mut self, mut source: Source) {
        let rule = source.rule;
        source.values.retain(|value| {
            let mut words = words_of(value);
            words.retain(|word| !is_public(word));
            let brings_any = !words.is_empty();
            for word in words {
                self.words.entry(word.into()).or_insert(rule);
            }
            brings_any
        });
        if !source.values.is_empty() {
            self.sources.push(source);
        }
    }

    /// The rule by which a word stays, if it does: in lower case, without underscores unless it has a
    /// digit.
    pub fn rule(&self, word: &str) -> Option<Rule> {
        if is_public(word) {
            return Some(Rule::PublicWord);
        }
        self.words.get(word).copied()
    }
}

/// The words of a text in lower case, as they are looked up: those without a digit taken apart at
/// underscores.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split(|c| !super::letters::is_word(c)).filter(|word| !word.is_empty()) {
        let word = word.to_ascii_lowercase();
        if word.contains(char::is_numeric) {
            words.push(word);
        } else {
            words.extend(word.split('_').filter(|part| !part.is_empty()).map(str::to_owned));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_looked_up_in_parts() {
        assert_eq!(words_of("get_Order-x2_y, _a__b"), ["get", "order", "x2_y", "a", "b"]);
        let mut clear = Clear::new();
        let values = vec!["frobnicate_widget".to_owned()];
        clear.add(Source { rule: Rule::ToolName, path: Vec::new(), values, distinct: 1 });
        assert_eq!(clear.rule("frobnicate"), Some(Rule::ToolName));
        assert_eq!(clear.rule("the"), Some(Rule::PublicWord));
        assert_eq!(clear.rule("sofia"), None);
    }
}
