//! Somebody is killed outright: the host, the proxy, or the server.

use std::fs;
use std::process::Command;

use hoist_trace::log::Origin;
use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use super::{ANSWER, CALL, SHORT, answered};
use crate::host::Host;
use crate::log::{holds_every_line, only_log, whole_log};
use crate::play::{Play, python};
use crate::processes::{Notes, until, wait_until_gone};
use crate::ways::Way;

/// Has a host start the server through the proxy, kills the host, and waits for both to be gone.
#[track_caller]
fn all_gone_with_the_host(way: Way, notes: &Notes, play: &Play) {
    let dir = TempDir::new().expect("a temporary directory");
    let proxy = way.command(dir.path(), play.command(dir.path()), &SHORT);
    let mut words = python("host.py");
    words.extend([notes.path().into(), proxy.get_program().into()]);
    words.extend(proxy.get_args().map(Into::into));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    for (name, value) in proxy.get_envs() {
        command.env(name, value.expect("it is set"));
    }
    let mut host = Host::spawn(&mut command);
    assert_eq!(notes.wait_for("answer "), ANSWER.trim_end());
    host.signal(Signal::KILL);
    wait_until_gone(notes.process("proxy"));
    wait_until_gone(notes.process("server"));
    host.wait();
    if way.records() {
        whole_log(&only_log(&dir.path().join("logs")));
    }
}

#[test]
fn the_host_is_killed_and_nothing_of_it_stays() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let play = answered(&notes).drain().note(&notes.path(), "eof");
        all_gone_with_the_host(way, &notes, &play);
        notes.wait_for("eof");
    }
}

#[test]
fn the_host_is_killed_and_a_deaf_server_goes_all_the_same() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let play = answered(&notes).ignore(&["SIGTERM", "SIGPIPE"]).linger();
        all_gone_with_the_host(way, &notes, &play);
    }
}

#[test]
fn the_proxy_is_killed_and_the_server_sees_the_end_of_its_input() {
    const CALLS: usize = 50;
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new()
            .note(&notes.path(), "server {pid}")
            .answers(&[ANSWER; CALLS])
            .drain()
            .note(&notes.path(), "eof");
        let mut run = way.start(play.command(dir.path()), &SHORT);
        for _ in 0..CALLS {
            run.host.send(CALL);
            run.host.expect(ANSWER);
        }
        if way.records() {
            // The disk is a moment behind the wire. All that crossed is to be there.
            let logs = run.logs();
            until("the last line in the log", || {
                let text = fs::read_to_string(only_log(&logs)).expect("it can be read");
                (text.matches('\n').count() > 2 * CALLS).then_some(())
            });
        }
        run.host.signal(Signal::KILL);
        assert_eq!(run.host.wait().code(), None, "{way:?}");
        notes.wait_for("eof");
        wait_until_gone(notes.process("server"));
        if way.records() {
            let log = run.log();
            assert_eq!(log.entries.len(), 2 * CALLS, "{way:?}");
            run.check_log();
        }
    }
}

#[test]
fn the_proxy_is_killed_amid_traffic_and_the_log_is_readable_as_far_as_it_goes() {
    const SEEN: usize = 5000;
    let notes = Notes::new();
    let dir = TempDir::new().expect("a temporary directory");
    let line =
        |n| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{n}}}\n");
    let lines = (0..SEEN).map(line).collect::<Vec<_>>().concat();
    // Goes on for ever; how the end of its output ends it is its own affair.
    let mut play = Play::new().note(&notes.path(), "server {pid}").read(1);
    for _ in 0..40 {
        play = play.write(&lines);
    }
    let mut run = Way::Recorded.start(play.command(dir.path()), &SHORT);
    run.host.send(CALL);
    let logs = run.logs();
    for n in 0..SEEN {
        assert!(run.host.line().is_some(), "line {n}");
    }
    let on_disk = until("lines in the log", || {
        let text = fs::read_to_string(only_log(&logs)).expect("it can be read");
        let count = text.matches('\n').count();
        (count > SEEN).then_some(count)
    });
    run.host.signal(Signal::KILL);
    assert_eq!(run.host.wait().code(), None);
    let log = hoist_trace::mcp::read_log(&only_log(&logs)).expect("it can be read");
    assert!(log.problems.is_empty(), "{:?}", log.problems);
    assert_eq!(log.report.lost_lines, 0);
    assert!(log.entries.len() + 1 >= on_disk, "{} entries, {on_disk} lines", log.entries.len());
    let server: Vec<_> = log.entries.iter().filter(|e| e.from == Origin::Server).collect();
    for (entry, line) in server.iter().zip(lines.lines().cycle()) {
        assert_eq!(entry.message(), Some(line));
    }
    assert!(server.len() >= SEEN, "{} lines of the server's", server.len());
}

#[test]
fn the_server_is_killed_and_the_proxy_says_so_by_its_exit_code() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = way.start(answered(&notes).command(dir.path()), &SHORT);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        kill_process(notes.process("server"), Signal::KILL).expect("it runs");
        assert_eq!(run.host.wait().code(), Some(128 + 9), "{way:?}");
        if way.records() {
            let log = run.log();
            holds_every_line(&log, Origin::Client, &run.host.sent);
            holds_every_line(&log, Origin::Server, &run.host.received);
        }
    }
}
