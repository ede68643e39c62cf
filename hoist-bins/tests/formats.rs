//! What is written is what `docs/formats.md` says: its JSON Schemas hold for logs and episodes, and
//! name every member of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use hoist_trace::episode::{
    AssistantTurn, Event, Implementation, MadeBy, Server, Source, Tool, ToolCall, ToolKind,
    ToolResult, Usage, UserMessage,
};
use hoist_trace::log::Header;
use hoist_trace::mcp::read_session;
use hoist_trace::{Episode, Json};
use jsonschema::Validator;
use serde_json::{Value, json};

/// A schema as the document has it, and one that also forbids members it does not name.
struct Schema {
    open: Validator,
    closed: Validator,
}

impl Schema {
    fn documented(name: &str) -> Self {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/formats.md");
        let document = fs::read_to_string(document).unwrap();
        let (_, rest) = document.split_once(&format!("```json schema={name}\n")).unwrap();
        let (text, _) = rest.split_once("```").unwrap();
        let mut schema: Value = serde_json::from_str(text).unwrap();
        let open = jsonschema::validator_for(&schema).unwrap();
        close(&mut schema);
        let closed = jsonschema::validator_for(&schema).unwrap();
        Self { open, closed }
    }

    #[track_caller]
    fn holds(&self, text: &str) {
        let value: Value = serde_json::from_str(text).unwrap();
        let errors: Vec<String> = self.closed.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{text}\n{errors:#?}");
    }

    /// With a member more it holds as well: readers ignore what they do not know.
    #[track_caller]
    fn allows_more(&self, text: &str) {
        let more: Value = serde_json::from_str(&text.replacen('{', "{\"new\":1,", 1)).unwrap();
        assert!(self.open.is_valid(&more), "{more}");
        assert!(!self.closed.is_valid(&more), "{more}");
    }

    #[track_caller]
    fn refuses(&self, text: &str) {
        let value: Value = serde_json::from_str(text).unwrap();
        assert!(!self.open.is_valid(&value), "{text}");
    }
}

/// Forbids members that are not named, wherever some are.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for member in members.values_mut() {
                close(member);
            }
            if members.get("type") == Some(&json!("object")) {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(close),
        _ => {}
    }
}

/// Records a session with the demo server; the log's path.
fn record(dir: &Path, options: &[&str], lines: &[&str]) -> std::path::PathBuf {
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_hoist-mcp"))
        .arg("--record")
        .arg(dir)
        .args(options)
        .args(["--", env!("CARGO_BIN_EXE_hoist-mcp-demo")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = format!("{}\n", lines.join("\n"));
    proxy.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(proxy.wait_with_output().unwrap().status.success());
    let mut logs = fs::read_dir(dir).unwrap();
    logs.next().unwrap().unwrap().path()
}

#[test]
fn a_recorded_log_and_its_episode_are_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let oversized =
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"x":"{}"}}}}"#, "x".repeat(5000));
    let path = record(
        folder.path(),
        &["--domain", "orders", "--server-name", "shop", "--max-message-bytes", "4096"],
        &[
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lookup","arguments":{"text":"a"}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"lookup","arguments":{"fail":true}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"none"}}"#,
            "not JSON",
            &oversized,
        ],
    );
    let text = fs::read_to_string(&path).unwrap();
    let (header, entries) = text.split_once('\n').unwrap();
    Schema::documented("log-header").holds(header);
    let schema = Schema::documented("log-entry");
    for entry in entries.lines() {
        schema.holds(entry);
    }
    for kind in ["\"message\":", "\"raw\":", "\"gap\":"] {
        assert!(entries.contains(kind), "{kind} in {entries}");
    }
    let episode = read_session(&path).unwrap().episode;
    assert_eq!(episode.calls().count(), 3);
    assert_eq!(episode.results().filter(|result| result.is_error).count(), 2);
    assert!(!episode.tools.is_empty());
    Schema::documented("episode").holds(&serde_json::to_string(&episode).unwrap());
}

