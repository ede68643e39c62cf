//! A stdio host that a test drives.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::Process;

/// How long a test waits for what must come. Never waited for in full by a test that passes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The proxy as Cargo built it.
pub(crate) fn hoist_mcp() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hoist-mcp"))
}

/// The demo server as Cargo built it.
pub(crate) fn demo() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hoist-mcp-demo"))
}

/// A process with its three streams, driven line by line.
pub(crate) struct Host {
    /// What it is called when something goes wrong.
    pub(crate) name: String,
    process: Process,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    /// Every byte that was sent.
    pub(crate) sent: Vec<u8>,
    /// Every byte of a line that was received.
    pub(crate) received: Vec<u8>,
}

impl Host {
    /// Starts `program` with `arguments`.
    pub(crate) fn start(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        Self::spawn(&mut command)
    }

    /// Starts a command that is set up already, but for its streams.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let (mut host, mut error) = Self::spawn_deaf(command);
        host.stderr = Some(thread::spawn(move || {
            let mut bytes = Vec::new();
            // What came before a failure is worth keeping.
            let _ = error.read_to_end(&mut bytes);
            bytes
        }));
        host
    }

    /// As [`spawn`](Self::spawn), but nobody reads its standard error, which is returned.
    pub(crate) fn spawn_deaf(command: &mut Command) -> (Self, ChildStderr) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::spawn(command);
        let output = process.0.stdout.take().expect("a pipe was asked for");
        let error = process.0.stderr.take().expect("a pipe was asked for");
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) if sender.send(line).is_err() => break,
                    Ok(_) => {}
                }
            }
        });
        let host = Self {
            name: String::new(),
            input: process.0.stdin.take(),
            process,
            lines,
            stderr: None,
            sent: Vec::new(),
            received: Vec::new(),
        };
        (host, error)
    }

    /// The process's id, which stays its own until it was waited for.
    pub(crate) fn id(&self) -> Pid {
        self.process.id()
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).expect("it has not been waited for");
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, body: &str) {
        self.send_bytes(format!("{body}\n").as_bytes());
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the process reads");
        input.flush().expect("the process reads");
        self.sent.extend_from_slice(bytes);
    }

    /// Sends bytes, unless nobody is there any more to read them.
    pub(crate) fn send_if_read(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        if let Err(error) = input.write_all(bytes) {
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        }
        self.sent.extend_from_slice(bytes);
    }

    /// Sends bytes one by one, each once the one before has been read.
    pub(crate) fn drip(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send_bytes(std::slice::from_ref(byte));
            let input = self.input.as_ref().expect("the input is open");
            while rustix::io::ioctl_fionread(input).expect("a pipe can be asked") > 0 {
                thread::yield_now();
            }
        }
    }

    /// Closes the process's input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// The next line with its terminator; `None` at the end.
    #[track_caller]
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.received.extend_from_slice(&line);
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{}: no line within {PATIENCE:?}", self.name),
        }
    }

    /// The answer to the request with this id (its JSON text); lines before it are kept in
    /// `received` only.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: &str) -> String {
        let id: serde_json::Value = serde_json::from_str(id).expect("an id is JSON");
        loop {
            let line = self.line().expect("the answer comes before the end");
            let text = String::from_utf8(line).expect("an answer is UTF-8");
            let value: serde_json::Value = serde_json::from_str(&text).expect("an answer is JSON");
            if value.get("method").is_none() && value["id"] == id {
                return text;
            }
        }
    }

    /// Checks that just these bytes come next.
    #[track_caller]
    pub(crate) fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        for want in bytes.as_ref().split_inclusive(|byte| *byte == b'\n') {
            let name = self.name.clone();
            let Some(line) = self.line() else { panic!("{name}: the end for {}", excerpt(want)) };
            assert!(line == want, "{name}: {} came for {}", excerpt(&line), excerpt(want));
        }
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &str) -> String {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        self.answer(&id.to_string())
    }

    /// Opens a legacy session; the answer to `initialize`.
    #[track_caller]
    pub(crate) fn initialize(&mut self) -> String {
        let params = concat!(
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"#,
            r#""clientInfo":{"name":"test","version":"1"}}"#
        );
        let answer = self.ask(0, "initialize", params);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// Reads to the end of the process's output, and waits for the process.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        while self.line().is_some() {}
        self.process.wait()
    }

    /// What the process wrote on standard error. Call it once the process has ended.
    pub(crate) fn stderr(&mut self) -> String {
        let bytes = self.stderr.take().map(|t| t.join().expect("it only reads"));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    /// Ends the session as a host does, and checks that the process ends well.
    #[track_caller]
    pub(crate) fn end(&mut self) {
        self.close();
        let status = self.wait();
        assert!(status.success(), "{status}: {}", self.stderr());
    }
}

/// What is shown of a line.
fn excerpt(line: &[u8]) -> String {
    let start = String::from_utf8_lossy(&line[..line.len().min(300)]);
    format!("{start:?} ({} bytes)", line.len())
}
