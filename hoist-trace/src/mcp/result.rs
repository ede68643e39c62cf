//! The answers to tool calls.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{self, Members};
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
    /// Reads as much of an answer as can be read, and says what is wrong with it. Only what says that
    /// it is an error is one.
    pub(super) fn read(outcome: Outcome<'a>) -> (Self, Option<serde_json::Error>) {
        match outcome {
            Outcome::Error(error) => {
                let (result, fault) = error_result(error);
                (Self::Result(result), fault)
            }
            Outcome::Result(result) => match Self::read_result(result) {
                Ok(answer) => (answer, None),
                Err(fault) => (Self::read_leniently(result), Some(fault)),
            },
        }
    }

    fn read_leniently(result: &'a RawValue) -> Self {
        let Some(members) = Members::of(result.get()) else {
            return Self::Result(ToolResult::new("", lenient::text_or_json(result)));
        };
        let task = members.get("task").and_then(|task| Members::of(task.get()));
        let task = || task.and_then(|task| task.text("taskId"));
        match members.text("resultType").as_deref() {
            Some("input_required") => {
                return Self::InputRequired {
                    state: members.get("requestState").map(RawValue::get),
                    keys: members.get("inputRequests").map(keys).unwrap_or_default(),
                };
            }
            Some("task") => {
                if let Some(id) = members.text("taskId").or_else(task) {
                    return Self::Task(id.into());
                }
            }
            _ if members.get("content").is_none() => {
                if let Some(id) = task() {
                    return Self::Task(id.into());
                }
            }
            _ => {}
        }
        let mut found = ToolResult::new("", "");
        if let Some(content) = members.get("content") {
            (found.text, found.other_content) = content_leniently(content);
        }
        found.structured = members.get("structuredContent").map(Json::from_raw);
        found.is_error = members.get("isError").is_some_and(|is| is.get() == "true");
        Self::Result(found)
    }

    fn read_result(result: &'a RawValue) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Strict<'a> {
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

        let members: Strict<'_> = object(result.get())?;
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

/// The result that is a JSON-RPC error, and what is wrong with it.
pub(super) fn error_result(error: &RawValue) -> (ToolResult, Option<serde_json::Error>) {
    #[derive(Deserialize, Default)]
    struct Error {
        #[serde(default)]
        code: Option<i64>,
        #[serde(default)]
        message: Option<String>,
    }

    let (Error { code, message }, fault) = match object(error.get()) {
        Ok(members) => (members, None),
        Err(fault) => {
            let read = match Members::of(error.get()) {
                Some(members) => Error {
                    code: members.get("code").and_then(|code| code.get().parse().ok()),
                    message: members.get("message").map(lenient::text_or_json),
                },
                None => Error { code: None, message: Some(lenient::text_or_json(error)) },
            };
            (read, Some(fault))
        }
    };
    let mut found = ToolResult::new("", message.unwrap_or_default());
    found.is_error = true;
    found.error_code = code;
    (found, fault)
}

/// The keys of an object, in order; none of what is no object.
pub(super) fn keys(object: &RawValue) -> Vec<String> {
    let mut keys: Vec<String> =
        Members::of(object.get()).map(|found| found.into_names().collect()).unwrap_or_default();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The text of a `content` that is not as it should be, and the types of what else is in it.
fn content_leniently(content: &RawValue) -> (String, Vec<String>) {
    let items = match serde_json::from_str::<Vec<&RawValue>>(content.get()) {
        Ok(items) => items,
        // One item without the brackets around it.
        Err(_) if Members::of(content.get()).is_some() => vec![content],
        Err(_) => return (lenient::text_or_json(content), Vec::new()),
    };
    let (mut texts, mut other) = (Vec::new(), Vec::new());
    for item in items {
        let Some(item) = Members::of(item.get()) else {
            other.push("?".to_owned());
            continue;
        };
        let kind = item.text("type");
        let resource = item.get("resource").and_then(|resource| Members::of(resource.get()));
        let text = match kind.as_deref() {
            Some("text") => item.text("text"),
            Some("resource") => resource.and_then(|resource| resource.text("text")),
            _ => None,
        };
        match text {
            Some(text) => texts.push(text),
            None => other.push(kind.unwrap_or_else(|| "?".to_owned())),
        }
    }
    (texts.join("\n"), other)
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
    fn read_any(text: &str) -> (ToolResult, Option<String>) {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        match Answer::read(Outcome::Result(raw)) {
            (Answer::Result(result), fault) => (result, fault.map(|fault| fault.to_string())),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn read(text: &str) -> ToolResult {
        let (result, fault) = read_any(text);
        assert_eq!(fault, None, "{text}");
        result
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
    fn what_can_be_read_of_a_broken_result_is_kept() {
        for (text, expected, other, is_error) in [
            (r#"{"content":[{"type":"text","text":"a\ud800b"}]}"#, "a\u{fffd}b", &[][..], false),
            (
                r#"{"content":[{"type":"text","text":7},{"type":"text","text":"b"}],"isError":true}"#,
                "b",
                &["text"],
                true,
            ),
            (
                r#"{"content":[5,{"type":1,"x":2},{"type":"text","text":"b"}]}"#,
                "b",
                &["?", "?"],
                false,
            ),
            (
                r#"{"content":[{"type":"text","text":"a","text":"b"},{"type":"image","type":"audio"}]}"#,
                "b",
                &["audio"],
                false,
            ),
            (
                r#"{"content":[{"type":"resource","resource":7},{"type":"resource","resource":{"text":"\udfff"}}]}"#,
                "\u{fffd}",
                &["resource"],
                false,
            ),
            (r#"{"content":[],"content":[{"type":"text","text":"b"}]}"#, "b", &[], false),
            (r#"{"isError":true,"isError":false,"content":[]}"#, "", &[], false),
            (r#"{"isError":false,"isError":true,"content":[]}"#, "", &[], true),
            (r#"{"isError":"yes","content":[{"type":"text","text":"b"}]}"#, "b", &[], false),
            (r#"{"content":{"type":"text","text":"b"}}"#, "b", &[], false),
            (r#"{"content":"b"}"#, "b", &[], false),
            (r#"{"content":7}"#, "7", &[], false),
            (r#"{"\ud800":1,"content":[{"type":"text","text":"b"}]}"#, "b", &[], false),
            (r#"{"resultType":"task"}"#, "", &[], false),
            ("[1]", "[1]", &[], false),
            (r#""b""#, "b", &[], false),
            ("null", "null", &[], false),
        ] {
            let (result, fault) = read_any(text);
            assert!(fault.is_some(), "{text}");
            assert_eq!(result.text, expected, "{text}");
            assert_eq!(result.other_content, other, "{text}");
            assert_eq!(result.is_error, is_error, "{text}");
        }
        let (result, _) = read_any(r#"{"content":7,"structuredContent":{"n": 1.0}}"#);
        assert_eq!(result.structured.unwrap().get(), r#"{"n": 1.0}"#);
    }

    #[test]
    fn input_requests_and_tasks_are_no_results() {
        let check = |text: &str, expected: &str| {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            let (answer, fault) = Answer::read(Outcome::Result(raw));
            assert_eq!(format!("{answer:?}"), expected, "{text}");
            fault
        };
        for (text, expected) in [
            (
                r#"{"resultType":"input_required","requestState":"s\n","inputRequests":{"b":{},"a":1}}"#,
                r#"InputRequired { state: Some("\"s\\n\""), keys: ["a", "b"] }"#,
            ),
            (r#"{"resultType":"task","taskId":"t"}"#, r#"Task("t")"#),
            (r#"{"task":{"taskId":"t","status":"working"}}"#, r#"Task("t")"#),
        ] {
            assert!(check(text, expected).is_none(), "{text}");
            // The same, with something in it that cannot be read.
            let odd = text.replacen('{', r#"{"isError":7,"#, 1);
            assert!(check(&odd, expected).is_some(), "{odd}");
        }
    }

    #[test]
    fn a_json_rpc_error_is_a_result_too() {
        for (text, expected, code, is_right) in [
            (r#"{"code":-32602,"message":"no"}"#, "no", Some(-32602), true),
            (r#"{"message":"no"}"#, "no", None, true),
            (r#"{"code":"E1","message":"no"}"#, "no", None, false),
            (r#"{"code":1,"message":"\ud800!"}"#, "\u{fffd}!", Some(1), false),
            (r#"{"code":1,"message":{"a":1}}"#, r#"{"a":1}"#, Some(1), false),
            (r#"{"code":1,"code":2,"message":"no"}"#, "no", Some(2), false),
            ("5", "5", None, false),
            (r#""no""#, "no", None, false),
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            let (result, fault) = error_result(raw);
            assert_eq!((result.text.as_str(), result.error_code), (expected, code), "{text}");
            assert!(result.is_error);
            assert_eq!(fault.is_none(), is_right, "{text}");
        }
    }
}
