//! `Listener` over real HTTP, byte for byte, with a scripted server behind each session.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod client;
mod setup;

mod access;
mod bodies;
mod legacy;
mod limits;
mod modern;
mod servers;
mod shutdown;
mod streams;
mod time;
mod tls;
mod wire;
