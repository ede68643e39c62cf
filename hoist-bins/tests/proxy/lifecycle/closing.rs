//! The host closes its end, or the server ends by itself.

use std::time::Duration;

use tempfile::TempDir;

use super::{ANSWER, CALL, LONG, SHORT, answered};
use crate::play::Play;
use crate::processes::{Notes, busy};
use crate::ways::{Case, Way};

#[test]
fn the_servers_exit_code_is_the_proxys() {
    let notes = Notes::new();
    for (play, code) in [
        (answered(&notes).drain(), 0),
        (answered(&notes).drain().exit(7), 7),
        (answered(&notes).drain().exit(255), 255),
        (answered(&notes).drain().die("SIGTERM"), 128 + 15),
        (answered(&notes).drain().die("SIGKILL"), 128 + 9),
        (answered(&notes).exit(7), 7),
        (answered(&notes).die("SIGTERM"), 128 + 15),
    ] {
        for way in Way::PROXIED {
            let dir = TempDir::new().expect("a temporary directory");
            let mut run = way.start(play.command(dir.path()), &LONG);
            run.host.send(CALL);
            run.host.expect(ANSWER);
            run.host.close();
            assert_eq!(run.host.wait().code(), Some(code), "{way:?}");
            run.check_log();
        }
    }
}

#[test]
fn what_the_server_writes_after_its_input_ended_is_passed_on() {
    let late = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"late\":true}}\nlast words";
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().read(1).drain().note(&notes.path(), "eof").write(late).exit(3);
        let mut run = way.start(play.command(dir.path()), &LONG);
        run.host.send(CALL);
        run.host.close();
        run.host.expect(late);
        assert_eq!(run.host.wait().code(), Some(3), "{way:?}");
        assert_eq!(notes.lines(), ["eof"], "{way:?}");
        run.check_log();
    }
}

#[test]
fn a_request_the_server_makes_after_its_input_ended_is_passed_on_too() {
    // The host cannot answer any more, but it reads.
    let late = concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    );
    Case::new(&["tools/call", "roots/list"], Play::new().read(1).drain().write(late))
        .same_in_every_way(|host| {
            host.send(CALL);
            host.close();
            host.expect(late);
        });
}

#[test]
fn a_slow_server_is_waited_for_past_the_grace_and_without_load() {
    let late = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"late\":true}}\n";
    for way in Way::PROXIED {
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().read(1).drain().dawdle(1.0).write(late).exit(3);
        let mut run = way.start(play.command(dir.path()), &SHORT);
        run.host.send(CALL);
        run.host.close();
        run.host.expect(late);
        assert_eq!(run.host.line(), None, "{way:?}");
        let busy = busy(run.host.id());
        assert!(busy < Duration::from_millis(300), "{way:?}: busy for {busy:?}");
        assert_eq!(run.host.wait().code(), Some(3), "{way:?}");
    }
}

#[test]
fn calls_in_flight_when_the_server_ends_do_not_hang() {
    for way in Way::PROXIED {
        let dir = TempDir::new().expect("a temporary directory");
        // The second answer is cut off in the middle.
        let half = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"te"#;
        let play = Play::new().read(2).write(half).complain("out of luck\n").exit(7);
        let mut run = way.start(play.command(dir.path()), &LONG);
        run.host.send(CALL);
        run.host.send(&CALL.replace(":1,", ":2,"));
        let status = run.host.wait();
        assert_eq!(status.code(), Some(7), "{way:?}");
        let received = String::from_utf8_lossy(&run.host.received).into_owned();
        // The half answer crosses as it came; what got nothing at all is answered in the server's
        // place, where a layer had it in hand.
        assert!(received.contains(half), "{way:?}: {received}");
        let error = r#"{"jsonrpc":"2.0","id":1,"error":"#;
        assert_eq!(received.contains(error), way.acts(), "{way:?}: {received}");
        assert!(run.host.stderr().contains("out of luck"), "{way:?}");
    }
}

#[test]
fn a_server_that_closes_its_output_is_told_to_end() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = answered(&notes).close_output().drain().note(&notes.path(), "eof").exit(4);
        let mut run = way.start(play.command(dir.path()), &LONG);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        // The host's own end stays open.
        assert_eq!(run.host.wait().code(), Some(4), "{way:?}");
        notes.wait_for("eof");
        run.check_log();
    }
}

#[test]
fn a_server_that_closes_its_output_and_stays_is_made_to_end() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = answered(&notes).close_output().linger();
        let mut run = way.start(play.command(dir.path()), &SHORT);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        assert_eq!(run.host.wait().code(), Some(128 + 15), "{way:?}");
    }
}
