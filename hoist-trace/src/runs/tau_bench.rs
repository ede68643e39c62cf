//! Runs of the original τ-bench.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::build::{Answer, Builder};
use super::message::{Message, Name, arguments, content, reads_as_error};
use super::{Run, domain_of_policy, object};
use crate::episode::{Episode, Source};

#[derive(Deserialize)]
struct TauRun<'a> {
    #[serde(default)]
    task_id: Option<Name>,
    #[serde(default)]
    trial: Option<i64>,
    #[serde(default)]
    reward: Option<f64>,
    /// Empty for a run that was broken off by an error.
    #[serde(default, borrow)]
    traj: Option<Vec<Message<'a>>>,
}

/// What stands before a call that is written as text, and before its result.
const ACTION: &str = "Action:";
const OUTPUT: &str = "API output:";

/// The tool by which an agent of that kind speaks to the user.
const RESPOND: &str = "respond";

/// Reads one run.
pub(super) fn read(json: &[u8]) -> Result<Run, serde_json::Error> {
    let TauRun { task_id, trial, reward, traj } = object(json)?;
    let mut episode = Episode::new(super::id_of_task(task_id.as_ref(), trial), Source::TauBench);
    episode.task_id = task_id.map(|id| id.0);
    episode.reward = reward.unwrap_or(0.0);
    let messages = traj.unwrap_or_default();
    // The file says nowhere what it is about, but the agent's policy does.
    if let Some(system) = messages.iter().find(|message| message.role() == "system") {
        episode.domain = domain_of_policy(&content(system.content)?.0).unwrap_or_default();
    }
    let mut run = Builder::new(episode);
    // Agents without a model for tool calls write them as text.
    let in_text = messages.iter().all(|m| m.tool_calls.is_none() && m.function_call.is_none());
    for (seq, message) in (1..).zip(&messages) {
        if !in_text || !read_text(&mut run, seq, message)? {
            run.message(seq, message)?;
        }
    }
    Ok(run.finish())
}

/// Takes a call or a result that is written as text; whether the message was one.
fn read_text(
    run: &mut Builder,
    seq: u64,
    message: &Message<'_>,
) -> Result<bool, serde_json::Error> {
    let (text, _) = content(message.content)?;
    match message.role() {
        "assistant" => {
            let Some(action) = Action::find(&text) else { return Ok(false) };
            let t_ms = run.time(seq, message.timestamp);
            if action.name == RESPOND {
                run.begin_turn(seq, t_ms, action.says().unwrap_or_else(|| text.clone()));
            } else {
                run.begin_turn(seq, t_ms, action.before.to_owned());
                let (arguments, is_text) = arguments(action.arguments)?;
                run.agents_call(seq, t_ms, "", &action.name, arguments, is_text);
            }
            run.end_turn();
            run.used(message.usage, message.cost);
            Ok(true)
        }
        "user" => {
            let Some(output) = text.strip_prefix(OUTPUT) else { return Ok(false) };
            let t_ms = run.time(seq, message.timestamp);
            let output = output.strip_prefix(' ').unwrap_or(output).to_owned();
            run.answer(
                seq,
                t_ms,
                Answer { is_error: reads_as_error(&output), text: output, ..Answer::default() },
            );
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A call as text: `Action: {"name": …, "arguments": …}`.
struct Action<'a> {
    /// What stands before it: a thought.
    before: &'a str,
    name: String,
    arguments: Option<&'a RawValue>,
}

impl<'a> Action<'a> {
    fn find(text: &'a str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Call<'a> {
            name: String,
            #[serde(default, borrow)]
            arguments: Option<&'a RawValue>,
        }
        // The last one counts, but what is passed may hold the word as well.
        text.rmatch_indices(ACTION).find_map(|(at, _)| {
            let action = &text[at + ACTION.len()..];
            let mut values = serde_json::Deserializer::from_str(action).into_iter::<Call<'_>>();
            let Call { name, arguments } = values.next()?.ok()?;
            Some(Self { before: text[..at].trim_end(), name, arguments })
        })
    }

    /// What is said to the user, of a call that says something.
    fn says(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Said {
            content: String,
        }
        Some(serde_json::from_str::<Said>(self.arguments?.get()).ok()?.content)
    }
}
