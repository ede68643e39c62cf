//! The ledger stepped through every short sequence of events, against a model that keeps one plain
//! list.

use std::collections::HashSet;

use super::*;

const LENGTH: usize = 6;
const THERE: Direction = Direction::ToServer;

/// What can happen; ids by number, 0 a plain one and 1 the first the proxy would use itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Ordinary(usize),
    Hold(usize),
    /// The oldest held one under the id leaves.
    Send(usize),
    /// The newest held one under the id leaves.
    SendLast(usize),
    /// A request of the proxy's own leaves.
    Issue,
    Answer(usize),
    /// The oldest awaited one under the id is abandoned.
    Abandon(usize),
    /// The oldest awaited one under the id is forgotten.
    Forget(usize),
    /// The oldest held one under the id is released.
    Release(usize),
    ForgetOrdinary(usize),
    Reuse(usize),
    Close,
}

fn events() -> Vec<Event> {
    use Event::*;
    let per_id =
        [Ordinary, Hold, Send, SendLast, Answer, Abandon, Forget, Release, ForgetOrdinary, Reuse];
    let mut events: Vec<Event> = [0, 1].into_iter().flat_map(|id| per_id.map(|e| e(id))).collect();
    events.extend([Issue, Close]);
    events
}

fn id(number: usize) -> RequestId {
    match number {
        0 => RequestId::parse(b"1").unwrap(),
        n => RequestId::own(n as u64),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ordinary,
    Held,
    Awaited,
    Abandoned,
}

#[derive(Debug, Clone, Default)]
struct Model {
    /// Id, serial and state, in the order they came.
    list: Vec<(usize, u64, State)>,
    serial: u64,
    /// The numbers the proxy gave out.
    own: HashSet<usize>,
    delivered: HashSet<u64>,
}

impl Model {
    fn oldest(&self, id: usize, state: State) -> Option<usize> {
        self.list.iter().position(|e| e.0 == id && e.2 == state)
    }

    fn newest(&self, id: usize, state: State) -> Option<usize> {
        self.list.iter().rposition(|e| e.0 == id && e.2 == state)
    }

    /// Does the event to both and compares; false when it cannot happen now, or changed nothing, so
    /// that what follows was tried already.
    fn step(&mut self, ledger: &mut Ledger<u64>, event: Event) -> bool {
        use Event::*;

        let before = (self.list.clone(), self.own.len());
        match event {
            Ordinary(n) => {
                ledger.ordinary(THERE, &id(n));
                self.list.push((n, 0, State::Ordinary));
            }
            Hold(n) => {
                self.serial += 1;
                ledger.hold(THERE, &id(n), self.serial);
                self.list.push((n, self.serial, State::Held));
            }
            Send(n) | SendLast(n) => {
                // As the session does: never under an id the proxy has in flight itself.
                let taken = self.is_taken(n);
                assert_eq!(ledger.is_taken_by_own(THERE, &id(n)), taken);
                let at = if event == Send(n) {
                    self.oldest(n, State::Held)
                } else {
                    self.newest(n, State::Held)
                };
                let Some(at) = at.filter(|_| !taken) else { return false };
                if event == SendLast(n) && self.oldest(n, State::Held) == Some(at) {
                    return false;
                }
                self.list[at].2 = State::Awaited;
                ledger.send(THERE, &id(n), self.list[at].1, self.list[at].1);
            }
            Issue => {
                self.serial += 1;
                let given = ledger.issue(THERE);
                let number = usize::try_from(given.own_number().unwrap()).unwrap();
                assert!(self.own.insert(number), "{given} twice");
                assert!(!self.list.iter().any(|e| e.0 == number), "{given} is in flight");
                ledger.send(THERE, &given, self.serial, self.serial);
                self.list.push((number, self.serial, State::Awaited));
            }
            Answer(n) => {
                let own = self.own.contains(&n);
                let at = self.list.iter().position(|e| e.0 == n && e.2 != State::Held);
                let entry = at.map(|at| self.list.remove(at));
                assert_eq!(
                    ledger.is_awaited(THERE, &id(n)),
                    match entry {
                        Some(entry) => entry.2 != State::Ordinary,
                        None => own,
                    }
                );
                let want = match entry {
                    Some((_, serial, State::Awaited)) => {
                        assert!(self.delivered.insert(serial), "{serial} twice");
                        Answered::Deliver(serial)
                    }
                    Some((_, _, State::Ordinary)) => Answered::Pass,
                    Some(_) => Answered::Swallow,
                    None if own => Answered::Swallow,
                    None => Answered::Pass,
                };
                assert_eq!(ledger.answered(THERE, &id(n)), want);
            }
            Abandon(n) => {
                let Some(at) = self.oldest(n, State::Awaited) else { return false };
                ledger.abandon(THERE, &id(n), self.list[at].1);
                if self.own.contains(&n) {
                    self.list.remove(at);
                } else {
                    self.list[at].2 = State::Abandoned;
                }
            }
            Forget(n) => {
                let Some(at) = self.oldest(n, State::Awaited) else { return false };
                ledger.forget(THERE, &id(n), self.list.remove(at).1);
            }
            Release(n) => {
                let Some(at) = self.oldest(n, State::Held) else { return false };
                ledger.release(THERE, &id(n), self.list.remove(at).1);
            }
            ForgetOrdinary(n) => {
                ledger.forget_ordinary(THERE, &id(n));
                if let Some(at) = self.oldest(n, State::Ordinary) {
                    self.list.remove(at);
                }
            }
            Reuse(n) => {
                ledger.reuse(THERE, &id(n));
                self.list.retain(|e| e.0 != n || e.2 != State::Abandoned);
            }
            Close => {
                let mut waiting = Vec::new();
                for (_, serial, state) in std::mem::take(&mut self.list) {
                    if state == State::Awaited {
                        assert!(self.delivered.insert(serial), "{serial} twice");
                        waiting.push(serial);
                    }
                }
                waiting.sort_unstable();
                assert_eq!(ledger.close(THERE), waiting);
            }
        }
        assert_eq!(ledger.is_empty(), self.list.is_empty(), "after {event:?}");
        before != (self.list.clone(), self.own.len())
    }

    /// Whether somebody waits under an id the proxy gave out.
    fn is_taken(&self, n: usize) -> bool {
        self.own.contains(&n) && self.oldest(n, State::Awaited).is_some()
    }

    /// Lets everything come to its end, and checks that nothing is left.
    fn end(mut self, mut ledger: Ledger<u64>) {
        for (n, serial, state) in std::mem::take(&mut self.list) {
            if state == State::Held {
                ledger.release(THERE, &id(n), serial);
            } else {
                let answered = ledger.answered(THERE, &id(n));
                if let Answered::Deliver(serial) = answered {
                    assert!(self.delivered.insert(serial), "{serial} twice");
                }
            }
        }
        assert!(ledger.is_empty());
        for n in self.own {
            // Late answers to what the proxy asked never pass.
            assert_eq!(ledger.answered(THERE, &id(n)), Answered::Swallow);
        }
        assert_eq!(ledger.to_server.ordinary, 0);
    }
}

#[test]
fn every_short_sequence_of_events_does_what_the_model_does() {
    fn walk(model: &Model, ledger: &Ledger<u64>, left: usize, events: &[Event]) -> usize {
        let mut leaves = 0;
        for event in events {
            let (mut model, mut ledger) = (model.clone(), ledger.clone());
            if !model.step(&mut ledger, *event) {
                continue;
            }
            leaves += if left > 1 {
                walk(&model, &ledger, left - 1, events)
            } else {
                model.end(ledger);
                1
            };
        }
        leaves
    }
    let leaves = walk(&Model::default(), &Ledger::default(), LENGTH, &events());
    assert!(leaves > 200_000, "{leaves}");
}

#[test]
fn what_is_abandoned_and_never_answered_does_not_pile_up() {
    let mut ledger = Ledger::default();
    for serial in 0..10_000u64 {
        let id = RequestId::parse(serial.to_string().as_bytes()).unwrap();
        ledger.hold(THERE, &id, serial);
        ledger.send(THERE, &id, serial, ());
        ledger.abandon(THERE, &id, serial);
    }
    assert_eq!(ledger.to_server.entries.len(), MAX_ABANDONED);
    let last = RequestId::parse(b"9999").unwrap();
    assert_eq!(ledger.answered(THERE, &last), Answered::Swallow);
}
