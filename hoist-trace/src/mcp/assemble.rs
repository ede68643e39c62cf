//! From linked calls to an episode.

use super::link::{At, Call, Linker, Said};
use crate::episode::{AssistantTurn, Episode, Event, Server, Source, Tool, ToolCall, UserMessage};
use crate::log::Header;
use crate::turns::{FirstSeen, JOIN_MS, Tracker, leaves};

/// The episode of a session that was read to its end.
pub(super) fn assemble(header: &Header, linked: Linker) -> Episode {
    let Linker { calls, said, peers, tools, last_ms, .. } = linked;
    let mut episode = Episode::new(header.session.clone(), Source::HoistMcp);
    let server = server_name(header, peers.server.as_ref().map(|server| server.name.as_str()));
    episode.domain = header.domain.clone().unwrap_or_default();
    episode.agent = header
        .agent_model
        .clone()
        .or_else(|| peers.host.as_ref().map(|host| host.name.clone()))
        .unwrap_or_default();
    episode.host = peers.host;
    episode.servers = vec![Server {
        name: server.clone(),
        implementation: peers.server,
        protocol_version: peers.protocol_version,
    }];
    episode.started_unix_ms = Some(header.started_unix_ms);
    episode.duration_ms = last_ms;
    episode.tools = tools.tools;
    for tool in &mut episode.tools {
        tool.server.clone_from(&server);
    }
    episode.events = events(&episode.servers, calls, said, &episode.tools);
    episode
}

/// What a session's server is called: as the user named it, else the domain, else as it names
/// itself.
pub(super) fn server_name(header: &Header, own: Option<&str>) -> String {
    let named = header.server_name.as_deref().or(header.domain.as_deref());
    named.or(own).unwrap_or_default().to_owned()
}

/// What happens to turns, in the order in which it does. Where two things stand in one line, as in
/// a batch, calls come before answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Said(usize),
    Made(usize),
    Answered(usize),
    Delivered(usize),
}

/// The events of calls to these servers, and of what was said.
pub(super) fn events(
    servers: &[Server],
    calls: Vec<Call>,
    said: Vec<Said>,
    tools: &[Tool],
) -> Vec<Event> {
    let mut moments = Vec::with_capacity(calls.len() * 3 + said.len());
    for (n, said) in said.iter().enumerate() {
        moments.push((said.at.seq, said.at.t_ms, Moment::Said(n)));
    }
    for (n, call) in calls.iter().enumerate() {
        moments.push((call.at.seq, call.at.t_ms, Moment::Made(n)));
        if let Some(at) = call.over() {
            moments.push((at.seq, at.t_ms, Moment::Answered(n)));
        }
        if let Some(at) = call.over_for_its_maker() {
            moments.push((at.seq, at.t_ms, Moment::Delivered(n)));
        }
    }
    moments.sort_unstable();

    let first_seen = first_seen(&calls, &said, tools, &moments);
    let mut tracker = Tracker::default();
    let mut turns: Vec<AssistantTurn> = Vec::new();
    let mut turn_of = vec![0_u32; calls.len()];
    for &(seq, t_ms, moment) in &moments {
        let turn = match moment {
            Moment::Said(n) if said[n].by_user => {
                tracker.user_says();
                continue;
            }
            Moment::Said(_) => tracker.assistant_says(),
            Moment::Made(n) => {
                let call = &calls[n];
                let turn = if call.made_by.is_hosts() {
                    tracker.host_calls(t_ms, call.host_turn.as_deref(), |since| {
                        passes_new(call, since, first_seen.as_ref(), &turn_of)
                    })
                } else {
                    tracker.proxy_calls()
                };
                turn_of[n] = turn;
                turn
            }
            Moment::Answered(n) => {
                tracker.answered(turn_of[n]);
                continue;
            }
            Moment::Delivered(n) => {
                tracker.delivered(turn_of[n], t_ms);
                continue;
            }
        };
        if turns.len() <= turn as usize {
            turns.push(AssistantTurn::new(turn, seq, t_ms));
        }
        if let Moment::Said(n) = moment {
            let text = &mut turns[turn as usize].text;
            match text {
                None => *text = Some(said[n].text.clone()),
                Some(text) => {
                    text.push('\n');
                    text.push_str(&said[n].text);
                }
            }
        }
    }

    let mut events: Vec<(u64, usize, Event)> = Vec::with_capacity(moments.len());
    for (n, said) in said.into_iter().enumerate() {
        if said.by_user {
            let message = UserMessage::new(said.at.seq, said.at.t_ms, said.text);
            events.push((said.at.seq, n, Event::User(message)));
        }
    }
    for (n, call) in calls.into_iter().enumerate() {
        let turn = turn_of[n];
        let mut made = ToolCall::new(call.id, call.name, call.arguments);
        made.turn = turn;
        made.seq = call.at.seq;
        made.t_ms = call.at.t_ms;
        made.server.clone_from(&servers[call.server].name);
        made.made_by = call.made_by;
        made.cancelled = call.cancelled.is_some();
        turns[turn as usize].calls.push(made);
        if let Some((at, result)) = call.result {
            // Behind the turn, should both stand in one line.
            events.push((at.seq, usize::MAX, Event::Tool(result)));
        }
    }
    for (n, turn) in turns.into_iter().enumerate() {
        events.push((turn.seq, n, Event::Assistant(turn)));
    }
    events.sort_by_key(|(seq, n, _)| (*seq, *n));
    events.into_iter().map(|(_, _, event)| event).collect()
}

