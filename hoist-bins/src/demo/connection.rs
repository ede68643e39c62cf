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
#[expect(clippy::exhaustive_enums, reason = "a transport must do each of them")]
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
    /// Stop waiting to ask for this answer: its request was cancelled.
    Forget {
        /// Which answer.
        ticket: Ticket,
        /// What to send in its place: the answers of its batch, if no other is waited for.
        batch: Option<Outgoing>,
    },
}

/// One client's connection to a [`Server`].
///
/// It never waits and has no clock, so answers that are due later come out of it only when the
/// transport asks for them. A message is decided by itself: `initialize` is legacy, a request whose
/// `_meta` names a protocol version is modern, and any other belongs to the era the connection is
/// in. Before `initialize`, requests are answered as in the newest legacy revision.
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

    /// Gives the answer that is due now; `None` if the request was cancelled, or if it leaves with
    /// its batch.
    pub fn finish(&mut self, ticket: Ticket) -> Option<Outgoing> {
        self.pending.release(ticket)
    }

    /// Ends the connection's open streams, when no more messages will come: the messages that say
    /// so.
    ///
    /// For each stream that is its request's result and then `notifications/cancelled`: one page of
    /// the specification asks for the first and another requires the second, which is for stdio
    /// only. A transport that can close a stream sends the first and closes it. Answers that are
    /// due later can still be asked for.
    pub fn close(&mut self) -> Vec<Outgoing> {
        let end = |id: Id| {
            [
                Outgoing::answer(&id, &Ok(results::listen_ended(&id))),
                Outgoing::notification(CANCELLED, &results::cancellation(&id)),
            ]
        };
        self.pending.take_listens().into_iter().flat_map(end).collect()
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
                    let cancelled = cancelled(params).and_then(|id| self.pending.cancel(&id));
                    if let Some((ticket, batch)) = cancelled {
                        effects.push(Effect::Forget { ticket, batch });
                    }
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
            // A session keeps its revision: modern requests beside it are each complete in
            // themselves.
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

#[cfg(test)]
mod tests {
    use super::{Connection, Effect};
    use crate::demo::{Server, World};

    fn call(connection: &mut Connection, id: usize) -> Effect {
        let params = r#"{"name":"lookup","arguments":{"delay_ms":1}}"#;
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let mut effects = connection.receive(line.as_bytes());
        assert_eq!(effects.len(), 1);
        effects.remove(0)
    }

    #[test]
    fn requests_that_wait_are_bounded() {
        let connection = &mut Server::new(World::Echo).connect();
        let waiting: Vec<_> = (0..10_000).map(|id| call(connection, id)).collect();
        let Effect::Send(refusal) = call(connection, 10_000) else { panic!("one more was taken") };
        assert_eq!(refusal.error_code(), Some(-32603));

        let Effect::Later { ticket, .. } = waiting[0] else { panic!("answered at once") };
        assert_eq!(connection.finish(ticket).unwrap().error_code(), None);
        assert_eq!(connection.finish(ticket), None);
        assert!(matches!(call(connection, 10_001), Effect::Later { .. }));
    }

    #[test]
    fn a_cancelled_call_is_forgotten() {
        let connection = &mut Server::new(World::Echo).connect();
        let Effect::Later { ticket, .. } = call(connection, 1) else { panic!("answered at once") };
        let cancel =
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(connection.receive(cancel), [Effect::Forget { ticket, batch: None }]);
        assert_eq!(connection.receive(cancel), []);
        assert_eq!(connection.finish(ticket), None);
    }

    #[test]
    fn connections_share_the_shop_but_not_the_session() {
        let server = Server::new(World::Retail);
        let texts = |connection: &mut Connection, line: &str| {
            let sent = connection.receive(line.as_bytes()).into_iter().map(|effect| match effect {
                Effect::Send(message) => message.into_string(),
                Effect::Later { .. } | Effect::Forget { .. } => panic!("the shop never waits"),
            });
            sent.collect::<String>()
        };
        let cancel = r##"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel_pending_order","arguments":{"order_id":"#W1a","reason":"no longer needed"}}}"##;
        let (mut first, mut second) = (server.connect(), server.connect());
        assert!(texts(&mut first, cancel).contains(r#""isError":false"#));
        assert!(texts(&mut second, cancel).contains("not pending"));

        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;
        assert!(texts(&mut first, initialize).contains("2025-03-26"));
        let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
        assert!(texts(&mut first, batch).starts_with('['));
        assert!(texts(&mut second, batch).contains("-32600"));
    }
}
