//! `hoist show --follow`: a log as it is written.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::files::{Dir, call, entry, header, hoist, opening, result, session};

/// How long a test waits for what must come. Never waited for in full by a test that passes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program as it follows a log.
struct Follower {
    process: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Follower {
    fn start(dir: &Dir, words: &[&str]) -> Self {
        let mut process = hoist()
            .args(["show", "--follow"])
            .args(words)
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let stdout = lines(process.stdout.take().expect("a pipe was asked for"));
        let stderr = lines(process.stderr.take().expect("a pipe was asked for"));
        Self { process, stdout, stderr }
    }

    /// Checks that just these lines come next.
    #[track_caller]
    fn expect(&self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.stdout.recv_timeout(PATIENCE).expect("a line comes"), *line);
        }
    }

    #[track_caller]
    fn complains(&self, part: &str) {
        let line = self.stderr.recv_timeout(PATIENCE).expect("a line comes");
        assert!(line.contains(part), "{line}");
    }

    /// Signals it, waits for its end and checks that nothing else came.
    #[track_caller]
    fn end(mut self, signal: Signal) {
        let id = Pid::from_child(&self.process);
        kill_process(id, signal).expect("it has not been waited for");
        assert_eq!(self.wait().code(), Some(0));
        assert_eq!(self.stdout.iter().collect::<Vec<_>>(), [""; 0]);
        assert_eq!(self.stderr.iter().collect::<Vec<_>>(), [""; 0]);
    }

    fn wait(&mut self) -> ExitStatus {
        self.process.wait().expect("it ends")
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            if sender.send(line.expect("it is text")).is_err() {
                break;
            }
        }
    });
    lines
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("it is there");
    file.write_all(text.as_bytes()).expect("it can be written");
}

const HEAD: [&str; 5] = [
    "session  s",
    "started  2026-09-23 21:20:00.123 UTC",
    "server   orders",
    "command  npx -y some server",
    "agent    model-1",
];

#[test]
fn what_is_added_is_shown_as_it_comes() {
    let dir = Dir::new();
    let path = dir.write("a.jsonl", header("s"));
    let follower = Follower::start(&dir, &["a.jsonl"]);
    follower.expect(&HEAD);
    follower.expect(&[""]);
    append(&path, &opening());
    follower.expect(&[
        "server   orders (order-server 1.4), protocol 2025-11-25",
        "host     claude-code 2.1",
    ]);
    append(&path, &call(10, 1, "one", "{}"));
    follower.expect(&["turn 0", "    0.010 s  #1 one {}"]);
    append(&path, &call(11, 2, "two", "{}"));
    follower.expect(&["    0.011 s  #2 two {}"]);
    append(&path, &result(12, 2, "second"));
    follower.expect(&["    0.012 s  #2 = (1 ms) second"]);
    append(
        &path,
        &entry(13, "client", r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#),
    );
    follower.expect(&["             #1 cancelled"]);
    append(&path, "junk\n");
    follower.expect(&["missing  1 line not readable"]);
    follower.complains("hoist show: a.jsonl:8:1: skipped a line");
    append(&path, &call(5000, 3, "three", "{}"));
    follower.expect(&["turn 1", "    5.000 s  #3 three {}"]);
    follower.end(Signal::TERM);
}

#[test]
fn a_line_is_shown_once_it_is_whole() {
    let dir = Dir::new();
    let whole =
        header("s") + &call(10, 1, "one", "{}") + &result(12, 1, "é") + &call(13, 2, "two", "{}");
    let path = dir.write("a.jsonl", "");
    let follower = Follower::start(&dir, &["a.jsonl"]);
    for byte in whole.as_bytes().chunks(1) {
        let mut file = OpenOptions::new().append(true).open(&path).expect("it is there");
        file.write_all(byte).expect("it can be written");
    }
    follower.expect(&HEAD);
    // How much was there at the first look is chance; what is shown in the end is not.
    let mut shown = Vec::new();
    while shown.last().is_none_or(|line: &String| !line.contains("#2 two")) {
        shown.push(follower.stdout.recv_timeout(PATIENCE).expect("a line comes"));
    }
    shown.retain(|line| !line.is_empty());
    assert_eq!(
        shown,
        [
            "turn 0",
            "    0.010 s  #1 one {}",
            "    0.012 s  #1 = (2 ms) é",
            "    0.013 s  #2 two {}"
        ]
    );
    follower.end(Signal::INT);
}

#[test]
fn what_was_there_is_the_timeline() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s"));
    let whole = dir.hoist(["show", "a.jsonl"]).stdout;
    let (_, timeline) = whole.split_once("\n\n").expect("there is a heading");
    let follower = Follower::start(&dir, &["a.jsonl"]);
    while !follower.stdout.recv_timeout(PATIENCE).expect("a line comes").is_empty() {}
    follower.expect(&timeline.lines().collect::<Vec<_>>());
    follower.end(Signal::HUP);
}

#[test]
fn a_file_that_is_replaced_is_followed_from_its_start() {
    let dir = Dir::new();
    let path = dir.write("a.jsonl", session("a"));
    let follower = Follower::start(&dir, &["a.jsonl"]);
    while !follower.stdout.recv_timeout(PATIENCE).expect("a line comes").contains("#5 =") {}
    let new = dir.write("new", header("b") + &call(1, 1, "one", "{}"));
    fs::rename(new, &path).expect("it can be renamed");
    follower.complains("a.jsonl was replaced; following it from its start");
    follower.expect(&["session  b"]);
    while !follower.stdout.recv_timeout(PATIENCE).expect("a line comes").contains("#1 one") {}
    // The same file, shorter.
    fs::write(&path, header("c")).expect("it can be written");
    follower.complains("a.jsonl was ");
    follower.expect(&["session  c"]);
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    let dir = Dir::new();
    dir.write("a.jsonl", session("s"));
    let mut process = hoist()
        .args(["show", "--follow", "a.jsonl"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut first = [0; 7];
    let mut stdout = process.stdout.take().expect("a pipe was asked for");
    stdout.read_exact(&mut first).expect("something is written");
    drop(stdout);
    // Nothing is added, so there is nothing to write that would tell.
    assert_eq!(process.wait().expect("it ends").code(), Some(0));
}

#[test]
fn what_cannot_be_followed_is_said() {
    let dir = Dir::new();
    dir.write("junk.jsonl", "junk\n");
    dir.write("d/a.jsonl", session("s"));
    for (word, code, said) in [
        ("d", 2, "hoist show: --follow takes a log, and d is no regular file\n"),
        ("/dev/null", 2, "hoist show: --follow takes a log, and /dev/null is no regular file\n"),
        ("none.jsonl", 1, "hoist show: cannot read session log none.jsonl: "),
        ("junk.jsonl", 1, "hoist show: junk.jsonl:1:1: not a Hoist session log: "),
    ] {
        let output = dir.hoist(["show", "--follow", word]);
        assert_eq!(output.code, Some(code), "{word}: {output:?}");
        assert!(output.stderr.starts_with(said), "{word}: {output:?}");
    }
    let output = dir.hoist(["show", "--follow", "-"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    let output = dir.hoist(["show", "--follow", "--json", "d/a.jsonl"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("--follow and --json do not go together"), "{output:?}");
}
