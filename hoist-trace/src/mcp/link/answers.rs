//! What comes of a request: its answer, a question in its place, or a task that ends with one.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{At, Linker, What};
use crate::Json;
use crate::episode::ToolResult;
use crate::log::Origin;
use crate::mcp::finding::FindingKind;
use crate::mcp::lenient::Members;
use crate::mcp::result::{Answer, error_result};
use crate::mcp::wire::{Id, Outcome, Text, object};

impl Linker {
    pub(super) fn answer(&mut self, at: At, id: &Id, outcome: Outcome<'_>, from: Origin) {
        let pending = self.pending.get_mut(id).and_then(VecDeque::pop_front);
        let Some(pending) = pending else {
            match self.answered.get(id) {
                // The answer as the host got it.
                Some(call) if from == Origin::Proxy => {
                    if let Some(call) = *call {
                        self.calls[call].delivered = Some(at);
                    }
                }
                _ if from == Origin::Proxy && self.servers.contains_key(id) => {
                    self.hosts_answer(at, id);
                }
                _ => self.answer_without_request(at, id),
            }
            return;
        };
        if self.pending.get(id).is_some_and(VecDeque::is_empty) {
            self.pending.remove(id);
        }
        let mut answered = None;
        match (pending.what, outcome) {
            (What::Call(call), _) => {
                answered = Some(call);
                if let Outcome::Result(result) = outcome {
                    self.peers.worked(result);
                }
                self.calls_answer(at, call, outcome);
            }
            (What::Initialize, Outcome::Result(result)) => {
                if let Err(error) = self.peers.initialized(result) {
                    self.not_mcp(at, "initialize result", &error);
                }
            }
            (What::Discover, Outcome::Result(result)) => self.peers.discovered(result),
            (What::Tools, Outcome::Result(result)) => {
                self.peers.worked(result);
                if let Err(error) = self.tools.page(result) {
                    self.not_mcp(at, "tools/list result", &error);
                }
            }
            (What::Task { id, for_result: true }, _) => {
                if let Some(&call) = self.tasks.get(&id) {
                    self.calls_answer(at, call, outcome);
                }
            }
            (What::Task { id, for_result: false }, Outcome::Result(result)) => {
                self.task(at, &id, result);
            }
            (What::CancelTask(id), Outcome::Result(_)) => {
                if let Some(&call) = self.tasks.get(&id)
                    && self.calls[call].result.is_none()
                {
                    self.calls[call].cancelled.get_or_insert(at);
                }
            }
            _ => {}
        }
        self.answered.insert(id.clone(), answered);
    }

    pub(super) fn answer_without_request(&mut self, at: At, id: &Id) {
        // Behind a gap the request may be what is missing, which was said already.
        if !self.lines_missing {
            self.find(at.seq, FindingKind::AnswerWithoutRequest { id: id.to_string() });
        }
    }

    fn calls_answer(&mut self, at: At, call: usize, outcome: Outcome<'_>) {
        let (answer, fault) = Answer::read(outcome);
        if let Some(fault) = fault {
            let what = match outcome {
                Outcome::Result(_) => "tools/call result",
                Outcome::Error(_) => "error in answer to tools/call",
            };
            self.not_mcp(at, what, &fault);
        }
        match answer {
            Answer::Result(result) => self.complete(at, call, result),
            Answer::InputRequired { state, keys } => {
                self.calls[call].paused = Some(at);
                match state {
                    Some(state) => drop(self.states.insert(state.to_owned(), call)),
                    None => self.asked.push((call, keys)),
                }
            }
            Answer::Task(id) => {
                self.calls[call].paused = Some(at);
                self.tasks.insert(id.into_owned(), call);
            }
        }
    }

    /// What the server says of a task.
    pub(super) fn task(&mut self, at: At, id: &str, state: &RawValue) {
        #[derive(Deserialize)]
        struct State<'a> {
            #[serde(default, borrow)]
            status: Option<Text<'a>>,
            #[serde(default, borrow)]
            result: Option<&'a RawValue>,
            #[serde(default, borrow)]
            error: Option<&'a RawValue>,
        }
        let Some(&call) = self.tasks.get(id) else { return };
        let state = match object::<State<'_>>(state.get()) {
            Ok(state) => state,
            Err(error) => {
                self.not_mcp(at, "task", &error);
                let Some(members) = Members::of(state.get()) else { return };
                State {
                    status: members.text("status").map(|status| Text(status.into())),
                    result: members.get("result"),
                    error: members.get("error"),
                }
            }
        };
        match (state.status.as_ref().map(|status| &*status.0), state.result, state.error) {
            (Some("completed"), Some(result), _) => {
                self.calls_answer(at, call, Outcome::Result(result));
            }
            (Some("failed"), _, Some(error)) => {
                let (result, fault) = error_result(error);
                if let Some(fault) = fault {
                    self.not_mcp(at, "error of a task", &fault);
                }
                self.complete(at, call, result);
            }
            (Some("cancelled"), ..) if self.calls[call].result.is_none() => {
                self.calls[call].cancelled.get_or_insert(at);
            }
            _ => {}
        }
    }

    fn complete(&mut self, at: At, call: usize, mut result: ToolResult) {
        let call = &mut self.calls[call];
        // A task's result may come more than once.
        if call.result.is_some() {
            return;
        }
        if self.lean {
            // Nobody asks for either again, and they are most of a session.
            call.arguments = Json::default();
            result = ToolResult::new("", "");
        }
        result.call.clone_from(&call.id);
        result.seq = at.seq;
        result.t_ms = at.t_ms;
        call.result = Some((at, result));
        call.delivered = Some(at);
        call.paused = None;
    }
}
