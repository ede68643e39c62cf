//! The servers, and what a client is to do with each.

use std::ffi::OsString;

use super::run::Way;
use crate::host::demo;
use crate::peers;

/// A server and the steps that a client takes on it.
pub(super) struct Server {
    pub(super) name: &'static str,
    /// Its command; installs it first, where that is needed.
    pub(super) command: fn() -> Vec<OsString>,
    /// The tool that answers with this argument of its.
    echo: (&'static str, &'static str),
    /// A call that runs until it is cancelled, if there is one.
    endless: &'static str,
    /// The steps of its own.
    steps: &'static [&'static str],
    /// The ways to compare with the direct one. A layer that acts is tried on the servers that do
    /// most: what they ask back, and progress, cross while it holds a call.
    pub(super) ways: &'static [Way],
    /// Texts that the client must have seen, whichever it is: they show that the steps were taken.
    pub(super) seen: &'static [&'static str],
}

pub(super) const SERVERS: &[Server] = &[
    Server {
        name: "the demo server",
        command: || vec![demo().into()],
        echo: ("lookup", "text"),
        endless: r#"{"call":"lookup","arguments":{"delay_ms":60000}}"#,
        steps: &[
            r#"{"call":"update","arguments":{"text":"no","fail":true}}"#,
            r#"{"call":"lookup","arguments":{"fail":"not a boolean"}}"#,
        ],
        ways: &[Way::Recorded],
        seen: &["Changes nothing and answers", "fail must be true or false", "unknown tool"],
    },
    Server {
        name: "the demo server's shop",
        command: || vec![demo().into(), "--world".into(), "retail".into()],
        echo: ("find_user_id_by_email", "email"),
        endless: "",
        steps: &[
            r#"{"call":"find_user_id_by_email","arguments":{"email":"c7@example.com"}}"#,
            r##"{"call":"cancel_pending_order","arguments":{"order_id":"#W7a","reason":"no longer needed"}}"##,
            r##"{"together":[{"call":"get_order_details","arguments":{"order_id":"#W7a"}},
                {"call":"get_user_details","arguments":{"user_id":"user_7"}}]}"##,
        ],
        ways: &[Way::Recorded],
        seen: &["user_7", "cancelled", "unknown tool"],
    },
    Server {
        name: "a server of the Python SDK",
        command: || vec![peers::python().into(), peers::python_script("server.py").into()],
        echo: ("echo", "text"),
        endless: r#"{"call":"wait","arguments":{}}"#,
        steps: PEER_STEPS,
        ways: &Way::PROXIED,
        seen: &["sum", "3 of 3", "counted", "finished", "Error executing tool fail: no"],
    },
    Server {
        name: "a server of rmcp",
        command: || vec![peers::rmcp().into(), "server".into()],
        echo: ("echo", "text"),
        endless: r#"{"call":"wait","arguments":{}}"#,
        steps: PEER_STEPS,
        ways: &Way::PROXIED,
        seen: &["sum", "3 of 3", "counted", "finished", "a and b must be numbers"],
    },
    // The only one here that speaks legacy revisions alone.
    Server {
        name: "server-everything",
        command: || {
            let program = peers::npm().join("node_modules/.bin/mcp-server-everything");
            vec![program.into(), "stdio".into()]
        },
        echo: ("echo", "message"),
        // Its long running operation does not heed a cancellation, nor the end of its input.
        endless: "",
        steps: &[
            r#"{"call":"get-structured-content","arguments":{"location":"Chicago"}}"#,
            r#"{"call":"get-tiny-image","arguments":{}}"#,
            r#"{"call":"echo","arguments":{"message":7}}"#,
            r#"{"call":"get-resource-links","arguments":{"count":2}}"#,
            // It asks the client's model, in the middle of the call.
            r#"{"call":"trigger-sampling-request","arguments":{"prompt":"Who are you? é","maxTokens":7}}"#,
            // Of its resources these alone do not say when they were read.
            r#"{"resources":true}"#,
            r#"{"read":"demo://resource/static/document/architecture.md"}"#,
            r#"{"read":"demo://resource/dynamic/text/none"}"#,
            r#"{"read":"demo://resource/static/document/none"}"#,
            r#"{"prompts":true}"#,
            r#"{"prompt":"simple-prompt","arguments":{}}"#,
            r#"{"prompt":"args-prompt","arguments":{"city":"Zürich","state":"ZH"}}"#,
            r#"{"prompt":"args-prompt","arguments":{}}"#,
            r#"{"prompt":"no-such-prompt","arguments":{}}"#,
        ],
        ways: &[Way::Recorded],
        seen: &[
            "temperature",
            "image/png",
            "no-such-tool",
            "LLM sampling result",
            "I am the model",
            "demo://resource/dynamic/text/{resourceId}",
            "# Everything Server",
            "A prompt with two arguments",
            // Some print what is not ASCII as an escape.
            "rich, ZH?",
            "no-such-prompt",
        ],
    },
];

/// What the small servers of ours can do.
const PEER_STEPS: &[&str] = &[
    r#"{"call":"fail","arguments":{"text":"no"}}"#,
    r#"{"call":"add","arguments":{"a":1.5,"b":2}}"#,
    r#"{"call":"add","arguments":{"a":"x"}}"#,
    r#"{"call":"count","arguments":{"to":3},"progress":3,"then":{"call":"finish","arguments":{}}}"#,
    // The server asks back: a request of its own, or a result that requires input. The server of
    // rmcp has no such tool, so there it is one more error.
    r#"{"call":"greet","arguments":{}}"#,
];

impl Server {
    /// The steps as the clients read them (see `tests/peers/steps.md`).
    pub(super) fn steps(&self) -> String {
        self.steps_up_to(LARGE)
    }

    /// The same, where the largest text has about this many bytes.
    pub(super) fn steps_up_to(&self, large: usize) -> String {
        let echo = |text: &str| {
            let (tool, argument) = self.echo;
            serde_json::json!({"call": tool, "arguments": {argument: text}}).to_string()
        };
        let mut steps = vec![r#"{"list":true}"#.to_owned(), echo("é 😀 \u{2028} \\ \u{1}")];
        steps.extend(self.steps.iter().map(|&step| step.to_owned()));
        steps.push(r#"{"call":"no-such-tool","arguments":{}}"#.to_owned());
        if !self.endless.is_empty() {
            steps.push(format!(r#"{{"cancel":{},"beside":{}}}"#, self.endless, echo("beside")));
        }
        steps.push(format!(r#"{{"together":[{},{}]}}"#, echo("one"), echo("two")));
        steps.push(echo(&"世界 \u{1f30d} 0123456789 \"\n".repeat(large / 20)));
        format!("[{}]", steps.join(","))
    }

    /// How many calls they are.
    pub(super) fn calls(&self) -> usize {
        self.steps().matches(r#""call":"#).count()
    }
}

/// About how long the largest text is, in bytes: many times a pipe's buffer.
pub(super) const LARGE: usize = 400 << 10;
