//! What the host sends, as it is to be posted.

use bytes::Bytes;
use hoist_proxy_core::json::{EnvelopeScanner, ScannedKind};
use hoist_proxy_core::{Kind, Line, Message, RawJson, RequestId, modern_version, names};
use serde_json::json;

/// A message of the host's.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) body: Bytes,
    pub(super) kind: PostKind,
    /// The requests in it, each to be answered once.
    pub(super) ids: Vec<RequestId>,
    /// The revision a modern request names.
    pub(super) version: Option<String>,
    /// The message itself, unless it is a batch or odd.
    pub(super) message: Option<Message>,
}

/// What a post is, as far as order and headers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostKind {
    Initialize,
    Initialized,
    /// One that is answered, or a batch with such a one.
    Request,
    /// `subscriptions/listen`, which is answered when it ends.
    Listen,
    /// A cancellation, of the request of this post's [`cancelled`](Post::cancelled) id.
    Cancelled,
    Notification,
    /// The answer to a request of the server's.
    Answer,
}

impl Post {
    /// What to post for a line; `None` for one that has nothing in it.
    pub(super) fn of(line: &Line) -> Option<Self> {
        let body = line.body_bytes();
        let body = body.slice_ref(body.trim_ascii());
        if body.is_empty() {
            return None;
        }
        let mut post = Self {
            body,
            kind: PostKind::Notification,
            ids: Vec::new(),
            version: None,
            message: None,
        };
        if line.is_array() {
            post.read_batch();
        } else {
            match Message::parse(line) {
                Ok(message) => post.read(message),
                // The server may read it one way or another; it is answered either way.
                Err(_) => post.read_odd(),
            }
        }
        Some(post)
    }

    /// A modern request of the proxy's own, the so-manieth, in the revision of another.
    pub(super) fn own(
        number: u64,
        method: &str,
        cursor: Option<&str>,
        version: &str,
    ) -> Option<Self> {
        let mut params = json!({"_meta": {
            names::PROTOCOL_VERSION: version,
            names::CLIENT_CAPABILITIES: {},
        }});
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.into();
        }
        let message = json!({"jsonrpc": "2.0", "id": format!("hoist-http-{number}"), "method": method, "params": params});
        Self::of(&Line::from_body(message.to_string().as_bytes()))
    }

    fn read_odd(&mut self) {
        let mut scanner = EnvelopeScanner::new();
        scanner.feed(&self.body);
        let envelope = scanner.finish();
        if envelope.kind == ScannedKind::Request {
            self.kind = PostKind::Request;
            self.ids.extend(envelope.id);
        }
    }

    fn read(&mut self, message: Message) {
        self.kind = match (message.kind(), message.method()) {
            (Kind::Request, Some(names::INITIALIZE)) => PostKind::Initialize,
            (Kind::Request, Some(names::LISTEN)) => PostKind::Listen,
            (Kind::Request, _) => PostKind::Request,
            (Kind::Notification, Some(names::INITIALIZED)) => PostKind::Initialized,
            (Kind::Notification, Some(names::CANCELLED)) => PostKind::Cancelled,
            (Kind::Notification, _) => PostKind::Notification,
            _ => PostKind::Answer,
        };
        if message.kind() == Kind::Request {
            self.ids.extend(message.id().cloned());
        }
        self.version = modern_version(message.params());
        self.message = Some(message);
    }

    fn read_batch(&mut self) {
        let Ok(batch) = RawJson::parse(self.body.clone()) else { return };
        for element in batch.items() {
            let line = Line::from_wire(element.as_bytes().clone());
            let Ok(message) = Message::parse(&line) else { continue };
            match message.kind() {
                Kind::Request => {
                    self.kind = PostKind::Request;
                    self.ids.extend(message.id().cloned());
                }
                Kind::Response if self.kind == PostKind::Notification => {
                    self.kind = PostKind::Answer;
                }
                _ => {}
            }
        }
    }

    pub(super) fn is_modern(&self) -> bool {
        self.version.is_some()
    }

    pub(super) fn is_modern_tool_call(&self) -> bool {
        let method = self.message.as_ref().and_then(Message::method);
        self.is_modern() && method == Some(names::TOOLS_CALL)
    }

    /// Whether it waits for no answer, so that what follows it waits until it has arrived.
    pub(super) fn is_one_way(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of the request that this cancels.
    pub(super) fn cancelled(&self) -> Option<RequestId> {
        let params = self.message.as_ref()?.params()?;
        RequestId::parse(params.get("requestId")?.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(PostKind, Vec<String>, bool)> {
        let post = Post::of(&Line::from_wire(text.to_owned()))?;
        let ids = post.ids.iter().map(|id| id.raw().to_owned()).collect();
        Some((post.kind, ids, post.is_modern()))
    }

    #[test]
    fn posts_are_told_apart() {
        let check = |text: &str, kind, ids: &[&str], modern| {
            let ids = ids.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(of(text), Some((kind, ids, modern)), "{text}");
        };
        check(r#"{"id":0,"method":"initialize"}"#, PostKind::Initialize, &["0"], false);
        check(r#"{"method":"notifications/initialized"}"#, PostKind::Initialized, &[], false);
        check("{\"id\":\"a\",\"method\":\"ping\"}\r\n", PostKind::Request, &["\"a\""], false);
        check(
            r#"{"id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
            PostKind::Listen,
            &["1"],
            true,
        );
        check(r#"{"id":1,"result":{}}"#, PostKind::Answer, &[], false);
        check(
            r#"[{"method":"x"},{"id":1,"method":"ping"},{"id":2,"method":"ping"}]"#,
            PostKind::Request,
            &["1", "2"],
            false,
        );
        check(r#"[{"id":1,"result":{}}]"#, PostKind::Answer, &[], false);
        check(r#"{"id":1,"method":"a","method":"b"}"#, PostKind::Request, &["1"], false);
        check("not JSON", PostKind::Notification, &[], false);
        assert_eq!(of(" \r\n"), None);
    }

    #[test]
    fn a_cancellation_names_its_request() {
        let text = r#"{"method":"notifications/cancelled","params":{"requestId":"\u0061"}}"#;
        let post = Post::of(&Line::from_wire(text)).unwrap();
        assert_eq!(post.kind, PostKind::Cancelled);
        assert_eq!(post.cancelled(), RequestId::parse(b"\"a\""));
    }
}
