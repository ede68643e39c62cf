//! From the words of a command line to [`Matches`].

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::error::{Problem, UsageError, shown};
use super::help::{help, version};
use super::matches::Matches;
use super::suggest::nearest;
use super::table::{Command, Flag, Kind, Takes};
use super::value;

const HELP: [&str; 2] = ["-h", "--help"];
const VERSION: [&str; 2] = ["-V", "--version"];

/// What a command line may depend on besides its words.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The user's home directory, for a leading `~` in paths.
    pub home: Option<PathBuf>,
}

/// What the user asked for.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a program must handle each of the two")]
pub enum Invocation<T> {
    /// Run with these options.
    Run(T),
    /// Print this text to stdout and exit with 0: the help or the version.
    Print(String),
}

impl<T> Invocation<T> {
    /// Changes what is run, and leaves a text to print as it is.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Invocation<U> {
        match self {
            Self::Run(run) => Invocation::Run(change(run)),
            Self::Print(text) => Invocation::Print(text),
        }
    }
}

/// Reads the words after the program's name by the table of `command`.
///
/// `program` is what messages and `--help` call the program. The words are split at the first `--`:
/// what follows it is the server's command and is not looked at. Before it, `--help` and
/// `--version` win over everything else.
///
/// # Errors
///
/// A [`UsageError`] that says which word is wrong and what to write instead.
pub fn parse(
    command: &'static Command,
    program: &str,
    mut words: Vec<OsString>,
    environment: &Environment,
) -> Result<Invocation<Matches>, UsageError> {
    let after = words.iter().position(|word| word == "--").map(|at| {
        let after = words.split_off(at + 1);
        words.pop();
        after
    });
    descend(command, program, words, after, environment)
}

/// Parses one level: the words up to `--` may start with a subcommand, which then parses the rest.
fn descend(
    command: &'static Command,
    program: &str,
    mut words: Vec<OsString>,
    after: Option<Vec<OsString>>,
    environment: &Environment,
) -> Result<Invocation<Matches>, UsageError> {
    let usage = |problem| UsageError { program: program.to_owned(), problem };
    if let Some(first) =
        words.first().filter(|first| !command.subcommands.is_empty() && !is_flag(first))
    {
        let chosen = command.subcommands.iter().find(|subcommand| *first == subcommand.word);
        let chosen = chosen.ok_or_else(|| usage(unknown_command(command, first)))?;
        words.remove(0);
        return descend(
            chosen.command,
            &format!("{program} {}", chosen.word),
            words,
            after,
            environment,
        );
    }
    let asks_for =
        |names: [&str; 2]| words.iter().any(|word| names.iter().any(|name| word == name));
    if asks_for(HELP) {
        return Ok(Invocation::Print(help(command, program)));
    }
    if asks_for(VERSION) {
        return Ok(Invocation::Print(version(program)));
    }
    let (typed, left) = take_values(command, program, words).map_err(usage)?;
    let mut values = Vec::new();
    for (flag, typed) in &typed {
        values.push((flag.long, value::read(flag, typed, environment).map_err(usage)?));
    }
    let is_given = |long: &str| typed.iter().any(|(given, _)| given.long == long);
    for (flag, _) in &typed {
        if let Some(needs) = flag.needs.filter(|needs| !is_given(needs)) {
            return Err(usage(Problem::Needs { flag: flag.long, needs }));
        }
    }
    for flag in command.flags {
        if let Some(default) =
            flag.default.filter(|_| !typed.iter().any(|(given, _)| given.long == flag.long))
        {
            values.push((
                flag.long,
                value::read(flag, OsStr::new(default), environment).map_err(usage)?,
            ));
        }
    }
    let program = program.to_owned();
    let mut matches =
        Matches { command, program, values, server_command: Vec::new(), paths: Vec::new() };
    let words = || left.into_iter().chain(after.clone().unwrap_or_default());
    match command.takes {
        Takes::Paths => matches.paths = paths(&matches.program, words()).map_err(usage)?,
        Takes::PathsOf { flag } => {
            let mut paths = matches.path_values(flag);
            paths.extend(words().map(PathBuf::from));
            if paths.is_empty() {
                return Err(usage(Problem::NoPathOf { program: matches.program, flag }));
            }
            matches.paths = not_empty(paths).map_err(usage)?;
        }
        _ => matches.server_command = server_command(&matches, after).map_err(usage)?,
    }
    Ok(Invocation::Run(matches))
}

