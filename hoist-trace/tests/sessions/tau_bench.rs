//! Runs of the original τ-bench.

use hoist_trace::episode::Source;

use crate::files::{oddities, read, read_one, story};

const RUNS: &str = r##"[{"task_id": 4, "reward": 1.0, "info": {"task": {"user_id": "u"}, "user_cost": 0.1}, "trial": 0, "traj": [
{"role": "system", "content": "# Toy Shop agent policy\n\n..."},
{"role": "user", "content": "Cancel #W1"},
{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": "{\"order_id\": \"#W1\",  \"n\": 1.0}"}}], "function_call": null},
{"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "Error: not found"},
{"role": "assistant", "content": "No such order", "tool_calls": null},
{"role": "user", "content": "STOP"}]},
{"task_id": 5, "reward": 0.0, "info": {"error": "timeout", "traceback": "..."}, "traj": [], "trial": 3}]"##;

#[test]
fn a_file_of_runs_is_a_list() {
    let (found, errors) = read(RUNS);
    assert_eq!((found.len(), errors), (2, vec![]));
    let episode = &found[0].episode;
    assert_eq!((episode.source, episode.id.as_str()), (Source::TauBench, "4-0"));
    assert_eq!((episode.task_id.as_deref(), episode.reward), (Some("4"), 1.0));
    assert_eq!((episode.domain.as_str(), episode.agent.as_str()), ("toy-shop", ""));
    assert_eq!(episode.started_unix_ms, None);
    assert_eq!(
        story(episode),
        [
            "2 user Cancel #W1",
            "3 turn 0 -",
            r##"  c1 cancel{"order_id": "#W1",  "n": 1.0}"##,
            "4 c1 error Error: not found",
            "5 turn 1 No such order",
            "6 user STOP",
        ]
    );
    assert_eq!((found[1].at.as_str(), found[1].episode.id.as_str()), ("[1]", "5-3"));
    assert!(found[1].episode.events.is_empty());
}

fn run(messages: &[(&str, &str)]) -> String {
    let message = |(role, text): &(&str, &str)| {
        serde_json::json!({"role": role, "content": text}).to_string()
    };
    let messages: Vec<String> = messages.iter().map(message).collect();
    format!(r#"[{{"task_id": 1, "traj": [{}]}}]"#, messages.join(","))
}

#[test]
fn calls_may_be_text() {
    let found = read_one(run(&[
        ("system", "# Shop agent policy"),
        ("user", "Where is it?"),
        (
            "assistant",
            "Thought:\nI look.\nAction:\n{\"name\": \"find\", \"arguments\": {\"id\": 1.0}}",
        ),
        ("user", "API output: Error: gone"),
        (
            "assistant",
            "Action: {\"name\": \"respond\", \"arguments\": {\"content\": \"Action: none\"}}\n",
        ),
        ("user", "Then find {this}"),
        ("assistant", "Action: I do nothing"),
        ("user", "API output: late"),
    ]));
    assert_eq!(
        story(&found.episode),
        [
            "2 user Where is it?",
            "3 turn 0 Thought:\nI look.",
            r#"  3.1 find{"id": 1.0}"#,
            "4 3.1 error Error: gone",
            "5 turn 1 Action: none",
            "6 user Then find {this}",
            "7 turn 2 Action: I do nothing",
        ]
    );
    assert_eq!(oddities(&found), ["8 result-without-call"]);
}

#[test]
fn text_is_no_call_where_calls_are_calls() {
    let text = r#"Action: {\"name\": \"find\"}"#;
    let found = read_one(
        RUNS.replace("No such order", text).split_once(",\n{\"task_id\": 5").unwrap().0.to_owned()
            + "]",
    );
    assert_eq!(found.episode.calls().count(), 1);
}

#[test]
fn forks_leave_ids_out_or_write_python() {
    let found = read_one(
        r#"[{"task_id": "x", "traj": [
        {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{'n': 1}"}}, {"function": {"name": "b", "arguments": ""}}]},
        {"role": "tool", "name": "b", "content": "of b"}, {"role": "tool", "name": "a", "content": "of a"},
        {"role": "assistant", "content": "x", "function_call": {"name": "c", "arguments": "{}"}}, {"role": "function", "name": "c", "content": "of c"}]}]"#,
    );
    assert_eq!(
        story(&found.episode),
        [
            "1 turn 0 -",
            r#"  1.1 a"{'n': 1}""#,
            "  1.2 b{}",
            "2 1.2 = of b",
            "3 1.1 = of a",
            "4 turn 1 x",
            "  4.1 c{}",
            "5 4.1 = of c",
        ]
    );
    assert_eq!(oddities(&found), ["1 arguments-not-json"]);
}
