//! The tools of a session.

use serde::{Deserialize, Serialize};

use crate::Json;

/// The tools that a session's server listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// What they are about.
    pub domain: String,
    /// The tools, in the order in which they were listed.
    pub tools: Vec<Tool>,
}

impl Manifest {
    /// Tools of a domain.
    pub fn new(domain: impl Into<String>, tools: Vec<Tool>) -> Self {
        Self { domain: domain.into(), tools }
    }

    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// A tool as its server listed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tool {
    /// The server that has it, by its name in the episode.
    pub server: String,
    /// Its name.
    pub name: String,
    /// Whether it reads or writes, by the server's word.
    pub kind: ToolKind,
    /// What it is for, in the server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Json>,
    /// The JSON Schema of its structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Json>,
}

impl Tool {
    /// A tool of a server's, of which nothing else is known.
    pub fn new(server: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            name: name.into(),
            kind: ToolKind::Generic,
            description: None,
            input_schema: None,
            output_schema: None,
        }
    }
}

/// Whether a tool reads or writes.
///
/// It comes from the annotation `readOnlyHint`, which is the server's claim and no guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolKind {
    /// `readOnlyHint` is true.
    Read,
    /// `readOnlyHint` is false.
    Write,
    /// There is no hint: unknown.
    #[default]
    Generic,
}
