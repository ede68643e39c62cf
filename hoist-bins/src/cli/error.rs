//! What can be wrong with a command line.

use std::ffi::OsStr;

use hoist_trace::credentials::redact_command;
use thiserror::Error;

/// The exit code of a program whose command line was wrong.
pub const EXIT_USAGE: u8 = 2;

/// A command line that cannot be run, whose `Display` is the whole message for the user.
///
/// The message has two lines: what is wrong, on which argument and what to do, then where to read
/// more. The program prints it to stderr and exits with [`EXIT_USAGE`].
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{program}: {problem}\nrun `{program} --help` to see what it takes")]
pub struct UsageError {
    pub(super) program: String,
    pub(super) problem: Problem,
}

/// What is wrong; always the user's mistake.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Problem {
    #[error("unknown flag {flag}{}", did_you_mean(.nearest.as_deref()))]
    UnknownFlag { flag: String, nearest: Option<String> },
    #[error("unknown command `{word}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownCommand { word: String, nearest: Option<String> },
    #[error("a command is needed: {expected}")]
    NoCommand { expected: String },
    #[error("{flag} was given twice; give it once")]
    Repeated { flag: &'static str },
    #[error("{flag} needs a value: {flag} {value}")]
    MissingValue { flag: &'static str, value: &'static str },
    #[error("{flag} needs a value, but a flag follows it: {found}")]
    FlagAsValue { flag: &'static str, found: String },
    #[error("{flag} takes no value; write just {flag}")]
    UnwantedValue { flag: &'static str },
    #[error("{flag} takes {expected}, not `{found}`")]
    BadValue { flag: &'static str, expected: String, found: String },
    #[error(
        "{flag} takes {value}, the names of a header and of the environment variable that holds \
         its value; what was given is not shown, as it may be that value"
    )]
    BadHeader { flag: &'static str, value: &'static str },
    #[error("cannot expand the ~ in {flag} {found}, because HOME is not set; give the whole path")]
    NoHome { flag: &'static str, found: String },
    #[error(
        "cannot expand {flag} {found}: only ~ alone and ~/... are; give the whole path, or ./{found}"
    )]
    OthersHome { flag: &'static str, found: String },
    #[error(
        "unexpected argument `{found}`; put the server's command after --, as in: {program} -- {found} ..."
    )]
    CommandBeforeDashes { program: String, found: String },
    #[error("unexpected argument `{found}`; only flags are taken here")]
    UnexpectedArgument { found: String },
    #[error(
        "no server command; put it after --, as in: {program} -- npx -y some-mcp-server; or name \
         a server by URL, with {unless}"
    )]
    NoServerCommand { program: String, unless: &'static str },
    #[error(
        "{flag} names the server already, but the command `{found}` follows --; give one of them"
    )]
    CommandBesideFlag { flag: &'static str, found: String },
    #[error("{flag} is of use only with {needs}")]
    Needs { flag: &'static str, needs: &'static str },
    #[error("the server command after -- is an empty string; name the program to start")]
    EmptyServerCommand,
    #[error("name a session log or a directory of logs, as in: {program} ~/.hoist/logs")]
    NoPath { program: String },
    #[error("name a session log or a directory of logs, as in: {program} {flag} ~/.hoist/logs")]
    NoPathOf { program: String, flag: &'static str },
    #[error("{flag} is needed: {flag} {value}")]
    Missing { flag: &'static str, value: &'static str },
    #[error("an empty path; name a session log or a directory of logs")]
    EmptyPath,
    #[error("{one} and {other} do not go together: {why}")]
    NotTogether { one: &'static str, other: &'static str, why: &'static str },
    #[error("{flag} takes one log, not {found} paths")]
    OnePathOnly { flag: &'static str, found: usize },
    #[error("two paths are compared, A and B, not {found}")]
    TwoPathsOnly { found: usize },
    #[error("nothing is taken after --, but `{found}` follows it")]
    UnexpectedAfterDashes { found: String },
}

/// A word of the command line as it is shown: without the credentials that it may hold.
pub(super) fn shown(word: &OsStr) -> String {
    redact_command([word]).pop().unwrap_or_default()
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default()
}
