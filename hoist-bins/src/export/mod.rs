//! `hoist export`: recorded sessions as tables, for other programs.

mod folder;
mod rows;
mod table;

use std::io::{self, Write};

use hoist_trace::sessions::{Found, ReadError};
use serde::Serialize;

use crate::cli::ExportOptions;
use crate::diagnostics::{complain, with_causes};
use crate::show::say_skipped;
use crate::{logs, text};
use folder::{Folder, FolderError, Output};
use rows::{CALLS, EPISODES, TURNS, Tables};
use table::Table;

/// The exit code when something could not be read or written.
const EXIT_FAILED: u8 = 1;

/// What is written, the two forms of each table beside each other.
const FILES: [&str; 6] =
    ["episodes.jsonl", "episodes.csv", "turns.jsonl", "turns.csv", "calls.jsonl", "calls.csv"];

/// Why there are no tables.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("writing the tables to {dir} failed, and they were removed")]
    Write { dir: String, source: io::Error },
    #[error("no session in {paths}, so nothing was written")]
    NoSession { paths: String },
}

/// Writes the tables and returns the exit code.
pub(crate) fn run(options: &ExportOptions, program: &str) -> u8 {
    match export(options, program) {
        Ok(exported) => {
            say(&exported, options.json);
            let missed = exported.named_unread || (options.strict && exported.unread > 0);
            if missed { EXIT_FAILED } else { 0 }
        }
        Err(error) => {
            complain(program, &with_causes(&error));
            EXIT_FAILED
        }
    }
}

/// What was written.
#[derive(Debug, Default, Serialize)]
struct Exported {
    out: String,
    episodes: u64,
    turns: u64,
    calls: u64,
    /// What could not be read: files, runs of a file, sessions of which lines were skipped.
    unread: u64,
    /// Whether that is a file that was named.
    #[serde(skip)]
    named_unread: bool,
}

fn export(options: &ExportOptions, program: &str) -> Result<Exported, ExportError> {
    let (folder, outputs) = Folder::create(&options.out, FILES)?;
    let dir = || text::file(&options.out);
    let failed = |source| ExportError::Write { dir: dir(), source };
    let mut tables = tables(outputs).map_err(failed)?;
    let mut exported = Exported { out: options.out.display().to_string(), ..Exported::default() };
    for item in sessions(options) {
        match item {
            Ok(found) => {
                exported.unread += u64::from(say_skipped(&found, program));
                tables.add(&found).map_err(failed)?;
            }
            Err(error) => {
                complain(program, &with_causes(&error));
                if !error.is_notice() {
                    exported.unread += 1;
                    let named = options.paths.iter().any(|path| path == error.path());
                    exported.named_unread |= named && is_file(&error);
                }
            }
        }
    }
    let Tables { episodes, turns, calls } = tables;
    (exported.episodes, exported.turns, exported.calls) = (episodes.rows, turns.rows, calls.rows);
    if exported.episodes == 0 {
        let paths: Vec<String> = options.paths.iter().map(|path| text::file(path)).collect();
        return Err(ExportError::NoSession { paths: paths.join(", ") });
    }
    let outputs = [episodes.into_inner(), turns.into_inner(), calls.into_inner()];
    folder.finish(outputs.into_iter().flatten())?;
    Ok(exported)
}

fn sessions(options: &ExportOptions) -> Box<dyn Iterator<Item = Result<Found, ReadError>> + '_> {
    if options.merged {
        Box::new(logs::merged_sessions(&options.paths))
    } else {
        Box::new(logs::sessions(&options.paths))
    }
}

fn tables(outputs: [Output; 6]) -> io::Result<Tables<Output>> {
    let [episodes, episodes_csv, turns, turns_csv, calls, calls_csv] = outputs;
    Ok(Tables {
        episodes: Table::new(EPISODES, episodes, episodes_csv)?,
        turns: Table::new(TURNS, turns, turns_csv)?,
        calls: Table::new(CALLS, calls, calls_csv)?,
    })
}

/// Whether nothing of a file could be read.
fn is_file(error: &ReadError) -> bool {
    !matches!(error, ReadError::BadRun { .. } | ReadError::Broken { .. } | ReadError::Index { .. })
        && error.name() != "bad-line"
}

fn say(exported: &Exported, json: bool) {
    let line = if json {
        serde_json::to_string(exported).expect("it is made of texts and numbers")
    } else {
        let Exported { out, episodes, turns, calls, .. } = exported;
        let counted = [(episodes, "episode"), (turns, "turn"), (calls, "call")]
            .map(|(count, word)| text::counted(*count, word));
        format!("{}: {}, each as JSONL and CSV", text::visible(out), counted.join(", "))
    };
    // The files are written; whoever does not read this has them all the same.
    let _ = writeln!(io::stdout(), "{line}");
}
