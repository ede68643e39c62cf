//! The first pass over a dataset: what stays in clear is decided by all of it.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::clear::{Clear, Rule, Source};
use super::paths::{Paths, Place};
use super::scan::{Part, Scanner, Token, decode, is_container};
use super::schema::{Declared, is_name};
use super::shapes::is_constant_like;
use crate::episode::{Episode, Event};
use crate::log::{Content, Entry, Origin};

/// A value is shared if so many sessions have it, or this share of them if that is more.
const LEAST_SESSIONS: u32 = 5;
const LEAST_SHARE: u32 = 20;

/// How deep JSON in strings is looked into.
const MAX_NESTED: u8 = 4;

/// How many different values are told from keys; with more, no key stays that nobody declares.
const MAX_VALUES: usize = 1 << 20;

/// How many tools' names stay.
const MAX_TOOLS: usize = 10_000;

/// How many different codes of errors stay.
const MAX_CODES: usize = 256;

/// How many unanswered requests are kept, and how long their ids may be.
const MAX_PENDING: usize = 10_000;
const MAX_ID_BYTES: usize = 1_000;

/// Counts what a dataset holds, in bounded memory: the first of two passes.
///
/// # Examples
///
/// ```
/// use hoist_trace::log::LogReader;
/// use hoist_trace::redact::{Key, Redactor, Survey};
///
/// let log = concat!(
///     "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":0}\n",
///     "{\"t_ms\":1,\"from\":\"client\",\"message\":{\"id\":\"job-4711\",\"method\":\"ping\"}}\n",
/// );
/// let mut survey = Survey::new();
/// survey.session();
/// for entry in LogReader::new(log.as_bytes(), "s.jsonl")? {
///     survey.entry(&entry?);
/// }
/// let mut redactor = Redactor::new(&Key::new(&[7; 32])?, survey.finish());
/// for entry in LogReader::new(log.as_bytes(), "s.jsonl")? {
///     let copy = redactor.entry(&entry?);
///     assert!(copy.message().unwrap().ends_with("\"method\":\"ping\"}"));
///     assert!(!copy.message().unwrap().contains("4711"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Survey {
    session: u32,
    paths: Paths,
    tools: BTreeSet<String>,
    codes: BTreeSet<u64>,
    declared: Declared,
    /// Short values, by hash.
    values: HashSet<u64>,
    hash: RandomState,
    /// What requests were for whose answers are still to come, by the text of their ids.
    pending: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Default for Survey {
    fn default() -> Self {
        Self::new()
    }
}

