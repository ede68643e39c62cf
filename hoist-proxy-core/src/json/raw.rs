use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// One JSON value as text: valid UTF-8, valid JSON, on one line, in the bytes it was written in.
///
/// Cloning is cheap, and a `RawJson` cut out of a message shares the message's bytes.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::RawJson;
///
/// let raw = RawJson::parse(r#"{"n": 1.0, "n2": 12345678901234567890}"#)?;
/// assert_eq!(raw.get("n2").unwrap().as_str(), "12345678901234567890");
/// # Ok::<(), hoist_proxy_core::InvalidJson>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

/// A text that is not one JSON value.
#[derive(Debug, thiserror::Error)]
#[error("not one JSON value")]
pub struct InvalidJson(#[source] serde_json::Error);

impl RawJson {
    /// Checks a text. White space around the value is dropped; a line break inside it, which in
    /// JSON can only be white space, becomes a space.
    ///
    /// # Errors
    ///
    /// [`InvalidJson`] when the text is not exactly one JSON value.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, InvalidJson> {
        let text = text.into();
        let value: &RawValue = serde_json::from_slice(&text).map_err(InvalidJson)?;
        let value = text.slice_ref(value.get().as_bytes());
        Ok(Self(one_line(value)))
    }

    /// The JSON text of a value.
    ///
    /// # Errors
    ///
    /// [`InvalidJson`] when the value cannot be written as JSON, a map with keys that are no
    /// strings, say.
    pub fn from_value(value: &impl Serialize) -> Result<Self, InvalidJson> {
        Ok(Self(serde_json::to_vec(value).map_err(InvalidJson)?.into()))
    }

    /// The JSON string of a text.
    pub fn string(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string().into())
    }

    /// A slice of a text that was checked before and lies on one line.
    pub(crate) fn checked(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The text.
    ///
    /// # Panics
    ///
    /// Never: the text was checked to be UTF-8 when it was made.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked when it was made")
    }

    /// The text's bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// Reads the text into a type.
    ///
    /// # Errors
    ///
    /// [`InvalidJson`] when the value does not have that type's shape, or has something that
    /// serde's values cannot hold (`1e400`, a lone surrogate, more than 128 levels).
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, InvalidJson> {
        serde_json::from_slice(&self.0).map_err(InvalidJson)
    }

    /// The member `key` of an object (the last one, where a key stands twice); `None` for any
    /// other value and where there is none.
    pub fn get(&self, key: &str) -> Option<Self> {
        let found = super::members(&self.0).filter(|m| m.key_is(key)).last()?;
        Some(Self(self.0.slice(found.value)))
    }

    /// The items of an array; none for any other value.
    pub fn items(&self) -> impl Iterator<Item = Self> + '_ {
        super::elements(&self.0).map(|span| Self(self.0.slice(span)))
    }

    /// The decoded text of a string; `None` for any other value, and for a string that is no
    /// Unicode text.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        serde_json::from_slice(&self.0).ok()
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether the value is an array.
    pub fn is_array(&self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        &self.0[..] == b"null"
    }
}

/// A line break in a JSON text is white space; on a wire of lines it must be another kind.
fn one_line(text: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &text).is_none() {
        return text;
    }
    let mut text = text.to_vec();
    for byte in &mut text {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    text.into()
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({})", self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_as_it_was_written() {
        for text in ["1.0", "1e400", r#""\ud83d""#, r#"{"a": [1,  2]}"#, "null"] {
            assert_eq!(RawJson::parse(text).unwrap().as_str(), text);
        }
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(RawJson::parse(deep.clone()).unwrap().as_str(), deep);
    }

    #[test]
    fn white_space_outside_goes_and_line_breaks_inside_become_spaces() {
        let raw = RawJson::parse(" \n{\r\n\"a\":\n1}\n").unwrap();
        assert_eq!(raw.as_str(), "{  \"a\": 1}");
    }

    #[test]
    fn what_is_not_one_value_is_refused() {
        for text in ["", "1 2", "{", "nul", "{'a':1}", "[1,]", "\u{feff}1"] {
            assert!(RawJson::parse(text).is_err(), "{text:?}");
        }
        assert!(RawJson::parse(&b"\"\xff\""[..]).is_err());
    }

    #[test]
    fn members_and_items_are_found_by_decoded_key() {
        let raw = RawJson::parse(r#"{"a":1,"\u0062":[2, "x"],"a":3}"#).unwrap();
        assert_eq!(raw.get("b").unwrap().as_str(), r#"[2, "x"]"#);
        assert_eq!(raw.get("a").unwrap().as_str(), "3");
        assert!(raw.get("c").is_none());
        let items: Vec<_> = raw.get("b").unwrap().items().map(|i| i.to_string()).collect();
        assert_eq!(items, ["2", r#""x""#]);
    }
}
