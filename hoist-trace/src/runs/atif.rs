//! Trajectories in the Agent Trajectory Interchange Format.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::build::{Answer, Builder};
use super::message::{Name, Text, Tokens, arguments, content, reads_as_error};
use super::tools::tools;
use super::{Run, object};
use crate::episode::{Episode, Implementation, Source};

#[derive(Deserialize)]
struct Trajectory<'a> {
    #[serde(default)]
    session_id: Option<Name>,
    #[serde(default, rename = "trajectory_id")]
    id: Option<Name>,
    #[serde(default, borrow)]
    agent: Option<Agent<'a>>,
    #[serde(default, borrow)]
    steps: Option<Vec<Step<'a>>>,
    #[serde(default)]
    final_metrics: Option<Totals>,
    #[serde(default, borrow)]
    subagent_trajectories: Option<Vec<Self>>,
}

#[derive(Deserialize)]
struct Agent<'a> {
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow)]
    version: Option<Text<'a>>,
    #[serde(default, borrow)]
    model_name: Option<Text<'a>>,
    #[serde(default, borrow)]
    tool_definitions: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Totals {
    #[serde(default, rename = "total_prompt_tokens")]
    input_tokens: Option<u64>,
    #[serde(default, rename = "total_completion_tokens")]
    output_tokens: Option<u64>,
    #[serde(default, rename = "total_cost_usd")]
    cost_usd: Option<f64>,
}

#[derive(Deserialize)]
struct Step<'a> {
    #[serde(default, borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(default, borrow)]
    source: Option<Text<'a>>,
    #[serde(default, borrow)]
    model_name: Option<Text<'a>>,
    #[serde(default, borrow)]
    message: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<StepCall<'a>>>,
    #[serde(default, borrow)]
    observation: Option<Observation<'a>>,
    #[serde(default)]
    metrics: Option<Metrics>,
    /// 0 for a step that no model took part in.
    #[serde(default)]
    llm_call_count: Option<u64>,
    #[serde(default)]
    is_copied_context: Option<bool>,
}

#[derive(Deserialize)]
struct StepCall<'a> {
    #[serde(default)]
    tool_call_id: Option<Name>,
    #[serde(default, borrow)]
    function_name: Option<Text<'a>>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Observation<'a> {
    #[serde(default, borrow)]
    results: Option<Vec<Observed<'a>>>,
}

#[derive(Deserialize)]
struct Observed<'a> {
    #[serde(default)]
    source_call_id: Option<Name>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Metrics {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    cost_usd: Option<f64>,
}

/// Reads one trajectory, and those of further agents that stand in it.
pub(super) fn read(json: &[u8]) -> Result<Vec<Run>, serde_json::Error> {
    let mut runs = Vec::new();
    read_all(object(json)?, &mut runs)?;
    Ok(runs)
}

fn read_all(trajectory: Trajectory<'_>, runs: &mut Vec<Run>) -> Result<(), serde_json::Error> {
    let Trajectory { session_id, id, agent, steps, final_metrics, subagent_trajectories } =
        trajectory;
    // Several trajectories may be of one session.
    let id = id.or(session_id).map_or_else(|| "trajectory".to_owned(), |id| id.0);
    let mut episode = Episode::new(id, Source::Atif);
    if let Some(agent) = agent {
        let text = |text: Option<Text<'_>>| text.map(|text| text.0.into_owned());
        let name = text(agent.name).unwrap_or_default();
        episode.tools = tools(agent.tool_definitions);
        episode.agent = text(agent.model_name).unwrap_or_else(|| name.clone());
        let version = text(agent.version).unwrap_or_default();
        episode.host = (!name.is_empty()).then_some(Implementation { name, version });
    }
    let mut model = None;
    let mut run = Builder::new(episode);
    for (seq, step) in (1..).zip(steps.unwrap_or_default()) {
        if step.is_copied_context != Some(true) {
            model = model.or_else(|| step.model_name.as_ref().map(|name| name.0.to_string()));
            read_step(&mut run, seq, &step)?;
        }
    }
    // What no trajectory names as a whole, its first step may.
    if let Some(model) = model
        && run.episode.host.as_ref().is_none_or(|host| host.name == run.episode.agent)
    {
        run.episode.agent = model;
    }
    if let Some(totals) = final_metrics {
        let usage = &mut run.episode.usage;
        usage.input_tokens = totals.input_tokens.or(usage.input_tokens);
        usage.output_tokens = totals.output_tokens.or(usage.output_tokens);
        usage.cost_usd = totals.cost_usd;
    }
    runs.push(run.finish());
    subagent_trajectories.into_iter().flatten().try_for_each(|inner| read_all(inner, runs))
}

fn read_step(run: &mut Builder, seq: u64, step: &Step<'_>) -> Result<(), serde_json::Error> {
    let t_ms = run.time(seq, step.timestamp);
    let (text, _) = content(step.message)?;
    match step.source.as_ref().map_or("", |source| &*source.0) {
        "user" => run.user(seq, t_ms, text),
        "agent" => {
            run.begin_turn(seq, t_ms, text);
            for call in step.tool_calls.iter().flatten() {
                let id = call.tool_call_id.as_ref().map_or("", |id| id.0.as_str());
                let name = call.function_name.as_ref().map_or("", |name| &*name.0);
                let (arguments, is_text) = arguments(call.arguments)?;
                run.agents_call(seq, t_ms, id, name, arguments, is_text);
            }
            if step.llm_call_count == Some(0) {
                run.made_by_procedure();
            }
            run.end_turn();
            if let Some(metrics) = &step.metrics {
                let Metrics { prompt_tokens, completion_tokens, cost_usd } = *metrics;
                run.used(Some(Tokens { prompt_tokens, completion_tokens }), cost_usd);
            }
        }
        "system" => {}
        source => {
            let role = source.to_owned();
            run.odd(seq, super::OddityKind::UnknownRole { role });
        }
    }
    let has_calls = step.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty());
    for result in step.observation.iter().flat_map(|observed| observed.results.iter().flatten()) {
        let id = result.source_call_id.as_ref().map(|id| id.0.clone()).unwrap_or_default();
        // What names no call in a step without one is a notice, and no result.
        if !id.is_empty() || has_calls {
            let (text, other_content) = content(result.content)?;
            run.answer(
                seq,
                t_ms,
                Answer {
                    id,
                    is_error: reads_as_error(&text),
                    text,
                    other_content,
                    ..Answer::default()
                },
            );
        }
    }
    Ok(())
}
