//! The ids that a run of a host has given its requests: it counts them up, but requests that are
//! made at once arrive in any order.

use std::collections::VecDeque;

/// So many stretches are remembered. What is below the lowest of them is taken for not given.
const MAX_STRETCHES: usize = 64;

/// Whole numbers that were given, as stretches without a gap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// First and last of each stretch, ascending; between two there is a number that was not given.
    stretches: VecDeque<(i64, i64)>,
}

impl Counted {
    /// Notes that this one was given.
    pub(super) fn note(&mut self, id: i64) {
        let at = self.above(id);
        let below = at.checked_sub(1).map(|below| self.stretches[below]);
        if below.is_some_and(|(_, last)| last >= id) {
            return;
        }
        let joins_below = below.is_some_and(|(_, last)| last.checked_add(1) == Some(id));
        let above = self.stretches.get(at).copied();
        let joins_above = above.is_some_and(|(first, _)| id.checked_add(1) == Some(first));
        match (joins_below, joins_above) {
            (true, true) => {
                let (_, last) = self.stretches.remove(at).unwrap_or((id, id));
                self.stretches[at - 1].1 = last;
            }
            (true, false) => self.stretches[at - 1].1 = id,
            (false, true) => self.stretches[at].0 = id,
            (false, false) => self.stretches.insert(at, (id, id)),
        }
        if self.stretches.len() > MAX_STRETCHES {
            self.stretches.pop_front();
        }
    }

    /// Whether none was given.
    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// How far above the nearest one that was given this one is; nothing where it was given itself.
    /// Counting starts from 0.
    pub(super) fn distance(&self, id: i64) -> Option<u64> {
        match self.above(id).checked_sub(1) {
            None => Some(id.abs_diff(-1)),
            Some(below) => {
                let (_, last) = self.stretches[below];
                (last < id).then(|| id.abs_diff(last))
            }
        }
    }

    /// Where the first stretch is that begins above this one.
    fn above(&self, id: i64) -> usize {
        self.stretches.partition_point(|(first, _)| *first <= id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::proptest;

    use super::*;

    fn counted(ids: &[i64]) -> Counted {
        let mut counted = Counted::default();
        for id in ids {
            counted.note(*id);
        }
        counted
    }

    #[test]
    fn what_was_not_given_is_so_far_above_what_was() {
        let none = counted(&[]);
        assert!(none.is_empty());
        assert_eq!(none.distance(0), Some(1));
        assert_eq!(none.distance(-7), Some(6));
        let some = counted(&[0, 1, 4]);
        assert_eq!(
            [0, 1, 2, 3, 4, 6].map(|id| some.distance(id)),
            [None, None, Some(1), Some(2), None, Some(2)]
        );
        assert_eq!(counted(&[3]).distance(2), Some(3));
        assert_eq!(counted(&[i64::MAX]).distance(i64::MIN), Some(i64::MAX.unsigned_abs()));
    }

    #[test]
    fn the_lowest_stretches_are_forgotten() {
        let apart: Vec<i64> = (0..=64).map(|n| n * 2).collect();
        let counted = counted(&apart);
        assert_eq!(counted.stretches.len(), 64);
        assert_eq!((counted.distance(0), counted.distance(2)), (Some(1), None));
    }

    proptest! {
        /// In whatever order they come, they are the same numbers.
        #[test]
        fn order_does_not_matter(ids in vec(-20_i64..20, 0..40)) {
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            proptest::prop_assert_eq!(counted(&ids), counted(&sorted));
            let all = counted(&ids);
            for id in -21..21 {
                let below = ids.iter().filter(|given| **given <= id).max().copied();
                let expected = match below {
                    Some(below) if below == id => None,
                    below => Some(id.abs_diff(below.unwrap_or(-1))),
                };
                proptest::prop_assert_eq!(all.distance(id), expected);
            }
        }
    }
}
