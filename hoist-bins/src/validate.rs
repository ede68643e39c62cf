//! `hoist validate`: every broken rule of logs, with its place.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use hoist_trace::log::LogError;
use hoist_trace::mcp::{Finding, FindingKind, check};
use serde::Serialize;

use crate::cli::ValidateOptions;
use crate::diagnostics::{complain, with_causes};
use crate::logs::{self, Unreadable};
use crate::text;

/// The exit code when a rule is broken.
const EXIT_PROBLEM: u8 = 1;

/// How many findings of one log are held so that they come in the order of lines: that nobody
/// answered a request is known at the end only. Of a log with more, those come last.
const MAX_HELD: usize = 10_000;

/// How much of a finding is shown, in columns. What it names may be a message of megabytes.
const MAX_COLUMNS: usize = 500;

/// Checks the logs and returns the exit code.
pub(crate) fn run(options: &ValidateOptions, program: &str) -> u8 {
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let checked = validate(options, program, &mut out).and_then(|code| out.flush().map(|()| code));
    match checked {
        Ok(code) => code,
        // A reader that has seen enough, such as `head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            complain(program, &format!("writing to standard output failed: {error}"));
            EXIT_PROBLEM
        }
    }
}

fn validate(options: &ValidateOptions, program: &str, out: &mut impl Write) -> io::Result<u8> {
    let mut report = Report { json: options.json, logs: 0, problems: 0, notes: 0, out };
    for log in logs::find(&options.paths) {
        match log {
            Ok(log) => report.log(&log.path)?,
            Err(Unreadable::Log(error)) => report.unreadable(error.path(), &error)?,
            Err(Unreadable::Directory { path, source }) => {
                let message = format!("the directory cannot be read: {source}");
                let row =
                    Row { line: None, column: None, kind: "unreadable", message, problem: true };
                report.row(&path, &row)?;
            }
        }
        report.out.flush()?;
    }
    if report.logs == 0 && report.problems == 0 {
        let names: Vec<String> = options.paths.iter().map(|path| text::file(path)).collect();
        complain(program, &format!("no session log (*.jsonl) in {}", names.join(", ")));
        return Ok(EXIT_PROBLEM);
    }
    report.summary()?;
    Ok(if report.problems > 0 { EXIT_PROBLEM } else { 0 })
}

/// One finding as it is printed.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    kind: &'static str,
    message: String,
    problem: bool,
}

impl From<Finding> for Row {
    fn from(finding: Finding) -> Self {
        let column = match finding.kind {
            FindingKind::BadLine { column, .. } => Some(column),
            _ => None,
        };
        Self {
            line: Some(finding.line),
            column,
            kind: finding.kind.name(),
            message: text::cut(&finding.kind.to_string(), MAX_COLUMNS),
            problem: finding.is_problem(),
        }
    }
}

/// Prints findings, and counts what was printed.
struct Report<'a, W> {
    json: bool,
    logs: u64,
    problems: u64,
    notes: u64,
    out: &'a mut W,
}

impl<W: Write> Report<'_, W> {
    /// Checks one log. An error is one of writing.
    fn log(&mut self, path: &Path) -> io::Result<()> {
        self.logs += 1;
        let reader = match logs::open(path) {
            Ok(reader) => reader,
            Err(error) => return self.unreadable(path, &error),
        };
        let mut held = Vec::new();
        let mut written = Ok(());
        let checked = check(reader, |finding| {
            held.push(Row::from(finding));
            if held.len() >= MAX_HELD && written.is_ok() {
                written = self.rows(path, &mut held);
            }
        });
        written?;
        held.sort_by_key(|row| row.line);
        self.rows(path, &mut held)?;
        match checked {
            Ok(_) => Ok(()),
            Err(error) => self.unreadable(path, &error),
        }
    }

    /// What is no log, or cannot be read.
    fn unreadable(&mut self, path: &Path, error: &LogError) -> io::Result<()> {
        let kind = match error {
            LogError::Empty { .. } => "empty",
            LogError::NotALog { .. } => "not-a-log",
            LogError::Version { .. } => "wrong-version",
            _ => "unreadable",
        };
        let (line, column) = (error.line(), error.column());
        // The file, and the place in it, stand in front already.
        let message = match error {
            LogError::Empty { .. } => "it is empty: a session log starts with a header line".into(),
            LogError::Io { source, .. } => format!("it cannot be read: {source}"),
            error => {
                let place = place(&path.display().to_string(), line, column);
                let said = with_causes(error);
                said.strip_prefix(&format!("{place}: ")).unwrap_or(&said).to_owned()
            }
        };
        let message = text::cut(&message, MAX_COLUMNS);
        self.row(path, &Row { line, column, kind, message, problem: true })
    }

    fn rows(&mut self, path: &Path, rows: &mut Vec<Row>) -> io::Result<()> {
        rows.drain(..).try_for_each(|row| self.row(path, &row))
    }

    fn row(&mut self, path: &Path, row: &Row) -> io::Result<()> {
        if row.problem {
            self.problems += 1;
        } else {
            self.notes += 1;
        }
        if self.json {
            #[derive(Serialize)]
            struct InFile<'a> {
                file: &'a str,
                #[serde(flatten)]
                row: &'a Row,
            }
            let file = &path.to_string_lossy();
            serde_json::to_writer(&mut *self.out, &InFile { file, row })?;
            return self.out.write_all(b"\n");
        }
        let place = place(&text::file(path), row.line, row.column);
        let note = if row.problem { "" } else { "note: " };
        writeln!(self.out, "{place}: {note}{}", row.message)
    }

    fn summary(&mut self) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let logs = text::counted(self.logs, "log");
        let problems = text::counted(self.problems, "problem");
        let notes = text::counted(self.notes, "note");
        writeln!(self.out, "{logs}, {problems}, {notes}")
    }
}

/// `file:line:column`, as far as it is known.
fn place(file: &str, line: Option<u64>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        _ => file.to_owned(),
    }
}
