//! A session's streams without hosts or servers: what tests of the router share.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hoist_proxy_core::{Era, Line, Message, RawJson};
use tokio::time::Instant;

use super::event::{Event, EventId};
use super::router::{Awaited, Carries, Place, Router, Wanted};

/// A router, and the time it is told.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) router: Router,
    pub(super) now: Instant,
}

pub(super) fn message(text: &str) -> Message {
    Message::parse(&Line::from_wire(text.to_owned())).unwrap()
}

/// What an event carries.
pub(super) fn text(event: &Event) -> String {
    String::from_utf8(event.message.to_vec()).unwrap()
}

impl Bench {
    pub(super) fn new(era: Era) -> Self {
        Self { router: Router::new(era), now: Instant::now() }
    }

    pub(super) fn legacy() -> Self {
        Self::new(Era::Legacy)
    }

    pub(super) fn modern() -> Self {
        Self::new(Era::Modern)
    }

    pub(super) fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// A legacy POST of these messages, in one body.
    pub(super) fn post(&mut self, messages: &[&str]) -> Place {
        self.post_as(messages, Carries::Everything, false)
    }

    /// The same, primed, so that it can be resumed from its beginning.
    pub(super) fn primed(&mut self, messages: &[&str]) -> Place {
        self.post_as(messages, Carries::Everything, true)
    }

    /// The same from a host that takes its answer as one body.
    pub(super) fn post_json(&mut self, messages: &[&str]) -> Place {
        self.post_as(messages, Carries::AnswersOnly, false)
    }

    fn post_as(&mut self, messages: &[&str], carries: Carries, is_primed: bool) -> Place {
        let awaited = messages.iter().map(|text| Awaited::of(&message(text))).collect();
        self.router.open_post(awaited, Wanted { carries, is_primed }, self.now)
    }

    /// A modern POST, and the line as the server is to get it.
    pub(super) fn ask(&mut self, text: &str) -> (Place, String) {
        self.ask_as(text, Carries::Everything)
    }

    pub(super) fn ask_as(&mut self, text: &str, carries: Carries) -> (Place, String) {
        let (line, awaited) = self.router.admit(&message(text));
        let wanted = Wanted { carries, is_primed: false };
        let place = self.router.open_post(vec![awaited], wanted, self.now);
        (place, String::from_utf8(line.body().to_vec()).unwrap())
    }

    pub(super) fn get(&mut self) -> Place {
        self.router.open_standing(false, self.now)
    }

    pub(super) fn resume(&mut self, stream: u64, number: u64) -> Option<Place> {
        self.router.resume(EventId { stream, number }, self.now)
    }

    /// The server writes a line; what it is told in turn.
    pub(super) fn server(&mut self, line: &str) -> Vec<String> {
        let told = self.router.deliver(&Line::from_wire(line.to_owned()), self.now);
        told.iter().map(|line| String::from_utf8(line.body().to_vec()).unwrap()).collect()
    }

    /// The host's connection is gone; the ids of what is cancelled by it.
    pub(super) fn drop(&mut self, place: Place) -> Vec<String> {
        let ids = self.router.disconnected(place, self.now);
        ids.iter().map(|id| id.raw().to_owned()).collect()
    }

    /// The next event of a stream: `Pending` while there is none, `None` at its end.
    pub(super) fn next(&mut self, place: Place) -> Poll<Option<Event>> {
        self.router.poll_event(place, self.now, &mut Context::from_waker(Waker::noop()))
    }

    /// What is ready on a stream, and whether it has ended.
    pub(super) fn take(&mut self, place: Place) -> (Vec<String>, bool) {
        let mut taken = Vec::new();
        loop {
            match self.next(place) {
                Poll::Ready(Some(event)) => taken.push(text(&event)),
                Poll::Ready(None) => return (taken, true),
                Poll::Pending => return (taken, false),
            }
        }
    }

    /// As [`take`](Self::take), with the number of each event instead of what it carries.
    pub(super) fn take_numbers(&mut self, place: Place) -> Vec<u64> {
        let mut taken = Vec::new();
        while let Poll::Ready(Some(event)) = self.next(place) {
            taken.extend(event.id.map(|id| id.number));
        }
        taken
    }

    /// Checks what is ready on a stream that goes on.
    #[track_caller]
    pub(super) fn expect(&mut self, place: Place, messages: &[&str]) {
        let (taken, has_ended) = self.take(place);
        assert_eq!(taken, messages);
        assert!(!has_ended, "the stream has ended");
    }

    /// Checks what is left of a stream that ends.
    #[track_caller]
    pub(super) fn expect_last(&mut self, place: Place, messages: &[&str]) {
        let (taken, has_ended) = self.take(place);
        assert_eq!(taken, messages);
        assert!(has_ended, "the stream goes on");
    }
}

/// A member of a JSON text, at this path.
pub(super) fn at(text: &str, path: &[&str]) -> Option<String> {
    let mut value = RawJson::parse(text.to_owned()).unwrap();
    for key in path {
        value = value.get(key)?;
    }
    Some(value.as_str().to_owned())
}

/// A request of this id and method.
pub(super) fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

/// An answer to this id, that says `what`.
pub(super) fn answer(id: &str, what: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":"{what}"}}}}"#)
}

/// A notification of this method.
pub(super) fn note(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}
