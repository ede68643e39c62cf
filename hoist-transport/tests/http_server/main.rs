//! `HttpServer` against a scripted server on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod answers;
mod http2;
mod order;
mod proxies;
mod server;
mod sessions;
mod streams;
mod tls;
