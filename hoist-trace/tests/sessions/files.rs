//! Files made for a test, and what is read of them.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use hoist_trace::Episode;
use hoist_trace::episode::Event;
use hoist_trace::sessions::{Found, ReadError, Sessions};
use tempfile::TempDir;

/// A directory that is removed again.
pub(crate) struct Dir(TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, and the directories it is in.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// What the items of these are, in a line each.
    pub(crate) fn lines(&self, sessions: Sessions) -> Vec<String> {
        let here = format!("{}/", self.path().display());
        let line = |item: Result<Found, ReadError>| match item {
            Ok(found) => {
                let path = found.path.display().to_string();
                let at = if found.at.is_empty() { String::new() } else { format!(" {}", found.at) };
                format!("{}{at}: {}", path.replace(&here, ""), found.episode.id)
            }
            Err(error) => format!("! {}", error.to_string().replace(&here, "")),
        };
        sessions.map(line).collect()
    }
}

/// What is read of a file that holds this.
pub(crate) fn read(text: impl Into<Vec<u8>>) -> (Vec<Found>, Vec<String>) {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for item in Sessions::read_from(Cursor::new(text.into()), "f.json") {
        match item {
            Ok(session) => found.push(session),
            Err(error) => errors.push(error.to_string()),
        }
    }
    (found, errors)
}

/// The one session of a file that holds this.
#[track_caller]
pub(crate) fn read_one(text: impl Into<Vec<u8>>) -> Found {
    let (mut found, errors) = read(text);
    assert_eq!(errors, [""; 0]);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// What happened, a line for each event: who, in which turn, what.
pub(crate) fn story(episode: &Episode) -> Vec<String> {
    let mut lines = Vec::new();
    for event in &episode.events {
        match event {
            Event::User(message) => lines.push(format!("{} user {}", message.seq, message.text)),
            Event::Assistant(turn) => {
                let text = turn.text.as_deref().unwrap_or("-");
                lines.push(format!("{} turn {} {text}", turn.seq, turn.turn));
                for call in &turn.calls {
                    assert_eq!(call.turn, turn.turn);
                    let cancelled = if call.cancelled { " cancelled" } else { "" };
                    lines.push(format!("  {} {}{}{cancelled}", call.id, call.name, call.arguments));
                }
            }
            Event::Tool(result) => {
                let what = if result.is_error { "error" } else { "=" };
                lines.push(format!("{} {} {what} {}", result.seq, result.call, result.text));
            }
            _ => unreachable!(),
        }
    }
    lines
}

/// What is odd about a run, a line each.
pub(crate) fn oddities(found: &Found) -> Vec<String> {
    let line = |oddity: &hoist_trace::sessions::Oddity| {
        format!("{} {}", oddity.message, oddity.kind.name())
    };
    found.oddities.iter().map(line).collect()
}
