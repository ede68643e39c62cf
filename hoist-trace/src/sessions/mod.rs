//! Sessions of every source, one at a time.
//!
//! [`Sessions`] takes files and directories and reads what it finds into episodes: session logs, and
//! the runs and trajectories of the formats that `docs/formats.md` lists. What a file is is told by
//! what stands in it. It holds one episode in memory at a time, of a file of any size; what cannot
//! be read is an item of its own, and the rest is read.

mod error;
mod files;
mod open;
mod runs_file;
mod scan;
mod sniff;
mod together;
mod walk;

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};

pub use crate::runs::{Oddity, OddityKind};
pub use error::ReadError;
pub use files::{Files, Item, LogInput, OpenLog};

use crate::episode::Episode;
use crate::log::{Header, LogError, LogReader, ReadReport};
use crate::mcp::{self, Findings, Session};
use runs_file::Placed;
use together::Plan;

/// An episode, and where it was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The session.
    pub episode: Episode,
    /// The file; of several logs, the one that began first.
    pub path: PathBuf,
    /// Where it stands in a file of several, such as `simulations[3]`; empty for a log.
    pub at: String,
    /// The line at which it starts.
    pub line: u64,
    /// What is odd about a run; what is odd about a log is said with the log.
    pub oddities: Vec<Oddity>,
    /// What the logs say that it was read from; none for a run.
    pub logs: Vec<LogPart>,
}

/// A log that an episode was read from, with all that was odd about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LogPart {
    /// The log.
    pub path: PathBuf,
    /// What it says of its session.
    pub header: Header,
    /// What was met besides entries.
    pub report: ReadReport,
    /// The lines that were skipped: the first [`Log::MAX_PROBLEMS`](mcp::Log::MAX_PROBLEMS) of them.
    pub problems: Vec<LogError>,
    /// What is odd about the messages.
    pub findings: Findings,
    /// Whether the host asked for nothing but `server/discover`.
    pub is_probe: bool,
}

impl Found {
    /// A session that was read from one log.
    pub fn of_log(path: impl Into<PathBuf>, session: Session) -> Self {
        let path = path.into();
        let Session { header, episode, report, problems, findings, is_probe } = session;
        let log = LogPart { path: path.clone(), header, report, problems, findings, is_probe };
        Self { episode, path, at: String::new(), line: 1, oddities: Vec::new(), logs: vec![log] }
    }

    fn of_run(path: &Path, Placed { run, at, line }: Placed) -> Self {
        Self {
            episode: run.episode,
            path: path.to_owned(),
            at,
            line,
            oddities: run.oddities,
            logs: Vec::new(),
        }
    }

    /// Whether it is a log in which a host only asked which revisions a server speaks.
    pub fn is_probe(&self) -> bool {
        !self.logs.is_empty() && self.logs.iter().all(|log| log.is_probe)
    }
}

/// Reads the sessions of files and directories.
///
/// An item is an episode, or what could not be read; after either, the next. Directories are walked
/// with what lies below them, by name. Links in them are not followed, files of none of the formats
/// are passed over (those named `*.jsonl` are taken for damaged logs, and said), and so are the
/// files that stand beside a log.
///
/// # Examples
///
/// ```no_run
/// use hoist_trace::sessions::Sessions;
///
/// for item in Sessions::of(["logs", "results/run-1.json"]) {
///     match item {
///         Ok(found) => println!("{}: {}", found.path.display(), found.episode.id),
///         Err(problem) => eprintln!("{problem}"), // names file, line and column
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Sessions {
    files: Files,
    /// What was read already.
    ready: VecDeque<Result<Found, ReadError>>,
    together: Option<Together>,
}

/// What is needed to read logs of one host session together.
#[derive(Debug, Default)]
struct Together {
    /// By directory.
    plans: HashMap<PathBuf, Plan>,
    /// The plan for files that were named one by one, which count as a directory.
    named: Plan,
}

impl Sessions {
    /// The sessions of these files and directories, each log a session of its own.
    pub fn of(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self::new(Files::of(paths))
    }

    fn new(files: Files) -> Self {
        Self { files, ready: VecDeque::new(), together: None }
    }

    /// The sessions of these files and directories, where the logs that one host session left with
    /// several servers are one session.
    ///
    /// Logs of one directory belong together that have the same `host_session` and overlap in time,
    /// but for probes. Their tools are named `server::tool`; once a directory holds such a session,
    /// so are those of its other logs. Where two servers of one name ran at once, a host session's
    /// logs stay apart, which is said ([`ReadError::SameName`]). Only the logs of one host session
    /// are in memory at a time.
    pub fn merged(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        // What is no file, such as a pipe, can be read once only.
        let named = paths.iter().filter(|path| path.is_file()).cloned();
        let together = Together { named: Plan::of_files(named), plans: HashMap::new() };
        Self { together: Some(together), ..Self::new(Files::of(paths)) }
    }

    /// The sessions of one input, such as standard input; `path` is only what is said of it.
    ///
    /// A log is read as it comes; anything else is read into memory first, as its runs may have to
    /// be sought.
    pub fn read_from(input: impl Read + Send + 'static, path: impl Into<PathBuf>) -> Self {
        Self::new(Files::read_from(input, path))
    }

    fn log(&mut self, log: OpenLog) {
        let OpenLog { path, reader, named } = log;
        let mut names_servers = false;
        if let Some(together) = &mut self.together {
            let plan = together.plan(&path, named);
            self.ready.extend(plan.notices.drain(..).map(Err));
            names_servers = plan.names_servers();
            if let Some(logs) = plan.take_together(&path) {
                return self.logs(&logs);
            }
        }
        let read = mcp::read_session_from(reader);
        self.ready.push_back(read.map_err(ReadError::from).map(|mut session| {
            if names_servers {
                mcp::name_after_servers(&mut session.episode);
            }
            Found::of_log(path, session)
        }));
    }

    /// Reads logs of one host session into one.
    fn logs(&mut self, paths: &[PathBuf]) {
        let mut linked = Vec::new();
        let mut logs = Vec::new();
        for path in paths {
            match LogReader::open(path).and_then(mcp::read_linked) {
                Ok(mut log) => {
                    logs.push(LogPart {
                        path: path.clone(),
                        header: log.header.clone(),
                        report: log.report,
                        problems: std::mem::take(&mut log.problems),
                        findings: std::mem::take(&mut log.findings),
                        is_probe: log.is_probe,
                    });
                    linked.push(log);
                }
                Err(error) => self.ready.push_back(Err(error.into())),
            }
        }
        let Some(first) = logs.first() else { return };
        self.ready.push_back(Ok(Found {
            path: first.path.clone(),
            episode: mcp::merge(linked),
            at: String::new(),
            line: 1,
            oddities: Vec::new(),
            logs,
        }));
    }
}

impl Iterator for Sessions {
    type Item = Result<Found, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match self.files.next()? {
                Ok(Item::Run(found)) => return Some(Ok(*found)),
                Ok(Item::Log(log)) => self.log(*log),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Together {
    /// The plan for the logs of the directory in which this one was found.
    fn plan(&mut self, path: &Path, named: bool) -> &mut Plan {
        if named {
            return &mut self.named;
        }
        let dir = path.parent().unwrap_or_else(|| Path::new(""));
        if !self.plans.contains_key(dir) {
            // Of directories that were left, none is come back to.
            self.plans.retain(|left, _| dir.starts_with(left));
            self.plans.insert(dir.to_owned(), Plan::of_dir(dir));
        }
        self.plans.entry(dir.to_owned()).or_default()
    }
}
