//! Files as they should not be: what is good of them is read, the rest is said.

use std::io::Cursor;

use hoist_trace::sessions::{ReadError, Sessions};
use proptest::prelude::*;

use crate::files::{Dir, read};

/// Three good runs in each format, with what stands around them.
fn samples() -> Vec<(&'static str, String)> {
    let messages = r#"[{"role": "user", "content": "a \" } ]"}, {"role": "assistant", "content": "b", "tool_calls": [{"id": "1", "name": "t", "arguments": {"x": [1, {"y": "\\"}]}}]}, {"role": "tool", "id": "1", "content": "{}"}]"#;
    let tau2 =
        |n: u32| format!("{{\"id\": \"r{n}\",\n \"task_id\": \"{n}\", \"messages\": {messages}}}");
    let tau = |n: u32| format!("{{\"task_id\": {n}, \"reward\": 0.5,\n \"traj\": {messages}}}");
    let atif = |n: u32| {
        format!(
            "{{\"schema_version\": \"ATIF-v1.8\", \"session_id\": \"s{n}\",\n \"agent\": {{}}, \"steps\": [{{\"source\": \"user\", \"message\": \"hi\"}}]}}"
        )
    };
    let three = |one: &dyn Fn(u32) -> String, between: &str| {
        (0..3).map(one).collect::<Vec<_>>().join(between)
    };
    vec![
        (
            "results",
            format!(
                "{{\"info\": {{}}, \"tasks\": [[]],\n \"simulations\": [{}], \"x\": {{\"y\": [1]}}}}",
                three(&tau2, ",\n")
            ),
        ),
        ("runs", format!("[{}]", three(&tau, ", "))),
        ("trajectories", format!("[{}]", three(&atif, ","))),
        ("lines", three(&atif, "\n")),
        ("exports", three(&tau2, "\n\n")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_file_that_is_cut_gives_the_runs_before_the_cut(which in 0..5_usize, at in 0.0..1.0_f64) {
        let (name, text) = samples().swap_remove(which);
        let (whole, errors) = read(text.clone());
        prop_assert_eq!((whole.len(), errors), (3, vec![]));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short text")]
        let at = 1 + ((text.len() - 1) as f64 * at) as usize;
        let cut = &text[..at];
        let (found, errors) = read(cut);
        for (found, expected) in found.iter().zip(&whole) {
            prop_assert_eq!(&found.episode, &expected.episode);
        }
        let lists = !matches!(name, "lines" | "exports");
        // Where runs follow each other, a cut between two leaves good ones.
        let between = !lists && whole.iter().take(found.len()).count() == found.len() && errors.is_empty();
        prop_assert!(between || errors.len() == 1, "{}: {:?}", cut, errors);
        if let Some(error) = errors.first() {
            let line = cut.matches('\n').count() + 1;
            let column = cut.len() - cut.rfind('\n').map_or(0, |at| at + 1) + 1;
            let place = format!("f.json:{line}:{column}: ");
            let unknown = error.starts_with("f.json holds no session");
            prop_assert!(error.starts_with(&place) || unknown, "{error}");
            prop_assert!(!unknown || found.is_empty());
        }
    }

    #[test]
    fn no_bytes_break_it(which in 0..5_usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (_, text) = samples().swap_remove(which);
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let (found, _) = read(bytes);
        prop_assert!(found.len() <= 4);
    }
}

#[test]
fn one_bad_run_costs_nothing_but_itself() {
    let good = r#"{"id": "good", "messages": []}"#;
    for (bad, place, what) in [
        ("7", "2:1", "it is not a JSON object"),
        ("[]", "2:1", "it is not a JSON object"),
        (
            "{\"id\": \"b\",\n\"messages\": 7}",
            "3:13",
            "invalid type: integer `7`, expected a sequence",
        ),
        ("{\"messages\": [7]}", "2:15", "invalid type: integer `7`"),
        ("{\"messages\": [{\"role\": 7}]}", "2:24", "invalid type: integer `7`, expected a string"),
        (
            "{\"messages\": [{\"tool_calls\": {}}]}",
            "2:29",
            "invalid type: map, expected a sequence",
        ),
        (
            "{\"reward_info\": {\"reward\": \"x\"}}",
            "2:30",
            "invalid type: string \"x\", expected f64",
        ),
        ("{\"id\": {}}", "2:9", "invalid type: map, expected a string or a whole number"),
        ("{\"id\": 1, \"id\": 2}", "2:14", "duplicate field `id`"),
        ("{\"messages\": nonsense}", "2:15", "expected ident"),
        ("{\"messages\": [\"\\ud83d\"]}", "2:", ""),
    ] {
        let (found, errors) =
            read(format!("{{\"info\": {{}}, \"simulations\": [{good},\n{bad}, {good}]}}"));
        assert_eq!(found.len(), 2, "{bad}");
        assert_eq!(errors.len(), 1, "{bad}: {errors:?}");
        let place = format!("f.json:{place}");
        assert!(errors[0].starts_with(&place), "{bad}: {errors:?}");
        assert!(
            errors[0].contains(&format!("skipped simulations[1]: {what}")),
            "{bad}: {errors:?}"
        );
    }
    let (found, errors) =
        read(r#"[null, {"x": 1}, {"task_id": 1, "traj": []}, {"task_id": 1, "traj": {}}]"#);
    assert_eq!(found.len(), 1);
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors[1].contains("[1]: it has not the members of a run in any format"), "{errors:?}");
    // Bytes that are no text.
    let (found, errors) =
        read(b"{\"info\": {}, \"simulations\": [{\"id\": \"\xff\"}, {}]}".to_vec());
    assert_eq!((found.len(), errors.len()), (1, 1), "{errors:?}");
}

#[test]
fn what_is_wrong_around_the_runs_is_said() {
    let run = r#"{"id": "r"}"#;
    for (text, runs, said) in [
        (
            format!("{{\"info\": 7, \"simulations\": [{run}]}}"),
            1,
            "f.json:1:10: skipped info: it is not a JSON object",
        ),
        (
            format!("{{\"simulations\": [{run} {run}]}}"),
            1,
            "f.json:1:30: not JSON: a comma was expected: nothing after",
        ),
        (
            format!("{{\"simulations\": [{run},]}}"),
            1,
            "f.json:1:30: not JSON: a comma stands before the end",
        ),
        (format!("{{\"simulations\": [{run}}}"), 1, "f.json:1:29: not JSON: a comma was expected"),
        (
            format!("{{\"simulations\": [{run}], \"x\" 1}}"),
            1,
            "f.json:1:36: not JSON: a colon was expected",
        ),
        (
            format!("{{\"simulations\": [{run}]}} {{}}"),
            1,
            "f.json:1:32: not JSON: something stands behind the end",
        ),
        (
            format!("{{\"simulations\": [{run}, {{\"id\": [}}]}}"),
            1,
            "f.json:1:39: not JSON: a bracket closes",
        ),
        (
            format!("{{\"info\": {{}}, \"simulations\": [{run}, ,"),
            1,
            "f.json:1:43: not JSON: a value was expected",
        ),
        (
            r#"{"info": {"a": 1}, "tasks": ["#.to_owned(),
            0,
            "f.json:1:30: the file ends in the middle of a JSON value",
        ),
    ] {
        let (found, errors) = read(text.clone());
        assert_eq!((found.len(), errors.len()), (runs, 1), "{text}: {errors:?}");
        assert!(errors[0].starts_with(said), "{text}: {errors:?}");
    }
}

#[test]
fn what_is_none_of_the_formats_is_said_where_it_was_named() {
    for text in [
        "{}",
        "[]",
        "[1, 2]",
        r#"{"messages": []}"#,
        r#"[{"id": "1"}]"#,
        r#"{"agent": 1}"#,
        "{\"a\"",
        "{",
        "[{",
    ] {
        let (found, errors) = read(text);
        assert!(found.is_empty());
        assert!(errors[0].starts_with("f.json holds no session: "), "{text}: {errors:?}");
        assert_eq!(errors.len(), 1);
    }
    let (found, errors) = read(r#"{"info": {}, "tasks": [], "simulation_index": [{"id": "x"}]}"#);
    assert!(found.is_empty());
    let said = "f.json: its runs are files in a folder simulations/ beside it; name it as a file";
    assert_eq!(errors, [said]);
    let mut items = Sessions::read_from(Cursor::new(""), "f");
    assert!(matches!(items.next(), Some(Err(error)) if error.name() == "empty"));
    assert!(items.next().is_none());
}

#[test]
fn files_that_cannot_be_read_are_said_with_their_names() {
    let dir = Dir::new();
    let lines = dir.lines(Sessions::of([dir.join("none.json"), dir.join("none.jsonl")]));
    assert!(lines[0].starts_with("! cannot read none.json"), "{lines:?}");
    assert!(lines[1].starts_with("! cannot read session log none.jsonl"), "{lines:?}");
    let error = Sessions::of([dir.join("none.json")]).next().unwrap().unwrap_err();
    assert_eq!(
        (error.path(), error.line(), error.name()),
        (&*dir.join("none.json"), None, "unreadable")
    );
    assert!(matches!(error, ReadError::Io { .. }));
    dir.write(
        "deep.json",
        format!(
            "[{{\"task_id\": 1, \"traj\": [], \"x\": {}{}}}]",
            "[".repeat(200_000),
            "]".repeat(200_000)
        ),
    );
    assert_eq!(dir.lines(Sessions::of([dir.join("deep.json")])), ["deep.json [0]: 1"]);
}
