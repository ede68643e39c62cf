//! Arguments that a tool's schema wants repeated in a header: the annotation `x-mcp-header`.

use std::collections::{HashMap, HashSet};

use hoist_proxy_core::{Message, RawJson, names};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::request_headers::encoded;

/// What the tools that were listed want in headers.
#[derive(Debug, Default)]
pub(crate) struct ParamHeaders {
    tools: HashMap<String, Vec<Param>>,
    /// Tools whose schemas mark arguments against the rules. A client of this transport must not
    /// call them.
    broken: HashSet<String>,
}

/// One argument to repeat.
#[derive(Debug, PartialEq)]
struct Param {
    /// The keys that lead to it in `arguments`.
    path: Vec<String>,
    header: HeaderName,
}

impl ParamHeaders {
    /// Notes the tools of one page of `tools/list`. The first page begins the list anew.
    pub(crate) fn listed(&mut self, request: &Message, answer: &Message) {
        let Some(tools) = answer.result().and_then(|result| result.get("tools")) else { return };
        let cursor = request.params().and_then(|params| params.get("cursor"));
        if cursor.is_none() {
            self.tools.clear();
            self.broken.clear();
        }
        for tool in tools.items() {
            // Most tools want none, and their schemas need not be read.
            if memchr::memmem::find(tool.as_bytes(), b"x-mcp-header").is_none() {
                continue;
            }
            let (Some(name), Some(schema)) = (tool.get("name"), tool.get("inputSchema")) else {
                continue;
            };
            let Some(name) = name.text() else { continue };
            let mut found = Vec::new();
            let wanted = schema
                .read::<Value>()
                .map(|schema| params(&schema, &mut Vec::new(), &mut found) && all_differ(&found));
            if matches!(wanted, Ok(true)) {
                self.broken.remove(&*name);
                self.tools.insert(name.into_owned(), found);
            } else {
                self.tools.remove(&*name);
                self.broken.insert(name.into_owned());
            }
        }
    }

    /// The tool of this call, where it must not be called.
    pub(super) fn broken_tool(&self, call: &Message) -> Option<String> {
        if call.method() != Some(names::TOOLS_CALL) || self.broken.is_empty() {
            return None;
        }
        let name = call.params()?.get("name")?.text()?.into_owned();
        self.broken.contains(&name).then_some(name)
    }

    /// The headers that the tool of this call has, wanted by these arguments or not.
    pub(crate) fn names(&self, call: &Message) -> Vec<HeaderName> {
        if call.method() != Some(names::TOOLS_CALL) || self.tools.is_empty() {
            return Vec::new();
        }
        let name = call.params().and_then(|params| params.get("name"));
        let params = name.and_then(|name| self.tools.get(&*name.text()?));
        params.into_iter().flatten().map(|param| param.header.clone()).collect()
    }

    /// Adds what the tool of this call wants.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap, call: &Message) {
        if call.method() != Some(names::TOOLS_CALL) || self.tools.is_empty() {
            return;
        }
        let Some(request) = call.params() else { return };
        let name = request.get("name");
        let Some(name) = name.as_ref().and_then(RawJson::text) else { return };
        let (Some(wanted), Some(arguments)) = (self.tools.get(&*name), request.get("arguments"))
        else {
            return;
        };
        for param in wanted {
            let value = param.path.iter().try_fold(arguments.clone(), |value, key| value.get(key));
            let Some(value) = value else { continue };
            let text = match (value.text(), value.as_str()) {
                (Some(text), _) => text.into_owned(),
                (None, "null") => continue,
                // Numbers and truth values stand as they are; what is neither has no header.
                (None, plain) if !plain.starts_with(['{', '[', '"']) => plain.to_owned(),
                _ => continue,
            };
            if let Ok(value) = HeaderValue::from_str(&encoded(&text)) {
                headers.insert(param.header.clone(), value);
            }
        }
    }
}

/// Collects the annotated properties of a schema; false where one is against the rules.
fn params(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Param>) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return true };
    properties.iter().all(|(key, property)| {
        path.push(key.clone());
        let fine = param(property, path, found) && params(property, path, found);
        path.pop();
        fine
    })
}

