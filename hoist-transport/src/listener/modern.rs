//! What a modern request says of itself in headers, against what its body says.
//!
//! A server behind stdio never sees the headers, so they are checked here.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hoist_proxy_core::{Kind, Message, RawJson, names};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::groups::{Asked, Caller};
use crate::http_server::{MCP_METHOD, MCP_NAME, PROTOCOL_VERSION, ParamHeaders, describe};

/// The first revision of the modern era.
pub(super) const FIRST_MODERN: &str = "2026-07-28";

/// MCP's code for headers that do not say what the body says.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// What is wrong with the headers of a message of this revision, if anything is.
pub(super) fn mismatch(
    headers: &HeaderMap,
    message: &Message,
    version: &str,
    params: &ParamHeaders,
) -> Option<String> {
    let mut expected = HeaderMap::new();
    describe(&mut expected, message, version);
    let is_request = message.kind() == Kind::Request;
    for name in [&PROTOCOL_VERSION, &MCP_METHOD, &MCP_NAME] {
        let given = single(headers, name);
        let wanted = expected.get(name);
        match (given, wanted) {
            (Err(()), _) => return Some(format!("the header {name} stands more than once")),
            // A name that the method does not have is nothing to compare with.
            (_, None) => {}
            // What a notification's headers must be is not laid down.
            (Ok(None), Some(_)) if !is_request && *name != PROTOCOL_VERSION => {}
            (Ok(None), Some(_)) => return Some(format!("the header {name} is missing")),
            (Ok(Some(given)), Some(wanted)) => {
                let (given, wanted) = (decoded(given), decoded(wanted));
                if given.is_none() {
                    return Some(format!("the header {name} is not encoded as it must be"));
                }
                if given != wanted {
                    return Some(format!("the header {name} does not say what the body says"));
                }
            }
        }
    }
    let mut expected = HeaderMap::new();
    params.add_to(&mut expected, message);
    for name in params.names(message) {
        match (single(headers, &name), expected.get(&name)) {
            (Ok(None), None) => {}
            (Ok(Some(given)), Some(wanted)) if same_value(given, wanted) => {}
            (Ok(None), Some(_)) => return Some(format!("the header {name} is missing")),
            (Ok(Some(_)), None) => {
                return Some(format!("the header {name} has no argument in the body"));
            }
            _ => return Some(format!("the header {name} does not say what the body says")),
        }
    }
    None
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, ()> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() { Err(()) } else { Ok(first) }
}

fn same_value(given: &HeaderValue, wanted: &HeaderValue) -> bool {
    match (decoded(given), decoded(wanted)) {
        (Some(given), Some(wanted)) => given == wanted || same_integer(&given, &wanted),
        _ => false,
    }
}

/// Whole numbers are compared as numbers, however they are written.
fn same_integer(one: &str, other: &str) -> bool {
    let id = |text: &str| {
        let is_number = text.parse::<f64>().is_ok_and(f64::is_finite)
            && text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        RawJson::parse(text.to_owned())
            .ok()
            .filter(|_| is_number)
            .and_then(|raw| hoist_proxy_core::RequestId::parse(raw.as_bytes()))
    };
    matches!((id(one), id(other)), (Some(one), Some(other)) if one == other)
}

/// What a header says: itself, or the text whose base64 it is; nothing where it is neither.
fn decoded(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = value.to_str().ok()?;
    let encoded = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let Some(encoded) = encoded else { return Some(text.into()) };
    let bytes = STANDARD.decode(encoded).ok()?;
    Some(String::from_utf8(bytes).ok()?.into())
}

