//! Putting an episode together, message by message.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::clock::Clock;
use super::message::{Call, Message, Tokens, arguments, content, reads_as_error};
use super::{Oddity, OddityKind, Run};
use crate::Json;
use crate::episode::{
    AssistantTurn, Episode, Event, MadeBy, Server, ToolCall, ToolResult, UserMessage,
};

/// An episode in the making.
///
/// Results are paired to calls by id; where ids are empty, repeated or missing, in order within the
/// turn. Calls that the simulated user makes are paired too, so that their results are not taken for
/// the agent's, and left out.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) episode: Episode,
    pub(super) clock: Clock,
    oddities: Vec<Oddity>,
    turns: u32,
    /// Calls that have no result yet, in the order in which they were made.
    open: Vec<Open>,
    /// Counts the messages that had calls.
    round: u64,
    /// Counts the calls of the latest of them.
    in_round: u64,
    /// How often a call had this id.
    ids: HashMap<String, u32>,
    cost_usd: Option<f64>,
}

#[derive(Debug)]
struct Open {
    /// Its id in the source; empty where it has none.
    source_id: String,
    /// Its id in the episode; `None` for a call of the user's.
    id: Option<String>,
    name: String,
    message: u64,
    round: u64,
}

/// Who makes the calls of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Agent,
    User,
}

/// A result, as far as its source says what it is.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) id: String,
    /// The tool that gave it.
    pub(super) name: Option<String>,
    /// Whose call it answers.
    pub(super) side: Option<Side>,
    pub(super) text: String,
    pub(super) other_content: Vec<String>,
    pub(super) is_error: bool,
}

impl Builder {
    pub(super) fn new(episode: Episode) -> Self {
        Self {
            episode,
            clock: Clock::default(),
            oddities: Vec::new(),
            turns: 0,
            open: Vec::new(),
            round: 0,
            in_round: 0,
            ids: HashMap::new(),
            cost_usd: None,
        }
    }

    pub(super) fn odd(&mut self, message: u64, kind: OddityKind) {
        self.oddities.push(Oddity { message, kind });
    }

    /// The time of a message.
    pub(super) fn time(&mut self, message: u64, stamp: Option<&RawValue>) -> u64 {
        let (t_ms, goes_back) = self.clock.read(stamp);
        if goes_back {
            self.odd(message, OddityKind::TimeGoesBack);
        }
        t_ms
    }

    /// Takes a message of τ²-bench or of chat completions; `seq` counts them from 1.
    pub(super) fn message(
        &mut self,
        seq: u64,
        message: &Message<'_>,
    ) -> Result<(), serde_json::Error> {
        if let Some(results) = &message.tool_messages {
            return results.iter().try_for_each(|result| self.tool_message(seq, result));
        }
        match message.role() {
            "user" => {
                let t_ms = self.time(seq, message.timestamp);
                let (text, _) = content(message.content)?;
                self.user(seq, t_ms, text);
                for call in message.tool_calls.iter().flatten() {
                    self.users_call(seq, call);
                }
            }
            "assistant" => {
                let t_ms = self.time(seq, message.timestamp);
                let (text, _) = content(message.content)?;
                self.begin_turn(seq, t_ms, text);
                for call in message.tool_calls.iter().flatten() {
                    self.call(seq, t_ms, call)?;
                }
                if let Some(function) = &message.function_call {
                    let (arguments, is_text) = arguments(function.arguments)?;
                    let name = function.name.as_ref().map_or("", |name| &*name.0);
                    self.agents_call(seq, t_ms, "", name, arguments, is_text);
                }
                self.end_turn();
                self.used(message.usage, message.cost);
            }
            "tool" | "function" => self.tool_message(seq, message)?,
            // The policy, which is no part of what happened.
            "system" | "developer" => {}
            role => {
                let role = role.to_owned();
                self.odd(seq, OddityKind::UnknownRole { role });
            }
        }
        Ok(())
    }

