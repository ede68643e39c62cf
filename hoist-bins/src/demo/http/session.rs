//! One legacy client's session, and its event streams, which can be resumed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::stream::{self, Stream};
use tokio::sync::{oneshot, watch};

use super::response::event;
use super::talk::Talk;

/// So many streams are kept for those who may resume them.
const MAX_KEPT: usize = 256;

/// A session.
pub(super) struct Session {
    pub(super) talk: Talk,
    /// The revision that was agreed on.
    pub(super) revision: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: u32,
    /// How many streams there were, but for the session's own.
    streams: u64,
    /// What the last of them said.
    kept: VecDeque<(u64, watch::Receiver<Vec<String>>)>,
    /// Dropped, it ends the session's own stream.
    own_stream: Option<oneshot::Sender<()>>,
}

/// A stream's events come from here; dropped, the stream is over.
pub(super) struct Teller {
    number: u64,
    said: watch::Sender<Vec<String>>,
}

/// What may be asked for by the id of the last event that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The session's own stream.
    Own,
    /// Another stream, behind so many of its events.
    Behind { stream: u64, events: usize },
}

impl Place {
    /// The place behind the event of this id.
    pub(super) fn of_event(id: &str) -> Option<Self> {
        let (stream, number) = id.split_once('-')?;
        match (stream.parse().ok()?, number.parse::<usize>().ok()?) {
            (0, _) => Some(Self::Own),
            (stream, number) => Some(Self::Behind { stream, events: number.checked_add(1)? }),
        }
    }
}

impl Session {
    pub(super) fn new(talk: Talk, revision: String) -> Self {
        Self { talk, revision, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request; whether it is one too many.
    pub(super) fn is_over(&self) -> bool {
        let mut state = self.state();
        state.requests += 1;
        state.requests > 3
    }

    /// Begins a stream, by an event that says nothing, so that there is something to resume behind.
    pub(super) fn begin_stream(&self, retry: &str) -> (Teller, watch::Receiver<Vec<String>>) {
        let mut state = self.state();
        state.streams += 1;
        let number = state.streams;
        let (said, listener) = watch::channel(vec![retry.to_owned() + &self.primer(number)]);
        if state.kept.len() == MAX_KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back((number, listener.clone()));
        (Teller { number, said }, listener)
    }

    /// What is said first in a stream.
    fn primer(&self, stream: u64) -> String {
        // Older clients do not expect data that is no message; an id alone is no event to them.
        let data = if self.revision.as_str() >= "2025-11-25" { "data:\n" } else { "" };
        format!("id: {stream}-0\n{data}\n")
    }

    /// What a stream has said, and will say, behind this place; `None` if it is not kept.
    pub(super) fn resume(&self, place: Place) -> Option<impl Stream<Item = String> + Send + use<>> {
        let Place::Behind { stream, events } = place else { return None };
        let state = self.state();
        let (_, said) = state.kept.iter().find(|(number, _)| *number == stream)?;
        Some(follow(said.clone(), events))
    }

    /// Opens the session's own stream: its first event, and what resolves when it is to end.
    /// `None` if it is open already, unless it is resumed: then whoever had it is gone, whether the
    /// connection shows that or not.
    pub(super) fn open_own_stream(
        &self,
        is_resumed: bool,
    ) -> Option<(String, oneshot::Receiver<()>)> {
        let mut state = self.state();
        if !is_resumed && state.own_stream.as_ref().is_some_and(|open| !open.is_closed()) {
            return None;
        }
        let (open, over) = oneshot::channel();
        state.own_stream = Some(open);
        Some((self.primer(0), over))
    }
}

impl Teller {
    pub(super) fn say(&self, data: &str) {
        self.said.send_modify(|events| {
            let id = format!("{}-{}", self.number, events.len());
            events.push(event(Some(&id), data));
        });
    }
}

/// The events of a stream behind the first `from` of them, until it is over.
pub(super) fn follow(
    said: watch::Receiver<Vec<String>>,
    from: usize,
) -> impl Stream<Item = String> + Send {
    stream::unfold((said, from), |(mut said, next)| async move {
        loop {
            let event = said.borrow_and_update().get(next).cloned();
            if let Some(event) = event {
                return Some((event, (said, next + 1)));
            }
            said.changed().await.ok()?;
        }
    })
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;
    use crate::demo::{Server, World};

    fn session(revision: &str) -> Session {
        Session::new(Talk::new(Server::new(World::Echo).connect()), revision.to_owned())
    }

    #[tokio::test]
    async fn a_stream_is_followed_to_its_end_from_any_event() {
        let session = session("2025-11-25");
        let (teller, said) = session.begin_stream("retry: 1\n");
        let mut whole = Box::pin(follow(said, 0));
        assert_eq!(whole.next().await.unwrap(), "retry: 1\nid: 1-0\ndata:\n\n");
        assert!(whole.next().now_or_never().is_none(), "it is not over");
        teller.say("a");
        teller.say("b\nc");
        drop(teller);
        let rest = ["id: 1-1\ndata: a\n\n", "id: 1-2\ndata: b\ndata: c\n\n"];
        assert_eq!(whole.collect::<Vec<_>>().await, rest);
        for (id, rest) in [("1-0", &rest[..]), ("1-1", &rest[1..]), ("1-2", &[]), ("1-7", &[])] {
            let resumed = session.resume(Place::of_event(id).unwrap()).unwrap();
            assert_eq!(resumed.collect::<Vec<_>>().await, rest, "{id}");
        }
        assert!(session.resume(Place::Behind { stream: 2, events: 1 }).is_none());
    }

    #[test]
    fn streams_are_kept_up_to_a_limit() {
        let session = session("2025-06-18");
        for _ in 0..=MAX_KEPT {
            let (_, said) = session.begin_stream("");
            assert!(said.borrow()[0].ends_with("-0\n\n"), "an id alone");
        }
        let is_kept = |stream| session.resume(Place::Behind { stream, events: 1 }).is_some();
        assert!(!is_kept(1) && is_kept(2));
    }

    #[test]
    fn the_own_stream_is_open_once_and_can_be_taken_over() {
        let session = session("2025-11-25");
        let (first, mut over) = session.open_own_stream(false).unwrap();
        assert_eq!(first, "id: 0-0\ndata:\n\n");
        assert!(session.open_own_stream(false).is_none());
        let (_, taken_over) = session.open_own_stream(true).unwrap();
        assert!(over.try_recv().is_err_and(|e| e == oneshot::error::TryRecvError::Closed));
        drop(taken_over);
        assert!(session.open_own_stream(false).is_some());
    }

    #[test]
    fn an_events_id_says_where_it_stands() {
        for (id, expected) in [
            ("0-0", Some(Place::Own)),
            ("7-2", Some(Place::Behind { stream: 7, events: 3 })),
            ("", None),
            ("7", None),
            ("7-x", None),
            ("-1-0", None),
            ("1-18446744073709551615", None),
        ] {
            assert_eq!(Place::of_event(id), expected, "{id}");
        }
    }
}
