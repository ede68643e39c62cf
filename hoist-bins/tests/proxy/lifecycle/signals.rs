//! The proxy is told to end.

use std::ffi::OsStr;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use super::{ANSWER, CALL, LONG, SHORT, answered};
use crate::host::Host;
use crate::play::Play;
use crate::processes::{Notes, ignores, wait_until_gone};
use crate::ways::Way;

const SIGNALS: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];

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
fn what_was_ignored_from_the_start_stays_ignored_for_the_server_too() {
    const IGNORED: [Signal; 3] = [Signal::HUP, Signal::INT, Signal::QUIT];
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = answered(&notes).obey("SIGTERM", &notes.path(), 99).read(1).write(ANSWER);
        let proxy = way.command(dir.path(), play.command(dir.path()), &LONG);
        // As nohup does.
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"trap "" HUP INT QUIT; exec "$@""#, "sh"]);
        // Without what would undo it, where the tests themselves run under nohup.
        let undoes = |word: &&OsStr| *word == "env" || *word == "--default-signal=HUP,INT,QUIT";
        let words = std::iter::once(proxy.get_program()).chain(proxy.get_args());
        shell.args(words.skip_while(undoes));
        for (name, value) in proxy.get_envs() {
            shell.env(name, value.expect("it is set"));
        }
        let mut host = Host::spawn(&mut shell);
        host.send(CALL);
        host.expect(ANSWER);
        for signal in IGNORED {
            host.signal(signal);
            assert!(ignores(host.id(), signal), "{way:?}: the proxy, {signal:?}");
            assert!(ignores(notes.process("server"), signal), "{way:?}: the server, {signal:?}");
        }
        host.send(CALL);
        host.expect(ANSWER);
        host.end();
        assert_eq!(notes.lines().len(), 1, "{way:?}: {:?}", notes.lines());
    }
}
