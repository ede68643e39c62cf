//! Which requests are in flight, and whose answers they wait for.
//!
//! A pure state machine: no time, no I/O, no layers. It is told what was read and what leaves,
//! and says what becomes of an answer. Waiters are of any type, so that tests step it with plain
//! numbers.

use std::collections::{HashSet, VecDeque};

use foldhash::HashMap;
use smallvec::SmallVec;

use crate::{Direction, RequestId};

/// At most this many ordinary requests are tracked; an answer to one beyond it is passed on all
/// the same, it just cannot be told from an answer to nothing.
const MAX_ORDINARY: usize = 65_536;

/// What becomes of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered<W> {
    /// Somebody in the proxy waits for it.
    Deliver(W),
    /// It answers a request of the proxy's own that nobody waits for any more, or one whose
    /// requester was answered already: it goes no further.
    Swallow,
    /// It goes on to the peer.
    Pass,
}

/// At most this many requests that were answered without the server, or without the host, are
/// remembered for their late answers: most are cancelled, and then none comes.
const MAX_ABANDONED: usize = 1024;

/// The requests in flight, both ways.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Ledger<W> {
    to_server: Table<W>,
    to_host: Table<W>,
    /// The number of the last own request.
    issued: u64,
    /// Numbers below `issued` that were left out because a peer used them.
    skipped: HashSet<u64>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Table<W> {
    /// Per id, in the order the requests were read or made. Few ids are used twice at a time.
    entries: HashMap<RequestId, SmallVec<[Entry<W>; 1]>>,
    ordinary: usize,
    /// Oldest first; some may be over.
    abandoned: VecDeque<(RequestId, u64)>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Entry<W> {
    /// Tells entries of one id apart.
    serial: u64,
    state: EntryState<W>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
enum EntryState<W> {
    /// Read, and passed on with nobody in the proxy waiting.
    Ordinary,
    /// Read, and not sent on yet.
    Held,
    /// Sent, and somebody in the proxy waits.
    Awaited(W),
    /// Sent; its requester was answered without it, or wants no answer.
    Abandoned,
}

impl<W> Default for Ledger<W> {
    fn default() -> Self {
        Self {
            to_server: Table::default(),
            to_host: Table::default(),
            issued: 0,
            skipped: HashSet::new(),
        }
    }
}

impl<W> Default for Table<W> {
    fn default() -> Self {
        Self { entries: HashMap::default(), ordinary: 0, abandoned: VecDeque::new() }
    }
}

impl<W> Ledger<W> {
    fn table(&mut self, direction: Direction) -> &mut Table<W> {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToHost => &mut self.to_host,
        }
    }

    /// A request was read and goes on with nobody in the proxy waiting for its answer.
    pub(crate) fn ordinary(&mut self, direction: Direction, id: &RequestId) {
        let table = self.table(direction);
        if table.ordinary < MAX_ORDINARY || id.own_number().is_some() {
            table.ordinary += 1;
            table.push(id.detached(), Entry { serial: 0, state: EntryState::Ordinary });
        }
    }

    /// A request was read and is with the layers.
    pub(crate) fn hold(&mut self, direction: Direction, id: &RequestId, serial: u64) {
        self.table(direction).push(id.detached(), Entry { serial, state: EntryState::Held });
    }

    /// Request `serial` leaves, and `waiter` waits for its answer.
    pub(crate) fn send(&mut self, direction: Direction, id: &RequestId, serial: u64, waiter: W) {
        let table = self.table(direction);
        let held = table.entries.get_mut(id).and_then(|entries| {
            entries.iter_mut().find(|e| e.serial == serial && matches!(e.state, EntryState::Held))
        });
        match held {
            Some(entry) => entry.state = EntryState::Awaited(waiter),
            None => {
                table.push(id.detached(), Entry { serial, state: EntryState::Awaited(waiter) });
            }
        }
    }

    /// A request of the proxy's own: picks its id, one that is in flight from no peer that way.
    pub(crate) fn issue(&mut self, direction: Direction) -> RequestId {
        loop {
            self.issued += 1;
            let id = RequestId::own(self.issued);
            if !self.table(direction).entries.contains_key(&id) {
                return id;
            }
            self.skipped.insert(self.issued);
        }
    }

    /// Whether a request of the proxy's own is in flight under this id, so that the peer's request
    /// of the same id must wait.
    pub(crate) fn is_taken_by_own(&mut self, direction: Direction, id: &RequestId) -> bool {
        self.is_own(id)
            && self.table(direction).entries.get(id).is_some_and(|entries| {
                entries.iter().any(|e| matches!(e.state, EntryState::Awaited(_)))
            })
    }

    /// An answer was read to a request that had gone `direction`.
    pub(crate) fn answered(&mut self, direction: Direction, id: &RequestId) -> Answered<W> {
        let own = self.is_own(id);
        let table = self.table(direction);
        let Some(entries) = table.entries.get_mut(id) else {
            return if own { Answered::Swallow } else { Answered::Pass };
        };
        let Some(at) = entries.iter().position(|e| !matches!(e.state, EntryState::Held)) else {
            return if own { Answered::Swallow } else { Answered::Pass };
        };
        let entry = entries.remove(at);
        if entries.is_empty() {
            table.entries.remove(id);
        }
        match entry.state {
            EntryState::Awaited(waiter) => Answered::Deliver(waiter),
            EntryState::Abandoned => Answered::Swallow,
            EntryState::Ordinary => {
                table.ordinary -= 1;
                Answered::Pass
            }
            EntryState::Held => Answered::Pass,
        }
    }

    /// Request `serial` will not be sent any more. Once it was sent, its entry stays for the late
    /// answer.
    pub(crate) fn release(&mut self, direction: Direction, id: &RequestId, serial: u64) {
        self.table(direction)
            .remove(id, |e| e.serial == serial && matches!(e.state, EntryState::Held));
    }

    /// Request `serial` is over: an answer that still comes is like an answer to nothing.
    pub(crate) fn forget(&mut self, direction: Direction, id: &RequestId, serial: u64) {
        self.table(direction).remove(id, |e| e.serial == serial);
    }

    /// An ordinary request was cancelled: a late answer passes on, as one to nothing.
    pub(crate) fn forget_ordinary(&mut self, direction: Direction, id: &RequestId) {
        let table = self.table(direction);
        if table.remove(id, |e| matches!(e.state, EntryState::Ordinary)) {
            table.ordinary -= 1;
        }
    }

    /// Nobody waits for the answer to request `serial` any more, and the peer must not get it.
    pub(crate) fn abandon(&mut self, direction: Direction, id: &RequestId, serial: u64) {
        if self.is_own(id) {
            // Its number is enough to know a late answer by.
            self.forget(direction, id, serial);
            return;
        }
        let table = self.table(direction);
        let entries = table.entries.get_mut(id);
        let entry = entries.and_then(|entries| entries.iter_mut().find(|e| e.serial == serial));
        let Some(entry) = entry else { return };
        entry.state = EntryState::Abandoned;
        table.abandoned.push_back((id.detached(), serial));
        if table.abandoned.len() > MAX_ABANDONED
            && let Some((id, serial)) = table.abandoned.pop_front()
        {
            table.remove(&id, |e| e.serial == serial && matches!(e.state, EntryState::Abandoned));
        }
    }

    /// Whether somebody in the proxy waits for the next answer under this id.
    pub(crate) fn is_awaited(&mut self, direction: Direction, id: &RequestId) -> bool {
        let own = self.is_own(id);
        match self.table(direction).entries.get(id) {
            None => own,
            Some(entries) => entries
                .iter()
                .find(|e| !matches!(e.state, EntryState::Held))
                .map_or(own, |e| !matches!(e.state, EntryState::Ordinary)),
        }
    }

    /// The peer uses an id anew: what was abandoned under it is over.
    pub(crate) fn reuse(&mut self, direction: Direction, id: &RequestId) {
        while self.table(direction).remove(id, |e| matches!(e.state, EntryState::Abandoned)) {}
    }

    /// The party requests go to is gone: returns everybody who waits, oldest first.
    pub(crate) fn close(&mut self, direction: Direction) -> Vec<W> {
        let table = std::mem::take(self.table(direction));
        let mut waiting: Vec<(u64, W)> = Vec::new();
        for entry in table.entries.into_values().flatten() {
            if let EntryState::Awaited(waiter) = entry.state {
                waiting.push((entry.serial, waiter));
            }
        }
        waiting.sort_by_key(|(serial, _)| *serial);
        waiting.into_iter().map(|(_, waiter)| waiter).collect()
    }

    fn is_own(&self, id: &RequestId) -> bool {
        id.own_number().is_some_and(|n| n <= self.issued && !self.skipped.contains(&n))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.to_server.entries.is_empty() && self.to_host.entries.is_empty()
    }
}

impl<W> Table<W> {
    fn push(&mut self, id: RequestId, entry: Entry<W>) {
        self.entries.entry(id).or_default().push(entry);
    }

    fn remove(&mut self, id: &RequestId, which: impl Fn(&Entry<W>) -> bool) -> bool {
        let Some(entries) = self.entries.get_mut(id) else { return false };
        let Some(at) = entries.iter().position(which) else { return false };
        entries.remove(at);
        if entries.is_empty() {
            self.entries.remove(id);
        }
        true
    }
}

#[cfg(test)]
mod tests;
