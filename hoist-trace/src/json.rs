//! A JSON value kept as it was written.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value, kept as the text it was written in.
///
/// Numbers (`1.0`, `12345678901234567890`), escapes, key order and repeated keys are what the sender
/// wrote; [`to`](Self::to) reads them into a type. Two are equal when their texts are.
///
/// # Examples
///
/// ```
/// use hoist_trace::Json;
///
/// let arguments = Json::parse(r#"{"amount": 1.0}"#)?;
/// assert_eq!(arguments.get(), r#"{"amount": 1.0}"#);
/// assert_eq!(arguments.to::<serde_json::Value>()?["amount"], 1.0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// A value from its text; white space around it goes.
    ///
    /// # Errors
    ///
    /// When the text is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<&RawValue>(text).map(Self::from_raw)
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        let text = raw.get();
        // A line feed in JSON can only be white space, and would break a format of lines.
        let text = if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            Cow::Owned(text.replace(['\n', '\r'], " "))
        } else {
            Cow::Borrowed(text)
        };
        let raw = RawValue::from_string(text.into_owned());
        Self(raw.expect("white space put for white space leaves JSON what it was"))
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the value into a type.
    ///
    /// # Errors
    ///
    /// When the value does not fit the type; for [`serde_json::Value`], when it nests deeper than
    /// 128 levels or has a lone surrogate.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }
}

/// The empty object, `{}`.
impl Default for Json {
    fn default() -> Self {
        Self::parse("{}").expect("it is JSON")
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not `&RawValue`: a reader of a file lends nothing.
        Box::<RawValue>::deserialize(deserializer).map(|raw| {
            if memchr::memchr2(b'\n', b'\r', raw.get().as_bytes()).is_some() {
                Self::from_raw(&raw)
            } else {
                Self(raw)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_stays_and_line_feeds_become_spaces() {
        let json = Json::parse(" {\"a\":\r\n[1.0,\n1e400]} ").unwrap();
        assert_eq!(json.get(), "{\"a\":  [1.0, 1e400]}");
        let read: Json = serde_json::from_str("[\n\"\\n\"]").unwrap();
        assert_eq!(read.get(), "[ \"\\n\"]");
        assert_eq!(serde_json::to_string(&vec![json]).unwrap(), "[{\"a\":  [1.0, 1e400]}]");
        assert!(Json::parse("{} {}").is_err());
        assert_eq!(Json::default().get(), "{}");
    }
}
