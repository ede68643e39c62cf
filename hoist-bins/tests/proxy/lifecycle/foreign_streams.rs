//! Streams that the proxy may use but not open anew: they belong to somebody else.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::Mode;
use tempfile::TempDir;

use super::{ANSWER, CALL, SHORT};
use crate::processes::{Notes, until, wait_until_gone};
use crate::ways::Way;

/// A user that owns nothing.
const NOBODY: &str = "65534";

/// Starts a command with pipes that it cannot open anew: as another user, or, where a test may not
/// do that, with pipes that nobody may open.
fn start_with_foreign_pipes(command: &Command) -> Child {
    let is_root = rustix::process::geteuid().is_root();
    let mut words: Vec<OsString> = Vec::new();
    if is_root {
        words.push("setpriv".into());
        words.push(format!("--reuid={NOBODY}").into());
        words.push(format!("--regid={NOBODY}").into());
        words.extend(["--clear-groups".into(), "--".into()]);
    }
    words.push(command.get_program().into());
    words.extend(command.get_args().map(Into::into));
    let (input, to_input) = std::io::pipe().expect("a pipe");
    let (from_output, output) = std::io::pipe().expect("a pipe");
    if !is_root {
        for end in [input.as_fd(), output.as_fd()] {
            rustix::fs::fchmod(end, Mode::empty()).expect("our own pipe");
        }
    }
    let mut whole = Command::new(&words[0]);
    whole.args(&words[1..]).stdin(input).stdout(output).stderr(Stdio::null());
    for (name, value) in command.get_envs() {
        whole.env(name, value.expect("it is set"));
    }
    let mut process = whole.spawn().expect("it can be started");
    process.stdin = Some(std::os::fd::OwnedFd::from(to_input).into());
    process.stdout = Some(std::os::fd::OwnedFd::from(from_output).into());
    process
}

#[test]
fn a_host_whose_pipes_cannot_be_opened_anew_is_missed_when_it_goes() {
    for way in Way::PROXIED {
        let notes = Notes::new();
        let dir = TempDir::new().expect("a temporary directory");
        for path in [dir.path(), notes.path().parent().expect("it lies in a folder")] {
            fs::set_permissions(path, Permissions::from_mode(0o777)).expect("our own folder");
        }
        // It does not mind the end of its input, nor can it be told that nobody reads.
        let script = r#"
            trap '' PIPE
            echo "server $$" >> "$1"
            read -r line
            printf %s "$2"
            while :; do sleep 1000; done
        "#;
        let words = [OsString::from("sh"), "-c".into(), script.into(), "sh".into()];
        let mut words = Vec::from(words);
        words.extend([notes.path().into(), ANSWER.into()]);
        let mut process = start_with_foreign_pipes(&way.command(dir.path(), words, &SHORT));
        let mut input = process.stdin.take().expect("a pipe");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
        input.write_all(format!("{CALL}\n").as_bytes()).expect("it is read");
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer");
        assert_eq!(line, ANSWER, "{way:?}");
        let server = notes.process("server");
        // The host vanishes.
        drop((input, output));
        wait_until_gone(server);
        let status = until("the end of the proxy", || process.try_wait().expect("our own child"));
        assert_eq!(status.code(), Some(128 + 15), "{way:?}");
    }
}
