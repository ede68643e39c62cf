//! Processes that a server leaves behind.

use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use super::{ANSWER, CALL, LONG, SHORT, answered};
use crate::play::Play;
use crate::processes::{Notes, is_gone, wait_until_gone};
use crate::ways::Way;

#[test]
fn what_a_server_leaves_in_its_group_ends_with_it() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        // It holds the server's output open, and heeds no SIGTERM.
        let other = Play::new().ignore(&["SIGTERM"]).note(&notes.path(), "other {pid}");
        let play = answered(&notes).fork(other).exit(4);
        let mut run = way.start(play.command(dir.path()), &SHORT);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        let other = notes.process("other");
        assert_eq!(run.host.wait().code(), Some(4), "{way:?}");
        wait_until_gone(other);
        run.check_log();
    }
}

#[test]
fn what_a_server_leaves_behind_may_finish_within_the_grace() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let last = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n";
        let other = Play::new().obey("SIGTERM", &notes.path(), 1).dawdle(0.1).write(last).exit(0);
        let play = answered(&notes).fork(other).exit(4);
        let mut run = way.start(play.command(dir.path()), &["--grace", "20"]);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        run.host.expect(last);
        assert_eq!(run.host.wait().code(), Some(4), "{way:?}");
        assert_eq!(notes.lines().len(), 1, "{way:?}: {:?}", notes.lines());
        run.check_log();
    }
}

#[test]
fn what_has_left_the_servers_group_does_not_keep_the_proxy() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let other = Play::new().leave_group().note(&notes.path(), "other {pid}");
        let play = answered(&notes).fork(other).exit(4);
        let mut run = way.start(play.command(dir.path()), &SHORT);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        let other = notes.process("other");
        assert_eq!(run.host.wait().code(), Some(4), "{way:?}");
        // It is not ours to end; the test's own guard does that.
        assert!(!is_gone(other), "{way:?}");
        run.check_log();
    }
}

/// In a container whose first process collects nobody, or below a parent that does not, the dead
/// stay in their group.
#[test]
fn the_dead_that_nobody_collects_are_not_waited_for() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let path = notes.path();
        let dir = TempDir::new().expect("a temporary directory");
        let dead = Play::new().note(&path, "dead {pid}").exit(0);
        // It leaves the group, but its child stays in it and is never collected.
        let careless = Play::new().fork(dead).leave_group().close_output();
        let careless = careless.note(&path, "careless {pid}");
        let play = Play::new().fork(careless).read(1).write(ANSWER).exit(4);
        let mut run = way.start(play.command(dir.path()), &LONG);
        let (dead, careless) = (notes.process("dead"), notes.process("careless"));
        wait_until_gone(dead);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        assert_eq!(run.host.wait().code(), Some(4), "{way:?}");
        assert!(!is_gone(careless), "it still holds the dead one");
        // It holds standard error, too.
        kill_process(careless, Signal::KILL).expect("it runs");
        let said = run.host.stderr();
        assert!(!said.contains("SIGKILL"), "{way:?}: {said}");
        run.check_log();
    }
}
