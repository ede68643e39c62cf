//! Runs of benchmarks and trajectories of other programs, read into episodes.
//!
//! Each format has a module, which takes one run as the JSON it is written in. What a file is, and
//! where its runs stand in it, is the affair of [`sessions`](crate::sessions).

mod atif;
mod build;
mod clock;
mod message;
mod oddity;
mod tau2;
mod tau_bench;
mod tools;

use std::collections::HashMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub use oddity::{Oddity, OddityKind};
pub(crate) use tau2::Info;

use crate::episode::Episode;
use message::{Name, Text};

/// A run that was read.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) episode: Episode,
    pub(crate) oddities: Vec<Oddity>,
}

/// A format of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A run of τ²-bench: one of a results file, a file of a results folder, or one exported alone.
    Tau2,
    TauBench,
    Atif,
}

/// Which of the members an object has that tell what it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Members(u16);

/// Those members.
const TELLING: [&str; 14] = [
    "traj",
    "steps",
    "schema_version",
    "agent",
    "messages",
    "ticks",
    "task_id",
    "run_info",
    "reward_info",
    "termination_reason",
    "simulations",
    "info",
    "tasks",
    "hoist_mcp_log",
];

impl Members {
    /// Notes that there is a member of this name.
    pub(crate) fn note(&mut self, name: &[u8]) {
        if let Some(bit) = TELLING.iter().position(|telling| telling.as_bytes() == name) {
            self.0 |= 1 << bit;
        }
    }

    /// Whether it has one of these.
    pub(crate) fn has(self, names: &[&str]) -> bool {
        let is_meant = |bit: usize| names.contains(&TELLING[bit]);
        (0..TELLING.len()).any(|bit| self.0 & (1 << bit) != 0 && is_meant(bit))
    }

    /// The format of an object with these members, if it is a run of one.
    pub(crate) fn format(self) -> Option<Format> {
        let of_a_run = ["task_id", "run_info", "reward_info", "termination_reason"];
        if self.has(&["traj"]) {
            Some(Format::TauBench)
        } else if self.has(&["steps"]) && self.has(&["schema_version", "agent"]) {
            Some(Format::Atif)
        } else if (self.has(&["messages", "ticks"]) && self.has(&of_a_run))
            || (self.has(&["task_id"]) && self.has(&["termination_reason"]))
        {
            Some(Format::Tau2)
        } else {
            None
        }
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some(Text(name)) = map.next_key()? {
                    members.note(name.as_bytes());
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Names)
    }
}

/// Reads a run, of whatever format it is. One trajectory may hold those of further agents.
pub(crate) fn read(json: &[u8], info: &Info) -> Result<Vec<Run>, serde_json::Error> {
    let members: Members = object(json)?;
    match members.format() {
        Some(format) => read_as(format, json, info),
        None => Err(serde::de::Error::custom(
            "it has not the members of a run in any format that is known",
        )),
    }
}

/// Reads a run of this format.
pub(crate) fn read_as(
    format: Format,
    json: &[u8],
    info: &Info,
) -> Result<Vec<Run>, serde_json::Error> {
    match format {
        Format::Tau2 => tau2::read(json, info).map(|run| vec![run]),
        Format::TauBench => tau_bench::read(json).map(|run| vec![run]),
        Format::Atif => atif::read(json),
    }
}

/// Gives each episode of a file an id of its own.
#[derive(Debug, Default)]
pub(crate) struct Ids(HashMap<String, u32>);

impl Ids {
    pub(crate) fn make_unique(&mut self, episode: &mut Episode) {
        let id = std::mem::take(&mut episode.id);
        episode.id = build::unique(&mut self.0, &id);
    }
}

/// The id of a run that has none of its own.
fn id_of_task(task_id: Option<&Name>, trial: Option<i64>) -> String {
    let task_id = task_id.map_or("run", |id| id.0.as_str());
    trial.map_or_else(|| task_id.to_owned(), |trial| format!("{task_id}-{trial}"))
}

/// A derived struct also reads an array, which is no object.
fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, serde_json::Error> {
    if json.trim_ascii_start().first() == Some(&b'{') {
        serde_json::from_slice(json)
    } else {
        Err(serde::de::Error::custom("it is not a JSON object"))
    }
}

/// The domain that a policy is for, where its heading says it: `# Retail agent policy`.
fn domain_of_policy(policy: &str) -> Option<String> {
    let heading = policy.trim_start().lines().next()?.strip_prefix('#')?.trim().to_lowercase();
    let domain = heading.strip_suffix("agent policy")?.trim();
    (!domain.is_empty()).then(|| domain.replace(' ', "-"))
}
