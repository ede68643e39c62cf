//! Real processes. The graces here are real time, and short where the child is known to ignore
//! what comes before; nothing is asserted about how long anything takes.

use std::future::poll_fn;

use futures::task::noop_waker_ref;
use hoist_proxy_core::{Closing, Frame, Framing, Line, ReadLines, SessionId, WriteLines};

use super::*;

const WHOLE: Framing = Framing::Whole { max_bytes: 64 << 20 };

/// For children that are expected to outlast it.
const SHORT: Duration = Duration::from_millis(50);

/// For children that are expected to end within it.
const LONG: Duration = Duration::from_secs(60);

fn sh(script: &str, grace: Duration) -> Started {
    ChildServer::new("sh", ["-c", script]).grace(grace).start().unwrap()
}

async fn next_line(reader: &mut ChildReader) -> Option<String> {
    match poll_fn(|cx| reader.poll_frame(cx, WHOLE)).await? {
        Ok(Frame::Line(line)) => Some(String::from_utf8(line.body().to_vec()).unwrap()),
        other => panic!("{other:?}"),
    }
}

async fn close(writer: &mut ChildWriter, closing: Closing) {
    poll_fn(|cx| writer.poll_close(cx, closing)).await.unwrap();
}

fn now<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    poll(&mut Context::from_waker(noop_waker_ref()))
}

#[tokio::test]
async fn the_exit_status_is_the_childs() {
    for (script, status) in
        [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)]
    {
        let Started { mut reader, mut writer, ended } = sh(script, LONG);
        assert_eq!(next_line(&mut reader).await, None, "{script}");
        assert_eq!(ended.await.exit_code, Some(status), "{script}");
        close(&mut writer, Closing::Gentle).await;
    }
}

#[tokio::test]
async fn closing_the_input_reaches_the_child() {
    let server = ChildServer::new("cat", [] as [&str; 0]);
    let Started { mut reader, mut writer, ended } = server.start().unwrap();
    writer.send(Line::from_body(b"first"));
    poll_fn(|cx| writer.poll_flush(cx)).await.unwrap();
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("first"));
    writer.send(Line::from_wire("unterminated"));
    close(&mut writer, Closing::Gentle).await;
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("unterminated"));
    assert_eq!(next_line(&mut reader).await, None);
    assert_eq!(ended.await.exit_code, Some(0));
}

#[tokio::test]
async fn after_a_gentle_close_the_child_may_take_its_time() {
    // No grace at all: were the clock running, the child would not live to answer.
    let script = "cat >/dev/null; sleep 0.3; echo late; exit 4";
    let Started { mut reader, mut writer, ended } = sh(script, Duration::ZERO);
    close(&mut writer, Closing::Gentle).await;
    drop(writer);
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("late"));
    assert_eq!(next_line(&mut reader).await, None);
    drop(reader);
    assert_eq!(ended.await.exit_code, Some(4));
}

#[tokio::test]
async fn an_urgent_close_is_an_end_of_input_first() {
    let Started { reader: _reader, mut writer, ended } = sh("cat >/dev/null; exit 5", LONG);
    close(&mut writer, Closing::Urgent).await;
    assert_eq!(ended.await.exit_code, Some(5));
}

#[tokio::test]
async fn a_child_that_ignores_the_end_of_its_input_gets_sigterm() {
    let script = "trap 'exit 9' TERM; echo ready; sleep 1000 & wait";
    let grace = Duration::from_millis(500);
    let Started { mut reader, mut writer, ended } = sh(script, grace);
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("ready"));
    close(&mut writer, Closing::Gentle).await;
    close(&mut writer, Closing::Urgent).await;
    assert_eq!(ended.await.exit_code, Some(9));
    assert_eq!(next_line(&mut reader).await, None, "its own child was told, too");
}

#[tokio::test]
async fn a_child_that_ignores_sigterm_is_killed() {
    let script = "trap '' TERM; echo ready; while :; do sleep 1000; done";
    let Started { mut reader, mut writer, ended } = sh(script, SHORT);
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("ready"));
    close(&mut writer, Closing::Urgent).await;
    assert_eq!(ended.await.exit_code, Some(137));
    assert_eq!(next_line(&mut reader).await, None, "its own child was killed, too");
}

#[tokio::test]
async fn what_the_child_leaves_behind_is_ended() {
    for (trap, grandchild) in [("", "sleep 1000"), ("trap '' TERM;", "sleep 1000")] {
        let script = format!("{trap} {grandchild} & echo ready; exit 3");
        let Started { mut reader, writer: _writer, ended } = sh(&script, SHORT);
        assert_eq!(next_line(&mut reader).await.as_deref(), Some("ready"));
        assert_eq!(next_line(&mut reader).await, None, "it held the output open");
        assert_eq!(ended.await.exit_code, Some(3));
    }
}

