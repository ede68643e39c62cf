//! A session in memory: what the engine and its layers add to a round trip. `no_proxy` is a task
//! that hands the same lines on over channels: the engine's cost is the difference.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use hoist_benches::{answer_of_bytes, request};
use hoist_proxy_core::testkit::{self, Session};
use hoist_proxy_core::{
    Acts, BoxFuture, Crossing, Direction, Emit, Error, Interceptor, Layer, Line, Message, Next,
    Request, Response, interceptor_fn, layer_fn,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::Instant;

fn engine(c: &mut Criterion) {
    let mut group = c.benchmark_group("round_trip");
    for (size, bytes) in [("200B", 200), ("4KiB", 4 << 10), ("64KiB", 64 << 10)] {
        all_ways(&mut group, size, bytes, 1);
    }
    group.finish();
    let mut group = c.benchmark_group("64_in_flight");
    all_ways(&mut group, "200B", 200, 64);
    group.finish();
    let mut group = c.benchmark_group("held_answer");
    held(&mut group);
    group.finish();
}

/// With no proxy, with layers that only watch, and with chains that act.
fn all_ways(group: &mut BenchmarkGroup<'_, WallTime>, size: &str, bytes: usize, in_flight: u64) {
    group.throughput(Throughput::Elements(in_flight));
    let requests: Vec<_> = (0..in_flight).map(|id| line(&request(id))).collect();
    let answers: Vec<_> = (0..in_flight).map(|id| line(&answer_of_bytes(id, bytes))).collect();
    let runtime = runtime();
    let mut bench = |name: &str, way: &mut dyn FnMut(u64) -> Duration| {
        group.bench_function(BenchmarkId::new(name, size), |b| b.iter_custom(&mut *way));
    };

    let mut relay = runtime.block_on(async { Relay::start() });
    bench("no_proxy", &mut |times| {
        runtime.block_on(timed(times, async || relay.round_trip(&requests, &answers).await))
    });
    for (name, layers) in [
        ("chain_0", vec![]),
        ("observing", vec![observing()]),
        ("acting_1", acting(1)),
        ("acting_4", acting(4)),
    ] {
        let mut session = runtime.block_on(async { testkit::session(layers) });
        bench(name, &mut |times| {
            runtime.block_on(timed(times, async || {
                round_trip(&mut session, &requests, &answers).await;
            }))
        });
    }
}

/// An answer that a layer keeps until the task has had another turn, or until a request of the
/// layer's own was answered.
fn held(group: &mut BenchmarkGroup<'_, WallTime>) {
    let runtime = runtime();
    let (ask, answer) = ([line(&request(7))], [line(&answer_of_bytes(7, 200))]);
    let passing = runtime.block_on(opened(acting(1)));
    let one_turn = runtime.block_on(opened(vec![layer("hold", |request, next| {
        Box::pin(async move {
            let response = next.run(request).await;
            tokio::task::yield_now().await;
            response
        })
    })]));
    for (name, mut session) in [("not_held", passing), ("for_one_turn", one_turn)] {
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                runtime.block_on(timed(times, async || {
                    round_trip(&mut session, &ask, &answer).await;
                }))
            });
        });
    }
    let mut session = runtime.block_on(opened(vec![layer("look-up", |request, next| {
        Box::pin(async move {
            let response = next.run(request).await;
            next.run(Request::own("tools/call", None)).await?;
            response
        })
    })]));
    group.bench_function("for_a_request_of_its_own", |b| {
        b.iter_custom(|times| {
            runtime.block_on(timed(times, async || {
                session.host.send_line(ask[0].clone()).await;
                session.server.receive_line().await;
                session.server.send_line(answer[0].clone()).await;
                let own = session.server.receive_line().await.expect("a request of the layer's");
                session.server.send_line(answer_to(&own)).await;
                session.host.receive_line().await.expect("an answer");
            }))
        });
    });
}

async fn timed(times: u64, mut once: impl AsyncFnMut()) -> Duration {
    let started = Instant::now();
    for _ in 0..times {
        once().await;
    }
    started.elapsed()
}

async fn round_trip(session: &mut Session, requests: &[Line], answers: &[Line]) {
    for request in requests {
        session.host.send_line(request.clone()).await;
    }
    for _ in requests {
        session.server.receive_line().await.expect("a request");
    }
    for answer in answers {
        session.server.send_line(answer.clone()).await;
    }
    for _ in answers {
        session.host.receive_line().await.expect("an answer");
    }
}

/// A session after its handshake.
async fn opened(layers: Vec<Box<dyn Layer>>) -> Session {
    let mut session = testkit::session(layers);
    session.host.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
    session.server.receive().await;
    session.server.send(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#).await;
    session.host.receive().await;
    session.host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    session.server.receive().await;
    session
}

fn answer_to(request: &Line) -> Line {
    let message = Message::parse(request).expect("the proxy writes messages");
    let id = message.id().expect("a request has an id").raw();
    line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
}

fn observing() -> Box<dyn Layer> {
    struct Watch;
    impl Interceptor for Watch {
        fn name(&self) -> &'static str {
            "watch"
        }
        fn observe(&self, crossing: &Crossing<'_>, _emit: &mut Emit) {
            std::hint::black_box(crossing.side());
        }
    }
    Box::new(layer_fn(|_session| Ok(Box::new(Watch))))
}

/// Layers that act on every call and pass it on.
fn acting(layers: usize) -> Vec<Box<dyn Layer>> {
    (0..layers)
        .map(|_| layer("pass-on", |request, next| Box::pin(async move { next.run(request).await })))
        .collect()
}

/// A layer that acts on every call, from a function of its request and what is inside.
fn layer<F>(name: &'static str, call: F) -> Box<dyn Layer>
where
    F: for<'a> Fn(Request, Next<'a>) -> BoxFuture<'a, Result<Response, Error>>
        + Send
        + Sync
        + Clone
        + 'static,
{
    Box::new(layer_fn(move |_session| {
        let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
        Ok(Box::new(interceptor_fn(name, acts, call.clone())))
    }))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime starts")
}

fn line(body: &str) -> Line {
    Line::from_body(body.as_bytes())
}

/// Hands lines on, both ways, without looking at them.
struct Relay {
    host: (Sender<Line>, Receiver<Line>),
    server: (Sender<Line>, Receiver<Line>),
}

impl Relay {
    fn start() -> Self {
        let (from_host, mut host_lines) = mpsc::channel::<Line>(1024);
        let (from_server, mut server_lines) = mpsc::channel::<Line>(1024);
        let (to_host, at_host) = mpsc::channel(1024);
        let (to_server, at_server) = mpsc::channel(1024);
        tokio::spawn(async move {
            loop {
                let sent = tokio::select! {
                    Some(line) = host_lines.recv() => to_server.send(line).await,
                    Some(line) = server_lines.recv() => to_host.send(line).await,
                    else => return,
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Self { host: (from_host, at_host), server: (from_server, at_server) }
    }

    async fn round_trip(&mut self, requests: &[Line], answers: &[Line]) {
        for request in requests {
            self.host.0.send(request.clone()).await.expect("the relay runs");
        }
        for _ in requests {
            self.server.1.recv().await.expect("a request");
        }
        for answer in answers {
            self.server.0.send(answer.clone()).await.expect("the relay runs");
        }
        for _ in answers {
            self.host.1.recv().await.expect("an answer");
        }
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
