//! The results of each request, in the shape the revision gives them, as JSON text.

use std::fmt::Write;

use super::message::Id;
use super::revision::Revision;
use super::tool::{Tool, ToolEffect};
use super::world::World;

/// How long a client may keep the tool list and the server's description: they never change while
/// the server runs.
const TTL_MS: &str = "3600000";

/// The result of `initialize`.
pub(super) fn initialize(world: World, revision: Revision) -> String {
    Object::new()
        .text("protocolVersion", revision.name())
        .raw("capabilities", r#"{"tools":{}}"#)
        .raw("serverInfo", &server_info())
        .text("instructions", world.instructions())
        .finish()
}

/// The result of `server/discover`.
pub(super) fn discover(world: World) -> String {
    Object::new()
        .text("resultType", "complete")
        .raw("supportedVersions", &format!("[\"{}\"]", Revision::MODERN.name()))
        .raw("capabilities", r#"{"tools":{}}"#)
        .text("instructions", world.instructions())
        .raw("ttlMs", TTL_MS)
        .text("cacheScope", "public")
        .raw("_meta", &meta())
        .finish()
}

/// The result of `tools/list`.
pub(super) fn list_tools(tools: &[Tool], revision: Revision) -> String {
    let tools: Vec<_> = tools.iter().map(|listed| tool(listed, revision)).collect();
    let tools = format!("[{}]", tools.join(","));
    if revision.is_modern() {
        return Object::new()
            .text("resultType", "complete")
            .raw("tools", &tools)
            .raw("ttlMs", TTL_MS)
            .text("cacheScope", "public")
            .raw("_meta", &meta())
            .finish();
    }
    Object::new().raw("tools", &tools).finish()
}

/// The result of `tools/call`; `structured` is the JSON text of an object, shown where the revision
/// has a place for it.
pub(super) fn call_tool(
    text: &str,
    structured: Option<&str>,
    is_error: bool,
    revision: Revision,
) -> String {
    let mut result = Object::new();
    if revision.is_modern() {
        result = result.text("resultType", "complete");
    }
    let content = Object::new().text("type", "text").text("text", text).finish();
    result = result.raw("content", &format!("[{content}]"));
    if let Some(structured) = structured.filter(|_| revision.has_structured_content()) {
        result = result.raw("structuredContent", structured);
    }
    result = result.raw("isError", if is_error { "true" } else { "false" });
    if revision.is_modern() {
        result = result.raw("_meta", &meta());
    }
    result.finish()
}

/// The params of the notification that opens a subscription: this server's tools never change, so
/// of whatever was asked for it accepts nothing.
pub(super) fn acknowledgement(listen: &Id) -> String {
    let meta =
        Object::new().raw("io.modelcontextprotocol/subscriptionId", listen.as_json()).finish();
    Object::new().raw("_meta", &meta).raw("notifications", "{}").finish()
}

/// The result of `subscriptions/listen`, sent when the server ends it.
pub(super) fn listen_ended(listen: &Id) -> String {
    let meta = Object::new()
        .raw("io.modelcontextprotocol/subscriptionId", listen.as_json())
        .raw("io.modelcontextprotocol/serverInfo", &server_info())
        .finish();
    Object::new().text("resultType", "complete").raw("_meta", &meta).finish()
}

/// The params of the notification that cancels a request.
pub(super) fn cancellation(request: &Id) -> String {
    Object::new()
        .raw("requestId", request.as_json())
        .text("reason", "the server is shutting down")
        .finish()
}

fn tool(tool: &Tool, revision: Revision) -> String {
    let mut listed = Object::new()
        .text("name", tool.name)
        .text("description", tool.description)
        .raw("inputSchema", tool.input_schema);
    if let Some(schema) = tool.output_schema.filter(|_| revision.has_structured_content()) {
        listed = listed.raw("outputSchema", schema);
    }
    // The first revision does not know annotations, but lets a tool have members it does not know.
    let annotations = Object::new().text("title", tool.title);
    let annotations = match tool.effect {
        ToolEffect::Read => annotations.raw("readOnlyHint", "true"),
        ToolEffect::IdempotentWrite => annotations
            .raw("readOnlyHint", "false")
            .raw("destructiveHint", "false")
            .raw("idempotentHint", "true"),
        ToolEffect::DestructiveWrite => annotations
            .raw("readOnlyHint", "false")
            .raw("destructiveHint", "true")
            .raw("idempotentHint", "false"),
    };
    listed.raw("annotations", &annotations.raw("openWorldHint", "false").finish()).finish()
}

fn meta() -> String {
    Object::new().raw("io.modelcontextprotocol/serverInfo", &server_info()).finish()
}

fn server_info() -> String {
    Object::new().text("name", "hoist-mcp-demo").text("version", env!("CARGO_PKG_VERSION")).finish()
}

/// A JSON object being written: its members stay in order, and parts that are JSON text go in as
/// they are.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn raw(mut self, name: &str, json: &str) -> Self {
        let comma = if self.0.len() > 1 { "," } else { "" };
        let _ = write!(self.0, r#"{comma}"{name}":{json}"#);
        self
    }

    fn text(self, name: &str, text: &str) -> Self {
        let text = serde_json::to_string(text).expect("any text can be written as JSON");
        self.raw(name, &text)
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Revision, World, list_tools};

    #[test]
    fn every_tool_list_is_json_with_object_schemas() {
        for (world, revision) in [
            (World::Echo, Revision::R20241105),
            (World::Echo, Revision::R20260728),
            (World::Retail, Revision::R20250326),
            (World::Retail, Revision::R20250618),
            (World::Retail, Revision::R20260728),
        ] {
            let list: Value = serde_json::from_str(&list_tools(world.tools(), revision)).unwrap();
            assert_eq!(list.get("ttlMs").is_some(), revision.is_modern());
            for tool in list["tools"].as_array().unwrap() {
                assert_eq!(tool["inputSchema"]["type"], "object");
                let has_output = revision.has_structured_content() && world == World::Retail;
                assert_eq!(tool.get("outputSchema").is_some(), has_output);
            }
        }
    }
}
