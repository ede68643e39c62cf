//! One end of one pipe is closed, and the rest stays.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use tempfile::TempDir;

use super::{ANSWER, CALL, LONG, SHORT, answered};
use crate::play::Play;
use crate::processes::{Notes, Process};
use crate::ways::Way;

#[test]
fn a_server_that_closes_its_input_is_still_heard() {
    let late = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n";
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = answered(&notes).close_input().dawdle(0.2).write(late).exit(3);
        let mut run = way.start(play.command(dir.path()), &LONG);
        run.host.send(CALL);
        run.host.expect(ANSWER);
        for _ in 0..1000 {
            run.host.send_if_read(b"{\"method\":\"x\"}\n");
        }
        run.host.expect(late);
        assert_eq!(run.host.wait().code(), Some(3), "{way:?}");
    }
}

#[test]
fn a_host_that_reads_no_more_is_still_heard_until_it_closes() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = answered(&notes)
            .obey("SIGTERM", &notes.path(), 5)
            .read(1)
            .write(ANSWER)
            .read(1)
            .write(ANSWER)
            .note(&notes.path(), "third")
            .drain()
            .note(&notes.path(), "eof")
            .linger();
        let mut command = way.command(dir.path(), play.command(dir.path()), &SHORT);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::spawn(&mut command);
        let mut input = process.0.stdin.take().expect("a pipe was asked for");
        let mut output = BufReader::new(process.0.stdout.take().expect("a pipe was asked for"));
        writeln!(input, "{CALL}").expect("it is read");
        let mut line = String::new();
        output.read_line(&mut line).expect("it can be read");
        assert_eq!(line, ANSWER, "{way:?}");
        drop(output);
        writeln!(input, "{CALL}").expect("it is read");
        writeln!(input, "{CALL}").expect("it is read");
        notes.wait_for("third");
        // Nobody is left on either pipe: the clock starts.
        drop(input);
        assert_eq!(process.wait().code(), Some(5), "{way:?}");
        assert_eq!(notes.lines()[1..], ["third", "eof", "SIGTERM"], "{way:?}");
    }
}

#[test]
fn a_host_without_streams_ends_the_server_at_once() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().drain().write(ANSWER).note(&notes.path(), "eof").exit(3);
        let mut command = way.command(dir.path(), play.command(dir.path()), &LONG);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = Process::spawn(&mut command).wait();
        assert_eq!((status.code(), notes.lines()), (Some(3), vec!["eof".to_owned()]), "{way:?}");
    }
}
