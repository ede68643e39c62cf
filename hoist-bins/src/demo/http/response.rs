//! Answers to HTTP requests, and what headers say.

use std::convert::Infallible;
use std::fmt::Write as _;

use bytes::Bytes;
use futures::stream::{Stream, StreamExt as _};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(super) fn event(id: Option<&str>, data: &str) -> String {
    let mut event = String::new();
    if let Some(id) = id {
        let _ = writeln!(event, "id: {id}");
    }
    for line in data.split('\n') {
        let _ = writeln!(event, "data: {line}");
    }
    event.push('\n');
    event
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What a header says: itself, or the text whose base64 it is.
pub(super) fn decoded(value: &str) -> String {
    use base64::Engine as _;
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let bytes = encoded.map(|text| base64::engine::general_purpose::STANDARD.decode(text));
    match bytes {
        Some(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => value.to_owned(),
    }
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    response(status, None, Full::default().boxed_unsync())
}

pub(super) fn json(status: StatusCode, text: String) -> Response<Body> {
    response(status, Some("application/json"), Full::from(text).boxed_unsync())
}

pub(super) fn events(events: impl Stream<Item = String> + Send + 'static) -> Response<Body> {
    events_of_bytes(events.map(Bytes::from))
}

pub(super) fn events_of_bytes(bytes: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = bytes.map(|bytes| Ok(Frame::data(bytes)));
    response(StatusCode::OK, Some("text/event-stream"), StreamBody::new(frames).boxed_unsync())
}

fn response(status: StatusCode, kind: Option<&'static str>, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}
