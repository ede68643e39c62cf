//! `tools/list` and `tools/call`, which both eras have.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{object, present, string};
use super::results;
use super::revision::Revision;
use super::server::Server;
use super::tool::{Answer, Called};
use super::wire::{INVALID_PARAMS, Outcome, RpcError};

/// What a request leads to.
#[derive(Debug)]
pub(super) enum Reply {
    /// An answer, due after a while (or at once, if that is zero).
    Answer { after: Duration, outcome: Outcome },
    /// A stream of notifications that stays open.
    Listen,
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self::Answer { after: Duration::ZERO, outcome }
    }
}

/// Answers `tools/list`: there is one page, so there is no cursor a client could have got from
/// here.
pub(super) fn list(server: &Server, params: Option<&RawValue>, revision: Revision) -> Outcome {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        cursor: Option<&'a RawValue>,
    }
    let cursor = match params {
        None => None,
        Some(params) => {
            object::<Params<'_>>(params).ok_or_else(|| bad("params must be an object"))?.cursor
        }
    };
    match cursor {
        None => Ok(results::list_tools(server.world().tools(), revision)),
        Some(cursor) => Err(bad(match string(cursor) {
            Some(_) => "unknown cursor; the tools are one page, list them without a cursor",
            None => "cursor must be a string",
        })),
    }
}

/// Answers `tools/call`.
pub(super) fn call(server: &Server, params: Option<&RawValue>, revision: Revision) -> Reply {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let read = || {
        let params = params.and_then(object::<Params<'_>>);
        let Params { name, arguments } = params
            .ok_or_else(|| bad("params must be an object with the tool's name, given once"))?;
        let name = name.and_then(string).ok_or_else(|| bad("name must be a string"))?;
        let tool = server.world().tools().iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| bad(format!("unknown tool: {name}")))?;
        let arguments = arguments.map_or(r"{}", RawValue::get);
        let arguments: &RawValue =
            serde_json::from_str(arguments).expect("a part of JSON text is JSON text");
        if !arguments.get().starts_with('{') {
            return Err(bad("arguments must be an object"));
        }
        Ok(server.call(tool.name, arguments))
    };
    match read() {
        Err(error) => Err(error).into(),
        Ok(Called { after, answer }) => Reply::Answer { after, outcome: outcome(answer, revision) },
    }
}

fn outcome(answer: Answer, revision: Revision) -> Outcome {
    let result =
        |text: &str, structured, is_error| results::call_tool(text, structured, is_error, revision);
    match answer {
        Answer::Text(text) => Ok(result(&text, None, false)),
        Answer::Object(object) => Ok(result(&object, Some(&object), false)),
        Answer::Failed(text) => Ok(result(&text, None, true)),
        Answer::BadArguments(text) if revision.tells_the_model_of_bad_arguments() => {
            Ok(result(&text, None, true))
        }
        Answer::BadArguments(text) => Err(bad(text)),
    }
}

fn bad(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(INVALID_PARAMS, message.into())
}