fn param(property: &Value, path: &[String], found: &mut Vec<Param>) -> bool {
    let Some(name) = property.get("x-mcp-header") else { return true };
    let kind = property.get("type").and_then(Value::as_str);
    let header = name.as_str().filter(|name| !name.is_empty());
    match (kind, header.map(|name| format!("mcp-param-{name}").parse::<HeaderName>())) {
        (Some("string" | "integer" | "boolean"), Some(Ok(header))) => {
            found.push(Param { path: path.to_vec(), header });
            true
        }
        _ => false,
    }
}

fn all_differ(params: &[Param]) -> bool {
    let mut seen = HashSet::new();
    params.iter().all(|param| seen.insert(&param.header))
}

#[cfg(test)]
mod tests {
    use hoist_proxy_core::Line;

    use super::*;

    fn message(text: &str) -> Message {
        Message::parse(&Line::from_wire(text.to_owned())).unwrap()
    }

    /// The headers of a call with these arguments, to a tool with these properties.
    fn headers(properties: &str, arguments: &str) -> Vec<(String, String)> {
        let mut known = ParamHeaders::default();
        let list = message(r#"{"id":1,"method":"tools/list"}"#);
        let page = format!(
            r#"{{"id":1,"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object","properties":{properties}}}}}]}}}}"#
        );
        known.listed(&list, &message(&page));
        let call = format!(
            r#"{{"id":2,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        let mut headers = HeaderMap::new();
        known.add_to(&mut headers, &message(&call));
        let mut all: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        all.sort();
        all
    }

    #[track_caller]
    fn check(properties: &str, arguments: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(headers(properties, arguments), expected, "{properties} {arguments}");
    }

    #[test]
    fn annotated_arguments_are_repeated() {
        let schema = r#"{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},
            "deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}},"plain":{"type":"string"}}"#;
        check(
            schema,
            r#"{"region":"e\u0075","n":12345678901234567890,"deep":{"on":true},"plain":"x"}"#,
            &[
                ("mcp-param-n", "12345678901234567890"),
                ("mcp-param-on", "true"),
                ("mcp-param-region", "eu"),
            ],
        );
        check(schema, r#"{"region":"é","n":null}"#, &[("mcp-param-region", "=?base64?w6k=?=")]);
        check(schema, r#"{"region":["x"],"deep":7}"#, &[]);
        check(schema, "null", &[]);
    }

    #[test]
    fn annotations_against_the_rules_count_for_nothing() {
        for bad in [
            r#"{"a":{"type":"number","x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"A b"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":""}}"#,
            r#"{"a":{"type":"string","x-mcp-header":7}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}"#,
        ] {
            check(bad, r#"{"a":"1","b":"2"}"#, &[]);
        }
    }

    #[test]
    fn a_tool_with_annotations_against_the_rules_is_not_to_be_called() {
        let mut known = ParamHeaders::default();
        let list = message(r#"{"id":1,"method":"tools/list"}"#);
        let page = |kind: &str| {
            message(&format!(
                r#"{{"id":1,"result":{{"tools":[{{"name":"t","inputSchema":{{"properties":{{"a":{{"type":"{kind}","x-mcp-header":"A"}}}}}}}}]}}}}"#
            ))
        };
        let call = message(r#"{"id":2,"method":"tools/call","params":{"name":"t"}}"#);
        assert_eq!(known.broken_tool(&call), None);
        known.listed(&list, &page("number"));
        assert_eq!(known.broken_tool(&call).as_deref(), Some("t"));
        let other = message(r#"{"id":2,"method":"tools/call","params":{"name":"u"}}"#);
        assert_eq!(known.broken_tool(&other), None);
        known.listed(&list, &page("string"));
        assert_eq!(known.broken_tool(&call), None);
    }

    #[test]
    fn a_list_that_begins_anew_forgets_the_old_one() {
        let mut known = ParamHeaders::default();
        let page = |name: &str| {
            message(&format!(
                r#"{{"id":1,"result":{{"tools":[{{"name":"{name}","inputSchema":{{"properties":{{"a":{{"type":"string","x-mcp-header":"A"}}}}}}}}]}}}}"#
            ))
        };
        let first = message(r#"{"id":1,"method":"tools/list"}"#);
        let next = message(r#"{"id":1,"method":"tools/list","params":{"cursor":""}}"#);
        known.listed(&first, &page("a"));
        known.listed(&next, &page("b"));
        assert_eq!(known.tools.len(), 2);
        known.listed(&first, &page("c"));
        assert_eq!(known.tools.keys().collect::<Vec<_>>(), ["c"]);
    }
}
