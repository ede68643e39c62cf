//! What the engine guarantees, each guarantee in a module of its own.
//!
//! The layers here really act, and every test that has one says how often it ran: a guarantee that
//! holds because nothing happened is none.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod ask_host;
mod backpressure;
mod batches;
mod bounded_memory;
mod byte_exact;
mod cancel;
mod cut_through;
mod ending;
mod ids;
mod in_order;
mod interleavings;
mod never_stuck;
mod no_differential;
mod observe;
mod own_requests;
mod util;
