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
use hoist_trace::sessions::Item;

use crate::cli::{EXIT_USAGE, RedactOptions};
use crate::diagnostics::{complain, with_causes};
use crate::{logs, text};
use copies::Runs;
use report::{Copied, Outcome, Unread};

/// The exit code when something was left out, or could not be written.
const EXIT_PROBLEM: u8 = 1;

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
    let (sessions, survey) = survey(&options.sessions, program, &mut unread);
    if sessions == 0 {
        if unread.is_empty() {
            let names: Vec<String> = options.sessions.iter().map(|path| text::file(path)).collect();
            complain(program, &format!("no session in {}", names.join(", ")));
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
    for root in &options.sessions {
        copied.extend(copy(root, &out, &mut redactor, program, &mut unread));
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

/// The first pass: how many sessions there are, and what of them stays in clear.
fn survey(paths: &[PathBuf], program: &str, unread: &mut Vec<Unread>) -> (u64, Survey) {
    let mut survey = Survey::new();
    let mut sessions = 0;
    for item in logs::files(paths) {
        let read = item.and_then(|item| match item {
            Item::Log(log) => {
                survey.session();
                for entry in log.reader {
                    match entry {
                        Ok(entry) => survey.entry(&entry),
                        Err(error) if error.is_bad_line() => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(())
            }
            Item::Run(run) => {
                survey.episode(&run.episode);
                Ok(())
            }
            // Whatever else there may be one day.
            _ => Ok(()),
        });
        match read {
            Ok(()) => sessions += 1,
            Err(error) => {
                let message = with_causes(&error);
                complain(program, &message);
                let (file, message) = (text::file(error.path()), text::visible(&message));
                unread.push(Unread { file, message });
            }
        }
    }
    (sessions, survey)
}

/// The second pass, over one of the paths: the files that were written.
fn copy(
    root: &Path,
    out: &place::Out,
    redactor: &mut Redactor,
    program: &str,
    unread: &mut Vec<Unread>,
) -> Vec<Copied> {
    let mut copied: Vec<Copied> = Vec::new();
    let mut runs: Option<Runs> = None;
    // What could not be read was said by the first pass.
    for item in logs::files(std::slice::from_ref(&root.to_owned())).flatten() {
        let (path, done) = match item {
            Item::Log(log) => {
                let path = log.path.clone();
                let done = copies::log(*log, &below(&path, root), out, redactor);
                (path, done.map(Some))
            }
            Item::Run(run) => {
                let path = run.path.clone();
                let done = if runs.as_ref().is_some_and(|runs| runs.is_of(&path)) {
                    Ok(None)
                } else {
                    let before = runs.take().map(Runs::finish).transpose();
                    let begun = Runs::begin(&path, &below(&path, root), out, redactor);
                    before.and_then(|before| {
                        runs = Some(begun?);
                        Ok(before)
                    })
                };
                let written = done.and_then(|before| {
                    if let Some(runs) = &mut runs {
                        runs.write(&redactor.episode(&run.episode))?;
                    }
                    Ok(before)
                });
                (path, written)
            }
            _ => continue,
        };
        match done {
            Ok(done) => copied.extend(done),
            Err(error) => failed(&error, &path, program, unread),
        }
    }
    if let Some(last) = runs {
        let path = last.path.clone();
        match last.finish() {
            Ok(done) => copied.push(done),
            Err(error) => failed(&error, &path, program, unread),
        }
    }
    for copied in &copied {
        say_left_out(copied, program);
    }
    copied
}

/// Where a file stands below what was named.
fn below(path: &Path, root: &Path) -> PathBuf {
    let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    let name = below.or_else(|| path.file_name().map(Path::new));
    name.unwrap_or_else(|| Path::new("session")).to_owned()
}

fn failed(error: &Error, path: &Path, program: &str, unread: &mut Vec<Unread>) {
    let message = with_causes(error);
    complain(program, &message);
    if !unread.iter().any(|unread| unread.file == text::file(path)) {
        unread.push(Unread { file: text::file(path), message: text::visible(&message) });
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
