//! Messages of runs, in the forms of τ²-bench and of chat completions, which are nearly the same.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Json;

/// One message. Nearly every member may be null or missing.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(default, borrow)]
    pub(super) role: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    /// The older form of one call.
    #[serde(default, borrow)]
    pub(super) function_call: Option<Function<'a>>,
    /// Of a result: the call's id.
    #[serde(default)]
    pub(super) id: Option<Name>,
    #[serde(default)]
    pub(super) tool_call_id: Option<Name>,
    #[serde(default, borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) requestor: Option<Text<'a>>,
    #[serde(default)]
    pub(super) error: Option<bool>,
    #[serde(default, borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) cost: Option<f64>,
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
    /// Several results in one message.
    #[serde(default, borrow)]
    pub(super) tool_messages: Option<Vec<Self>>,
}

impl Message<'_> {
    pub(super) fn role(&self) -> &str {
        self.role.as_ref().map_or("", |role| &*role.0)
    }
}

/// A call, flat or with a function in it.
#[derive(Debug, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(default)]
    pub(super) id: Option<Name>,
    #[serde(default, borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) requestor: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(default, borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl<'a> Call<'a> {
    /// Its tool and its arguments, wherever they stand.
    pub(super) fn asks_for(&self) -> (&str, Option<&'a RawValue>) {
        let function = self.function.as_ref();
        let name = self.name.as_ref().or_else(|| function.and_then(|f| f.name.as_ref()));
        let arguments = self.arguments.or_else(|| function.and_then(|f| f.arguments));
        (name.map_or("", |name| &*name.0), arguments)
    }
}

/// What a model read and wrote for a message.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Tokens {
    #[serde(default)]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default)]
    pub(super) completion_tokens: Option<u64>,
}

/// Text that borrows where it can.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// A name that some write as a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl Visitor<'_> for Names {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a whole number")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Name, E> {
                Ok(Name(text.to_owned()))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
        }
        deserializer.deserialize_any(Names)
    }
}

/// What a message says: its text, and the types of what else it holds.
///
/// Content is text, or a list of parts; what is neither is taken as the JSON it is.
pub(super) fn content(raw: Option<&RawValue>) -> Result<(String, Vec<String>), serde_json::Error> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(default, borrow, rename = "type")]
        kind: Option<Text<'a>>,
        #[serde(default, borrow)]
        text: Option<Text<'a>>,
    }

    let Some(raw) = raw else { return Ok((String::new(), Vec::new())) };
    let json = raw.get();
    if json.starts_with('"') {
        return Ok((serde_json::from_str(json)?, Vec::new()));
    }
    let Ok(parts) = serde_json::from_str::<Vec<Part<'_>>>(json) else {
        return Ok((json.to_owned(), Vec::new()));
    };
    let mut texts = Vec::new();
    let mut other = Vec::new();
    for part in parts {
        match (part.text, part.kind) {
            (Some(text), _) => texts.push(text.0.into_owned()),
            (None, Some(kind)) => other.push(kind.0.into_owned()),
            (None, None) => other.push("unknown".to_owned()),
        }
    }
    Ok((texts.join("\n"), other))
}

/// The arguments of a call: an object, or the text of one. The second is whether they were text
/// that is no JSON, and are kept as that text.
pub(super) fn arguments(raw: Option<&RawValue>) -> Result<(Json, bool), serde_json::Error> {
    let Some(raw) = raw else { return Ok((Json::default(), false)) };
    if !raw.get().starts_with('"') {
        return Ok((Json::from_raw(raw), false));
    }
    let text: String = serde_json::from_str(raw.get())?;
    if text.trim().is_empty() {
        return Ok((Json::default(), false));
    }
    Ok(Json::parse(&text).map_or_else(|_| (Json::from_raw(raw), true), |json| (json, false)))
}

/// Whether a result is an error, where nothing but its text says so.
pub(super) fn reads_as_error(text: &str) -> bool {
    text.starts_with("Error")
}
