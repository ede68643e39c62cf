//! Command lines as typed options.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hoist_transport::Listener;

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
    /// Where hosts connect by URL, in place of standard input and output.
    pub listen: Option<ListenOptions>,
    /// The server's URL and what goes with it, in place of a command.
    pub upstream: Option<UpstreamOptions>,
    /// The server's program and its arguments; empty only for a server by URL.
    pub command: Vec<OsString>,
}

/// Hosts by URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// `--listen`: where.
    pub address: SocketAddr,
    /// `--listen-token-file`: the file with the token that hosts must show.
    pub token_file: Option<PathBuf>,
    /// `--listen-idle`: how long a session lasts that nobody uses.
    pub idle: Duration,
    /// `--listen-max-sessions`: how many sessions there are at once at most.
    pub max_sessions: usize,
    /// `--listen-max-body`: the longest message a host may send, in bytes.
    pub max_body_bytes: usize,
    /// `--listen-tls-cert` and `--listen-tls-key`: the files that TLS is served with.
    pub tls: Option<(PathBuf, PathBuf)>,
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
    /// The files, and directories of files; never empty.
    pub paths: Vec<PathBuf>,
    /// `--full`: nothing is cut.
    pub full: bool,
    /// `--json`: episodes, for programs.
    pub json: bool,
    /// `--follow`: goes on with what is added to the one log.
    pub follow: bool,
    /// `--strict`: whatever could not be read is a failure.
    pub strict: bool,
    /// `--merged`: what one host session left with several servers is one session.
    pub merged: bool,
}

/// What `hoist replay` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The logs, and directories of logs; never empty.
    pub paths: Vec<PathBuf>,
    /// `--strict`: what was not recorded is a failure.
    pub strict: bool,
    /// `--pace`: answers take as long as they took.
    pub pace: bool,
    /// `--listen`: where to serve over HTTP; over stdin and stdout if nowhere.
    pub listen: Option<SocketAddr>,
}

/// What `hoist export` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// `--sessions` and the other paths: files, and directories of files; never empty.
    pub paths: Vec<PathBuf>,
    /// `--out`: the directory for the tables.
    pub out: PathBuf,
    /// `--merged`: what one host session left with several servers is one session.
    pub merged: bool,
    /// `--strict`: whatever could not be read is a failure.
    pub strict: bool,
    /// `--json`: what was written, for programs.
    pub json: bool,
}

/// What `hoist diff` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    /// The one side: a file, or a directory of files.
    pub a: PathBuf,
    /// The other.
    pub b: PathBuf,
    /// `--ignore`: paths in results that are not compared.
    pub ignore: Vec<String>,
    /// `--merged`: what one host session left with several servers is one session.
    pub merged: bool,
    /// `--json`: the report for programs.
    pub json: bool,
}

/// What `hoist validate` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidateOptions {
    /// The files, and directories of files; never empty.
    pub paths: Vec<PathBuf>,
    /// `--json`: findings for programs.
    pub json: bool,
}

/// What `hoist redact` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactOptions {
    /// `--sessions`: the logs, and directories of logs; never empty.
    pub sessions: Vec<PathBuf>,
    /// `--out`: the directory for the copies.
    pub out: PathBuf,
    /// `--key-file`: the key to make tokens under; a fresh one if nowhere.
    pub key_file: Option<PathBuf>,
    /// `--json`: the report for programs.
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

    /// Refuses flags for a server or for hosts by URL where there are none.
    fn try_from(matches: &Matches) -> Result<Self, UsageError> {
        let usage = |problem| UsageError { program: matches.program().to_owned(), problem };
        let needs = |flags: &[&'static str], needs| {
            let flag = flags.iter().copied().find(|flag| matches.is_given(flag));
            flag.map_or(Ok(()), |flag| Err(usage(Problem::Needs { flag, needs })))
        };
        let upstream = matches.text("--upstream").map(|url| UpstreamOptions {
            url,
            headers: matches.pairs("--upstream-header"),
            ca: matches.path("--upstream-ca"),
            restart: matches.text("--upstream-restart").as_deref() != Some("off"),
        });
        if upstream.is_none() {
            needs(&["--upstream-header", "--upstream-ca", "--upstream-restart"], "--upstream")?;
        }
        let listen = matches.address("--listen").map(|address| ListenOptions {
            address,
            token_file: matches.path("--listen-token-file"),
            idle: matches.number("--listen-idle").map_or(Listener::IDLE, minutes),
            max_sessions: matches
                .number("--listen-max-sessions")
                .and_then(|sessions| sessions.try_into().ok())
                .unwrap_or(Listener::MAX_SESSIONS),
            max_body_bytes: matches.bytes("--listen-max-body").unwrap_or(Listener::MAX_BODY_BYTES),
            tls: matches.path("--listen-tls-cert").zip(matches.path("--listen-tls-key")),
        });
        if listen.is_none() {
            needs(
                &[
                    "--listen-token-file",
                    "--listen-idle",
                    "--listen-max-sessions",
                    "--listen-max-body",
                    "--listen-tls-cert",
                    "--listen-tls-key",
                ],
                "--listen",
            )?;
        }
        if !matches.is_given("--listen-tls-key") {
            needs(&["--listen-tls-cert"], "--listen-tls-key")?;
        }
        if !matches.is_given("--listen-tls-cert") {
            needs(&["--listen-tls-key"], "--listen-tls-cert")?;
        }
        Ok(Self {
            record: matches.path("--record"),
            domain: matches.text("--domain"),
            agent_model: matches.text("--agent-model"),
            server_name: matches.text("--server-name"),
            retain_days: matches.number("--retain-days").and_then(|days| days.try_into().ok()),
            grace: matches.seconds("--grace").unwrap_or(Duration::from_secs(5)),
            max_message_bytes: matches.bytes("--max-message-bytes").unwrap_or(64 << 20),
            listen,
            upstream,
            command: matches.server_command().to_vec(),
        })
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes.saturating_mul(60))
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
            merged: matches.is_given("--merged"),
        };
        let problem = match &options {
            Self { follow: true, json: true, .. } => Problem::NotTogether {
                one: "--follow",
                other: "--json",
                why: "an episode is whole only when the session is over",
            },
            Self { follow: true, merged: true, .. } => Problem::NotTogether {
                one: "--follow",
                other: "--merged",
                why: "one log is followed, and --merged is for several",
            },
            Self { follow: true, paths, .. } if paths.len() > 1 => {
                Problem::OnePathOnly { flag: "--follow", found: paths.len() }
            }
            Self { follow: true, paths, .. }
                if paths.iter().any(|path| path.as_os_str() == "-") =>
            {
                Problem::NotTogether {
                    one: "--follow",
                    other: "- for standard input",
                    why: "what was read once cannot be looked at again; name a file",
                }
            }
            _ => return Ok(options),
        };
        Err(UsageError { program: matches.program().to_owned(), problem })
    }
}

