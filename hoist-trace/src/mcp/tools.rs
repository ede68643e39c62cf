//! The tools that a server lists.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::Members;
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
    /// no more stays: the agent was offered it, and may have called it. Of what cannot be read, an
    /// error says what is wrong; all else is taken.
    pub(super) fn page(&mut self, result: &RawValue) -> Result<(), serde_json::Error> {
        #[derive(Deserialize)]
        struct Page<'a> {
            #[serde(default, borrow)]
            tools: Vec<&'a RawValue>,
        }

        let (tools, mut fault) = match object::<Page<'_>>(result.get()) {
            Ok(page) => (page.tools, None),
            Err(error) => {
                let tools = Members::of(result.get()).and_then(|members| members.get("tools"));
                let tools = tools.and_then(|tools| serde_json::from_str(tools.get()).ok());
                (tools.unwrap_or_default(), Some(error))
            }
        };
        for tool in tools {
            let listed = match object(tool.get()) {
                Ok(listed) => Some(listed),
                Err(error) => {
                    fault.get_or_insert(error);
                    Listed::leniently(tool)
                }
            };
            if let Some(listed) = listed {
                self.add(listed);
            }
        }
        fault.map_or(Ok(()), Err)
    }

    fn add(&mut self, listed: Listed) {
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
}

/// A tool as it is listed.
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

impl Listed {
    /// What can be read of a tool that breaks a rule; `None` where it has no name.
    fn leniently(tool: &RawValue) -> Option<Self> {
        let members = Members::of(tool.get())?;
        let annotations = members.get("annotations").and_then(|found| Members::of(found.get()));
        let hint = annotations.and_then(|found| found.get("readOnlyHint"));
        let read_only_hint = hint.and_then(|hint| serde_json::from_str(hint.get()).ok());
        Some(Self {
            name: members.text("name")?,
            description: members.text("description"),
            input_schema: members.get("inputSchema").map(Json::from_raw),
            output_schema: members.get("outputSchema").map(Json::from_raw),
            annotations: Some(Annotations { read_only_hint }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_breaks_a_rule_costs_no_other() {
        let raw: &RawValue = serde_json::from_str(
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},
               {"name":"b","description":"\ud800!","annotations":{"readOnlyHint":true}},
               {"name":"c","name":"d","annotations":{"readOnlyHint":"no"},"inputSchema":{"n": 1.0}},
               {"description":"no name"},7,{"name":"e","description":7},{"name":"\udfff"}]}"#,
        )
        .unwrap();
        let mut list = ToolList::default();
        assert!(list.page(raw).is_err());
        let found: Vec<_> =
            list.tools.iter().map(|tool| (&*tool.name, tool.description.as_deref())).collect();
        assert_eq!(
            found,
            [("a", None), ("b", Some("\u{fffd}!")), ("d", None), ("e", None), ("\u{fffd}", None)]
        );
        assert_eq!(list.tools[1].kind, ToolKind::Read);
        assert_eq!(list.tools[2].kind, ToolKind::Generic);
        assert_eq!(list.tools[2].input_schema.as_ref().unwrap().get(), r#"{"n": 1.0}"#);
        for broken in [r#"{"tools":7}"#, "[]", r#"{"tools":[],"tools":[{"name":"z"}]}"#] {
            let raw: &RawValue = serde_json::from_str(broken).unwrap();
            assert!(list.page(raw).is_err(), "{broken}");
        }
        assert_eq!(list.tools.last().unwrap().name, "z");
    }
}
