//! A side that does not read holds back the other one, and not the proxy.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use tempfile::TempDir;

use super::{ANSWER, CALL, LONG};
use crate::play::{Play, got};
use crate::processes::{Notes, Process};
use crate::ways::Way;

/// More memory than a session needs, and less than it would keep if it held nobody back.
const ENOUGH_KIB: u64 = 40 << 10;

/// A kilobyte that is nobody's answer.
fn note() -> String {
    format!("{{\"method\":\"x\",\"params\":\"{}\"}}\n", "x".repeat(1000))
}

#[track_caller]
fn little_memory(notes: &Notes) {
    let peak_kib: u64 = notes.wait_for("parent ").parse().expect("a number");
    assert!(peak_kib > 100, "{peak_kib} KiB is no process");
    assert!(peak_kib < ENOUGH_KIB, "the proxy has kept {peak_kib} KiB");
}

#[test]
fn a_server_that_never_reads_holds_the_host_back_and_ends_as_it_likes() {
    for way in [Way::Passive, Way::Acting] {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().dawdle(0.5).note_parent(&notes.path()).exit(6);
        let mut run = way.start(play.command(dir.path()), &LONG);
        // Comes back once the pipes are full and the proxy has gone.
        run.host.send_if_read(note().repeat(100_000).as_bytes());
        run.host.close();
        assert_eq!(run.host.wait().code(), Some(6), "{way:?}");
        little_memory(&notes);
    }
}

#[test]
fn a_host_that_does_not_read_holds_the_server_back() {
    const LINES: usize = 50_000;
    for way in [Way::Passive, Way::Acting] {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play =
            Play::new().write_until_stuck(&notes.path(), &note(), LINES).note_parent(&notes.path());
        let mut command = way.command(dir.path(), play.command(dir.path()), &LONG);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::spawn(&mut command);
        let written: usize = notes.wait_for("written ").parse().expect("a number");
        assert!(written < LINES / 10, "{way:?}: {written} lines were taken from the server");
        // Now it reads, and gets all of it.
        let mut output = BufReader::new(process.0.stdout.take().expect("a pipe was asked for"));
        let mut line = String::new();
        for at in 0..LINES {
            line.clear();
            output.read_line(&mut line).expect("it can be read");
            assert!(line == note(), "{way:?}, line {at}: {line:?}");
        }
        little_memory(&notes);
        drop(process.0.stdin.take());
        assert!(process.wait().success());
    }
}

#[test]
fn two_sides_that_both_write_before_they_read_are_both_served() {
    const LINES: usize = 10_000;
    for way in Way::ALL {
        let dir = TempDir::new().expect("a temporary directory");
        // It reads nothing before its ten megabytes are written; nor does the host.
        let play = Play::new().write(note().repeat(LINES)).read(LINES + 1).write(ANSWER);
        let mut run = way.start(play.command(dir.path()), &LONG);
        run.host.send_bytes(note().repeat(LINES).as_bytes());
        run.host.send(CALL);
        for _ in 0..LINES {
            run.host.expect(note());
        }
        run.host.expect(ANSWER);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent, "{way:?}");
        run.check_log();
    }
}
