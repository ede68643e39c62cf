use std::fs::File;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll};

use hoist_proxy_core::{Closing, Frame, Framing, Line, ReadLines, WriteLines};
use rustix::fs::{OFlags, fcntl_getfl};

use super::*;

const WHOLE: Framing = Framing::Whole { max_bytes: 64 << 20 };

/// Both ends of a standard input and output: what the host holds, and what the proxy is given.
struct Ends {
    to_proxy: OwnedFd,
    from_proxy: OwnedFd,
    input: OwnedFd,
    output: OwnedFd,
}

fn pipes() -> Ends {
    let (input, to_proxy) = std::io::pipe().unwrap();
    let (from_proxy, output) = std::io::pipe().unwrap();
    Ends {
        to_proxy: to_proxy.into(),
        from_proxy: from_proxy.into(),
        input: input.into(),
        output: output.into(),
    }
}

fn sockets() -> Ends {
    let (input, to_proxy) = UnixStream::pair().unwrap();
    let (from_proxy, output) = UnixStream::pair().unwrap();
    Ends {
        to_proxy: to_proxy.into(),
        from_proxy: from_proxy.into(),
        input: input.into(),
        output: output.into(),
    }
}

async fn next_body(reader: &mut impl ReadLines) -> Option<Vec<u8>> {
    match poll_fn(|cx| reader.poll_frame(cx, WHOLE)).await? {
        Ok(Frame::Line(line)) => Some(line.body().to_vec()),
        other => panic!("{other:?}"),
    }
}

fn open(input: OwnedFd, output: OwnedFd) -> (LineReader<Reader>, Writer) {
    (LineReader::new(reader(input).unwrap()), writer(output).unwrap())
}

async fn send(writer: &mut Writer, body: &[u8]) -> io::Result<()> {
    writer.send(Line::from_body(body));
    poll_fn(|cx| writer.poll_flush(cx)).await
}

/// Sends lines both ways, small and large, then ends both.
async fn check(ends: Ends) {
    let shared = (ends.input.try_clone().unwrap(), ends.output.try_clone().unwrap());
    let flags = |fd: &OwnedFd| fcntl_getfl(fd).unwrap();
    let before = (flags(&shared.0), flags(&shared.1));
    let (mut reader, mut writer) = open(ends.input, ends.output);

    let large = vec![b'x'; 5 << 20];
    let mut host_out = File::from(ends.to_proxy);
    let mut host_in = File::from(ends.from_proxy);
    let sent = large.clone();
    let host = std::thread::spawn(move || {
        host_out.write_all(b"small\n").unwrap();
        host_out.write_all(&sent).unwrap();
        host_out.write_all(b"\nrest").unwrap();
        drop(host_out);
        let mut got = Vec::new();
        host_in.read_to_end(&mut got).unwrap();
        got
    });
    assert_eq!(next_body(&mut reader).await.unwrap(), b"small");
    assert!(next_body(&mut reader).await.unwrap() == large);
    assert_eq!(next_body(&mut reader).await.unwrap(), b"rest");
    assert!(next_body(&mut reader).await.is_none());

    send(&mut writer, b"small").await.unwrap();
    send(&mut writer, &large).await.unwrap();
    writer.send(Line::from_body(b"last"));
    assert_eq!((flags(&shared.0), flags(&shared.1)), before, "others would notice");
    assert!(!before.1.contains(OFlags::NONBLOCK));
    poll_fn(|cx| writer.poll_close(cx, Closing::Gentle)).await.unwrap();
    drop(shared);
    let got = host.join().unwrap();
    assert_eq!(got.len(), 6 + large.len() + 1 + 5);
    assert!(got.starts_with(b"small\nxxx") && got.ends_with(b"xxx\nlast\n"));
}

#[tokio::test]
async fn pipes_carry_lines_and_stay_as_they_were() {
    check(pipes()).await;
}

#[tokio::test]
async fn sockets_carry_lines_and_stay_as_they_were() {
    check(sockets()).await;
}

#[tokio::test]
async fn a_file_is_read_and_written_by_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input");
    std::fs::write(&path, b"one\ntwo").unwrap();
    let output = dir.path().join("output");
    let (mut reader, mut writer) =
        open(File::open(&path).unwrap().into(), File::create(&output).unwrap().into());
    assert_eq!(next_body(&mut reader).await.unwrap(), b"one");
    assert_eq!(next_body(&mut reader).await.unwrap(), b"two");
    assert!(next_body(&mut reader).await.is_none());
    send(&mut writer, b"answer").await.unwrap();
    assert_eq!(std::fs::read(&output).unwrap(), b"answer\n");
}

