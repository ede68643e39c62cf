//! What waits between a session and the thread that writes its log.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::log::writer::{Counters, Missing, Record};

/// What an entry costs besides its bytes, in bytes: its place in the queue and its handles.
const ENTRY_COST_BYTES: usize = 192;

/// How long the thread dozes after it has written. Waking a thread costs a system call on the
/// forwarding path, and on one core a switch in the middle of it; in a burst of lines only the
/// first pays for that, and the others are on their way to the disk this much later.
const DOZE: Duration = Duration::from_micros(200);

/// So many waiting bytes wake even a dozing thread.
const DOZE_MAX_BYTES: usize = 1 << 20;

/// What becomes of the file in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    Keep,
    Remove,
}

#[derive(Debug)]
pub(super) enum Item {
    Record(Record),
    Missing(Missing),
}

/// Never blocks the session: the lock is held for a push or a swap only.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    max_bytes: usize,
    pub(super) counters: Counters,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    /// Queued and in writing.
    bytes: usize,
    sleep: Sleep,
    closing: Option<Closing>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Sleep {
    #[default]
    Awake,
    Dozing,
    Asleep,
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Arc<Self> {
        let counters = Counters::default();
        Arc::new(Self { state: Mutex::default(), max_bytes, counters })
    }

    /// Takes a line, or counts it where it does not fit; wakes the writer if it sleeps.
    pub(super) fn push(&self, record: Record, writer: &thread::Thread) {
        self.counters.seen.fetch_add(1, Ordering::Relaxed);
        let len_bytes = record.body.len_bytes();
        let mut state = self.lock();
        // A line longer than the whole queue is still taken when nothing else waits.
        let full = state.bytes > 0 && state.bytes.saturating_add(len_bytes) > self.max_bytes;
        if state.closing.is_some() || full {
            self.counters.lose(1, record.wire_bytes);
            // One gap for all that is lost between two lines, so gaps do not fill the queue.
            if !matches!(state.items.back(), Some(Item::Missing(_))) {
                state.items.push_back(Item::Missing(Missing::default()));
            }
            if let Some(Item::Missing(missing)) = state.items.back_mut() {
                missing.add(record.from, record.t_ms, 1, record.wire_bytes);
            }
        } else {
            state.bytes += len_bytes + ENTRY_COST_BYTES;
            state.items.push_back(Item::Record(record));
        }
        let wake = match state.sleep {
            Sleep::Awake => false,
            Sleep::Dozing => state.bytes > DOZE_MAX_BYTES,
            Sleep::Asleep => true,
        };
        if wake {
            state.sleep = Sleep::Awake;
        }
        drop(state);
        if wake {
            writer.unpark();
        }
    }

    /// Tells the writer to end when it has written what is there. The first call decides.
    pub(super) fn close(&self, closing: Closing, writer: &thread::Thread) {
        self.lock().closing.get_or_insert(closing);
        writer.unpark();
    }

    /// Waits for items and swaps them for `batch`, which is empty; `Some` when it is the last.
    /// `wrote`: whether the last batch had any.
    pub(super) fn next_batch(&self, batch: &mut VecDeque<Item>, wrote: bool) -> Option<Closing> {
        if wrote && self.lock_to_sleep(Sleep::Dozing).is_none() {
            thread::park_timeout(DOZE);
        }
        loop {
            let Some(mut state) = self.lock_to_sleep(Sleep::Asleep) else {
                thread::park();
                continue;
            };
            state.sleep = Sleep::Awake;
            std::mem::swap(&mut state.items, batch);
            return state.closing;
        }
    }

    /// The state if there is something to do; else notes how the thread sleeps.
    fn lock_to_sleep(&self, sleep: Sleep) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
        let burst_over = sleep == Sleep::Asleep && !state.items.is_empty();
        if burst_over || state.closing.is_some() || state.bytes > DOZE_MAX_BYTES {
            return Some(state);
        }
        state.sleep = sleep;
        None
    }

    /// Says that a record of this size is written, or given up.
    pub(super) fn release(&self, bytes: usize) {
        self.lock().bytes -= bytes;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under the lock that would leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Item {
    /// What it counts in the queue, in bytes.
    pub(super) fn cost_bytes(&self) -> usize {
        match self {
            Self::Record(record) => record.body.len_bytes() + ENTRY_COST_BYTES,
            Self::Missing(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::log::Origin;
    use crate::log::writer::RecordBody;

    fn push(queue: &Queue, len: usize) {
        let body = RecordBody::Whole(Bytes::from(vec![b'x'; len]));
        let wire_bytes = len as u64;
        let record = Record { t_ms: 0, from: Origin::Client, by: None, body, wire_bytes };
        queue.push(record, &thread::current());
    }

    #[test]
    fn a_line_longer_than_the_queue_is_taken_when_nothing_else_waits() {
        let queue = Queue::new(1000);
        push(&queue, 5000);
        push(&queue, 10);
        push(&queue, 20);
        let mut batch = VecDeque::new();
        assert_eq!(queue.next_batch(&mut batch, false), None);
        let kinds: Vec<bool> = batch.iter().map(|i| matches!(i, Item::Record(_))).collect();
        assert_eq!(kinds, [true, false], "the line, and one gap for the two that did not fit");
        assert_eq!(queue.counters.lost.load(Ordering::Relaxed), 2);
        // Still being written: its bytes count until it is.
        push(&queue, 10);
        assert_eq!(queue.counters.lost.load(Ordering::Relaxed), 3);
        queue.release(batch[0].cost_bytes());
        push(&queue, 10);
        assert_eq!(queue.counters.lost.load(Ordering::Relaxed), 3);
    }
}
