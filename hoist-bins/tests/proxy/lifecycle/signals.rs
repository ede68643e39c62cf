//! The proxy is told to end.

use rustix::process::Signal;
use tempfile::TempDir;

use super::{ANSWER, CALL, LONG, SHORT, answered};
use crate::play::Play;
use crate::processes::{Notes, wait_until_gone};
use crate::ways::Way;

const SIGNALS: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::HUP];

/// Starts a server, has it answer a call, and leaves another unanswered; then the proxy gets a
/// signal. The proxy's exit code.
#[track_caller]
fn signalled(way: Way, signal: Signal, play: &Play, flags: &[&str]) -> Option<i32> {
    let dir = TempDir::new().expect("a temporary directory");
    let mut run = way.start(play.command(dir.path()), flags);
    run.host.send(CALL);
    run.host.expect(ANSWER);
    run.host.send(&CALL.replace(":1,", ":2,"));
    run.host.signal(signal);
    let status = run.host.wait();
    if way.records() {
        // The last call may have been on its way still.
        assert!(run.log().entries.len() >= 2, "{way:?}");
    }
    status.code()
}

#[test]
fn a_server_that_heeds_the_end_of_its_input_gets_no_signal() {
    for way in Way::PROXIED {
        for signal in SIGNALS {
            let notes = Notes::new();
            let play = Play::new()
                .obey("SIGTERM", &notes.path(), 99)
                .read(1)
                .write(ANSWER)
                .drain()
                .note(&notes.path(), "eof")
                .exit(3);
            assert_eq!(signalled(way, signal, &play, &LONG), Some(3), "{way:?}, {signal:?}");
            assert_eq!(notes.lines(), ["eof"], "{way:?}, {signal:?}");
        }
    }
}

#[test]
fn a_server_that_heeds_only_sigterm_gets_it_after_the_end_of_its_input() {
    for way in Way::PROXIED {
        for signal in SIGNALS {
            let notes = Notes::new();
            let play = Play::new()
                .obey("SIGTERM", &notes.path(), 5)
                .read(1)
                .write(ANSWER)
                .drain()
                .note(&notes.path(), "eof")
                .linger();
            assert_eq!(signalled(way, signal, &play, &SHORT), Some(5), "{way:?}, {signal:?}");
            assert_eq!(notes.lines(), ["eof", "SIGTERM"], "{way:?}, {signal:?}");
        }
    }
}

#[test]
fn everybody_in_the_servers_group_gets_sigterm() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let path = notes.path();
        let other = Play::new().obey("SIGTERM", &path, 0).note(&path, "other {pid}");
        let play = answered(&notes).fork(other).obey("SIGTERM", &path, 5).drain().linger();
        assert_eq!(signalled(way, Signal::TERM, &play, &SHORT), Some(5), "{way:?}");
        wait_until_gone(notes.process("other"));
        let told = notes.lines().iter().filter(|line| *line == "SIGTERM").count();
        assert_eq!(told, 2, "{way:?}");
    }
}

#[test]
fn a_server_that_heeds_nothing_is_killed_with_all_it_started() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let all = ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"];
        let other = Play::new().ignore(&all).note(&notes.path(), "other {pid}");
        let play = Play::new()
            .ignore(&all)
            .fork(other)
            .note(&notes.path(), "server {pid}")
            .read(1)
            .write(ANSWER)
            .linger();
        assert_eq!(signalled(way, Signal::TERM, &play, &SHORT), Some(137), "{way:?}");
        wait_until_gone(notes.process("server"));
        wait_until_gone(notes.process("other"));
    }
}

#[test]
fn a_second_signal_changes_nothing() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let late = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"late\":true}}\n";
        let play =
            answered(&notes).drain().note(&notes.path(), "eof").dawdle(0.3).write(late).exit(3);
        let mut run = way.start(play.command(dir.path()), &LONG);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        run.host.signal(Signal::INT);
        notes.wait_for("eof");
        run.host.signal(Signal::INT);
        run.host.signal(Signal::TERM);
        run.host.expect(late);
        assert_eq!(run.host.wait().code(), Some(3), "{way:?}");
        run.check_log();
    }
}
