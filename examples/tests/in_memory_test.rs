//! A test of a layer with no process and no socket.
//!
//! The lesson: `testkit` plays the host and the server. A test says line by line what each sends
//! and what each must be sent; the proxy between them is the real one. With tokio's paused clock a
//! wait of half a minute takes no time, and nothing depends on how fast the machine is.
//!
//! ```sh
//! cargo test -p hoist-examples --test in_memory_test
//! ```

use std::time::Duration;

use hoist_proxy_core::testkit::{self, Session};
use hoist_proxy_core::{Acts, Direction, Error, Layer, Response, interceptor_fn, layer_fn};
use tokio::time::{Instant, timeout};

const LIMIT: Duration = Duration::from_secs(30);

/// The layer under test: a call that takes too long is answered for the server.
fn time_limit() -> impl Layer {
    layer_fn(|_session| {
        let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
        Ok(Box::new(interceptor_fn("time-limit", acts, |request, next| {
            Box::pin(async move {
                let answer = timeout(LIMIT, next.run(request)).await;
                answer
                    .unwrap_or_else(|_too_late| Ok::<_, Error>(Response::error(-32000, "too slow")))
            })
        })))
    })
}

/// A session in which the host has made a call that has reached the server.
async fn session_with_a_call() -> Session {
    const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}"#;
    let mut session = testkit::session(vec![Box::new(time_limit())]);
    session.host.send(CALL).await;
    session.server.expect(CALL).await;
    session
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_passes_with_the_bytes_it_came_with() {
    const ANSWER: &str = r#"{ "result":{"n":1.0}, "id":7, "jsonrpc":"2.0" }"#;
    let mut session = session_with_a_call().await;
    tokio::time::advance(LIMIT * 9 / 10).await;
    session.server.send(ANSWER).await;
    session.host.expect(ANSWER).await;
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_answered_and_the_server_is_told() {
    let mut session = session_with_a_call().await;
    let asked = Instant::now();
    tokio::time::advance(LIMIT).await;
    session
        .host
        .expect(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"too slow"}}"#)
        .await;
    assert_eq!(asked.elapsed(), LIMIT);
    session
        .server
        .expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    // An answer that comes after all goes nowhere: `end` checks that nobody was sent more.
    session.server.send(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).await;
    session.end().await;
}
