//! Requests and responses as layers see them, and the way inward.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::era::method_name;
use crate::json::{RawJson, message_set, object_set};
use crate::session::{Core, ExchangeState, Slot, check_answer};
use crate::{Direction, Era, Error, Line, Message, RequestId};

/// The name the engine itself goes by, where lines say which layer made them.
pub(crate) const ENGINE: &str = "proxy";

/// A request on its way inward: the peer's, or one that a layer makes.
///
/// Not `Clone`: the peer's request leaves at most once.
#[derive(Debug)]
pub struct Request {
    /// Which request this is within its session. A layer's own gets its number as it is run.
    pub(crate) serial: Option<u64>,
    pub(crate) method: Cow<'static, str>,
    pub(crate) params: Option<RawJson>,
    pub(crate) source: Source,
    /// The layer that made or changed it.
    pub(crate) made_by: Option<Arc<str>>,
    pub(crate) changed: bool,
}

#[derive(Debug)]
pub(crate) enum Source {
    /// The peer sent it as this line.
    Peer { line: Line, id: RequestId },
    /// A layer made it.
    Own,
}

impl Request {
    /// A request of a layer's own. It goes inward from the layer that runs it, through the layers
    /// inside, with an id `hoist-<n>` that the engine picks, and its answer never reaches the
    /// peer.
    ///
    /// In the modern era the engine adds the `_meta` that revision asks for (the exchange's
    /// protocol version, no capabilities); a `_meta` in `params` is kept. A progress token is
    /// taken out.
    ///
    /// In the legacy era it waits for the host's handshake to end, and the hold clock runs
    /// meanwhile; before the handshake has begun it fails with [`Error::TooEarly`]. A layer that can
    /// do without should go on without it then, rather than fail the call.
    pub fn own(method: &str, params: Option<RawJson>) -> Self {
        Self {
            serial: None,
            method: method_name(method.into()),
            params,
            source: Source::Own,
            made_by: None,
            changed: false,
        }
    }

    /// The peer's request.
    pub(crate) fn of_peer(serial: u64, message: &Message) -> Option<Self> {
        Some(Self {
            serial: Some(serial),
            method: message.owned_method()?,
            params: message.params().cloned(),
            source: Source::Peer { line: message.line().clone(), id: message.id()?.clone() },
            made_by: None,
            changed: false,
        })
    }

    /// A request of the peer's that no layer may read.
    pub(crate) fn unread(serial: u64, line: Line, id: RequestId) -> Self {
        Self {
            serial: Some(serial),
            method: "".into(),
            params: None,
            source: Source::Peer { line, id },
            made_by: None,
            changed: false,
        }
    }

    /// For when a layer breaks and the request goes on without it.
    pub(crate) fn copy(&self) -> Self {
        let source = match &self.source {
            Source::Peer { line, id } => Source::Peer { line: line.clone(), id: id.clone() },
            Source::Own => Source::Own,
        };
        Self {
            serial: self.serial,
            method: self.method.clone(),
            params: self.params.clone(),
            source,
            made_by: self.made_by.clone(),
            changed: self.changed,
        }
    }

    /// Its method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Its params, if it has any.
    pub fn params(&self) -> Option<&RawJson> {
        self.params.as_ref()
    }

    /// The id its sender gave it; `None` for a layer's own, which gets one as it leaves.
    pub fn id(&self) -> Option<&RequestId> {
        match &self.source {
            Source::Peer { id, .. } => Some(id),
            Source::Own => None,
        }
    }

    /// Whether a layer made it.
    pub fn is_own(&self) -> bool {
        matches!(self.source, Source::Own)
    }

    /// The tool of a `tools/call`, or the prompt of a `prompts/get`: the text of `params.name`.
    pub fn name(&self) -> Option<String> {
        self.params()?.get("name")?.text().map(Into::into)
    }

