//! `hoist redact`: copies of sessions that can be shared, pseudonymised.

mod copies;
mod key;
mod place;
mod report;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoist_trace::log::LogError;
use hoist_trace::redact::{Redactor, Survey};

use crate::cli::{EXIT_USAGE, RedactOptions};
use crate::diagnostics::{complain, with_causes};
use crate::logs::{self, Unreadable};
use crate::text;
use report::{Copied, Outcome, Unread};

/// The exit code when something was left out, or could not be written.
const EXIT_PROBLEM: u8 = 1;

/// A log that is to be copied.
#[derive(Debug)]
struct Input {
    path: PathBuf,
    /// Where it stands below what was named.
    name: PathBuf,
}

/// Copies the sessions and returns the exit code.
pub(crate) fn run(options: &RedactOptions, program: &str) -> u8 {
    let refused = |why: &str| {
        complain(program, why);
        EXIT_USAGE
    };
    if let Some(path) = options.sessions.iter().find(|path| cannot_be_read_twice(path)) {
        let path = text::file(path);
        return refused(&format!("{path} cannot be read twice, which is needed; name a file"));
    }
    let out = match place::Out::check(&options.out, &options.sessions) {
        Ok(out) => out,
        Err(error) => return refused(&with_causes(&error)),
    };
    let mut unread = Vec::new();
    let (inputs, survey) = survey(&options.sessions, program, &mut unread);
    if inputs.is_empty() {
        if unread.is_empty() {
            let names: Vec<String> = options.sessions.iter().map(|path| text::file(path)).collect();
            complain(program, &format!("no session log (*.jsonl) in {}", names.join(", ")));
        }
        return EXIT_PROBLEM;
    }
    let key = match options.key_file.as_deref() {
        Some(file) if out.holds(file) => {
            let file = text::file(file);
            return refused(&format!("the key {file} must not lie in --out, beside the copies"));
        }
        Some(file) => key::from_file(file),
        None => key::fresh(),
    };
    let key = match key {
        Ok(key) => key,
        Err(error) => return refused(&with_causes(&error)),
    };
    for notice in &key.notices {
        complain(program, notice);
    }
    if let Err(error) = out.make() {
        complain(program, &with_causes(&error));
        return EXIT_PROBLEM;
    }
    let mut redactor = Redactor::new(&key.key, survey.finish());
    let mut copied = Vec::new();
    for input in &inputs {
        match copies::copy(input, &out, &mut redactor) {
            Ok(done) => {
                say_left_out(&done, program);
                copied.push(done);
            }
            Err(error) => {
                let message = with_causes(&error);
                complain(program, &message);
                unread.push(Unread { file: text::file(&input.path), message });
            }
        }
    }
    let outcome = Outcome { out: &options.out, kept_key: key.kept, copied, unread };
    let report = redactor.report();
    let said = if options.json { outcome.json(&report) } else { outcome.text(&report) };
    match report::print(&said) {
        Err(error) => {
            complain(program, &format!("writing to standard output failed: {error}"));
            EXIT_PROBLEM
        }
        Ok(()) if outcome.is_whole() => 0,
        Ok(()) => EXIT_PROBLEM,
    }
}

/// The first pass: what there is, and what of it stays in clear.
fn survey(paths: &[PathBuf], program: &str, unread: &mut Vec<Unread>) -> (Vec<Input>, Survey) {
    let mut survey = Survey::new();
    let mut inputs = Vec::new();
    for root in paths {
        for log in logs::find(std::slice::from_ref(root)) {
            let read = log.map_err(|error| (place_of(&error).to_owned(), with_causes(&error)));
            let read = read.and_then(|log| {
                let why = |error: LogError| (log.path.clone(), with_causes(&error));
                let mut reader = logs::open(&log.path).map_err(why)?;
                survey.session();
                for item in &mut reader {
                    match item {
                        Ok(entry) => survey.entry(&entry),
                        Err(error) if error.is_bad_line() => {}
                        Err(error) => return Err(why(error)),
                    }
                }
                let below = log.path.strip_prefix(root).ok();
                let name = below.filter(|below| !below.as_os_str().is_empty());
                let name = name.or_else(|| log.path.file_name().map(Path::new));
                let name = name.unwrap_or_else(|| Path::new("session.jsonl")).to_owned();
                Ok(Input { path: log.path, name })
            });
            match read {
                Ok(input) => inputs.push(input),
                Err((path, message)) => {
                    complain(program, &message);
                    unread
                        .push(Unread { file: text::file(&path), message: text::visible(&message) });
                }
            }
        }
    }
    (inputs, survey)
}

fn place_of(error: &Unreadable) -> &Path {
    match error {
        Unreadable::Log(error) => error.path(),
        Unreadable::Directory { path, .. } => path,
    }
}

/// Standard input, a pipe.
fn cannot_be_read_twice(path: &Path) -> bool {
    path.as_os_str() == "-"
        || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn say_left_out(copied: &Copied, program: &str) {
    let mut left = Vec::new();
    if copied.bad_lines > 0 {
        left.push(format!("{} that could not be read", text::counted(copied.bad_lines, "line")));
    }
    if copied.torn_bytes > 0 {
        left.push(format!("a torn last line of {}", text::counted(copied.torn_bytes, "byte")));
    }
    if !left.is_empty() {
        complain(program, &format!("{}: left out {}", copied.original, left.join(" and ")));
    }
}

/// What `hoist redact` fails with.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot {what} {}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("--out {} is not empty; name a directory that is new or empty", path.display())]
    NotEmpty { path: PathBuf },
    #[error("--out {} is no directory; name one that is new or empty", path.display())]
    NoDirectory { path: PathBuf },
    #[error(
        "--out {} {how} {}, which is to be copied; name a directory apart from it",
        path.display(), input.display()
    )]
    Overlaps { path: PathBuf, how: &'static str, input: PathBuf },
    #[error("--out {} goes up (..) from a directory that does not exist", path.display())]
    GoesUp { path: PathBuf },
    #[error("--key-file {}: {why}", path.display())]
    Key { path: PathBuf, why: hoist_trace::redact::KeyTooShort },
    #[error("no random key can be drawn: {0}; name one with --key-file")]
    NoRandom(getrandom::Error),
}

impl Error {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
