//! What stands at each path of a dataset: counts, and the few values that may be constants.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use super::clear::{Clear, Rule, Source};
use super::shapes::{is_key_like, is_personal};

/// How many paths are counted; what stands at others never stays in clear.
const MAX_PATHS: usize = 100_000;

/// More different values than this at a path, and none of them is a constant.
const MAX_VALUES: usize = 16;

/// A path in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place(u32);

impl Place {
    /// The one place that is not in the table: nothing is known of it.
    const NONE: Self = Self(u32::MAX);
    const ROOT: Self = Self(0);
}

#[derive(Debug)]
pub(super) struct Paths {
    nodes: Vec<Node>,
    children: HashMap<(Place, u64), Place>,
    hash: RandomState,
}

#[derive(Debug, Default)]
struct Node {
    parent: Option<Place>,
    name: Box<str>,
    is_key: bool,
    sessions: Sessions,
    /// How often it stood there, and how often with an object.
    times: u32,
    objects: u32,
    values: Vec<Value>,
    has_many: bool,
}

/// In how many sessions something was.
#[derive(Debug, Default, Clone, Copy)]
struct Sessions {
    count: u32,
    last: u32,
}

impl Sessions {
    fn meet(&mut self, session: u32) {
        if self.last != session {
            self.last = session;
            self.count += 1;
        }
    }
}

#[derive(Debug)]
struct Value {
    hash: u64,
    sessions: Sessions,
    /// The value, if it may be a constant.
    text: Option<Box<str>>,
}

/// The values of a path, whatever keys of maps it leads through.
#[derive(Debug)]
struct Few<'a> {
    /// By hash; in how many sessions each is at least.
    values: BTreeMap<u64, (Option<&'a str>, u32)>,
    has_many: bool,
    place: Place,
}

impl Default for Few<'_> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), has_many: false, place: Place::NONE }
    }
}

impl<'a> Few<'a> {
    fn add(&mut self, node: &'a Node, place: Place) {
        self.place = place;
        self.has_many |= node.has_many;
        for Value { hash, sessions, text } in &node.values {
            let (_, most) = self.values.entry(*hash).or_insert((text.as_deref(), 0));
            *most = (*most).max(sessions.count);
        }
    }
}

impl Paths {
    pub(super) fn new() -> Self {
        let root = Node::default();
        Self { nodes: vec![root], children: HashMap::new(), hash: RandomState::new() }
    }

    /// A path of its own, for what one tool or method takes or gives.
    pub(super) fn root(&mut self, name: &str, session: u32) -> Place {
        self.below(Place::ROOT, name, false, session)
    }

    /// A member of the objects at a path.
    pub(super) fn member(&mut self, of: Place, key: &str, session: u32) -> Place {
        self.below(of, key, true, session)
    }

    /// The elements of the lists at a path.
    pub(super) fn elements(&mut self, of: Place, session: u32) -> Place {
        self.below(of, "*", false, session)
    }

    fn below(&mut self, parent: Place, name: &str, is_key: bool, session: u32) -> Place {
        // Nobody's schema has names as long as that.
        if parent == Place::NONE || name.len() > 128 {
            return Place::NONE;
        }
        let hash = self.hash.hash_one((is_key, name));
        let place = match self.children.get(&(parent, hash)) {
            Some(place) => *place,
            None if self.nodes.len() >= MAX_PATHS => return Place::NONE,
            None => {
                let place = Place(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
                let name = name.into();
                self.nodes.push(Node { parent: Some(parent), name, is_key, ..Node::default() });
                self.children.insert((parent, hash), place);
                place
            }
        };
        if let Some(node) = self.node(place) {
            node.sessions.meet(session);
            node.times = node.times.saturating_add(1);
        }
        place
    }

    fn node(&mut self, place: Place) -> Option<&mut Node> {
        self.nodes.get_mut(place.0 as usize)
    }

    pub(super) fn object(&mut self, at: Place) {
        if let Some(node) = self.node(at) {
            node.objects = node.objects.saturating_add(1);
        }
    }

    /// A value that is met; `may_be_constant` as far as can be seen from the value.
    pub(super) fn value(&mut self, at: Place, text: &str, may_be_constant: bool, session: u32) {
        let hash = self.hash.hash_one(text);
        let Some(node) = self.node(at) else { return };
        if node.has_many {
            return;
        }
        if let Some(value) = node.values.iter_mut().find(|value| value.hash == hash) {
            return value.sessions.meet(session);
        }
        if node.values.len() >= MAX_VALUES {
            node.has_many = true;
            node.values = Vec::new();
            return;
        }
        let mut sessions = Sessions::default();
        sessions.meet(session);
        let text = may_be_constant.then(|| text.into());
        node.values.push(Value { hash, sessions, text });
    }

    /// Adds the keys and the constants that so many sessions share.
    pub(super) fn finish(
        &self,
        least_sessions: u32,
        is_a_value: impl Fn(&str) -> bool,
        clear: &mut Clear,
    ) {
        let maps = self.maps(&is_a_value);
        let mut keys: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
        let mut values: BTreeMap<Vec<String>, Few<'_>> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let place = Place(u32::try_from(at).unwrap_or(u32::MAX));
            if !node.values.is_empty() || node.has_many {
                values.entry(self.path(place, &maps)).or_default().add(node, place);
            }
            let Some(parent) = node.parent else { continue };
            let objects = self.nodes[parent.0 as usize].objects;
            // Keys of a map come and go, and turn up as values elsewhere.
            let is_shared = node.is_key
                && node.sessions.count >= least_sessions
                && is_key_like(&node.name)
                && u64::from(node.times) * 5 >= u64::from(objects)
                && !maps.contains(&parent)
                && !is_a_value(&node.name);
            if is_shared {
                keys.entry(self.path(parent, &maps)).or_default().insert(node.name.to_string());
            }
        }
        for (path, keys) in keys {
            let values: Vec<String> = keys.into_iter().collect();
            let distinct = values.len() as u64;
            clear.add(Source { rule: Rule::SharedKey, path, values, distinct });
        }
        for (path, Few { values, has_many, place }) in values {
            if has_many || values.len() > MAX_VALUES || self.names_somebody(place) {
                continue;
            }
            let distinct = values.len() as u64;
            let kept = values.into_values().filter(|(_, sessions)| *sessions >= least_sessions);
            let values: Vec<String> =
                kept.filter_map(|(text, _)| text.map(str::to_owned)).collect();
            if !values.is_empty() {
                clear.add(Source { rule: Rule::Constant, path, values, distinct });
            }
        }
    }

