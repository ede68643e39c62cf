//! Processes that a server leaves behind.

use tempfile::TempDir;

use super::{ANSWER, CALL, SHORT, answered};
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
