//! JSON values by what they say, not by how it is written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Deeper values are compared as they are written.
const MAX_DEPTH: usize = 128;

/// A text that is the same for values that say the same: members in order of their keys, the last of
/// those that stand twice, no white space, strings by what they decode to, numbers by what they are
/// (`1.0` is `1`, and no digit is lost). What is deeper than 128 levels, or no Unicode text, stays as
/// it is written.
///
/// # Examples
///
/// ```
/// use hoist_trace::canonical_json;
///
/// let text = canonical_json(r#"{ "b": 1.50, "a": "\u0078" }"#);
/// assert_eq!(text, r#"{"a":"x","b":1.5}"#);
/// ```
pub fn canonical_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    write(json, MAX_DEPTH, &mut text);
    text
}

fn write(value: &str, depth: usize, text: &mut String) {
    let value = value.trim_matches([' ', '\t', '\r', '\n']);
    match value.as_bytes().first() {
        Some(b'{') if depth > 0 => match members(value) {
            Some(members) => {
                text.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    text.push_str(&serde_json::Value::from(&**key).to_string());
                    text.push(':');
                    write(value.get(), depth - 1, text);
                }
                text.push('}');
            }
            None => text.push_str(value),
        },
        Some(b'[') if depth > 0 => match serde_json::from_str::<Vec<&RawValue>>(value) {
            Ok(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    write(item.get(), depth - 1, text);
                }
                text.push(']');
            }
            Err(_) => text.push_str(value),
        },
        Some(b'"') => match serde_json::from_str::<Cow<'_, str>>(value) {
            Ok(decoded) => text.push_str(&serde_json::Value::from(&*decoded).to_string()),
            // One that is no Unicode text is what it is.
            Err(_) => text.push_str(value),
        },
        Some(b'-' | b'0'..=b'9') => text.push_str(&number(value)),
        _ => text.push_str(value),
    }
}

/// The members of an object; `None` where a key is no Unicode text.
pub(crate) fn members(object: &str) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_str(object).ok()
}

/// A number by what it is: all its digits, without zeros that say nothing, as people write it where
/// that is short, else with a power of ten.
fn number(text: &str) -> Cow<'_, str> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.parse::<i64>() else { return Cow::Borrowed(text) };
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let trimmed = significant.trim_end_matches('0');
    if trimmed.is_empty() {
        return Cow::Borrowed("0");
    }
    let length = |text: &str| i64::try_from(text.len()).ok();
    let power = length(fraction)
        .and_then(|fraction| exponent.checked_sub(fraction))
        .zip(length(&significant[trimmed.len()..]))
        .and_then(|(power, zeros)| power.checked_add(zeros));
    match power {
        Some(power @ 0..=20) => {
            let zeros = "0".repeat(usize::try_from(power).unwrap_or_default());
            Cow::Owned(format!("{sign}{trimmed}{zeros}"))
        }
        Some(power @ -20..0) => {
            let behind = usize::try_from(power.unsigned_abs()).unwrap_or_default();
            let padded = format!("{trimmed:0>width$}", width = behind + 1);
            let (whole, fraction) = padded.split_at(padded.len() - behind);
            Cow::Owned(format!("{sign}{whole}.{fraction}"))
        }
        Some(power) => Cow::Owned(format!("{sign}{trimmed}e{power}")),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_the_same_is_the_same() {
        for (one, other) in [
            ("{ \"b\":1, \"a\": [ 2 ] }", r#"{"a":[2],"b":1.0}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#""\u00e9\/""#, r#""é/""#),
            ("10", "1e1"),
            ("0.0", "-0"),
            ("-120", "-1.2E+2"),
            ("12345678901234567890123", "1.2345678901234567890123e22"),
        ] {
            assert_eq!(canonical_json(one), canonical_json(other), "{one} {other}");
        }
        for (one, other) in [
            ("1", "\"1\""),
            ("12345678901234567890", "12345678901234567891"),
            ("[1,2]", "[2,1]"),
            ("1", "-1"),
            ("null", "{}"),
            (r#""\ud83d""#, r#""\ud83e""#),
        ] {
            assert_ne!(canonical_json(one), canonical_json(other), "{one} {other}");
        }
        for number in ["12.5", "1200", "-0.05", "0.5"] {
            assert_eq!(canonical_json(number), number);
        }
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(canonical_json(&deep), deep);
        assert_eq!(canonical_json("1e99999999999999999999"), "1e99999999999999999999");
    }
}
