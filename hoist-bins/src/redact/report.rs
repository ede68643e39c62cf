//! What is said at the end.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use hoist_trace::redact::{Report, Rule};
use serde::Serialize;

use crate::text::{counted, cut, file, visible};

/// How many paths are listed for people.
const MAX_PATHS: usize = 40;

/// How many words are shown of a rule or path.
const MAX_EXAMPLES: usize = 8;

/// What stays whatever the words are.
const ALWAYS: [&str; 6] = [
    "times, and the order and number of lines, members and elements",
    "true, false, null, spaces, and punctuation but for unusual runs of it",
    "which letters are upper case, and how long each word is",
    "zeros at either end of a number, and exponents of up to three digits",
    "names of logs and sessions that Hoist gives: start time and process id",
    "revisions of MCP where a version stands",
];

/// A copy that was written.
#[derive(Debug, Default, Serialize)]
pub(super) struct Copied {
    /// The log; nothing of its path is said to programs, whose output may be passed on.
    #[serde(skip)]
    pub(super) original: String,
    pub(super) copy: String,
    pub(super) entries: u64,
    pub(super) bad_lines: u64,
    pub(super) torn_bytes: u64,
}

/// What could not be copied.
#[derive(Debug, Serialize)]
pub(super) struct Unread {
    pub(super) file: String,
    pub(super) message: String,
}

/// What came of it all.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) out: &'a Path,
    pub(super) kept_key: bool,
    pub(super) copied: Vec<Copied>,
    pub(super) unread: Vec<Unread>,
}

impl Outcome<'_> {
    /// Whether nothing was left out.
    pub(super) fn is_whole(&self) -> bool {
        self.unread.is_empty() && self.copied.iter().all(|copied| copied.bad_lines == 0)
    }

    /// For programs: one JSON object.
    pub(super) fn json(&self, report: &Report) -> String {
        #[derive(Serialize)]
        struct Said<'a> {
            out: String,
            key: &'static str,
            copies: &'a [Copied],
            unread: &'a [Unread],
            #[serde(flatten)]
            report: &'a Report,
            always_in_clear: [&'static str; 6],
        }
        let said = Said {
            out: self.out.to_string_lossy().into_owned(),
            key: if self.kept_key { "file" } else { "fresh" },
            copies: &self.copied,
            unread: &self.unread,
            report,
            always_in_clear: ALWAYS,
        };
        // Texts and numbers can always be written.
        serde_json::to_string(&said).unwrap_or_default() + "\n"
    }

    /// For people.
    pub(super) fn text(&self, report: &Report) -> String {
        let mut said = String::new();
        let line = |said: &mut String, line: String| {
            said.push_str(&line);
            said.push('\n');
        };
        let logs = counted(self.copied.len() as u64, "file");
        line(&mut said, format!("{logs} copied to {}, pseudonymised", file(self.out)));
        let changed = &report.changed;
        line(
            &mut said,
            format!(
                "replaced: {}, {}, {}",
                counted(changed.texts, "text"),
                counted(changed.numbers, "number"),
                counted(changed.keys, "key"),
            ),
        );
        let replaced = &report.replaced;
        line(
            &mut said,
            format!(
                "  in them: {} of letters, {}, {}, {}",
                counted(replaced.words, "word"),
                counted(replaced.ids, "id"),
                counted(replaced.numbers, "number"),
                counted(replaced.symbols, "other run"),
            ),
        );
        let bad: u64 = self.copied.iter().map(|copied| copied.bad_lines).sum();
        let torn = self.copied.iter().filter(|copied| copied.torn_bytes > 0).count() as u64;
        let unread = self.unread.len() as u64;
        if bad + torn + unread > 0 {
            let (bad, torn, unread) = (
                counted(bad, "bad line"),
                counted(torn, "torn last line"),
                counted(unread, "file"),
            );
            line(&mut said, format!("left out: {bad}, {torn}, {unread} that could not be read"));
        }
        line(
            &mut said,
            if self.kept_key {
                "key: from --key-file. Whoever has it can check guesses at what a token stands for"
            } else {
                "key: a fresh one, not kept. Another run gives other tokens"
            }
            .to_owned(),
        );
        said.push_str("\nstays in clear:\n");
        for kept in &report.kept {
            let distinct = match kept.words.len() {
                0 => String::new(),
                distinct => format!(", {distinct} different: {}", list(&kept.words)),
            };
            let times = counted(kept.times, "time");
            line(&mut said, format!("  {}: {times}{distinct}", kept.rule.about()));
        }
        for kept in report.constants.iter().take(MAX_PATHS) {
            let what = if kept.rule == Rule::Constant { "value" } else { "key" };
            let stay = kept.kept.len() as u64;
            let kept_of = if kept.rule == Rule::Constant {
                format!("{stay} of {}", counted(kept.distinct, what))
            } else {
                counted(stay, what)
            };
            let path = cut(&kept.path, 60);
            line(&mut said, format!("    {path}: {kept_of}: {}", list(&kept.kept)));
        }
        if let Some(more @ 1..) = report.constants.len().checked_sub(MAX_PATHS) {
            line(&mut said, format!("    and {more} more paths; --json lists all"));
        }
        for always in ALWAYS {
            line(&mut said, format!("  {always}"));
        }
        said.push_str(
            "\nPseudonymised is not more than that: read what stays before you pass the copies on.\n",
        );
        said
    }
}

/// The first of them.
fn list(all: &[String]) -> String {
    let mut said = String::new();
    for (n, example) in all.iter().take(MAX_EXAMPLES).enumerate() {
        let _ = write!(said, "{}{}", if n > 0 { ", " } else { "" }, cut(&visible(example), 40));
    }
    if all.len() > MAX_EXAMPLES {
        said.push_str(", …");
    }
    said
}

/// Writes to standard output; a reader that has seen enough is no failure.
pub(super) fn print(said: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(said.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
