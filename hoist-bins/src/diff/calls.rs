//! The calls of two sessions, one against the other.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::side::{Asked, Call, Session, Side, Volatile};
use super::tree::{Change, Tree, is_within};

/// How the calls of two sessions differ.
#[derive(Debug, Default, Serialize)]
pub(super) struct Compared {
    pub(super) added: Vec<CallRow>,
    pub(super) gone: Vec<CallRow>,
    pub(super) changed: Vec<ChangedCall>,
    pub(super) results: Vec<ChangedResult>,
}

/// A call that one side has.
#[derive(Debug, Serialize)]
pub(super) struct CallRow {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: Tree,
}

/// A call that has other arguments.
#[derive(Debug, Serialize)]
pub(super) struct ChangedCall {
    pub(super) tool: String,
    pub(super) a: String,
    pub(super) b: String,
    pub(super) changes: Vec<Change>,
}

/// A call that got another result. Where one side has none, there is one change, without a path.
#[derive(Debug, Serialize)]
pub(super) struct ChangedResult {
    pub(super) tool: String,
    pub(super) arguments: Tree,
    pub(super) a: String,
    pub(super) b: String,
    pub(super) changes: Vec<Change>,
}

impl Compared {
    pub(super) fn differences(&self) -> usize {
        self.added.len() + self.gone.len() + self.changed.len() + self.results.len()
    }
}

/// What is not compared of results.
#[derive(Debug)]
pub(super) struct Ignored<'a> {
    /// What differs on one side already.
    volatile: Volatile<'a>,
    /// What the user named.
    named: &'a [String],
    /// What was passed over so.
    pub(super) met: BTreeMap<&'a Asked, BTreeSet<String>>,
}

impl<'a> Ignored<'a> {
    pub(super) fn of(a: &'a Side, b: &'a Side, named: &'a [String]) -> Self {
        let mut volatile = Volatile::default();
        a.add_volatile(&mut volatile);
        b.add_volatile(&mut volatile);
        Self { volatile, named, met: BTreeMap::new() }
    }

    /// Takes out of the changes from one result to the other what does not count.
    fn take_from(&mut self, changes: &mut Vec<Change>, a: &'a Call, b: &Call) {
        let asked = &a.asked;
        let is_unsteady = a.is_error != b.is_error && self.volatile.unsteady.contains(asked);
        let volatile = self.volatile.paths.get(&(asked, a.is_error)).into_iter().flatten();
        let outer: Vec<&String> = volatile.chain(self.named).collect();
        let mut met = BTreeSet::new();
        changes.retain(|Change { path, .. }| {
            let ignored = match outer.iter().find(|outer| is_within(path, outer)) {
                Some(outer) => *outer,
                None if is_unsteady => path,
                None => return true,
            };
            met.insert(ignored.clone());
            false
        });
        if !met.is_empty() {
            self.met.entry(asked).or_default().append(&mut met);
        }
    }
}

/// Compares two sessions: calls are the same that ask the same, in order.
pub(super) fn compare<'a>(a: &'a Session, b: &'a Session, ignored: &mut Ignored<'a>) -> Compared {
    let asked = |session: &'a Session| -> Vec<&'a Asked> {
        session.calls.iter().map(|call| &call.asked).collect()
    };
    let mut compared = Compared::default();
    // What lies between two calls that are the same.
    let (mut gone, mut added) = (0..0, 0..0);
    for operation in capture_diff_slices(Algorithm::Myers, &asked(a), &asked(b)) {
        match operation {
            DiffOp::Equal { old_index, new_index, len } => {
                between(&a.calls[gone], &b.calls[added], &mut compared);
                for at in 0..len {
                    let (one, other) = (&a.calls[old_index + at], &b.calls[new_index + at]);
                    compared.results.extend(results(one, other, ignored));
                }
                gone = old_index + len..old_index + len;
                added = new_index + len..new_index + len;
            }
            other => {
                gone = joined(gone, other.old_range());
                added = joined(added, other.new_range());
            }
        }
    }
    between(&a.calls[gone], &b.calls[added], &mut compared);
    compared
}

/// A range and what follows it.
fn joined(range: Range<usize>, next: Range<usize>) -> Range<usize> {
    if next.is_empty() {
        range
    } else if range.is_empty() {
        next
    } else {
        range.start..next.end
    }
}

/// Calls in one place that ask different things: of one tool, taken together in order.
fn between(gone: &[Call], added: &[Call], compared: &mut Compared) {
    let mut by_tool: HashMap<&str, VecDeque<&Call>> = HashMap::new();
    for call in gone {
        by_tool.entry(&call.asked.tool).or_default().push_back(call);
    }
    let mut changed_ids = BTreeSet::new();
    for call in added {
        let tool = &call.asked.tool;
        let Some(earlier) = by_tool.get_mut(&**tool).and_then(VecDeque::pop_front) else {
            compared.added.push(CallRow::of(call));
            continue;
        };
        changed_ids.insert(&earlier.id);
        let arguments = |call: &Call| Tree::parse(&call.asked.arguments);
        compared.changed.push(ChangedCall {
            tool: tool.clone(),
            a: earlier.id.clone(),
            b: call.id.clone(),
            changes: arguments(earlier).changes(&arguments(call)),
        });
    }
    let gone = gone.iter().filter(|call| !changed_ids.contains(&call.id));
    compared.gone.extend(gone.map(CallRow::of));
}

impl CallRow {
    fn of(call: &Call) -> Self {
        let Asked { tool, arguments } = &call.asked;
        Self { id: call.id.clone(), tool: tool.clone(), arguments: Tree::parse(arguments) }
    }
}

fn results<'a>(a: &'a Call, b: &'a Call, ignored: &mut Ignored<'a>) -> Option<ChangedResult> {
    let changes = match (&a.result, &b.result) {
        (Some(one), Some(other)) => {
            let mut changes = one.changes(other);
            ignored.take_from(&mut changes, a, b);
            changes
        }
        (None, None) => Vec::new(),
        (one, other) => {
            vec![Change { path: String::new(), a: one.clone(), b: other.clone() }]
        }
    };
    (!changes.is_empty()).then(|| ChangedResult {
        tool: a.asked.tool.clone(),
        arguments: Tree::parse(&a.asked.arguments),
        a: a.id.clone(),
        b: b.id.clone(),
        changes,
    })
}
