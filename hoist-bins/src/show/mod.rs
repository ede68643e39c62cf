//! `hoist show`: recorded sessions, for people to read.

mod follow;
mod table;
mod timeline;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use hoist_trace::log::LogError;
use hoist_trace::mcp::{Session, read_session_from};

use crate::cli::ShowOptions;
use crate::diagnostics::{complain, with_causes};
use crate::logs::{self, Unreadable};
use crate::text;
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

fn show_one(options: &ShowOptions, program: &str, out: &mut impl Write) -> io::Result<u8> {
    // The command line has one.
    let Some(path) = options.paths.first() else { return Ok(EXIT_UNREAD) };
    let session = match read(path) {
        Ok(session) => session,
        Err(error) => {
            complain(program, &with_causes(&error));
            return Ok(EXIT_UNREAD);
        }
    };
    let incomplete = say_skipped(&session, path, program);
    if options.json {
        write_json(&session, out)?;
    } else {
        let mut timeline = Timeline::new(width(options));
        timeline.head(&session, path, out)?;
        timeline.go_on(&session, out)?;
    }
    Ok(if options.strict && incomplete { EXIT_UNREAD } else { 0 })
}

fn show_several(options: &ShowOptions, program: &str, out: &mut impl Write) -> io::Result<u8> {
    let mut table = Table::new(width(options));
    let mut named_unread = false;
    let mut incomplete = false;
    for log in logs::find(&options.paths) {
        let named = log.as_ref().is_ok_and(|log| log.named);
        let read = log.and_then(|log| {
            read(&log.path).map(|session| (log.path, session)).map_err(Unreadable::Log)
        });
        match read {
            Ok((path, session)) => {
                incomplete |= say_skipped(&session, &path, program);
                if options.json {
                    table.count(&session);
                    write_json(&session, out)?;
                } else {
                    table.row(&session, out)?;
                }
            }
            Err(error) => {
                table.unread += 1;
                named_unread |= named;
                incomplete = true;
                complain(program, &with_causes(&error));
            }
        }
        // Whoever watches sees each as soon as it was read.
        out.flush()?;
    }
    if table.read == 0 {
        if table.unread == 0 {
            let names: Vec<String> = options.paths.iter().map(|path| text::file(path)).collect();
            complain(program, &format!("no session log (*.jsonl) in {}", names.join(", ")));
        }
        return Ok(EXIT_UNREAD);
    }
    if !options.json {
        table.totals(out)?;
    }
    Ok(if named_unread || (options.strict && incomplete) { EXIT_UNREAD } else { 0 })
}

fn read(path: &Path) -> Result<Session, LogError> {
    read_session_from(logs::open(path)?)
}

fn write_json(session: &Session, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &session.episode)?;
    out.write_all(b"\n")
}

/// Says which lines of a log could not be read, and in which something could not; whether there were
/// any.
fn say_skipped(session: &Session, path: &Path, program: &str) -> bool {
    let report = &session.report;
    let file = path.display();
    for problem in session.problems.iter().take(MAX_SAID) {
        complain(program, &problem.to_string());
    }
    let more = report.bad_lines.saturating_sub(MAX_SAID as u64);
    if more > 0 {
        let more = text::counted(more, "more line");
        complain(program, &format!("{file}: and {more}; `hoist validate {file}` lists them"));
    }
    for unread in unread(session, path).take(MAX_SAID) {
        complain(program, &unread);
    }
    let more = session.findings.unread.saturating_sub(MAX_SAID as u64);
    if more > 0 {
        let more = text::counted(more, "more message");
        complain(program, &format!("{file}: and {more}; `hoist validate {file}` lists them"));
    }
    let torn_bytes = torn_bytes(session);
    if torn_bytes > 0 {
        let (line, bytes) = (report.lines() + 1, text::counted(torn_bytes, "byte"));
        complain(
            program,
            &format!("{file}:{line}:1: skipped the last line, which is torn: {bytes}"),
        );
    }
    report.bad_lines > 0 || torn_bytes > 0 || session.findings.unread > 0
}

/// The messages of which something could not be read.
fn unread(session: &Session, path: &Path) -> impl Iterator<Item = String> {
    let unread = session.findings.first.iter().filter(|finding| finding.is_unread());
    unread.map(move |finding| {
        let what = text::cut(&finding.kind.to_string(), MAX_COLUMNS);
        format!("{}:{}: {what}", path.display(), finding.line)
    })
}

/// How much of a torn last line is missing. A header is read without its line feed, too.
fn torn_bytes(session: &Session) -> u64 {
    if session.report.header_is_torn { 0 } else { session.report.torn_bytes }
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
