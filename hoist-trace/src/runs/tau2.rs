//! Runs of τ²-bench.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::build::{Answer, Builder, Side};
use super::clock::unix_ms;
use super::message::{Call, Message, Name, Text, content, reads_as_error};
use super::tools::tools;
use super::{Run, domain_of_policy, object};
use crate::episode::{Episode, Event, Source, Tool};

/// What a results file says of all its runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Info {
    domain: String,
    agent: String,
    tools: Vec<Tool>,
}

impl Info {
    /// Reads the member `info`.
    pub(crate) fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(default, borrow)]
            agent_info: Option<Agent<'a>>,
            #[serde(default, borrow)]
            environment_info: Option<Environment<'a>>,
        }
        #[derive(Deserialize)]
        struct Agent<'a> {
            #[serde(default, borrow)]
            implementation: Option<Text<'a>>,
            #[serde(default, borrow)]
            llm: Option<Text<'a>>,
        }
        #[derive(Deserialize)]
        struct Environment<'a> {
            #[serde(default, borrow)]
            domain_name: Option<Text<'a>>,
            #[serde(default, borrow)]
            policy: Option<Text<'a>>,
            #[serde(default, borrow)]
            tool_defs: Option<&'a RawValue>,
        }

        if json.trim_ascii() == b"null" {
            return Ok(Self::default());
        }
        let members: Members<'_> = object(json)?;
        let agent = members.agent_info.and_then(|agent| agent.llm.or(agent.implementation));
        let environment = members.environment_info;
        let tools = tools(environment.as_ref().and_then(|environment| environment.tool_defs));
        let domain = environment.and_then(|environment| {
            environment.domain_name.map(|name| name.0.into_owned()).or_else(|| {
                environment.policy.as_ref().and_then(|policy| domain_of_policy(&policy.0))
            })
        });
        Ok(Self {
            domain: domain.unwrap_or_default(),
            agent: agent.map(|agent| agent.0.into_owned()).unwrap_or_default(),
            tools,
        })
    }
}

#[derive(Deserialize)]
struct Simulation<'a> {
    #[serde(default)]
    id: Option<Name>,
    #[serde(default)]
    task_id: Option<Name>,
    #[serde(default)]
    trial: Option<i64>,
    #[serde(default, borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(default)]
    duration: Option<f64>,
    #[serde(default)]
    agent_cost: Option<f64>,
    #[serde(default)]
    reward_info: Option<Reward>,
    #[serde(default, borrow)]
    messages: Option<Vec<Message<'a>>>,
    #[serde(default, borrow)]
    ticks: Option<Vec<Tick<'a>>>,
    /// Of a run that was exported alone.
    #[serde(default, borrow)]
    task: Option<Task<'a>>,
    #[serde(default, borrow)]
    run_info: Option<RunInfo<'a>>,
}

#[derive(Deserialize)]
struct Reward {
    #[serde(default)]
    reward: Option<f64>,
}

#[derive(Deserialize)]
struct RunInfo<'a> {
    #[serde(default)]
    simulation_id: Option<Name>,
    /// When it ended.
    #[serde(default, borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(default)]
    duration_sec: Option<f64>,
    #[serde(default)]
    agent_cost: Option<f64>,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(default, borrow)]
    user_scenario: Option<Scenario<'a>>,
}

#[derive(Deserialize)]
struct Scenario<'a> {
    /// Text, or an object that names the domain.
    #[serde(default, borrow)]
    instructions: Option<&'a RawValue>,
}

/// A moment of a conversation by voice, in which both sides may speak.
#[derive(Deserialize)]
struct Tick<'a> {
    #[serde(default, borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(default, borrow)]
    agent_chunk: Option<Message<'a>>,
    #[serde(default, borrow)]
    user_chunk: Option<Message<'a>>,
    #[serde(default, borrow)]
    agent_tool_calls: Option<Vec<Call<'a>>>,
    #[serde(default, borrow)]
    user_tool_calls: Option<Vec<Call<'a>>>,
    #[serde(default, borrow)]
    agent_tool_results: Option<Vec<Message<'a>>>,
    #[serde(default, borrow)]
    user_tool_results: Option<Vec<Message<'a>>>,
}

