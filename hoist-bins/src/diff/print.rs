//! A report for people.

use std::io::{self, Write};

use super::calls::{CallRow, Compared};
use super::pairs::By;
use super::report::{PairRow, Report, Sessions, SideRow, Timing, Tools};
use super::tree::{Change, Tree};
use crate::text::{counted, cut, duration, visible};

/// How much of a value or of arguments is shown, in columns.
const VALUE_COLUMNS: usize = 60;

/// How many changes of one result, and how many rows of one kind, are shown.
const MAX_CHANGES: usize = 10;
const MAX_ROWS: usize = 50;

pub(super) fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    side('A', &report.a, out)?;
    side('B', &report.b, out)?;
    tools(&report.tools, out)?;
    sessions(&report.sessions, out)?;
    if !report.ignored.is_empty() {
        writeln!(out, "\nnot compared")?;
        rows(&report.ignored, out, |row, out| {
            let paths: Vec<&str> = row.paths.iter().map(String::as_str).collect();
            writeln!(out, "  {}: {}", asked(&row.tool, &row.arguments), visible(&paths.join(", ")))
        })?;
    }
    if !report.timing.is_empty() {
        writeln!(out, "\n{:<32}  {:>16}  {:>16}", "time to answer, p50", "A", "B")?;
        rows(&report.timing, out, |row, out| {
            let tool = cut(&row.tool, 30);
            writeln!(out, "  {tool:<30}  {:>16}  {:>16}", timing(row.a), timing(row.b))
        })?;
    }
    let differences = counted(report.differences as u64, "difference");
    let found = if report.equal { "no difference" } else { &differences };
    writeln!(out, "\n{found}")
}

fn side(name: char, side: &SideRow, out: &mut impl Write) -> io::Result<()> {
    let sessions = counted(side.sessions as u64, "session");
    let calls = counted(side.calls as u64, "call");
    let unread =
        if side.unread > 0 { format!(", {} not readable", side.unread) } else { String::new() };
    writeln!(out, "{name}  {}: {sessions}, {calls}{unread}", visible(&side.path))
}

fn tools(tools: &Tools, out: &mut impl Write) -> io::Result<()> {
    let Tools { compared, added, gone, changed } = tools;
    if !compared {
        return writeln!(out, "\ntools are not compared: they were not listed on both sides");
    }
    if added.len() + gone.len() + changed.len() == 0 {
        return Ok(());
    }
    writeln!(out, "\ntools")?;
    rows(added, out, |tool, out| writeln!(out, "  + {}", visible(tool)))?;
    rows(gone, out, |tool, out| writeln!(out, "  - {}", visible(tool)))?;
    rows(changed, out, |row, out| {
        writeln!(out, "  ~ {}", visible(&row.tool))?;
        changes(&row.changes, out)
    })
}

fn sessions(sessions: &Sessions, out: &mut impl Write) -> io::Result<()> {
    if sessions.added.len() + sessions.gone.len() > 0 {
        writeln!(out, "\nsessions")?;
        rows(&sessions.added, out, |id, out| writeln!(out, "  + {}", visible(id)))?;
        rows(&sessions.gone, out, |id, out| writeln!(out, "  - {}", visible(id)))?;
    }
    let differ: Vec<&PairRow> =
        sessions.pairs.iter().filter(|pair| pair.calls.differences() > 0).collect();
    rows(&differ, out, |pair, out| {
        let by = match (pair.by, &pair.task_id) {
            (By::Alone, _) => String::new(),
            (_, Some(task)) => format!(" (task {})", visible(task)),
            (By::Calls, _) => " (by their first calls)".to_owned(),
            _ => " (in order)".to_owned(),
        };
        writeln!(out, "\n{} and {}{by}", visible(&pair.a), visible(&pair.b))?;
        calls(&pair.calls, out)
    })
}

fn calls(calls: &Compared, out: &mut impl Write) -> io::Result<()> {
    let call = |sign: char, row: &CallRow| {
        format!("  {sign} #{} {}", visible(&row.id), asked(&row.tool, &row.arguments))
    };
    rows(&calls.added, out, |row, out| writeln!(out, "{}", call('+', row)))?;
    rows(&calls.gone, out, |row, out| writeln!(out, "{}", call('-', row)))?;
    rows(&calls.changed, out, |row, out| {
        let ids = [&row.a, &row.b].map(|id| visible(id));
        writeln!(out, "  ~ #{}, #{} {}: other arguments", ids[0], ids[1], visible(&row.tool))?;
        changes(&row.changes, out)
    })?;
    rows(&calls.results, out, |row, out| {
        let ids = [&row.a, &row.b].map(|id| visible(id));
        let asked = asked(&row.tool, &row.arguments);
        let result = match row.changes.as_slice() {
            [Change { path, b: None, .. }] if path.is_empty() => "a result in A only",
            [Change { path, a: None, .. }] if path.is_empty() => "a result in B only",
            _ => "another result",
        };
        writeln!(out, "  ! #{}, #{} {asked}: {result}", ids[0], ids[1])?;
        let within = row.changes.iter().filter(|change| !change.path.is_empty());
        changes(&within.cloned().collect::<Vec<_>>(), out)
    })
}

fn changes(changes: &[Change], out: &mut impl Write) -> io::Result<()> {
    let value = |value: &Option<Tree>| match value {
        Some(value) => cut(&value.json(), VALUE_COLUMNS),
        None => "nothing".to_owned(),
    };
    for change in changes.iter().take(MAX_CHANGES) {
        let path = if change.path.is_empty() { "all" } else { &change.path };
        writeln!(out, "      {}: {} → {}", visible(path), value(&change.a), value(&change.b))?;
    }
    more(changes.len().saturating_sub(MAX_CHANGES), "      ", out)
}

/// Writes some of the rows, and how many more there are.
fn rows<T, W: Write>(
    rows: &[T],
    out: &mut W,
    row: impl Fn(&T, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    rows.iter().take(MAX_ROWS).try_for_each(|one| row(one, out))?;
    more(rows.len().saturating_sub(MAX_ROWS), "  ", out)
}

fn more(more: usize, indent: &str, out: &mut impl Write) -> io::Result<()> {
    if more > 0 { writeln!(out, "{indent}… {more} more; --json has all") } else { Ok(()) }
}

fn asked(tool: &str, arguments: &Tree) -> String {
    format!("{} {}", visible(tool), cut(&arguments.json(), VALUE_COLUMNS))
}

fn timing(timing: Timing) -> String {
    let calls = timing.calls;
    timing.p50_ms.map_or_else(|| "-".to_owned(), |ms| format!("{} of {calls}", duration(ms)))
}
