//! Servers that cannot be started, or end at once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::LONG;
use crate::host::Host;
use crate::ways::Way;

/// Starts a server that cannot be started; what the proxy says.
#[track_caller]
fn refused(way: Way, program: &Path) -> String {
    let dir = TempDir::new().expect("a temporary directory");
    let words = vec![program.into(), "--token=s3cr3t".into()];
    let mut command = way.command(dir.path(), words, &LONG);
    let path = std::env::var("PATH").expect("there is one");
    let mut host = Host::spawn(command.env("PATH", format!("{path}:/odd/folder")));
    assert_eq!(host.line(), None, "nothing belongs on standard output");
    assert_eq!(host.wait().code(), Some(125));
    let said = host.stderr();
    assert!(said.contains(program.to_str().expect("it is text")), "{said}");
    assert!(!said.contains("s3cr3t"), "{said}");
    let logs = fs::read_dir(dir.path().join("logs")).map_or(0, Iterator::count);
    assert_eq!(logs, 0, "a log was left");
    said
}

#[test]
fn a_command_that_is_not_in_the_path_is_named_with_the_path() {
    for way in Way::PROXIED {
        let said = refused(way, Path::new("hoist-no-such-command"));
        assert!(said.contains("/odd/folder"), "{said}");
    }
}

#[test]
fn a_file_that_is_missing_or_no_program_is_named() {
    let dir = TempDir::new().expect("a temporary directory");
    let file = dir.path().join("text");
    fs::write(&file, "just text").expect("it can be written");
    for way in Way::PROXIED {
        let said = refused(way, &dir.path().join("missing"));
        assert!(said.contains("no such file"), "{said}");
        let said = refused(way, &file);
        assert!(said.contains("executable"), "{said}");
        refused(way, dir.path());
    }
}

#[test]
fn a_script_that_names_no_interpreter_is_told_what_it_lacks() {
    let dir = TempDir::new().expect("a temporary directory");
    let script = dir.path().join("script");
    fs::write(&script, "echo hello\n").expect("it can be written");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("our own file");
    for way in Way::PROXIED {
        let said = refused(way, &script);
        assert!(said.contains("first line") && said.contains("#!/bin/sh"), "{said}");
    }
}

#[test]
fn a_limit_on_open_files_is_told_with_what_was_to_be_opened() {
    let dir = TempDir::new().expect("a temporary directory");
    for way in Way::PROXIED {
        let proxy = way.command(dir.path(), vec!["cat".into()], &LONG);
        // From none at all to just as many as it needs.
        for files in 4.. {
            let mut limited = Command::new("sh");
            let script = r#"ulimit -n "$0"; exec "$@""#;
            limited.args(["-c", script, &files.to_string()]).arg(proxy.get_program());
            limited.args(proxy.get_args()).env("RUST_BACKTRACE", "0");
            for (name, value) in proxy.get_envs() {
                limited.env(name, value.expect("it is set"));
            }
            let mut host = Host::spawn(&mut limited);
            host.close();
            let status = host.wait();
            if status.success() {
                break;
            }
            let said = host.stderr();
            assert_eq!(status.code(), Some(125), "{way:?}, {files}: {said}");
            assert!(said.contains("Too many open files"), "{way:?}, {files}: {said}");
            let named = ["opening ", "starting ", "catching ", "cannot create ", "cannot start "];
            assert!(named.iter().any(|what| said.contains(what)), "{way:?}, {files}: {said}");
            assert!(files < 100, "{said}");
        }
    }
}

#[test]
fn a_server_that_ends_at_once_ends_the_proxy_with_its_code() {
    for way in Way::PROXIED {
        let dir = TempDir::new().expect("a temporary directory");
        let words = ["sh", "-c", "echo said; exit 9"].map(Into::into).to_vec();
        let mut host = Host::spawn(&mut way.command(dir.path(), words, &LONG));
        host.expect("said\n");
        assert_eq!(host.wait().code(), Some(9), "{way:?}");
    }
}
