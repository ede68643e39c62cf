//! The messages of one connection over HTTP: what each is answered with, and when.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::demo::{Connection, Effect, Outgoing, Ticket};

/// A client's connection, and who waits for its answers.
pub(super) struct Talk(Mutex<State>);

struct State {
    connection: Connection,
    /// For each answer that is due later, how to end the wait for it.
    waits: HashMap<Ticket, oneshot::Sender<Option<Outgoing>>>,
}

/// An answer to a message.
pub(super) enum Due {
    Now(Outgoing),
    Later {
        ticket: Ticket,
        at: Instant,
        /// Its request was cancelled; what to answer in its place.
        forgotten: oneshot::Receiver<Option<Outgoing>>,
    },
}

impl Talk {
    pub(super) fn new(connection: Connection) -> Self {
        Self(Mutex::new(State { connection, waits: HashMap::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message. Whoever waits for an answer that it cancels need wait no longer.
    pub(super) fn receive(&self, message: &[u8]) -> Vec<Due> {
        let state = &mut *self.state();
        let mut dues = Vec::new();
        for effect in state.connection.receive(message) {
            match effect {
                Effect::Send(message) => dues.push(Due::Now(message)),
                Effect::Later { ticket, after } => {
                    let (forget, forgotten) = oneshot::channel();
                    state.waits.insert(ticket, forget);
                    dues.push(Due::Later { ticket, at: Instant::now() + after, forgotten });
                }
                Effect::Forget { ticket, batch } => {
                    // Where nobody waits any more, nobody is there to be answered.
                    let _ = state.waits.remove(&ticket).map(|forget| forget.send(batch));
                }
            }
        }
        dues
    }

    /// The answers to one message, once all are due; none to what is cancelled meanwhile.
    pub(super) async fn answers(&self, dues: Vec<Due>) -> Vec<Outgoing> {
        let answers = join_all(dues.into_iter().map(|due| self.answer(due))).await;
        answers.into_iter().flatten().collect()
    }

    async fn answer(&self, due: Due) -> Option<Outgoing> {
        let (ticket, at, mut forgotten) = match due {
            Due::Now(answer) => return Some(answer),
            Due::Later { ticket, at, forgotten } => (ticket, at, forgotten),
        };
        if let Ok(batch) = timeout_at(at, &mut forgotten).await {
            return batch.ok().flatten();
        }
        let mut state = self.state();
        state.waits.remove(&ticket);
        let answer = state.connection.finish(ticket);
        // It may have been cancelled at the very moment when it was due.
        answer.or_else(|| forgotten.try_recv().ok().flatten())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::demo::{Server, World};

    fn talk() -> Talk {
        let talk = Talk::new(Server::new(World::Echo).connect());
        let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;
        assert_eq!(talk.receive(begin.as_bytes()).len(), 1);
        talk
    }

    fn call(id: u32, delay_ms: u32) -> String {
        let params = format!(r#"{{"name":"lookup","arguments":{{"delay_ms":{delay_ms}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    }

    fn cancel(id: u32) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        )
    }

    /// What a message is answered with, after how long, if these follow it.
    async fn answers(message: &str, then: &[String]) -> (Vec<String>, Duration) {
        let talk = talk();
        let began = Instant::now();
        let dues = talk.receive(message.as_bytes());
        for message in then {
            assert!(talk.receive(message.as_bytes()).is_empty());
        }
        let answers = talk.answers(dues).await.into_iter().map(Outgoing::into_string).collect();
        assert!(talk.state().waits.is_empty());
        (answers, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_call_is_waited_for_no_longer() {
        let ms = Duration::from_millis;
        let slow = call(1, 60_000);
        assert_eq!(answers(&slow, &[cancel(2)]).await.1, ms(60_000));
        assert_eq!(answers(&slow, &[cancel(1)]).await, (Vec::new(), ms(0)));
        // The rest of its batch leaves at once too, if it was the last.
        let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        let answered = r#"[{"jsonrpc":"2.0","id":3,"result":{}}]"#.to_owned();
        let batch = format!("[{slow},{ping}]");
        assert_eq!(answers(&batch, &[cancel(1)]).await, (vec![answered.clone()], ms(0)));
        let batch = format!("[{slow},{ping},{}]", cancel(1));
        assert_eq!(answers(&batch, &[]).await, (vec![answered], ms(0)));
        assert_eq!(answers(&format!("[{slow},{}]", cancel(1)), &[]).await, (Vec::new(), ms(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_calls_of_a_batch_wait_side_by_side() {
        let batch = format!("[{},{},{}]", call(1, 300), call(2, 500), call(3, 60_000));
        let (answers, after) = answers(&batch, &[cancel(3)]).await;
        assert_eq!(after.as_millis(), 500);
        let [answer] = answers.as_slice() else { panic!("{answers:?}") };
        assert!(answer.contains("\"id\":1") && answer.contains("\"id\":2"), "{answer}");
        assert!(!answer.contains("\"id\":3"), "{answer}");
    }
}
