//! HTTP answers, and the streams among them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hoist_proxy_core::RequestId;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use tokio::time::{Instant, Sleep};

use super::event::{Event, Wire};
use super::router::coded_error_line;
use super::session::Attached;

/// How long a stream is silent before a comment shows that it is alive.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}

pub(super) fn json(status: StatusCode, text: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(text).boxed_unsync());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// An answer that says no.
#[derive(Debug)]
pub(super) struct Refused(Box<Response<Body>>);

impl From<Response<Body>> for Refused {
    fn from(response: Response<Body>) -> Self {
        Self(Box::new(response))
    }
}

impl From<Refused> for Response<Body> {
    fn from(refused: Refused) -> Self {
        *refused.0
    }
}

impl Refused {
    /// The same with a header.
    pub(super) fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.0.headers_mut().insert(name, HeaderValue::from_static(value));
        self
    }
}

/// A refusal, as an error in answer to the request of this id, or to none.
pub(super) fn refusal(status: StatusCode, id: Option<&RequestId>, code: i64, why: &str) -> Refused {
    let null = RequestId::null();
    let line = coded_error_line(id.unwrap_or(&null), code, why);
    json(status, line.body_bytes()).into()
}

/// A stream of events that is over already.
pub(super) fn whole_events(all: &[Event]) -> Response<Body> {
    let mut wire = Wire::default();
    for event in all {
        event.wire(&mut wire);
    }
    of_events(Whole(wire).boxed_unsync())
}

/// A stream of events, the first of which may be there already.
pub(super) fn events(attached: Attached, first: impl IntoIterator<Item = Event>) -> Response<Body> {
    let mut wire = Wire::default();
    for event in first {
        event.wire(&mut wire);
    }
    let keep_alive = Box::pin(tokio::time::sleep(KEEP_ALIVE));
    of_events(EventStream { attached, wire, sent: Instant::now(), keep_alive }.boxed_unsync())
}

fn of_events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

/// A body that is there already.
struct Whole(Wire);

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len_bytes() as u64)
    }
}

struct EventStream {
    attached: Attached,
    wire: Wire,
    /// When something was last sent.
    sent: Instant,
    keep_alive: Pin<Box<Sleep>>,
}

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        loop {
            let mut is_over = false;
            while !this.wire.is_plenty() {
                match this.attached.poll_event(cx) {
                    Poll::Ready(Some(event)) => event.wire(&mut this.wire),
                    Poll::Ready(None) => {
                        is_over = true;
                        break;
                    }
                    Poll::Pending => break,
                }
            }
            if let Some(piece) = this.wire.next() {
                this.sent = Instant::now();
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if is_over {
                return Poll::Ready(None);
            }
            std::task::ready!(this.keep_alive.as_mut().poll(cx));
            // The timer is set anew here only, not for each event.
            let now = Instant::now();
            let due = this.sent + KEEP_ALIVE;
            if now >= due {
                this.wire.comment();
                this.keep_alive.as_mut().reset(now + KEEP_ALIVE);
            } else {
                this.keep_alive.as_mut().reset(due);
            }
        }
    }
}
