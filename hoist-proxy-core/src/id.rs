//! JSON-RPC request ids.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

/// A request id, compared by decoded value and type.
///
/// `"a"` equals `"\u0061"`, `1` equals `1.0`, and `1` differs from `"1"`. Null, fractional and
/// huge ids are ids like any other: MCP allows only strings and integers, but a proxy forwards
/// what it gets. [`raw`](Self::raw) is the id as its sender spelt it.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::RequestId;
///
/// let id = |text: &str| RequestId::parse(text.as_bytes()).unwrap();
/// assert_eq!(id(r#""a""#), id(r#""\u0061""#));
/// assert_eq!(id("10"), id("1.0e1"));
/// assert_ne!(id("1"), id(r#""1""#));
/// assert_eq!(id("1.0").raw(), "1.0");
/// ```
#[derive(Clone)]
pub struct RequestId {
    raw: Raw,
    value: Value,
}

/// An id's JSON text.
#[derive(Clone)]
enum Raw {
    /// Short enough to be kept in place, as most ids are. UUIDs fit.
    Short { bytes: [u8; SHORT_BYTES], len: u8 },
    /// Part of the message it came in, or in memory of its own.
    Shared(Bytes),
}

const SHORT_BYTES: usize = 38;

impl Raw {
    /// The text itself if it is short; else what `shared` gives, which is the same text.
    fn new(text: &[u8], shared: impl FnOnce() -> Bytes) -> Self {
        match u8::try_from(text.len()) {
            Ok(len) if text.len() <= SHORT_BYTES => {
                let mut bytes = [0; SHORT_BYTES];
                bytes[..text.len()].copy_from_slice(text);
                Self::Short { bytes, len }
            }
            _ => Self::Shared(shared()),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short { bytes, len } => &bytes[..usize::from(*len)],
            Self::Shared(bytes) => bytes,
        }
    }
}

/// What an id's text means. The usual ones take no allocation.
#[derive(Clone)]
enum Value {
    Null,
    Integer(i64),
    /// A string that is spelt as it is: the text between its quotes.
    Plain,
    /// A string with escapes, decoded.
    Decoded(Arc<str>),
    /// Any other number.
    Decimal(Arc<Decimal>),
    /// A string that is no Unicode text, or a number whose exponent fits nowhere: by spelling.
    Spelt,
}

/// A number: sign, digits without leading or trailing zeros, power of ten.
#[derive(PartialEq, Eq, Hash)]
struct Decimal {
    negative: bool,
    digits: Box<str>,
    exponent: i64,
}

