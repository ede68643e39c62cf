//! How sessions begin and end: every way out of one, on either side.

mod backpressure;
mod closing;
mod foreign_streams;
mod half_closed;
mod insisting_hosts;
mod killed;
mod leftovers;
mod signals;
mod starting;
mod streams;

use crate::processes::Notes;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

/// A grace that a test waits out.
const SHORT: [&str; 2] = ["--grace", "0.2"];
/// A grace that no test waits for.
const LONG: [&str; 2] = ["--grace", "1000"];

/// A server that notes itself and has answered one call.
fn answered(notes: &Notes) -> crate::play::Play {
    crate::play::Play::new().note(&notes.path(), "server {pid}").read(1).write(ANSWER)
}
