//! What holds of any sessions.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::Value;

use crate::copy::{Log, copied, findings, key, leaks_of, shown};
use crate::sessions::sessions;

/// With each letter, digit and mark as one of its kind: of marks, unusual runs change, and the digits
/// of escapes in URLs say which letter it is.
fn form(text: &str) -> String {
    let mut digits_of_escape = 0;
    let kind = |c: char| {
        if c == '%' {
            digits_of_escape = 2;
        } else if digits_of_escape > 0 && c.is_ascii_alphanumeric() {
            digits_of_escape -= 1;
            return 'h';
        } else {
            digits_of_escape = 0;
        }
        match c {
            'a'..='z' => 'x',
            'A'..='Z' => 'X',
            '0'..='9' => '9',
            '_' | ' ' => c,
            c if c.is_ascii_punctuation() => '.',
            c if c.is_ascii() || c.is_whitespace() => c,
            c if c.is_lowercase() => 'é',
            c if c.is_uppercase() => 'É',
            c if c.is_alphanumeric() => '字',
            _ => '?',
        }
    };
    text.chars().map(kind).collect()
}

/// The texts, keys and numbers of a JSON text in the order in which they stand, and all between.
fn tokens(json: &str) -> (Vec<String>, String) {
    let (mut tokens, mut between) = (Vec::new(), String::new());
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                end.expect("a string ends") + 2
            }
            '-' | '0'..='9' => {
                rest.find(|c: char| !"-+.eE0123456789".contains(c)).unwrap_or(rest.len())
            }
            c => {
                between.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        between.push('@');
        tokens.push(rest[..len].to_owned());
        rest = &rest[len..];
    }
    (tokens, between)
}

/// What each text, key and number of a JSON text became; panics where the shapes differ.
fn became(before: &str, after: &str, pairs: &mut Vec<(String, String)>) {
    let ((before, shape), (after, shape_after)) = (tokens(before), tokens(after));
    assert_eq!(shape, shape_after);
    for (before, after) in before.into_iter().zip(after) {
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
        match (read(&before), read(&after)) {
            (Value::String(before), Value::String(after)) => {
                let is_json = before.trim_start().starts_with(['{', '[']);
                if is_json && serde_json::from_str::<Value>(&before).is_ok() {
                    became(&before, &after, pairs);
                } else {
                    assert_eq!(before.len(), after.len());
                    pairs.push((before, after));
                }
            }
            (Value::Number(a), Value::Number(b)) => {
                assert_eq!((a.is_u64(), a.is_f64()), (b.is_u64(), b.is_f64()), "{a} {b}");
                pairs.push((before, after));
            }
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn nothing_gets_out(logs in sessions()) {
        let leaks = leaks_of(&logs, |logs, key| copied(logs, key).0);
        prop_assert!(leaks.is_empty(), "{leaks:?}");
    }

    #[test]
    fn shapes_and_equality_stay(logs in sessions()) {
        let copies = copied(&logs, &key(5)).0;
        let (mut there, mut back) = (HashMap::new(), HashMap::new());
        let mut pairs = Vec::new();
        for (log, copy) in logs.iter().zip(&copies) {
            prop_assert_eq!(log.entries.len(), copy.entries.len());
            for (before, after) in log.entries.iter().zip(&copy.entries) {
                if let (Some(before), Some(after)) = (before.message(), after.message()) {
                    became(before, after, &mut pairs);
                }
            }
        }
        for (before, after) in pairs {
            prop_assert_eq!(form(&before), form(&after));
            let known = there.entry(before.clone()).or_insert_with(|| after.clone());
            prop_assert_eq!(&*known, &after, "{} became two things", before);
            let known = back.entry(after.clone()).or_insert_with(|| before.clone());
            prop_assert_eq!(&*known, &before, "two things became {}", after);
        }
    }

    #[test]
    fn sessions_are_read_alike(logs in sessions()) {
        let copies = copied(&logs, &key(5)).0;
        for (log, copy) in logs.iter().zip(&copies) {
            prop_assert_eq!(findings(log), findings(copy));
            // Of what is shown, the length of arguments may differ by escapes.
            let plain = |log: &Log| -> Vec<String> {
                shown(log).iter().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
            };
            prop_assert_eq!(plain(log), plain(copy));
            let times = |log: &Log| log.entries.iter().map(|e| (e.line, e.t_ms, e.from)).collect::<Vec<_>>();
            prop_assert_eq!(times(log), times(copy));
        }
    }
}