/// What ids are compared by.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Null,
    Integer(i64),
    String(&'a [u8]),
    Decimal(&'a Decimal),
    Spelt(&'a [u8]),
}

impl RequestId {
    /// An id from its JSON text; `None` when the text is no string, number or null.
    ///
    /// The text must be valid JSON on its own, as a slice of a parsed message is.
    pub fn parse(raw: &[u8]) -> Option<Self> {
        Some(Self { raw: Raw::new(raw, || Bytes::copy_from_slice(raw)), value: value(raw)? })
    }

    /// The id that stands at `place` in a message.
    pub(crate) fn in_message(message: &Bytes, place: Range<usize>) -> Option<Self> {
        let text = message.get(place.clone())?;
        Some(Self { raw: Raw::new(text, || message.slice(place)), value: value(text)? })
    }

    /// The id of the proxy's own request number `n`: the string `hoist-<n>`.
    pub fn own(n: u64) -> Self {
        let text = format!("\"{OWN_PREFIX}{n}\"");
        Self { raw: Raw::new(text.as_bytes(), || text.clone().into()), value: Value::Plain }
    }

    /// The null id, of an error in answer to a message whose id cannot be told.
    pub fn null() -> Self {
        Self { raw: Raw::Shared(Bytes::from_static(b"null")), value: Value::Null }
    }

    /// The id's JSON text, as its sender spelt it.
    pub fn raw(&self) -> &str {
        // A slice of a JSON text that was checked to be UTF-8 when it was parsed.
        std::str::from_utf8(self.raw.as_bytes()).unwrap_or("null")
    }

    /// Whether the id is null, which only an error in answer to an unreadable request has.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The `n` of a `hoist-<n>` id, whoever made it.
    pub(crate) fn own_number(&self) -> Option<u64> {
        let Key::String(text) = self.key() else { return None };
        let digits = text.strip_prefix(OWN_PREFIX.as_bytes())?;
        let plain =
            digits.iter().all(u8::is_ascii_digit) && (digits == b"0" || !digits.starts_with(b"0"));
        if plain { str::from_utf8(digits).ok()?.parse().ok() } else { None }
    }

    /// The same id in memory of its own, so that it does not keep the message it came in alive.
    #[must_use]
    pub fn detached(&self) -> Self {
        let text = self.raw.as_bytes();
        let raw = Raw::new(text, || Bytes::copy_from_slice(text));
        Self { raw, value: self.value.clone() }
    }

    fn key(&self) -> Key<'_> {
        let raw = self.raw.as_bytes();
        match &self.value {
            Value::Null => Key::Null,
            Value::Integer(integer) => Key::Integer(*integer),
            Value::Plain => Key::String(&raw[1..raw.len() - 1]),
            Value::Decoded(text) => Key::String(text.as_bytes()),
            Value::Decimal(decimal) => Key::Decimal(decimal),
            Value::Spelt => Key::Spelt(raw),
        }
    }
}

const OWN_PREFIX: &str = "hoist-";

/// What a string, a number or null means; `None` for anything else.
fn value(text: &[u8]) -> Option<Value> {
    Some(match text {
        [b'n', ..] => Value::Null,
        [b'"', inside @ .., b'"'] if !inside.contains(&b'\\') => Value::Plain,
        [b'"', ..] => serde_json::from_slice::<String>(text)
            .map_or(Value::Spelt, |text| Value::Decoded(text.into())),
        [b'-' | b'0'..=b'9', ..] => number(text),
        _ => return None,
    })
}

fn number(text: &[u8]) -> Value {
    let text = str::from_utf8(text).unwrap_or("");
    if let Ok(integer) = text.parse::<i64>() {
        return Value::Integer(integer);
    }
    let negative = text.starts_with('-');
    let text = text.trim_start_matches('-');
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else {
        return Value::Spelt;
    };
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Value::Integer(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let shift = i64::try_from(trailing).unwrap_or(0) - i64::try_from(fraction.len()).unwrap_or(0);
    let Some(exponent) = exponent.checked_add(shift) else {
        return Value::Spelt;
    };
    // An integer spelt as a fraction or with an exponent is that integer.
    if let Ok(zeros) = usize::try_from(exponent)
        && significant.len() + zeros <= 19
        && let Ok(integer) =
            format!("{}{significant}{}", if negative { "-" } else { "" }, "0".repeat(zeros))
                .parse::<i64>()
    {
        return Value::Integer(integer);
    }
    Value::Decimal(Arc::new(Decimal { negative, digits: significant.into(), exponent }))
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({})", self.raw())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn ids_match_by_decoded_value_and_type() {
        for (a, b) in [
            ("1", "1"),
            ("1", "1.0"),
            ("10", "1e1"),
            ("10", "100e-1"),
            ("-0", "0"),
            ("0.0e5", "0"),
            ("0.5", "5e-1"),
            ("12345678901234567890", "1234567890123456789e1"),
            ("-9223372036854775808", "-9223372036854775808.0"),
            (r#""a""#, r#""\u0061""#),
            (r#""/""#, r#""\/""#),
            ("null", "null"),
            (r#""\ud83d""#, r#""\ud83d""#),
        ] {
            assert_eq!(id(a), id(b), "{a} {b}");
        }
        for (a, b) in [
            ("1", r#""1""#),
            ("1", "1.5"),
            ("0", "null"),
            ("9007199254740993", "9007199254740992"),
            ("12345678901234567890", "12345678901234567891"),
            ("1e400", "1e401"),
            ("1", "-1"),
            (r#""a""#, r#""A""#),
            (r#""null""#, "null"),
        ] {
            assert_ne!(id(a), id(b), "{a} {b}");
        }
    }

    #[test]
    fn a_detached_id_is_the_same_in_value_and_spelling() {
        let of_length = |len| format!("\"{}\"", "x".repeat(len - 2));
        let (longest, longer) = (of_length(SHORT_BYTES), of_length(SHORT_BYTES + 1));
        for text in ["1", "1.0", "\"a\"", "\"\\u0061\"", "1e400", "null", &longest, &longer] {
            let detached = id(text).detached();
            assert_eq!(detached, id(text));
            assert_eq!(detached.raw(), text);
        }
    }

    #[test]
    fn an_absurd_exponent_costs_no_memory() {
        assert_eq!(id("1e999999999999"), id("1.0e999999999999"));
        assert_eq!(id("1e99999999999999999999"), id("1e99999999999999999999"));
    }

    #[test]
    fn only_plain_hoist_numbers_are_own_numbers() {
        assert_eq!(id(r#""hoist-12""#).own_number(), Some(12));
        assert_eq!(RequestId::own(3), id(r#""hoist-3""#));
        for other in [r#""hoist-""#, r#""hoist-01""#, r#""hoist-1a""#, r#""hoist-+1""#, "1"] {
            assert_eq!(id(other).own_number(), None, "{other}");
        }
    }

    #[test]
    fn objects_arrays_and_booleans_are_no_ids() {
        for text in ["{}", "[]", "true", "false", ""] {
            assert!(RequestId::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