impl Survey {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self {
            session: 0,
            paths: Paths::new(),
            tools: BTreeSet::new(),
            codes: BTreeSet::new(),
            declared: Declared::default(),
            values: HashSet::new(),
            hash: RandomState::new(),
            pending: HashMap::new(),
        }
    }

    /// Begins the next session.
    pub fn session(&mut self) {
        self.session += 1;
        self.pending.clear();
    }

    /// Takes the next entry of the session's log.
    pub fn entry(&mut self, entry: &Entry) {
        let Content::Message(text) = &entry.content else { return };
        if entry.from == Origin::Context {
            return;
        }
        if text.trim_ascii_start().starts_with('[') {
            if let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(text) {
                for message in batch {
                    self.message(message.get(), entry.from);
                }
            }
        } else {
            self.message(text, entry.from);
        }
    }

    /// Takes a session that is an episode.
    pub fn episode(&mut self, episode: &Episode) {
        self.session();
        for tool in &episode.tools {
            self.tool(&tool.name);
            for schema in [&tool.input_schema, &tool.output_schema].into_iter().flatten() {
                self.declared.read(schema.get());
            }
        }
        let mut tools = HashMap::new();
        for event in &episode.events {
            match event {
                Event::User(_) => {}
                Event::Assistant(turn) => {
                    for call in &turn.calls {
                        self.tool(&call.name);
                        tools.insert(&*call.id, &*call.name);
                        self.arguments(&call.name, call.arguments.get());
                    }
                }
                Event::Tool(result) => {
                    if let Some(code) = result.error_code {
                        self.code(code);
                    }
                    let tool = tools.get(&*result.call).copied().unwrap_or_default();
                    let at = self.paths.root(&format!("{tool} result"), self.session);
                    self.text(at, &result.text, 0);
                    if let Some(structured) = &result.structured {
                        self.json(at, structured.get(), 0);
                    }
                }
            }
        }
    }

    /// Decides what stays in clear.
    pub fn finish(self) -> Clear {
        let mut clear = Clear::new();
        if !self.tools.is_empty() {
            let values: Vec<String> = self.tools.into_iter().collect();
            let distinct = values.len() as u64;
            clear.add(Source { rule: Rule::ToolName, path: Vec::new(), values, distinct });
        }
        if !self.codes.is_empty() {
            let values: Vec<String> = self.codes.iter().map(u64::to_string).collect();
            let distinct = values.len() as u64;
            clear.add(Source { rule: Rule::ErrorCode, path: Vec::new(), values, distinct });
        }
        self.declared.finish(&mut clear);
        let least = LEAST_SESSIONS.max(self.session.div_ceil(LEAST_SHARE));
        let is_full = self.values.len() >= MAX_VALUES;
        let is_a_value = |key: &str| {
            is_full || self.values.contains(&self.hash.hash_one(key.to_ascii_lowercase()))
        };
        self.paths.finish(least, is_a_value, &mut clear);
        clear
    }

    fn message(&mut self, text: &str, from: Origin) {
        if !text.trim_ascii_start().starts_with('{') {
            return;
        }
        let Ok(message) = serde_json::from_str::<Message<'_>>(text) else { return };
        let Message { id, method, params, result, error } = message;
        if let Some(error) = error {
            self.error(error.get());
        }
        let id = id.map(|id| id.get().to_owned());
        if let Some(method) = method {
            let mut what = method;
            let params = params.map_or("{}", RawValue::get);
            if what == "tools/call" {
                #[derive(Deserialize)]
                struct Call<'a> {
                    name: String,
                    #[serde(borrow, default)]
                    arguments: Option<&'a RawValue>,
                }
                if let Ok(call) = serde_json::from_str::<Call<'_>>(params) {
                    self.tool(&call.name);
                    self.arguments(&call.name, call.arguments.map_or("{}", RawValue::get));
                    what = call.name;
                }
            }
            if let Some(id) = id.filter(|id| from != Origin::Server && id.len() <= MAX_ID_BYTES)
                && self.pending.len() < MAX_PENDING
            {
                self.pending.insert(id, what);
            }
        } else if let (Some(result), Some(id)) = (result, id) {
            let what = self.pending.remove(&id).unwrap_or_default();
            if what == "tools/list" {
                self.listed(result.get());
            } else {
                let at = self.paths.root(&format!("{what} result"), self.session);
                self.json(at, result.get(), 0);
            }
        }
    }

    fn error(&mut self, error: &str) {
        #[derive(Deserialize)]
        struct Error {
            code: i64,
        }
        if let Ok(Error { code }) = serde_json::from_str::<Error>(error) {
            self.code(code);
        }
    }

    /// The code of a JSON-RPC error. An application may have its own; none is as long as an id.
    fn code(&mut self, code: i64) {
        if code.unsigned_abs() < 100_000 && self.codes.len() < MAX_CODES {
            self.codes.insert(code.unsigned_abs());
        }
    }

    fn listed(&mut self, result: &str) {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow)]
            tools: Vec<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Tool<'a> {
            name: String,
            #[serde(borrow, default, rename = "inputSchema")]
            input: Option<&'a RawValue>,
            #[serde(borrow, default, rename = "outputSchema")]
            output: Option<&'a RawValue>,
        }
        let Ok(list) = serde_json::from_str::<List<'_>>(result) else { return };
        for tool in list.tools {
            let Ok(tool) = serde_json::from_str::<Tool<'_>>(tool.get()) else { continue };
            self.tool(&tool.name);
            for schema in [tool.input, tool.output].into_iter().flatten() {
                self.declared.read(schema.get());
            }
        }
    }

    /// A tool's name, if it is spelt as MCP says.
    fn tool(&mut self, name: &str) {
        if is_name(name) && self.tools.len() < MAX_TOOLS && !self.tools.contains(name) {
            self.tools.insert(name.to_owned());
        }
    }

    fn arguments(&mut self, tool: &str, arguments: &str) {
        let at = self.paths.root(tool, self.session);
        self.json(at, arguments, 0);
    }

    fn json(&mut self, root: Place, json: &str, nested: u8) {
        let mut scanner = Scanner::new(json);
        let mut open: Vec<(Place, bool)> = Vec::new();
        let mut member = root;
        while let (_, Some(token)) = scanner.next() {
            let at = match (&token, open.last()) {
                (Token::Key(_) | Token::Close { .. }, _) | (_, None | Some((_, true))) => member,
                (_, Some((list, false))) => self.paths.elements(*list, self.session),
            };
            match token {
                Token::Open { object } => {
                    if object {
                        self.paths.object(at);
                    }
                    open.push((at, object));
                }
                Token::Close { .. } => {
                    open.pop();
                }
                Token::Key(key) => {
                    if let Some((object, _)) = open.last() {
                        member = self.paths.member(*object, key, self.session);
                    }
                }
                Token::Text(raw) => {
                    if let [Part::Text(text)] = &decode(raw)[..] {
                        self.text(at, text, nested + 1);
                    }
                }
                Token::Number(number) => {
                    self.paths.value(at, number, number.len() == 2, self.session);
                }
                Token::Literal(_) => {}
            }
        }
    }

    fn text(&mut self, at: Place, text: &str, nested: u8) {
        if nested < MAX_NESTED && is_container(text) {
            return self.json(at, text, nested);
        }
        self.paths.value(at, text, is_constant_like(text), self.session);
        if text.len() <= 40 && self.values.len() < MAX_VALUES {
            self.values.insert(self.hash.hash_one(text.to_ascii_lowercase()));
        }
    }
}
