//! Several sessions, a line each.

use std::io::{self, Write};

use hoist_trace::episode::Source;
use hoist_trace::log::LogError;
use hoist_trace::sessions::{Found, ReadError};

use crate::text::{self, counted, cut};

/// Between two columns.
const GAP: &str = "  ";

/// What does not grow and does not shrink: calls, errors, turns, duration.
const NUMBERS: [(&str, usize); 4] = [("calls", 5), ("errors", 6), ("turns", 5), ("duration", 8)];

/// A session's name as Hoist gives it, with a number behind it.
const SESSION_WIDTH: usize = 27;

/// How wide the columns of names are at least: so that all fits in a terminal of 80.
const MIN_NAME_WIDTH: usize = 5;

/// How wide they may get, and are where nothing is cut.
const MAX_NAME_WIDTH: usize = 24;

/// How much a reward may lack of 1: it is a product of fractions.
const SOLVED_WITHIN: f64 = 1e-6;

/// A table that is written row by row; of the rows only sums are kept.
#[derive(Debug)]
pub(super) struct Table {
    /// The widths of session, server, host and agent.
    widths: [usize; 4],
    width: usize,
    /// Sessions that were read.
    pub(super) read: u64,
    probes: u64,
    /// Runs, which somebody judged, and those that did their task.
    runs: u64,
    solved: u64,
    /// Logs, other files and runs that could not be read, and files that were not read to their end.
    unread_logs: u64,
    unread_files: u64,
    unread_runs: u64,
    broken_files: u64,
    sums: Counts,
    duration_ms: u64,
    lost_lines: u64,
    bad_lines: u64,
}

/// What is counted of a session.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    calls: u64,
    errors: u64,
    turns: u64,
}

impl Counts {
    fn of(found: &Found) -> Self {
        let episode = &found.episode;
        Self {
            calls: episode.calls().count() as u64,
            errors: episode.results().filter(|result| result.is_error).count() as u64,
            turns: episode.turns().count() as u64,
        }
    }
}

impl Table {
    /// A table of this many columns; `None` for as many as are sensible.
    pub(super) fn new(width: Option<usize>) -> Self {
        let numbers: usize = NUMBERS.iter().map(|(_, width)| GAP.len() + width).sum();
        let fixed = numbers + SESSION_WIDTH + 3 * GAP.len();
        let width = width.unwrap_or(fixed + 3 * MAX_NAME_WIDTH);
        let rest = width.saturating_sub(fixed);
        let name = (rest / 3).clamp(MIN_NAME_WIDTH, MAX_NAME_WIDTH);
        // What the division leaves over is the server's.
        let server = rest.saturating_sub(2 * name).clamp(name, MAX_NAME_WIDTH);
        Self {
            widths: [SESSION_WIDTH, server, name, name],
            width,
            read: 0,
            probes: 0,
            runs: 0,
            solved: 0,
            unread_logs: 0,
            unread_files: 0,
            unread_runs: 0,
            broken_files: 0,
            sums: Counts::default(),
            duration_ms: 0,
            lost_lines: 0,
            bad_lines: 0,
        }
    }

    /// Counts a session without writing it.
    pub(super) fn count(&mut self, found: &Found) {
        self.add(found, Counts::of(found));
    }

    /// Counts what could not be read; whether that is a whole file.
    pub(super) fn count_unread(&mut self, error: &ReadError) -> bool {
        let (count, is_file) = match error {
            ReadError::Log(LogError::BadLine { .. }) | ReadError::Index { .. } => return false,
            ReadError::Log(_) => (&mut self.unread_logs, true),
            ReadError::BadRun { .. } => (&mut self.unread_runs, false),
            ReadError::Broken { .. } => (&mut self.broken_files, false),
            _ => (&mut self.unread_files, true),
        };
        *count += 1;
        is_file
    }

