//! What the engine guarantees, each guarantee in a module of its own.
//!
//! The layers here really act, and every test that has one says how often it ran: a guarantee that
//! holds because nothing happened is none.

mod ask_host;
mod batches;
mod bounded_memory;
mod byte_exact;
mod cancel;
mod ending;
mod ids;
mod in_order;
mod never_stuck;
mod no_differential;
mod observe;
mod own_requests;
mod util;
