//! `hoist show`: recorded sessions, for people to read.

mod follow;
mod table;
mod timeline;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use hoist_trace::log::{LogError, LogReader, ReadReport};
use hoist_trace::mcp::{Findings, Session, read_session_from};
use hoist_trace::sessions::{Found, LogPart, ReadError};

use crate::cli::ShowOptions;
use crate::diagnostics::{complain, with_causes};
use crate::{logs, text};
use table::Table;
use timeline::Timeline;

/// The exit code when something that was named could not be read.
const EXIT_UNREAD: u8 = 1;

/// How many skipped lines of a log are said one by one.
const MAX_SAID: usize = 5;

/// How much is said of what is wrong with a message, in columns.
const MAX_COLUMNS: usize = 500;

/// How wide lines are where nobody says it.
const DEFAULT_WIDTH: usize = 100;

/// Lines are not cut to less than this: nothing could be read any more.
const MIN_WIDTH: usize = 20;

/// Shows the sessions and returns the exit code.
pub(crate) fn run(options: &ShowOptions, program: &str) -> u8 {
    if options.follow {
        return follow::run(options, program);
    }
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let shown = if logs::are_several(&options.paths) {
        show_several(options, program, &mut out)
    } else {
        show_one(options, program, &mut out)
    };
    exit_code(shown.and_then(|code| out.flush().map(|()| code)), program)
}

/// Standard output that is closed is a reader that has seen enough, such as `head`.
fn exit_code(shown: io::Result<u8>, program: &str) -> u8 {
    match shown {
        Ok(code) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            complain(program, &format!("writing to standard output failed: {error}"));
            EXIT_UNREAD
        }
    }
}

/// Shows a file: one session as it went, of several a line each.
fn show_one(options: &ShowOptions, program: &str, out: &mut impl Write) -> io::Result<u8> {
    let mut sessions = sessions(options);
    let mut shown = Shown::new(options, program);
    let Some(first) = shown.next(&mut sessions) else { return Ok(shown.exit_code()) };
    if options.json {
        shown.write(&first, out)?;
        return shown.write_all(sessions, out);
    }
    if let Some(second) = shown.next(&mut sessions) {
        shown.write(&first, out)?;
        shown.write(&second, out)?;
        return shown.write_all(sessions, out);
    }
    shown.table.count(&first);
    let mut timeline = Timeline::new(width(options));
    timeline.head(&first, out)?;
    timeline.go_on(&first, out)?;
    Ok(shown.exit_code())
}

fn show_several(options: &ShowOptions, program: &str, out: &mut impl Write) -> io::Result<u8> {
    Shown::new(options, program).write_all(sessions(options), out)
}

fn sessions(options: &ShowOptions) -> Box<dyn Iterator<Item = Result<Found, ReadError>> + '_> {
    if options.merged {
        Box::new(logs::merged_sessions(&options.paths))
    } else {
        Box::new(logs::sessions(&options.paths))
    }
}

/// Sessions as they are shown, a line each, and what they come to.
struct Shown<'a> {
    options: &'a ShowOptions,
    program: &'a str,
    table: Table,
    /// Whether something that was named could not be read at all.
    named_unread: bool,
    /// Whether anything could not be read.
    incomplete: bool,
}

impl<'a> Shown<'a> {
    fn new(options: &'a ShowOptions, program: &'a str) -> Self {
        let table = Table::new(width(options));
        Self { options, program, table, named_unread: false, incomplete: false }
    }

    /// The next session; what could not be read before it is said.
    fn next(
        &mut self,
        sessions: &mut impl Iterator<Item = Result<Found, ReadError>>,
    ) -> Option<Found> {
        for item in sessions {
            match item {
                Ok(found) => {
                    self.incomplete |= say_skipped(&found, self.program);
                    return Some(found);
                }
                Err(error) => {
                    complain(self.program, &with_causes(&error));
                    if !error.is_notice() {
                        self.incomplete = true;
                        let is_lost = self.table.count_unread(&error);
                        let named = self.options.paths.iter().any(|path| path == error.path());
                        self.named_unread |= is_lost && named && !error.path().is_dir();
                    }
                }
            }
        }
        None
    }

