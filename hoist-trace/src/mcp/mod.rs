//! Sessions that `hoist-mcp` recorded.

mod assemble;
mod finding;
mod lenient;
mod link;
mod merge;
mod peers;
mod result;
mod tools;
mod wire;

use std::io::BufRead;
use std::path::Path;

pub use finding::{Finding, FindingKind, Findings};

use crate::episode::{Episode, Manifest};
use crate::log::{Entry, Header, LogError, LogReader, ReadReport};
use assemble::assemble;
use link::Linker;
pub(crate) use merge::{merge, name_after_servers};

/// A whole log in memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Log {
    /// What the log says of its session.
    pub header: Header,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
    /// What was met besides entries: skipped, blank and torn lines, gaps.
    pub report: ReadReport,
    /// The lines that were skipped: the first [`MAX_PROBLEMS`](Self::MAX_PROBLEMS) of them, each
    /// with its place. A torn last line is not among them: that a process was killed is nothing
    /// wrong with the log. [`ReadReport::torn_bytes`] says how long it is.
    pub problems: Vec<LogError>,
}

impl Log {
    /// How many skipped lines are described; all are counted.
    pub const MAX_PROBLEMS: usize = 100;
}

/// Reads a log into memory. [`LogReader`] reads one without holding it.
///
/// Lines that are no entries are skipped and listed in [`Log::problems`].
///
/// # Errors
///
/// [`LogError`] when the file cannot be read, is empty, is no Hoist log, or has another version.
pub fn read_log(path: &Path) -> Result<Log, LogError> {
    let mut reader = LogReader::open(path)?;
    let mut entries = Vec::new();
    let mut problems = Vec::new();
    for item in &mut reader {
        match item {
            Ok(entry) => entries.push(entry),
            Err(error) if !error.is_bad_line() => return Err(error),
            Err(error) if problems.len() < Log::MAX_PROBLEMS => problems.push(error),
            Err(_) => {}
        }
    }
    let (header, report) = reader.into_parts();
    Ok(Log { header, entries, report, problems })
}

/// The session that a log holds.
///
/// Each `tools/call` is a call, each first answer to one its result. Requests that a host makes
/// again with the input its server asked for are one call, and so are a call and the task it
/// became. Which calls are one turn of the model is inferred, since MCP does not say it; `README.md`
/// has the rules.
///
/// # Examples
///
/// ```no_run
/// use std::path::Path;
/// use hoist_trace::mcp::{episode, manifest, read_log};
///
/// let log = read_log(Path::new("logs/20260923T212000.123Z-4242.jsonl"))?;
/// let mut episode = episode(&log);
/// episode.reward = 1.0; // where you know that the task was done
/// let tools = manifest(&log, &episode.domain);
/// for call in episode.calls() {
///     println!("turn {}: {} {}", call.turn, call.name, call.arguments);
/// }
/// # Ok::<(), hoist_trace::log::LogError>(())
/// ```
pub fn episode(log: &Log) -> Episode {
    let mut linker = Linker::default();
    for entry in &log.entries {
        linker.push(entry);
        linker.findings.clear();
    }
    linker.finish();
    assemble(&log.header, linker)
}

/// The tools that the server listed, with the kinds its annotations claim.
pub fn manifest(log: &Log, domain: &str) -> Manifest {
    Manifest::new(domain, episode(log).tools)
}

/// A session read from a log, with all that was odd about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    /// What the log says of it.
    pub header: Header,
    /// The session.
    pub episode: Episode,
    /// What was met besides entries.
    pub report: ReadReport,
    /// The lines that were skipped: the first [`Log::MAX_PROBLEMS`] of them. A torn last line is not
    /// among them: [`ReadReport::torn_bytes`] says how long it is.
    pub problems: Vec<LogError>,
    /// What is odd about the messages.
    pub findings: Findings,
    /// Whether the host asked for nothing but `server/discover`. Hosts that speak both eras start a
    /// server once just to learn which one it speaks.
    pub is_probe: bool,
}

/// Reads a log into an episode, holding one line at a time: less memory than [`read_log`] and
/// [`episode`] take.
///
/// # Errors
///
/// As [`read_log`].
pub fn read_session(path: &Path) -> Result<Session, LogError> {
    read_session_from(LogReader::open(path)?)
}

