//! The fast path: a session in which nobody acts asks for bytes as they come, and what is long is
//! passed on before it has ended, but never before it was seen.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use hoist_proxy_core::testkit::{self, Peer};
use hoist_proxy_core::{
    BoxFuture, Closing, Connection, Downstream, Error, Frame, Framing, Layer, Line, Part, Proxy,
    ReadLines, WriteLines,
};

use crate::util::{Log, passes};

/// What happened on the host's side, in order: what it was asked for, and what it was sent.
type Events = Arc<Mutex<Vec<String>>>;

/// A host that gives frames as they are.
struct Frames(VecDeque<Frame>, Events);

impl ReadLines for Frames {
    fn poll_frame(
        &mut self,
        _cx: &mut Context<'_>,
        framing: Framing,
    ) -> Poll<Option<io::Result<Frame>>> {
        self.1.lock().unwrap().push(format!("{framing:?}"));
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

struct Nowhere;

impl WriteLines for Nowhere {
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, line: Line) {
        // The server ends without an answer, which a layer that acts is told of.
        let text = String::from_utf8_lossy(line.body()).into_owned();
        assert!(text.contains("the server is gone"), "{text}");
    }

    fn send_part(&mut self, part: Part) {
        panic!("nothing is sent to this host in parts: {part:?}");
    }

    fn accepts_parts(&self) -> bool {
        true
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>, _closing: Closing) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The host, once.
struct Once(Option<Connection>);

impl Downstream for Once {
    fn accept(&mut self) -> BoxFuture<'_, Result<Option<Connection>, Error>> {
        let connection = self.0.take();
        Box::pin(std::future::ready(Ok(connection)))
    }
}

fn part(bytes: &str, last: bool) -> Frame {
    Frame::Part(Part { bytes: Bytes::copy_from_slice(bytes.as_bytes()), last })
}

/// Runs a host of these frames; gives back what the server was sent, and what the host was asked.
async fn serve(frames: Vec<Frame>, layers: Vec<Box<dyn Layer>>) -> (Vec<u8>, Vec<String>) {
    let events = Events::default();
    let host = Connection::new(Frames(frames.into(), events.clone()), Nowhere);
    let (mut server, upstream): (Peer, _) = testkit::server();
    let mut proxy = Proxy::new(Once(Some(host)), upstream).max_message_bytes(1024);
    for layer in layers {
        proxy = proxy.layer(layer);
    }
    let running = tokio::spawn(proxy.run(std::future::pending()));
    let mut wire = Vec::new();
    while let Some(line) = server.receive_line().await {
        wire.extend_from_slice(line.wire());
    }
    server.close();
    running.await.unwrap().unwrap().into_last().unwrap();
    let events = events.lock().unwrap().clone();
    (wire, events)
}

#[tokio::test(start_paused = true)]
async fn bytes_pass_as_they_come_where_nobody_looks() {
    let frames = vec![part("ab", false), part("c\nd", false), part("e\n", true)];
    let (wire, asked) = serve(frames, Vec::new()).await;
    assert_eq!(wire, b"abc\nde\n");
    assert!(asked.iter().all(|a| a == "Raw"), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn an_observer_sees_a_long_line_whole_though_it_passes_in_parts() {
    let log = Log::default();
    let frames = vec![
        part("{\"a\":", false),
        part("1}\r", false),
        part("\n", true),
        Frame::Line(Line::from_wire("short\n")),
        // Over the limit: it passes all the same, and only its length is known.
        part(&"x".repeat(1000), false),
        part(&"y".repeat(1000), false),
        part("\n", true),
    ];
    let (wire, asked) = serve(frames, vec![log.layer()]).await;
    let lost = format!("{}{}\n", "x".repeat(1000), "y".repeat(1000));
    assert_eq!(String::from_utf8(wire).unwrap(), format!("{{\"a\":1}}\r\nshort\n{lost}"));
    assert_eq!(log.lines(), ["Client {\"a\":1}", "Client short", "Client lost"]);
    assert!(asked.iter().all(|a| a.starts_with("CutThrough")), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_layer_that_acts_asks_for_whole_lines() {
    let layer = passes();
    let line = Line::from_wire("{\"id\":1,\"method\":\"tools/call\"}");
    let (wire, asked) = serve(vec![Frame::Line(line.clone())], vec![layer.layer()]).await;
    assert_eq!(wire, line.wire()[..]);
    assert!(asked.iter().all(|a| a == "Whole { max_bytes: 1024 }"), "{asked:?}");
    assert_eq!(layer.ran.count(), 1);
}