    fn write(&mut self, found: &Found, out: &mut impl Write) -> io::Result<()> {
        if self.options.json {
            self.table.count(found);
            serde_json::to_writer(&mut *out, &found.episode)?;
            out.write_all(b"\n")?;
        } else {
            self.table.row(found, out)?;
        }
        // Whoever watches sees each as soon as it was read.
        out.flush()
    }

    fn write_all(
        mut self,
        mut sessions: impl Iterator<Item = Result<Found, ReadError>>,
        out: &mut impl Write,
    ) -> io::Result<u8> {
        while let Some(found) = self.next(&mut sessions) {
            self.write(&found, out)?;
        }
        if self.table.read > 0 && !self.options.json {
            self.table.totals(out)?;
        }
        Ok(self.exit_code())
    }

    fn exit_code(&self) -> u8 {
        if self.table.read == 0 {
            if !self.incomplete {
                let paths = self.options.paths.iter().map(|path| text::file(path));
                let paths: Vec<String> = paths.collect();
                complain(self.program, &format!("no session in {}", paths.join(", ")));
            }
            return EXIT_UNREAD;
        }
        let missed = self.named_unread || (self.options.strict && self.incomplete);
        if missed { EXIT_UNREAD } else { 0 }
    }
}

/// The model that drives the agent, where somebody named it.
fn model(found: &Found) -> &str {
    if found.logs.is_empty() {
        return &found.episode.agent;
    }
    found.logs.iter().find_map(|log| log.header.agent_model.as_deref()).unwrap_or_default()
}

fn read(path: &Path) -> Result<Session, LogError> {
    read_session_from(LogReader::open(path)?)
}

/// Says which lines of a session's logs could not be read; whether there were any.
pub(crate) fn say_skipped(found: &Found, program: &str) -> bool {
    let mut skipped = false;
    for log in &found.logs {
        skipped |= say_skipped_of(log, program);
    }
    skipped
}

fn say_skipped_of(log: &LogPart, program: &str) -> bool {
    let (report, path) = (&log.report, &log.path);
    let file = path.display();
    for problem in log.problems.iter().take(MAX_SAID) {
        complain(program, &problem.to_string());
    }
    let more = report.bad_lines.saturating_sub(MAX_SAID as u64);
    if more > 0 {
        let more = text::counted(more, "more line");
        complain(program, &format!("{file}: and {more}; `hoist validate {file}` lists them"));
    }
    for unread in unread(&log.findings, path).take(MAX_SAID) {
        complain(program, &unread);
    }
    let more = log.findings.unread.saturating_sub(MAX_SAID as u64);
    if more > 0 {
        let more = text::counted(more, "more message");
        complain(program, &format!("{file}: and {more}; `hoist validate {file}` lists them"));
    }
    let torn_bytes = torn_bytes(report);
    if torn_bytes > 0 {
        let (line, bytes) = (report.lines() + 1, text::counted(torn_bytes, "byte"));
        complain(
            program,
            &format!("{file}:{line}:1: skipped the last line, which is torn: {bytes}"),
        );
    }
    report.bad_lines > 0 || torn_bytes > 0 || log.findings.unread > 0
}

/// The messages of which something could not be read.
fn unread(findings: &Findings, path: &Path) -> impl Iterator<Item = String> {
    let unread = findings.first.iter().filter(|finding| finding.is_unread());
    unread.map(move |finding| {
        let what = text::cut(&finding.kind.to_string(), MAX_COLUMNS);
        format!("{}:{}: {what}", path.display(), finding.line)
    })
}

/// How much of a torn last line is missing. A header is read without its line feed, too.
fn torn_bytes(report: &ReadReport) -> u64 {
    if report.header_is_torn { 0 } else { report.torn_bytes }
}

/// How wide lines may be; `None` where nothing is cut.
fn width(options: &ShowOptions) -> Option<usize> {
    if options.full {
        return None;
    }
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let columns = said.filter(|columns| *columns > 0).or_else(terminal_width);
    Some(columns.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH))
}

#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    // A terminal that does not know says 0.
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}
