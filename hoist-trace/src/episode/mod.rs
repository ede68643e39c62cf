//! The one form that recorded sessions take, whatever recorded them.

mod event;
mod tool;

use serde::{Deserialize, Serialize};

pub use event::{AssistantTurn, Event, MadeBy, ToolCall, ToolResult, UserMessage};
pub use tool::{Manifest, Tool, ToolKind};

/// The version of the episode format that is written and read here.
pub const FORMAT: u64 = 1;

/// One session of an agent with the tools of one or several servers.
///
/// Times are in milliseconds after [`started_unix_ms`](Self::started_unix_ms). `docs/formats.md` has
/// the JSON Schema of what this serializes to; a reader ignores members it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Episode {
    /// The format's version, 1.
    pub hoist_episode: u64,
    /// What names the session: a log's `session`.
    pub id: String,
    /// What it was read from.
    pub source: Source,
    /// What the tools are about, as the user named it; empty where nobody did.
    pub domain: String,
    /// The task, for a session that is a run of a benchmark's.
    #[serde(default)]
    pub task_id: Option<String>,
    /// What drives the agent: the model, where somebody named it, else the host's program; empty
    /// where neither is known.
    pub agent: String,
    /// The host's program, as it names itself.
    #[serde(default)]
    pub host: Option<Implementation>,
    /// The servers, in the order in which the session met them.
    #[serde(default)]
    pub servers: Vec<Server>,
    /// When the session started, in milliseconds since 1970-01-01T00:00:00Z.
    #[serde(default)]
    pub started_unix_ms: Option<u64>,
    /// From the start to the last thing recorded.
    #[serde(default)]
    pub duration_ms: u64,
    /// How well the task was done, from 0 to 1; 0 until somebody who knows sets it.
    #[serde(default)]
    pub reward: f64,
    /// What the model used, where the source says it.
    #[serde(default)]
    pub usage: Usage,
    /// The tools the agent was offered.
    #[serde(default)]
    pub tools: Vec<Tool>,
    /// What happened, in order: a turn stands where its first call was made.
    #[serde(default)]
    pub events: Vec<Event>,
}

impl Episode {
    /// An episode in which nothing has happened yet.
    pub fn new(id: impl Into<String>, source: Source) -> Self {
        Self {
            hoist_episode: FORMAT,
            id: id.into(),
            source,
            domain: String::new(),
            task_id: None,
            agent: String::new(),
            host: None,
            servers: Vec::new(),
            started_unix_ms: None,
            duration_ms: 0,
            reward: 0.0,
            usage: Usage::default(),
            tools: Vec::new(),
            events: Vec::new(),
        }
    }

    /// The assistant's turns, those without calls too.
    pub fn turns(&self) -> impl Iterator<Item = &AssistantTurn> {
        self.events.iter().filter_map(|event| match event {
            Event::Assistant(turn) => Some(turn),
            _ => None,
        })
    }

    /// Every call, turn by turn, in the order in which each turn's were made.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.turns().flat_map(|turn| &turn.calls)
    }

    /// The result of a call; `None` for one that was not answered. It looks through the events:
    /// whoever asks for every call does better to go through [`results`](Self::results) once.
    ///
    /// # Examples
    ///
    /// ```
    /// use hoist_trace::Episode;
    ///
    /// fn failed(episode: &Episode) -> Vec<&str> {
    ///     let failed = episode.calls().filter(|call| {
    ///         episode.result_of(call).is_some_and(|result| result.is_error)
    ///     });
    ///     failed.map(|call| call.name.as_str()).collect()
    /// }
    /// ```
    pub fn result_of(&self, call: &ToolCall) -> Option<&ToolResult> {
        self.results().find(|result| result.call == call.id)
    }

    /// Every result, in the order in which they came.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.events.iter().filter_map(|event| match event {
            Event::Tool(result) => Some(result),
            _ => None,
        })
    }
}

/// What an episode was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Source {
    /// Session logs of `hoist-mcp`: one, or those of one host session.
    HoistMcp,
    /// A run in a results file of τ²-bench, trimmed ones and folders included.
    Tau2,
    /// A run of τ²-bench that was exported alone, with its task.
    Tau2Task,
    /// A run in a file of the original τ-bench.
    TauBench,
    /// A trajectory in the Agent Trajectory Interchange Format.
    Atif,
}

impl Source {
    /// The name it has in an episode.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HoistMcp => "hoist-mcp",
            Self::Tau2 => "tau2",
            Self::Tau2Task => "tau2-task",
            Self::TauBench => "tau-bench",
            Self::Atif => "atif",
        }
    }
}

/// A program that speaks MCP, as it names itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version; empty where it says none.
    #[serde(default)]
    pub version: String,
}

/// A server of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Server {
    /// What calls and tools name it by: the user's name for it, else the domain, else the name it
    /// gives itself; empty where there is none of these.
    pub name: String,
    /// The program, as it names itself.
    #[serde(default)]
    pub implementation: Option<Implementation>,
    /// The revision of the protocol that it spoke with the host, such as `2025-11-25`.
    #[serde(default)]
    pub protocol_version: Option<String>,
}

/// What a model used in a session, where the source says it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What it cost, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
