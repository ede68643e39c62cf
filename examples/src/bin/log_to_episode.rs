//! What an agent did in a recorded session, turn by turn.
//!
//! The lesson: a session log is lines of the wire; an `Episode` is what happened on it: the tools,
//! the calls, their results, and which calls the model asked for at once. Reading takes no async
//! runtime, and a log that is damaged is read as far as it goes.
//!
//! `embed_recording_proxy` records a session to try it on, and so does `hoist-mcp --record logs`.
//!
//! ```sh
//! cargo run -q -p hoist-examples --bin log_to_episode -- logs/*.jsonl
//! ```

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

use std::path::Path;
use std::process::ExitCode;

use hoist_trace::episode::{Episode, Event};
use hoist_trace::mcp::read_session;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let logs: Vec<_> = std::env::args_os().skip(1).collect();
    if logs.is_empty() {
        eprintln!("Usage: log_to_episode LOG...");
        return ExitCode::from(2);
    }
    for log in &logs {
        match read_session(Path::new(log)) {
            Ok(session) => {
                for problem in &session.problems {
                    eprintln!("{problem}");
                }
                show(&session.episode);
            }
            // One that cannot be read says nothing about the others.
            Err(error) => {
                eprintln!("{error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn show(episode: &Episode) {
    println!("session {}: {} tools, {} ms", episode.id, episode.tools.len(), episode.duration_ms);
    for event in &episode.events {
        match event {
            Event::User(message) => println!("  user: {}", message.text),
            Event::Assistant(turn) => {
                println!("  turn {}", turn.turn);
                for call in &turn.calls {
                    println!("    {} calls {} {}", call.made_by, call.name, call.arguments);
                }
            }
            Event::Tool(result) => {
                let start: String = result.text.chars().take(60).collect();
                println!("    {} {start}", if result.is_error { "error" } else { "result" });
            }
            // Events of a kind this program does not know yet.
            _ => {}
        }
    }
}
