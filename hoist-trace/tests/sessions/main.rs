//! Reading sessions of every source.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod atif;
mod bad_input;
mod files;
mod host_sessions;
mod tau2;
mod tau_bench;
mod walking;