    /// The request with other params. Every other member keeps its bytes.
    #[must_use]
    pub fn with_params(mut self, params: RawJson) -> Self {
        if let Source::Peer { line, .. } = &mut self.source {
            *line = line.with_body(&message_set(line.body(), "params", params.as_bytes()));
        }
        self.params = Some(params);
        self.changed = true;
        self.made_by = None;
        self
    }
}

/// The answer to a request: a result or a JSON-RPC error.
///
/// A response that came from the server keeps its line; one that nobody changed leaves with the
/// bytes it came with.
#[derive(Debug, Clone)]
pub struct Response {
    line: Option<Line>,
    id: Option<RequestId>,
    outcome: Outcome,
    changed: bool,
    /// It answers a request of a layer's own.
    of_own: bool,
    pub(crate) made_by: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
enum Outcome {
    Result(RawJson),
    Error(RawJson),
    /// Two parsers may read its line in two ways.
    Unreadable,
}

impl Response {
    /// A response with this result. In the modern era the engine adds
    /// `"resultType":"complete"` where a result object has no `resultType`.
    pub fn result(result: RawJson) -> Self {
        Self::made(Outcome::Result(result))
    }

    /// A JSON-RPC error.
    pub fn error(code: i64, message: &str) -> Self {
        let error = serde_json::json!({ "code": code, "message": message });
        Self::made(Outcome::Error(RawJson::checked(error.to_string().into())))
    }

    /// A JSON-RPC error with `data`.
    pub fn error_with_data(code: i64, message: &str, data: &RawJson) -> Self {
        let mut response = Self::error(code, message);
        if let Outcome::Error(error) = &mut response.outcome {
            *error = object_set(error, "data", data);
        }
        response
    }

    fn made(outcome: Outcome) -> Self {
        Self { line: None, id: None, outcome, changed: true, of_own: false, made_by: None }
    }

    /// The view of a response message.
    pub(crate) fn of(message: &Message) -> Self {
        let outcome = match (message.error(), message.result()) {
            _ if check_answer(message).is_err() => Outcome::Unreadable,
            // Some servers spell out that there was no error.
            (Some(error), Some(result)) if error.is_null() => Outcome::Result(result.clone()),
            (Some(error), None) => Outcome::Error(error.clone()),
            (None, Some(result)) => Outcome::Result(result.clone()),
            _ => Outcome::Unreadable,
        };
        Self {
            line: Some(message.line().clone()),
            id: message.id().cloned(),
            outcome,
            changed: false,
            of_own: false,
            made_by: None,
        }
    }

    /// An answer whose envelope cannot be read for certain.
    pub(crate) fn unreadable(line: Line, id: RequestId) -> Self {
        Self {
            line: Some(line),
            id: Some(id),
            outcome: Outcome::Unreadable,
            changed: false,
            of_own: false,
            made_by: None,
        }
    }

    /// Whether two parsers may read it in two ways: a key stands twice in its envelope or its
    /// result, or it is no valid JSON. Then it has neither result nor error, and goes outward as
    /// the line that came.
    pub fn is_unreadable(&self) -> bool {
        matches!(self.outcome, Outcome::Unreadable)
    }

    /// The result, unless it is an error.
    pub fn as_result(&self) -> Option<&RawJson> {
        match &self.outcome {
            Outcome::Result(result) => Some(result),
            Outcome::Error(_) | Outcome::Unreadable => None,
        }
    }

    /// The JSON-RPC error, if it is one.
    pub fn as_error(&self) -> Option<&RawJson> {
        match &self.outcome {
            Outcome::Error(error) => Some(error),
            Outcome::Result(_) | Outcome::Unreadable => None,
        }
    }

    /// The result, when the request is done with it: not an error, and in the modern era neither
    /// `input_required` nor a task. A result without `resultType` is complete.
    pub fn as_complete(&self) -> Option<&RawJson> {
        let result = self.as_result()?;
        match result.get("resultType") {
            None => Some(result),
            Some(kind) => (kind.text().as_deref() == Some("complete")).then_some(result),
        }
    }

