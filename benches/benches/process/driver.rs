//! Plays the host: sends calls to a target and waits for their answers.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde::Deserialize;
use tokio::time::Instant;

use crate::affinity::OneCore;
use crate::targets::Target;

const BYTES_OF_A_SMALL_RESULT: usize = 100;
const IN_FLIGHT: u64 = 64;
const BYTES_OF_A_LARGE_RESULT: usize = 1 << 20;

/// How much is asked of a target in one round.
#[derive(Debug)]
pub(crate) struct Load {
    one_by_one: u64,
    in_flight: u64,
    large: u64,
}

/// What one round of a target came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// The median of round trips one by one, on one core, in microseconds.
    pub(crate) round_trip_us: f64,
    /// Calls a second with 64 of them in flight.
    pub(crate) calls_per_s: f64,
    /// Results of 1 MiB one by one, in MiB a second.
    pub(crate) mib_per_s: f64,
}

impl Load {
    pub(crate) const FULL: Self = Self { one_by_one: 4_000, in_flight: 60_000, large: 200 };
    pub(crate) const SMALL: Self = Self { one_by_one: 20, in_flight: 200, large: 2 };

    /// Runs a target twice: on one core for the round trips, then on all for the rates.
    pub(crate) fn run(&self, target: &Target) -> io::Result<Figures> {
        let pinned = OneCore::take();
        let mut host = Host::start(target)?;
        host.one_by_one(self.one_by_one / 10, BYTES_OF_A_SMALL_RESULT)?;
        let mut took_us = host.one_by_one(self.one_by_one, BYTES_OF_A_SMALL_RESULT)?;
        host.end()?;
        drop(pinned);
        took_us.sort_by(f64::total_cmp);

        let mut host = Host::start(target)?;
        host.all_at_once(self.in_flight / 10)?;
        let started = Instant::now();
        host.all_at_once(self.in_flight)?;
        let calls_s = started.elapsed().as_secs_f64();
        let large_us: f64 = host.one_by_one(self.large, BYTES_OF_A_LARGE_RESULT)?.iter().sum();
        host.end()?;
        Ok(Figures {
            round_trip_us: took_us[took_us.len() / 2],
            calls_per_s: as_f64(self.in_flight) / calls_s,
            mib_per_s: as_f64(self.large) * 1e6 / large_us,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    result: CallResult,
}

#[derive(Deserialize)]
struct CallResult {
    content: [TextItem; 1],
}

#[derive(Deserialize)]
struct TextItem {
    text: String,
}

/// A target that runs, and what is said to it.
struct Host {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    line: Vec<u8>,
    next_id: u64,
}

impl Host {
    fn start(target: &Target) -> io::Result<Self> {
        // A recorder says where its log is, every time.
        let stdio = (Stdio::piped(), Stdio::piped(), Stdio::null());
        let mut command = target.command();
        let mut child = command.stdin(stdio.0).stdout(stdio.1).stderr(stdio.2).spawn()?;
        let to = child.stdin.take();
        let from = child.stdout.take().expect("its output was asked for as a pipe");
        let from = BufReader::with_capacity(256 << 10, from);
        Ok(Self { child, to, from, line: Vec::new(), next_id: 0 })
    }

    /// How long each of so many calls took, in microseconds.
    fn one_by_one(&mut self, calls: u64, bytes: usize) -> io::Result<Vec<f64>> {
        let mut took_us = Vec::new();
        for _ in 0..calls {
            let id = self.next_id;
            let call = self.call(bytes);
            let started = Instant::now();
            self.send(call.as_bytes())?;
            self.answer(id, bytes)?;
            took_us.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok(took_us)
    }

    /// Makes so many calls, with [`IN_FLIGHT`] of them unanswered as long as there are more. Each
    /// is written on its own, as hosts do.
    fn all_at_once(&mut self, calls: u64) -> io::Result<()> {
        let (first, mut sent) = (self.next_id, 0);
        for answered in 0..calls {
            while sent < calls.min(answered + IN_FLIGHT) {
                let call = self.call(BYTES_OF_A_SMALL_RESULT);
                self.send(call.as_bytes())?;
                sent += 1;
            }
            self.answer(first + answered, BYTES_OF_A_SMALL_RESULT)?;
        }
        Ok(())
    }

    fn call(&mut self, bytes: usize) -> String {
        let id = self.next_id;
        self.next_id += 1;
        let params = format!(r#"{{"name":"echo","arguments":{{"bytes":{bytes}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#) + "\n"
    }

    fn send(&mut self, lines: &[u8]) -> io::Result<()> {
        self.to.as_mut().expect("it is closed at the end only").write_all(lines)
    }

    /// Reads the next answer, which must be the one to `id`, whole. A small one is parsed, as a
    /// host does; to parse a large one would take longer than it took to get here.
    fn answer(&mut self, id: u64, bytes: usize) -> io::Result<()> {
        self.line.clear();
        self.from.read_until(b'\n', &mut self.line)?;
        let is_right = if bytes < BYTES_OF_A_LARGE_RESULT {
            serde_json::from_slice::<Answer>(&self.line)
                .is_ok_and(|answer| answer.id == id && answer.result.content[0].text.len() == bytes)
        } else {
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
            self.line.starts_with(start.as_bytes())
                && self.line.ends_with(b"}}\n")
                && self.line.len() > bytes
        };
        if is_right {
            return Ok(());
        }
        let got = String::from_utf8_lossy(&self.line[..self.line.len().min(200)]);
        Err(io::Error::other(format!("not the answer to call {id}: {got}")))
    }

    /// Closes the target's input and waits for its end.
    fn end(mut self) -> io::Result<()> {
        self.to = None;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended: {status}"))) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Where something failed, it may wait for its output to be read. What it started ends at
        // the end of its input.
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
