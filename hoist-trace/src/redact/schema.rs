//! What the schemas of a tool declare.

use std::collections::BTreeSet;

use super::clear::{Clear, Rule, Source};
use super::scan::{Part, Scanner, Token, decode};

/// How many values an `enum` may have to be one, and how long they may be.
const MAX_VALUES: usize = 64;
const MAX_VALUE_BYTES: usize = 40;

/// How many names and values are kept, about.
const MAX_DECLARED: usize = 20_000;

/// The names and values that schemas declare.
#[derive(Debug, Default)]
pub(super) struct Declared {
    properties: BTreeSet<String>,
    values: BTreeSet<String>,
}

/// What a value of a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Schema,
    /// The object whose keys are properties, or names of other schemas.
    Properties {
        declared: bool,
    },
    Enum,
    Default,
    Other,
}

impl Declared {
    /// Reads a JSON Schema.
    pub(super) fn read(&mut self, schema: &str) {
        // Nobody has so many; it bounds what a list that changes all the time may take.
        if self.properties.len() + self.values.len() > MAX_DECLARED {
            return;
        }
        let mut scanner = Scanner::new(schema);
        let mut stack: Vec<Within> = Vec::new();
        let mut next = Within::Schema;
        let mut values = Vec::new();
        while let (_, Some(token)) = scanner.next() {
            let within = stack.last().copied();
            match token {
                Token::Open { object } => {
                    let opened = match (within, next) {
                        // A list of schemas, or the schemas of properties.
                        (Some(Within::Schema | Within::Properties { .. }) | None, next) => next,
                        (Some(Within::Other | Within::Default | Within::Enum), _) => Within::Other,
                    };
                    let opened = match opened {
                        Within::Properties { .. } if !object => Within::Other,
                        Within::Enum if object => Within::Other,
                        Within::Default => Within::Other,
                        opened => opened,
                    };
                    stack.push(opened);
                    next = Within::Schema;
                }
                Token::Close { .. } => {
                    if stack.pop() == Some(Within::Enum) {
                        if values.len() <= MAX_VALUES {
                            self.values.extend(values.drain(..));
                        }
                        values.clear();
                    }
                    next = Within::Schema;
                }
                Token::Key(key) => match within {
                    Some(Within::Properties { declared }) => {
                        if declared && is_name(key) {
                            self.properties.insert(key.to_owned());
                        }
                        next = Within::Schema;
                    }
                    Some(Within::Schema) => next = keyword(key),
                    _ => {}
                },
                Token::Text(raw) => {
                    let [Part::Text(text)] = &decode(raw)[..] else { continue };
                    match (within, next) {
                        (Some(Within::Enum), _) if is_listed(text) => values.push(text.clone()),
                        // A default may be anybody's folder.
                        (Some(Within::Schema), Within::Default) if is_plain(text) => {
                            self.values.insert(text.clone());
                        }
                        _ => {}
                    }
                }
                Token::Number(number) if number.len() <= 3 => match (within, next) {
                    (Some(Within::Enum), _) => values.push(number.to_owned()),
                    (Some(Within::Schema), Within::Default) => {
                        self.values.insert(number.to_owned());
                    }
                    _ => {}
                },
                Token::Number(_) | Token::Literal(_) => {}
            }
        }
    }

    pub(super) fn finish(self, clear: &mut Clear) {
        for (rule, values) in
            [(Rule::SchemaProperty, self.properties), (Rule::SchemaValue, self.values)]
        {
            let values: Vec<String> = values.into_iter().collect();
            if !values.is_empty() {
                let distinct = values.len() as u64;
                clear.add(Source { rule, path: Vec::new(), values, distinct });
            }
        }
    }
}

fn keyword(key: &str) -> Within {
    match key {
        "properties" => Within::Properties { declared: true },
        "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => {
            Within::Properties { declared: false }
        }
        "enum" => Within::Enum,
        "const" | "default" => Within::Default,
        "items"
        | "prefixItems"
        | "additionalProperties"
        | "anyOf"
        | "oneOf"
        | "allOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedProperties"
        | "additionalItems" => Within::Schema,
        _ => Within::Other,
    }
}

/// Whether it is spelt as names of properties are.
pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$'))
}

fn is_listed(text: &str) -> bool {
    text.len() <= MAX_VALUE_BYTES
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b" _-./+".contains(&b))
}

fn is_plain(text: &str) -> bool {
    text.len() <= MAX_VALUE_BYTES
        && text.bytes().all(|b| b.is_ascii_alphabetic() || b" _-".contains(&b))
        && text.split_ascii_whitespace().count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_listed_values_are_declared() {
        let mut declared = Declared::default();
        declared.read(
            r#"{"type":"object","title":"Sofia","properties":{"gizmo":{"type":"string","enum":["vanilla","mint-2"],
               "description":"Ask Sofia"},"nested":{"type":"array","items":{"anyOf":[{"properties":
               {"widget":{"const":"fixed","default":25}}}]}},"home":{"default":"/home/sofia"},
               "mail":{"default":"sofia@x.io","examples":["sofia"]},"obj":{"default":{"sofia":{"properties":{"no":1}}}}},
               "$defs":{"Thing":{"properties":{"inner":{}}}},"required":["gizmo"]}"#,
        );
        let mut clear = Clear::new();
        let Declared { properties, values } = declared;
        let listed = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(listed(&properties), "gizmo home inner mail nested obj widget");
        assert_eq!(listed(&values), "25 fixed mint-2 vanilla");
        Declared { properties, values }.finish(&mut clear);
        assert_eq!(clear.rule("gizmo"), Some(Rule::SchemaProperty));
        assert_eq!(clear.rule("vanilla"), Some(Rule::SchemaValue));
        assert_eq!(clear.rule("sofia"), None);
    }

    #[test]
    fn no_schema_is_too_broken_or_too_deep() {
        for schema in
            ["", "{", "]]]", "{\"properties\":[", "{\"properties\":{\"a\":", "{\"enum\":{}}"]
        {
            Declared::default().read(schema);
        }
        Declared::default().read(&"{\"items\":".repeat(50_000));
        let mut many = Declared::default();
        let words: Vec<String> =
            (0..65).map(|n| format!("\"{}\"", "x".repeat(n % 30 + 1))).collect();
        many.read(&format!("{{\"enum\":[{}]}}", words.join(",")));
        assert!(many.values.is_empty());
    }
}