    /// The response with another result. The other members of its line keep their bytes. One that
    /// is [unreadable](Self::is_unreadable) stays as it is.
    #[must_use]
    pub fn with_result(mut self, result: RawJson) -> Self {
        if self.is_unreadable() {
            return self;
        }
        match (&mut self.line, &self.outcome) {
            (Some(line), Outcome::Result(_)) => {
                *line = line.with_body(&message_set(line.body(), "result", result.as_bytes()));
            }
            // An error's line has no result to replace.
            _ => self.line = None,
        }
        self.outcome = Outcome::Result(result);
        self.changed = true;
        self.made_by = None;
        self
    }

    /// A layer passes it outward: says who made it, where that is not known yet.
    pub(crate) fn passed_by(&mut self, layer: &Arc<str>) {
        if (self.changed || self.of_own) && self.made_by.is_none() {
            self.made_by = Some(Arc::clone(layer));
        }
    }

    /// Says that its line is not the server's.
    pub(crate) fn mark_made(&mut self, by: Arc<str>) {
        self.changed = true;
        self.made_by = Some(by);
    }

    /// Whether a layer made or changed it.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// The line that answers request `id`, and whether it differs from the one that came.
    /// The era is asked for only where it matters.
    pub(crate) fn into_line(mut self, id: &RequestId, era: impl FnOnce() -> Era) -> (Line, bool) {
        if let Some(line) = self.line {
            if self.id.as_ref() == Some(id) {
                return (line, self.changed);
            }
            let body = message_set(line.body(), "id", id.raw().as_bytes());
            return (line.with_body(&body), true);
        }
        if let Outcome::Result(result) = &mut self.outcome
            && result.get("resultType").is_none()
            && era() == Era::Modern
        {
            *result = object_set(result, "resultType", &RawJson::string("complete"));
        }
        let (key, value) = match &self.outcome {
            Outcome::Result(result) => ("result", result.as_str()),
            Outcome::Error(error) => ("error", error.as_str()),
            // An unreadable answer always has the line it came as.
            Outcome::Unreadable => ("result", "null"),
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":{value}}}"#, id.raw());
        (Line::from_body(body.as_bytes()), true)
    }
}

/// The way inward from a layer: the layers inside it, then the wire.
///
/// `Copy`, so that an interceptor may go inward never, once, or many times.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub(crate) core: &'a Core,
    pub(crate) exchange: &'a Arc<ExchangeState>,
    pub(crate) slot: &'a dyn Slot,
    /// The request the layer was called with.
    pub(crate) serial: u64,
    /// How many layers of the chain, counted in the request's direction, the next one is in.
    pub(crate) position: usize,
    pub(crate) layer: &'a Arc<str>,
}

impl<'a> Next<'a> {
    /// Passes a request inward and yields the response. Nothing happens until the future is
    /// polled.
    ///
    /// With the request the layer was called with, the engine keeps what is inside alive even if
    /// the layer breaks. With one of the layer's own ([`Request::own`]), dropping the future
    /// cancels it on the wire.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] once the exchange was cancelled, [`Error::Closed`] when the other side
    /// is gone, [`Error::TooEarly`] for an own request before the session allows one,
    /// [`Error::LayerBroke`] when a layer inside broke and refuses.
    pub fn run(self, request: Request) -> BoxFuture<'a, Result<Response, Error>> {
        if request.serial == Some(self.serial) {
            let mut request = Some(request);
            Box::pin(std::future::poll_fn(move |cx| {
                if let Some(mut request) = request.take() {
                    if request.changed && request.made_by.is_none() {
                        request.made_by = Some(Arc::clone(self.layer));
                    }
                    self.slot.hand_on(request);
                }
                self.slot.poll_answer(cx)
            }))
        } else {
            Box::pin(self.run_own(request))
        }
    }