/// For a [`Matches`] of [`tables::REPLAY`].
impl From<&Matches> for ReplayOptions {
    fn from(matches: &Matches) -> Self {
        Self {
            paths: matches.paths().to_vec(),
            strict: matches.is_given("--strict"),
            pace: matches.is_given("--pace"),
            listen: matches.address("--listen"),
        }
    }
}

/// For a [`Matches`] of [`tables::EXPORT`].
impl TryFrom<&Matches> for ExportOptions {
    type Error = UsageError;

    /// Refuses a line without `--out`.
    fn try_from(matches: &Matches) -> Result<Self, UsageError> {
        let out = matches.path("--out").ok_or_else(|| UsageError {
            program: matches.program().to_owned(),
            problem: Problem::Missing { flag: "--out", value: "DIR" },
        })?;
        Ok(Self {
            paths: matches.paths().to_vec(),
            out,
            merged: matches.is_given("--merged"),
            strict: matches.is_given("--strict"),
            json: matches.is_given("--json"),
        })
    }
}

/// For a [`Matches`] of [`tables::DIFF`].
impl TryFrom<&Matches> for DiffOptions {
    type Error = UsageError;

    /// Refuses anything but two sides, of which standard input may be one.
    fn try_from(matches: &Matches) -> Result<Self, UsageError> {
        let usage = |problem| UsageError { program: matches.program().to_owned(), problem };
        let [a, b] = matches.paths() else {
            return Err(usage(Problem::TwoPathsOnly { found: matches.paths().len() }));
        };
        if [a, b].iter().all(|path| path.as_os_str() == "-") {
            return Err(usage(Problem::NotTogether {
                one: "-",
                other: "-",
                why: "standard input can be read once only",
            }));
        }
        Ok(Self {
            a: a.clone(),
            b: b.clone(),
            ignore: matches.texts("--ignore"),
            merged: matches.is_given("--merged"),
            json: matches.is_given("--json"),
        })
    }
}

/// For a [`Matches`] of [`tables::VALIDATE`].
impl From<&Matches> for ValidateOptions {
    fn from(matches: &Matches) -> Self {
        Self { paths: matches.paths().to_vec(), json: matches.is_given("--json") }
    }
}

/// For a [`Matches`] of [`tables::REDACT`].
impl TryFrom<&Matches> for RedactOptions {
    type Error = UsageError;

    /// Refuses to be without a place for the copies.
    fn try_from(matches: &Matches) -> Result<Self, UsageError> {
        let problem = Problem::Missing { flag: "--out", value: "DIR" };
        let out = matches
            .path("--out")
            .ok_or_else(|| UsageError { program: matches.program().to_owned(), problem })?;
        Ok(Self {
            sessions: matches.paths().to_vec(),
            out,
            key_file: matches.path("--key-file"),
            json: matches.is_given("--json"),
        })
    }
}

/// For a [`Matches`] of [`tables::TRY`]; of another table, flags it lacks are taken as absent.
impl From<&Matches> for TryOptions {
    fn from(matches: &Matches) -> Self {
        Self { record: matches.path("--record") }
    }
}
