//! A tiny MCP server to try the proxy on, right in every protocol revision.
//!
//! It serves one of two [`World`]s: `echo`, whose tools answer with their arguments, or `retail`, a
//! shop with canned data. Legacy clients (2024-11-05 to 2025-11-25, which start with `initialize`)
//! and modern ones (2026-07-28, which name their version in each request's `_meta`) may share one
//! connection: the era is decided message by message.
//!
//! [`Server`] and [`Connection`] know no transport and no clock: a connection takes one incoming
//! message and gives back [`Effect`]s, messages to send now and answers that are due later.
//! [`serve_stdio`] drives one over a pair of byte streams; another front end can drive as many as
//! it likes from the same server.
//!
//! # Examples
//!
//! ```
//! use hoist_bins::demo::{Effect, Server, World};
//!
//! let mut connection = Server::new(World::Echo).connect();
//! let effects = connection.receive(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
//! let [Effect::Send(answer)] = effects.as_slice() else { panic!("one answer, at once") };
//! assert_eq!(answer.as_str(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//! ```

mod calls;
mod connection;
mod echo;
mod http;
mod legacy;
mod message;
mod modern;
mod pending;
mod results;
mod retail;
mod revision;
mod server;
mod stdio;
mod tool;
mod wire;
mod world;

pub use self::http::{Oddity, serve_http};
pub use connection::{Connection, Effect};
pub use pending::Ticket;
pub use server::Server;
pub use stdio::{MAX_LINE_BYTES, StdioError, serve_stdio};
pub use wire::Outgoing;
pub use world::World;
