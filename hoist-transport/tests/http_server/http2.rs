//! Servers that offer HTTP/2: what is in flight shares a connection.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use hoist_proxy_core::testkit::{self, Peer};
use hoist_proxy_core::{Proxy, Report};
use hoist_transport::HttpServer;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, watch};
use tokio::task::JoinHandle;

use crate::tls::authority;

/// How many requests are in flight.
const IN_FLIGHT: usize = 64;

/// The connections that a server has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Connections {
    opened: usize,
    closed: usize,
}

/// A host behind a proxy to a server that offers HTTP/2 and HTTP/1.1.
struct Setup {
    host: Peer,
    connections: watch::Receiver<Connections>,
    running: JoinHandle<Result<Report, hoist_proxy_core::Error>>,
}

impl Setup {
    /// The server answers a request `wait` once so many of them are there; any other at once. It
    /// takes so many streams at once on one connection.
    async fn new(together: usize, max_streams: u32) -> Self {
        let (pem, tls) = authority("127.0.0.1", &[b"h2", b"http/1.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/mcp", listener.local_addr().unwrap());
        let (count, connections) = watch::channel(Connections::default());
        let (count, all_are_there) = (Arc::new(count), Arc::new(Barrier::new(together)));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.send_modify(|count| count.opened += 1);
                let (tls, all_are_there) = (tls.clone(), Arc::clone(&all_are_there));
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    // One that is not needed may be closed in the middle of its handshake.
                    if let Ok(stream) = tls.accept(stream).await {
                        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                        let service = service_fn(move |request| {
                            let all_are_there = Arc::clone(&all_are_there);
                            async move { Ok::<_, Infallible>(answer(request, &all_are_there).await) }
                        });
                        let _ = http2::Builder::new(TokioExecutor::new())
                            .max_concurrent_streams(max_streams)
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                    }
                    count.send_modify(|count| count.closed += 1);
                });
            }
        });
        let (host, downstream) = testkit::host();
        let server = HttpServer::new(&url).unwrap().root_certificates(pem.as_bytes()).unwrap();
        let running = tokio::spawn(Proxy::new(downstream, server).run(std::future::pending()));
        Self { host, connections, running }
    }

    /// One request and its answer.
    async fn ask_first(&mut self) {
        self.host.send(r#"{"id":"first","method":"ping"}"#).await;
        self.host.expect(r#"{"id":"first","result":{}}"#).await;
    }

    /// Sends all requests at once; each must be answered, once.
    async fn ask_together(&mut self) {
        for id in 0..IN_FLIGHT {
            self.host.send(&format!(r#"{{"id":{id},"method":"wait"}}"#)).await;
        }
        let mut answers = Vec::new();
        for _ in 0..IN_FLIGHT {
            answers.push(self.host.receive().await);
        }
        answers.sort_unstable();
        let mut expected: Vec<_> =
            (0..IN_FLIGHT).map(|id| format!(r#"{{"id":{id},"result":{{}}}}"#)).collect();
        expected.sort_unstable();
        assert_eq!(answers, expected);
    }

    fn connections(&self) -> Connections {
        *self.connections.borrow()
    }

    async fn end(mut self) {
        self.host.close();
        self.host.expect_end().await;
        self.running.await.unwrap().unwrap().into_last().unwrap();
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    all_are_there: &Barrier,
) -> hyper::Response<Full<Bytes>> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
    if message["method"] == "wait" {
        all_are_there.wait().await;
    }
    let answer = format!(r#"{{"id":{},"result":{{}}}}"#, message["id"]);
    let mut answer = hyper::Response::new(Full::new(Bytes::from(answer)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

#[tokio::test]
async fn all_that_is_in_flight_shares_one_connection() {
    let mut setup = Setup::new(IN_FLIGHT, 200).await;
    setup.ask_first().await;
    setup.ask_together().await;
    setup.ask_together().await;
    assert_eq!(setup.connections(), Connections { opened: 1, closed: 0 });
    setup.end().await;
}

#[tokio::test]
async fn what_the_server_takes_no_stream_for_waits() {
    let mut setup = Setup::new(1, 8).await;
    setup.ask_first().await;
    setup.ask_together().await;
    assert_eq!(setup.connections(), Connections { opened: 1, closed: 0 });
    setup.end().await;
}

#[tokio::test]
async fn of_connections_that_are_opened_at_once_one_remains() {
    let mut setup = Setup::new(IN_FLIGHT, 200).await;
    // Nobody knows yet that the server speaks HTTP/2, so each may open a connection.
    setup.ask_together().await;
    setup.ask_together().await;
    let one_is_open = |count: &Connections| count.opened - count.closed == 1;
    let opened = setup.connections.wait_for(one_is_open).await.unwrap().opened;
    assert!(opened <= IN_FLIGHT, "{opened}");
    setup.end().await;
}
