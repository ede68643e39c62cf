//! Command lines as typed options.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::error::{Problem, UsageError};
use super::matches::Matches;
use super::parse::{Environment, Invocation, parse};
use super::tables;
use crate::demo::{Oddity, World};

/// What `hoist-mcp` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpOptions {
    /// `--record`: the directory for session logs.
    pub record: Option<PathBuf>,
    /// `--domain`: for the log header.
    pub domain: Option<String>,
    /// `--agent-model`: for the log header.
    pub agent_model: Option<String>,
    /// `--server-name`: for the log header.
    pub server_name: Option<String>,
    /// `--retain-days`: logs older than this many days go.
    pub retain_days: Option<u32>,
    /// `--grace`: how long each step of stopping the server waits.
    pub grace: Duration,
    /// `--max-message-bytes`: the longest message held in memory.
    pub max_message_bytes: usize,
    /// The server's URL and what goes with it, in place of a command.
    pub upstream: Option<UpstreamOptions>,
    /// The server's program and its arguments; empty only for a server by URL.
    pub command: Vec<OsString>,
}

/// A server by URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamOptions {
    /// `--upstream`: where it is.
    pub url: String,
    /// `--upstream-header`: names of headers, and the variables that hold their values.
    pub headers: Vec<(String, String)>,
    /// `--upstream-ca`: certificates to trust.
    pub ca: Option<PathBuf>,
    /// `--upstream-restart`: whether a session that the server ended is started again.
    pub restart: bool,
}

/// What `hoist-mcp-demo` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoOptions {
    /// `--world`: which tools to serve.
    pub world: World,
    /// `--http`: where to serve over HTTP; over stdin and stdout if nowhere.
    pub http: Option<SocketAddr>,
    /// `--odd`: how to be hard to deal with, over HTTP.
    pub odd: Vec<Oddity>,
}

/// What `hoist try` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryOptions {
    /// `--record`: where the log is kept; a temporary directory, removed at the end, if nowhere.
    pub record: Option<PathBuf>,
}

/// What `hoist show` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ShowOptions {
    /// The logs, and directories of logs; never empty.
    pub paths: Vec<PathBuf>,
    /// `--full`: nothing is cut.
    pub full: bool,
    /// `--json`: episodes, for programs.
    pub json: bool,
    /// `--follow`: goes on with what is added to the one log.
    pub follow: bool,
    /// `--strict`: whatever could not be read is a failure.
    pub strict: bool,
}

/// What `hoist validate` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidateOptions {
    /// The logs, and directories of logs; never empty.
    pub paths: Vec<PathBuf>,
    /// `--json`: findings for programs.
    pub json: bool,
}

/// Reads the command line of `hoist-mcp`, run as `program`: [`parse()`] with [`tables::MCP`].
///
/// # Errors
///
/// As [`parse()`].
pub fn mcp_options(
    program: &str,
    words: Vec<OsString>,
    environment: &Environment,
) -> Result<Invocation<McpOptions>, UsageError> {
    match parse(&tables::MCP, program, words, environment)? {
        Invocation::Run(matches) => McpOptions::try_from(&matches).map(Invocation::Run),
        Invocation::Print(text) => Ok(Invocation::Print(text)),
    }
}

/// Reads the command line of `hoist-mcp-demo`, run as `program`: [`parse()`] with [`tables::DEMO`].
///
/// # Errors
///
/// As [`parse()`].
pub fn demo_options(
    program: &str,
    words: Vec<OsString>,
    environment: &Environment,
) -> Result<Invocation<DemoOptions>, UsageError> {
    Ok(parse(&tables::DEMO, program, words, environment)?
        .map(|matches| DemoOptions::from(&matches)))
}

/// For a [`Matches`] of [`tables::MCP`]; of another table, flags it lacks are taken as absent.
impl TryFrom<&Matches> for McpOptions {
    type Error = UsageError;

    /// Refuses flags for a server by URL where there is none.
    fn try_from(matches: &Matches) -> Result<Self, UsageError> {
        let upstream = matches.text("--upstream").map(|url| UpstreamOptions {
            url,
            headers: matches.pairs("--upstream-header"),
            ca: matches.path("--upstream-ca"),
            restart: matches.text("--upstream-restart").as_deref() != Some("off"),
        });
        for flag in ["--upstream-header", "--upstream-ca", "--upstream-restart"] {
            if upstream.is_none() && matches.is_given(flag) {
                let problem = Problem::Needs { flag, needs: "--upstream" };
                return Err(UsageError { program: matches.program().to_owned(), problem });
            }
        }
        Ok(Self {
            record: matches.path("--record"),
            domain: matches.text("--domain"),
            agent_model: matches.text("--agent-model"),
            server_name: matches.text("--server-name"),
            retain_days: matches.number("--retain-days").and_then(|days| days.try_into().ok()),
            grace: matches.seconds("--grace").unwrap_or(Duration::from_secs(5)),
            max_message_bytes: matches.bytes("--max-message-bytes").unwrap_or(64 << 20),
            upstream,
            command: matches.server_command().to_vec(),
        })
    }
}

/// For a [`Matches`] of [`tables::DEMO`]; of another table, flags it lacks are taken as absent.
impl From<&Matches> for DemoOptions {
    fn from(matches: &Matches) -> Self {
        let world =
            matches.text("--world").and_then(|name| World::from_name(&name)).unwrap_or_default();
        let odd = matches.texts("--odd");
        let odd = odd.iter().filter_map(|name| Oddity::from_name(name)).collect();
        Self { world, http: matches.address("--http"), odd }
    }
}

/// For a [`Matches`] of [`tables::SHOW`].
impl TryFrom<&Matches> for ShowOptions {
    type Error = UsageError;

    /// Refuses flags that do not go together.
    fn try_from(matches: &Matches) -> Result<Self, UsageError> {
        let options = Self {
            paths: matches.paths().to_vec(),
            full: matches.is_given("--full"),
            json: matches.is_given("--json"),
            follow: matches.is_given("--follow"),
            strict: matches.is_given("--strict"),
        };
        let problem = match &options {
            Self { follow: true, json: true, .. } => Problem::NotTogether {
                one: "--follow",
                other: "--json",
                why: "an episode is whole only when the session is over",
            },
            Self { follow: true, paths, .. } if paths.len() > 1 => {
                Problem::OnePathOnly { flag: "--follow", found: paths.len() }
            }
            _ => return Ok(options),
        };
        Err(UsageError { program: matches.program().to_owned(), problem })
    }
}

/// For a [`Matches`] of [`tables::VALIDATE`].
impl From<&Matches> for ValidateOptions {
    fn from(matches: &Matches) -> Self {
        Self { paths: matches.paths().to_vec(), json: matches.is_given("--json") }
    }
}

/// For a [`Matches`] of [`tables::TRY`]; of another table, flags it lacks are taken as absent.
impl From<&Matches> for TryOptions {
    fn from(matches: &Matches) -> Self {
        Self { record: matches.path("--record") }
    }
}
