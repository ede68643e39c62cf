//! Finds the calls of a session: which requests are one call, and which answer is its result.

mod answers;

use std::collections::{HashMap, VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::finding::{Finding, FindingKind};
use super::lenient::Members;
use super::peers::Peers;
use super::result::keys;
use super::tools::ToolList;
use super::wire::{Id, Message, Parsed, Text, object};
use crate::Json;
use crate::episode::{MadeBy, ToolResult};
use crate::log::{Content, Entry, Origin};

/// Where something stands, and when that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub(super) seq: u64,
    pub(super) t_ms: u64,
}

/// A call, with all that became of it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) at: At,
    pub(super) id: String,
    /// Which of the session's servers it was made to.
    pub(super) server: usize,
    pub(super) name: String,
    pub(super) arguments: Json,
    pub(super) made_by: MadeBy,
    pub(super) host_turn: Option<String>,
    /// The first answer.
    pub(super) result: Option<(At, ToolResult)>,
    /// When whoever made it got the answer.
    pub(super) delivered: Option<At>,
    pub(super) cancelled: Option<At>,
    /// The last answer that was none yet: a request for input, a task begun.
    pub(super) paused: Option<At>,
}

/// Something said, in a conversation that crosses no wire.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) at: At,
    pub(super) by_user: bool,
    pub(super) text: String,
}

/// Reads a session entry by entry.
#[derive(Debug, Default)]
pub(super) struct Linker {
    pub(super) calls: Vec<Call>,
    pub(super) said: Vec<Said>,
    pub(super) peers: Peers,
    pub(super) tools: ToolList,
    /// What is odd, until somebody takes it.
    pub(super) findings: Vec<Finding>,
    pub(super) last_ms: u64,
    /// Whether lines are missing so far, requests perhaps among them.
    lines_missing: bool,
    /// Whether nothing is kept but what finding oddities needs.
    lean: bool,
    /// How often the host asked for `server/discover`, and whether it wrote anything else.
    discovers: u64,
    host_wrote_more: bool,
    /// Requests to the server that are not answered, by id.
    pending: HashMap<Id, VecDeque<Pending>>,
    /// The call that each id was last answered for.
    answered: HashMap<Id, Option<usize>>,
    /// Requests of the server's that are not answered.
    servers: HashMap<Id, u32>,
    /// Calls that became tasks, by task.
    tasks: HashMap<String, usize>,
    /// Calls whose server asked for input, by the state to be given back.
    states: HashMap<String, usize>,
    /// Those whose server gave no state, with what it asked for.
    asked: Vec<(usize, Vec<String>)>,
    /// How often a call had this id.
    ids: HashMap<String, u32>,
}

#[derive(Debug)]
struct Pending {
    what: What,
    line: u64,
    cancelled: bool,
}

#[derive(Debug, Clone)]
enum What {
    Call(usize),
    Initialize,
    Discover,
    Tools,
    /// Asks how a task is getting on, or for its result.
    Task {
        id: String,
        for_result: bool,
    },
    CancelTask(String),
    /// Stays open by design.
    Listen,
    Other(String),
}

impl What {
    fn method(&self) -> &str {
        match self {
            Self::Call(_) => "tools/call",
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::Tools => "tools/list",
            Self::Task { for_result: false, .. } => "tasks/get",
            Self::Task { for_result: true, .. } => "tasks/result",
            Self::CancelTask(_) => "tasks/cancel",
            Self::Listen => "subscriptions/listen",
            Self::Other(method) => method,
        }
    }
}

impl Linker {
    /// One that is asked for its findings only, and forgets what was said.
    pub(super) fn lean() -> Self {
        Self { lean: true, ..Self::default() }
    }

    /// Whether the host asked for nothing but `server/discover`.
    pub(super) fn is_probe(&self) -> bool {
        self.discovers > 0 && !self.host_wrote_more
    }

    fn find(&mut self, line: u64, kind: FindingKind) {
        self.findings.push(Finding { line, kind });
    }

    /// Takes the next entry.
    pub(super) fn push(&mut self, entry: &Entry) {
        if entry.t_ms < self.last_ms {
            let kind = FindingKind::TimeGoesBack { t_ms: entry.t_ms, before_ms: self.last_ms };
            self.find(entry.line, kind);
        }
        self.last_ms = self.last_ms.max(entry.t_ms);
        let at = At { seq: entry.line, t_ms: self.last_ms };
        match &entry.content {
            Content::Raw(_) => {}
            Content::Gap(gap) => {
                self.lines_missing = true;
                let kind = FindingKind::Gap { lines: gap.lines, bytes: gap.bytes };
                self.find(entry.line, kind);
            }
            Content::Message(text) if entry.from == Origin::Context => self.context(at, text),
            Content::Message(text) if text.trim_ascii_start().starts_with('[') => {
                match serde_json::from_str::<Vec<&RawValue>>(text) {
                    Ok(batch) => {
                        for element in batch {
                            self.message(at, entry, element.get());
                        }
                    }
                    Err(error) => self.not_json_rpc(at, &error),
                }
            }
            Content::Message(text) => self.message(at, entry, text),
        }
    }

