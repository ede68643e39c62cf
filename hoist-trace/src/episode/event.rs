//! What happens in a session.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Json;

/// One thing that happened in a session; as JSON, `role` says which.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// The user said something.
    User(UserMessage),
    /// The model did: one turn of it.
    Assistant(AssistantTurn),
    /// A call was answered.
    Tool(ToolResult),
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserMessage {
    /// Its place among all that the source holds: in a log, the line.
    pub seq: u64,
    /// When it was read.
    #[serde(default)]
    pub t_ms: u64,
    /// The text.
    pub text: String,
}

impl UserMessage {
    /// What was said, where and when.
    pub fn new(seq: u64, t_ms: u64, text: impl Into<String>) -> Self {
        Self { seq, t_ms, text: text.into() }
    }
}

/// One turn of the model: what it said, and the calls it asked for at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AssistantTurn {
    /// The turn's number in the episode, from 0.
    pub turn: u32,
    /// The place of its first call, or of its text.
    pub seq: u64,
    /// When that was.
    #[serde(default)]
    pub t_ms: u64,
    /// What the model said, where the source holds it.
    #[serde(default)]
    pub text: Option<String>,
    /// The calls, in the order in which they were made.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
}

impl AssistantTurn {
    /// A turn with neither text nor calls yet.
    pub fn new(turn: u32, seq: u64, t_ms: u64) -> Self {
        Self { turn, seq, t_ms, text: None, calls: Vec::new() }
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// What its result names it by; unique in the episode. In a log it is the request's id, with
    /// `#2`, `#3`, … behind one that was used before.
    pub id: String,
    /// The turn it belongs to.
    pub turn: u32,
    /// Its place among all that the source holds: in a log, the line of its first request.
    pub seq: u64,
    /// When it was made.
    #[serde(default)]
    pub t_ms: u64,
    /// The server that has the tool, by its name in the episode.
    pub server: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as they were written; `{}` where the request has none.
    #[serde(default)]
    pub arguments: Json,
    /// Who made it.
    #[serde(default)]
    pub made_by: MadeBy,
    /// Whether it was cancelled before it was answered. A result may have come all the same, which
    /// the agent did not see.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancelled: bool,
}

impl ToolCall {
    /// A call of the agent's, in turn 0 and at the start until that is known.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Json) -> Self {
        Self {
            id: id.into(),
            turn: 0,
            seq: 0,
            t_ms: 0,
            server: String::new(),
            name: name.into(),
            arguments,
            made_by: MadeBy::Agent,
            cancelled: false,
        }
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call's [`id`](ToolCall::id).
    pub call: String,
    /// Its place among all that the source holds: in a log, the line.
    pub seq: u64,
    /// When it came.
    #[serde(default)]
    pub t_ms: u64,
    /// Its text: text items joined by line feeds, or the message of a JSON-RPC error.
    pub text: String,
    /// `structuredContent`, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
    /// The types of what its content holds besides text, such as `image`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_content: Vec<String>,
    /// Whether it is an error: `isError`, or a JSON-RPC error.
    #[serde(default)]
    pub is_error: bool,
    /// The code, for a JSON-RPC error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<i64>,
}

impl ToolResult {
    /// A result that is this text, at the start until its place is known.
    pub fn new(call: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            call: call.into(),
            seq: 0,
            t_ms: 0,
            text: text.into(),
            structured: None,
            other_content: Vec::new(),
            is_error: false,
            error_code: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MadeBy {
    /// The agent.
    #[default]
    Agent,
    /// A flow, which looked something up unasked.
    Flow,
    /// The commit tool, for the agent.
    Commit,
    /// A procedure: a program that makes calls with no model.
    Procedure,
    /// Another layer of the proxy, by its name; `proxy` for the engine itself.
    Layer(String),
}

impl MadeBy {
    /// The name it has in an episode.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Agent => "agent",
            Self::Flow => "flow",
            Self::Commit => "commit",
            Self::Procedure => "procedure",
            Self::Layer(name) => name,
        }
    }

    /// Whether the host asked for it: a flow's, or another layer's, is made by the proxy.
    pub fn is_hosts(&self) -> bool {
        matches!(self, Self::Agent | Self::Procedure)
    }
}

impl From<String> for MadeBy {
    fn from(name: String) -> Self {
        [Self::Agent, Self::Flow, Self::Commit, Self::Procedure]
            .into_iter()
            .find(|known| known.as_str() == name)
            .unwrap_or(Self::Layer(name))
    }
}

impl fmt::Display for MadeBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for MadeBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for MadeBy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

// Derived, this would take the event apart to find its tag first, and raw JSON does not survive
// that.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Role {
            User,
            Assistant,
            Tool,
        }
        #[derive(Deserialize)]
        struct Tag {
            role: Role,
        }

        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let tag = serde_json::from_str::<Tag>(raw.get());
        tag.and_then(|tag| match tag.role {
            Role::User => serde_json::from_str(raw.get()).map(Self::User),
            Role::Assistant => serde_json::from_str(raw.get()).map(Self::Assistant),
            Role::Tool => serde_json::from_str(raw.get()).map(Self::Tool),
        })
        .map_err(serde::de::Error::custom)
    }
}
