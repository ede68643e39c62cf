//! In-memory ends for tests: a scripted host and a scripted server, no process, no socket.
//!
//! # Examples
//!
//! A layer between a scripted host and a scripted server:
//!
//! ```
//! use hoist_proxy_core::testkit;
//! use hoist_proxy_core::{Acts, Direction, RawJson, Response, interceptor_fn, layer_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let layer = layer_fn(|_session| {
//!     let acts = Acts::nothing().on(Direction::ToServer, "ping");
//!     Ok(Box::new(interceptor_fn("pong", acts, |_request, _next| {
//!         Box::pin(async { Ok(Response::result(RawJson::string("pong"))) })
//!     })))
//! });
//! let mut session = testkit::session(vec![Box::new(layer)]);
//! session.host.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
//! session.host.expect(r#"{"jsonrpc":"2.0","id":1,"result":"pong"}"#).await;
//! session.server.expect_nothing().await;
//! session.end().await;
//! # }
//! ```

mod peer;
mod pipe;
mod wire;

pub use peer::Peer;
pub use wire::{Downstream, Upstream, host, host_with_capacity, server, server_with_capacity};

use tokio::task::JoinHandle;

use crate::{Ended, Error, Layer, Proxy, Report};

/// A session between two scripted peers.
#[derive(Debug)]
pub struct Session {
    /// The scripted host.
    pub host: Peer,
    /// The scripted server.
    pub server: Peer,
    running: JoinHandle<Result<Report, Error>>,
}

/// Starts a session of these layers, outermost first, between two scripted peers. Must be called
/// on a tokio runtime.
pub fn session(layers: Vec<Box<dyn Layer>>) -> Session {
    session_with(layers, |proxy| proxy)
}

/// As [`session`], with a proxy set up further.
pub fn session_with(
    layers: Vec<Box<dyn Layer>>,
    set_up: impl FnOnce(Proxy<Downstream, Upstream>) -> Proxy<Downstream, Upstream>,
) -> Session {
    let (host, downstream) = host();
    let (server, upstream) = server();
    let mut proxy = Proxy::new(downstream, upstream);
    for layer in layers {
        proxy = proxy.layer(layer);
    }
    let running = tokio::spawn(set_up(proxy).run(std::future::pending()));
    Session { host, server, running }
}

impl Session {
    /// Ends the session as a host does that exits, with a server that ends at the end of its
    /// input, and checks that neither was sent a line it did not expect.
    ///
    /// # Panics
    ///
    /// When lines are left, or the session failed.
    pub async fn end(self) -> Ended {
        let Self { mut host, mut server, running } = self;
        host.close();
        server.expect_end().await;
        server.close();
        host.expect_end().await;
        let report = running.await.expect("the proxy's task ends").expect("the proxy ends well");
        report.last.expect("the session ran").expect("the session ends well")
    }
}
