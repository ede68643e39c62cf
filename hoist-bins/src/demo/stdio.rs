//! The demo server over a pair of byte streams: one message per line.

use std::collections::BTreeSet;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use thiserror::Error;
use tokio::time::Instant;

use super::connection::{Connection, Effect};
use super::pending::Ticket;
use super::server::Server;
use super::wire::Outgoing;

/// The longest line read; a longer one is refused and skipped.
pub const MAX_LINE_BYTES: usize = 256 << 20;

/// Why serving ended before its time.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StdioError {
    /// The client's messages cannot be read.
    #[error("cannot read messages from the client")]
    Read(#[source] io::Error),
    /// The answers cannot be written. That the client has gone is no error.
    #[error("cannot write messages to the client")]
    Write(#[source] io::Error),
}

/// Serves one connection: reads lines from `input` until it ends, writes the answers to `output`,
/// each flushed, and returns when the last one that was due has been written.
///
/// The calling thread reads and answers. Answers that are due later are written by a second thread,
/// so they hold up nothing. A client that does not read holds up everything, which keeps the memory
/// used within bounds.
///
/// # Errors
///
/// When reading or writing fails; that nobody reads `output` any more just ends serving.
pub fn serve_stdio(
    server: &Server,
    input: impl BufRead,
    output: impl Write + Send,
) -> Result<(), StdioError> {
    let state =
        State { connection: server.connect(), output, due: BTreeSet::new(), phase: Phase::Reading };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new() };
    let read = thread::scope(|scope| {
        scope.spawn(|| shared.write_what_is_due());
        let read = shared.read(input);
        shared.end_of_input(read.is_err());
        read
    });
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match state.phase {
        Phase::Failed(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(StdioError::Write(error))
        }
        Phase::Failed(_) => Ok(()),
        _ => read.map_err(StdioError::Read),
    }
}

struct Shared<W> {
    state: Mutex<State<W>>,
    /// Signals an answer that is due earlier than the others, or another phase.
    changed: Condvar,
}

struct State<W> {
    connection: Connection,
    output: W,
    /// The answers that are due, soonest first.
    due: BTreeSet<(Instant, Ticket)>,
    phase: Phase,
}

enum Phase {
    Reading,
    /// No more messages will come; what is due is still written.
    Draining,
    /// Writing failed.
    Failed(io::Error),
}

impl<W: Write + Send> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut input: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match read_line(&mut input, &mut line, MAX_LINE_BYTES)? {
                Found::Nothing => return Ok(()),
                Found::TooLong => {
                    let mut state = self.lock();
                    let refusal = state.connection.refuse_oversized(MAX_LINE_BYTES);
                    state.send(&refusal);
                }
                // Between messages a blank line means nothing, and some clients write one.
                Found::Line if line.trim_ascii().is_empty() => {}
                Found::Line => self.receive(&line),
            }
            if let Phase::Failed(_) = self.lock().phase {
                return Ok(());
            }
        }
    }

    fn receive(&self, line: &[u8]) {
        let mut state = self.lock();
        for effect in state.connection.receive(line) {
            match effect {
                Effect::Send(message) => state.send(&message),
                Effect::Later { ticket, after } => {
                    state.due.insert((Instant::now() + after, ticket));
                    self.changed.notify_one();
                }
                Effect::Forget { ticket, batch } => {
                    state.due.retain(|&(_, due)| due != ticket);
                    if let Some(batch) = batch {
                        state.send(&batch);
                    }
                }
            }
        }
    }

    fn end_of_input(&self, failed: bool) {
        let mut state = self.lock();
        for message in state.connection.close() {
            state.send(&message);
        }
        if failed {
            state.due.clear();
        }
        if let Phase::Reading = state.phase {
            state.phase = Phase::Draining;
        }
        self.changed.notify_one();
    }

    /// Sleeps until the next answer is due and writes it, until there can be no more.
    fn write_what_is_due(&self) {
        let mut state = self.lock();
        loop {
            let next = state.due.first().copied();
            state = match (&state.phase, next) {
                (Phase::Failed(_), _) | (Phase::Draining, None) => return,
                (Phase::Reading, None) => {
                    self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                (_, Some((due, ticket))) => match due.checked_duration_since(Instant::now()) {
                    Some(wait) if !wait.is_zero() => {
                        self.changed
                            .wait_timeout(state, wait)
                            .unwrap_or_else(PoisonError::into_inner)
                            .0
                    }
                    _ => {
                        state.due.pop_first();
                        if let Some(answer) = state.connection.finish(ticket) {
                            state.send(&answer);
                        }
                        state
                    }
                },
            };
        }
    }
}

impl<W: Write> State<W> {
    fn send(&mut self, message: &Outgoing) {
        if let Phase::Failed(_) = self.phase {
            return;
        }
        let line = [message.as_str(), "\n"].concat();
        if let Err(error) =
            self.output.write_all(line.as_bytes()).and_then(|()| self.output.flush())
        {
            self.phase = Phase::Failed(error);
        }
    }
}

/// What [`read_line`] came upon.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Line,
    TooLong,
    Nothing,
}

/// Reads one line into `line`, which is empty, without its end. A line longer than `max` is
/// skipped.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, max: usize) -> io::Result<Found> {
    input.by_ref().take(max as u64 + 1).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Found::Line);
    }
    if line.len() <= max {
        return Ok(if line.is_empty() { Found::Nothing } else { Found::Line });
    }
    input.skip_until(b'\n')?;
    Ok(Found::TooLong)
}

#[cfg(test)]
mod tests {
    use super::{Found, read_line};

    #[test]
    fn lines_end_at_line_feeds_and_have_a_limit() {
        let mut input: &[u8] = b"ab\r\n\nabcd\nabcde\nabcdefgh\nabc";
        let mut seen = Vec::new();
        loop {
            let mut line = Vec::new();
            match read_line(&mut input, &mut line, 4).unwrap() {
                Found::Line => seen.push(String::from_utf8(line).unwrap()),
                Found::TooLong => seen.push("too long".to_owned()),
                Found::Nothing => break,
            }
        }
        assert_eq!(seen, ["ab\r", "", "abcd", "too long", "too long", "abc"]);
    }
}
