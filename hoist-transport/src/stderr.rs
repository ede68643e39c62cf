//! Short messages of the program's own on standard error.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest message with its prefix, in bytes. A pipe that can be written at all takes this
/// much.
const MAX_BYTES: usize = 4096;

/// Short messages of the program's own on standard error.
///
/// Standard error may be a pipe that the host never reads, so a message is dropped rather than
/// waited for, and counted. Nothing about the stream is changed: the child shares it.
///
/// # Examples
///
/// ```
/// let stderr = hoist_transport::Stderr::new("hoist-mcp: ");
/// stderr.say("the log is at /tmp/session.jsonl");
/// ```
#[derive(Debug)]
pub struct Stderr {
    prefix: String,
    dropped: AtomicU64,
    /// Another stream in its place.
    #[cfg(unix)]
    other: Option<OwnedFd>,
}

impl Stderr {
    /// The process's standard error, each message behind `prefix`.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            dropped: AtomicU64::new(0),
            #[cfg(unix)]
            other: None,
        }
    }

    /// Another stream in its place.
    #[cfg(unix)]
    pub fn from_fd(fd: OwnedFd, prefix: impl Into<String>) -> Self {
        Self { other: Some(fd), ..Self::new(prefix) }
    }

    /// Writes one line if that is possible right now; else it is dropped and counted.
    ///
    /// Line ends inside `message` become spaces. What is longer than 4096 bytes in all is cut.
    pub fn say(&self, message: &str) {
        if self.write(&line(&self.prefix, message)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many messages were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    #[cfg(unix)]
    fn write(&self, line: &[u8]) -> io::Result<()> {
        match &self.other {
            Some(fd) => write_now(fd.as_fd(), line),
            None => write_now(io::stderr().as_fd(), line),
        }
    }

    #[cfg(not(unix))]
    fn write(&self, line: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut io::stderr(), line)
    }
}

fn line(prefix: &str, message: &str) -> Vec<u8> {
    let text = format!("{prefix}{message}");
    let longest = text.len().min(MAX_BYTES - 1);
    // `str::floor_char_boundary` is younger than the oldest compiler we support.
    let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut line = text.as_bytes()[..end].to_vec();
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    line
}

#[cfg(unix)]
fn write_now(fd: BorrowedFd<'_>, line: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::net::{SendFlags, send};

    // A socket can be asked not to block. Part of a line is as good as none, but cannot be taken
    // back.
    match send(fd, line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Err(rustix::io::Errno::NOTSOCK) => {}
        other => return whole(other?, line),
    }
    // So can a pipe, on Linux. Whatever else may have gone wrong, the way below shows it.
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{ReadWriteFlags, pwritev2};
        // The greatest offset means none, as a stream must have it.
        let written = pwritev2(fd, &[io::IoSlice::new(line)], u64::MAX, ReadWriteFlags::NOWAIT);
        if let Ok(written) = written {
            return whole(written, line);
        }
    }
    // Elsewhere it may fill up between the question and the write, which then waits.
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    poll(&mut fds, Some(&at_once))?;
    if !fds[0].revents().contains(PollFlags::OUT) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    whole(rustix::io::write(fd, line)?, line)
}

#[cfg(unix)]
fn whole(written: usize, line: &[u8]) -> io::Result<()> {
    if written == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_message_is_one_line_behind_its_prefix() {
        let (mut reader, writer) = io::pipe().unwrap();
        let stderr = Stderr::from_fd(writer.into(), "hoist: ");
        stderr.say("two\r\nlines");
        stderr.say(&"é".repeat(5000));
        assert_eq!(stderr.dropped(), 0);
        drop(stderr);
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "hoist: two  lines");
        assert!((4090..=4096).contains(&(lines[1].len() + 1)), "{} bytes", lines[1].len());
    }

    #[test]
    fn a_message_nobody_takes_is_dropped_and_counted() {
        let (pipe_reader, pipe) = io::pipe().unwrap();
        let (socket_reader, socket) = UnixStream::pair().unwrap();
        for (reader, writer) in [
            (OwnedFd::from(pipe_reader), OwnedFd::from(pipe)),
            (OwnedFd::from(socket_reader), OwnedFd::from(socket)),
        ] {
            let stderr = Stderr::from_fd(writer, "hoist: ");
            for _ in 0..1000 {
                stderr.say(&"x".repeat(2000));
            }
            assert!((100..1000).contains(&stderr.dropped()), "{} dropped", stderr.dropped());
            let before = stderr.dropped();
            File::from(reader.try_clone().unwrap()).read_exact(&mut vec![0; 20_000]).unwrap();
            stderr.say("there is room again");
            assert_eq!(stderr.dropped(), before);
            drop(reader);
            stderr.say("nobody is left");
            assert_eq!(stderr.dropped(), before + 1);
        }
    }
}
