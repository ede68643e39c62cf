//! The requests of a connection that wait for their answer.

use std::collections::HashMap;

use super::message::Id;
use super::wire::{Outcome, Outgoing};

/// How many requests may wait at once; more are refused at once.
const MAX_WAITING: usize = 10_000;

/// Names an answer that is due later, for [`Connection::finish`](super::Connection::finish).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// The answers that are due later, the batches they belong to, and the streams that stay open.
#[derive(Debug, Default)]
pub(super) struct Pending {
    next: u64,
    calls: HashMap<Ticket, Call>,
    batches: HashMap<u64, Batch>,
    listens: Vec<Id>,
}

#[derive(Debug)]
struct Call {
    id: Id,
    outcome: Outcome,
    batch: Option<BatchKey>,
}

/// Names a batch whose answers are not all there.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchKey(u64);

/// The answers of a batch so far, which leave together.
#[derive(Debug, Default)]
struct Batch {
    answers: Vec<String>,
    waiting: usize,
    /// Whether every message of the batch has been read.
    complete: bool,
}

impl Pending {
    pub(super) fn is_full(&self) -> bool {
        self.calls.len() + self.listens.len() >= MAX_WAITING
    }

    /// Keeps the answer of a call until it is due.
    pub(super) fn hold(&mut self, id: Id, outcome: Outcome, batch: Option<BatchKey>) -> Ticket {
        if let Some(batch) = batch.and_then(|key| self.batches.get_mut(&key.0)) {
            batch.waiting += 1;
        }
        let ticket = Ticket(self.fresh());
        self.calls.insert(ticket, Call { id, outcome, batch });
        ticket
    }

    /// Gives out the answer that is due: nothing if it was cancelled, or if others of its batch are
    /// still to come.
    pub(super) fn release(&mut self, ticket: Ticket) -> Option<Outgoing> {
        let Call { id, outcome, batch } = self.calls.remove(&ticket)?;
        let answer = Outgoing::answer(&id, &outcome);
        match batch {
            None => Some(answer),
            Some(key) => {
                self.settle(key, Some(answer));
                self.close_batch_if_done(key)
            }
        }
    }

    /// Drops the request with this id, so that it is never answered.
    ///
    /// If its answer was due later: which one that is, and its batch's answers if there are no
    /// others to wait for.
    pub(super) fn cancel(&mut self, id: &Id) -> Option<(Ticket, Option<Outgoing>)> {
        self.listens.retain(|listen| listen != id);
        let ticket = *self.calls.iter().find(|(_, call)| call.id == *id)?.0;
        let batch = self.calls.remove(&ticket)?.batch.and_then(|key| {
            self.settle(key, None);
            self.close_batch_if_done(key)
        });
        Some((ticket, batch))
    }

    /// Starts a batch.
    pub(super) fn open_batch(&mut self) -> BatchKey {
        let key = self.fresh();
        self.batches.insert(key, Batch::default());
        BatchKey(key)
    }

    /// Adds an answer that is there at once.
    pub(super) fn add_to_batch(&mut self, key: BatchKey, answer: Outgoing) {
        if let Some(batch) = self.batches.get_mut(&key.0) {
            batch.answers.push(answer.into_string());
        }
    }

    /// Ends the reading of a batch, and gives its answers if none is due later.
    pub(super) fn complete_batch(&mut self, key: BatchKey) -> Option<Outgoing> {
        self.batches.get_mut(&key.0)?.complete = true;
        self.close_batch_if_done(key)
    }

    /// Keeps a stream open.
    pub(super) fn listen(&mut self, id: Id) {
        self.listens.push(id);
    }

    /// Ends every open stream, giving the ids of the requests that opened them.
    pub(super) fn take_listens(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.listens)
    }

    fn settle(&mut self, key: BatchKey, answer: Option<Outgoing>) {
        if let Some(batch) = self.batches.get_mut(&key.0) {
            batch.waiting -= 1;
            batch.answers.extend(answer.map(Outgoing::into_string));
        }
    }

    /// A batch of notifications, or one whose calls were all cancelled, has no answer at all.
    fn close_batch_if_done(&mut self, key: BatchKey) -> Option<Outgoing> {
        let batch =
            self.batches.get(&key.0).filter(|batch| batch.complete && batch.waiting == 0)?;
        let answer = (!batch.answers.is_empty()).then(|| Outgoing::batch(&batch.answers));
        self.batches.remove(&key.0);
        answer
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
