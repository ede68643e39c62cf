//! What the host is told of a request that the server does not answer.

use hoist_proxy_core::{Line, RequestId};
use http::HeaderMap;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::response::Parts;
use serde_json::json;

use super::client::header_text;

/// The code of errors that the proxy answers with: JSON-RPC's internal error. MCP keeps the codes
/// around it for itself.
const ERROR_CODE: i64 = -32603;

/// What a refused request's body may add to what the host is told.
const MAX_EXCERPT: usize = 200;

/// Why a request is not answered by the server.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusal {
    pub(super) what: String,
    pub(super) http_status: Option<u16>,
    pub(super) retry_after: Option<String>,
    pub(super) www_authenticate: Option<String>,
}

impl Refusal {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// The answer to the request of this id.
    pub(super) fn answer(&self, id: &RequestId) -> Line {
        let mut data = serde_json::Map::new();
        if let Some(status) = self.http_status {
            data.insert("httpStatus".to_owned(), json!(status));
        }
        if let Some(after) = &self.retry_after {
            data.insert("retryAfter".to_owned(), json!(after));
        }
        if let Some(challenge) = &self.www_authenticate {
            data.insert("wwwAuthenticate".to_owned(), json!(challenge));
        }
        let mut error = json!({"code": ERROR_CODE, "message": format!("hoist: {}", self.what)});
        if !data.is_empty() {
            error["data"] = data.into();
        }
        // The id stands as its sender spelt it.
        Line::from_body(
            format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.raw()).as_bytes(),
        )
    }
}

/// What kind of body an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Events,
    Other,
}

pub(super) fn media(headers: &HeaderMap) -> Media {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Media::Other };
    let value = value.as_bytes().split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    if value.eq_ignore_ascii_case(b"application/json") {
        Media::Json
    } else if value.eq_ignore_ascii_case(b"text/event-stream") {
        Media::Events
    } else {
        Media::Other
    }
}

/// What the host is told of an answer that is none.
pub(super) fn refused(parts: &Parts, body: &[u8]) -> Refusal {
    let (status, headers) = (parts.status, &parts.headers);
    let mut what = if status.is_success() {
        let kind = match header_text(headers, &CONTENT_TYPE) {
            _ if body.is_empty() => "no body".to_owned(),
            Some(kind) => format!("a body of {kind:?}"),
            None => "a body that has no Content-Type".to_owned(),
        };
        format!("the server answered HTTP {status} with {kind}, which is no answer to a request")
    } else if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        format!("the proxy before the server answered HTTP {status}")
    } else {
        format!("the server answered HTTP {status}")
    };
    let challenge = header_text(headers, &WWW_AUTHENTICATE);
    let after = header_text(headers, &RETRY_AFTER);
    if status == StatusCode::UNAUTHORIZED {
        what += ": authorization is needed";
        if let Some(challenge) = &challenge {
            what = format!("{what} ({challenge})");
        }
    }
    if let Some(after) = &after {
        what = format!("{what}, to be tried again after {after}");
    }
    // A page for people says nothing to a host.
    let text = String::from_utf8_lossy(body);
    let readable = !matches!(media(headers), Media::Events)
        && header_text(headers, &CONTENT_TYPE).is_some_and(|kind| {
            kind.starts_with("text/plain") || kind.starts_with("application/json")
        });
    if readable && !text.trim().is_empty() {
        let excerpt: String = text.trim().chars().take(MAX_EXCERPT).collect();
        what = format!("{what}: {}", excerpt.replace(|c: char| c.is_control(), " "));
    }
    Refusal {
        what,
        http_status: Some(status.as_u16()),
        retry_after: after,
        www_authenticate: challenge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_why_under_the_requests_id() {
        let mut refusal = Refusal::new("no \"such\" server");
        refusal.http_status = Some(401);
        refusal.www_authenticate = Some("Bearer".to_owned());
        let line = refusal.answer(&RequestId::parse(br#""\u0061""#).unwrap());
        assert_eq!(
            String::from_utf8_lossy(line.wire()),
            concat!(
                r#"{"jsonrpc":"2.0","id":"\u0061","error":{"code":-32603,"#,
                r#""data":{"httpStatus":401,"wwwAuthenticate":"Bearer"},"#,
                r#""message":"hoist: no \"such\" server"}}"#,
                "\n"
            )
        );
    }
}
