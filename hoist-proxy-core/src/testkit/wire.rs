use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::BytesMut;
use futures::future::BoxFuture;

use super::Peer;
use super::pipe::Pipe;
use crate::json::EnvelopeScanner;
use crate::{
    Closing, Connection, Ended, Error, Frame, Framing, Line, Part, ReadLines, SessionContext,
    TooLong, WriteLines,
};

const CAPACITY: usize = 1024;

/// A scripted host, and the downstream that yields it once.
pub fn host() -> (Peer, Downstream) {
    host_with_capacity(CAPACITY)
}

/// As [`host`], with room for `lines` lines each way.
pub fn host_with_capacity(lines: usize) -> (Peer, Downstream) {
    let (peer, connection) = pair("host", lines);
    (peer, Downstream(Some(connection)))
}

/// A scripted server, and the upstream that reaches it once.
pub fn server() -> (Peer, Upstream) {
    server_with_capacity(CAPACITY)
}

/// As [`server`], with room for `lines` lines each way.
pub fn server_with_capacity(lines: usize) -> (Peer, Upstream) {
    let (peer, connection) = pair("server", lines);
    (peer, Upstream(Mutex::new(Some(connection))))
}

/// Yields one in-memory host.
#[derive(Debug)]
pub struct Downstream(Option<Connection>);

impl crate::Downstream for Downstream {
    fn accept(&mut self) -> BoxFuture<'_, Result<Option<Connection>, Error>> {
        let connection = self.0.take();
        Box::pin(std::future::ready(Ok(connection)))
    }
}

/// Reaches one in-memory server, once.
#[derive(Debug)]
pub struct Upstream(Mutex<Option<Connection>>);

impl crate::Upstream for Upstream {
    fn connect<'a>(
        &'a self,
        _session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        let connection = self.0.lock().ok().and_then(|mut c| c.take());
        let connection = connection.ok_or_else(|| Error::Connect {
            what: "the in-memory server was reached before".into(),
            source: None,
        });
        Box::pin(std::future::ready(connection))
    }
}

fn pair(name: &'static str, capacity: usize) -> (Peer, Connection) {
    let (to_proxy, to_peer) = (Pipe::new(capacity), Pipe::new(capacity));
    let reader = Reader(Arc::clone(&to_proxy));
    let writer = Writer {
        pipe: Arc::clone(&to_peer),
        queue: VecDeque::new(),
        part: BytesMut::new(),
        closed: false,
    };
    let connection =
        Connection::new(reader, writer).with_ended(std::future::ready(Ended::default()));
    (Peer::new(name, to_proxy, to_peer), connection)
}

struct Reader(Arc<Pipe>);

impl ReadLines for Reader {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        self.0.poll_read(cx).map(|line| line.map(|line| Ok(frame(line, framing))))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.close_reader();
    }
}

fn frame(line: Line, framing: Framing) -> Frame {
    match framing {
        Framing::Whole { max_bytes } if line.wire().len() > max_bytes => {
            let mut scanner = EnvelopeScanner::new();
            scanner.feed(line.body());
            let len_bytes = line.wire().len() as u64;
            Frame::TooLong(TooLong { len_bytes, envelope: scanner.finish() })
        }
        _ => Frame::Line(line),
    }
}

struct Writer {
    pipe: Arc<Pipe>,
    queue: VecDeque<Line>,
    part: BytesMut,
    closed: bool,
}

impl WriteLines for Writer {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.poll_flush(cx) {
            Poll::Ready(Ok(())) => self.pipe.poll_room(cx).map_err(|_| broken()),
            other => other,
        }
    }

    fn send(&mut self, line: Line) {
        self.queue.push_back(line);
    }

    fn send_part(&mut self, part: Part) {
        self.part.extend_from_slice(&part.bytes);
        if part.last {
            self.queue.push_back(Line::from_wire(self.part.split().freeze()));
        }
    }

    fn accepts_parts(&self) -> bool {
        true
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.queue.is_empty() {
            match self.pipe.poll_room(cx) {
                Poll::Ready(Ok(())) => {
                    if let Some(line) = self.queue.pop_front() {
                        self.pipe.write(line);
                    }
                }
                Poll::Ready(Err(_)) => {
                    self.queue.clear();
                    return Poll::Ready(Err(broken()));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, closing: Closing) -> Poll<io::Result<()>> {
        if !self.closed && self.poll_flush(cx).is_pending() && closing == Closing::Gentle {
            return Poll::Pending;
        }
        self.closed = true;
        self.pipe.close_writer();
        Poll::Ready(Ok(()))
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.pipe.poll_gone(cx)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.pipe.close_writer();
    }
}

fn broken() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
