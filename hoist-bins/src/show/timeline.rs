//! One session, as it went: a heading, then calls, results and what was said, in order.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use hoist_trace::episode::{
    AssistantTurn, Episode, Event, Implementation, MadeBy, Server, Source, ToolCall, ToolResult,
    Usage, UserMessage,
};
use hoist_trace::log::{Header, ReadReport};
use hoist_trace::mcp::{Finding, FindingKind};
use hoist_trace::sessions::Found;
use jiff::Timestamp;

use super::{model, torn_bytes};
use crate::text::{Line, counted, duration, file};

/// Writes a session, and what has been added to it when it is read again: nothing that was written
/// is taken back.
#[derive(Debug)]
pub(super) struct Timeline {
    width: Option<usize>,
    /// Whether the session may still go on.
    follows: bool,
    /// The lines of the heading that were written, by what they are about.
    head: HashSet<(&'static str, String)>,
    /// The place up to which everything was written.
    shown_to: u64,
    /// The turn that the last call was of.
    turn: Option<u32>,
    /// How much was written of what the model said in each turn, in bytes.
    said: HashMap<u32, usize>,
    /// The calls of which it was written that they were cancelled.
    cancelled: HashSet<String>,
}

/// What a line is about. Where several stand in one line of the log, they come in this order.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Gap(&'a Finding),
    User(&'a UserMessage),
    Says(&'a AssistantTurn),
    Call(&'a ToolCall),
    Result(&'a ToolResult),
}

impl Timeline {
    /// A timeline whose lines are cut to this width, or not at all.
    pub(super) fn new(width: Option<usize>) -> Self {
        Self {
            width,
            follows: false,
            head: HashSet::new(),
            shown_to: 0,
            turn: None,
            said: HashMap::new(),
            cancelled: HashSet::new(),
        }
    }

    /// One of a session that may still go on: nothing is said of how it ends.
    pub(super) fn following(width: Option<usize>) -> Self {
        Self { follows: true, ..Self::new(width) }
    }

    /// Writes what is known of the session and was not written before.
    pub(super) fn head(&mut self, found: &Found, out: &mut impl Write) -> io::Result<()> {
        let first = self.head.is_empty();
        let episode = &found.episode;
        let mut lines = vec![
            ("session", episode.id.clone()),
            ("task", episode.task_id.clone().unwrap_or_default()),
            ("started", self.started(found)),
        ];
        lines.extend(episode.servers.iter().map(|one| ("server", server(one))));
        lines.extend(found.logs.iter().map(|log| ("command", command(&log.header))));
        lines.extend([
            ("host", episode.host.as_ref().map(named).unwrap_or_default()),
            ("agent", model(found).to_owned()),
            ("used", used(&episode.usage)),
            ("missing", missing(found, self.follows)),
        ]);
        if found.logs.is_empty() && episode.source != Source::Atif {
            lines.push(("reward", episode.reward.to_string()));
        }
        if !self.follows {
            lines.push(("calls", calls(episode)));
            let broken = found.oddities.iter().filter(|oddity| oddity.is_problem()).count() as u64;
            let in_logs: u64 = found.logs.iter().map(|log| log.findings.problems).sum();
            if broken + in_logs > 0 {
                let broken = counted(broken + in_logs, "broken rule");
                let file = file(&found.path);
                lines.push(("odd", format!("{broken}; `hoist validate {file}` lists them")));
            }
        }
        for (about, text) in lines {
            if text.is_empty() || !self.head.insert((about, text.clone())) {
                continue;
            }
            let mut line = Line::of(self.width);
            line.push(&format!("{about:<9}")).push(&text);
            writeln!(out, "{}", line.finish())?;
        }
        if first { writeln!(out) } else { Ok(()) }
    }

    /// Writes what happened since the last time.
    pub(super) fn go_on(&mut self, found: &Found, out: &mut impl Write) -> io::Result<()> {
        let episode = &found.episode;
        let calls: HashMap<&str, &ToolCall> =
            episode.calls().map(|call| (call.id.as_str(), call)).collect();
        let answered: HashSet<&str> =
            episode.results().map(|result| result.call.as_str()).collect();
        let mut items = items(found);
        items.retain(|(seq, item)| match item {
            // What the model says may be added to a turn that has begun.
            Item::Says(turn) => {
                let text = turn.text.as_deref().unwrap_or_default();
                text.len() > self.said.get(&turn.turn).copied().unwrap_or(0)
            }
            _ => *seq > self.shown_to,
        });
        for (seq, item) in items {
            self.shown_to = self.shown_to.max(seq);
            match item {
                Item::Gap(finding) => self.line(None, out, |line| {
                    line.push(&finding.kind.to_string());
                })?,
                Item::User(message) => self.line(Some(message.t_ms), out, |line| {
                    line.push("user: ").push(&message.text);
                })?,
                Item::Says(turn) => self.says(turn, out)?,
                Item::Call(call) => {
                    self.enter(call.turn, out)?;
                    let fate = self.fate(call, &answered);
                    self.line(Some(call.t_ms), out, |line| push_call(line, call, fate))?;
                }
                Item::Result(result) => {
                    let took_ms = calls
                        .get(result.call.as_str())
                        .map(|call| result.t_ms.saturating_sub(call.t_ms));
                    self.line(Some(result.t_ms), out, |line| push_result(line, result, took_ms))?;
                }
            }
        }
        self.cancellations(episode, out)?;
        if !self.follows && episode.events.is_empty() {
            let what = if found.is_probe() {
                "A probe: the host only asked which revisions of the protocol the server speaks."
            } else {
                "No tool was called."
            };
            writeln!(out, "{what}")?;
        }
        Ok(())
    }

    fn started(&self, found: &Found) -> String {
        let episode = &found.episode;
        let Some(started_ms) = episode.started_unix_ms else { return String::new() };
        let time =
            i64::try_from(started_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let mut text = match time {
            Some(time) => time.strftime("%Y-%m-%d %H:%M:%S%.3f UTC").to_string(),
            None => format!("{started_ms} ms after 1970"),
        };
        if !self.follows {
            text.push_str(", took ");
            text.push_str(&duration(episode.duration_ms));
        }
        text
    }

    /// Writes where a turn begins, or goes on behind another one's calls.
    fn enter(&mut self, turn: u32, out: &mut impl Write) -> io::Result<()> {
        if self.turn == Some(turn) {
            return Ok(());
        }
        let goes_on = self.turn.is_some_and(|last| last > turn);
        self.turn = Some(turn);
        writeln!(out, "turn {turn}{}", if goes_on { " goes on" } else { "" })
    }

    fn says(&mut self, turn: &AssistantTurn, out: &mut impl Write) -> io::Result<()> {
        self.enter(turn.turn, out)?;
        let text = turn.text.as_deref().unwrap_or_default();
        let said = self.said.insert(turn.turn, text.len()).unwrap_or(0);
        let new = text.get(said..).unwrap_or(text).trim_start_matches('\n');
        self.line(Some(turn.t_ms), out, |line| {
            line.push("model: ").push(new);
        })
    }

    /// What is known already of how a call ended without a result.
    fn fate(&mut self, call: &ToolCall, answered: &HashSet<&str>) -> &'static str {
        if call.cancelled {
            self.cancelled.insert(call.id.clone());
            return "(cancelled) ";
        }
        if self.follows || answered.contains(call.id.as_str()) { "" } else { "(no answer) " }
    }

    /// Says of calls that were written before that they were cancelled since.
    fn cancellations(&mut self, episode: &Episode, out: &mut impl Write) -> io::Result<()> {
        for call in episode.calls().filter(|call| call.cancelled) {
            if self.cancelled.insert(call.id.clone()) {
                self.line(None, out, |line| {
                    line.push("#").push(&call.id).push(" cancelled");
                })?;
            }
        }
        Ok(())
    }

    /// Writes a line with its time, if it is known.
    fn line(
        &self,
        t_ms: Option<u64>,
        out: &mut impl Write,
        fill: impl FnOnce(&mut Line),
    ) -> io::Result<()> {
        let mut line = Line::of(self.width);
        match t_ms {
            Some(t_ms) => line.push(&format!("{:>5}.{:03} s  ", t_ms / 1000, t_ms % 1000)),
            None => line.push("             "),
        };
        fill(&mut line);
        writeln!(out, "{}", line.finish())
    }
}

/// Everything to write, in order.
fn items(found: &Found) -> Vec<(u64, Item<'_>)> {
    let mut items: Vec<(u64, Item<'_>)> = Vec::new();
    // Of several logs, lines are no places in the session.
    let log = if let [log] = found.logs.as_slice() { Some(log) } else { None };
    for finding in log.iter().flat_map(|log| &log.findings.first) {
        if let FindingKind::Gap { .. } = finding.kind {
            items.push((finding.line, Item::Gap(finding)));
        }
    }
    for event in &found.episode.events {
        match event {
            Event::User(message) => items.push((message.seq, Item::User(message))),
            Event::Assistant(turn) => {
                if turn.text.is_some() {
                    items.push((turn.seq, Item::Says(turn)));
                }
                items.extend(turn.calls.iter().map(|call| (call.seq, Item::Call(call))));
            }
            Event::Tool(result) => items.push((result.seq, Item::Result(result))),
            _ => {}
        }
    }
    let rank = |item: &Item<'_>| match item {
        Item::Gap(_) => 0,
        Item::User(_) => 1,
        Item::Says(_) => 2,
        Item::Call(_) => 3,
        Item::Result(_) => 4,
    };
    items.sort_by_key(|(seq, item)| (*seq, rank(item)));
    items
}

fn push_call(line: &mut Line, call: &ToolCall, fate: &str) {
    line.push("#").push(&call.id).push(" ").push(fate);
    if call.made_by != MadeBy::Agent {
        line.push("by ").push(call.made_by.as_str()).push(": ");
    }
    line.push(&call.name).push(" ").push(call.arguments.get());
}

fn push_result(line: &mut Line, result: &ToolResult, took_ms: Option<u64>) {
    line.push("#").push(&result.call);
    line.push(if result.is_error { " error" } else { " =" });
    if let Some(code) = result.error_code {
        line.push(&format!(" {code}"));
    }
    if let Some(took_ms) = took_ms {
        line.push(&format!(" ({})", duration(took_ms)));
    }
    for other in &result.other_content {
        line.push(" [").push(other).push("]");
    }
    if !result.text.is_empty() {
        line.push(" ").push(&result.text);
    }
    // Servers put the same into both where a host may know only text.
    if let Some(json) = result.structured.as_ref().filter(|json| json.get() != result.text) {
        line.push(if result.text.is_empty() { " " } else { "\nstructured: " }).push(json.get());
    }
}

fn named(implementation: &Implementation) -> String {
    format!("{} {}", implementation.name, implementation.version).trim_end().to_owned()
}

/// A server by all that is known of it: the user's name for it, what it calls itself, its revision.
fn server(server: &Server) -> String {
    let mut parts = Vec::new();
    let own = server.implementation.as_ref().map(named).filter(|own| !own.is_empty());
    match (server.name.as_str(), own) {
        ("", None) => {}
        ("", Some(own)) => parts.push(own),
        (name, None) => parts.push(name.to_owned()),
        (name, Some(own)) if own.split(' ').next() == Some(name) => parts.push(own),
        (name, Some(own)) => parts.push(format!("{name} ({own})")),
    }
    if let Some(version) = &server.protocol_version {
        parts.push(format!("protocol {version}"));
    }
    parts.join(", ")
}

/// How the server is reached.
fn command(header: &Header) -> String {
    header.server_url.clone().unwrap_or_else(|| header.server_command.join(" "))
}

fn used(usage: &Usage) -> String {
    let mut parts = Vec::new();
    for (tokens, what) in [(usage.input_tokens, "read"), (usage.output_tokens, "written")] {
        parts.extend(tokens.map(|tokens| format!("{} {what}", counted(tokens, "token"))));
    }
    parts.extend(usage.cost_usd.map(|cost| format!("{cost} USD")));
    parts.join(", ")
}

fn calls(episode: &Episode) -> String {
    let (all, results) = (episode.calls().count() as u64, episode.results().count() as u64);
    let errors = episode.results().filter(|result| result.is_error).count() as u64;
    let turns = episode.turns().count() as u64;
    let mut parts = vec![
        format!("{} in {}", counted(all, "call"), counted(turns, "turn")),
        counted(errors, "error"),
    ];
    if results < all {
        parts.push(format!("{} without an answer", all - results));
    }
    parts.join(", ")
}

/// What the logs lack. A last line without its end is still being written, as far as is known,
/// where the session may go on.
fn missing(found: &Found, follows: bool) -> String {
    let sum = |count: fn(&ReadReport) -> u64| {
        found.logs.iter().map(|log| count(&log.report)).fold(0, u64::saturating_add)
    };
    let mut parts = Vec::new();
    let lost = sum(|report| report.lost_lines);
    if lost > 0 {
        let (lines, bytes) =
            (counted(lost, "line"), counted(sum(|report| report.lost_bytes), "byte"));
        parts.push(format!("{lines} not recorded ({bytes})"));
    }
    let bad = sum(|report| report.bad_lines);
    if bad > 0 {
        parts.push(format!("{} not readable", counted(bad, "line")));
    }
    let torn = sum(torn_bytes);
    if torn > 0 && !follows {
        parts.push(format!("the last line is torn ({})", counted(torn, "byte")));
    }
    parts.join(", ")
}