/// Reads one run.
pub(super) fn read(json: &[u8], info: &Info) -> Result<Run, serde_json::Error> {
    let simulation: Simulation<'_> = object(json)?;
    let source = if simulation.run_info.is_some() { Source::Tau2Task } else { Source::Tau2 };
    let run_info = simulation.run_info.as_ref();
    let id = simulation.id.as_ref().or_else(|| run_info.and_then(|i| i.simulation_id.as_ref()));
    let id = id.filter(|id| !id.0.is_empty()).map_or_else(
        || super::id_of_task(simulation.task_id.as_ref(), simulation.trial),
        |id| id.0.clone(),
    );
    let mut episode = Episode::new(id, source);
    episode.domain = if info.domain.is_empty() {
        domain_of_task(simulation.task.as_ref()).unwrap_or_default()
    } else {
        info.domain.clone()
    };
    episode.task_id = simulation.task_id.as_ref().map(|id| id.0.clone());
    episode.agent.clone_from(&info.agent);
    episode.tools.clone_from(&info.tools);
    episode.reward =
        simulation.reward_info.as_ref().and_then(|reward| reward.reward).unwrap_or(0.0);
    episode.usage.cost_usd =
        simulation.agent_cost.or_else(|| run_info.and_then(|info| info.agent_cost));

    let mut run = Builder::new(episode);
    match (&simulation.messages, &simulation.ticks) {
        (Some(messages), ticks) if !messages.is_empty() || ticks.is_none() => {
            for (seq, message) in (1..).zip(messages) {
                run.message(seq, message)?;
            }
        }
        (_, Some(ticks)) => read_ticks(&mut run, ticks)?,
        _ => {}
    }
    if run.clock.started_ms.is_none() {
        times_of_run(&mut run, &simulation);
    }
    Ok(run.finish())
}

/// Where no message has a time, the run may have one.
fn times_of_run(run: &mut Builder, simulation: &Simulation<'_>) {
    let run_info = simulation.run_info.as_ref();
    let seconds =
        simulation.duration.or_else(|| run_info.and_then(|info| info.duration_sec)).unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is negative or no number becomes 0, what is huge stays huge"
    )]
    let duration_ms = (seconds * 1000.0).round() as u64;
    let ended_ms = unix_ms(run_info.and_then(|info| info.timestamp));
    let started_ms = unix_ms(simulation.start_time).or_else(|| {
        ended_ms.map(|ms| ms.saturating_sub(i64::try_from(duration_ms).unwrap_or(i64::MAX)))
    });
    run.episode.started_unix_ms = started_ms.and_then(|ms| u64::try_from(ms).ok());
    run.episode.duration_ms = duration_ms;
}

/// The domain that a task names.
fn domain_of_task(task: Option<&Task<'_>>) -> Option<String> {
    #[derive(Deserialize)]
    struct Instructions {
        #[serde(default)]
        domain: Option<String>,
    }
    let instructions = task?.user_scenario.as_ref()?.instructions?;
    object::<Instructions>(instructions.get().as_bytes()).ok()?.domain
}

/// Reads a conversation by voice. What one side says goes on until something else happens, however
/// many ticks that are.
fn read_ticks(run: &mut Builder, ticks: &[Tick<'_>]) -> Result<(), serde_json::Error> {
    for (seq, tick) in (1..).zip(ticks) {
        let t_ms = run.time(seq, tick.timestamp);
        if let Some(chunk) = &tick.user_chunk {
            let (text, _) = content(chunk.content)?;
            match run.episode.events.last_mut() {
                Some(Event::User(message)) => message.text.push_str(&text),
                _ => run.user(seq, t_ms, text),
            }
        }
        if let Some(chunk) = &tick.agent_chunk {
            let (text, _) = content(chunk.content)?;
            agent_says(run, seq, t_ms, &text);
            run.used(chunk.usage, chunk.cost);
        }
        let calls = listed(tick.agent_tool_calls.as_ref(), tick.agent_chunk.as_ref());
        if !calls.is_empty() {
            if run.last_turn().is_none_or(|turn| !turn.calls.is_empty()) {
                run.begin_turn(seq, t_ms, String::new());
            }
            for call in calls {
                run.call(seq, t_ms, call)?;
            }
            run.end_turn();
        }
        for call in listed(tick.user_tool_calls.as_ref(), tick.user_chunk.as_ref()) {
            run.users_call(seq, call);
        }
        let results =
            [(Side::Agent, &tick.agent_tool_results), (Side::User, &tick.user_tool_results)];
        for (side, results) in results {
            for result in results.iter().flatten() {
                let (text, other_content) = content(result.content)?;
                run.answer(
                    seq,
                    t_ms,
                    Answer {
                        id: result.id.as_ref().map(|id| id.0.clone()).unwrap_or_default(),
                        name: None,
                        side: Some(side),
                        is_error: result.error.unwrap_or_else(|| reads_as_error(&text)),
                        text,
                        other_content,
                    },
                );
            }
        }
    }
    Ok(())
}

fn agent_says(run: &mut Builder, seq: u64, t_ms: u64, text: &str) {
    if text.is_empty() {
        return;
    }
    match run.last_turn() {
        Some(turn) if turn.calls.is_empty() => {
            turn.text.get_or_insert_default().push_str(text);
        }
        _ => run.begin_turn(seq, t_ms, text.to_owned()),
    }
}

/// The calls of a tick, which may stand in the chunk instead.
fn listed<'c, 'a>(
    calls: Option<&'c Vec<Call<'a>>>,
    chunk: Option<&'c Message<'a>>,
) -> &'c [Call<'a>] {
    match calls {
        Some(calls) if !calls.is_empty() => calls,
        _ => chunk.and_then(|chunk| chunk.tool_calls.as_deref()).unwrap_or_default(),
    }
}
