//! Which session of one side belongs to which of the other.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use serde::Serialize;

use super::side::{Asked, Session};

/// Why two sessions were taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// Each side has only one.
    Alone,
    Task,
    Calls,
    Order,
}

/// Sessions by their places on each side.
#[derive(Debug, Default)]
pub(super) struct Matched {
    pub(super) pairs: Vec<(usize, usize, By)>,
    pub(super) only_a: Vec<usize>,
    pub(super) only_b: Vec<usize>,
}

/// How many first calls two sessions must have in common, the best match first.
const FIRST_CALLS: [usize; 6] = [32, 16, 8, 4, 2, 1];

/// Takes sessions together: by task, else by their calls from the first on, else in order.
pub(super) fn pair(a: &[Session], b: &[Session]) -> Matched {
    let mut found = Matched::default();
    if a.len() == 1 && b.len() == 1 {
        found.pairs.push((0, 0, By::Alone));
        return found;
    }
    let (mut left_a, mut left_b) = ((0..a.len()).collect(), (0..b.len()).collect());
    let mut take = |by,
                    left_a: &mut Vec<usize>,
                    left_b: &mut Vec<usize>,
                    key: &dyn Fn(&Session) -> Option<Key>| {
        let taken = by_key(left_a, left_b, |at| key(&a[at]), |at| key(&b[at]));
        found.pairs.extend(taken.into_iter().map(|(a, b)| (a, b, by)));
    };
    take(By::Task, &mut left_a, &mut left_b, &|session| session.task_id.clone().map(Key::Task));
    let has_task = |sessions: &[Session]| sessions.iter().any(|session| session.task_id.is_some());
    if has_task(a) && has_task(b) {
        // A task that only one side has is no other task of the other side.
        let tasks = |left: &mut Vec<usize>, of: &[Session]| -> Vec<usize> {
            left.extract_if(.., |at| of[*at].task_id.is_some()).collect()
        };
        found.only_a = tasks(&mut left_a, a);
        found.only_b = tasks(&mut left_b, b);
    }
    let all = |session: &Session| (!session.calls.is_empty()).then(|| calls(session, usize::MAX));
    take(By::Calls, &mut left_a, &mut left_b, &all);
    for count in FIRST_CALLS {
        let first =
            |session: &Session| (session.calls.len() >= count).then(|| calls(session, count));
        take(By::Calls, &mut left_a, &mut left_b, &first);
    }
    let in_order = left_a.len().min(left_b.len());
    let rest = left_a.drain(..in_order).zip(left_b.drain(..in_order));
    found.pairs.extend(rest.map(|(a, b)| (a, b, By::Order)));
    found.only_a.append(&mut left_a);
    found.only_b.append(&mut left_b);
    found.pairs.sort_by_key(|(a, ..)| *a);
    found.only_a.sort_unstable();
    found.only_b.sort_unstable();
    found
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Task(String),
    Calls(Vec<Asked>),
}

fn calls(session: &Session, count: usize) -> Key {
    Key::Calls(session.calls.iter().take(count).map(|call| call.asked.clone()).collect())
}

/// Takes those of one key together, in order, and leaves the others.
fn by_key<K: Eq + Hash>(
    left_a: &mut Vec<usize>,
    left_b: &mut Vec<usize>,
    key_a: impl Fn(usize) -> Option<K>,
    key_b: impl Fn(usize) -> Option<K>,
) -> Vec<(usize, usize)> {
    let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
    for at in left_b.iter() {
        if let Some(key) = key_b(*at) {
            waiting.entry(key).or_default().push_back(*at);
        }
    }
    let mut pairs = Vec::new();
    left_a.retain(|at| {
        let partner = key_a(*at).and_then(|key| waiting.get_mut(&key)?.pop_front());
        pairs.extend(partner.map(|partner| (*at, partner)));
        partner.is_none()
    });
    let taken: std::collections::HashSet<usize> = pairs.iter().map(|(_, b)| *b).collect();
    left_b.retain(|at| !taken.contains(at));
    pairs
}