#[test]
fn every_member_is_documented() {
    let mut header = Header::new("s", 1);
    header.server_command = vec!["a".to_owned()];
    header.domain = Some("d".to_owned());
    header.agent_model = Some("m".to_owned());
    header.host_session = Some("h".to_owned());
    header.server_name = Some("n".to_owned());
    header.server_url = Some("u".to_owned());
    let schema = Schema::documented("log-header");
    schema.holds(&header.to_line());
    schema.allows_more(&header.to_line());

    let schema = Schema::documented("episode");
    for source in [Source::HoistMcp, Source::Tau2, Source::Tau2Task, Source::TauBench, Source::Atif]
    {
        let text = serde_json::to_string(&Episode::new("s", source)).unwrap();
        schema.holds(&text);
        assert!(text.contains(&format!("\"source\":\"{}\"", source.as_str())), "{text}");
    }
    let mut episode = Episode::new("s", Source::HoistMcp);
    episode.task_id = Some("t".to_owned());
    let own: Implementation = serde_json::from_value(json!({"name": "n", "version": "v"})).unwrap();
    episode.host = Some(own.clone());
    let mut server = Server::default();
    server.implementation = Some(own);
    server.protocol_version = Some("2025-11-25".to_owned());
    episode.servers = vec![server, Server::default()];
    episode.started_unix_ms = Some(1);
    let mut usage = Usage::default();
    usage.input_tokens = Some(1);
    usage.output_tokens = Some(2);
    usage.cost_usd = Some(0.5);
    episode.usage = usage;
    for kind in [ToolKind::Read, ToolKind::Write, ToolKind::Generic] {
        let mut tool = Tool::new("s", "t");
        tool.kind = kind;
        tool.description = Some("d".to_owned());
        tool.input_schema = Some(Json::default());
        tool.output_schema = Some(Json::default());
        episode.tools.push(tool);
    }
    let mut turn = AssistantTurn::new(0, 2, 3);
    turn.text = Some("t".to_owned());
    let layers = ["agent", "flow", "commit", "procedure", "another"].map(str::to_owned);
    for made_by in layers.map(MadeBy::from) {
        let mut call = ToolCall::new("1", "t", Json::default());
        call.made_by = made_by;
        call.cancelled = true;
        turn.calls.push(call);
    }
    let mut result = ToolResult::new("1", "text");
    result.structured = Some(Json::default());
    result.other_content = vec!["image".to_owned()];
    result.is_error = true;
    result.error_code = Some(-1);
    episode.events =
        vec![Event::User(UserMessage::new(1, 2, "u")), Event::Assistant(turn), Event::Tool(result)];
    let text = serde_json::to_string(&episode).unwrap();
    schema.holds(&text);
    schema.allows_more(&text);
}

#[test]
fn what_is_not_as_documented_is_refused() {
    let header = Schema::documented("log-header");
    header.refuses(r#"{"hoist_mcp_log":1,"session":"s","started_unix_ms":1}"#);
    header.refuses(r#"{"hoist_mcp_log":2,"started_unix_ms":1}"#);
    header.refuses(r#"{"hoist_mcp_log":2,"session":"s","started_unix_ms":-1}"#);
    let entry = Schema::documented("log-entry");
    entry.refuses(r#"{"t_ms":1,"from":"client"}"#);
    entry.refuses(r#"{"t_ms":1,"from":"client","message":1,"raw":"x"}"#);
    entry.refuses(r#"{"t_ms":1,"from":"robot","message":1}"#);
    entry.refuses(r#"{"t_ms":1,"from":"client","gap":{"lines":0,"bytes":1}}"#);
    let episode = Schema::documented("episode");
    let whole =
        r#"{"hoist_episode":1,"id":"s","source":"hoist-mcp","domain":"","agent":"","events":[]}"#;
    episode.holds(whole);
    episode.refuses(&whole.replace("1,", "2,"));
    episode.refuses(&whole.replace("hoist-mcp", "elsewhere"));
    for event in [
        r#"{"role":"system","seq":1,"text":"x"}"#,
        r#"{"role":"user","seq":1}"#,
        r#"{"role":"assistant","turn":0,"seq":1,"calls":[{"id":1}]}"#,
        r#"{"role":"tool","seq":1,"text":"x"}"#,
    ] {
        episode.refuses(&whole.replace("[]", &format!("[{event}]")));
    }
}