    fn tool_message(&mut self, seq: u64, message: &Message<'_>) -> Result<(), serde_json::Error> {
        let t_ms = self.time(seq, message.timestamp);
        let (text, other_content) = content(message.content)?;
        let id = message.tool_call_id.as_ref().or(message.id.as_ref());
        let side = message.requestor.as_ref().map(|requestor| match &*requestor.0 {
            "user" => Side::User,
            _ => Side::Agent,
        });
        self.answer(
            seq,
            t_ms,
            Answer {
                id: id.map(|id| id.0.clone()).unwrap_or_default(),
                name: message.name.as_ref().map(|name| name.0.clone().into_owned()),
                side,
                is_error: message.error.unwrap_or_else(|| reads_as_error(&text)),
                text,
                other_content,
            },
        );
        Ok(())
    }

    /// The user says something.
    pub(super) fn user(&mut self, seq: u64, t_ms: u64, text: String) {
        if !text.is_empty() {
            self.episode.events.push(Event::User(UserMessage::new(seq, t_ms, text)));
        }
    }

    /// The simulated user makes a call of its own.
    pub(super) fn users_call(&mut self, seq: u64, call: &Call<'_>) {
        let source_id = call.id.as_ref().map(|id| id.0.clone()).unwrap_or_default();
        let (name, _) = call.asks_for();
        self.begin_round(seq);
        self.open.push(Open {
            source_id,
            id: None,
            name: name.to_owned(),
            message: seq,
            round: self.round,
        });
    }

    /// A turn of the model begins.
    pub(super) fn begin_turn(&mut self, seq: u64, t_ms: u64, text: String) {
        let mut turn = AssistantTurn::new(self.turns, seq, t_ms);
        self.turns += 1;
        turn.text = Some(text).filter(|text| !text.is_empty());
        self.episode.events.push(Event::Assistant(turn));
    }

    /// The last turn, if nothing happened since.
    pub(super) fn last_turn(&mut self) -> Option<&mut AssistantTurn> {
        match self.episode.events.last_mut() {
            Some(Event::Assistant(turn)) => Some(turn),
            _ => None,
        }
    }

    /// The turn is over; one in which nothing was said or called is none.
    pub(super) fn end_turn(&mut self) {
        let is_empty =
            self.last_turn().is_some_and(|turn| turn.text.is_none() && turn.calls.is_empty());
        if is_empty {
            self.episode.events.pop();
            self.turns -= 1;
        }
    }

    /// Takes a call of the turn.
    pub(super) fn call(
        &mut self,
        seq: u64,
        t_ms: u64,
        call: &Call<'_>,
    ) -> Result<(), serde_json::Error> {
        if call.requestor.as_ref().is_some_and(|requestor| requestor.0 == "user") {
            self.users_call(seq, call);
            return Ok(());
        }
        let (name, raw) = call.asks_for();
        let (arguments, is_text) = arguments(raw)?;
        let id = call.id.as_ref().map_or("", |id| id.0.as_str());
        self.agents_call(seq, t_ms, id, name, arguments, is_text);
        Ok(())
    }

    pub(super) fn agents_call(
        &mut self,
        seq: u64,
        t_ms: u64,
        source_id: &str,
        name: &str,
        arguments: Json,
        is_text: bool,
    ) {
        self.begin_round(seq);
        let nth = self.in_round;
        let wanted =
            if source_id.is_empty() { format!("{seq}.{nth}") } else { source_id.to_owned() };
        let id = unique(&mut self.ids, &wanted);
        self.open.push(Open {
            source_id: source_id.to_owned(),
            id: Some(id.clone()),
            name: name.to_owned(),
            message: seq,
            round: self.round,
        });
        if is_text {
            self.odd(seq, OddityKind::ArgumentsNotJson { id: id.clone() });
        }
        if name.is_empty() {
            self.odd(seq, OddityKind::CallWithoutName { id: id.clone() });
        }
        let mut made = ToolCall::new(id, name, arguments);
        made.seq = seq;
        made.t_ms = t_ms;
        made.server.clone_from(&self.episode.domain);
        if let Some(turn) = self.last_turn() {
            made.turn = turn.turn;
            turn.calls.push(made);
        }
    }

