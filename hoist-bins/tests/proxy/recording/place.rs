//! Where the log goes, and what it says of its session.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hoist_trace::log::Header;
use tempfile::TempDir;

use super::before_demo;
use crate::host::{Host, demo};
use crate::log::{only_log, whole_log};

/// A session of one exchange; what the proxy said first.
#[track_caller]
fn session(command: &mut std::process::Command) -> String {
    let mut host = Host::spawn(command);
    host.initialize();
    host.end();
    let said = host.stderr();
    said.lines().next().expect("it says where the log is").to_owned()
}

fn header(logs: &Path) -> Header {
    let log = whole_log(&only_log(logs));
    assert_eq!(log.entries.len(), 3);
    log.header
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn only_the_user_may_read_a_log_and_a_directory_that_was_made_for_it() {
    let dir = TempDir::new().expect("a temporary directory");
    let made = dir.path().join("a/b");
    session(&mut before_demo(&["--record".as_ref(), made.as_os_str()]));
    assert_eq!(mode(&only_log(&made)), 0o600);
    assert_eq!(mode(&made), 0o700);
    assert_eq!(mode(&dir.path().join("a")), 0o700);

    // A directory that was there is the user's affair.
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).expect("it can be made");
    fs::set_permissions(&shared, PermissionsExt::from_mode(0o755)).expect("it is ours");
    session(&mut before_demo(&["--record".as_ref(), shared.as_os_str()]));
    assert_eq!(mode(&only_log(&shared)), 0o600);
    assert_eq!(mode(&shared), 0o755);
}

#[test]
fn the_first_line_on_stderr_says_where_the_log_is() {
    let dir = TempDir::new().expect("a temporary directory");
    let logs = dir.path().join("logs");
    let said = session(&mut before_demo(&["--record".as_ref(), logs.as_os_str()]));
    assert_eq!(said, format!("hoist-mcp: recording to {}", only_log(&logs).display()));
}

#[test]
fn a_leading_tilde_is_the_home_directory() {
    let home = TempDir::new().expect("a temporary directory");
    session(before_demo(&["--record", "~/logs"]).env("HOME", home.path()));
    only_log(&home.path().join("logs"));
}

#[test]
fn a_relative_directory_is_below_the_proxys_own_and_said_in_full() {
    let dir = TempDir::new().expect("a temporary directory");
    let here = dir.path().canonicalize().expect("it is there");
    let said = session(before_demo(&["--record", "logs"]).current_dir(&here));
    let log = only_log(&here.join("logs"));
    // Whoever reads it may be elsewhere.
    assert_eq!(said, format!("hoist-mcp: recording to {}", log.display()));
}

#[test]
fn the_header_says_what_the_session_was() {
    let dir = TempDir::new().expect("a temporary directory");
    let flags = [
        "--record".as_ref(),
        dir.path().as_os_str(),
        "--domain=orders".as_ref(),
        "--agent-model=m-1".as_ref(),
        "--server-name=shop".as_ref(),
    ];
    session(before_demo(&flags).env("HOIST_SESSION", "run 7"));
    let header = header(dir.path());
    assert_eq!(header.domain.as_deref(), Some("orders"));
    assert_eq!(header.agent_model.as_deref(), Some("m-1"));
    assert_eq!(header.server_name.as_deref(), Some("shop"));
    assert_eq!(header.host_session.as_deref(), Some("run 7"));
    assert_eq!(header.server_command, [demo().to_str().expect("it is text")]);
    let name = only_log(dir.path()).file_stem().map(std::ffi::OsStr::to_os_string);
    assert_eq!(name.as_deref(), Some(header.session.as_ref()));
}

#[test]
fn the_host_process_stands_for_a_host_session_without_name() {
    for named in [None, Some("")] {
        let dir = TempDir::new().expect("a temporary directory");
        let mut command = before_demo(&["--record".as_ref(), dir.path().as_os_str()]);
        match named {
            Some(name) => command.env("HOIST_SESSION", name),
            None => command.env_remove("HOIST_SESSION"),
        };
        session(&mut command);
        let header = header(dir.path());
        assert_eq!(header.host_session, Some(format!("host-{}", std::process::id())));
        assert_eq!((header.domain, header.agent_model, header.server_name), (None, None, None));
    }
}

#[test]
fn credentials_in_the_servers_command_reach_the_server_and_not_the_log() {
    let dir = TempDir::new().expect("a temporary directory");
    let mut command = std::process::Command::new(crate::host::hoist_mcp());
    command.arg("--record").arg(dir.path()).args(["--", "sh", "-c", "echo \"$@\"", "sh"]);
    let mut host = Host::spawn(command.args(["--api-key", "s3cr3t-one", "--token=s3cr3t-two"]));
    host.expect("--api-key s3cr3t-one --token=s3cr3t-two\n");
    host.end();
    let header = whole_log(&only_log(dir.path())).header;
    let words = header.server_command.join(" ");
    assert!(words.contains("--api-key") && words.contains("--token="), "{words}");
    assert!(!words.contains("s3cr3t"), "{words}");
}
