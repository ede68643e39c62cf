//! The headers that repeat what stands in a modern request's body, so that whoever routes it need
//! not read that.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hoist_proxy_core::{Message, RawJson, names};
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Adds the headers of a modern message: `MCP-Protocol-Version`, `Mcp-Method` and, where the method
/// has one, `Mcp-Name`.
pub(crate) fn describe(headers: &mut HeaderMap, message: &Message, version: &str) {
    let mut add = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&encoded(value)) {
            headers.insert(name, value);
        }
    };
    add(PROTOCOL_VERSION, version);
    let Some(method) = message.method() else { return };
    add(MCP_METHOD, method);
    let key = match method {
        names::TOOLS_CALL | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return,
    };
    let value = message.params().and_then(|params| params.get(key));
    if let Some(name) = value.as_ref().and_then(RawJson::text) {
        add(MCP_NAME, &name);
    }
}

/// A value as it stands in a header: as it is, where that is plain visible ASCII, else in base64.
pub(super) fn encoded(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|b| matches!(b, b' '..=b'~'))
        && !value.starts_with(' ')
        && !value.ends_with(' ')
        && !value.starts_with("=?base64?");
    if plain {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(value)))
    }
}

#[cfg(test)]
mod tests {
    use hoist_proxy_core::Line;

    use super::*;

    #[test]
    fn values_that_no_header_can_hold_are_encoded() {
        for plain in ["lookup", "a b", "~!", "", "a/b?c=d"] {
            assert_eq!(encoded(plain), plain);
        }
        assert_eq!(encoded("é"), "=?base64?w6k=?=");
        assert_eq!(encoded(" a"), "=?base64?IGE=?=");
        assert_eq!(encoded("a "), "=?base64?YSA=?=");
        assert_eq!(encoded("a\nb"), "=?base64?YQpi?=");
        assert_eq!(encoded("=?base64?YQ==?="), "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let described = |text: &str| {
            let message = Message::parse(&Line::from_wire(text.to_owned())).unwrap();
            let mut headers = HeaderMap::new();
            describe(&mut headers, &message, "2026-07-28");
            assert_eq!(headers[PROTOCOL_VERSION], "2026-07-28");
            let text = |name| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            (text(MCP_METHOD).unwrap(), text(MCP_NAME))
        };
        let check = |method: &str, params: &str, name: Option<&str>| {
            let text = format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#);
            assert_eq!(described(&text), (method.to_owned(), name.map(str::to_owned)), "{text}");
        };
        check("tools/call", r#"{"name":"a\u0062"}"#, Some("ab"));
        check("prompts/get", r#"{"name":"p"}"#, Some("p"));
        check("resources/read", r#"{"uri":"u:é"}"#, Some("=?base64?dTrDqQ==?="));
        check("tasks/get", r#"{"taskId":"t"}"#, Some("t"));
        check("tools/list", r#"{"name":"x"}"#, None);
        check("tools/call", r#"{"name":7}"#, None);
    }
}
