//! One side of a comparison, reduced to what is compared.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hoist_trace::Json;
use hoist_trace::episode::{Tool, ToolCall, ToolKind, ToolResult};
use hoist_trace::sessions::Found;

use super::tree::Tree;

/// What a call asks for: two calls are the same that name the same tool and say the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) tool: String,
    /// The arguments, as text that is the same for those that say the same.
    pub(super) arguments: String,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) asked: Asked,
    /// What came back; `None` for a call that was not answered.
    pub(super) result: Option<Tree>,
    pub(super) is_error: bool,
    duration_ms: Option<u64>,
}

/// What differs between the results of one and the same call.
#[derive(Debug, Default)]
pub(super) struct Volatile<'a> {
    /// Where results of a call differ. An error has nothing in common with any other result, so
    /// errors are held against errors only.
    pub(super) paths: HashMap<(&'a Asked, bool), BTreeSet<String>>,
    /// Calls that failed once and did not another time.
    pub(super) unsteady: HashSet<&'a Asked>,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) task_id: Option<String>,
    /// In order, but sorted within a turn, whose calls are made at once.
    pub(super) calls: Vec<Call>,
}

/// All sessions of a side, in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) sessions: Vec<Session>,
    /// What is known of each tool that was listed, by its name: as the last session has it.
    pub(super) tools: BTreeMap<String, Tree>,
    /// What could not be read.
    pub(super) unread: u64,
}

impl Side {
    pub(super) fn add(&mut self, found: &Found) {
        let episode = &found.episode;
        for tool in &episode.tools {
            self.tools.insert(tool.name.clone(), definition(tool));
        }
        let results: HashMap<&str, &ToolResult> =
            episode.results().map(|result| (result.call.as_str(), result)).collect();
        let mut calls = Vec::new();
        for turn in episode.turns() {
            let start = calls.len();
            let of_turn = turn.calls.iter();
            calls.extend(of_turn.map(|call| Call::new(call, results.get(&*call.id).copied())));
            calls[start..].sort_by(|one, other| one.asked.cmp(&other.asked));
        }
        let (id, task_id) = (episode.id.clone(), episode.task_id.clone());
        self.sessions.push(Session { id, task_id, calls });
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.sessions.iter().flat_map(|session| &session.calls)
    }

    /// Adds what differs between the results of one and the same call.
    pub(super) fn add_volatile<'a>(&'a self, volatile: &mut Volatile<'a>) {
        let mut first: HashMap<(&Asked, bool), &Tree> = HashMap::new();
        for call in self.calls() {
            let Some(result) = &call.result else { continue };
            let key = (&call.asked, call.is_error);
            if let Some(earlier) = first.get(&key) {
                let changes = earlier.changes(result);
                if !changes.is_empty() {
                    let paths = changes.into_iter().map(|change| change.path);
                    volatile.paths.entry(key).or_default().extend(paths);
                }
            } else {
                first.insert(key, result);
            }
        }
        let failed_and_not = |(asked, is_error): &&(&'a Asked, bool)| {
            *is_error && first.contains_key(&(*asked, false))
        };
        volatile.unsteady.extend(first.keys().filter(failed_and_not).map(|(asked, _)| *asked));
    }

    /// How long the calls of each tool took, shortest first.
    pub(super) fn durations(&self) -> BTreeMap<&str, Vec<u64>> {
        let mut durations: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for call in self.calls() {
            durations.entry(&call.asked.tool).or_default().extend(call.duration_ms);
        }
        for durations in durations.values_mut() {
            durations.sort_unstable();
        }
        durations
    }
}

impl Call {
    fn new(call: &ToolCall, result: Option<&ToolResult>) -> Self {
        let arguments = Tree::parse(call.arguments.get()).json();
        Self {
            id: call.id.clone(),
            asked: Asked { tool: call.name.clone(), arguments },
            result: result.map(answer),
            is_error: result.is_some_and(|result| result.is_error),
            duration_ms: result.map(|result| result.t_ms.saturating_sub(call.t_ms)),
        }
    }
}

/// A result as one value.
fn answer(result: &ToolResult) -> Tree {
    let mut members = BTreeMap::from([
        ("text".to_owned(), Tree::of_text(&result.text)),
        ("is_error".to_owned(), Tree::bool(result.is_error)),
    ]);
    let mut add = |name: &str, value: Option<Tree>| {
        members.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("structured", result.structured.as_ref().map(of_json));
    add("error_code", result.error_code.map(|code| Tree::Leaf(code.to_string())));
    let other = result.other_content.iter().map(|kind| Tree::string(kind)).collect();
    add("other_content", (!result.other_content.is_empty()).then_some(Tree::List(other)));
    Tree::Object(members)
}

/// A tool's definition as one value.
fn definition(tool: &Tool) -> Tree {
    let kind = match tool.kind {
        ToolKind::Read => Some("read"),
        ToolKind::Write => Some("write"),
        _ => None,
    };
    let members = [
        ("kind", kind.map(Tree::string)),
        ("description", tool.description.as_deref().map(Tree::string)),
        ("input_schema", tool.input_schema.as_ref().map(of_json)),
        ("output_schema", tool.output_schema.as_ref().map(of_json)),
    ];
    let known = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Tree::Object(known.collect())
}

fn of_json(json: &Json) -> Tree {
    Tree::parse(json.get())
}
