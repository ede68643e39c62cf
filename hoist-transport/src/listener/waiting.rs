//! What the server says while the host has no stream open that could carry it.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use hoist_proxy_core::{Kind, Line, Message, RequestId};
use tokio::time::Instant;

/// So many messages wait at most.
const MAX_MESSAGES: usize = 1_000;

/// And so much of them, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// How long a request of the server's waits for a stream.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);

/// A message that waits.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) message: Bytes,
    /// The id of a request.
    request: Option<RequestId>,
    since: Instant,
}

/// What waits for a stream, oldest first.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    messages: VecDeque<Kept>,
    bytes: usize,
    dropped: u64,
    /// Requests that had to go when others came back, of which nobody has been told yet.
    unheard: Vec<RequestId>,
}

impl Waiting {
    /// Keeps a message. Where there is no room the oldest notification goes; where there is none,
    /// the message is not kept: the requests that went unheard.
    pub(super) fn keep(
        &mut self,
        message: Bytes,
        request: Option<RequestId>,
        now: Instant,
    ) -> Vec<RequestId> {
        if message.len() > MAX_BYTES {
            // It must not push out all the others, and then have no room all the same.
            if request.is_none() {
                self.drop_one();
            }
            return request.into_iter().collect();
        }
        self.bytes += message.len();
        self.messages.push_back(Kept { message, request, since: now });
        self.make_room()
    }

    /// Gives back a message that was taken and could not be sent. It is the oldest now, and the
    /// first to go where there is no room.
    pub(super) fn put_back(&mut self, message: Bytes, now: Instant) {
        let line = Line::from_wire(message.clone());
        let parsed = Message::parse(&line).ok();
        let request = parsed.filter(|message| message.kind() == Kind::Request);
        let request = request.and_then(|message| message.id().map(RequestId::detached));
        self.bytes += message.len();
        self.messages.push_front(Kept { message, request, since: now });
        let unheard = self.make_room();
        self.unheard.extend(unheard);
    }

    fn make_room(&mut self) -> Vec<RequestId> {
        let mut unheard = Vec::new();
        while self.messages.len() > MAX_MESSAGES || self.bytes > MAX_BYTES {
            let oldest = self.messages.iter().position(|kept| kept.request.is_none());
            let at = oldest.unwrap_or(self.messages.len() - 1);
            let Some(gone) = self.messages.remove(at) else { break };
            self.bytes -= gone.message.len();
            match gone.request {
                Some(id) => unheard.push(id),
                None => self.drop_one(),
            }
        }
        unheard
    }

    fn drop_one(&mut self) {
        if self.dropped == 0 {
            tracing::warn!(
                "the host has no stream open for what the server says on its own, and more than \
                 {MAX_MESSAGES} messages wait; the oldest notifications are dropped"
            );
        }
        self.dropped += 1;
    }

    /// The requests that have waited too long for a host to hear them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<RequestId> {
        let is_late = |kept: &Kept| {
            kept.request.is_some() && now.saturating_duration_since(kept.since) >= REQUEST_PATIENCE
        };
        let mut late = std::mem::take(&mut self.unheard);
        while let Some(at) = self.messages.iter().position(is_late) {
            let Some(gone) = self.messages.remove(at) else { break };
            self.bytes -= gone.message.len();
            late.extend(gone.request);
        }
        late
    }

    /// How much memory the messages take up, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the oldest.
    pub(super) fn next(&mut self) -> Option<Kept> {
        let next = self.messages.pop_front()?;
        self.bytes -= next.message.len();
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> RequestId {
        RequestId::parse(n.to_string().as_bytes()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_notification_makes_room() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        assert_eq!(waiting.keep("request".into(), Some(id(0)), now), []);
        for n in 0..MAX_MESSAGES {
            assert_eq!(waiting.keep(format!("n{n}").into(), None, now), []);
        }
        assert_eq!(waiting.dropped, 1);
        assert_eq!(waiting.next().unwrap().message, "request");
        assert_eq!(waiting.next().unwrap().message, "n1");
        assert_eq!(waiting.messages.len(), MAX_MESSAGES - 2);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_nobody_hears_are_told_of() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        for n in 0..MAX_MESSAGES {
            assert_eq!(waiting.keep("r".into(), Some(id(n)), now), []);
        }
        assert_eq!(waiting.keep("r".into(), Some(id(5000)), now), [id(5000)]);
        assert_eq!(waiting.keep(vec![0; MAX_BYTES].into(), None, now), []);
        assert_eq!(waiting.dropped, 1);

        assert_eq!(waiting.expire(now + REQUEST_PATIENCE - Duration::from_millis(1)), []);
        assert_eq!(waiting.expire(now + REQUEST_PATIENCE).len(), MAX_MESSAGES);
        assert_eq!((waiting.messages.len(), waiting.bytes), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_put_back_comes_first_and_is_known_again() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        waiting.keep("later".into(), None, now);
        waiting.put_back(r#"{"id":7,"method":"roots/list"}"#.into(), now);
        assert_eq!(waiting.expire(now + REQUEST_PATIENCE), [id(7)]);
        assert_eq!(waiting.next().unwrap().message, "later");
        assert!(waiting.next().is_none());
        assert_eq!(waiting.bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_long_pushes_out_nothing() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        waiting.keep("n".into(), None, now);
        assert_eq!(waiting.keep(vec![0; MAX_BYTES + 1].into(), None, now), []);
        assert_eq!(waiting.keep(vec![0; MAX_BYTES + 1].into(), Some(id(1)), now), [id(1)]);
        assert_eq!((waiting.messages.len(), waiting.bytes, waiting.dropped), (1, 1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_come_back_to_no_room_are_told_of() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        let request = |n: usize| format!(r#"{{"id":{n},"method":"ping"}}"#).into();
        for n in 0..MAX_MESSAGES {
            waiting.keep(request(n), Some(id(n)), now);
        }
        waiting.put_back(request(5000), now);
        assert_eq!(waiting.messages.len(), MAX_MESSAGES);
        assert_eq!(waiting.expire(now), [id(MAX_MESSAGES - 1)]);
        assert_eq!(waiting.expire(now), []);
    }
}
