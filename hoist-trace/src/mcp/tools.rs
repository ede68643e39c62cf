//! The tools that a server lists.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::object;
use crate::Json;
use crate::episode::{Tool, ToolKind};

/// The tools listed so far.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<Tool>,
    places: HashMap<String, usize>,
}

impl ToolList {
    /// Takes one page of a list. A tool that was listed before is what it is now; one that is listed
    /// no more stays: the agent was offered it, and may have called it.
    pub(super) fn page(&mut self, result: &RawValue) -> Result<(), serde_json::Error> {
        #[derive(Deserialize)]
        struct Page {
            #[serde(default)]
            tools: Vec<Listed>,
        }
        #[derive(Deserialize)]
        struct Listed {
            name: String,
            #[serde(default)]
            description: Option<String>,
            #[serde(default, rename = "inputSchema")]
            input_schema: Option<Json>,
            #[serde(default, rename = "outputSchema")]
            output_schema: Option<Json>,
            #[serde(default)]
            annotations: Option<Annotations>,
        }
        #[derive(Deserialize)]
        struct Annotations {
            #[serde(default, rename = "readOnlyHint")]
            read_only_hint: Option<bool>,
        }

        let page: Page = object(result.get())?;
        for listed in page.tools {
            let kind = match listed.annotations.and_then(|annotations| annotations.read_only_hint) {
                Some(true) => ToolKind::Read,
                Some(false) => ToolKind::Write,
                None => ToolKind::Generic,
            };
            let mut tool = Tool::new("", listed.name);
            tool.kind = kind;
            tool.description = listed.description;
            tool.input_schema = listed.input_schema;
            tool.output_schema = listed.output_schema;
            match self.places.entry(tool.name.clone()) {
                Entry::Occupied(place) => self.tools[*place.get()] = tool,
                Entry::Vacant(place) => {
                    place.insert(self.tools.len());
                    self.tools.push(tool);
                }
            }
        }
        Ok(())
    }
}