    /// The calls of the last turn were made by a program and no model.
    pub(super) fn made_by_procedure(&mut self) {
        if let Some(turn) = self.last_turn() {
            for call in &mut turn.calls {
                call.made_by = MadeBy::Procedure;
            }
        }
    }

    fn begin_round(&mut self, seq: u64) {
        if self.open.last().is_none_or(|open| open.message != seq) {
            self.round += 1;
            self.in_round = 0;
        }
        self.in_round += 1;
    }

    /// Takes a result.
    pub(super) fn answer(&mut self, seq: u64, t_ms: u64, answer: Answer) {
        let Some(at) = self.answered(&answer) else {
            if answer.side != Some(Side::User) {
                let id = Some(answer.id).filter(|id| !id.is_empty());
                self.odd(seq, OddityKind::ResultWithoutCall { id });
            }
            return;
        };
        let Some(id) = self.open.remove(at).id else { return };
        let mut result = ToolResult::new(id, answer.text);
        result.seq = seq;
        result.t_ms = t_ms;
        result.other_content = answer.other_content;
        result.is_error = answer.is_error;
        self.episode.events.push(Event::Tool(result));
    }

    /// Which of the open calls a result answers.
    fn answered(&self, answer: &Answer) -> Option<usize> {
        let fits = |open: &Open| match answer.side {
            Some(Side::Agent) => open.id.is_some(),
            Some(Side::User) => open.id.is_none(),
            None => true,
        };
        let last = self.open.iter().rev().find(|open| fits(open))?.round;
        let find = |wanted: &dyn Fn(&Open) -> bool| {
            self.open.iter().position(|open| fits(open) && wanted(open))
        };
        if !answer.id.is_empty() {
            let same = |open: &Open| open.source_id == answer.id;
            // Of a repeated id, the call of the latest turn is meant.
            return find(&|open| open.round == last && same(open))
                .or_else(|| find(&same))
                .or_else(|| find(&|open| open.round == last && open.source_id.is_empty()));
        }
        let same_tool = |open: &Open| answer.name.as_ref().is_some_and(|name| *name == open.name);
        find(&|open| open.round == last && same_tool(open))
            .or_else(|| find(&|open| open.round == last))
    }

    /// What the model used for a message.
    pub(super) fn used(&mut self, tokens: Option<Tokens>, cost_usd: Option<f64>) {
        let usage = &mut self.episode.usage;
        if let Some(tokens) = tokens {
            add(&mut usage.input_tokens, tokens.prompt_tokens);
            add(&mut usage.output_tokens, tokens.completion_tokens);
        }
        if let Some(cost_usd) = cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost_usd;
        }
    }

    /// Takes the end of the run.
    pub(super) fn finish(mut self) -> Run {
        for open in std::mem::take(&mut self.open) {
            if let Some(id) = open.id {
                self.odd(open.message, OddityKind::Unanswered { id, name: open.name });
            }
        }
        self.oddities.sort_by_key(|oddity| oddity.message);
        let mut episode = self.episode;
        episode.usage.cost_usd = episode.usage.cost_usd.or(self.cost_usd);
        if let Some(started_ms) = self.clock.started_ms {
            episode.started_unix_ms = u64::try_from(started_ms).ok();
            episode.duration_ms = self.clock.last_ms;
        }
        if !episode.domain.is_empty() && episode.servers.is_empty() {
            let mut server = Server::default();
            server.name.clone_from(&episode.domain);
            episode.servers.push(server);
        }
        for tool in &mut episode.tools {
            tool.server.clone_from(&episode.domain);
        }
        Run { episode, oddities: self.oddities }
    }
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// This name, or with `#2`, `#3`, … behind it where it was used before.
pub(super) fn unique(used: &mut HashMap<String, u32>, name: &str) -> String {
    let mut found = name.to_owned();
    // What is used up to now: the name itself may be one that was made here.
    while let Some(count) = used.get_mut(&found).map(|count| {
        *count += 1;
        *count
    }) {
        found = format!("{name}#{count}");
    }
    used.insert(found.clone(), 1);
    found
}