/// Flags with their values as typed; a switch has an empty one.
type Typed = Vec<(&'static Flag, OsString)>;

/// The flags given, each with its value as typed, in the order of the table; and the words that
/// are left.
fn take_values(
    command: &'static Command,
    program: &str,
    words: Vec<OsString>,
) -> Result<(Typed, Vec<OsString>), Problem> {
    let mut arguments = pico_args::Arguments::from_vec(separate_values(command, words)?);
    let mut typed = Vec::new();
    for flag in command.flags {
        let keep = |value: &OsStr| Ok::<_, Infallible>(value.to_owned());
        let mut given = 0;
        while matches!(flag.kind, Kind::Switch) && arguments.contains(flag.long) {
            typed.push((flag, OsString::new()));
            given += 1;
        }
        while let Some(value) = arguments
            .opt_value_from_os_str(flag.long, keep)
            .map_err(|_| Problem::MissingValue { flag: flag.long, value: flag.value })?
        {
            typed.push((flag, value));
            given += 1;
        }
        if given > 1 && !flag.repeatable {
            return Err(Problem::Repeated { flag: flag.long });
        }
    }
    let left = arguments.finish();
    let takes_words = matches!(command.takes, Takes::Paths | Takes::PathsOf { .. });
    let wrong = left.iter().find(|word| !takes_words || is_flag(word));
    match wrong {
        Some(word) => Err(unexpected(command, program, word)),
        None => Ok((typed, left)),
    }
}

/// Writes each `--flag=value` as two words and checks that each flag has its value.
///
/// pico-args splits at `=` itself, but only in UTF-8, and it takes quotes off the value; and since
/// it looks for one flag at a time, it cannot tell a flag from another flag's value. So no value
/// that is also a flag gets past here.
fn separate_values(
    command: &'static Command,
    words: Vec<OsString>,
) -> Result<Vec<OsString>, Problem> {
    let find = |word: &OsStr| command.flags.iter().find(|flag| word == flag.long);
    let mut separated = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if let Some(flag) = find(&word).filter(|flag| !matches!(flag.kind, Kind::Switch)) {
            let value =
                words.next().ok_or(Problem::MissingValue { flag: flag.long, value: flag.value })?;
            if value.as_encoded_bytes().starts_with(b"--") {
                return Err(Problem::FlagAsValue { flag: flag.long, found: shown(&value) });
            }
            separated.extend([word, value]);
            continue;
        }
        match split_at_equals(&word) {
            Some((name, _)) if HELP.contains(&name) => {
                return Err(Problem::UnwantedValue { flag: HELP[1] });
            }
            Some((name, _)) if VERSION.contains(&name) => {
                return Err(Problem::UnwantedValue { flag: VERSION[1] });
            }
            Some((name, value)) => match find(OsStr::new(name)) {
                Some(Flag { long, kind: Kind::Switch, .. }) => {
                    return Err(Problem::UnwantedValue { flag: long });
                }
                Some(flag) if find(value).is_some() => {
                    return Err(Problem::FlagAsValue { flag: flag.long, found: shown(value) });
                }
                Some(_) => separated.extend([OsString::from(name), value.to_owned()]),
                None => separated.push(word),
            },
            None => separated.push(word),
        }
    }
    Ok(separated)
}

/// `--name=value` as name and value. The name is UTF-8; the value need not be.
#[cfg(unix)]
fn split_at_equals(word: &OsStr) -> Option<(&str, &OsStr)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = word.as_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=').filter(|_| bytes.starts_with(b"-"))?;
    Some((std::str::from_utf8(&bytes[..at]).ok()?, OsStr::from_bytes(&bytes[at + 1..])))
}

/// `--name=value` as name and value.
#[cfg(not(unix))]
fn split_at_equals(word: &OsStr) -> Option<(&str, &OsStr)> {
    let (name, value) = word.to_str()?.split_once('=')?;
    name.starts_with('-').then_some((name, OsStr::new(value)))
}

fn is_flag(word: &OsStr) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"-")
}

/// What to say of a word that is left when every known flag has been taken.
fn unexpected(command: &Command, program: &str, word: &OsStr) -> Problem {
    let found = shown(word);
    if is_flag(word) {
        let flag = found.split('=').next().unwrap_or_default().to_owned();
        let known = command.flags.iter().map(|flag| flag.long).chain([HELP[1], VERSION[1]]);
        let nearest = nearest(&flag, known).map(str::to_owned);
        Problem::UnknownFlag { flag, nearest }
    } else if matches!(command.takes, Takes::ServerCommand { .. }) {
        Problem::CommandBeforeDashes { program: program.to_owned(), found }
    } else {
        Problem::UnexpectedArgument { found }
    }
}

fn unknown_command(command: &Command, word: &OsStr) -> Problem {
    let word = shown(word);
    let nearest = nearest(&word, command.subcommands.iter().map(|subcommand| subcommand.word))
        .map(str::to_owned);
    Problem::UnknownCommand { word, nearest }
}

/// Checks what followed `--` against what the command takes.
fn server_command(
    matches: &Matches,
    after: Option<Vec<OsString>>,
) -> Result<Vec<OsString>, Problem> {
    let command = matches.command;
    if !command.subcommands.is_empty() {
        let words: Vec<_> = command.subcommands.iter().map(|subcommand| subcommand.word).collect();
        return Err(Problem::NoCommand { expected: words.join(", ") });
    }
    let after = after.unwrap_or_default();
    match (command.takes, after.first()) {
        (Takes::ServerCommand { unless }, Some(first)) if matches.is_given(unless) => {
            Err(Problem::CommandBesideFlag { flag: unless, found: shown(first) })
        }
        (Takes::ServerCommand { unless }, None) if !matches.is_given(unless) => {
            Err(Problem::NoServerCommand { program: matches.program.clone(), unless })
        }
        (Takes::ServerCommand { .. }, Some(first)) if first.is_empty() => {
            Err(Problem::EmptyServerCommand)
        }
        (Takes::ServerCommand { .. }, _) | (_, None) => Ok(after),
        (_, Some(first)) => Err(Problem::UnexpectedAfterDashes { found: shown(first) }),
    }
}

/// The words as paths, of which there must be one.
fn paths(program: &str, words: impl Iterator<Item = OsString>) -> Result<Vec<PathBuf>, Problem> {
    let paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
    if paths.is_empty() {
        return Err(Problem::NoPath { program: program.to_owned() });
    }
    not_empty(paths)
}

fn not_empty(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Problem> {
    if paths.iter().any(|path| path.as_os_str().is_empty()) {
        return Err(Problem::EmptyPath);
    }
    Ok(paths)
}
