//! A log that cannot be created is said at the start, and nothing is started.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::CALL;
use crate::host::{Host, hoist_mcp};
use crate::log::only_log;

/// The proxy with a server that leaves a note if it is ever started.
fn proxy(logs: &Path, note: &Path) -> Command {
    let mut command = Command::new(hoist_mcp());
    command.arg("--record").arg(logs);
    command.args(["--", "sh", "-c", "echo started > \"$0\""]).arg(note);
    command
}

/// The proxy must fail before it starts the server, and say why.
#[track_caller]
fn refused(mut command: Command, note: &Path) -> String {
    let mut host = Host::spawn(&mut command);
    host.send_if_read(CALL.as_bytes());
    assert_eq!(host.line(), None, "nothing belongs on standard output");
    assert_eq!(host.wait().code(), Some(125));
    assert!(!note.exists(), "the server was started");
    let said = host.stderr();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("hoist-mcp: "), "{said}");
    said
}

#[test]
fn a_directory_that_cannot_be_made_is_named_and_no_server_started() {
    let dir = TempDir::new().expect("a temporary directory");
    let (file, note) = (dir.path().join("file"), dir.path().join("note"));
    fs::write(&file, "mine").expect("it can be written");
    for logs in [file.clone(), file.join("below"), "/proc/no/such".into()] {
        let said = refused(proxy(&logs, &note), &note);
        assert!(said.contains("log directory"), "{said}");
        assert!(said.contains(logs.to_str().expect("it is text")), "{said}");
    }
    assert_eq!(fs::read_to_string(file).expect("it is there still"), "mine");
}

#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_takes_no_file_is_named_and_no_server_started() {
    let dir = TempDir::new().expect("a temporary directory");
    let note = dir.path().join("note");
    // Nobody, not even root, can make a file there.
    let said = refused(proxy("/proc/self".as_ref(), &note), &note);
    assert!(said.contains("session log /proc/self/"), "{said}");
}

#[test]
fn a_disk_without_room_for_the_first_line_leaves_no_file_and_no_server() {
    let dir = TempDir::new().expect("a temporary directory");
    let (logs, note) = (dir.path().join("logs"), dir.path().join("note"));
    let inner = proxy(&logs, &note);
    let mut command = Command::new("sh");
    let words = [OsString::from("-c"), "ulimit -f 0; exec \"$@\"".into(), "sh".into()];
    command.args(words).arg(inner.get_program()).args(inner.get_args());
    let said = refused(command, &note);
    assert!(said.contains("session log"), "{said}");
    assert_eq!(fs::read_dir(&logs).expect("it was made").count(), 0);

    // The same without a limit starts the server and leaves a log.
    let mut host = Host::spawn(&mut proxy(&logs, &note));
    assert_eq!(host.wait().code(), Some(0));
    assert!(note.exists());
    only_log(&logs);
}
