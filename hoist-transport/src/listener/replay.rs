//! What streams carried lately, for hosts whose connection broke.

use std::collections::VecDeque;

use super::event::{Event, EventId};

/// The most events that are kept for one session.
const MAX_EVENTS: usize = 256;

/// How much memory they take up at most, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The last events of a session's streams.
#[derive(Debug, Default)]
pub(super) struct Replay {
    events: VecDeque<Event>,
    cost_bytes: usize,
}

impl Replay {
    /// Keeps an event that has an id; the oldest ones go where there is no room.
    pub(super) fn keep(&mut self, event: &Event) {
        if event.id.is_none() {
            return;
        }
        self.cost_bytes += event.cost_bytes();
        self.events.push_back(event.clone());
        while self.events.len() > MAX_EVENTS || self.cost_bytes > MAX_BYTES {
            let Some(oldest) = self.events.pop_front() else { return };
            self.cost_bytes -= oldest.cost_bytes();
        }
    }

    /// Takes back the last event of this stream and those behind it, from `number` on.
    pub(super) fn forget_from(&mut self, stream: u64, number: u64) {
        let gone =
            |event: &Event| event.id.is_some_and(|id| id.stream == stream && id.number >= number);
        let freed: usize =
            self.events.iter().filter(|event| gone(event)).map(Event::cost_bytes).sum();
        self.cost_bytes -= freed;
        self.events.retain(|event| !gone(event));
    }

    /// What the same stream carried after this event, as far as it is kept.
    pub(super) fn after(&self, last: EventId) -> VecDeque<Event> {
        let later = |event: &&Event| {
            event.id.is_some_and(|id| id.stream == last.stream && id.number > last.number)
        };
        self.events.iter().filter(later).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::event::Role;
    use super::*;

    fn event(stream: u64, number: u64, len: usize) -> Event {
        Event {
            id: Some(EventId { stream, number }),
            message: Bytes::from(vec![b'1'; len]),
            role: Role::Beside,
        }
    }

    fn numbers(events: VecDeque<Event>) -> Vec<u64> {
        events.into_iter().filter_map(|event| Some(event.id?.number)).collect()
    }

    #[test]
    fn a_stream_is_replayed_from_behind_an_event() {
        let mut replay = Replay::default();
        for number in 0..6 {
            replay.keep(&event(number % 2, number, 1));
        }
        let after = |stream, number| numbers(replay.after(EventId { stream, number }));
        assert_eq!(after(0, 0), [2, 4]);
        assert_eq!(after(1, 1), [3, 5]);
        assert_eq!(after(1, 5), [] as [u64; 0]);
        assert_eq!(after(2, 0), [] as [u64; 0]);
    }

    #[test]
    fn the_oldest_events_make_room() {
        let mut replay = Replay::default();
        for number in 0..=MAX_EVENTS as u64 {
            replay.keep(&event(0, number, 1));
        }
        let kept = numbers(replay.after(EventId { stream: 0, number: 0 }));
        assert_eq!((kept.len(), kept[0]), (MAX_EVENTS, 1));

        replay.keep(&event(0, 1000, MAX_BYTES / 2));
        replay.keep(&event(0, 1001, MAX_BYTES / 2));
        assert_eq!(numbers(replay.after(EventId { stream: 0, number: 0 })), [1001]);
        // One that is larger than all of the room is not kept.
        replay.keep(&event(0, 1002, MAX_BYTES));
        assert_eq!(numbers(replay.after(EventId { stream: 0, number: 0 })), [] as [u64; 0]);
        assert_eq!(replay.cost_bytes, 0);
    }

    #[test]
    fn what_was_never_sent_is_taken_back() {
        let mut replay = Replay::default();
        for number in 0..4 {
            replay.keep(&event(number % 2, number, 1));
        }
        replay.forget_from(0, 2);
        assert_eq!(numbers(replay.after(EventId { stream: 0, number: 0 })), [] as [u64; 0]);
        assert_eq!(numbers(replay.after(EventId { stream: 1, number: 0 })), [1, 3]);
        assert_eq!(replay.cost_bytes, 3 * event(0, 0, 1).cost_bytes());
    }
}
