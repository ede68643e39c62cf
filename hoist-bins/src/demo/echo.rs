//! The world `echo`: a read and a write that do nothing but answer with their arguments.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::object;
use super::tool::{Answer, Called, Tool, ToolEffect};

/// The longest delay a call may ask for.
const MAX_DELAY_MS: u64 = 60_000;

const INPUT_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""text":{"type":"string","description":"Anything; it comes back in the answer"},"#,
    r#""fail":{"type":"boolean","description":"Whether to answer with an error result","default":false},"#,
    r#""delay_ms":{"type":"integer","minimum":0,"maximum":60000,"default":0,"#,
    r#""description":"Milliseconds to wait before answering"}}}"#,
);

pub(super) static TOOLS: [Tool; 2] = [
    Tool {
        name: "lookup",
        title: "Look up",
        description: "Changes nothing and answers with its arguments.",
        effect: ToolEffect::Read,
        input_schema: INPUT_SCHEMA,
        output_schema: None,
    },
    Tool {
        name: "update",
        title: "Update",
        description: "Stands for a tool that writes: it stores nothing and answers with its arguments.",
        effect: ToolEffect::IdempotentWrite,
        input_schema: INPUT_SCHEMA,
        output_schema: None,
    },
];

/// Only what changes the answer is read; the rest may be anything, so that a client sees what it
/// sent.
#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    fail: Option<&'a RawValue>,
    #[serde(borrow)]
    delay_ms: Option<&'a RawValue>,
}

/// Calls either tool with `arguments`, a JSON object.
pub(super) fn call(arguments: &RawValue) -> Called {
    let bad = |problem: &str| Answer::BadArguments(problem.to_owned()).into();
    let Some(Arguments { fail, delay_ms }) = object(arguments) else {
        return bad("fail and delay_ms may be given once each");
    };
    let Ok(fail) = fail.map_or(Ok(false), |fail| serde_json::from_str(fail.get())) else {
        return bad("fail must be true or false");
    };
    let delay_ms = delay_ms.map_or(Ok(0), |delay| serde_json::from_str::<u64>(delay.get()));
    let Some(delay_ms) = delay_ms.ok().filter(|&delay_ms| delay_ms <= MAX_DELAY_MS) else {
        return bad(&format!("delay_ms must be a whole number from 0 to {MAX_DELAY_MS}"));
    };
    let text = compact(arguments.get());
    let answer = if fail { Answer::Failed(text) } else { Answer::Text(text) };
    Called { after: Duration::from_millis(delay_ms), answer }
}

/// JSON text without the whitespace between its parts. Numbers, escapes, order and repeated keys
/// stay as they are, which a parse and a print would change.
fn compact(json: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    let keep = |character: &char| {
        if in_string {
            in_string = escaped || *character != '"';
            escaped = !escaped && *character == '\\';
            return true;
        }
        in_string = *character == '"';
        !character.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::{Answer, call, compact};

    #[test]
    fn compacting_changes_only_whitespace_between_parts() {
        for (json, expected) in [
            ("{}", "{}"),
            (
                r#"{ "a" : [ 1.10, 1e2 , 12345678901234567890123 ] }"#,
                r#"{"a":[1.10,1e2,12345678901234567890123]}"#,
            ),
            (r#"{"b c": " \" \\", "a":	"\u00e9 é \/"}"#, r#"{"b c":" \" \\","a":"\u00e9 é \/"}"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a":1,"a":2}"#),
        ] {
            assert_eq!(compact(json), expected);
        }
    }

    #[test]
    fn flags_in_the_arguments_choose_the_answer() {
        let text = |text: &str| Answer::Text(text.to_owned());
        let bad = |text: &str| Answer::BadArguments(text.to_owned());
        let delay = "delay_ms must be a whole number from 0 to 60000";
        for (arguments, after_ms, expected) in [
            (r#"{"text":"hello"}"#, 0, text(r#"{"text":"hello"}"#)),
            (r#"{"fail":false}"#, 0, text(r#"{"fail":false}"#)),
            (
                r#"{"fail":true,"text":"hi"}"#,
                0,
                Answer::Failed(r#"{"fail":true,"text":"hi"}"#.to_owned()),
            ),
            (r#"{"delay_ms":60000}"#, 60_000, text(r#"{"delay_ms":60000}"#)),
            (r#"{"delay_ms":60001}"#, 0, bad(delay)),
            (r#"{"delay_ms":-1}"#, 0, bad(delay)),
            (r#"{"delay_ms":"5"}"#, 0, bad(delay)),
            (r#"{"fail":"yes"}"#, 0, bad("fail must be true or false")),
            (r#"{"fail":true,"fail":false}"#, 0, bad("fail and delay_ms may be given once each")),
        ] {
            let called = call(serde_json::from_str(arguments).unwrap());
            assert_eq!(called.answer, expected, "{arguments}");
            assert_eq!(called.after.as_millis(), after_ms, "{arguments}");
        }
    }
}
