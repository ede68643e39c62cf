//! One episode of the logs that one host session left with several servers.

use std::collections::HashMap;

use super::Linked;
use super::assemble::{events, server_name};
use super::link::{At, Call, Said, unique};
use crate::episode::{Episode, Server, Source, Tool};
use crate::log::Header;

/// Puts between a server's name and its tool's.
const JOIN: &str = "::";

/// Names the tools of an episode, and its calls, after their servers.
pub(crate) fn name_after_servers(episode: &mut Episode) {
    use crate::episode::Event;
    for tool in &mut episode.tools {
        tool.name = named_after(&tool.server, &tool.name);
    }
    for event in &mut episode.events {
        if let Event::Assistant(turn) = event {
            for call in &mut turn.calls {
                call.name = named_after(&call.server, &call.name);
            }
        }
    }
}

fn named_after(server: &str, tool: &str) -> String {
    if server.is_empty() { tool.to_owned() } else { format!("{server}{JOIN}{tool}") }
}

/// Makes one episode of logs that belong together: events in the order of their times, turns as
/// they are across the servers.
///
/// A call whose log ends without an answer is cancelled there, so that it does not keep the others'
/// turns open. What the conversation holds, which every log has, is kept once.
pub(crate) fn merge(mut logs: Vec<Linked>) -> Episode {
    logs.sort_by(|a, b| order(&a.header).cmp(&order(&b.header)));
    let start_ms = logs.first().map_or(0, |log| log.header.started_unix_ms);
    let first = logs.first().map_or("", |log| log.header.session.as_str());
    let mut episode = Episode::new(first, Source::HoistMcp);
    episode.started_unix_ms = Some(start_ms);
    episode.domain = common(logs.iter().map(|log| log.header.domain.as_deref()));
    let model = logs.iter().find_map(|log| log.header.agent_model.clone());
    episode.host = logs.iter().find_map(|log| log.linker.peers.host.clone());
    let host = episode.host.as_ref().map(|host| host.name.clone());
    episode.agent = model.or(host).unwrap_or_default();

    let mut merged = Merged::default();
    for (n, log) in logs.into_iter().enumerate() {
        let offset_ms = log.header.started_unix_ms - start_ms;
        episode.duration_ms = episode.duration_ms.max(offset_ms.saturating_add(log.linker.last_ms));
        let own = log.linker.peers.server.as_ref().map(|server| server.name.as_str());
        let server = Server {
            name: server_name(&log.header, own),
            implementation: log.linker.peers.server.clone(),
            protocol_version: log.linker.peers.protocol_version.clone(),
        };
        // A server that was started again is the same one.
        let known = episode.servers.iter().position(|known| known.name == server.name);
        let place = known.unwrap_or(episode.servers.len());
        let tools = log.linker.tools.tools.clone();
        merged.add(n, offset_ms, place, &server.name, log);
        merged.add_tools(&server.name, tools);
        if known.is_none() {
            episode.servers.push(server);
        }
    }
    let Merged { mut calls, said, tools, .. } = merged;
    let mut said: Vec<Said> = said.into_values().collect();
    number(&mut calls, &mut said);
    episode.tools = tools;
    episode.events = events(&episode.servers, calls, said, &episode.tools);
    name_after_servers(&mut episode);
    episode
}

fn order(header: &Header) -> (u64, &str) {
    (header.started_unix_ms, &header.session)
}

/// What all have in common, or nothing.
fn common<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> String {
    let first = values.next().flatten().unwrap_or_default();
    if values.all(|value| value == Some(first)) { first.to_owned() } else { String::new() }
}

/// Calls and sayings of several logs. Until all are there, `seq` holds which log and which line.
#[derive(Debug, Default)]
struct Merged {
    calls: Vec<Call>,
    /// By who said it, what, and for which time: each log has it, and the first one counts.
    said: HashMap<(bool, String, u32), Said>,
    tools: Vec<Tool>,
    ids: HashMap<String, u32>,
}

impl Merged {
    fn add(&mut self, log: usize, offset_ms: u64, server: usize, name: &str, of_log: Linked) {
        let linker = of_log.linker;
        let moved =
            |at: At| At { seq: place(log, at.seq), t_ms: offset_ms.saturating_add(at.t_ms) };
        let end = At { seq: place(log, u64::MAX), t_ms: offset_ms.saturating_add(linker.last_ms) };
        for mut call in linker.calls {
            call.server = server;
            call.id = unique(&mut self.ids, format!("{name}:{}", call.id));
            call.at = moved(call.at);
            call.delivered = call.delivered.map(moved);
            call.cancelled = call.cancelled.map(moved);
            call.paused = call.paused.map(moved);
            match &mut call.result {
                Some((at, result)) => {
                    *at = moved(*at);
                    result.call.clone_from(&call.id);
                    result.t_ms = at.t_ms;
                }
                None => drop(call.cancelled.get_or_insert(end)),
            }
            self.calls.push(call);
        }
        let mut times: HashMap<(bool, String), u32> = HashMap::new();
        for mut said in linker.said {
            said.at = moved(said.at);
            let time = times.entry((said.by_user, said.text.clone())).or_insert(0);
            *time += 1;
            let key = (said.by_user, said.text.clone(), *time);
            if self.said.get(&key).is_none_or(|known| said.at.t_ms < known.at.t_ms) {
                self.said.insert(key, said);
            }
        }
    }

    fn add_tools(&mut self, server: &str, tools: Vec<Tool>) {
        for mut tool in tools {
            server.clone_into(&mut tool.server);
            let known = self
                .tools
                .iter_mut()
                .find(|known| known.server == tool.server && known.name == tool.name);
            match known {
                Some(known) => *known = tool,
                None => self.tools.push(tool),
            }
        }
    }
}

/// Bits of a place that are the line.
const LINE_BITS: u32 = 40;

/// A line of a log, so that lines of one log are in order.
fn place(log: usize, line: u64) -> u64 {
    ((log as u64) << LINE_BITS) | line.min((1 << LINE_BITS) - 1)
}

/// Gives everything its place in the merged session, in the order of times; of what has the same
/// time, that of the log that began first comes first.
fn number(calls: &mut [Call], said: &mut [Said]) {
    fn each<'a>(calls: &'a mut [Call], said: &'a mut [Said]) -> impl Iterator<Item = &'a mut At> {
        let of_calls = calls.iter_mut().flat_map(|call| {
            let result = call.result.as_mut().map(|(at, _)| at);
            let rest = [&mut call.delivered, &mut call.cancelled, &mut call.paused];
            std::iter::once(&mut call.at).chain(result).chain(rest.into_iter().flatten())
        });
        of_calls.chain(said.iter_mut().map(|said| &mut said.at))
    }

    let mut places: Vec<(u64, u64)> = each(calls, said).map(|at| (at.t_ms, at.seq)).collect();
    places.sort_unstable();
    places.dedup();
    for at in each(calls, said) {
        let before = places.partition_point(|place| *place < (at.t_ms, at.seq));
        at.seq = before as u64 + 1;
    }
    for call in calls.iter_mut() {
        if let Some((at, result)) = &mut call.result {
            result.seq = at.seq;
        }
    }
    calls.sort_by_key(|call| call.at.seq);
    said.sort_by_key(|said| said.at.seq);
}
