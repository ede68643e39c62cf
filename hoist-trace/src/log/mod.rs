//! Session log, format 2: one header line, then one JSON object per line of the wire.
//!
//! ```text
//! {"hoist_mcp_log":2,"session":"…","started_unix_ms":…,"server_command":[…],"domain":…,"agent_model":…,"host_session":…}
//! {"t_ms":12,"from":"client","message":{"jsonrpc":"2.0","id":3,"method":"tools/call",…}}
//! {"t_ms":14,"from":"proxy","by":"flow","message":{…}}
//! {"t_ms":15,"from":"server","raw":"Listening on stdio"}
//! {"t_ms":20,"from":"server","gap":{"lines":3,"bytes":12345}}
//! ```
//!
//! Only a line feed ends a line, and a message stands in the log with the bytes it had on the
//! wire. Readers skip members and lines they do not know.

#[cfg(feature = "recorder")]
mod check;
mod entry;
mod error;
mod header;
mod reader;
#[cfg(feature = "recorder")]
pub(crate) mod writer;

pub use entry::{Content, Entry, Gap, Origin};
pub use error::LogError;
pub(crate) use error::describe;
pub use header::{FORMAT, Header};
pub use reader::{LogReader, ReadReport};
