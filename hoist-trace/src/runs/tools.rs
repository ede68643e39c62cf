//! Tools as chat completions define them.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::Text;
use crate::Json;
use crate::episode::Tool;

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(default, borrow)]
    description: Option<Text<'a>>,
    #[serde(default, borrow)]
    parameters: Option<&'a RawValue>,
}

/// The tools of a list of definitions; what is no definition is left out.
pub(super) fn tools(definitions: Option<&RawValue>) -> Vec<Tool> {
    let raw = definitions.map_or("[]", RawValue::get);
    let list: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    list.into_iter().filter_map(tool).collect()
}

fn tool(definition: &RawValue) -> Option<Tool> {
    #[derive(Deserialize)]
    struct Definition<'a> {
        #[serde(borrow)]
        function: Function<'a>,
    }
    let json = definition.get();
    let function = serde_json::from_str::<Definition<'_>>(json)
        .map(|definition| definition.function)
        // Some write the function alone.
        .or_else(|_| serde_json::from_str::<Function<'_>>(json))
        .ok()?;
    let mut tool = Tool::new("", function.name.0);
    tool.description = function.description.map(|text| text.0.into_owned());
    tool.input_schema = function.parameters.map(Json::from_raw);
    Some(tool)
}
