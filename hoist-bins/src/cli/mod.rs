//! The command lines of Hoist's programs, described once.
//!
//! A [`Command`] is a table: a name, a sentence about it, its [`Flag`]s, its subcommands and some
//! examples. The parser ([`parse()`]), the `--help` text ([`help()`]) and the suggestions after a
//! typing mistake all read that table, so what a program accepts and what it says it accepts cannot
//! drift apart. The tables of Hoist's own programs are in [`tables`]; [`mcp_options`] and
//! [`demo_options`] turn a command line into a typed struct.
//!
//! Nothing here prints, exits, reads the process's arguments or reads its environment: a program
//! hands in its arguments and an [`Environment`], and gets a value, a text to print or a
//! [`UsageError`] back.
//!
//! # Examples
//!
//! ```
//! use hoist_bins::cli::{Environment, Invocation, mcp_options};
//!
//! let args = ["--record", "~/logs", "--", "my-server", "--verbose"].map(Into::into).to_vec();
//! let home = Environment { home: Some("/home/ada".into()) };
//! let Invocation::Run(options) = mcp_options("hoist-mcp", args, &home)? else {
//!     panic!("no help was asked for")
//! };
//! assert_eq!(options.record, Some("/home/ada/logs".into()));
//! assert_eq!(options.command, ["my-server", "--verbose"]);
//! # Ok::<(), hoist_bins::cli::UsageError>(())
//! ```

mod error;
mod help;
mod matches;
mod options;
mod parse;
mod suggest;
mod table;
pub mod tables;
#[cfg(test)]
mod tests;
mod value;

pub use error::{EXIT_USAGE, UsageError};
pub use help::help;
pub use matches::Matches;
pub use options::{
    DemoOptions, DiffOptions, ExportOptions, ListenOptions, McpOptions, RedactOptions,
    ReplayOptions, ShowOptions, TryOptions, UpstreamOptions, ValidateOptions, demo_options,
    mcp_options,
};
pub use parse::{Environment, Invocation, parse};
pub use table::{Command, Example, Flag, Kind, Subcommand, Takes};
