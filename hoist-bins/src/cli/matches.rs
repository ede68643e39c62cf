//! What a command line said, checked against its table.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::table::Command;
use super::value::Value;

/// The flags and the server command of one command line, each value read and checked.
///
/// An accessor takes the flag as the table spells it, `--record`, and is `None` when the flag was
/// not given and has no default. Of a repeatable flag they give the first value.
#[derive(Debug)]
pub struct Matches {
    pub(super) command: &'static Command,
    pub(super) program: String,
    pub(super) values: Vec<(&'static str, Value)>,
    pub(super) server_command: Vec<OsString>,
    pub(super) paths: Vec<PathBuf>,
}

impl Matches {
    /// The command the line chose: the one that was asked for, or one of its subcommands.
    pub fn command(&self) -> &'static Command {
        self.command
    }

    /// The program with its subcommands, as the user typed them: `hoist mcp`.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What followed `--`, untouched.
    pub fn server_command(&self) -> &[OsString] {
        &self.server_command
    }

    /// The paths, as they were typed: a shell has expanded what it expands.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Whether the flag was given, or has a default.
    pub fn is_given(&self, flag: &str) -> bool {
        self.values.iter().any(|(long, _)| *long == flag)
    }

    /// The value of a flag of kind [`Path`](super::Kind::Path).
    pub fn path(&self, flag: &str) -> Option<PathBuf> {
        self.find(
            flag,
            |value| if let Value::Path(path) = value { Some(path.clone()) } else { None },
        )
    }

    /// The values of a repeatable flag of kind [`Path`](super::Kind::Path), in the order given.
    pub fn path_values(&self, flag: &str) -> Vec<PathBuf> {
        let given = self.values.iter().filter(|(long, _)| *long == flag);
        given
            .filter_map(|(_, value)| match value {
                Value::Path(path) => Some(path.clone()),
                _ => None,
            })
            .collect()
    }

    /// The value of a flag of kind [`Text`](super::Kind::Text) or [`Choice`](super::Kind::Choice).
    pub fn text(&self, flag: &str) -> Option<String> {
        self.find(
            flag,
            |value| if let Value::Text(text) = value { Some(text.clone()) } else { None },
        )
    }

    /// The value of a flag of kind [`Number`](super::Kind::Number).
    pub fn number(&self, flag: &str) -> Option<u64> {
        self.find(
            flag,
            |value| if let Value::Number(number) = value { Some(*number) } else { None },
        )
    }

    /// The value of a flag of kind [`Seconds`](super::Kind::Seconds).
    pub fn seconds(&self, flag: &str) -> Option<Duration> {
        self.find(
            flag,
            |value| if let Value::Seconds(seconds) = value { Some(*seconds) } else { None },
        )
    }

    /// The value of a flag of kind [`Bytes`](super::Kind::Bytes).
    pub fn bytes(&self, flag: &str) -> Option<usize> {
        self.find(flag, |value| if let Value::Bytes(bytes) = value { Some(*bytes) } else { None })
    }

    /// The value of a flag of kind [`Address`](super::Kind::Address).
    pub fn address(&self, flag: &str) -> Option<SocketAddr> {
        self.find(flag, |value| if let Value::Address(at) = value { Some(*at) } else { None })
    }

    /// The values of a repeatable flag of kind [`Choice`](super::Kind::Choice), in the order given.
    pub fn texts(&self, flag: &str) -> Vec<String> {
        let given = self.values.iter().filter(|(long, _)| *long == flag);
        given
            .filter_map(|(_, value)| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect()
    }

    /// The values of a flag of kind [`Pair`](super::Kind::Pair), in the order given.
    pub fn pairs(&self, flag: &str) -> Vec<(String, String)> {
        let given = self.values.iter().filter(|(long, _)| *long == flag);
        given
            .filter_map(|(_, value)| match value {
                Value::Pair(name, value) => Some((name.clone(), value.clone())),
                _ => None,
            })
            .collect()
    }

    fn find<T>(&self, flag: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        self.values.iter().find(|(long, _)| *long == flag).and_then(|(_, value)| read(value))
    }
}
