//! Outgoing JSON-RPC messages, and the names and codes of the protocol that this server uses.

use super::message::Id;
use super::revision::Revision;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const INTERNAL_ERROR: i32 = -32603;
pub(super) const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const PING: &str = "ping";
pub(super) const TOOLS_LIST: &str = "tools/list";
pub(super) const TOOLS_CALL: &str = "tools/call";
pub(super) const SERVER_DISCOVER: &str = "server/discover";
pub(super) const SUBSCRIPTIONS_LISTEN: &str = "subscriptions/listen";
pub(super) const CANCELLED: &str = "notifications/cancelled";
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

pub(super) const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const META_CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// One message to the client: JSON on one line, without the line's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    text: String,
    error_code: Option<i32>,
}

impl Outgoing {
    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The JSON text, to keep.
    pub fn into_string(self) -> String {
        self.text
    }

    /// The code if this is an error response: over HTTP it decides the status.
    pub fn error_code(&self) -> Option<i32> {
        self.error_code
    }

    /// The answer to a request: its result's JSON text, or an error.
    pub(super) fn answer(id: &Id, outcome: &Outcome) -> Self {
        match outcome {
            Ok(result) => Self {
                text: format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json()),
                error_code: None,
            },
            Err(error) => Self::error(&format!(r#""id":{},"#, id.as_json()), error),
        }
    }

    /// The answer to something whose id could not be read.
    pub(super) fn answer_to_nobody(revision: Option<Revision>, error: &RpcError) -> Self {
        let leave_out = revision.is_some_and(Revision::leaves_out_unknown_id);
        Self::error(if leave_out { "" } else { r#""id":null,"# }, error)
    }

    /// A notification with the JSON text of its params.
    pub(super) fn notification(method: &str, params: &str) -> Self {
        Self {
            text: format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#),
            error_code: None,
        }
    }

    /// The answers to a batch.
    pub(super) fn batch(answers: &[String]) -> Self {
        Self { text: format!("[{}]", answers.join(",")), error_code: None }
    }

    fn error(id: &str, error: &RpcError) -> Self {
        let RpcError { code, message, data } = error;
        let message = serde_json::Value::from(message.as_str());
        let data = data.as_ref().map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
        let text = format!(
            r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":{message}{data}}}}}"#
        );
        Self { text, error_code: Some(*code) }
    }
}

/// What became of a request: the JSON text of its result, or an error.
pub(super) type Outcome = Result<String, RpcError>;

/// A JSON-RPC error. It is an answer to the client, not a failure of this program.
#[derive(Clone, Debug)]
pub(super) struct RpcError {
    pub(super) code: i32,
    message: String,
    data: Option<serde_json::Value>,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn with_data(self, data: serde_json::Value) -> Self {
        Self { data: Some(data), ..self }
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("no method {method} in this revision"))
    }
}
