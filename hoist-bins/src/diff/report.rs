//! What a comparison came to.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use super::calls::{Compared, Ignored, compare};
use super::pairs::{By, Matched, pair};
use super::side::{Session, Side};
use super::tree::{Change, Tree};

/// All that was found, as it is printed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) equal: bool,
    pub(super) differences: usize,
    pub(super) a: SideRow,
    pub(super) b: SideRow,
    pub(super) tools: Tools,
    pub(super) sessions: Sessions,
    /// What differs and does not count.
    pub(super) ignored: Vec<IgnoredRow>,
    pub(super) timing: Vec<TimingRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct SideRow {
    pub(super) path: String,
    pub(super) sessions: usize,
    pub(super) calls: usize,
    pub(super) unread: u64,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Tools {
    /// Whether both sides listed any: many hosts list tools once and remember them.
    pub(super) compared: bool,
    pub(super) added: Vec<String>,
    pub(super) gone: Vec<String>,
    pub(super) changed: Vec<ChangedTool>,
}

#[derive(Debug, Serialize)]
pub(super) struct ChangedTool {
    pub(super) tool: String,
    pub(super) changes: Vec<Change>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Sessions {
    pub(super) added: Vec<String>,
    pub(super) gone: Vec<String>,
    pub(super) pairs: Vec<PairRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct PairRow {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) by: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<String>,
    #[serde(flatten)]
    pub(super) calls: Compared,
}

#[derive(Debug, Serialize)]
pub(super) struct IgnoredRow {
    pub(super) tool: String,
    pub(super) arguments: Tree,
    pub(super) paths: BTreeSet<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct TimingRow {
    pub(super) tool: String,
    pub(super) a: Timing,
    pub(super) b: Timing,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Timing {
    /// Calls that were answered.
    pub(super) calls: usize,
    pub(super) p50_ms: Option<u64>,
}

impl Report {
    /// Compares two sides.
    pub(super) fn of(paths: [&Path; 2], a: &Side, b: &Side, ignore: &[String]) -> Self {
        let tools = tools(a, b);
        let mut ignored = Ignored::of(a, b, ignore);
        let sessions = sessions(a, b, &mut ignored);
        let differences = tools.added.len()
            + tools.gone.len()
            + tools.changed.len()
            + sessions.added.len()
            + sessions.gone.len()
            + sessions.pairs.iter().map(|pair| pair.calls.differences()).sum::<usize>();
        let ignored = ignored.met.into_iter().map(|(asked, paths)| IgnoredRow {
            tool: asked.tool.clone(),
            arguments: Tree::parse(&asked.arguments),
            paths,
        });
        let side = |path: &Path, side: &Side| SideRow {
            path: path.to_string_lossy().into_owned(),
            sessions: side.sessions.len(),
            calls: side.calls().count(),
            unread: side.unread,
        };
        Self {
            equal: differences == 0,
            differences,
            a: side(paths[0], a),
            b: side(paths[1], b),
            tools,
            sessions,
            ignored: ignored.collect(),
            timing: timing(a, b),
        }
    }
}

fn tools(a: &Side, b: &Side) -> Tools {
    if a.tools.is_empty() || b.tools.is_empty() {
        return Tools::default();
    }
    let only = |one: &Side, other: &Side| {
        one.tools.keys().filter(|name| !other.tools.contains_key(*name)).cloned().collect()
    };
    let changed = a.tools.iter().filter_map(|(name, definition)| {
        let changes = definition.changes(b.tools.get(name)?);
        (!changes.is_empty()).then(|| ChangedTool { tool: name.clone(), changes })
    });
    Tools { compared: true, added: only(b, a), gone: only(a, b), changed: changed.collect() }
}

fn sessions<'a>(a: &'a Side, b: &'a Side, ignored: &mut Ignored<'a>) -> Sessions {
    let Matched { pairs, only_a, only_b } = pair(&a.sessions, &b.sessions);
    let ids =
        |only: Vec<usize>, of: &[Session]| only.into_iter().map(|at| of[at].id.clone()).collect();
    let pairs = pairs.into_iter().map(|(one, other, by)| {
        let (one, other) = (&a.sessions[one], &b.sessions[other]);
        PairRow {
            a: one.id.clone(),
            b: other.id.clone(),
            by,
            task_id: one.task_id.clone().filter(|_| by == By::Task),
            calls: compare(one, other, ignored),
        }
    });
    let pairs = pairs.collect();
    Sessions { added: ids(only_b, &b.sessions), gone: ids(only_a, &a.sessions), pairs }
}

fn timing(a: &Side, b: &Side) -> Vec<TimingRow> {
    let (a, b) = (a.durations(), b.durations());
    let tools: BTreeSet<&str> = a.keys().chain(b.keys()).copied().collect();
    let of = |durations: Option<&Vec<u64>>| {
        let durations = durations.map_or(&[][..], Vec::as_slice);
        // Of an even number, the lower of the two in the middle: one that was measured.
        let middle = durations.len().saturating_sub(1) / 2;
        Timing { calls: durations.len(), p50_ms: durations.get(middle).copied() }
    };
    tools
        .into_iter()
        .map(|tool| TimingRow { tool: tool.to_owned(), a: of(a.get(tool)), b: of(b.get(tool)) })
        .collect()
}
