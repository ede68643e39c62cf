//! Runs of τ²-bench: results files, trimmed ones, folders, runs exported alone.

use hoist_trace::episode::Source;
use hoist_trace::sessions::Sessions;

use crate::files::{Dir, oddities, read, read_one, story};

/// What stands around the runs of a results file.
fn results(simulations: &str) -> String {
    format!(
        r#"{{"timestamp": "2026-01-01T00:00:00", "info": {{"num_trials": 1, "seed": null,
        "agent_info": {{"implementation": "llm_agent", "llm": "model-1", "llm_args": null}},
        "environment_info": {{"domain_name": "shop", "policy": "Policy",
        "tool_defs": [{{"type": "function", "function": {{"name": "find", "description": "Finds",
        "parameters": {{"type": "object"}}}}}}]}}}}, "tasks": [{{"id": "7", "simulations": [0]}}],
        "simulations": [{simulations}]}}"#
    )
}

const RUN: &str = r##"{"id": "run-1", "task_id": "7", "trial": 2, "new": {"messages": 1},
"start_time": "2026-01-01T10:00:00", "duration": 9.5, "termination_reason": "user_stop",
"agent_cost": 0.25, "user_cost": 1, "reward_info": {"reward": 1.0, "db_check": null},
"messages": [
{"role": "assistant", "content": "Hello", "tool_calls": null, "timestamp": "2026-01-01T10:00:01.5", "cost": 0.0, "usage": null},
{"role": "user", "content": "Where is #W1?", "timestamp": "2026-01-01T10:00:02.0"},
{"role": "assistant", "content": null, "timestamp": "2026-01-01T10:00:03", "usage": {"prompt_tokens": 10, "completion_tokens": 3}, "tool_calls": [
{"id": "a", "name": "find", "arguments": {"id": "#W1", "n": 1.0}, "requestor": "assistant"},
{"id": "b", "name": "find", "arguments": {}}]},
{"role": "tool", "id": "b", "content": "{\"x\": 1}", "requestor": "assistant", "error": false, "timestamp": "2026-01-01T10:00:04"},
{"role": "tool", "id": "a", "content": "Error: none", "error": true, "timestamp": "2026-01-01T10:00:05"},
{"role": "assistant", "content": "It is lost", "usage": {"prompt_tokens": 20, "completion_tokens": 4}, "timestamp": "2026-01-01T10:00:06"},
{"role": "user", "content": "STOP", "timestamp": "2026-01-01T10:00:07"}]}"##;