impl Call {
    /// When the server was done with it, as far as is known.
    fn over(&self) -> Option<At> {
        let result = self.result.as_ref().map(|(at, _)| *at);
        first(result, self.cancelled).or(self.paused)
    }

    /// When it no longer kept its maker waiting.
    fn over_for_its_maker(&self) -> Option<At> {
        first(self.delivered, self.cancelled).or(self.paused)
    }
}

fn first(a: Option<At>, b: Option<At>) -> Option<At> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.seq <= b.seq { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// Where a value may appear first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In what was said, in the tools' descriptions, or in a call's arguments.
    Elsewhere,
    /// In the answer to a call.
    Answer(usize),
}

/// Whether the call passes a value that first appeared in an answer to a call of turn `since` or of
/// a later one.
fn passes_new(
    call: &Call,
    since: u32,
    first_seen: Option<&FirstSeen<Place>>,
    turn_of: &[u32],
) -> bool {
    let Some(first_seen) = first_seen else { return false };
    leaves(call.arguments.get()).iter().any(|value| match first_seen.first(value) {
        Some(Place::Answer(n)) => turn_of[n] >= since,
        _ => false,
    })
}

/// Finds where the values appear first that calls pass which come soon after an answer: of no
/// others does it matter.
fn first_seen(
    calls: &[Call],
    said: &[Said],
    tools: &[Tool],
    moments: &[(u64, u64, Moment)],
) -> Option<FirstSeen<Place>> {
    let mut answered_ms = None;
    let mut values = Vec::new();
    for &(_, t_ms, moment) in moments {
        match moment {
            Moment::Delivered(_) => answered_ms = Some(t_ms),
            Moment::Made(n)
                if calls[n].made_by.is_hosts()
                    && answered_ms.is_some_and(|last_ms| t_ms - last_ms <= JOIN_MS) =>
            {
                values.extend(leaves(calls[n].arguments.get()));
            }
            _ => {}
        }
    }
    let mut seen = FirstSeen::new(values)?;
    for tool in tools {
        seen.read(tool.description.as_deref().unwrap_or_default(), Place::Elsewhere);
        for schema in [&tool.input_schema, &tool.output_schema].into_iter().flatten() {
            seen.read(schema.get(), Place::Elsewhere);
        }
    }
    for &(_, _, moment) in moments {
        match moment {
            Moment::Said(n) => seen.read(&said[n].text, Place::Elsewhere),
            Moment::Made(n) => seen.read(calls[n].arguments.get(), Place::Elsewhere),
            Moment::Answered(n) => {
                if let Some((_, result)) = &calls[n].result {
                    seen.read(&result.text, Place::Answer(n));
                    if let Some(structured) = &result.structured {
                        seen.read(structured.get(), Place::Answer(n));
                    }
                }
            }
            Moment::Delivered(_) => {}
        }
    }
    Some(seen)
}