#[tokio::test]
async fn what_waits_also_waits_for_what_somebody_set_not_to_block() {
    let (receiver, sender) = std::io::pipe().unwrap();
    let fd = OwnedFd::from(receiver);
    rustix::fs::fcntl_setfl(&fd, OFlags::NONBLOCK).unwrap();
    let mut reader = LineReader::new(BlockingReader::start(Waiting::new(fd)).unwrap());
    let mut asked = std::pin::pin!(next_body(&mut reader));
    let none = poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx).is_pending())).await;
    assert!(none, "there is nothing to read yet");
    File::from(OwnedFd::from(sender)).write_all(b"late\n").unwrap();
    assert_eq!(asked.await.unwrap(), b"late");
}

/// The host closes its reading end without a line being written.
async fn check_gone(ends: Ends) {
    let (_reader, mut writer) = open(ends.input, ends.output);
    let early = writer.poll_gone(&mut Context::from_waker(futures::task::noop_waker_ref()));
    assert!(early.is_pending(), "the host still reads");
    send(&mut writer, b"x").await.unwrap();
    let early = writer.poll_gone(&mut Context::from_waker(futures::task::noop_waker_ref()));
    assert!(early.is_pending(), "the host still reads");
    drop(ends.from_proxy);
    poll_fn(|cx| writer.poll_gone(cx)).await;
    assert_eq!(send(&mut writer, b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_that_no_longer_reads_its_pipe_is_gone() {
    check_gone(pipes()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_that_no_longer_reads_its_socket_is_gone() {
    check_gone(sockets()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_that_is_gone_while_the_writer_is_blocked_is_noticed() {
    for ends in [pipes(), sockets()] {
        let (_reader, mut writer) = open(ends.input, ends.output);
        writer.send(Line::from_body(&vec![b'x'; 4 << 20]));
        let flush = poll_fn(|cx| Poll::Ready(writer.poll_flush(cx).is_pending())).await;
        assert!(flush, "nobody reads");
        drop(ends.from_proxy);
        poll_fn(|cx| writer.poll_gone(cx)).await;
        assert!(poll_fn(|cx| writer.poll_flush(cx)).await.is_err());
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_that_was_gone_from_the_start_is_noticed() {
    for ends in [pipes(), sockets()] {
        drop(ends.from_proxy);
        let (_reader, mut writer) = open(ends.input, ends.output);
        poll_fn(|cx| writer.poll_gone(cx)).await;
        let error = send(&mut writer, b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

/// Pipes of another user can be written and watched, but not opened anew.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_that_no_longer_reads_a_pipe_of_its_own_is_gone() {
    let ends = pipes();
    let before = fcntl_getfl(&ends.output).unwrap();
    let shared = ends.output.try_clone().unwrap();
    let mut writer = waiting_writer(ends.output, &io::ErrorKind::PermissionDenied.into()).unwrap();
    send(&mut writer, b"x").await.unwrap();
    let mut cx = Context::from_waker(futures::task::noop_waker_ref());
    assert!(writer.poll_gone(&mut cx).is_pending(), "the host still reads");
    assert_eq!(fcntl_getfl(&shared).unwrap(), before, "others would notice");
    drop(ends.from_proxy);
    poll_fn(|cx| writer.poll_gone(cx)).await;
    assert_eq!(send(&mut writer, b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

/// Nobody gets a signal when a terminal that controls no process goes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_terminal_that_is_closed_is_gone_both_ways() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let terminal = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
    let (mut reader, mut writer) = open(terminal.try_clone().unwrap(), terminal);
    send(&mut writer, b"x").await.unwrap();
    let mut cx = Context::from_waker(futures::task::noop_waker_ref());
    assert!(writer.poll_gone(&mut cx).is_pending(), "the host still reads");
    drop(master);
    poll_fn(|cx| writer.poll_gone(cx)).await;
    let end = poll_fn(|cx| reader.poll_frame(cx, WHOLE)).await;
    assert!(matches!(end, None | Some(Err(_))), "{end:?}");
}

#[test]
fn a_host_that_has_closed_its_end_is_seen_before_that_end_is_reached() {
    for ends in [pipes(), sockets()] {
        File::from(ends.to_proxy.try_clone().unwrap()).write_all(b"unread").unwrap();
        assert!(!unix_fd::has_hung_up(&ends.input));
        drop(ends.to_proxy);
        assert!(unix_fd::has_hung_up(&ends.input));
    }
    assert!(!unix_fd::has_hung_up(tempfile::tempfile().unwrap()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_host_that_closes_one_direction_of_its_socket_is_seen() {
    let (input, to_proxy) = UnixStream::pair().unwrap();
    to_proxy.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(unix_fd::has_hung_up(&input));
}

#[tokio::test]
async fn there_is_one_host_and_no_more() {
    let ends = pipes();
    let mut hosts = Stdio::from_fds(ends.input, ends.output);
    assert!(hosts.accept().await.unwrap().is_some());
    assert!(hosts.accept().await.unwrap().is_none());
}
