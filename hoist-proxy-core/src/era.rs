//! MCP's words on the wire, and the two eras of the protocol.

use std::borrow::Cow;

use crate::RawJson;

/// Which of MCP's two ways of speaking a message follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Era {
    /// Up to 2025-11-25: a session opened with `initialize`.
    Legacy,
    /// From 2026-07-28 on: stateless, every request carries its version in `_meta`.
    Modern,
}

/// Method names and keys the engine knows.
pub mod names {
    /// The request that opens a legacy session.
    pub const INITIALIZE: &str = "initialize";
    /// The notification that ends the legacy handshake.
    pub const INITIALIZED: &str = "notifications/initialized";
    /// The notification that cancels a request.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// The request that calls a tool.
    pub const TOOLS_CALL: &str = "tools/call";
    /// The request that lists tools.
    pub const TOOLS_LIST: &str = "tools/list";
    /// The request that asks a modern server what it is.
    pub const DISCOVER: &str = "server/discover";
    /// The request that opens a stream of notifications (modern).
    pub const LISTEN: &str = "subscriptions/listen";
    /// The member of params and results for metadata.
    pub const META: &str = "_meta";
    /// The member of `_meta` that tags progress notifications.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The `_meta` key of a modern request's protocol version.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The `_meta` key of a modern request's client capabilities.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The `_meta` key of a modern request's client name.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
}

/// A method's name, without an allocation for those that cross often.
pub(crate) fn method_name(method: Cow<'_, str>) -> Cow<'static, str> {
    const FREQUENT: [&str; 12] = [
        names::TOOLS_CALL,
        names::TOOLS_LIST,
        names::INITIALIZE,
        names::INITIALIZED,
        names::CANCELLED,
        names::DISCOVER,
        "notifications/progress",
        "notifications/message",
        "ping",
        "prompts/get",
        "resources/list",
        "resources/read",
    ];
    match FREQUENT.iter().find(|known| ***known == *method) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(method.into_owned()),
    }
}

/// The protocol version a request carries in its params; `None` for a legacy one.
pub fn modern_version(params: Option<&RawJson>) -> Option<String> {
    let meta = params?.get(names::META)?;
    meta.get(names::PROTOCOL_VERSION)?.text().map(Into::into)
}

/// The capability a host declares to be asked `method`; `None` when it needs none (`ping`).
pub(crate) fn host_capability(method: &str) -> Option<&'static str> {
    match method {
        "sampling/createMessage" => Some("sampling"),
        "elicitation/create" => Some("elicitation"),
        "roots/list" => Some("roots"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_a_version_in_its_meta_is_modern() {
        let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
        let modern = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        assert_eq!(modern_version(Some(&raw(modern))).as_deref(), Some("2026-07-28"));
        for legacy in ["{}", r#"{"_meta":{}}"#, r#"{"_meta":null}"#, "[]"] {
            assert_eq!(modern_version(Some(&raw(legacy))), None, "{legacy}");
        }
        assert_eq!(modern_version(None), None);
    }
}
