//! Hosts that do not wait for long: they signal after they closed their end, or signal again, and
//! kill soon after. The server must be gone by then, or nobody is left to end it.
//!
//! The grace is longer than any test waits. So whatever ends here ends because the host insists.

use rustix::process::Signal;
use tempfile::TempDir;

use super::{ANSWER, CALL, LONG, answered};
use crate::play::Play;
use crate::processes::{Notes, is_gone, wait_until_gone};
use crate::ways::{Run, Way};

/// A server that does not mind the end of its input and heeds SIGTERM.
fn heeds_sigterm(notes: &Notes) -> Play {
    answered(notes).obey("SIGTERM", &notes.path(), 5).drain().note(&notes.path(), "eof").linger()
}

/// A server, and another process of its group, that heed nothing.
fn heeds_nothing(notes: &Notes) -> Play {
    let all = ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"];
    let other = Play::new().ignore(&all).note(&notes.path(), "other {pid}");
    Play::new()
        .ignore(&all)
        .fork(other)
        .note(&notes.path(), "server {pid}")
        .read(1)
        .write(ANSWER)
        .drain()
        .note(&notes.path(), "eof")
        .linger()
}

/// Has a server answer a call.
#[track_caller]
fn called(way: Way, dir: &TempDir, play: &Play) -> Run {
    let mut run = way.start(play.command(dir.path()), &LONG);
    run.host.send(CALL);
    run.host.expect(ANSWER);
    run
}

/// What both official SDKs do: close, wait, SIGTERM, wait, SIGKILL.
#[test]
fn a_signal_after_the_input_was_closed_reaches_the_server_at_once() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = called(way, &dir, &heeds_sigterm(&notes));
        run.host.close();
        notes.wait_for("eof");
        run.host.signal(Signal::TERM);
        assert_eq!(run.host.wait().code(), Some(5), "{way:?}");
        assert_eq!(notes.lines()[1..], ["eof", "SIGTERM"], "{way:?}");
        wait_until_gone(notes.process("server"));
        run.check_log();
    }
}

#[test]
fn a_server_that_heeds_nothing_is_killed_while_its_host_still_waits() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = called(way, &dir, &heeds_nothing(&notes));
        run.host.close();
        notes.wait_for("eof");
        run.host.signal(Signal::TERM);
        // The proxy outlives both: it tells how the server ended.
        assert_eq!(run.host.wait().code(), Some(128 + 9), "{way:?}");
        wait_until_gone(notes.process("server"));
        wait_until_gone(notes.process("other"));
        run.check_log();
    }
}

/// The server's input is still open then where a layer waits for the answer.
#[test]
fn a_signal_after_the_input_was_closed_amid_a_call_reaches_the_server_at_once() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = answered(&notes)
            .obey("SIGTERM", &notes.path(), 5)
            .read(1)
            .note(&notes.path(), "busy")
            .linger();
        let mut run = called(way, &dir, &play);
        run.host.send(&CALL.replace(":1,", ":2,"));
        notes.wait_for("busy");
        run.host.close();
        run.host.signal(Signal::TERM);
        assert_eq!(run.host.wait().code(), Some(5), "{way:?}");
        notes.wait_for("SIGTERM");
    }
}

/// What Claude Code does: SIGINT, SIGTERM soon after, SIGKILL soon after that.
#[test]
fn a_second_signal_reaches_the_server_at_once() {
    for way in Way::PROXIED {
        for (first, second) in [(Signal::INT, Signal::TERM), (Signal::INT, Signal::INT)] {
            let notes = Notes::new();
            let dir = TempDir::new().expect("a temporary directory");
            let mut run = called(way, &dir, &heeds_sigterm(&notes));
            run.host.signal(first);
            notes.wait_for("eof");
            run.host.signal(second);
            assert_eq!(run.host.wait().code(), Some(5), "{way:?}, {second:?}");
            assert_eq!(notes.lines()[1..], ["eof", "SIGTERM"], "{way:?}, {second:?}");
            wait_until_gone(notes.process("server"));
            run.check_log();
        }
    }
}

#[test]
fn two_signals_at_the_same_time_are_two() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = called(way, &dir, &heeds_nothing(&notes));
        run.host.signal(Signal::INT);
        run.host.signal(Signal::TERM);
        assert_eq!(run.host.wait().code(), Some(128 + 9), "{way:?}");
        wait_until_gone(notes.process("server"));
        wait_until_gone(notes.process("other"));
    }
}

/// A process that nobody can end holds the server's output open.
#[test]
fn what_has_left_the_servers_group_does_not_keep_a_host_that_insists() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let other = Play::new().leave_group().note(&notes.path(), "other {pid}");
        let play = Play::new().fork(other).note(&notes.path(), "server {pid}");
        let play = play.read(1).write(ANSWER).read(1).exit(4);
        let mut run = called(way, &dir, &play);
        let other = notes.process("other");
        run.host.send(CALL);
        wait_until_gone(notes.process("server"));
        run.host.close();
        run.host.signal(Signal::TERM);
        assert_eq!(run.host.wait().code(), Some(4), "{way:?}");
        assert!(!is_gone(other), "{way:?}");
    }
}
