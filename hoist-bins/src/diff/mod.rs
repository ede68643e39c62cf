//! `hoist diff`: what two recordings have that differs.

mod calls;
mod pairs;
mod print;
mod report;
mod side;
mod tree;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::cli::{DiffOptions, EXIT_USAGE};
use crate::diagnostics::{complain, with_causes};
use crate::show::say_skipped;
use crate::{logs, text};
use report::Report;
use side::Side;

/// The exit code when the sides differ.
const EXIT_DIFFER: u8 = 1;

/// The exit code when it cannot be said that they do not: as `diff` has it.
const EXIT_TROUBLE: u8 = EXIT_USAGE;

/// Compares the two sides and returns the exit code.
pub(crate) fn run(options: &DiffOptions, program: &str) -> u8 {
    let sides = [&options.a, &options.b].map(|path| read(path, options, program));
    let [Some(a), Some(b)] = &sides else { return EXIT_TROUBLE };
    let report = Report::of([&options.a, &options.b], a, b, &options.ignore);
    let code = match (report.equal, a.unread + b.unread) {
        (false, _) => EXIT_DIFFER,
        (true, 0) => 0,
        (true, _) => {
            complain(program, "what could be read is equal, but not all could be read");
            EXIT_TROUBLE
        }
    };
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let printed = if options.json {
        serde_json::to_writer(&mut out, &report)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        print::print(&report, &mut out)
    };
    match printed.and_then(|()| out.flush()) {
        // A reader that has seen enough, such as `head`.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(program, &format!("writing to standard output failed: {error}"));
            EXIT_TROUBLE
        }
        _ => code,
    }
}

/// Reads one side; `None` where there is no session, which is said.
fn read(path: &Path, options: &DiffOptions, program: &str) -> Option<Side> {
    let mut side = Side::default();
    let paths = [path.to_owned()];
    let sessions: Box<dyn Iterator<Item = _>> = if options.merged {
        Box::new(logs::merged_sessions(&paths))
    } else {
        Box::new(logs::sessions(&paths))
    };
    for item in sessions {
        match item {
            Ok(found) => {
                side.unread += u64::from(say_skipped(&found, program));
                // A host that asked which revisions there are had no session.
                if !found.is_probe() {
                    side.add(&found);
                }
            }
            Err(error) => {
                complain(program, &with_causes(&error));
                side.unread += u64::from(!error.is_notice());
            }
        }
    }
    if side.sessions.is_empty() {
        if side.unread == 0 {
            complain(program, &format!("no session in {}", text::file(path)));
        }
        return None;
    }
    Some(side)
}