/// As [`read_session`], from any reader.
///
/// # Errors
///
/// [`LogError::Io`].
pub fn read_session_from<R: BufRead>(reader: LogReader<R>) -> Result<Session, LogError> {
    read_linked(reader).map(|linked| {
        let Linked { header, linker, report, problems, findings, is_probe } = linked;
        let episode = assemble(&header, linker);
        Session { header, episode, report, problems, findings, is_probe }
    })
}

/// A log that was read, and not yet made an episode of.
#[derive(Debug)]
pub(crate) struct Linked {
    pub(crate) header: Header,
    linker: Linker,
    pub(crate) report: ReadReport,
    pub(crate) problems: Vec<LogError>,
    pub(crate) findings: Findings,
    pub(crate) is_probe: bool,
}

/// Reads a log to its end.
pub(crate) fn read_linked<R: BufRead>(mut reader: LogReader<R>) -> Result<Linked, LogError> {
    let mut linker = Linker::default();
    let mut problems = Vec::new();
    let mut findings = Findings::default();
    for item in &mut reader {
        match item {
            Ok(entry) => linker.push(&entry),
            Err(error) if !error.is_bad_line() => return Err(error),
            Err(error) if problems.len() < Log::MAX_PROBLEMS => problems.push(error),
            Err(_) => {}
        }
        linker.findings.drain(..).for_each(|finding| findings.add(finding));
    }
    linker.finish();
    linker.findings.drain(..).for_each(|finding| findings.add(finding));
    let (header, report) = reader.into_parts();
    let is_probe = linker.is_probe();
    Ok(Linked { header, linker, report, problems, findings, is_probe })
}

/// What has to be known of a log before it can be put together with others.
#[derive(Debug)]
pub(crate) struct Outline {
    /// What its server is called.
    pub(crate) server: String,
    pub(crate) is_probe: bool,
    /// When the last line was recorded, after the start.
    pub(crate) last_ms: u64,
}

/// Reads a log's outline, and keeps nothing else of it.
pub(crate) fn outline<R: BufRead>(mut reader: LogReader<R>) -> Result<Outline, LogError> {
    let mut linker = Linker::lean();
    for item in &mut reader {
        match item {
            Ok(entry) => linker.push(&entry),
            Err(error) if error.is_bad_line() => {}
            Err(error) => return Err(error),
        }
        linker.findings.clear();
    }
    let own = linker.peers.server.as_ref().map(|server| server.name.as_str());
    Ok(Outline {
        server: assemble::server_name(reader.header(), own),
        is_probe: linker.is_probe(),
        last_ms: linker.last_ms,
    })
}

/// Says everything that is odd about a log, as it is found, and keeps none of it.
///
/// Findings come in the order of their lines, but for [`FindingKind::Unanswered`]: that nobody
/// answered a request is known at the end only, so these come last, in the order of theirs.
/// Returns what [`LogReader::report`] says at the end.
///
/// # Examples
///
/// ```
/// use hoist_trace::log::LogReader;
/// use hoist_trace::mcp::check;
///
/// let text = concat!(
///     "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":0}\n",
///     "{\"t_ms\":12,\"from\":\"client\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n",
///     "{\"t_ms\":11,\"from\":\"server\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}}\n",
/// );
/// let mut found = Vec::new();
/// check(LogReader::new(text.as_bytes(), "s.jsonl")?, |finding| {
///     found.push(format!("{}: {}", finding.line, finding.kind.name()));
/// })?;
/// assert_eq!(found, ["3: time-goes-back", "3: answer-without-request", "2: unanswered"]);
/// # Ok::<(), hoist_trace::log::LogError>(())
/// ```
///
/// # Errors
///
/// [`LogError::Io`]; what was found before it was said.
pub fn check<R: BufRead>(
    mut reader: LogReader<R>,
    mut found: impl FnMut(Finding),
) -> Result<ReadReport, LogError> {
    let mut linker = Linker::lean();
    for item in &mut reader {
        match item {
            Ok(entry) => {
                linker.push(&entry);
                linker.findings.drain(..).for_each(&mut found);
            }
            Err(LogError::BadLine { line, column, what, .. }) => {
                found(Finding { line, kind: FindingKind::BadLine { column, what } });
            }
            Err(error) => return Err(error),
        }
    }
    let report = reader.report();
    if report.torn_bytes > 0 {
        let kind = FindingKind::TornLine { bytes: report.torn_bytes };
        found(Finding { line: report.lines() + 1, kind });
    }
    linker.finish();
    linker.findings.drain(..).for_each(&mut found);
    Ok(report)
}
