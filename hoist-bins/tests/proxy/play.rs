//! An odd server whose every step a test decides.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

/// The command that runs one of the Python programs kept beside this source.
///
/// `python3` may be a script that looks for the right Python, which takes longer than what it
/// starts, so it is asked once; and these programs need nothing that is not Python's own.
pub(crate) fn python(program: &str) -> Vec<OsString> {
    static PYTHON: OnceLock<OsString> = OnceLock::new();
    let python = PYTHON.get_or_init(|| {
        let words = ["-I", "-S", "-c", "import sys; print(sys.executable)"];
        let output = Command::new("python3").args(words).output();
        let path = output.expect("python3 is installed: the odd servers are written in it").stdout;
        String::from_utf8(path).expect("a path in UTF-8").trim_end().into()
    });
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/servers").join(program);
    vec![python.clone(), "-I".into(), "-S".into(), program.into()]
}

/// A server that takes these steps, one after the other, then reads to the end of its input and
/// exits with 0.
#[derive(Default)]
#[must_use]
pub(crate) struct Play {
    steps: Vec<Value>,
    reads_all: bool,
}

impl Play {
    pub(crate) fn new() -> Self {
        Self { steps: Vec::new(), reads_all: true }
    }

    /// Waits for so many lines.
    pub(crate) fn read(self, lines: usize) -> Self {
        self.step(json!(["read", lines]))
    }

    /// Waits for the end of the input.
    pub(crate) fn drain(self) -> Self {
        self.step(json!(["drain"]))
    }

    /// Writes these bytes.
    pub(crate) fn write(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(json!(["write", as_text(bytes)]))
    }

    /// Reads a line and writes these bytes, and so on.
    pub(crate) fn answers(self, answers: &[impl AsRef<[u8]>]) -> Self {
        answers.iter().fold(self, |play, answer| play.read(1).write(answer))
    }

    /// Writes these bytes one by one, each once the one before has been read.
    pub(crate) fn drip(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(json!(["drip", as_text(bytes)]))
    }

    /// Writes `before`, a long stretch of one character, and `after`.
    pub(crate) fn flood(self, before: &str, fill: char, count: usize, after: &str) -> Self {
        self.step(json!(["flood", before, fill, count, after]))
    }

    /// Writes to standard error.
    pub(crate) fn complain(self, text: &str) -> Self {
        self.step(json!(["complain", text]))
    }

    /// Adds a line to a file; `{pid}` in it stands for the process.
    pub(crate) fn note(self, path: &Path, text: &str) -> Self {
        self.step(json!(["note", path, text]))
    }

    /// Ignores these signals from now on.
    pub(crate) fn ignore(self, names: &[&str]) -> Self {
        let step = std::iter::once("ignore").chain(names.iter().copied()).collect();
        self.step(step)
    }

    /// Notes this signal when it comes, and exits with this code.
    pub(crate) fn obey(self, name: &str, path: &Path, code: u8) -> Self {
        self.step(json!(["obey", name, path, code]))
    }

    /// Starts another process that takes steps of its own and then waits to be ended.
    pub(crate) fn fork(self, other: Self) -> Self {
        let step = std::iter::once(json!("fork")).chain(other.steps).collect();
        self.step(step)
    }

    /// Leaves the process group it was started in.
    pub(crate) fn leave_group(self) -> Self {
        self.step(json!(["leave_group"]))
    }

    /// Writes to standard error until that takes no more, and notes `stderr is full`.
    pub(crate) fn fill_stderr(self, path: &Path) -> Self {
        self.step(json!(["fill_stderr", path]))
    }

    /// Takes its time: a slow server, which nobody should take for a dead one.
    pub(crate) fn dawdle(self, seconds: f64) -> Self {
        self.step(json!(["dawdle", seconds]))
    }

    /// Writes a text of at most a page again and again, so often at most. Once nobody takes more
    /// of it, notes `written` and how often; then goes on to the end.
    pub(crate) fn write_until_stuck(self, path: &Path, text: &str, most: usize) -> Self {
        self.step(json!(["write_until_stuck", path, text, most]))
    }

    /// Notes `parent` and the most memory that the process that started it ever had, in KiB.
    pub(crate) fn note_parent(self, path: &Path) -> Self {
        self.step(json!(["note_parent", path]))
    }

    pub(crate) fn close_input(self) -> Self {
        Self { reads_all: false, ..self.step(json!(["close_input"])) }
    }

    pub(crate) fn close_output(self) -> Self {
        self.step(json!(["close_output"]))
    }

    /// Neither reads nor writes again, until it is ended.
    pub(crate) fn linger(self) -> Self {
        Self { reads_all: false, ..self.step(json!(["linger"])) }
    }

    /// Ends by a signal.
    pub(crate) fn die(self, name: &str) -> Self {
        Self { reads_all: false, ..self.step(json!(["die", name])) }
    }

    pub(crate) fn exit(self, code: u8) -> Self {
        Self { reads_all: false, ..self.step(json!(["exit", code])) }
    }

    /// Whether it reads to the end of its input.
    pub(crate) fn reads_all(&self) -> bool {
        self.reads_all
    }

    /// The command that plays it. It keeps its script in `dir`, and there in `got` what it reads.
    pub(crate) fn command(&self, dir: &Path) -> Vec<OsString> {
        let steps = dir.join("steps");
        let lines: Vec<String> = self.steps.iter().map(|step| format!("{step}\n")).collect();
        fs::write(&steps, lines.concat()).expect("the directory can be written");
        let mut words = python("play.py");
        words.extend([steps.into(), dir.join("got").into()]);
        words
    }

    fn step(mut self, step: Value) -> Self {
        self.steps.push(step);
        self
    }
}

/// What a played server has read so far.
pub(crate) fn got(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("got")).unwrap_or_default()
}

/// A character for each byte.
fn as_text(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().copied().map(char::from).collect()
}
