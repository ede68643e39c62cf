//! Which session a modern request belongs to: the protocol does not say.
//!
//! A host may name its session in a header, or in the `_meta` of its calls. Where it does neither,
//! requests are told apart by their caller and by their ids, which each run of a caller counts up;
//! where callers cannot be trusted to be one person's, all of them share one session.

use std::cmp::Reverse;
use std::net::IpAddr;

use super::counted::Counted;

/// Who makes a request, as far as it can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Caller {
    /// What it calls itself, name and version.
    pub(super) client: String,
    /// Where it is.
    pub(super) address: Option<IpAddr>,
}

/// What is known of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    /// The `Hoist-Session` header.
    pub(super) name: Option<String>,
    /// The session id in `_meta`.
    pub(super) meta_session: Option<String>,
    pub(super) caller: Caller,
    /// The request's id, where that is a whole number.
    pub(super) id: Option<i64>,
    /// Whether it is `server/discover`, with which a run of a host begins.
    pub(super) is_discover: bool,
}

/// What a group's requests have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Named(String),
    /// Those that nothing tells apart.
    Common,
    Caller {
        caller: Caller,
        meta_session: Option<String>,
        /// The ids of its requests so far.
        ids: Counted,
    },
}

/// A session, and whose requests it takes.
#[derive(Debug)]
struct Group {
    session: u64,
    key: Key,
}

/// The modern sessions.
#[derive(Debug)]
pub(super) struct Groups {
    /// Oldest first.
    groups: Vec<Group>,
    /// Whether callers may be strangers to one another.
    has_token: bool,
}

/// How a session came by its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// They name it.
    Named,
    /// It is for all that name none.
    Common,
    /// It is a caller's, and ends with its run.
    Caller,
}

impl Groups {
    pub(super) fn new(has_token: bool) -> Self {
        Self { groups: Vec::new(), has_token }
    }

    /// The session for a request, if there is one already.
    pub(super) fn find(&self, asked: &Asked) -> Option<u64> {
        self.position(asked).map(|at| self.groups[at].session)
    }

    /// Notes that a request is made in a session. One that was refused is not: it may come again,
    /// put right, under the same id.
    pub(super) fn join(&mut self, session: u64, asked: &Asked) {
        let group = self.groups.iter_mut().find(|group| group.session == session);
        if let Some(Group { key: Key::Caller { meta_session, ids, .. }, .. }) = group {
            if meta_session.is_none() {
                meta_session.clone_from(&asked.meta_session);
            }
            if let Some(id) = asked.id {
                ids.note(id);
            }
        }
    }

    fn position(&self, asked: &Asked) -> Option<usize> {
        let wanted = self.key(asked);
        if !matches!(wanted, Key::Caller { .. }) {
            return self.groups.iter().position(|group| group.key == wanted);
        }
        if asked.meta_session.is_some() {
            let named = self.groups.iter().position(|group| {
                matches!(&group.key, Key::Caller { meta_session, .. } if *meta_session == asked.meta_session)
            });
            if named.is_some() {
                return named;
            }
        }
        if asked.is_discover {
            return None;
        }
        let candidates =
            self.groups.iter().enumerate().filter_map(|(at, group)| match &group.key {
                Key::Caller { caller, meta_session, ids }
                    if *caller == asked.caller
                        && (meta_session.is_none() || asked.meta_session.is_none()) =>
                {
                    Some((at, ids))
                }
                _ => None,
            });
        // The one that has given the nearest id below, and not this one: requests that are made at
        // once come in any order. One that has given no number may be anybody's.
        candidates
            .filter_map(|(at, ids)| match asked.id {
                Some(id) if !ids.is_empty() => Some((Reverse(ids.distance(id)?), at)),
                _ => Some((Reverse(u64::MAX), at)),
            })
            .max()
            .map(|(_, at)| at)
    }

    fn key(&self, asked: &Asked) -> Key {
        match (&asked.name, &asked.meta_session) {
            (Some(name), _) => Key::Named(name.clone()),
            // Told apart from a name in the header by a character that none has.
            (None, Some(meta)) if self.has_token => Key::Named(format!("meta {meta}")),
            (None, None) if self.has_token => Key::Common,
            (None, meta) => {
                let mut ids = Counted::default();
                if let Some(id) = asked.id {
                    ids.note(id);
                }
                let (caller, meta_session) = (asked.caller.clone(), meta.clone());
                Key::Caller { caller, meta_session, ids }
            }
        }
    }

    /// How the session of such a request is shared.
    pub(super) fn kind(&self, asked: &Asked) -> Kind {
        match self.key(asked) {
            Key::Named(_) => Kind::Named,
            Key::Common => Kind::Common,
            Key::Caller { .. } => Kind::Caller,
        }
    }

    /// Adds a session that was made for this request.
    pub(super) fn add(&mut self, session: u64, asked: &Asked) {
        let key = self.key(asked);
        self.groups.push(Group { session, key });
    }

