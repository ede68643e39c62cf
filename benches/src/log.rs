//! Session logs.

use std::fmt::Write;

use serde_json::json;

use crate::{answer, request};

/// The log of a session in which an agent made so many calls, each answered with a record of about
/// so many bytes: as `hoist-mcp --record` writes it, handshake and list of tools included.
///
/// Every third call comes right behind the one before, so that turns of the model have one call or
/// two; the others come two seconds later.
///
/// # Examples
///
/// ```
/// let log = hoist_benches::session_log(10, 500);
/// assert_eq!(log.lines().count(), 1 + 5 + 2 * 10);
/// ```
pub fn session_log(calls: u64, result_bytes: usize) -> String {
    let mut log = Log::new();
    log.handshake();
    for id in 2..calls + 2 {
        log.t_ms += if id.is_multiple_of(3) { 1 } else { 2_000 };
        log.entry("client", &request(id));
        log.t_ms += 3;
        log.entry("server", &answer(id, result_bytes));
    }
    log.text
}

struct Log {
    text: String,
    t_ms: u64,
}

impl Log {
    fn new() -> Self {
        let header = concat!(
            r#"{"hoist_mcp_log":2,"session":"20260923T212000.123Z-4242","#,
            r#""started_unix_ms":1790198400123,"server_command":["shop-server"],"domain":"orders","#,
            r#""agent_model":null,"host_session":"host-4211"}"#,
            "\n"
        );
        Self { text: header.to_owned(), t_ms: 1 }
    }

    fn entry(&mut self, from: &str, message: &str) {
        let t_ms = self.t_ms;
        writeln!(self.text, r#"{{"t_ms":{t_ms},"from":"{from}","message":{message}}}"#)
            .expect("a string takes every text");
    }

    fn handshake(&mut self) {
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": { "roots": {} },
            "clientInfo": { "name": "bench-host", "version": "1.0" } } });
        let initialized = json!({ "jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "shop", "version": "1.0" } } });
        let tools: Vec<_> = ["get_order_details", "get_user_details", "cancel_pending_order"]
            .iter()
            .map(|name| {
                json!({ "name": name, "description": "Works on one order or user of the shop.",
                    "annotations": { "readOnlyHint": name.starts_with("get_") },
                    "inputSchema": { "type": "object", "properties": { "order_id": {
                        "type": "string" } }, "required": ["order_id"] } })
            })
            .collect();
        for (from, message) in [
            ("client", initialize),
            ("server", initialized),
            ("client", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
            ("client", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })),
            ("server", json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } })),
        ] {
            self.t_ms += 2;
            self.entry(from, &message.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use hoist_trace::log::LogReader;
    use hoist_trace::mcp::read_session_from;

    use super::*;

    #[test]
    fn a_log_is_read_as_the_session_it_says() {
        let text = session_log(30, 2_000);
        let session = read_session_from(LogReader::new(text.as_bytes(), "log").unwrap()).unwrap();
        assert!(session.problems.is_empty(), "{:?}", session.problems);
        assert_eq!((session.report.entries, session.report.bad_lines), (5 + 60, 0));
        assert_eq!(session.episode.tools.len(), 3);
        assert_eq!(session.episode.calls().count(), 30);
        assert_eq!(session.episode.results().count(), 30);
        assert_eq!(session.episode.turns().count(), 20, "every third call is the turn's second");
        assert!(session.episode.results().all(|r| !r.is_error && r.text.len() >= 2_000));
    }
}