    /// The objects that are maps: three of five of their keys are values elsewhere, or spelt like one.
    fn maps(&self, is_a_value: &impl Fn(&str) -> bool) -> HashSet<Place> {
        let mut keys: HashMap<Place, (u64, u64)> = HashMap::new();
        for node in &self.nodes {
            if let (true, Some(parent)) = (node.is_key, node.parent) {
                let (all, like_values) = keys.entry(parent).or_default();
                *all += 1;
                *like_values += u64::from(!is_key_like(&node.name) || is_a_value(&node.name));
            }
        }
        let is_map = |(_, (all, like)): &(Place, (u64, u64))| like * 5 >= all * 3;
        keys.into_iter().filter(is_map).map(|(place, _)| place).collect()
    }

    /// The names from the root down; any key of a map is `{}`.
    fn path(&self, at: Place, maps: &HashSet<Place>) -> Vec<String> {
        let mut names = Vec::new();
        let mut next = Some(at);
        while let Some(node) = next.and_then(|place| self.nodes.get(place.0 as usize)) {
            if let Some(parent) = node.parent {
                let of_a_map = node.is_key && maps.contains(&parent);
                names.push(if of_a_map { "{}".to_owned() } else { node.name.to_string() });
            }
            next = node.parent;
        }
        names.reverse();
        names
    }

    /// Whether the name next above a value says that it names somebody or something of somebody's,
    /// or is prose: no value there is a constant, however few there are.
    fn names_somebody(&self, at: Place) -> bool {
        let mut next = Some(at);
        while let Some(node) = next.and_then(|place| self.nodes.get(place.0 as usize)) {
            if node.is_key {
                return is_personal(&node.name);
            }
            next = node.parent;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::shapes::is_constant_like;
    use super::*;

    #[test]
    fn constants_are_few_short_and_shared() {
        let mut paths = Paths::new();
        for session in 1..=10 {
            let root = paths.root("lookup", session);
            paths.object(root);
            for (key, value) in [
                ("flavour", "vanilla".to_owned()),
                ("serial", format!("abcdef{}", "g".repeat(session as usize * 2))),
                ("user_name", "sofia".to_owned()),
                ("rare", if session < 3 { "seldom" } else { "often" }.to_owned()),
            ] {
                let at = paths.member(root, key, session);
                paths.value(at, &value, is_constant_like(&value), session);
            }
        }
        let mut clear = Clear::new();
        paths.finish(5, |_| false, &mut clear);
        for (word, rule) in [
            ("vanilla", Some(Rule::Constant)),
            ("often", Some(Rule::PublicWord)),
            ("seldom", None),
            ("sofia", None),
            ("flavour", Some(Rule::SharedKey)),
            ("serial", Some(Rule::SharedKey)),
        ] {
            assert_eq!(clear.rule(word), rule, "{word}");
        }
        assert!(clear.rule("abcdefgg").is_none());
        let constants: Vec<_> =
            clear.sources().iter().filter(|source| source.rule == Rule::Constant).collect();
        assert_eq!(constants[0].path, ["lookup", "flavour"]);
        assert_eq!(constants[0].values, ["vanilla"]);
    }

    #[test]
    fn keys_of_maps_are_not_shared() {
        let mut paths = Paths::new();
        for session in 1..=10 {
            let root = paths.root("lookup", session);
            for key in ["always", "sofia"] {
                paths.object(root);
                paths.member(root, key, session);
            }
            let map = paths.root("map", session);
            paths.object(map);
            for key in ["a1", "b2", "c3", "alpha"] {
                paths.member(map, key, session);
            }
        }
        let mut clear = Clear::new();
        paths.finish(5, |key| key == "sofia", &mut clear);
        assert_eq!(clear.rule("sofia"), None);
        assert_eq!(clear.rule("alpha"), None);
        paths.finish(5, |_| false, &mut clear);
        assert_eq!(clear.rule("sofia"), Some(Rule::SharedKey));
    }
}
