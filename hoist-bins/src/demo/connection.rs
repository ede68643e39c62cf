//! One client's connection: which era it is in, and what it waits for.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::Reply;
use super::message::{Id, Incoming, Line, Request, object, read_line, read_message};
use super::pending::{BatchKey, Pending, Ticket};
use super::revision::Revision;
use super::server::Server;
use super::wire::{
    ACKNOWLEDGED, CANCELLED, INITIALIZE, INTERNAL_ERROR, INVALID_REQUEST, Outcome, Outgoing,
    RpcError, SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN,
};
use super::{legacy, modern, results};

/// What the transport is to do about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a transport must do each of the two")]
pub enum Effect {
    /// Send this message now.
    Send(Outgoing),
    /// After this long, ask [`Connection::finish`] for the answer and send it.
    Later {
        /// Which answer.
        ticket: Ticket,
        /// How long after the request was received.
        after: Duration,
    },
}

/// One client's connection to a [`Server`].
///
/// It never waits and has no clock, so answers that are due later come out of it only when the transport asks for
/// them. A message is decided by itself: `initialize` is legacy, a request whose `_meta` names a protocol version is
/// modern, and any other belongs to the era the connection is in. Before `initialize`, requests are answered as in the
/// newest legacy revision.
#[derive(Debug)]
pub struct Connection {
    server: Server,
    /// The revision of what came last: negotiated by `initialize`, or modern.
    revision: Option<Revision>,
    pending: Pending,
}

impl Connection {
    pub(super) fn new(server: Server) -> Self {
        Self { server, revision: None, pending: Pending::default() }
    }

    /// Takes one message, without its line's end, and gives what to do about it, in order.
    pub fn receive(&mut self, line: &[u8]) -> Vec<Effect> {
        let mut effects = Vec::new();
        match read_line(line) {
            Line::One(message) => self.message(message, None, &mut effects),
            Line::Batch(messages) if self.revision.is_some_and(Revision::has_batches) => {
                let key = self.pending.open_batch();
                for message in messages {
                    self.message(read_message(message), Some(key), &mut effects);
                }
                effects.extend(self.pending.complete_batch(key).map(Effect::Send));
            }
            Line::Batch(_) => {
                let error =
                    RpcError::new(INVALID_REQUEST, "batches are of revision 2025-03-26 only");
                effects.push(Effect::Send(Outgoing::answer_to_nobody(self.revision, &error)));
            }
        }
        effects
    }

    /// Answers a message that the transport would not read because it is longer than `max_bytes`.
    pub fn refuse_oversized(&self, max_bytes: usize) -> Outgoing {
        let error =
            RpcError::new(INVALID_REQUEST, format!("the message is longer than {max_bytes} bytes"));
        Outgoing::answer_to_nobody(self.revision, &error)
    }

    /// Gives the answer that is due now; `None` if the request was cancelled, or if it leaves with its batch.
    pub fn finish(&mut self, ticket: Ticket) -> Option<Outgoing> {
        self.pending.release(ticket)
    }

    /// Ends the connection's open streams, when no more messages will come: the messages that say so.
    ///
    /// Answers that are due later can still be asked for.
    pub fn close(&mut self) -> Vec<Outgoing> {
        let ended = self.pending.take_listens().into_iter();
        ended.map(|id| Outgoing::answer(&id, &Ok(results::listen_ended(&id)))).collect()
    }

    fn message(
        &mut self,
        message: Incoming<'_>,
        batch: Option<BatchKey>,
        effects: &mut Vec<Effect>,
    ) {
        match message {
            Incoming::Response => {}
            Incoming::Notification { method, params } => {
                if method == CANCELLED {
                    let answers = cancelled(params).and_then(|id| self.pending.cancel(&id));
                    effects.extend(answers.map(Effect::Send));
                }
            }
            Incoming::Invalid { id, error } => {
                let answer = match id {
                    Some(id) => Outgoing::answer(&id, &Err(error)),
                    None => Outgoing::answer_to_nobody(self.revision, &error),
                };
                self.send(answer, batch, effects);
            }
            Incoming::Request(request) => {
                let reply = self.reply(&request, batch);
                self.carry_out(request.id, reply, batch, effects);
            }
        }
    }

    /// Decides the request's era and answers it.
    fn reply(&mut self, request: &Request<'_>, batch: Option<BatchKey>) -> Reply {
        if request.method == INITIALIZE {
            if batch.is_some() {
                return Outcome::Err(RpcError::new(
                    INVALID_REQUEST,
                    "initialize must not be in a batch",
                ))
                .into();
            }
            let initialized = legacy::initialize(&self.server, request.params);
            return initialized
                .map(|(revision, result)| {
                    self.revision = Some(revision);
                    result
                })
                .into();
        }
        if batch.is_none() && self.is_modern(request) {
            // A session keeps its revision: modern requests beside it are each complete in themselves.
            self.revision.get_or_insert(Revision::MODERN);
            return modern::answer(&self.server, request);
        }
        legacy::answer(&self.server, request, self.revision.unwrap_or(Revision::LATEST_LEGACY))
    }

    fn is_modern(&self, request: &Request<'_>) -> bool {
        modern::names_its_version(request.params)
            || match self.revision {
                Some(revision) => revision.is_modern(),
                None => [SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN].contains(&&*request.method),
            }
    }

    fn carry_out(
        &mut self,
        id: Id,
        reply: Reply,
        batch: Option<BatchKey>,
        effects: &mut Vec<Effect>,
    ) {
        match reply {
            Reply::Answer { after, outcome } if after.is_zero() => {
                self.send(Outgoing::answer(&id, &outcome), batch, effects);
            }
            _ if self.pending.is_full() => {
                let error =
                    RpcError::new(INTERNAL_ERROR, "too many requests wait for their answer");
                self.send(Outgoing::answer(&id, &Err(error)), batch, effects);
            }
            Reply::Answer { after, outcome } => {
                let ticket = self.pending.hold(id, outcome, batch);
                effects.push(Effect::Later { ticket, after });
            }
            Reply::Listen => {
                let acknowledged =
                    Outgoing::notification(ACKNOWLEDGED, &results::acknowledgement(&id));
                self.pending.listen(id);
                effects.push(Effect::Send(acknowledged));
            }
        }
    }

    fn send(&mut self, message: Outgoing, batch: Option<BatchKey>, effects: &mut Vec<Effect>) {
        match batch {
            Some(key) => self.pending.add_to_batch(key, message),
            None => effects.push(Effect::Send(message)),
        }
    }
}

/// The request that `notifications/cancelled` is about.
fn cancelled(params: Option<&RawValue>) -> Option<Id> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: Option<&'a RawValue>,
    }
    object::<Params<'_>>(params?)?.request_id.and_then(Id::read)
}
