//! Layers that do something, and sessions around them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hoist_proxy_core::json::{array_push, object_set};
use hoist_proxy_core::testkit::{self, Peer, Session};
use hoist_proxy_core::{
    Acts, BoxFuture, Crossing, Direction, Emit, Ended, Error, Hold, Interceptor, Layer, Next,
    Notification, Pass, Proxy, RawJson, Report, Request, Response, Side, WhenBroken, layer_fn,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often a layer ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ran(Arc<AtomicUsize>);

impl Ran {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn once_more(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Call =
    dyn for<'a> Fn(Request, Next<'a>) -> BoxFuture<'a, Result<Response, Error>> + Send + Sync;
type Judge = dyn Fn(&Notification<'_>) -> Pass + Send + Sync;

/// A layer that acts, put together for one test.
#[derive(Clone)]
pub(crate) struct Act {
    name: &'static str,
    acts: Acts,
    hold: Option<Hold>,
    when_broken: WhenBroken,
    call: Arc<Call>,
    judge: Option<Arc<Judge>>,
    pub(crate) ran: Ran,
}

/// A layer that handles `tools/call`.
pub(crate) fn act<F>(name: &'static str, call: F) -> Act
where
    F: for<'a> Fn(Request, Next<'a>) -> BoxFuture<'a, Result<Response, Error>>
        + Send
        + Sync
        + 'static,
{
    Act {
        name,
        acts: Acts::nothing().on(Direction::ToServer, "tools/call"),
        hold: None,
        when_broken: WhenBroken::Refuse,
        call: Arc::new(call),
        judge: None,
        ran: Ran::default(),
    }
}

impl Act {
    pub(crate) fn acts(mut self, acts: Acts) -> Self {
        self.acts = acts;
        self
    }

    pub(crate) fn strict(mut self) -> Self {
        self.acts = self.acts.refusing_ambiguous();
        self
    }

    pub(crate) fn hold(mut self, hold: Hold) -> Self {
        self.hold = Some(hold);
        self
    }

    pub(crate) fn hold_ms(self, ms: u64) -> Self {
        self.hold(Hold::at_most(Duration::from_millis(ms)))
    }

    /// The same layer, counted anew.
    pub(crate) fn again(&self) -> Self {
        Self { ran: Ran::default(), ..self.clone() }
    }

    /// When it breaks, the call goes on.
    pub(crate) fn lenient(mut self) -> Self {
        self.when_broken = WhenBroken::Pass;
        self
    }

    pub(crate) fn judging(
        mut self,
        judge: impl Fn(&Notification<'_>) -> Pass + Send + Sync + 'static,
    ) -> Self {
        self.acts = self.acts.on_notifications();
        self.judge = Some(Arc::new(judge));
        self
    }

    pub(crate) fn layer(&self) -> Box<dyn Layer> {
        let act = self.clone();
        Box::new(layer_fn(move |_session| Ok(Box::new(act.clone()))))
    }
}

impl Interceptor for Act {
    fn name(&self) -> &str {
        self.name
    }

    fn acts(&self) -> Acts {
        self.acts.clone()
    }

    fn max_hold(&self) -> Option<Hold> {
        self.hold
    }

    fn when_broken(&self) -> WhenBroken {
        self.when_broken
    }

    fn notify(&self, notification: &Notification<'_>) -> Pass {
        self.ran.once_more();
        self.judge.as_ref().map_or(Pass::On, |judge| judge(notification))
    }

    fn call<'a>(
        &'a self,
        request: Request,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        self.ran.once_more();
        (self.call)(request, next)
    }
}

/// Passes on and holds nothing.
pub(crate) fn passes() -> Act {
    act("passes", |request, next| next.run(request))
}

/// As [`passes`], for every request both ways and every notification.
pub(crate) fn passes_all() -> Act {
    passes().acts(
        Acts::nothing()
            .on_every(Direction::ToServer)
            .on_every(Direction::ToHost)
            .on_notifications(),
    )
}

/// Answers itself, with an error.
pub(crate) fn refuses() -> Act {
    act("refuses", |_request, _next| Box::pin(async { Ok(Response::error(-32000, "refused")) }))
}

/// Adds an item to the content of the answer.
pub(crate) fn amends(item: &'static str) -> Act {
    act("amends", move |request, next| {
        Box::pin(async move { Ok(with_item(next.run(request).await?, item)) })
    })
}

/// The response with a text added to its content.
pub(crate) fn with_item(response: Response, text: &str) -> Response {
    let Some(result) = response.as_complete().cloned() else { return response };
    let Some(content) = result.get("content").filter(RawJson::is_array) else { return response };
    let item = raw(&format!(r#"{{"type":"text","text":"{text}"}}"#));
    let result = object_set(&result, "content", &array_push(&content, &item));
    response.with_result(result)
}

/// Makes `count` lookups, then passes the host's request on.
pub(crate) fn looks_up(count: usize) -> Act {
    act("looks-up", move |request, next| {
        Box::pin(async move {
            for n in 0..count {
                next.run(lookup(n)).await?;
            }
            next.run(request).await
        })
    })
}

/// A lookup of a layer's own.
pub(crate) fn lookup(n: usize) -> Request {
    Request::own(
        "tools/call",
        Some(raw(&format!(r#"{{"name":"lookup","arguments":{{"n":{n}}}}}"#))),
    )
}

/// Hangs for ever before it passes the request on.
pub(crate) fn hangs_before() -> Act {
    act("hangs", |_request, _next| Box::pin(std::future::pending()))
}

/// Hangs for ever once it has the answer.
pub(crate) fn hangs_after() -> Act {
    act("hangs", |request, next| {
        Box::pin(async move {
            let _answer = next.run(request).await?;
            std::future::pending().await
        })
    })
}

/// Lets a request leave, and does not wait for its answer.
pub(crate) async fn let_leave(run: &mut BoxFuture<'_, Result<Response, Error>>) {
    std::future::poll_fn(|cx| {
        assert!(run.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
}

/// What a test opens and closes to let layers go on.
#[derive(Debug, Clone)]
pub(crate) struct Gate(tokio::sync::watch::Sender<bool>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(tokio::sync::watch::Sender::new(false))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn pass(&self) {
        let mut open = self.0.subscribe();
        open.wait_for(|open| *open).await.expect("the gate is kept");
    }
}

/// Holds the answer until the gate opens.
pub(crate) fn holds_answer(gate: &Gate) -> Act {
    let gate = gate.clone();
    act("holds", move |request, next| {
        let gate = gate.clone();
        Box::pin(async move {
            let answer = next.run(request).await?;
            gate.pass().await;
            Ok(answer)
        })
    })
}

/// Holds the request until the gate opens.
pub(crate) fn holds_request(gate: &Gate) -> Act {
    let gate = gate.clone();
    act("holds", move |request, next| {
        let gate = gate.clone();
        Box::pin(async move {
            gate.pass().await;
            next.run(request).await
        })
    })
}

/// What crossed: its side, who made it, and its body.
type Entry = (Side, Option<String>, String);

/// An observer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Entry>>>);

impl Log {
    pub(crate) fn layer(&self) -> Box<dyn Layer> {
        let log = self.clone();
        Box::new(layer_fn(move |_session| Ok(Box::new(log.clone()))))
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn sides(&self) -> Vec<Side> {
        self.entries().into_iter().map(|(side, ..)| side).collect()
    }

    /// Side, maker and body, for comparison.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(side, by, body): Entry| match by {
            Some(by) => format!("{side:?} {by} {body}"),
            None => format!("{side:?} {body}"),
        };
        self.entries().into_iter().map(line).collect()
    }
}

impl Interceptor for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn observe(&self, crossing: &Crossing<'_>, _emit: &mut Emit) {
        let body = crossing
            .bytes()
            .map_or_else(|| "lost".into(), |b| String::from_utf8_lossy(&b).into_owned());
        self.0.lock().unwrap().push((crossing.side(), crossing.made_by().map(Into::into), body));
    }
}

pub(crate) fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

/// A `tools/call` of the host's.
pub(crate) fn call(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
}

/// An answer to it.
pub(crate) fn answer(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

pub(crate) fn ping(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

pub(crate) fn cancel(id: impl std::fmt::Display) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// A notification that says its number.
pub(crate) fn note(n: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/note","params":{{"n":{n}}}}}"#)
}

/// The id of a line, as it is spelt.
pub(crate) fn id_of(line: &str) -> String {
    raw(line).get("id").unwrap().to_string()
}

/// What a layer's own request is answered with, whatever its id.
pub(crate) async fn answer_own(server: &mut Peer) -> String {
    let request = server.receive().await;
    assert!(id_of(&request).starts_with("\"hoist-"), "{request}");
    server.send(&answer(id_of(&request))).await;
    request
}

/// Ends the legacy handshake on both sides.
pub(crate) async fn handshake(session: &mut Session) {
    handshake_with(session, "{}").await;
}

/// As [`handshake`], with a host of these capabilities.
pub(crate) async fn handshake_with(session: &mut Session, capabilities: &str) {
    let initialize = format!(
        r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"h","version":"1"}}}}}}"#
    );
    cross(&mut session.host, &mut session.server, &initialize).await;
    let result = r#"{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    cross(&mut session.server, &mut session.host, result).await;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    cross(&mut session.host, &mut session.server, initialized).await;
}

/// One line crosses unchanged.
#[track_caller]
pub(crate) fn cross<'a>(
    from: &'a mut Peer,
    to: &'a mut Peer,
    body: &'a str,
) -> impl Future<Output = ()> + 'a {
    let expected = to.expect(body);
    async move {
        from.send(body).await;
        expected.await;
    }
}

/// A session of these layers.
pub(crate) fn session(layers: &[&Act]) -> Session {
    testkit::session(layers.iter().map(|l| l.layer()).collect())
}

/// A proxy that a test can shut down.
pub(crate) struct Stoppable {
    pub(crate) host: Peer,
    pub(crate) server: Peer,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) running: JoinHandle<Result<Report, Error>>,
}

impl Stoppable {
    pub(crate) fn start(layers: Vec<Box<dyn Layer>>, capacity: usize) -> Self {
        let (host, downstream) = testkit::host_with_capacity(capacity);
        let (server, upstream) = testkit::server_with_capacity(capacity);
        let mut proxy = Proxy::new(downstream, upstream);
        for layer in layers {
            proxy = proxy.layer(layer);
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(proxy.run(async {
            let _ = stopped.await;
        }));
        Self { host, server, stop: Some(stop), running }
    }

    pub(crate) fn shut_down(&mut self) {
        self.stop.take().expect("shut down once").send(()).expect("the proxy listens");
    }

    /// How the session ended.
    pub(crate) async fn ended(self) -> Result<Ended, Error> {
        let report = self.running.await.expect("the proxy's task ends").expect("the proxy ends");
        report.last.expect("a session ran")
    }
}
