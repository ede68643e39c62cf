//! The second pass: sessions with their values replaced.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::value::RawValue;

use super::clear::{Clear, Rule};
use super::json::{self, Changed};
use super::key::Key;
use super::words::{Replaced, Words};
use crate::Json;
use crate::episode::{
    AssistantTurn, Episode, Event, Implementation, MadeBy, Server, Tool, ToolCall, ToolResult,
    UserMessage,
};
use crate::log::{Content, Entry, Header};
use crate::retention::is_own_name;

/// Replaces what sessions hold by tokens: the second of two passes.
///
/// A token depends on the key and on what it replaces, never on where that stood; see
/// [`Survey`](super::Survey) for the first pass, which decides what stays.
#[derive(Debug)]
pub struct Redactor {
    words: Words,
    changed: Changed,
}

impl Redactor {
    /// One that makes tokens under this key, and leaves this in clear.
    pub fn new(key: &Key, clear: Clear) -> Self {
        Self { words: Words::new(key, clear), changed: Changed::default() }
    }

    /// A text: prose, a path, a URL, an id, or JSON, which stays JSON.
    pub fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        json::replace_text(&mut self.words, &mut self.changed, text, &mut out);
        out
    }

    /// A JSON text of any depth, its white space, order and repeated keys as they are. What is no
    /// JSON is a text.
    pub fn json(&mut self, json: &str) -> String {
        if serde_json::from_str::<&RawValue>(json).is_err() {
            return self.text(json);
        }
        let mut out = String::with_capacity(json.len());
        json::replace(&mut self.words, &mut self.changed, json, &mut out);
        out
    }

    /// The name of a session or of a file: one that Hoist gives says no more than the times in the
    /// log do, and stays.
    pub fn name(&mut self, name: &str) -> String {
        if is_own_name(name) { name.to_owned() } else { self.plain(name) }
    }

    /// The header of a log; its times stay.
    pub fn header(&mut self, header: &Header) -> Header {
        let Header {
            hoist_mcp_log,
            session,
            started_unix_ms,
            server_command,
            domain,
            agent_model,
            host_session,
            server_name,
            server_url,
        } = header;
        Header {
            hoist_mcp_log: *hoist_mcp_log,
            session: self.name(session),
            started_unix_ms: *started_unix_ms,
            server_command: server_command.iter().map(|word| self.text(word)).collect(),
            domain: self.optional(domain.as_ref()),
            agent_model: self.optional(agent_model.as_ref()),
            host_session: self.optional(host_session.as_ref()),
            server_name: self.optional(server_name.as_ref()),
            server_url: self.optional(server_url.as_ref()),
        }
    }

    /// An entry of a log; line, time, origin and gaps stay.
    pub fn entry(&mut self, entry: &Entry) -> Entry {
        let Entry { line, t_ms, from, by, content } = entry;
        let content = match content {
            Content::Message(text) => Content::Message(self.json(text)),
            Content::Raw(text) => Content::Raw(self.text(text)),
            Content::Gap(gap) => Content::Gap(*gap),
        };
        Entry { line: *line, t_ms: *t_ms, from: *from, by: self.optional(by.as_ref()), content }
    }

    /// An episode; times, places, rewards and what the model used stay.
    pub fn episode(&mut self, episode: &Episode) -> Episode {
        // Taken apart whole, so that what is added to episodes cannot be forgotten here.
        let Episode {
            hoist_episode,
            id,
            source,
            domain,
            task_id,
            agent,
            host,
            servers,
            started_unix_ms,
            duration_ms,
            reward,
            usage,
            tools,
            events,
        } = episode;
        Episode {
            hoist_episode: *hoist_episode,
            id: self.name(id),
            source: *source,
            domain: self.plain(domain),
            task_id: self.optional(task_id.as_ref()),
            agent: self.plain(agent),
            host: host.as_ref().map(|host| self.implementation(host)),
            servers: servers.iter().map(|server| self.server(server)).collect(),
            started_unix_ms: *started_unix_ms,
            duration_ms: *duration_ms,
            reward: *reward,
            usage: usage.clone(),
            tools: tools.iter().map(|tool| self.tool(tool)).collect(),
            events: events.iter().map(|event| self.event(event)).collect(),
        }
    }

    /// What was replaced, and what stayed.
    pub fn report(&mut self) -> Report {
        let (changed, replaced) = (self.changed, self.words.replaced);
        let mut by_rule: BTreeMap<Rule, Kept> = BTreeMap::new();
        by_rule.insert(
            Rule::OneDigit,
            Kept { times: self.words.one_digit, ..Kept::new(Rule::OneDigit) },
        );
        for ((rule, word), times) in &self.words.kept {
            let kept = by_rule.entry(*rule).or_insert_with(|| Kept::new(*rule));
            kept.times += times;
            kept.words.push(word.to_string());
        }
        let sources: Vec<_> = self.words.clear().sources().to_vec();
        let mut constants = Vec::new();
        for source in sources {
            if !matches!(source.rule, Rule::Constant | Rule::SharedKey) {
                continue;
            }
            let path: Vec<String> = source.path.iter().map(|name| self.plain(name)).collect();
            constants.push(KeptAt {
                rule: source.rule,
                path: path.join(" . "),
                kept: source.values,
                distinct: source.distinct,
            });
        }
        // Naming the paths above was no part of the copy.
        (self.changed, self.words.replaced) = (changed, replaced);
        let kept = by_rule.into_values().filter(|kept| kept.times > 0).collect();
        Report { changed, replaced, kept, constants }
    }

    /// A text that is none of JSON's.
    fn plain(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        super::text::replace(&mut self.words, text, &mut out);
        self.changed.texts += u64::from(out != text);
        out
    }

    fn optional(&mut self, text: Option<&String>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    fn raw(&mut self, json: &Json) -> Json {
        let out = self.json(json.get());
        // Values for values leave JSON what it was.
        Json::parse(&out).unwrap_or_default()
    }

    fn implementation(&mut self, of: &Implementation) -> Implementation {
        let Implementation { name, version } = of;
        Implementation { name: self.plain(name), version: self.plain(version) }
    }

    fn server(&mut self, server: &Server) -> Server {
        let Server { name, implementation, protocol_version } = server;
        Server {
            name: self.plain(name),
            implementation: implementation.as_ref().map(|found| self.implementation(found)),
            protocol_version: protocol_version.as_ref().map(|version| self.revision(version)),
        }
    }

    fn revision(&mut self, version: &str) -> String {
        if super::public::REVISIONS.contains(&version) {
            version.to_owned()
        } else {
            self.plain(version)
        }
    }

    fn tool(&mut self, tool: &Tool) -> Tool {
        let Tool { server, name, kind, description, input_schema, output_schema } = tool;
        Tool {
            server: self.plain(server),
            name: self.plain(name),
            kind: *kind,
            description: self.optional(description.as_ref()),
            input_schema: input_schema.as_ref().map(|schema| self.raw(schema)),
            output_schema: output_schema.as_ref().map(|schema| self.raw(schema)),
        }
    }

    fn event(&mut self, event: &Event) -> Event {
        match event {
            Event::User(UserMessage { seq, t_ms, text }) => {
                Event::User(UserMessage { seq: *seq, t_ms: *t_ms, text: self.text(text) })
            }
            Event::Assistant(AssistantTurn { turn, seq, t_ms, text, calls }) => {
                Event::Assistant(AssistantTurn {
                    turn: *turn,
                    seq: *seq,
                    t_ms: *t_ms,
                    text: self.optional(text.as_ref()),
                    calls: calls.iter().map(|call| self.call(call)).collect(),
                })
            }
            Event::Tool(result) => Event::Tool(self.result(result)),
        }
    }

    fn call(&mut self, call: &ToolCall) -> ToolCall {
        let ToolCall { id, turn, seq, t_ms, server, name, arguments, made_by, cancelled } = call;
        ToolCall {
            id: self.plain(id),
            turn: *turn,
            seq: *seq,
            t_ms: *t_ms,
            server: self.plain(server),
            name: self.plain(name),
            arguments: self.raw(arguments),
            made_by: match made_by {
                MadeBy::Layer(name) => MadeBy::Layer(self.plain(name)),
                known => known.clone(),
            },
            cancelled: *cancelled,
        }
    }

    fn result(&mut self, result: &ToolResult) -> ToolResult {
        let ToolResult { call, seq, t_ms, text, structured, other_content, is_error, error_code } =
            result;
        ToolResult {
            call: self.plain(call),
            seq: *seq,
            t_ms: *t_ms,
            text: self.text(text),
            structured: structured.as_ref().map(|json| self.raw(json)),
            other_content: other_content.iter().map(|kind| self.plain(kind)).collect(),
            is_error: *is_error,
            error_code: error_code.map(|code| self.json(&code.to_string()).parse().unwrap_or(0)),
        }
    }
}

