//! From a flag's value as typed to a value of the flag's kind.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{Problem, shown};
use super::parse::Environment;
use super::table::{Flag, Kind};

/// A flag's value, of the flag's kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Switch,
    Path(PathBuf),
    Text(String),
    Number(u64),
    Seconds(Duration),
    Bytes(usize),
    Pair(String, String),
    Address(SocketAddr),
}

/// Reads `typed` as `flag` wants it.
pub(super) fn read(
    flag: &Flag,
    typed: &OsStr,
    environment: &Environment,
) -> Result<Value, Problem> {
    if let Kind::Switch = flag.kind {
        return Ok(Value::Switch);
    }
    if typed.is_empty() {
        return Err(Problem::MissingValue { flag: flag.long, value: flag.value });
    }
    if let Kind::Path = flag.kind {
        return path(flag, Path::new(typed), environment).map(Value::Path);
    }
    let value = typed.to_str().and_then(|text| match flag.kind {
        Kind::Switch | Kind::Path => None,
        Kind::Text => Some(Value::Text(text.to_owned())),
        Kind::Address => address(text).map(Value::Address),
        Kind::Pair => text
            .split_once('=')
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .map(|(name, value)| Value::Pair(name.to_owned(), value.to_owned())),
        Kind::Number { min, max } => digits(text)?
            .parse()
            .ok()
            .filter(|number| (min..=max).contains(number))
            .map(Value::Number),
        Kind::Seconds { max } => seconds(text, max).map(Value::Seconds),
        Kind::Bytes { min } => bytes(text).filter(|&bytes| bytes >= min).map(Value::Bytes),
        Kind::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
    });
    value.ok_or_else(|| match flag.kind {
        Kind::Pair => Problem::BadHeader { flag: flag.long, value: flag.value },
        kind => {
            Problem::BadValue { flag: flag.long, expected: expected(kind), found: shown(typed) }
        }
    })
}

/// Hosts start servers without a shell, so nobody else would expand the `~` of a configuration
/// file.
fn path(flag: &Flag, typed: &Path, environment: &Environment) -> Result<PathBuf, Problem> {
    let Ok(rest) = typed.strip_prefix("~") else {
        // A shell would take `~name` for another user's home directory, which is not known here.
        if typed.as_os_str().as_encoded_bytes().starts_with(b"~") {
            let found = shown(typed.as_os_str());
            return Err(Problem::OthersHome { flag: flag.long, found });
        }
        return Ok(typed.to_owned());
    };
    match environment.home.as_deref().filter(|home| !home.as_os_str().is_empty()) {
        Some(home) if rest.as_os_str().is_empty() => Ok(home.to_owned()),
        Some(home) => Ok(home.join(rest)),
        None => Err(Problem::NoHome { flag: flag.long, found: shown(typed.as_os_str()) }),
    }
}

/// An address and a port. Without an address, and for `localhost`, it is this machine's own.
fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost").unwrap_or(text).strip_prefix(':') {
        Some(port) => Some(SocketAddr::from(([127, 0, 0, 1], digits(port)?.parse().ok()?))),
        None => text.parse().ok(),
    }
}

/// `text` if it is made of digits only: Rust's own parsers also take signs, exponents and words
/// such as `inf`.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

fn seconds(text: &str, max: u32) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    digits(whole)?;
    digits(fraction)?;
    let seconds =
        text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())?;
    (seconds <= Duration::from_secs(max.into())).then_some(seconds)
}

fn bytes(text: &str) -> Option<usize> {
    let (number, unit) = match text.find(|character: char| !character.is_ascii_digit()) {
        Some(end) => text.split_at(end),
        None => (text, ""),
    };
    let shift = match unit {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    digits(number)?.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// What a kind of flag takes, to follow "takes".
fn expected(kind: Kind) -> String {
    match kind {
        Kind::Switch => "no value".to_owned(),
        Kind::Path => "a path".to_owned(),
        Kind::Text => "text in UTF-8".to_owned(),
        Kind::Number { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Seconds { max } => format!("seconds from 0 to {max}, such as 5 or 0.5"),
        Kind::Bytes { min } => {
            format!("a number of bytes, at least {min}, such as 1048576 or 64MiB")
        }
        Kind::Address => "an IP address and a port, such as 127.0.0.1:8930".to_owned(),
        Kind::Pair => "two names with = between them".to_owned(),
        Kind::Choice(words) => words.join(" or "),
    }
}
