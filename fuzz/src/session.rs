//! Lines through a session whose layer acts on everything and wants nothing that can be read in two
//! ways.

use std::cell::RefCell;

use hoist_proxy_core::testkit::{self, Session};
use hoist_proxy_core::{Acts, Direction, Interceptor, Line, Message, RawJson, layer_fn};
use tokio::runtime::{Builder, Runtime};

use crate::oracle::{self, Json};

const LAST: &str = r#"{"jsonrpc":"2.0","method":"the-last-line-of-the-fuzzer"}"#;

/// Sends the lines of `text` as a host does and checks what the server gets: every line that can
/// be read in one way, byte for byte and in order, and no other.
pub fn check(text: &[u8]) {
    thread_local! {
        static RUNTIME: RefCell<Runtime> = RefCell::new(
            Builder::new_current_thread().enable_time().build().expect("a runtime starts"),
        );
    }
    // Batches are taken apart: what becomes of those is not said so simply.
    let lines: Vec<Line> = text
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| Line::from_wire(line.strip_suffix(b"\n").unwrap_or(line).to_vec()))
        .map(|line| Line::from_wire([line.wire(), &b"\n"[..]].concat()))
        .filter(|line| !line.is_array() && line.body() != LAST.as_bytes())
        .take(16)
        .collect();
    if !lines.is_empty() {
        RUNTIME.with_borrow(|runtime| runtime.block_on(run(&lines)));
    }
}

async fn run(lines: &[Line]) {
    let mut session = testkit::session(vec![Box::new(layer_fn(|_| Ok(Box::new(Strict))))]);
    for line in lines {
        session.host.send_line(line.clone()).await;
    }
    session.host.send(LAST).await;
    let mut arrived = Vec::new();
    loop {
        let line = session.server.receive_line().await.expect("the session goes on");
        if line.body() == LAST.as_bytes() {
            break;
        }
        arrived.push(line);
    }
    let mut arrived = arrived.into_iter().peekable();
    for line in lines {
        let passed = arrived.next_if_eq(line).is_some();
        if let Some(verdict) = verdict(line) {
            assert_eq!(passed, verdict == Verdict::Plain, "{line:?}: {verdict:?}");
        }
        if !passed {
            // The server waits for an answer: it gets an error in place of one that is refused.
            arrived.next_if(is_refusal);
        }
    }
    assert_eq!(arrived.next(), None, "a line that nobody sent");
    end(session).await;
}

/// Whether the proxy says that it forwarded no such line.
fn is_refusal(line: &Line) -> bool {
    let message = Message::parse(line).ok();
    let text = message.and_then(|m| m.error()?.get("message")?.text().map(Into::<String>::into));
    text.is_some_and(|text| {
        text.starts_with("hoist: ") && text.ends_with("so it was not forwarded")
    })
}

/// Ends a session whose requests nobody answers.
async fn end(session: Session) {
    let Session { mut host, mut server, .. } = session;
    host.close();
    server.close();
    while let Some(line) = host.receive_line().await {
        assert!(Message::parse(&line).is_ok(), "the host was sent {line:?}");
    }
}

/// Acts on everything and passes it on.
struct Strict;

impl Interceptor for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn acts(&self) -> Acts {
        Acts::nothing()
            .on_every(Direction::ToServer)
            .on_every(Direction::ToHost)
            .on_notifications()
            .refusing_ambiguous()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Every parser reads it alike.
    Plain,
    /// A key stands twice where it matters, or it is no message at all.
    Ambiguous,
}

/// What must become of a line; `None` where that depends on which words MCP knows.
fn verdict(line: &Line) -> Option<Verdict> {
    let body = line.body();
    if body.trim_ascii().is_empty() {
        return Some(Verdict::Plain);
    }
    let Ok(message) = Message::parse(line) else { return Some(Verdict::Ambiguous) };
    let envelope = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let params = message.params().map_or(&b"null"[..], |params| params.as_bytes());
    let arguments = message.params().and_then(|params| params.get("arguments"));
    let mut keys_are_known = true;
    for object in [envelope, params] {
        let Json::Object(members) = oracle::read(object) else { continue };
        for (at, member) in members.iter().enumerate() {
            let twice = members[..at].iter().any(|other| other.key == member.key);
            if twice || std::str::from_utf8(&member.key).is_err() {
                return Some(Verdict::Ambiguous);
            }
            keys_are_known &= is_spelt_well(&member.key);
        }
    }
    if let Some(arguments) = arguments.as_ref().map(RawJson::as_bytes)
        && oracle::repeats_a_key(arguments) != Some(false)
    {
        return Some(Verdict::Ambiguous);
    }
    keys_are_known.then_some(Verdict::Plain)
}

/// Whether a key cannot be taken for another one of MCP's in another letter case.
fn is_spelt_well(key: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] =
        [b"jsonrpc", b"id", b"method", b"params", b"name", b"arguments", b"result"];
    WORDS.contains(&key) || !key.iter().any(u8::is_ascii_alphabetic)
}
