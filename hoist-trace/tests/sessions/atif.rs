//! Trajectories in the Agent Trajectory Interchange Format.

use hoist_trace::episode::{MadeBy, Source};

use crate::files::{oddities, read, read_one, story};

const TRAJECTORY: &str = r#"{"schema_version": "ATIF-v1.8", "session_id": "s-1", "agent": {"name": "smith", "version": "2.0", "model_name": "model-1",
"tool_definitions": [{"type": "function", "function": {"name": "find", "parameters": {}}}, {"name": "flat"}, 7]},
"steps": [
{"step_id": 1, "source": "system", "message": "You are", "timestamp": "2026-01-01T10:00:00Z"},
{"step_id": 2, "source": "user", "message": "old", "is_copied_context": true},
{"step_id": 3, "source": "user", "message": [{"type": "text", "text": "Find"}, {"type": "image", "source": {"path": "x"}}], "timestamp": "2026-01-01T10:00:01Z"},
{"step_id": 4, "source": "agent", "message": "I look", "model_name": "model-2", "reasoning_content": "hm", "timestamp": "2026-01-01T11:00:02.5+01:00",
 "tool_calls": [{"tool_call_id": "a", "function_name": "find", "arguments": {"n": 1.0}}, {"tool_call_id": "b", "function_name": "find", "arguments": {}}],
 "observation": {"results": [{"source_call_id": "b", "content": "Error: x"}, {"source_call_id": "a", "content": [{"type": "text", "text": "here"}, {"type": "image"}]}]},
 "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.5, "extra": {"x": 1}}},
{"step_id": 5, "source": "agent", "message": "", "llm_call_count": 0, "tool_calls": [{"tool_call_id": "a", "function_name": "flat", "arguments": {}}], "observation": {"results": [{"content": "in order"}]}},
{"step_id": 6, "source": "agent", "message": "Done", "metrics": {"prompt_tokens": 20}, "observation": {"results": [{"content": "a notice"}]}}
]}"#;

#[test]
fn a_trajectory_is_an_episode() {
    let found = read_one(TRAJECTORY);
    let episode = &found.episode;
    assert_eq!((episode.source, episode.id.as_str()), (Source::Atif, "s-1"));
    assert_eq!((episode.agent.as_str(), episode.task_id.as_deref()), ("model-1", None));
    let host = episode.host.as_ref().unwrap();
    assert_eq!((host.name.as_str(), host.version.as_str()), ("smith", "2.0"));
    assert_eq!(episode.started_unix_ms, Some(1_767_261_600_000));
    assert_eq!(episode.duration_ms, 2_500);
    let tools: Vec<&str> = episode.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["find", "flat"]);
    assert_eq!(episode.usage.input_tokens, Some(30));
    assert_eq!((episode.usage.output_tokens, episode.usage.cost_usd), (Some(2), Some(0.5)));
    assert_eq!(
        story(episode),
        [
            "3 user Find",
            "4 turn 0 I look",
            r#"  a find{"n": 1.0}"#,
            "  b find{}",
            "4 b error Error: x",
            "4 a = here",
            "5 turn 1 -",
            "  a#2 flat{}",
            "5 a#2 = in order",
            "6 turn 2 Done",
        ]
    );
    let made_by: Vec<_> = episode.calls().map(|call| call.made_by.clone()).collect();
    assert_eq!(made_by, [MadeBy::Agent, MadeBy::Agent, MadeBy::Procedure]);
    let result = episode.results().nth(1).unwrap();
    assert_eq!(result.other_content, ["image"]);
    assert_eq!(oddities(&found), [""; 0]);
}

#[test]
fn totals_and_the_models_of_steps_count_where_they_stand() {
    let totals = r#""final_metrics": {"total_prompt_tokens": 99, "total_cost_usd": 7}, "steps""#;
    let found = read_one(
        TRAJECTORY.replace(r#""model_name": "model-1","#, "").replace("\"steps\"", totals),
    );
    assert_eq!(found.episode.agent, "model-2");
    let usage = &found.episode.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(99), Some(2)));
    assert_eq!(usage.cost_usd, Some(7.0));
}

#[test]
fn agents_within_a_trajectory_have_episodes_of_their_own() {
    let inner = r#""subagent_trajectories": [{"trajectory_id": "t-2", "agent": {"name": "x"}, "steps": [{"source": "agent", "message": "hi"}]}], "steps""#;
    let (found, errors) = read(TRAJECTORY.replace("\"steps\"", inner));
    assert_eq!(errors, [""; 0]);
    let ids: Vec<&str> = found.iter().map(|found| found.episode.id.as_str()).collect();
    assert_eq!(ids, ["s-1", "t-2"]);
    assert_eq!(found[1].episode.agent, "x");
}

#[test]
fn trajectories_may_stand_one_in_a_line() {
    let line = TRAJECTORY.replace('\n', " ");
    let (found, errors) = read(format!("{line}\n{line}\n"));
    assert_eq!((found.len(), errors), (2, vec![]));
    assert_eq!((found[1].line, found[1].episode.id.as_str()), (2, "s-1#2"));
}

#[test]
fn a_result_for_no_call_and_an_unknown_source_are_said() {
    let found = read_one(
        r#"{"schema_version": "ATIF-v1.0", "steps": [{"source": "robot", "message": 7}, {"source": "agent", "tool_calls": null, "observation": {"results": [{"source_call_id": "z", "content": null}]}}]}"#,
    );
    assert_eq!(found.episode.events, []);
    assert_eq!(oddities(&found), ["1 unknown-role", "2 result-without-call"]);
}
