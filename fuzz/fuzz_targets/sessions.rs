//! The reader of every format: whatever a file holds, what is read of it holds together, and every
//! run of a list that any parser reads is either an episode or said.

#![no_main]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Cursor;

use hoist_trace::Episode;
use hoist_trace::sessions::{ReadError, Sessions};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|data: &[u8]| {
    let mut runs = BTreeSet::new();
    let mut ids = HashSet::new();
    let mut episodes = 0;
    let mut broken = 0;
    for item in Sessions::read_from(Cursor::new(data.to_vec()), "f") {
        match item {
            Ok(found) => {
                episodes += 1;
                assert!(found.line > 0);
                assert!(ids.insert(found.episode.id.clone()), "twice: {}", found.episode.id);
                check(&found.episode);
                runs.insert(found.at);
            }
            Err(ReadError::BadRun { line, column, at, what, .. }) => {
                assert!(line > 0 && column > 0 && !what.is_empty());
                runs.insert(at);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                broken += u32::from(matches!(error, ReadError::Broken { .. }));
            }
        }
    }
    assert!(broken <= 1, "it ends at the first");
    if let Some(expected) = plainly(data) {
        let read = runs.iter().filter(|at| at.ends_with(']')).count();
        // A list in which nothing is a run is none of ours.
        if episodes > 0 {
            assert_eq!((read, broken), (expected, 0), "{runs:?}");
        }
    }
});

/// How many elements the list of runs has, of a file that is such a list or has one.
fn plainly(data: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(data).ok()?;
    // Names that are escaped or repeated are read in more than one way.
    if text.contains('\\') || text.contains("hoist_mcp_log") {
        return None;
    }
    if text.trim_start().starts_with('[') {
        return serde_json::from_str::<Vec<&RawValue>>(text).ok().map(|list| list.len());
    }
    if text.matches("simulations").count() != 1 || text.contains("\"info\"") {
        return None;
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let list: Vec<&RawValue> = serde_json::from_str(members.get("simulations")?.get()).ok()?;
    Some(list.len())
}

fn check(episode: &Episode) {
    let mut calls = HashSet::new();
    for call in episode.calls() {
        assert!(calls.insert(&call.id), "two calls are {}", call.id);
    }
    for result in episode.results() {
        assert!(calls.remove(&result.call), "no call, or two results: {result:?}");
    }
    let turns: Vec<u32> = episode.turns().map(|turn| turn.turn).collect();
    assert!(turns.iter().copied().eq(0..turns.len() as u32) || !turns.is_sorted(), "{turns:?}");
    let json = serde_json::to_string(episode).expect("an episode can be written");
    let again: Episode = serde_json::from_str(&json).expect("and read again");
    // A cost may be too large for a number that JSON can have.
    if episode.reward.is_finite() && episode.usage.cost_usd.is_none_or(f64::is_finite) {
        assert_eq!(again, *episode);
    }
}
