//! What stands in the tables.

use std::collections::HashMap;
use std::io::{self, Write};

use hoist_trace::episode::{Source, ToolCall, ToolResult};
use hoist_trace::sessions::Found;
use jiff::Timestamp;

use super::table::{Cell, Table};

pub(super) const EPISODES: [&str; 24] = [
    "session",
    "episode",
    "source",
    "file",
    "at",
    "domain",
    "task_id",
    "agent",
    "host",
    "host_version",
    "servers",
    "started",
    "started_unix_ms",
    "duration_ms",
    "reward",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "tools",
    "turns",
    "calls",
    "results",
    "errors",
    "probe",
];

pub(super) const TURNS: [&str; 7] = ["session", "episode", "turn", "seq", "t_ms", "text", "calls"];

pub(super) const CALLS: [&str; 19] = [
    "session",
    "episode",
    "turn",
    "seq",
    "id",
    "server",
    "name",
    "arguments",
    "made_by",
    "cancelled",
    "t_ms",
    "result",
    "structured",
    "other_content",
    "is_error",
    "error_code",
    "result_seq",
    "result_t_ms",
    "duration_ms",
];

/// The three tables.
#[derive(Debug)]
pub(super) struct Tables<W> {
    pub(super) episodes: Table<W, { EPISODES.len() }>,
    pub(super) turns: Table<W, { TURNS.len() }>,
    pub(super) calls: Table<W, { CALLS.len() }>,
}

impl<W: Write> Tables<W> {
    /// Adds a session: a row of its own, and those of its turns and calls.
    pub(super) fn add(&mut self, found: &Found) -> io::Result<()> {
        let session = self.episodes.rows + 1;
        self.episode(session, found)?;
        let episode = &found.episode;
        let results: HashMap<&str, &ToolResult> =
            episode.results().map(|result| (result.call.as_str(), result)).collect();
        for turn in episode.turns() {
            self.turns.row([
                Cell::Whole(session.into()),
                Cell::Text(&episode.id),
                Cell::Whole(turn.turn.into()),
                Cell::Whole(turn.seq.into()),
                Cell::Whole(turn.t_ms.into()),
                Cell::text(turn.text.as_deref()),
                Cell::count(turn.calls.len()),
            ])?;
            for call in &turn.calls {
                let result = results.get(call.id.as_str()).copied();
                self.call(session, &episode.id, call, result)?;
            }
        }
        Ok(())
    }

    fn episode(&mut self, session: u64, found: &Found) -> io::Result<()> {
        let episode = &found.episode;
        let file = found.path.to_string_lossy();
        let servers: Vec<&str> = episode.servers.iter().map(|server| &*server.name).collect();
        let servers = serde_json::to_string(&servers)?;
        let started = episode.started_unix_ms.and_then(time);
        // Nobody judged these: 0 would count as failed.
        let is_judged = !matches!(episode.source, Source::HoistMcp | Source::Atif);
        let errors = episode.results().filter(|result| result.is_error).count();
        self.episodes.row([
            Cell::Whole(session.into()),
            Cell::Text(&episode.id),
            Cell::Text(episode.source.as_str()),
            Cell::Text(&file),
            Cell::Text(&found.at),
            Cell::Text(&episode.domain),
            Cell::text(episode.task_id.as_deref()),
            Cell::Text(&episode.agent),
            Cell::text(episode.host.as_ref().map(|host| &*host.name)),
            Cell::text(episode.host.as_ref().map(|host| &*host.version)),
            Cell::Text(&servers),
            Cell::text(started.as_deref()),
            Cell::whole(episode.started_unix_ms),
            Cell::Whole(episode.duration_ms.into()),
            Cell::real(is_judged.then_some(episode.reward)),
            Cell::whole(episode.usage.input_tokens),
            Cell::whole(episode.usage.output_tokens),
            Cell::real(episode.usage.cost_usd),
            Cell::count(episode.tools.len()),
            Cell::count(episode.turns().count()),
            Cell::count(episode.calls().count()),
            Cell::count(episode.results().count()),
            Cell::count(errors),
            Cell::Bool(found.is_probe()),
        ])
    }

    fn call(
        &mut self,
        session: u64,
        episode: &str,
        call: &ToolCall,
        result: Option<&ToolResult>,
    ) -> io::Result<()> {
        let other = result.filter(|result| !result.other_content.is_empty());
        let other = other.map(|result| serde_json::to_string(&result.other_content)).transpose()?;
        let structured = result.and_then(|result| result.structured.as_ref());
        self.calls.row([
            Cell::Whole(session.into()),
            Cell::Text(episode),
            Cell::Whole(call.turn.into()),
            Cell::Whole(call.seq.into()),
            Cell::Text(&call.id),
            Cell::Text(&call.server),
            Cell::Text(&call.name),
            Cell::Text(call.arguments.get()),
            Cell::Text(call.made_by.as_str()),
            Cell::Bool(call.cancelled),
            Cell::Whole(call.t_ms.into()),
            Cell::text(result.map(|result| &*result.text)),
            Cell::text(structured.map(hoist_trace::Json::get)),
            Cell::text(other.as_deref()),
            Cell::bool(result.map(|result| result.is_error)),
            Cell::whole(result.and_then(|result| result.error_code)),
            Cell::whole(result.map(|result| result.seq)),
            Cell::whole(result.map(|result| result.t_ms)),
            Cell::whole(result.map(|result| result.t_ms.saturating_sub(call.t_ms))),
        ])
    }
}

/// A time as RFC 3339 has it, in UTC; `None` for one that no calendar has.
fn time(unix_ms: u64) -> Option<String> {
    let time = Timestamp::from_millisecond(i64::try_from(unix_ms).ok()?).ok()?;
    Some(format!("{time:.3}"))
}