#[test]
fn a_results_file_has_an_episode_for_each_run() {
    let found = read_one(results(RUN));
    assert_eq!((found.at.as_str(), found.line), ("simulations[0]", 6));
    let episode = &found.episode;
    assert_eq!(episode.source, Source::Tau2);
    assert_eq!((episode.id.as_str(), episode.task_id.as_deref()), ("run-1", Some("7")));
    assert_eq!((episode.domain.as_str(), episode.agent.as_str()), ("shop", "model-1"));
    assert_eq!(episode.servers[0].name, "shop");
    assert_eq!(episode.started_unix_ms, Some(1_767_261_601_500));
    assert_eq!(episode.duration_ms, 5_500);
    assert_eq!((episode.reward, episode.usage.cost_usd), (1.0, Some(0.25)));
    assert_eq!((episode.usage.input_tokens, episode.usage.output_tokens), (Some(30), Some(7)));
    let tool = &episode.tools[0];
    assert_eq!((tool.server.as_str(), tool.name.as_str()), ("shop", "find"));
    assert_eq!(tool.description.as_deref(), Some("Finds"));
    assert_eq!(tool.input_schema.as_ref().unwrap().get(), r#"{"type": "object"}"#);
    assert_eq!(
        story(episode),
        [
            "1 turn 0 Hello",
            "2 user Where is #W1?",
            "3 turn 1 -",
            r##"  a find{"id": "#W1", "n": 1.0}"##,
            "  b find{}",
            r#"4 b = {"x": 1}"#,
            "5 a error Error: none",
            "6 turn 2 It is lost",
            "7 user STOP",
        ]
    );
    let call = episode.calls().next().unwrap();
    assert_eq!((call.server.as_str(), call.t_ms), ("shop", 1_500));
    assert_eq!(episode.results().last().unwrap().t_ms, 3_500);
    assert_eq!(oddities(&found), [""; 0]);
}

#[test]
fn members_may_come_in_any_order_and_nearly_all_be_missing() {
    let (info, rest) = results(RUN)
        .split_once("\"tasks\"")
        .map(|(info, rest)| (info.to_owned(), rest.to_owned()))
        .unwrap();
    let info = info.trim_start_matches('{').trim_end().trim_end_matches(',');
    let behind = format!("{{\"tasks\"{}, {info}, \"more\": []}}", rest.strip_suffix('}').unwrap());
    let found = read_one(behind);
    assert_eq!((found.episode.domain.as_str(), found.episode.agent.as_str()), ("shop", "model-1"));
    assert_eq!(story(&found.episode).len(), 9);

    let (found, errors) = read(
        r#"{"simulations": [{}, {"messages": null}, {"id": "", "task_id": 5, "trial": 0}, {"task_id": "x", "messages": [{}], "reward_info": {"reward": null}}]}"#,
    );
    assert_eq!(errors, [""; 0]);
    let ids: Vec<&str> = found.iter().map(|found| found.episode.id.as_str()).collect();
    assert_eq!(ids, ["run", "run#2", "5-0", "x"]);
    assert!(
        found.iter().all(|found| found.episode.reward == 0.0 && found.episode.events.is_empty())
    );
    assert_eq!(oddities(&found[3]), ["1 unknown-role"]);
    // Null for what is a list or an object elsewhere.
    let (found, errors) = read(r#"{"info": null, "tasks": null, "simulations": []}"#);
    assert_eq!((found.len(), errors), (0, vec![]));
}

#[test]
fn numbers_are_what_the_file_says_to_the_last_digit() {
    for number in ["0.013137349999999997", "0.9999999999999999", "1e-7"] {
        let run = format!(
            r#"{{"id": "r", "agent_cost": {number}, "reward_info": {{"reward": {number}}}}}"#
        );
        let episode = read_one(results(&run)).episode;
        let expected: f64 = number.parse().unwrap();
        assert_eq!((episode.usage.cost_usd, episode.reward), (Some(expected), expected));
    }
}

#[test]
fn ids_of_episodes_are_unique_in_a_file() {
    let (found, _) = read(results(&[RUN, RUN, r#"{"id": "run-1#2"}"#].join(",")));
    let ids: Vec<&str> = found.iter().map(|found| found.episode.id.as_str()).collect();
    assert_eq!(ids, ["run-1", "run-1#2", "run-1#2#2"]);
}

/// The story of a run with these messages.
#[track_caller]
fn check(messages: &str, expected: &[&str], odd: &[&str]) {
    let found = read_one(results(&format!(r#"{{"id": "r", "messages": [{messages}]}}"#)));
    assert_eq!(story(&found.episode), expected, "{messages}");
    assert_eq!(oddities(&found), odd, "{messages}");
}

fn calls(ids: &[&str]) -> String {
    let call = |id: &&str| format!(r#"{{"id": "{id}", "name": "t", "arguments": {{}}}}"#);
    let calls: Vec<String> = ids.iter().map(call).collect();
    format!(r#"{{"role": "assistant", "tool_calls": [{}]}}"#, calls.join(","))
}

fn result(id: &str, text: &str) -> String {
    format!(r#"{{"role": "tool", "id": "{id}", "content": "{text}"}}"#)
}

#[test]
fn results_without_an_id_are_paired_in_order() {
    let trimmed = |text: &str| format!(r#"{{"role": "tool", "content": "{text}"}}"#);
    let messages = [calls(&["a", "b"]), trimmed("one"), trimmed("Error: two")].join(",");
    check(
        &messages,
        &["1 turn 0 -", "  a t{}", "  b t{}", "2 a = one", "3 b error Error: two"],
        &[],
    );
    let messages = [calls(&["", ""]), result("", "one"), result("", "two")].join(",");
    check(&messages, &["1 turn 0 -", "  1.1 t{}", "  1.2 t{}", "2 1.1 = one", "3 1.2 = two"], &[]);
    // Of the latest turn, though an earlier call is still open.
    let messages = [calls(&["a"]), calls(&["b"]), trimmed("one")].join(",");
    check(
        &messages,
        &["1 turn 0 -", "  a t{}", "2 turn 1 -", "  b t{}", "3 b = one"],
        &["1 unanswered"],
    );
}

#[test]
fn repeated_ids_mean_the_latest_turn() {
    let messages = [calls(&["a"]), result("a", "one"), calls(&["a"]), result("a", "two")].join(",");
    check(
        &messages,
        &["1 turn 0 -", "  a t{}", "2 a = one", "3 turn 1 -", "  a#2 t{}", "4 a#2 = two"],
        &[],
    );
    let messages =
        [calls(&["a"]), calls(&["a", "a"]), result("a", "one"), result("a", "two")].join(",");
    check(
        &messages,
        &[
            "1 turn 0 -",
            "  a t{}",
            "2 turn 1 -",
            "  a#2 t{}",
            "  a#3 t{}",
            "3 a#2 = one",
            "4 a#3 = two",
        ],
        &["1 unanswered"],
    );
}

#[test]
fn what_does_not_pair_is_said() {
    let messages = [
        result("x", "early"),
        calls(&["a", "b"]),
        result("c", "odd"),
        result("b", "fine"),
        result("b", "again"),
    ]
    .join(",");
    check(
        &messages,
        &["2 turn 0 -", "  a t{}", "  b t{}", "4 b = fine"],
        &[
            "1 result-without-call",
            "2 unanswered",
            "3 result-without-call",
            "5 result-without-call",
        ],
    );
    check(&result("", "none"), &[], &["1 result-without-call"]);
    check(
        r#"{"role": "assistant", "tool_calls": [{"id": "a", "arguments": "{\"x\": 1}"}, {"id": "b", "name": "t", "arguments": "{'x': 1}"}]}"#,
        &["1 turn 0 -", r#"  a {"x": 1}"#, r#"  b t"{'x': 1}""#],
        &["1 call-without-name", "1 arguments-not-json", "1 unanswered", "1 unanswered"],
    );
    check(
        r#"{"role": "user", "content": "a", "timestamp": "2026-01-01T10:00:01"}, {"role": "user", "content": "b", "timestamp": "2026-01-01T10:00:00"}, {"role": "robot"}"#,
        &["1 user a", "2 user b"],
        &["2 time-goes-back", "3 unknown-role"],
    );
}

#[test]
fn the_users_own_calls_are_left_out() {
    let users = r#"{"role": "user", "content": "done", "tool_calls": [{"id": "a", "name": "check", "arguments": {}, "requestor": "user"}]}"#;
    let answer = r#"{"role": "tool", "id": "a", "requestor": "user", "content": "ok"}"#;
    check(&[users, answer].join(","), &["1 user done"], &[]);
    // Trimmed, it still is not taken for an answer to the agent.
    let bare = r#"{"role": "tool", "content": "ok"}"#;
    let messages = [calls(&["b"]).as_str(), users, bare, bare].join(",");
    check(&messages, &["1 turn 0 -", "  b t{}", "2 user done", "4 b = ok"], &[]);
    let messages = [calls(&["a"]).as_str(), users, answer, &result("a", "agents")].join(",");
    check(&messages, &["1 turn 0 -", "  a t{}", "2 user done", "4 a = agents"], &[]);
    // Nobody misses what the user did not get.
    check(users, &["1 user done"], &[]);
    check(answer, &[], &[]);
}

#[test]
fn grouped_results_and_odd_contents_are_read() {
    let grouped = r#"{"role": "tool", "tool_messages": [{"role": "tool", "id": "b", "content": "two"}, {"role": "tool", "id": "a", "content": [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "text", "text": "y"}]}]}"#;
    check(
        &[calls(&["a", "b"]).as_str(), grouped].join(","),
        &["1 turn 0 -", "  a t{}", "  b t{}", "2 b = two", "2 a = x\ny"],
        &[],
    );
    let object = r#"{"role": "tool", "id": "a", "content": {"n": 1.0}, "error": null}"#;
    check(
        &[calls(&["a"]).as_str(), object].join(","),
        &["1 turn 0 -", "  a t{}", r#"2 a = {"n": 1.0}"#],
        &[],
    );
    let flagged = r#"{"role": "tool", "id": "a", "content": "Error or not", "error": false}"#;
    check(
        &[calls(&["a"]).as_str(), flagged].join(","),
        &["1 turn 0 -", "  a t{}", "2 a = Error or not"],
        &[],
    );
    check(
        r#"{"role": "system", "content": "policy"}, {"role": "assistant", "content": ""}"#,
        &[],
        &[],
    );
}

const EXPORT: &str = r#"{"task_id": "3", "task": {"id": "3", "user_scenario": {"instructions": {"domain": "shop", "reason_for_call": "x"}}},
"run_info": {"simulation_id": "s-3", "timestamp": "2026-01-01T10:00:10", "duration_sec": 4.0, "agent_cost": null},
"reward_info": {"reward": 0.5}, "messages": []}"#;

#[test]
fn a_run_exported_alone_has_its_domain_from_its_task() {
    let found = read_one(EXPORT);
    let episode = &found.episode;
    assert_eq!(episode.source, Source::Tau2Task);
    assert_eq!((episode.id.as_str(), episode.task_id.as_deref()), ("s-3", Some("3")));
    assert_eq!((episode.domain.as_str(), episode.reward), ("shop", 0.5));
    // Without messages, from when it ended and how long that took.
    assert_eq!((episode.started_unix_ms, episode.duration_ms), (Some(1_767_261_606_000), 4_000));
    let scenario = EXPORT.replace(r#"{"domain": "shop", "reason_for_call": "x"}"#, "\"just text\"");
    assert_eq!(read_one(scenario).episode.domain, "");
    // Several may follow each other.
    let (found, errors) = read(format!("{EXPORT}\n{EXPORT}"));
    assert_eq!((found.len(), errors), (2, vec![]));
    assert_eq!((found[1].at.as_str(), found[1].line), ("run 2", 4));
}

/// A run by voice.
const VOICE: &str = r#"{"id": "v-1", "task_id": "1", "termination_reason": "user_stop", "mode": "full_duplex", "ticks": [
{"tick_id": 0, "timestamp": "2026-01-01T10:00:00", "agent_chunk": {"role": "assistant", "content": "Hel"}, "user_chunk": {"role": "user"}},
{"tick_id": 1, "timestamp": "2026-01-01T10:00:00.2", "agent_chunk": {"role": "assistant", "content": "lo"}},
{"tick_id": 2, "timestamp": "2026-01-01T10:00:00.4", "user_chunk": {"role": "user", "content": "Find "}},
{"tick_id": 3, "timestamp": "2026-01-01T10:00:00.6", "user_chunk": {"role": "user", "content": "it"}, "agent_tool_calls": null},
{"tick_id": 4, "timestamp": "2026-01-01T10:00:00.8", "agent_chunk": {"content": "One moment"},
 "agent_tool_calls": [{"id": "a", "name": "find", "arguments": {"n": 1}}], "user_tool_calls": [{"id": "a", "name": "look", "requestor": "user"}]},
{"tick_id": 5, "timestamp": "2026-01-01T10:00:01", "user_tool_results": [{"id": "a", "content": "seen", "requestor": "user"}],
 "agent_tool_results": [{"id": "a", "content": "here", "error": false}]},
{"tick_id": 6, "timestamp": "2026-01-01T10:00:01.2", "agent_tool_calls": [{"id": "b", "name": "find", "arguments": {}}], "agent_tool_results": [{"id": "b", "content": "Error: x", "error": true}]}
]}"#;

#[test]
fn what_is_said_by_voice_goes_on_over_ticks() {
    let found = read_one(VOICE);
    assert_eq!(
        story(&found.episode),
        [
            "1 turn 0 Hello",
            "3 user Find it",
            "5 turn 1 One moment",
            r#"  a find{"n": 1}"#,
            "6 a = here",
            "7 turn 2 -",
            "  b find{}",
            "7 b error Error: x",
        ]
    );
    assert_eq!(oddities(&found), [""; 0]);
    assert_eq!(found.episode.duration_ms, 1_200);
}

const FOLDER: &str = r#"{"info": {"agent_info": {"llm": "voice-1"}, "environment_info": {"domain_name": "shop"}}, "tasks": []INDEX}"#;

#[test]
fn the_runs_of_a_folder_are_files_of_their_own() {
    let dir = Dir::new();
    let results = dir.write("exp/results.json", FOLDER.replace("INDEX", ""));
    dir.write("exp/simulations/v-2.json", VOICE.replace("v-1", "v-2"));
    let single = dir.write("exp/simulations/v-1.json", VOICE);
    dir.write("exp/simulations/notes.txt", "none");
    let expected = ["exp/simulations/v-1.json run 1: v-1", "exp/simulations/v-2.json run 1: v-2"];
    assert_eq!(dir.lines(Sessions::of([dir.path()])), expected);
    assert_eq!(dir.lines(Sessions::of([&results])), expected);
    // A file of it knows whose it is.
    for path in [&single, &results] {
        let found = Sessions::of([path]).next().unwrap().unwrap();
        assert_eq!(found.episode.agent, "voice-1");
        assert_eq!((found.episode.domain.as_str(), found.episode.source), ("shop", Source::Tau2));
    }

    let index = r#", "simulation_index": [{"id": "v-2", "reward": 1.0}, {"id": "v-3"}]"#;
    dir.write("exp/results.json", FOLDER.replace("INDEX", index));
    assert_eq!(
        dir.lines(Sessions::of([dir.path()])),
        [
            "! exp/results.json: there is no file in simulations/ for v-3",
            "! exp/results.json: its index lacks v-1",
            "exp/simulations/v-2.json run 1: v-2",
            "exp/simulations/v-1.json run 1: v-1",
        ]
    );
    dir.write("exp/results.json", FOLDER.replace("INDEX", ", \"simulation_index\": [7]"));
    let lines = dir.lines(Sessions::of([dir.path()]));
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].starts_with("! exp/results.json:1:125: skipped simulation_index: "),
        "{lines:?}"
    );
}