/// An entry as it stands in a log, line feed included.
pub fn line_of(entry: &Entry) -> String {
    let mut line = format!("{{\"t_ms\":{},\"from\":\"{}\"", entry.t_ms, entry.from.as_str());
    let quoted = |line: &mut String, text: &str| {
        line.push('"');
        super::scan::encode(text, line);
        line.push('"');
    };
    if let Some(by) = &entry.by {
        line.push_str(",\"by\":");
        quoted(&mut line, by);
    }
    match &entry.content {
        Content::Message(text) => {
            line.push_str(",\"message\":");
            line.push_str(text);
        }
        Content::Raw(text) => {
            line.push_str(",\"raw\":");
            quoted(&mut line, text);
        }
        Content::Gap(gap) => {
            let _ = write!(line, ",\"gap\":{{\"lines\":{},\"bytes\":{}}}", gap.lines, gap.bytes);
        }
    }
    line.push_str("}\n");
    line
}

/// What a [`Redactor`] replaced, and what it left in clear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Texts, numbers and keys that are not what they were.
    pub changed: Changed,
    /// Words in them that were replaced.
    pub replaced: Replaced,
    /// What stayed in clear, by rule.
    pub kept: Vec<Kept>,
    /// The paths whose keys or values brought words into clear that nothing declares.
    pub constants: Vec<KeptAt>,
}

/// What stayed in clear by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Kept {
    /// The rule.
    pub rule: Rule,
    /// How often.
    pub times: u64,
    /// The words, in lower case; of numbers, none are listed.
    pub words: Vec<String>,
}

impl Kept {
    fn new(rule: Rule) -> Self {
        Self { rule, times: 0, words: Vec::new() }
    }
}

/// What stayed in clear because of what a path has in many sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptAt {
    /// The rule.
    pub rule: Rule,
    /// The path, as it is in the copy.
    pub path: String,
    /// The keys or values that stay.
    pub kept: Vec<String>,
    /// How many different values the path has; of keys, how many stay.
    pub distinct: u64,
}