    /// Writes a session's row, behind the heading if it is the first.
    pub(super) fn row(&mut self, found: &Found, out: &mut impl Write) -> io::Result<()> {
        if self.read == 0 {
            let numbers = NUMBERS.map(|(name, _)| name.to_owned());
            self.write(["session", "server", "host", "agent"], &numbers, out)?;
        }
        let counts = Counts::of(found);
        self.add(found, counts);
        let episode = &found.episode;
        let servers = episode.servers.iter().map(|server| match &server.implementation {
            Some(implementation) if server.name.is_empty() => implementation.name.as_str(),
            _ => server.name.as_str(),
        });
        let servers = servers.collect::<Vec<_>>().join(",");
        let names = [
            episode.id.as_str(),
            servers.as_str(),
            episode.host.as_ref().map_or("", |host| host.name.as_str()),
            super::model(found),
        ];
        let calls = if found.is_probe() { "probe".to_owned() } else { counts.calls.to_string() };
        let numbers = [
            calls,
            counts.errors.to_string(),
            counts.turns.to_string(),
            text::duration(episode.duration_ms),
        ];
        self.write(names.map(|name| if name.is_empty() { "-" } else { name }), &numbers, out)
    }

    /// Writes the last line: what it all comes to.
    pub(super) fn totals(&self, out: &mut impl Write) -> io::Result<()> {
        let Counts { calls, errors, turns } = self.sums;
        let mut totals = format!(
            "{}: {}, {}, {}, {}",
            counted(self.read - self.probes, "session"),
            counted(calls, "call"),
            counted(errors, "error"),
            counted(turns, "turn"),
            text::duration(self.duration_ms),
        );
        let more = [
            (self.probes, "probe", "not counted"),
            (self.lost_lines, "line", "not recorded"),
            (self.bad_lines, "line", "skipped"),
            (self.unread_runs, "run", "not readable"),
            (self.broken_files, "file", "not read to the end"),
            (self.unread_files, "file", "not readable"),
            (self.unread_logs, "log", "not readable"),
        ];
        if self.runs > 0 {
            let runs = counted(self.runs, "run");
            totals += &["; ", &self.solved.to_string(), " of ", &runs, " solved"].concat();
        }
        for (count, word, what) in more.into_iter().filter(|(count, ..)| *count > 0) {
            totals += "; ";
            totals += &counted(count, word);
            totals += " ";
            totals += what;
        }
        // Sums are few and worth a second line.
        writeln!(out, "\n{totals}")
    }

    fn add(&mut self, found: &Found, counts: Counts) {
        self.read += 1;
        for log in &found.logs {
            self.lost_lines = self.lost_lines.saturating_add(log.report.lost_lines);
            self.bad_lines += log.report.bad_lines;
        }
        if found.logs.is_empty() && found.episode.source != Source::Atif {
            self.runs += 1;
            self.solved += u64::from(found.episode.reward > 1.0 - SOLVED_WITHIN);
        }
        if found.is_probe() {
            self.probes += 1;
            return;
        }
        self.sums.calls += counts.calls;
        self.sums.errors += counts.errors;
        self.sums.turns += counts.turns;
        self.duration_ms = self.duration_ms.saturating_add(found.episode.duration_ms);
    }

    fn write(
        &self,
        names: [&str; 4],
        numbers: &[String; 4],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut row = String::new();
        for (name, width) in names.into_iter().zip(self.widths) {
            let name = cut(name, width);
            row += &name;
            // Padding counts columns, which `format!` does not.
            let columns = unicode_width::UnicodeWidthStr::width(name.as_str());
            row.extend(std::iter::repeat_n(' ', width.saturating_sub(columns) + GAP.len()));
        }
        for (number, (_, width)) in numbers.iter().zip(NUMBERS) {
            // They are made of digits and letters, a column each.
            row.extend(std::iter::repeat_n(' ', width.saturating_sub(number.len())));
            row += number;
            row += GAP;
        }
        writeln!(out, "{}", cut(row.trim_end(), self.width))
    }
}
