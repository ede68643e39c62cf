//! What becomes of a session's messages in an episode.

#![expect(clippy::unwrap_used, reason = "what these tests make up is what they expect")]

use std::fmt::Write as _;

use hoist_trace::episode::{Event, MadeBy, ToolKind};
use hoist_trace::log::{Header, LogReader};
use hoist_trace::mcp::{Session, check as check_log, read_session_from};
use hoist_trace::{Episode, Json};

/// A session from lines `TIME FROM MESSAGE`; who made a proxy's line stands behind a colon.
fn session_of(header: &Header, lines: &[&str]) -> Session {
    let mut log = header.to_line();
    for line in lines {
        let (t_ms, rest) = line.split_once(' ').unwrap();
        let (from, message) = rest.split_once(' ').unwrap();
        let (from, by) = from.split_once(':').unwrap_or((from, ""));
        let by = if by.is_empty() { String::new() } else { format!(r#","by":"{by}""#) };
        let kind = if message.starts_with("{\"lines\"") { "gap" } else { "message" };
        // Unless it is said here, a message is of JSON-RPC 2.0.
        let message = if message.starts_with("{\"") && !message.contains("jsonrpc") {
            message.replacen('{', r#"{"jsonrpc":"2.0","#, 1)
        } else {
            message.to_owned()
        };
        writeln!(log, r#"{{"t_ms":{t_ms},"from":"{from}"{by},"{kind}":{message}}}"#).unwrap();
    }
    let open = || LogReader::new(log.as_bytes(), "s.jsonl").unwrap();
    let session = read_session_from(open()).unwrap();
    // Whoever only checks a log hears the same.
    let mut found = Vec::new();
    check_log(open(), |finding| found.push(finding)).unwrap();
    assert_eq!(found, session.findings.first);
    session
}

fn session(lines: &[&str]) -> Session {
    session_of(&Header::new("s", 1000), lines)
}

/// `turn: id(name arguments by!) …` a turn, `id=text` a result, `id!text` an error, `user: …`.
fn told(episode: &Episode) -> Vec<String> {
    let tell = |event: &Event| match event {
        Event::User(message) => format!("user: {}", message.text),
        Event::Assistant(turn) => {
            let mut told = format!("{}:", turn.turn);
            if let Some(text) = &turn.text {
                write!(told, " {text:?}").unwrap();
            }
            for call in &turn.calls {
                assert_eq!(call.turn, turn.turn);
                let by = if call.made_by == MadeBy::Agent {
                    String::new()
                } else {
                    format!(" by {}", call.made_by)
                };
                let cancelled = if call.cancelled { " cancelled" } else { "" };
                write!(told, " {}({} {}{by}{cancelled})", call.id, call.name, call.arguments)
                    .unwrap();
            }
            told
        }
        Event::Tool(result) => {
            let sign = if result.is_error { '!' } else { '=' };
            format!("{}{sign}{}", result.call, result.text)
        }
        _ => unreachable!("no other event"),
    };
    episode.events.iter().map(tell).collect()
}

#[track_caller]
fn check(lines: &[&str], expected: &[&str]) {
    let session = session(lines);
    assert_eq!(told(&session.episode), expected);
    assert_eq!(session.findings.problems, 0, "{:?}", session.findings.first);
}

fn findings(session: &Session) -> Vec<String> {
    let found = session.findings.first.iter();
    found.map(|finding| format!("{}: {}", finding.line, finding.kind)).collect()
}

const CALL_1: &str =
    r#"10 client {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n": 1.0}}}"#;
const RESULT_1: &str = r#"20 server {"id":1,"result":{"content":[{"type":"text","text":"one"}]}}"#;

#[test]
fn calls_and_results_are_the_messages() {
    check(
        &[
            CALL_1,
            RESULT_1,
            r#"2000 client {"id":"x","method":"tools/call","params":{"name":"b"}}"#,
            r#"2001 server {"id":"x","error":{"code":-32602,"message":"no such tool"}}"#,
            r#"5000 client {"id":3,"method":"tools/call","params":{"name":"c","arguments":null}}"#,
            r#"5001 server {"id":3.0,"result":{"content":[{"type":"text","text":"bad"}],"isError":true}}"#,
        ],
        &[r#"0: 1(a {"n": 1.0})"#, "1=one", "1: x(b {})", "x!no such tool", "2: 3(c {})", "3!bad"],
    );
}

#[test]
fn places_and_times_are_those_of_the_log() {
    let session = session(&[CALL_1, RESULT_1, r#"30 server {"method":"notifications/message"}"#]);
    let call = session.episode.calls().next().unwrap();
    assert_eq!((call.seq, call.t_ms), (2, 10));
    let result = session.episode.results().next().unwrap();
    assert_eq!((result.seq, result.t_ms), (3, 20));
    assert_eq!(session.episode.duration_ms, 30);
    assert_eq!(session.episode.started_unix_ms, Some(1000));
}

#[test]
fn parallel_calls_are_one_turn_and_answers_stand_as_they_came() {
    check(
        &[
            CALL_1,
            r#"11 client {"id":2,"method":"tools/call","params":{"name":"b"}}"#,
            r#"12 server {"id":2,"result":{"content":[{"type":"text","text":"two"}]}}"#,
            RESULT_1,
        ],
        &[r#"0: 1(a {"n": 1.0}) 2(b {})"#, "2=two", "1=one"],
    );
}

#[test]
fn a_value_from_the_turns_answer_starts_the_next_turn() {
    let script = |argument: &str, result: &str| {
        let call = format!(
            r#"40 client {{"id":2,"method":"tools/call","params":{{"name":"b","arguments":{{"id":"{argument}"}}}}}}"#
        );
        let result = format!(
            r#"20 server {{"id":1,"result":{{"content":[{{"type":"text","text":"{result}"}}]}}}}"#
        );
        let session = session(&[CALL_1, &result, &call]);
        session.episode.turns().count()
    };
    assert_eq!(script("user_7", "it is user_7."), 2);
    assert_eq!(script("user_7", "it is user_77"), 1);
    assert_eq!(script("user_8", "it is user_7"), 1);
    // In structured content too; and one the agent knew before is no news.
    let structured =
        r#"20 server {"id":1,"result":{"content":[],"structuredContent":{"id":"user_7"}}}"#;
    let uses = r#"40 client {"id":2,"method":"tools/call","params":{"name":"b","arguments":{"id":"user_7"}}}"#;
    assert_eq!(session(&[CALL_1, structured, uses]).episode.turns().count(), 2);
    let said = r#"5 context:context {"role":"user","content":"I am user_7"}"#;
    assert_eq!(session(&[said, CALL_1, structured, uses]).episode.turns().count(), 1);
    let listed = r#"6 client {"id":"l","method":"tools/list"}"#;
    let tools = r#"7 server {"id":"l","result":{"tools":[{"name":"b","inputSchema":{"enum":["user_7"]}}]}}"#;
    assert_eq!(session(&[listed, tools, CALL_1, structured, uses]).episode.turns().count(), 1);
}

const CANCEL_1: &str = r#"15 client {"method":"notifications/cancelled","params":{"requestId":1}}"#;
const CALL_2: &str = r#"9000 client {"id":2,"method":"tools/call","params":{"name":"b"}}"#;

#[test]
fn a_cancelled_call_is_over() {
    check(&[CALL_1, CANCEL_1, CALL_2], &[r#"0: 1(a {"n": 1.0} cancelled)"#, "1: 2(b {})"]);
    // Without the cancellation, the call keeps its turn open.
    check(&[CALL_1, CALL_2], &[r#"0: 1(a {"n": 1.0}) 2(b {})"#]);
    // An answer that comes all the same is no riddle.
    check(&[CALL_1, CANCEL_1, RESULT_1], &[r#"0: 1(a {"n": 1.0} cancelled)"#, "1=one"]);
    // A layer that saw a stream close says so itself.
    let by_proxy = CANCEL_1.replace("client", "proxy:proxy");
    check(&[CALL_1, &by_proxy, CALL_2], &[r#"0: 1(a {"n": 1.0} cancelled)"#, "1: 2(b {})"]);
    // The server's word is no cancellation of the host's.
    let by_server = CANCEL_1.replace("client", "server");
    check(&[CALL_1, &by_server, CALL_2], &[r#"0: 1(a {"n": 1.0}) 2(b {})"#]);
}

#[test]
fn a_cancellation_of_an_answered_call_changes_nothing() {
    let cancel = r#"25 client {"method":"notifications/cancelled","params":{"requestId":1}}"#;
    check(&[CALL_1, RESULT_1, cancel], &[r#"0: 1(a {"n": 1.0})"#, "1=one"]);
}

#[test]
fn a_call_made_again_with_the_input_asked_for_is_one_call() {
    let asks = r#"20 server {"id":1,"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"k":{}}}}"#;
    let again = r#"4000 client {"id":2,"method":"tools/call","params":{"name":"a","arguments":{"n": 1.0},"requestState":"s1","inputResponses":{"k":{}}}}"#;
    let asks_more = r#"4010 server {"id":2,"result":{"resultType":"input_required","inputRequests":{"k":{},"l":{}}}}"#;
    let stateless = r#"8000 client {"id":3,"method":"tools/call","params":{"name":"a","arguments":{"n": 1.0},"inputResponses":{"k":{}}}}"#;
    let result = r#"8001 server {"id":3,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}"#;
    check(
        &[CALL_1, asks, again, asks_more, stateless, result],
        &[r#"0: 1(a {"n": 1.0})"#, "1=done"],
    );
    // Another state, other arguments or an answer to another question are other calls.
    for (from, to) in
        [("\"s1\"", "\"s2\""), ("\"requestState\":\"s1\",", ""), ("\"k\":{}}}}", "\"z\":{}}}}")]
    {
        let other = again.replace(from, to);
        let expected = if from.starts_with("\"k\"") { 1 } else { 2 };
        assert_eq!(session(&[CALL_1, asks, &other]).episode.calls().count(), expected, "{to}");
    }
    for (from, to) in
        [("\"n\": 1.0", "\"n\": 1"), ("\"k\":{}}}}", "\"z\":{}}}}"), ("\"a\"", "\"b\"")]
    {
        let other = stateless.replace(from, to);
        let asks = asks.replace("\"requestState\":\"s1\",", "");
        assert_eq!(session(&[CALL_1, &asks, &other]).episode.calls().count(), 2, "{to}");
    }
    // One that is never made again is over.
    check(&[CALL_1, asks, CALL_2], &[r#"0: 1(a {"n": 1.0})"#, "1: 2(b {})"]);
    // While the user thinks, the call goes on.
    let meanwhile = r#"3000 client {"id":9,"method":"tools/call","params":{"name":"b"}}"#;
    assert_eq!(session(&[CALL_1, asks, meanwhile, again]).episode.turns().count(), 1);
}

#[test]
fn a_task_is_followed_to_its_result() {
    let begun = r#"20 server {"id":1,"result":{"task":{"taskId":"t","status":"working"}}}"#;
    let gets = r#"30 client {"id":5,"method":"tasks/get","params":{"taskId":"t"}}"#;
    let works = r#"31 server {"id":5,"result":{"taskId":"t","status":"completed"}}"#;
    let asks = r#"40 client {"id":6,"method":"tasks/result","params":{"taskId":"t"}}"#;
    let result = r#"4000 server {"id":6,"result":{"content":[{"type":"text","text":"done"}]}}"#;
    let soon = r#"4100 client {"id":2,"method":"tools/call","params":{"name":"b"}}"#;
    check(
        &[CALL_1, begun, gets, works, asks, result, soon],
        &[r#"0: 1(a {"n": 1.0}) 2(b {})"#, "1=done"],
    );
    // The extension of 2026-07-28: the state itself carries the result.
    let begun =
        r#"20 server {"id":1,"result":{"resultType":"task","taskId":"t","status":"working"}}"#;
    let done = r#"{"taskId":"t","status":"completed","result":{"content":[{"type":"text","text":"done"}]}}"#;
    let state = format!(r#"4000 server {{"id":5,"result":{done}}}"#);
    let expected = [r#"0: 1(a {"n": 1.0})"#, "1=done"];
    check(&[CALL_1, begun, gets, &state], &expected);
    let notified = format!(r#"4000 server {{"method":"notifications/tasks","params":{done}}}"#);
    check(&[CALL_1, begun, &notified, &notified], &expected);
    let failed = r#"31 server {"id":5,"result":{"taskId":"t","status":"failed","error":{"code":-32603,"message":"broke"}}}"#;
    check(&[CALL_1, begun, gets, failed], &[r#"0: 1(a {"n": 1.0})"#, "1!broke"]);
    // Cancelled, or not followed any more, it is over.
    let cancels = r#"30 client {"id":5,"method":"tasks/cancel","params":{"taskId":"t"}}"#;
    let acknowledged = r#"31 server {"id":5,"result":{}}"#;
    check(
        &[CALL_1, begun, cancels, acknowledged, CALL_2],
        &[r#"0: 1(a {"n": 1.0} cancelled)"#, "1: 2(b {})"],
    );
    let cancelled = r#"31 server {"id":5,"result":{"taskId":"t","status":"cancelled"}}"#;
    check(
        &[CALL_1, begun, gets, cancelled, CALL_2],
        &[r#"0: 1(a {"n": 1.0} cancelled)"#, "1: 2(b {})"],
    );
    check(&[CALL_1, begun, CALL_2], &[r#"0: 1(a {"n": 1.0})"#, "1: 2(b {})"]);
}

#[test]
fn a_flows_lookups_are_calls_of_their_own() {
    check(
        &[
            CALL_1,
            RESULT_1,
            r#"21 proxy:flow {"id":"hoist-1","method":"tools/call","params":{"name":"l","arguments":{"k":2}}}"#,
            r#"30 server {"id":"hoist-1","result":{"content":[{"type":"text","text":"looked up"}]}}"#,
            r#"31 proxy:flow {"id":1,"result":{"content":[{"type":"text","text":"one"},{"type":"text","text":"more"}]}}"#,
            r#"60 client {"id":2,"method":"tools/call","params":{"name":"b"}}"#,
        ],
        &[
            r#"0: 1(a {"n": 1.0}) 2(b {})"#,
            "1=one",
            r#"1: hoist-1(l {"k":2} by flow)"#,
            "hoist-1=looked up",
        ],
    );
}

#[test]
fn a_commits_calls_belong_to_the_turn_that_asked_for_them() {
    check(
        &[
            r#"10 client {"id":1,"method":"tools/call","params":{"name":"hoist_commit","arguments":{"calls":[]}}}"#,
            r#"11 proxy:commit {"id":"hoist-1","method":"tools/call","params":{"name":"w"}}"#,
            r#"12 server {"id":"hoist-1","result":{"content":[]}}"#,
            r#"13 proxy:commit {"id":1,"result":{"content":[{"type":"text","text":"made 1"}]}}"#,
        ],
        &[r#"0: 1(hoist_commit {"calls":[]}) hoist-1(w {} by commit)"#, "hoist-1=", "1=made 1"],
    );
}

#[test]
fn a_refusal_is_the_proxys_answer_and_a_changed_request_is_the_same_call() {
    let refusal = r#"11 proxy:guards {"id":1,"result":{"isError":true,"content":[{"type":"text","text":"Refused"}]}}"#;
    check(&[CALL_1, refusal], &[r#"0: 1(a {"n": 1.0})"#, "1!Refused"]);
    let changed =
        r#"11 proxy:x {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":2}}}"#;
    check(&[CALL_1, changed, RESULT_1], &[r#"0: 1(a {"n": 1.0})"#, "1=one"]);
}

#[test]
fn what_the_proxy_asks_the_host_is_no_call() {
    check(
        &[
            CALL_1,
            r#"11 proxy:x {"id":"hoist-1","method":"elicitation/create","params":{}}"#,
            r#"12 client {"id":"hoist-1","result":{"action":"accept"}}"#,
            r#"13 server {"id":1,"method":"ping"}"#,
            r#"14 client {"id":1,"result":{}}"#,
            RESULT_1,
        ],
        &[r#"0: 1(a {"n": 1.0})"#, "1=one"],
    );
}

#[test]
fn each_element_of_a_batch_counts() {
    check(
        &[
            r#"10 client [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}]"#,
            r#"11 proxy:proxy {"id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"12 server {"id":1,"result":{"content":[{"type":"text","text":"A"}]}}"#,
            r#"13 server {"id":2,"result":{"content":[{"type":"text","text":"B"}]}}"#,
            r#"14 proxy:proxy [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#,
        ],
        &["0: 1(a {}) 2(b {})", "1=A", "2=B"],
    );
}

#[test]
fn the_conversation_is_part_of_the_session() {
    check(
        &[
            r#"5 context:context {"role":"user","content":"please"}"#,
            r#"6 context:context {"role":"system","content":"be good"}"#,
            r#"9 context:context {"role":"assistant","content":"I look"}"#,
            CALL_1,
            RESULT_1,
            r#"21 context:context {"role":"assistant","content":"Done."}"#,
            r#"22 context:context {"role":"user","content":"and now?"}"#,
            r#"40 client {"id":2,"method":"tools/call","params":{"name":"b"}}"#,
        ],
        &[
            "user: please",
            r#"0: "I look" 1(a {"n": 1.0})"#,
            "1=one",
            r#"1: "Done.""#,
            "user: and now?",
            "2: 2(b {})",
        ],
    );
}

#[test]
fn the_era_is_what_the_server_answers_to() {
    let probe = r#"1 client {"id":"probe","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host","version":"2"}}}}"#;
    let refused = r#"2 server {"id":"probe","error":{"code":-32601,"message":"no"}}"#;
    let starts = r#"3 client {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"host","version":"1"}}}"#;
    let started = r#"4 server {"id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"shop"}}}"#;
    let about = |lines: &[&str]| {
        let session = session(lines);
        assert_eq!(session.findings.problems, 0);
        let Episode { host, servers, agent, .. } = session.episode;
        let host = host.map(|host| format!("{} {}", host.name, host.version));
        let [server] = servers.as_slice() else { panic!("one server") };
        let own = server.implementation.as_ref().map(|own| own.name.clone());
        (host.unwrap_or_default(), agent, own.unwrap_or_default(), server.protocol_version.clone())
    };
    let told = |host: &str, server: &str, version: Option<&str>| {
        let agent = host.split(' ').next().unwrap().to_owned();
        (host.to_owned(), agent, server.to_owned(), version.map(str::to_owned))
    };
    // A probe that is refused, or not answered, settles nothing; `initialize` follows.
    assert_eq!(about(&[probe]), told("host 2", "", None));
    assert_eq!(about(&[probe, refused]), told("host 2", "", None));
    assert_eq!(
        about(&[probe, refused, starts, started]),
        told("host 1", "shop", Some("2025-06-18"))
    );
    let discovered = r#"2 server {"id":"probe","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"shop","version":"3"}}}}"#;
    assert_eq!(about(&[probe, discovered]), told("host 2", "shop", Some("2026-07-28")));
    // A modern host need not ask.
    let call = probe
        .replace("server/discover", "tools/call")
        .replace("\"params\":{", "\"params\":{\"name\":\"a\",");
    assert_eq!(about(&[&call, discovered]), told("host 2", "shop", Some("2026-07-28")));
}

#[test]
fn the_header_names_what_the_messages_do_not() {
    let mut header = Header::new("s", 0);
    header.domain = Some("orders".to_owned());
    header.agent_model = Some("model-1".to_owned());
    let starts = r#"1 client {"id":0,"method":"initialize","params":{"clientInfo":{"name":"host","version":"1"}}}"#;
    let started = r#"2 server {"id":0,"result":{"serverInfo":{"name":"shop","version":"1"}}}"#;
    let episode = session_of(&header, &[starts, started, CALL_1]).episode;
    assert_eq!((episode.domain.as_str(), episode.agent.as_str()), ("orders", "model-1"));
    assert_eq!(episode.calls().next().unwrap().server, "orders");
    header.server_name = Some("tickets".to_owned());
    let episode = session_of(&header, &[starts, started, CALL_1]).episode;
    assert_eq!(episode.servers[0].name, "tickets");
    assert_eq!(episode.calls().next().unwrap().server, "tickets");
    let episode = session(&[starts, started, CALL_1]).episode;
    assert_eq!(episode.calls().next().unwrap().server, "shop");
}

#[test]
fn a_procedure_is_told_from_an_agent_by_its_name() {
    let starts = r#"1 client {"id":0,"method":"initialize","params":{"clientInfo":{"name":"hoist-procedure","version":"1"}}}"#;
    check(&[starts, CALL_1], &[r#"0: 1(a {"n": 1.0} by procedure)"#]);
}

#[test]
fn codex_turn_ids_part_turns_that_differ() {
    let call = |t_ms: u32, id: u32, turn: &str| {
        format!(
            r#"{t_ms} client {{"id":{id},"method":"tools/call","params":{{"name":"a","_meta":{{"x-codex-turn-metadata":{{"turn_id":"{turn}"}}}}}}}}"#
        )
    };
    let (one, two, three) = (call(10, 1, "x"), call(11, 2, "y"), call(900, 3, "y"));
    let answer = r#"30 server {"id":2,"result":{"content":[]}}"#;
    check(
        &[&one, &two, RESULT_1, answer, &three],
        &["0: 1(a {})", "1: 2(a {})", "1=one", "2=", "2: 3(a {})"],
    );
}

#[test]
fn tools_are_listed_with_the_kinds_their_annotations_claim() {
    let lists = r#"1 client {"id":1,"method":"tools/list"}"#;
    let first = r#"2 server {"id":1,"result":{"tools":[{"name":"a","description":"old"},{"name":"b","annotations":{"readOnlyHint":false}}],"nextCursor":"c"}}"#;
    let next = r#"3 client {"id":2,"method":"tools/list","params":{"cursor":"c"}}"#;
    let second = r#"4 server {"id":2,"result":{"tools":[{"name":"a","annotations":{"readOnlyHint":true},"inputSchema":{"type": "object"}}]}}"#;
    let episode = session(&[lists, first, next, second]).episode;
    let tools: Vec<_> = episode.tools.iter().map(|tool| (tool.name.as_str(), tool.kind)).collect();
    assert_eq!(tools, [("a", ToolKind::Read), ("b", ToolKind::Write)]);
    assert_eq!(
        episode.tools[0].input_schema.as_ref().map(Json::get),
        Some(r#"{"type": "object"}"#)
    );
    assert_eq!(episode.tools[0].description, None);
}

#[test]
fn what_is_odd_is_said_with_its_line_and_the_rest_is_read() {
    let session = session(&[
        RESULT_1,
        CALL_1,
        r#"9 server {"id":1,"result":{"content":[]}}"#,
        r#"30 server {"id":1,"result":{"content":[]}}"#,
        r#"31 client {"id":7,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        r#"32 client {"id":8,"id":8,"method":"tools/call"}"#,
        "33 client 17",
        r#"34 client {"id":9,"method":"tools/call","params":{"name":"b"}}"#,
        r#"35 client {"id":9,"method":"tools/call","params":{"name":"c"}}"#,
        r#"36 server {"id":9,"result":{"content":"no array"}}"#,
        r#"38 client {"id":10,"method":"subscriptions/listen"}"#,
        r#"39 client {"id":11,"result":{}}"#,
        r#"40 server {"lines":3,"bytes":99}"#,
    ]);
    assert_eq!(
        findings(&session),
        [
            "2: an answer to request 1, which nobody made or which is answered",
            "3: time goes back: 10 ms after 20 ms",
            "4: time goes back: 9 ms after 20 ms",
            "5: an answer to request 1, which nobody made or which is answered",
            "6: not as MCP has it: tools/call request: duplicate field `name`",
            "7: not a JSON-RPC message: duplicate field `id`",
            "8: not a JSON-RPC message: it is not a JSON object",
            "10: a request with id 9, which another one that is not answered yet has",
            "11: not as MCP has it: tools/call result: invalid type: string \"no array\", expected an array of content items",
            "13: an answer to request 11, which nobody made or which is answered",
            "14: 3 lines (99 bytes) that came here were not recorded",
            "6: tools/call request 7 was not answered before the log ends",
            "10: tools/call request 9 was not answered before the log ends",
        ]
    );
    assert_eq!((session.findings.problems, session.findings.notes), (10, 3));
    assert_eq!(
        told(&session.episode),
        [r#"0: 1(a {"n": 1.0}) 9(b {}) 9#2(c {})"#, "1=", "9=no array"]
    );
}

#[test]
fn deep_messages_are_read() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let call = format!(
        r#"1 client {{"id":1,"method":"tools/call","params":{{"name":"a","arguments":{{"d":{deep}}}}}}}"#
    );
    let result = format!(
        r#"2 server {{"id":1,"result":{{"content":[],"structuredContent":{{"d":{deep}}},"x":{deep}}}}}"#
    );
    let soon = format!(
        r#"3 client {{"id":2,"method":"tools/call","params":{{"name":"a","arguments":{{"d":{deep}}}}}}}"#
    );
    let episode = session(&[&call, &result, &soon]).episode;
    assert_eq!(episode.calls().count(), 2);
    assert!(episode.calls().next().unwrap().arguments.get().contains(&deep));
}

#[test]
fn an_episode_is_read_back_as_it_was_written() {
    let structured = r#"20 server {"id":1,"result":{"content":[{"type":"image"}],"structuredContent":{"n": 1.0,"big":12345678901234567890123}}}"#;
    let session = session(&[
        r#"1 context:context {"role":"user","content":"please"}"#,
        CALL_1,
        structured,
        r#"21 proxy:flow {"id":"hoist-1","method":"tools/call","params":{"name":"l"}}"#,
        r#"22 server {"id":"hoist-1","error":{"code":-1,"message":"m"}}"#,
        CALL_2,
        r#"9001 client {"method":"notifications/cancelled","params":{"requestId":2}}"#,
    ]);
    let text = serde_json::to_string(&session.episode).unwrap();
    let read: Episode = serde_json::from_str(&text).unwrap();
    assert_eq!(read, session.episode);
    assert!(text.contains(r#"{"n": 1.0,"big":12345678901234567890123}"#), "{text}");
    // From a reader, which lends nothing; and members it does not know are ignored.
    let longer =
        text.replacen('{', "{\"new\":[1],", 1).replace("\"role\":", "\"newer\":{},\"role\":");
    assert_eq!(serde_json::from_reader::<_, Episode>(longer.as_bytes()).unwrap(), session.episode);
}

#[test]
fn a_session_that_only_asks_for_the_servers_era_is_a_probe() {
    const DISCOVER: &str = r#"1 client {"id":1,"method":"server/discover"}"#;
    const FOUND: &str = r#"2 server {"id":1,"result":{}}"#;
    for (lines, expected) in [
        (&[][..], false),
        (&[DISCOVER], true),
        (&[DISCOVER, FOUND], true),
        (
            &[
                DISCOVER,
                r#"9 client {"method":"notifications/cancelled","params":{"requestId":1}}"#,
            ],
            true,
        ),
        (&[DISCOVER, r#"3 server {"id":1,"error":{"code":-32601,"message":"no"}}"#], true),
        (&[DISCOVER, FOUND, r#"3 client {"id":2,"method":"tools/list"}"#], false),
        (&[DISCOVER, FOUND, r#"3 client {"method":"notifications/initialized"}"#], false),
        (&[r#"1 client {"id":1,"method":"initialize"}"#], false),
        (&[r#"1 server {"id":1,"method":"server/discover"}"#], false),
    ] {
        assert_eq!(session(lines).is_probe, expected, "{lines:?}");
    }
}

#[test]
fn an_answer_whose_request_may_be_missing_breaks_no_rule() {
    const GAP: &str = r#"15 client {"lines":1,"bytes":9}"#;
    const HOSTS: &str = r#"20 client {"id":9,"result":{}}"#;
    for answer in [RESULT_1, HOSTS] {
        assert_eq!(session(&[answer]).findings.problems, 1);
        let later = GAP.replace("15 ", "25 ");
        assert_eq!(session(&[answer, &later]).findings.problems, 1);
        let behind = session(&[GAP, answer]).findings;
        assert_eq!((behind.problems, behind.notes), (0, 1), "{:?}", behind.first);
    }
}

#[test]
fn what_can_be_read_of_a_broken_message_is_in_the_episode() {
    let session = session(&[
        r#"1 client {"id":0,"method":"initialize","params":{"clientInfo":{"name":"h\ud800"}}}"#,
        r#"2 server {"id":0,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":7}}}"#,
        r#"3 client {"id":9,"method":"tools/list"}"#,
        r#"4 server {"id":9,"result":{"tools":[{"name":"a","description":"\udc00"},{"name":"b"}]}}"#,
        CALL_1,
        r#"20 server {"id":1,"result":{"content":[{"type":"text","text":"\ud800!"}]}}"#,
        r#"2000 client {"id":2,"method":"tools/call","params":{"name":"b\ud800","_meta":{},"_meta":{}}}"#,
        r#"2001 server {"id":2,"error":{"code":"E","message":"no such tool"}}"#,
        r#"4000 client {"id":3,"method":"tools/call","params":{"arguments":{}}}"#,
        r#"4001 server {"id":3,"result":{}}"#,
        r#"4002 context:context {"role":"user","content":"a\ud800"}"#,
        r#"4003 client {"id":true,"method":"tools/call","params":{"name":"c"}}"#,
    ]);
    assert_eq!(
        told(&session.episode),
        [
            r#"0: 1(a {"n": 1.0})"#,
            "1=\u{fffd}!",
            "1: 2(b\u{fffd} {})",
            "2!no such tool",
            "user: a\u{fffd}"
        ]
    );
    let episode = &session.episode;
    assert_eq!(episode.host.as_ref().unwrap().name, "h\u{fffd}");
    assert_eq!(episode.servers[0].name, "s");
    let tools: Vec<&str> = episode.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["a", "b"]);
    let surrogate = "a text in it has half of a surrogate pair, which is no Unicode";
    assert_eq!(
        findings(&session),
        [
            format!("2: not as MCP has it: initialize request: {surrogate}"),
            "3: not as MCP has it: initialize result: invalid type: integer `7`, expected a string".into(),
            format!("5: not as MCP has it: tools/list result: {surrogate}"),
            format!("7: not as MCP has it: tools/call result: {surrogate}"),
            format!("8: not as MCP has it: tools/call request: {surrogate}"),
            "9: not as MCP has it: error in answer to tools/call: invalid type: string \"E\", expected i64".into(),
            "10: not as MCP has it: tools/call request: missing field `name`".into(),
            format!("12: not a JSON-RPC message: {surrogate}"),
            "13: not a JSON-RPC message: the id of a request must be a text or a number".into(),
        ]
    );
    assert_eq!(session.findings.unread, 9);
    // What is odd, and read, is not unread.
    let odd = self::session(&[CALL_1, r#"5 server {"jsonrpc":"1.0","id":1,"result":{}}"#]);
    assert_eq!((odd.findings.problems, odd.findings.unread), (2, 0), "{:?}", odd.findings.first);
}

#[test]
fn a_calls_result_is_found() {
    let session = session(&[CALL_1, RESULT_1, CALL_2]);
    let calls: Vec<_> = session.episode.calls().collect();
    assert_eq!(session.episode.result_of(calls[0]).unwrap().text, "one");
    assert_eq!(session.episode.result_of(calls[1]), None);
}
