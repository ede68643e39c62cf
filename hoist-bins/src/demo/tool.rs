//! What a tool is and what a call of one gives.

use std::time::Duration;

/// A tool as it is listed.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) effect: ToolEffect,
    /// JSON text, on one line.
    pub(super) input_schema: &'static str,
    /// JSON text, on one line; results then have structured content.
    pub(super) output_schema: Option<&'static str>,
}

/// What a tool may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// Nothing.
    Read,
    /// Something, and doing it twice is like doing it once.
    IdempotentWrite,
    /// Something that cannot be undone.
    DestructiveWrite,
}

/// What a call gives, and how long the client waits for it.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) after: Duration,
    pub(super) answer: Answer,
}

/// What a call gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Text for the model.
    Text(String),
    /// The JSON text of an object that fits the tool's output schema.
    Object(String),
    /// The tool failed; why, for the model.
    Failed(String),
    /// The arguments do not fit the tool's input schema; how.
    BadArguments(String),
}

impl From<Answer> for Called {
    fn from(answer: Answer) -> Self {
        Self { after: Duration::ZERO, answer }
    }
}
