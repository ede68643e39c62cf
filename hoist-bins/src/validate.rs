//! `hoist validate`: every broken rule of logs, with its place.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use hoist_trace::log::LogError;
use hoist_trace::mcp::{Finding, FindingKind, check};
use hoist_trace::sessions::{Found, Item, OpenLog, ReadError};
use serde::Serialize;

use crate::cli::ValidateOptions;
use crate::diagnostics::{complain, with_causes};
use crate::{logs, text};

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
    let mut report = Report { json: options.json, logs: 0, runs: 0, problems: 0, notes: 0, out };
    for item in logs::files(&options.paths) {
        match item {
            Ok(Item::Log(log)) => report.log(*log)?,
            Ok(Item::Run(run)) => report.run(&run)?,
            Err(error) => {
                report.logs += u64::from(matches!(error, ReadError::Log(_)));
                report.unreadable(&error)?;
            }
            // Whatever else there may be one day.
            Ok(_) => {}
        }
        report.out.flush()?;
    }
    if report.logs == 0 && report.runs == 0 && report.problems == 0 {
        let names: Vec<String> = options.paths.iter().map(|path| text::file(path)).collect();
        complain(program, &format!("no session in {}", names.join(", ")));
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
    column: Option<u64>,
    /// Which run of the file it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    kind: &'static str,
    message: String,
    problem: bool,
}

impl From<Finding> for Row {
    fn from(finding: Finding) -> Self {
        let column = match finding.kind {
            FindingKind::BadLine { column, .. } => Some(column as u64),
            _ => None,
        };
        Self {
            line: Some(finding.line),
            column,
            run: None,
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
    runs: u64,
    problems: u64,
    notes: u64,
    out: &'a mut W,
}

impl<W: Write> Report<'_, W> {
    /// Checks one log. An error is one of writing.
    fn log(&mut self, log: OpenLog) -> io::Result<()> {
        self.logs += 1;
        let path = log.path.as_path();
        let mut held = Vec::new();
        let mut written = Ok(());
        let checked = check(log.reader, |finding| {
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
            Err(error) => self.unreadable(&error.into()),
        }
    }

    /// Says what is odd about one run.
    fn run(&mut self, found: &Found) -> io::Result<()> {
        self.runs += 1;
        found.oddities.iter().try_for_each(|oddity| {
            let message = format!("message {}: {}", oddity.message, oddity.kind);
            let row = Row {
                line: Some(found.line),
                column: None,
                run: Some(found.episode.id.clone()),
                kind: oddity.kind.name(),
                message: text::cut(&message, MAX_COLUMNS),
                problem: oddity.is_problem(),
            };
            self.row(&found.path, &row)
        })
    }

    /// What is none of the formats, or cannot be read.
    fn unreadable(&mut self, error: &ReadError) -> io::Result<()> {
        let (path, kind) = (error.path(), error.name());
        let (line, column) = (error.line(), error.column());
        // The file, and the place in it, stand in front already.
        let message = match error {
            ReadError::Log(LogError::Empty { .. }) => {
                "it is empty: a session log starts with a header line".into()
            }
            ReadError::Io { source, .. } if path.is_dir() => {
                format!("the directory cannot be read: {source}")
            }
            ReadError::Io { source, .. } | ReadError::Log(LogError::Io { source, .. }) => {
                format!("it cannot be read: {source}")
            }
            error => {
                let place = place(&path.display().to_string(), line, column);
                let said = with_causes(error);
                said.strip_prefix(&format!("{place}: ")).unwrap_or(&said).to_owned()
            }
        };
        let message = text::cut(&message, MAX_COLUMNS);
        self.row(path, &Row { line, column, run: None, kind, message, problem: true })
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
        let run = row.run.as_deref().map(|run| format!("{}: ", text::visible(run)));
        writeln!(self.out, "{place}: {note}{}{}", run.unwrap_or_default(), row.message)
    }

    fn summary(&mut self) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut read = text::counted(self.logs, "log");
        if self.runs > 0 {
            let runs = text::counted(self.runs, "run");
            read = if self.logs > 0 { format!("{read}, {runs}") } else { runs };
        }
        let problems = text::counted(self.problems, "problem");
        let notes = text::counted(self.notes, "note");
        writeln!(self.out, "{read}, {problems}, {notes}")
    }
}

/// `file:line:column`, as far as it is known.
fn place(file: &str, line: Option<u64>, column: Option<u64>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        _ => file.to_owned(),
    }
}
