//! Several sessions, a line each.

use std::io::{self, Write};

use hoist_trace::mcp::Session;

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

/// A table that is written row by row; of the rows only sums are kept.
#[derive(Debug)]
pub(super) struct Table {
    /// The widths of session, server, host and agent.
    widths: [usize; 4],
    width: usize,
    /// Logs that were read.
    pub(super) read: u64,
    /// Logs that could not be read.
    pub(super) unread: u64,
    probes: u64,
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
    fn of(session: &Session) -> Self {
        let episode = &session.episode;
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
            unread: 0,
            probes: 0,
            sums: Counts::default(),
            duration_ms: 0,
            lost_lines: 0,
            bad_lines: 0,
        }
    }

    /// Counts a session without writing it.
    pub(super) fn count(&mut self, session: &Session) {
        self.add(session, Counts::of(session));
    }

    /// Writes a session's row, behind the heading if it is the first.
    pub(super) fn row(&mut self, session: &Session, out: &mut impl Write) -> io::Result<()> {
        if self.read == 0 {
            let numbers = NUMBERS.map(|(name, _)| name.to_owned());
            self.write(["session", "server", "host", "agent"], &numbers, out)?;
        }
        let counts = Counts::of(session);
        self.add(session, counts);
        let episode = &session.episode;
        let server = episode.servers.first();
        let server = server.map(|server| match &server.implementation {
            Some(implementation) if server.name.is_empty() => implementation.name.as_str(),
            _ => server.name.as_str(),
        });
        let names = [
            session.header.session.as_str(),
            server.unwrap_or_default(),
            episode.host.as_ref().map_or("", |host| host.name.as_str()),
            session.header.agent_model.as_deref().unwrap_or_default(),
        ];
        let calls = if session.is_probe { "probe".to_owned() } else { counts.calls.to_string() };
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
            (self.unread, "log", "not readable"),
        ];
        for (count, word, what) in more.into_iter().filter(|(count, ..)| *count > 0) {
            totals += "; ";
            totals += &counted(count, word);
            totals += " ";
            totals += what;
        }
        // Sums are few and worth a second line.
        writeln!(out, "\n{totals}")
    }

    fn add(&mut self, session: &Session, counts: Counts) {
        self.read += 1;
        self.lost_lines = self.lost_lines.saturating_add(session.report.lost_lines);
        self.bad_lines += session.report.bad_lines;
        if session.is_probe {
            self.probes += 1;
            return;
        }
        self.sums.calls += counts.calls;
        self.sums.errors += counts.errors;
        self.sums.turns += counts.turns;
        self.duration_ms = self.duration_ms.saturating_add(session.episode.duration_ms);
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