#[tokio::test]
async fn what_the_child_leaves_behind_may_end_by_itself() {
    let script = "(sleep 0.2; echo late) & echo ready; exit 3";
    let Started { mut reader, writer: _writer, ended } = sh(script, LONG);
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("ready"));
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("late"));
    assert_eq!(next_line(&mut reader).await, None);
    assert_eq!(ended.await.exit_code, Some(3));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_has_left_the_group_is_cut_off() {
    let script = "setsid sleep 1000 & echo $!; exit 0";
    let Started { mut reader, writer: _writer, ended } = sh(script, SHORT);
    let pid = next_line(&mut reader).await.unwrap().parse().unwrap();
    assert_eq!(next_line(&mut reader).await, None);
    assert_eq!(ended.await.exit_code, Some(0));
    let escaped = rustix::process::Pid::from_raw(pid).unwrap();
    // Still running unless it was told to end before it could leave the group.
    let _ = rustix::process::kill_process(escaped, rustix::process::Signal::KILL);
}

#[tokio::test]
async fn a_child_that_does_not_read_holds_the_writer_back() {
    let Started { reader: _reader, mut writer, ended } = sh("exec sleep 1000", SHORT);
    let line = Line::from_body(&[b'x'; 1000]);
    let mut sent_bytes = 0;
    while sent_bytes < 10_000_000 && now(|cx| writer.poll_ready(cx)).is_ready() {
        writer.send(line.clone());
        sent_bytes += line.wire().len();
    }
    assert!(sent_bytes < 1_000_000, "{sent_bytes} bytes were taken");
    assert!(now(|cx| writer.poll_ready(cx)).is_pending());
    assert!(now(|cx| writer.poll_close(cx, Closing::Gentle)).is_pending());
    close(&mut writer, Closing::Urgent).await;
    assert_eq!(ended.await.exit_code, Some(143));
}

#[tokio::test]
async fn a_child_that_writes_more_than_is_read_waits() {
    let Started { mut reader, mut writer, ended } = sh("exec yes flood", SHORT);
    for _ in 0..100_000 {
        assert_eq!(next_line(&mut reader).await.as_deref(), Some("flood"));
    }
    // Nobody reads from here on. Its output is a full pipe, so only a signal ends it.
    close(&mut writer, Closing::Urgent).await;
    assert_eq!(ended.await.exit_code, Some(143));
    let mut left_bytes = 0;
    while let Some(line) = next_line(&mut reader).await {
        left_bytes += line.len() + 1;
    }
    assert!(left_bytes < 4 << 20, "{left_bytes} bytes had piled up");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_session_leaves_nothing_behind() {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let script = "trap '' TERM PIPE; echo $$; while :; do sleep 1000; done";
    let mut started = sh(script, SHORT);
    let pid = next_line(&mut started.reader).await.unwrap().parse().unwrap();
    let process = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    drop(started);
    let gone = tokio::task::spawn_blocking(move || {
        poll(&mut [PollFd::new(&process, PollFlags::IN)], None)
    });
    assert_eq!(gone.await.unwrap(), Ok(1));
}

#[tokio::test]
async fn a_dropped_half_starts_the_clock() {
    let deaf = "trap '' TERM PIPE; echo ready; while :; do sleep 1000; done";
    let Started { mut reader, writer, ended } = sh(deaf, SHORT);
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("ready"));
    drop(writer);
    assert_eq!(ended.await.exit_code, Some(137));

    let Started { mut reader, writer: _writer, ended } = sh(deaf, SHORT);
    assert_eq!(next_line(&mut reader).await.as_deref(), Some("ready"));
    drop(reader);
    assert_eq!(ended.await.exit_code, Some(137));
}

#[tokio::test]
async fn environment_arguments_and_folder_are_as_given() {
    let args = ["-c", r#"printf '%s\n' "$PWD" "$PATH" "$@""#, "sh", "a b", "", "--", "\"'\\"];
    let Started { mut reader, writer: _writer, ended: _ended } =
        ChildServer::new("sh", args).start().unwrap();
    let here = std::env::current_dir().unwrap();
    assert_eq!(next_line(&mut reader).await.unwrap(), here.to_str().unwrap());
    assert_eq!(next_line(&mut reader).await.unwrap(), std::env::var("PATH").unwrap());
    for arg in &args[3..] {
        assert_eq!(next_line(&mut reader).await.as_deref(), Some(*arg));
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("no-program");
    std::fs::write(&file, "text").unwrap();
    let missing = dir.path().join("missing");
    let session = SessionContext::new(SessionId::new("test").unwrap());
    for (program, parts) in [
        ("hoist-no-such-program".into(), &["not found in PATH (/x:/y)", "full path"][..]),
        (missing.clone().into_os_string(), &["no such file", "check the path"]),
        (file.clone().into_os_string(), &["not allowed", "executable"]),
    ] {
        let server = ChildServer::new(&program, ["--token=secret"]).search_path("/x:/y");
        let error = server.connect(&session).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(program.to_str().unwrap()), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(!text.contains("secret"), "{text}");
        assert!(std::error::Error::source(&error).is_some());
    }
}
