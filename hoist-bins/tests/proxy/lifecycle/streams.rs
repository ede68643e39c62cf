//! Streams that somebody does not read, and streams that are no pipes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use tempfile::TempDir;

use super::{ANSWER, CALL, LONG};
use crate::host::Host;
use crate::play::{Play, got};
use crate::processes::{Notes, Process};
use crate::ways::Way;

#[test]
fn what_a_server_complains_of_reaches_the_hosts_stderr() {
    let noise = format!("{}\rprogress\r{}", "x".repeat(900_000), "a line\n".repeat(20_000));
    for way in Way::ALL {
        let dir = TempDir::new().expect("a temporary directory");
        let play = (0..3).fold(Play::new(), |play, n| {
            play.read(1).complain(&noise).complain(&format!("END {n}\n")).write(ANSWER)
        });
        let mut run = way.start(play.command(dir.path()), &LONG);
        for _ in 0..3 {
            run.host.send(CALL);
            run.host.expect(ANSWER);
        }
        run.host.end();
        let said = run.host.stderr();
        assert_eq!(said.matches(&noise).count(), 3, "{way:?}");
        assert!((0..3).all(|n| said.contains(&format!("END {n}\n"))), "{way:?}");
    }
}

#[test]
fn a_full_stderr_that_nobody_reads_does_not_stop_the_traffic() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        // What is past the limit makes the proxy say something.
        let long = format!("{{\"id\":1,\"result\":\"{}\"}}\n", "x".repeat(5000));
        let play =
            Play::new().fill_stderr(&notes.path()).answers(&[&long; 20]).read(1).write(ANSWER);
        let flags = ["--max-message-bytes", "1KiB"];
        let mut command = way.command(dir.path(), play.command(dir.path()), &flags);
        let (mut host, stderr) = Host::spawn_deaf(&mut command);
        notes.wait_for("stderr is full");
        for _ in 0..20 {
            host.send(CALL);
            host.answer("1");
        }
        host.send(CALL);
        host.expect(ANSWER);
        host.end();
        drop(stderr);
    }
}

#[test]
fn a_host_may_pass_sockets() {
    for way in Way::ALL {
        let dir = TempDir::new().expect("a temporary directory");
        let play = Play::new().read(1).write(ANSWER).drain().write("late");
        let (mut host, theirs) = UnixStream::pair().expect("a pair of sockets");
        let output = theirs.try_clone().expect("it can be had twice");
        let mut command = way.command(dir.path(), play.command(dir.path()), &LONG);
        command.stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(output)).stderr(Stdio::null());
        let mut process = Process::spawn(&mut command);
        drop(command);
        host.write_all(format!("{CALL}\n").as_bytes()).expect("it is read");
        let mut first = vec![0; ANSWER.len()];
        host.read_exact(&mut first).expect("an answer");
        assert_eq!(first, ANSWER.as_bytes(), "{way:?}");
        host.shutdown(Shutdown::Write).expect("it is open");
        let mut rest = String::new();
        host.read_to_string(&mut rest).expect("the rest");
        assert_eq!(rest, "late", "{way:?}");
        assert!(process.wait().success(), "{way:?}");
    }
}

#[test]
fn input_and_output_may_be_files() {
    for way in Way::ALL {
        let dir = TempDir::new().expect("a temporary directory");
        let (input, output) = (dir.path().join("input"), dir.path().join("output"));
        fs::write(&input, format!("{CALL}\n{CALL}")).expect("it can be written");
        let play = Play::new().read(1).write(ANSWER).drain().write(ANSWER);
        let mut command = way.command(dir.path(), play.command(dir.path()), &LONG);
        command.stdin(File::open(&input).expect("it is there"));
        command.stdout(File::create(&output).expect("it can be made"));
        assert!(Process::spawn(&mut command).wait().success(), "{way:?}");
        assert_eq!(fs::read_to_string(&output).expect("it is there"), ANSWER.repeat(2), "{way:?}");
        assert_eq!(got(dir.path()), format!("{CALL}\n{CALL}").as_bytes(), "{way:?}");
    }
}