/// The HTTP status that goes with an answer.
pub(super) fn status(error: Option<i64>) -> StatusCode {
    match error {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600 | -32602 | -32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// What there is to know of who makes a request.
pub(super) fn asked(message: &Message, name: Option<String>, address: std::net::IpAddr) -> Asked {
    let meta = message.params().and_then(|params| params.get(names::META));
    let text = |holder: &RawJson, key: &str| {
        holder.get(key).and_then(|value| value.text().map(Cow::into_owned))
    };
    let client = meta.as_ref().and_then(|meta| meta.get(names::CLIENT_INFO)).map(|client| {
        let part = |key| text(&client, key).unwrap_or_default();
        format!("{} {}", part("name"), part("version"))
    });
    let meta_session = meta
        .as_ref()
        .and_then(|meta| text(meta, "sessionId").or_else(|| text(meta, "threadId")))
        .filter(|session| !session.is_empty());
    Asked {
        name,
        meta_session,
        caller: Caller { client: client.unwrap_or_default(), address: Some(address) },
        id: message.id().and_then(|id| id.raw().parse().ok()),
        is_discover: message.method() == Some(names::DISCOVER),
    }
}

#[cfg(test)]
mod tests {
    use hoist_proxy_core::Line;

    use super::*;

    fn message(text: &str) -> Message {
        Message::parse(&Line::from_wire(text.to_owned())).unwrap()
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    const CALL: &str =
        r#"{"id":1,"method":"tools/call","params":{"name":"é","arguments":{"r":"eu","n":7}}}"#;
    const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
    const METHOD: (&str, &str) = ("Mcp-Method", "tools/call");
    const NAME: (&str, &str) = ("Mcp-Name", "=?base64?w6k=?=");

    fn check(text: &str, given: &[(&str, &str)], params: &ParamHeaders) -> Option<String> {
        mismatch(&headers(given), &message(text), "2026-07-28", params)
    }

    #[test]
    fn headers_must_say_what_the_body_says() {
        let none = ParamHeaders::default();
        assert_eq!(check(CALL, &[VERSION, METHOD, NAME], &none), None);
        assert_eq!(check(CALL, &[VERSION, METHOD, NAME, ("Mcp-Param-X", "any")], &none), None);
        let wrong = |given: &[(&str, &str)], name: &str| {
            let found = check(CALL, given, &none).unwrap();
            assert!(found.contains(name), "{found}");
        };
        wrong(&[METHOD, NAME], "mcp-protocol-version is missing");
        wrong(&[VERSION, NAME], "mcp-method is missing");
        wrong(&[VERSION, METHOD], "mcp-name is missing");
        wrong(
            &[("MCP-Protocol-Version", "2025-11-25"), METHOD, NAME],
            "mcp-protocol-version does not",
        );
        wrong(&[VERSION, ("Mcp-Method", "tools/Call"), NAME], "mcp-method does not");
        wrong(&[VERSION, METHOD, ("Mcp-Name", "e")], "mcp-name does not");
        wrong(&[VERSION, METHOD, ("Mcp-Name", "=?base64?!?=")], "mcp-name is not encoded");
        // Without its end the sentinel is text like any other.
        wrong(&[VERSION, METHOD, ("Mcp-Name", "=?base64?w6k=")], "mcp-name does not");
        wrong(&[VERSION, METHOD, NAME, NAME], "mcp-name stands more than once");
        let list = r#"{"id":1,"method":"tools/list","params":{}}"#;
        assert_eq!(check(list, &[VERSION, ("Mcp-Method", "tools/list")], &none), None);
        let notification = r#"{"method":"notifications/x"}"#;
        assert_eq!(check(notification, &[VERSION], &none), None);
        let found = check(notification, &[VERSION, METHOD], &none).unwrap();
        assert!(found.contains("mcp-method does not"), "{found}");
    }

    #[test]
    fn annotated_arguments_must_be_repeated() {
        let mut params = ParamHeaders::default();
        let page = r#"{"id":1,"result":{"tools":[{"name":"é","inputSchema":{"properties":{
            "r":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},
            "o":{"type":"string","x-mcp-header":"Other"}}}}]}}"#;
        params.listed(&message(r#"{"id":1,"method":"tools/list"}"#), &message(page));
        let with = |more: &[(&str, &str)]| {
            let given = [&[VERSION, METHOD, NAME][..], more].concat();
            check(CALL, &given, &params)
        };
        let region = ("Mcp-Param-Region", "eu");
        assert_eq!(with(&[region, ("Mcp-Param-N", "7")]), None);
        assert_eq!(with(&[region, ("Mcp-Param-N", "7.0")]), None);
        assert_eq!(with(&[("Mcp-Param-Region", "=?base64?ZXU=?="), ("Mcp-Param-N", "7")]), None);
        for (given, what) in [
            (&[region][..], "mcp-param-n is missing"),
            (&[region, ("Mcp-Param-N", "8")], "mcp-param-n does not"),
            (&[("Mcp-Param-Region", "EU"), ("Mcp-Param-N", "7")], "mcp-param-region does not"),
            (&[region, ("Mcp-Param-N", "7"), ("Mcp-Param-Other", "x")], "mcp-param-other has no"),
        ] {
            let found = with(given).unwrap();
            assert!(found.contains(what), "{found}");
        }
    }

    #[test]
    fn a_request_tells_who_makes_it() {
        let text = r#"{"id":3,"method":"tools/call","params":{"_meta":{"threadId":"t",
            "io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}"#;
        let address = std::net::IpAddr::from([127, 0, 0, 1]);
        let found = asked(&message(text), None, address);
        assert_eq!(found.caller, Caller { client: "c 1".to_owned(), address: Some(address) });
        assert_eq!((found.id, found.meta_session.as_deref()), (Some(3), Some("t")));
        assert!(!found.is_discover);
        let found = asked(&message(r#"{"id":"3","method":"server/discover"}"#), None, address);
        assert_eq!((found.id, found.meta_session, found.is_discover), (None, None, true));
    }
}
