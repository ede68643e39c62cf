//! Which logs are of one host session with several servers.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::ReadError;
use super::sniff::starts_as_log;
use super::walk::is_companion;
use crate::log::{Header, LogReader};
use crate::mcp::{Outline, outline};

/// What is known of the logs of one directory before they are read.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Logs that are read together, by each of them.
    groups: HashMap<PathBuf, usize>,
    members: Vec<Vec<PathBuf>>,
    /// What is to be said of them.
    pub(super) notices: Vec<ReadError>,
}

/// A log, as far as it matters here.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    start_ms: u64,
    end_ms: u64,
    server: String,
}

/// How much of a log is read for its header, in bytes.
const HEADER_MAX_BYTES: u64 = 16 << 10;

impl Plan {
    /// Looks at the logs of a directory.
    pub(super) fn of_dir(dir: &Path) -> Self {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let files = entries.filter(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_file()) && !is_companion(&entry.path())
        });
        Self::of_files(files.map(|entry| entry.path()))
    }

    /// Looks at these logs.
    pub(super) fn of_files(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut plan = Self::default();
        // Most host sessions have one log; of these no more than this is kept.
        let mut by_session: HashMap<String, Vec<(u64, PathBuf)>> = HashMap::new();
        for path in files {
            if let Some(header) = header(&path)
                && let Some(session) = header.host_session
            {
                by_session.entry(session).or_default().push((header.started_unix_ms, path));
            }
        }
        let mut sessions: Vec<_> =
            by_session.into_iter().filter(|(_, logs)| logs.len() > 1).collect();
        sessions.sort();
        for (session, logs) in sessions {
            plan.host_session(&session, logs);
        }
        plan
    }

    /// Whether the logs' tools are named after their servers: a host session had several.
    pub(super) fn names_servers(&self) -> bool {
        !self.members.is_empty()
    }

    /// The logs that this one is read with, itself among them: all of them the first time, none
    /// when they were read already. `None` where it is read alone.
    pub(super) fn take_together(&mut self, path: &Path) -> Option<Vec<PathBuf>> {
        let group = *self.groups.get(path)?;
        self.members.get_mut(group).map(std::mem::take)
    }

    fn host_session(&mut self, session: &str, logs: Vec<(u64, PathBuf)>) {
        let mut candidates: Vec<Candidate> = logs
            .into_iter()
            .filter_map(|(start_ms, path)| {
                // What cannot be read is said when it is read alone.
                let Outline { server, is_probe, last_ms } =
                    outline(LogReader::open(&path).ok()?).ok()?;
                let end_ms = start_ms.saturating_add(last_ms);
                (!is_probe).then_some(Candidate { path, start_ms, end_ms, server })
            })
            .collect();
        candidates.sort_by(|a, b| (a.start_ms, &a.path).cmp(&(b.start_ms, &b.path)));
        let mut at_once: Vec<Candidate> = Vec::new();
        let mut end_ms = 0;
        for candidate in candidates {
            if candidate.start_ms > end_ms && !at_once.is_empty() {
                self.at_once(session, std::mem::take(&mut at_once));
            }
            end_ms = candidate.end_ms.max(if at_once.is_empty() { 0 } else { end_ms });
            at_once.push(candidate);
        }
        self.at_once(session, at_once);
    }

    /// Takes logs that overlap, each with one before it.
    fn at_once(&mut self, session: &str, logs: Vec<Candidate>) {
        let mut running: HashMap<&str, &Candidate> = HashMap::new();
        for log in &logs {
            if let Some(other) = running.get(log.server.as_str())
                && log.start_ms <= other.end_ms
            {
                self.notices.push(ReadError::SameName {
                    path: other.path.clone(),
                    other: log.path.clone(),
                    server: log.server.clone(),
                    host_session: session.to_owned(),
                });
                return;
            }
            running.insert(&log.server, log);
        }
        let servers: HashSet<&str> = logs.iter().map(|log| log.server.as_str()).collect();
        if servers.len() > 1 {
            let group = self.members.len();
            self.groups.extend(logs.iter().map(|log| (log.path.clone(), group)));
            self.members.push(logs.into_iter().map(|log| log.path).collect());
        }
    }
}

/// The header of a log that the recorder wrote.
fn header(path: &Path) -> Option<Header> {
    let file = File::open(path).ok()?;
    let mut start = Vec::new();
    let mut reader = BufReader::with_capacity(512, file);
    // One read does for nearly all.
    loop {
        let mut chunk = [0; 512];
        let read = reader.read(&mut chunk).ok()?;
        let line_end = memchr::memchr(b'\n', &chunk[..read]);
        start.extend_from_slice(&chunk[..line_end.unwrap_or(read)]);
        if !starts_as_log(&start) || start.len() as u64 > HEADER_MAX_BYTES {
            return None;
        }
        if line_end.is_some() || read == 0 {
            return Header::from_line(&start, path).ok();
        }
    }
}
