//! The answers to tool calls.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{Outcome, Text, object};
use crate::Json;
use crate::episode::ToolResult;

/// What an answer to a `tools/call` says.
#[derive(Debug)]
pub(super) enum Answer<'a> {
    /// The result itself, with no call named yet.
    Result(ToolResult),
    /// The server asks for something first; the call is made again with it.
    InputRequired {
        /// What links the next request to this one.
        state: Option<&'a str>,
        /// What is asked for, as the server named it.
        keys: Vec<String>,
    },
    /// The server works on it as a task of this id.
    Task(Cow<'a, str>),
}

impl<'a> Answer<'a> {
    /// Reads an answer; an error says what is wrong with it.
    pub(super) fn read(outcome: Outcome<'a>) -> Result<Self, serde_json::Error> {
        match outcome {
            Outcome::Error(error) => error_result(error).map(Self::Result),
            Outcome::Result(result) => Self::read_result(result),
        }
    }

    fn read_result(result: &'a RawValue) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(default, borrow)]
            content: Option<Content<'a>>,
            #[serde(default, borrow, rename = "structuredContent")]
            structured: Option<&'a RawValue>,
            #[serde(default, rename = "isError")]
            is_error: Option<bool>,
            #[serde(default, borrow, rename = "resultType")]
            result_type: Option<Text<'a>>,
            #[serde(default, borrow, rename = "requestState")]
            request_state: Option<&'a RawValue>,
            #[serde(default, borrow, rename = "inputRequests")]
            input_requests: Option<&'a RawValue>,
            #[serde(default, borrow, rename = "taskId")]
            task_id: Option<Text<'a>>,
            #[serde(default, borrow)]
            task: Option<Task<'a>>,
        }
        #[derive(Deserialize)]
        struct Task<'a> {
            #[serde(default, borrow, rename = "taskId")]
            task_id: Option<Text<'a>>,
        }

        let members: Members<'_> = object(result.get())?;
        match members.result_type.as_ref().map(|text| &*text.0) {
            Some("input_required") => {
                return Ok(Self::InputRequired {
                    state: members.request_state.map(RawValue::get),
                    keys: members.input_requests.map(keys).unwrap_or_default(),
                });
            }
            Some("task") => {
                let id = members.task_id.or_else(|| members.task.and_then(|task| task.task_id));
                return id
                    .map(|id| Self::Task(id.0))
                    .ok_or_else(|| serde::de::Error::custom("a task without a taskId"));
            }
            _ => {}
        }
        // 2025-11-25 has no resultType: a task is told by what stands in the result's place.
        if members.content.is_none()
            && let Some(Task { task_id: Some(id) }) = members.task
        {
            return Ok(Self::Task(id.0));
        }
        let mut found = ToolResult::new("", "");
        if let Some(Content { text, other }) = members.content {
            found.text = text.into_owned();
            found.other_content = other;
        }
        found.structured = members.structured.map(Json::from_raw);
        found.is_error = members.is_error.unwrap_or(false);
        Ok(Self::Result(found))
    }
}

/// The result that is a JSON-RPC error.
pub(super) fn error_result(error: &RawValue) -> Result<ToolResult, serde_json::Error> {
    #[derive(Deserialize)]
    struct Members {
        #[serde(default)]
        code: Option<i64>,
        #[serde(default)]
        message: Option<String>,
    }

    let Members { code, message } = object(error.get())?;
    let mut found = ToolResult::new("", message.unwrap_or_default());
    found.is_error = true;
    found.error_code = code;
    Ok(found)
}

/// The keys of an object; none of what is no object.
pub(super) fn keys(object: &RawValue) -> Vec<String> {
    serde_json::from_str::<BTreeMap<String, &RawValue>>(object.get())
        .map(|map| map.into_keys().collect())
        .unwrap_or_default()
}

/// `content`: its texts joined by line feeds, and the types of the rest.
#[derive(Debug)]
struct Content<'a> {
    text: Cow<'a, str>,
    other: Vec<String>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> serde::de::Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of content items")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct Item<'a> {
            #[serde(default, borrow, rename = "type")]
            kind: Option<Text<'a>>,
            #[serde(default, borrow)]
            text: Option<Text<'a>>,
            #[serde(default, borrow)]
            resource: Option<Resource<'a>>,
        }
        #[derive(Deserialize)]
        struct Resource<'a> {
            #[serde(default, borrow)]
            text: Option<Text<'a>>,
        }

        let mut text: Option<Cow<'de, str>> = None;
        let mut other = Vec::new();
        while let Some(item) = seq.next_element::<Item<'de>>()? {
            let found = match (item.kind.as_ref().map(|kind| &*kind.0), item.text, item.resource) {
                (Some("text"), Some(found), _)
                | (Some("resource"), _, Some(Resource { text: Some(found) })) => found.0,
                (kind, _, _) => {
                    other.push(kind.unwrap_or("?").to_owned());
                    continue;
                }
            };
            match &mut text {
                None => text = Some(found),
                Some(text) => {
                    let text = text.to_mut();
                    text.push('\n');
                    text.push_str(&found);
                }
            }
        }
        Ok(Content { text: text.unwrap_or_default(), other })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str) -> ToolResult {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        match Answer::read(Outcome::Result(raw)).unwrap() {
            Answer::Result(result) => result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_are_joined_and_the_rest_is_named() {
        let result = read(
            r#"{"content":[{"type":"text","text":"a\n\u00e9"},{"type":"image","data":"x","mimeType":"y"},
               {"type":"resource","resource":{"uri":"u","text":"b"}},{"text":"no type"},
               {"type":"resource","resource":{"uri":"u","blob":"b"}},{"text":"c","type":"text"}],
               "structuredContent":{"n": 1.0},"isError":true,"new":[]}"#,
        );
        assert_eq!(result.text, "a\né\nb\nc");
        assert_eq!(result.other_content, ["image", "?", "resource"]);
        assert_eq!(result.structured.unwrap().get(), r#"{"n": 1.0}"#);
        assert!(result.is_error);
        assert_eq!(read("{}"), ToolResult::new("", ""));
        assert_eq!(read(r#"{"content":[],"resultType":"complete","isError":false}"#).text, "");
    }

    #[test]
    fn input_requests_and_tasks_are_no_results() {
        let check = |text: &str| {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            format!("{:?}", Answer::read(Outcome::Result(raw)))
        };
        assert_eq!(
            check(
                r#"{"resultType":"input_required","requestState":"s\n","inputRequests":{"b":{},"a":1}}"#
            ),
            r#"Ok(InputRequired { state: Some("\"s\\n\""), keys: ["a", "b"] })"#
        );
        assert_eq!(check(r#"{"resultType":"task","taskId":"t"}"#), r#"Ok(Task("t"))"#);
        assert_eq!(check(r#"{"task":{"taskId":"t","status":"working"}}"#), r#"Ok(Task("t"))"#);
        assert!(check(r#"{"resultType":"task"}"#).contains("a task without a taskId"));
        assert!(check("[]").contains("it is not a JSON object"));
        assert!(check(r#"{"content":"x"}"#).contains("expected an array of content items"));
        assert!(check(r#"{"isError":true,"isError":false}"#).contains("duplicate field"));
    }

    #[test]
    fn a_json_rpc_error_is_a_result_too() {
        let raw: &RawValue = serde_json::from_str(r#"{"code":-32602,"message":"no"}"#).unwrap();
        let result = error_result(raw).unwrap();
        assert_eq!((result.text.as_str(), result.error_code), ("no", Some(-32602)));
        assert!(result.is_error);
    }
}