    async fn run_own(self, mut request: Request) -> Result<Response, Error> {
        request.serial = Some(self.core.next_serial());
        request.made_by = Some(Arc::clone(self.layer));
        // Until the session is open, the time is the layer's own: a host may never open it.
        crate::session::ready_for_own(self.core, self.exchange).await?;
        let _counted = Counted::new(self.slot);
        let exchange = Arc::clone(self.exchange);
        let mut running = crate::session::proceed(self.core, exchange, self.position, request);
        let mut answer = std::future::poll_fn(|cx| running.poll(cx)).await?;
        answer.of_own = true;
        Ok(answer)
    }

    /// The exchange the request belongs to.
    pub fn exchange(&self) -> Exchange<'a> {
        Exchange { core: self.core, state: self.exchange, slot: self.slot, layer: self.layer }
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("layer", &self.layer).finish_non_exhaustive()
    }
}

/// Counts a request of the layer's own, for the hold clock.
pub(crate) struct Counted<'a>(&'a dyn Slot);

impl<'a> Counted<'a> {
    pub(crate) fn new(slot: &'a dyn Slot) -> Self {
        slot.own_started();
        Self(slot)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.own_ended();
    }
}

/// One request of a peer with everything the layers do for it.
#[derive(Clone, Copy)]
pub struct Exchange<'a> {
    core: &'a Core,
    state: &'a ExchangeState,
    slot: &'a dyn Slot,
    layer: &'a Arc<str>,
}

impl<'a> Exchange<'a> {
    /// Which way the request goes.
    pub fn direction(&self) -> Direction {
        self.state.direction
    }

    /// The protocol era of the request.
    pub fn era(&self) -> Era {
        self.state.era()
    }

    /// The protocol version of the request: the one it carries (modern), or the one the handshake
    /// settled (legacy; `None` before that).
    pub fn protocol_version(&self) -> Option<String> {
        self.state.modern_version().or_else(|| self.core.legacy_version())
    }

    /// Resolves once the requester cancels.
    ///
    /// Asking for it changes what a cancellation does: the layers of the exchange are not dropped
    /// but told, requests they have in flight are still answered, and no new one starts. What the
    /// layer returns then is dropped.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + 'a {
        let state = self.state;
        state.be_told_of_cancel();
        std::future::poll_fn(move |cx| state.poll_cancelled(cx))
    }

    /// Whether the requester has cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled()
    }

    /// Whether the session holds as many exchanges as it may: a layer that starts to hold now
    /// counts as broken.
    pub fn is_crowded(&self) -> bool {
        self.core.is_crowded()
    }

    /// Asks the host something and yields its answer.
    ///
    /// In the legacy era this is a request to the host with an id `hoist-<n>`, whose answer the
    /// server never sees. In the modern era the exchange is answered with an `input_required`
    /// result, and goes on when the host retries it with the answer. When nobody waits for the
    /// answer any more, a legacy host is told so.
    ///
    /// # Errors
    ///
    /// [`Error::HostCannot`] when the host did not declare that it takes `method`, or (modern)
    /// when the request is none that may be answered so. [`Error::Closed`] when the host is gone.
    /// [`Error::Cancelled`] when it does not answer within `timeout`: in the modern era nobody
    /// waits for the exchange any more then.
    pub fn ask_host(
        &self,
        method: &str,
        params: RawJson,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        let (core, state, slot, layer) = (self.core, self.state, self.slot, self.layer);
        let method = method.to_owned();
        Box::pin(async move {
            let _counted = Counted::new(slot);
            let ask = crate::session::ask_host(core, state, layer, &method, &params);
            tokio::time::timeout(timeout, ask).await.unwrap_or(Err(Error::Cancelled))
        })
    }
}

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("direction", &self.state.direction).finish_non_exhaustive()
    }
}