    pub(super) fn remove(&mut self, session: u64) {
        self.groups.retain(|group| group.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(client: &str, id: Option<i64>) -> Asked {
        let caller = Caller { client: client.to_owned(), address: None };
        Asked { caller, id, ..Asked::default() }
    }

    /// The session that a request is made in, if there is one for it.
    fn find(groups: &mut Groups, asked: &Asked) -> Option<u64> {
        let session = groups.find(asked)?;
        groups.join(session, asked);
        Some(session)
    }

    fn discover(client: &str) -> Asked {
        Asked { is_discover: true, ..asked(client, None) }
    }

    fn in_meta(client: &str, id: i64, session: &str) -> Asked {
        Asked { meta_session: Some(session.to_owned()), ..asked(client, Some(id)) }
    }

    fn named(name: &str) -> Asked {
        Asked { name: Some(name.to_owned()), ..asked("c", Some(1)) }
    }

    #[test]
    fn a_run_begins_with_a_discovery_and_counts_up() {
        let mut groups = Groups::new(false);
        assert_eq!(find(&mut groups, &discover("c")), None);
        groups.add(1, &discover("c"));
        for id in 0..3 {
            assert_eq!(find(&mut groups, &asked("c", Some(id))), Some(1));
        }
        assert_eq!(find(&mut groups, &asked("other", Some(3))), None);

        // Another run of the same caller counts from 0 again.
        assert_eq!(find(&mut groups, &discover("c")), None);
        groups.add(2, &discover("c"));
        assert_eq!(find(&mut groups, &asked("c", Some(0))), Some(2));
        assert_eq!(find(&mut groups, &asked("c", Some(3))), Some(1));
        assert_eq!(find(&mut groups, &asked("c", Some(1))), Some(2));
        assert_eq!(find(&mut groups, &asked("c", Some(10))), Some(1));
        assert_eq!(find(&mut groups, &asked("c", Some(2))), Some(2));
        // What has no number is of the newest.
        assert_eq!(find(&mut groups, &asked("c", None)), Some(2));

        groups.remove(2);
        assert_eq!(find(&mut groups, &asked("c", Some(3))), None);
        assert_eq!(find(&mut groups, &asked("c", Some(11))), Some(1));
    }

    #[test]
    fn requests_made_at_once_come_in_any_order() {
        let mut groups = Groups::new(false);
        groups.add(1, &discover("c"));
        for id in [2, 0, 1, 3, 6, 5, 4] {
            assert_eq!(find(&mut groups, &asked("c", Some(id))), Some(1), "{id}");
        }
        groups.add(2, &discover("c"));
        for (id, session) in [(1, 2), (0, 2), (8, 1), (3, 2), (7, 1), (2, 2), (4, 2), (9, 1)] {
            assert_eq!(find(&mut groups, &asked("c", Some(id))), Some(session), "{id}");
        }
        // Two that count the same are taken for two.
        assert_eq!(find(&mut groups, &asked("c", Some(3))), None);
    }

    #[test]
    fn a_session_id_in_the_calls_tells_runs_apart() {
        let mut groups = Groups::new(false);
        groups.add(1, &discover("c"));
        groups.add(2, &discover("c"));
        assert_eq!(find(&mut groups, &in_meta("c", 5, "b")), Some(2));
        assert_eq!(find(&mut groups, &in_meta("c", 9, "a")), Some(1));
        assert_eq!(find(&mut groups, &in_meta("c", 6, "a")), Some(1));
        assert_eq!(find(&mut groups, &in_meta("c", 7, "b")), Some(2));
        assert_eq!(find(&mut groups, &in_meta("c", 8, "x")), None);
    }

    #[test]
    fn a_named_session_is_for_whoever_names_it() {
        let mut groups = Groups::new(false);
        groups.add(1, &named("a"));
        assert_eq!(find(&mut groups, &named("a")), Some(1));
        assert_eq!(find(&mut groups, &named("b")), None);
        assert_eq!(find(&mut groups, &asked("c", Some(2))), None);
        let discovers = Asked { is_discover: true, ..named("a") };
        assert_eq!(find(&mut groups, &discovers), Some(1));
    }

    #[test]
    fn strangers_that_name_nothing_share_one_session() {
        let mut groups = Groups::new(true);
        assert_eq!(groups.kind(&discover("c")), Kind::Common);
        groups.add(1, &discover("c"));
        assert_eq!(find(&mut groups, &asked("other", Some(2))), Some(1));
        assert_eq!(find(&mut groups, &discover("third")), Some(1));
        assert_eq!(find(&mut groups, &named("a")), None);
        assert_eq!(find(&mut groups, &in_meta("c", 5, "b")), None);
        groups.add(2, &in_meta("c", 5, "b"));
        assert_eq!(find(&mut groups, &in_meta("d", 6, "b")), Some(2));
        assert_eq!(find(&mut groups, &named("b")), None);
    }

    #[test]
    fn a_refused_request_may_come_again_under_its_id() {
        let mut groups = Groups::new(false);
        groups.add(1, &asked("c", Some(1)));
        assert_eq!(groups.find(&asked("c", Some(2))), Some(1));
        assert_eq!(find(&mut groups, &asked("c", Some(2))), Some(1));
        // Once it was made, the same id is another run's.
        assert_eq!(groups.find(&asked("c", Some(2))), None);
    }
}
