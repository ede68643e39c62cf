//! Asking the host something in the middle of an exchange.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::core::{Core, Retry, Waiter};
use super::exchange_state::ExchangeState;
use super::send::{cancelled_line, own_line};
use crate::era::{host_capability, names};
use crate::{Direction, Era, Error, RawJson, RequestId, Response};

/// What every request state of a session's own starts with. No two sessions have the same, so that
/// a proxy lets those of another one in series go on.
pub(crate) fn new_state_prefix() -> String {
    format!("hoist-ask-{:016x}-", RandomState::new().build_hasher().finish())
}

/// The requests a modern server may answer with `input_required` (MCP 2026-07-28, MRTR).
const MAY_REQUIRE_INPUT: [&str; 3] = [names::TOOLS_CALL, "prompts/get", "resources/read"];

/// Asks the host and waits for its answer.
pub(crate) async fn ask_host(
    core: &Core,
    exchange: &ExchangeState,
    layer: &Arc<str>,
    method: &str,
    params: &RawJson,
) -> Result<Response, Error> {
    if exchange.is_cancelled() {
        return Err(Error::Cancelled);
    }
    match exchange.era() {
        Era::Legacy => ask_legacy(core, layer, method, params).await,
        Era::Modern => ask_modern(core, exchange, layer, method, params).await,
    }
}

async fn ask_legacy(
    core: &Core,
    layer: &Arc<str>,
    method: &str,
    params: &RawJson,
) -> Result<Response, Error> {
    let direction = Direction::ToHost;
    let (waiter, answer) = oneshot::channel();
    let serial = core.next_serial();
    let id = {
        let mut state = core.state();
        if state.host_closed {
            return Err(Error::Closed { direction });
        }
        if !declares(state.handshake.host_capabilities.as_ref(), method) {
            return Err(Error::HostCannot { method: method.to_owned() });
        }
        let id = state.ledger.issue(direction);
        state.ledger.send(direction, &id, serial, Waiter::Own(waiter));
        id
    };
    let mut asked = Asked { core, layer, id: &id, serial, answered: false };
    core.send_own(direction, layer, own_line(&id, method, Some(params)));
    let answer = answer.await;
    asked.answered = true;
    answer.unwrap_or(Err(Error::Closed { direction }))
}

/// Takes the question back when nobody waits for the answer any more.
struct Asked<'a> {
    core: &'a Core,
    layer: &'a str,
    id: &'a RequestId,
    serial: u64,
    answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let mut state = self.core.state();
        state.ledger.forget(Direction::ToHost, self.id, self.serial);
        let closed = state.host_closed;
        drop(state);
        if !closed {
            // Or its dialog would stay open.
            self.core.send_own(Direction::ToHost, self.layer, cancelled_line(self.id));
        }
    }
}

async fn ask_modern(
    core: &Core,
    exchange: &ExchangeState,
    layer: &Arc<str>,
    method: &str,
    params: &RawJson,
) -> Result<Response, Error> {
    let cannot = || Error::HostCannot { method: method.to_owned() };
    let capabilities = exchange.meta().and_then(|m| m.get(names::CLIENT_CAPABILITIES));
    // The answer to a batch has one place for each request, so none for a question.
    let may = exchange.direction == Direction::ToServer
        && !exchange.in_batch
        && MAY_REQUIRE_INPUT.contains(&&*exchange.method)
        && host_capability(method).is_some()
        && declares(capabilities.as_ref(), method);
    if !may {
        return Err(cannot());
    }
    let (waiter, retried) = oneshot::channel();
    let number = core.next_serial();
    let state_text = format!("{}{number}", core.ask_prefix);
    let key = format!("hoist-{number}");
    let asked_id = exchange.id();
    {
        let mut state = core.state();
        if state.host_closed {
            return Err(Error::Closed { direction: Direction::ToHost });
        }
        state.asks.insert(state_text.clone(), waiter);
        // The host's request is answered by the question; the exchange goes on without an id.
        state.ledger.release(exchange.direction, &asked_id, exchange.number);
    }
    exchange.ask();
    let question = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{key}":{{"method":{},"params":{params}}}}},"requestState":"{state_text}"}}"#,
        RawJson::string(method)
    );
    let question = RawJson::checked(question.into());
    let (line, _) = Response::result(question).into_line(&asked_id, || Era::Modern);
    let pending = PendingAsk { core, exchange, state: Some(state_text) };
    core.send_own(Direction::ToHost, layer, line);
    let Retry { id, responses } =
        retried.await.map_err(|_| Error::Closed { direction: Direction::ToHost })?;
    pending.answered(id);
    match responses.and_then(|r| r.get(&key)) {
        Some(answer) => Ok(Response::result(answer)),
        None => Err(cannot()),
    }
}

/// A modern question whose answer is not here yet: while it waits, nobody waits for the exchange.
struct PendingAsk<'a> {
    core: &'a Core,
    exchange: &'a ExchangeState,
    state: Option<String>,
}

impl PendingAsk<'_> {
    fn answered(mut self, id: RequestId) {
        self.state = None;
        self.exchange.resume(id);
    }
}

impl Drop for PendingAsk<'_> {
    fn drop(&mut self) {
        if let Some(text) = self.state.take() {
            let mut state = self.core.state();
            state.asks.remove(&text);
            drop(state);
            self.exchange.cancel();
        }
    }
}

fn declares(capabilities: Option<&RawJson>, method: &str) -> bool {
    host_capability(method)
        .is_none_or(|name| capabilities.and_then(|c| c.get(name)).is_some_and(|c| !c.is_null()))
}