    /// Takes the session's end.
    pub(super) fn finish(&mut self) {
        let mut left: Vec<(u64, Id, String)> = Vec::new();
        for (id, queue) in &self.pending {
            for pending in queue {
                let open = !pending.cancelled && !matches!(pending.what, What::Listen);
                if open {
                    left.push((pending.line, id.clone(), pending.what.method().to_owned()));
                }
            }
        }
        left.sort_by_key(|(line, ..)| *line);
        for (line, id, method) in left {
            self.find(line, FindingKind::Unanswered { id: id.to_string(), method });
        }
    }

    fn not_json_rpc(&mut self, at: At, error: &serde_json::Error) {
        self.find(at.seq, FindingKind::NotJsonRpc { what: without_place(error) });
    }

    fn not_mcp(&mut self, at: At, what: &str, error: &serde_json::Error) {
        let what = format!("{what}: {}", without_place(error));
        self.find(at.seq, FindingKind::NotMcp { what });
    }

    fn context(&mut self, at: At, text: &str) {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            role: Text<'a>,
            #[serde(borrow)]
            content: Text<'a>,
        }
        let (role, content) = match object::<Message<'_>>(text) {
            Ok(Message { role: Text(role), content: Text(content) }) => (role, content),
            Err(error) => {
                self.not_json_rpc(at, &error);
                let Some(members) = Members::of(text) else { return };
                let Some(read) = members.text("role").zip(members.text("content")) else { return };
                (read.0.into(), read.1.into())
            }
        };
        match &*role {
            "user" | "assistant" if !self.lean => {
                let text = content.into_owned();
                self.said.push(Said { at, by_user: role == "user", text });
            }
            // A system prompt, a tool's output: no part of the conversation.
            _ => {}
        }
    }

    fn message(&mut self, at: At, entry: &Entry, text: &str) {
        let Parsed { message, fault, version } = match Message::parse(text) {
            Ok(parsed) => parsed,
            Err(error) => return self.not_json_rpc(at, &error),
        };
        if let Some(fault) = fault {
            self.not_json_rpc(at, &fault);
        }
        if let Some(what) = version {
            self.find(at.seq, FindingKind::OtherVersion { what });
        }
        if entry.from == Origin::Client {
            match &message {
                Message::Request { method, .. } if method == "server/discover" => {
                    self.discovers += 1;
                }
                // It gives up waiting.
                Message::Notification { method, .. } if method == "notifications/cancelled" => {}
                _ => self.host_wrote_more = true,
            }
        }
        match (message, entry.from) {
            (Message::Request { id, method, params }, Origin::Client) => {
                self.request(at, &id, &method, params, MadeBy::Agent);
            }
            (Message::Request { id, method, params }, Origin::Proxy) => {
                if is_for_the_host(&method) {
                    self.servers.entry(id).and_modify(|n| *n += 1).or_insert(1);
                } else if !self.pending.contains_key(&id) {
                    // With the id of the host's, it is that request, changed on its way.
                    let by = entry.by.clone().unwrap_or_default();
                    self.request(at, &id, &method, params, MadeBy::from(by));
                }
            }
            (Message::Request { id, .. }, _) => {
                self.servers.entry(id).and_modify(|n| *n += 1).or_insert(1);
            }
            (Message::Notification { method, params }, from) => {
                self.notification(at, &method, params, from);
            }
            (Message::Answer { id, .. }, Origin::Client) => self.hosts_answer(at, &id),
            (Message::Answer { id, outcome }, from) => self.answer(at, &id, outcome, from),
            (Message::Complaint, _) => {}
        }
    }

    fn request(
        &mut self,
        at: At,
        id: &Id,
        method: &str,
        params: Option<&RawValue>,
        made_by: MadeBy,
    ) {
        if let Err(error) = self.peers.request(method, params) {
            self.not_mcp(at, &format!("{method} request"), &error);
        }
        let what = match method {
            "tools/call" => match self.call(at, id, params, made_by) {
                Ok(call) => What::Call(call),
                Err(error) => {
                    self.not_mcp(at, "tools/call request", &error);
                    What::Other(method.to_owned())
                }
            },
            "initialize" => What::Initialize,
            "server/discover" => What::Discover,
            "tools/list" => What::Tools,
            "tasks/get" | "tasks/result" => match member(params, "taskId") {
                Some(id) => What::Task { id, for_result: method == "tasks/result" },
                None => What::Other(method.to_owned()),
            },
            "tasks/cancel" => member(params, "taskId")
                .map_or_else(|| What::Other(method.to_owned()), What::CancelTask),
            "subscriptions/listen" => What::Listen,
            _ => What::Other(method.to_owned()),
        };
        let queue = self.pending.entry(id.clone()).or_default();
        // A request that was cancelled is over, so its id is free again.
        queue.retain(|pending| !pending.cancelled);
        if !queue.is_empty() {
            let kind = FindingKind::IdInUse { id: id.to_string() };
            self.findings.push(Finding { line: at.seq, kind });
        }
        queue.push_back(Pending { what, line: at.seq, cancelled: false });
    }

    fn call(
        &mut self,
        at: At,
        id: &Id,
        params: Option<&RawValue>,
        made_by: MadeBy,
    ) -> Result<usize, serde_json::Error> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            name: Text<'a>,
            #[serde(default, borrow)]
            arguments: Option<&'a RawValue>,
            #[serde(default, borrow, rename = "_meta")]
            meta: Option<&'a RawValue>,
            #[serde(default, borrow, rename = "requestState")]
            request_state: Option<&'a RawValue>,
            #[serde(default, borrow, rename = "inputResponses")]
            input_responses: Option<&'a RawValue>,
        }

        let params = params.map_or("", RawValue::get);
        let members = match object::<Params<'_>>(params) {
            Ok(members) => members,
            Err(error) => {
                // Of two names, or two sets of arguments, it cannot be told which the server took.
                let members = Members::of(params).filter(|members| {
                    ["name", "arguments"].iter().all(|name| members.all(name).count() <= 1)
                });
                let name = members.as_ref().and_then(|members| members.text("name"));
                let (Some(members), Some(name)) = (members, name) else { return Err(error) };
                self.not_mcp(at, "tools/call request", &error);
                Params {
                    name: Text(name.into()),
                    arguments: members.get("arguments"),
                    meta: members.get("_meta"),
                    request_state: members.get("requestState"),
                    input_responses: members.get("inputResponses"),
                }
            }
        };
        let arguments = members.arguments.map(Json::from_raw).unwrap_or_default();
        let first = match (members.request_state, members.input_responses) {
            (Some(state), _) => self.states.remove(state.get()),
            (None, Some(responses)) => {
                let given = keys(responses);
                let at = self.asked.iter().position(|(call, keys)| {
                    let call = &self.calls[*call];
                    call.name == members.name.0
                        && call.arguments == arguments
                        && given.iter().all(|key| keys.contains(key))
                });
                at.map(|at| self.asked.swap_remove(at).0)
            }
            (None, None) => None,
        };
        if let Some(first) = first {
            self.calls[first].paused = None;
            return Ok(first);
        }
        let host_turn = members.meta.and_then(host_turn);
        let made_by = if made_by == MadeBy::Agent && self.peers.host_is_a_procedure() {
            MadeBy::Procedure
        } else {
            made_by
        };
        self.calls.push(Call {
            at,
            id: unique(&mut self.ids, id.to_string()),
            server: 0,
            name: members.name.0.into_owned(),
            arguments,
            made_by,
            host_turn,
            result: None,
            delivered: None,
            cancelled: None,
            paused: None,
        });
        Ok(self.calls.len() - 1)
    }

    fn notification(&mut self, at: At, method: &str, params: Option<&RawValue>, from: Origin) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            request_id: &'a RawValue,
        }
        match method {
            "notifications/cancelled" if from != Origin::Server => {
                let id = params
                    .and_then(|params| object::<Cancelled<'_>>(params.get()).ok())
                    .and_then(|cancelled| Id::from_raw(cancelled.request_id));
                let Some(queue) = id.and_then(|id| self.pending.get_mut(&id)) else { return };
                // Of an id used twice, the older request was meant: the younger one is against the
                // rules.
                let Some(pending) = queue.iter_mut().find(|pending| !pending.cancelled) else {
                    return;
                };
                pending.cancelled = true;
                if let What::Call(call) = pending.what {
                    self.calls[call].cancelled.get_or_insert(at);
                }
            }
            "notifications/tasks" => {
                let Some(params) = params else { return };
                if let Some(id) = member(Some(params), "taskId") {
                    self.task(at, &id, params);
                }
            }
            _ => {}
        }
    }

    /// The host's answer to a request of the server's, or of the proxy's.
    fn hosts_answer(&mut self, at: At, id: &Id) {
        match self.servers.get_mut(id) {
            Some(1) => drop(self.servers.remove(id)),
            Some(count) => *count -= 1,
            None => self.answer_without_request(at, id),
        }
    }
}

/// The methods a server asks a host for.
fn is_for_the_host(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}

/// The host's own name for its turn, in a call's `_meta`.
fn host_turn(meta: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Members {
        #[serde(default, rename = "x-codex-turn-metadata")]
        codex: Option<Codex>,
    }
    #[derive(Deserialize)]
    struct Codex {
        #[serde(default)]
        turn_id: Option<String>,
    }
    object::<Members>(meta.get()).ok()?.codex?.turn_id
}

/// A text member of the parameters.
fn member(params: Option<&RawValue>, name: &str) -> Option<String> {
    Members::of(params?.get())?.text(name)
}

pub(super) fn unique(ids: &mut HashMap<String, u32>, id: String) -> String {
    let count = ids.entry(id.clone()).or_insert(0);
    *count += 1;
    if *count == 1 { id } else { format!("{id}#{count}") }
}

fn without_place(error: &serde_json::Error) -> String {
    let what = crate::log::describe(error).1;
    // What is read here is JSON, so nothing else is wrong with its escapes.
    if what == "unexpected end of hex escape" || what.starts_with("lone leading surrogate") {
        return "a text in it has half of a surrogate pair, which is no Unicode".to_owned();
    }
    what
}
