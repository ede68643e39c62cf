//! `hoist-mcp-demo` as its clients see it: the built program over pipes, answers compared byte for
//! byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
const SERVER: &str =
    concat!(r#"{"name":"hoist-mcp-demo","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// A modern `_meta` member.
fn meta() -> String {
    format!(r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",{CAPABILITIES}}}"#)
}

/// The `_meta` member of a modern result.
fn result_meta() -> String {
    format!(r#""_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER}}}"#)
}

fn request(id: impl std::fmt::Display, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn initialize(revision: &str) -> String {
    let client = r#""capabilities":{},"clientInfo":{"name":"test","version":"0"}"#;
    request(0, "initialize", &format!(r#"{{"protocolVersion":"{revision}",{client}}}"#))
}

fn call(id: impl std::fmt::Display, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

fn modern_call(id: impl std::fmt::Display, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments},{}}}"#, meta()))
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// The result of a legacy call with text alone.
fn text(id: impl std::fmt::Display, text: &str, is_error: bool) -> String {
    let text = serde_json::Value::from(text);
    let content = format!(r#"[{{"type":"text","text":{text}}}]"#);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{content},"isError":{is_error}}}}}"#
    )
}

fn demo(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hoist-mcp-demo"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends `input`, ends it, and waits for the program to end by itself.
fn output(arguments: &[&str], input: &[u8]) -> Output {
    let mut demo = demo(arguments);
    demo.stdin.take().unwrap().write_all(input).unwrap();
    demo.wait_with_output().unwrap()
}

/// The lines a world answers to some lines; the program must end well and say nothing else.
#[track_caller]
fn answers(world: &str, lines: &[String]) -> Vec<String> {
    let input: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let output = output(&["--world", world], input.as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.is_empty() || stdout.ends_with('\n'));
    stdout.lines().map(str::to_owned).collect()
}

/// The error codes answered to some lines; `None` for an answer that is no error.
#[track_caller]
fn codes(lines: &[String]) -> Vec<Option<i64>> {
    let answers = answers("echo", lines);
    let code = |answer: &String| {
        serde_json::from_str::<serde_json::Value>(answer).unwrap()["error"]["code"].as_i64()
    };
    answers.iter().map(code).collect()
}

/// A running program whose answers are read one at a time.
struct Conversation {
    demo: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    fn start() -> Self {
        let mut demo = demo(&[]);
        let input = demo.stdin.take();
        let output = BufReader::new(demo.stdout.take().unwrap());
        Self { demo, input, output }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Ends the input and gives what is still answered.
    fn end(mut self) -> Vec<String> {
        self.input = None;
        let rest = self.output.lines().map(Result::unwrap).collect();
        assert!(self.demo.wait().unwrap().success());
        rest
    }
}

#[test]
fn a_first_session_by_hand() {
    let answers = answers(
        "echo",
        &[
            initialize("2025-06-18"),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_owned(),
            call(3, "lookup", r#"{"text":"hello"}"#),
            call(4, "update", r#"{"text":"hi","fail":true}"#),
            r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#.to_owned(),
        ],
    );
    let [initialized, tools, rest @ ..] = answers.as_slice() else { panic!("{answers:?}") };
    let instructions = "Two tools that store nothing and answer with their arguments: lookup reads, update writes.";
    let result = format!(
        r#"{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{SERVER},"instructions":"{instructions}"}}"#
    );
    assert_eq!(*initialized, format!(r#"{{"jsonrpc":"2.0","id":0,"result":{result}}}"#));
    let tools: serde_json::Value = serde_json::from_str(tools).unwrap();
    for (index, name, reads) in [(0, "lookup", true), (1, "update", false)] {
        let tool = &tools["result"]["tools"][index];
        assert_eq!(tool["name"], name);
        assert_eq!(tool["annotations"]["readOnlyHint"], reads);
        assert_eq!(tool["inputSchema"]["properties"]["delay_ms"]["maximum"], 60_000);
    }
    assert_eq!(
        rest,
        [
            text(3, r#"{"text":"hello"}"#, false),
            text(4, r#"{"text":"hi","fail":true}"#, true),
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#.to_owned(),
        ]
    );
}

#[test]
fn initialize_agrees_on_a_legacy_revision() {
    for (requested, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = answers("echo", &[initialize(requested)]).remove(0);
        assert!(
            answer.contains(&format!(r#""protocolVersion":"{agreed}""#)),
            "{requested}: {answer}"
        );
    }
}

#[test]
fn structured_content_comes_with_its_revision() {
    for (revision, structured) in
        [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", true), ("2025-11-25", true)]
    {
        let lines = [
            initialize(revision),
            request(1, "tools/list", "{}"),
            call(2, "find_user_id_by_email", r#"{"email":"c7@example.com"}"#),
        ];
        let answers = answers("retail", &lines);
        assert_eq!(answers[1].contains("outputSchema"), structured, "{revision}");
        let plain = text(2, r#"{"user_id":"user_7"}"#, false);
        let both = plain
            .replace(r#","isError""#, r#","structuredContent":{"user_id":"user_7"},"isError""#);
        assert_eq!(answers[2], if structured { both } else { plain }, "{revision}");
    }
}

#[test]
fn arguments_and_ids_keep_their_spelling() {
    let arguments =
        r#"{ "b": 1.10, "a": 12345678901234567890123, "t": "\u00e9\/ \"x\" é" , "a": 1e2 }"#;
    let lines = [
        call(r#""\u0061""#, "lookup", arguments),
        call("123456789012345678901234567890", "update", r"{}"),
    ];
    let compact = r#"{"b":1.10,"a":12345678901234567890123,"t":"\u00e9\/ \"x\" é","a":1e2}"#;
    let expected =
        [text(r#""\u0061""#, compact, false), text("123456789012345678901234567890", "{}", false)];
    assert_eq!(answers("echo", &lines), expected);
}

#[test]
fn a_delayed_call_holds_up_nothing_and_is_answered_after_the_input_ended() {
    let (slow, slower, quick) = (r#"{"delay_ms":200}"#, r#"{"delay_ms":400}"#, r"{}");
    let lines = [call(1, "lookup", slower), call(2, "update", slow), call(3, "lookup", quick)];
    let expected = [text(3, quick, false), text(2, slow, false), text(1, slower, false)];
    assert_eq!(answers("echo", &lines), expected);
}

#[test]
fn answers_arrive_while_the_input_is_open() {
    let mut talk = Conversation::start();
    talk.say(&call(1, "lookup", r#"{"delay_ms":60000}"#));
    talk.say(&call(2, "lookup", r#"{"delay_ms":1}"#));
    assert_eq!(talk.hear(), text(2, r#"{"delay_ms":1}"#, false));
    talk.say(&call(3, "lookup", "{}"));
    assert_eq!(talk.hear(), text(3, "{}", false));
    talk.say(&cancel("1"));
    assert_eq!(talk.end(), [""; 0]);
}

#[test]
fn a_cancelled_call_is_never_answered() {
    let long = r#"{"delay_ms":60000}"#;
    let lines = [
        call(r#""a""#, "lookup", long),
        call(1, "lookup", long),
        modern_call(2, "lookup", long),
        cancel("2"),
        cancel(r#""\u0061""#),
        cancel("1"),
        cancel("7"),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#.to_owned(),
    ];
    assert_eq!(answers("echo", &lines), [""; 0]);
}

#[test]
fn batches_are_of_one_revision() {
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let answer_to_ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let invalid = |message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"{message}"}}}}"#)
    };
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let slow = r#"{"delay_ms":20}"#;
    let long = r#"{"delay_ms":60000}"#;
    let not_object = "a message must be an object that has each member once";
    for (batch, expected) in [
        (format!("[{},{note}, {}]", ping(1), ping(2)), Some(format!("[{},{}]", answer_to_ping(1), answer_to_ping(2)))),
        (format!("[{note}]"), None),
        (format!("[{},{}]", call(1, "lookup", slow), ping(2)), Some(format!("[{},{}]", answer_to_ping(2), text(1, slow, false)))),
        (format!("[{},{}]", call(1, "lookup", long), cancel("1")), None),
        (format!("[{},{},{}]", call(1, "lookup", long), ping(2), cancel("1")), Some(format!("[{}]", answer_to_ping(2)))),
        (format!("[1,[],{}]", ping(2)), Some(format!("[{},{},{}]", invalid(not_object), invalid(not_object), answer_to_ping(2)))),
        ("[]".to_owned(), Some(invalid("a batch must hold at least one message"))),
        (
            format!("[{}]", initialize("2025-03-26")),
            Some(r#"[{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"initialize must not be in a batch"}}]"#.to_owned()),
        ),
    ] {
        let mut answers = answers("echo", &[initialize("2025-03-26"), batch.clone()]);
        answers.remove(0);
        assert_eq!(answers, Vec::from_iter(expected), "{batch}");
    }
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let codes = codes(&[initialize(revision), format!("[{}]", ping(1))]);
        assert_eq!(codes, [None, Some(-32600)], "{revision}");
    }
}

#[test]
fn mistakes_of_a_legacy_client_have_their_codes() {
    let request = |method: &str, params: &str| request(1, method, params);
    for (line, code) in [
        (request("resources/list", "{}"), -32601),
        (request("server/discover", "{}"), -32601),
        (request("tools/list", r#"{"cursor":"x"}"#), -32602),
        (request("tools/list", r#"{"cursor":""}"#), -32602),
        (request("tools/list", r#"{"cursor":null}"#), -32602),
        (request("tools/list", "[]"), -32602),
        (request("tools/call", r#"{"name":"nosuch"}"#), -32602),
        (request("tools/call", r#"{"name":7}"#), -32602),
        (request("tools/call", r#"{"name":"lookup","name":"update"}"#), -32602),
        (request("tools/call", r#"{"name":"lookup","arguments":[]}"#), -32602),
        (request("tools/call", r#"{"name":"lookup","arguments":{"delay_ms":1.5}}"#), -32602),
        (request("initialize", "{}"), -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(), -32602),
        ("nonsense".to_owned(), -32700),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), -32600),
    ] {
        assert_eq!(codes(&[initialize("2025-06-18"), line.clone()]), [None, Some(code)], "{line}");
    }
}

#[test]
fn an_error_that_answers_nobody_has_the_id_its_revision_wants() {
    let error = r#""error":{"code":-32700,"message":"the message is not JSON"}}"#;
    for (first, id) in [
        (None, r#""id":null,"#),
        (Some(initialize("2025-06-18")), r#""id":null,"#),
        (Some(initialize("2025-11-25")), ""),
        (Some(request(1, "server/discover", &format!("{{{}}}", meta()))), ""),
    ] {
        let lines: Vec<_> = first.into_iter().chain(["{".to_owned()]).collect();
        assert_eq!(
            *answers("echo", &lines).last().unwrap(),
            format!(r#"{{"jsonrpc":"2.0",{id}{error}"#)
        );
    }
}

#[test]
fn bad_arguments_reach_the_model_where_the_revision_says_so() {
    let line = call(1, "lookup", r#"{"delay_ms":-1}"#);
    assert_eq!(codes(&[initialize("2025-06-18"), line.clone()]), [None, Some(-32602)]);
    let answers = answers("echo", &[initialize("2025-11-25"), line]);
    assert_eq!(answers[1], text(1, "delay_ms must be a whole number from 0 to 60000", true));
}

#[test]
fn a_call_before_initialize_is_answered_as_in_the_newest_legacy_revision() {
    let answers =
        answers("retail", &[call(1, "find_user_id_by_email", r#"{"email":"c1@example.com"}"#)]);
    assert!(answers[0].contains(r#""structuredContent":{"user_id":"user_1"}"#), "{answers:?}");
    assert!(!answers[0].contains("resultType"));
}

#[test]
fn a_modern_client_needs_no_session() {
    let (meta, result_meta) = (meta(), result_meta());
    let lines = [
        request(r#""server-discover-probe-1""#, "server/discover", &format!("{{{meta}}}")),
        modern_call(0, "lookup", r#"{"n":1.50}"#),
        request(1, "ping", &format!("{{{meta}}}")),
        request(2, "tools/list", &format!(r#"{{"cursor":"x",{meta}}}"#)),
        request(3, "tools/list", &format!("{{{meta}}}")),
    ];
    let answers = answers("echo", &lines);
    let instructions = "Two tools that store nothing and answer with their arguments: lookup reads, update writes.";
    let discovered = format!(
        r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"instructions":"{instructions}","ttlMs":3600000,"cacheScope":"public",{result_meta}}}"#
    );
    assert_eq!(
        answers[0],
        format!(r#"{{"jsonrpc":"2.0","id":"server-discover-probe-1","result":{discovered}}}"#)
    );
    let content = r#"[{"type":"text","text":"{\"n\":1.50}"}]"#;
    assert_eq!(
        answers[1],
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"resultType":"complete","content":{content},"isError":false,{result_meta}}}}}"#
        )
    );
    assert!(answers[2].contains("-32601"), "{}", answers[2]);
    assert!(answers[3].contains("-32602"), "{}", answers[3]);
    assert!(
        answers[4]
            .ends_with(&format!(r#"],"ttlMs":3600000,"cacheScope":"public",{result_meta}}}}}"#))
    );
}

#[test]
fn a_modern_request_must_say_what_it_speaks() {
    let version = |version: &str| format!(r#""io.modelcontextprotocol/protocolVersion":{version}"#);
    let with_meta = |meta: &str| request(1, "tools/list", &format!(r#"{{"_meta":{{{meta}}}}}"#));
    for (line, expected) in [
        (
            with_meta(&version(r#""2026-07-28""#)),
            r#"{"code":-32602,"message":"_meta lacks io.modelcontextprotocol/clientCapabilities, or it is not of its type"}"#,
        ),
        (
            with_meta(&format!("{},{CAPABILITIES}", version("7"))),
            r#"{"code":-32602,"message":"_meta lacks io.modelcontextprotocol/protocolVersion, or it is not of its type"}"#,
        ),
        (
            request(1, "server/discover", "{}"),
            r#"{"code":-32602,"message":"_meta lacks io.modelcontextprotocol/protocolVersion, or it is not of its type"}"#,
        ),
        (
            with_meta(&version(r#""2031-01-01""#)),
            r#"{"code":-32022,"message":"unsupported protocol version","data":{"requested":"2031-01-01","supported":["2026-07-28"]}}"#,
        ),
        (
            with_meta(&version(r#""2025-11-25""#)),
            r#"{"code":-32022,"message":"unsupported protocol version","data":{"requested":"2025-11-25","supported":["2026-07-28"]}}"#,
        ),
    ] {
        let answer = answers("echo", std::slice::from_ref(&line)).remove(0);
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":1,"error":{expected}}}"#), "{line}");
    }
    // Once the connection is known to be modern, silence about the version is a mistake.
    let discover = request(1, "server/discover", &format!("{{{}}}", meta()));
    assert_eq!(codes(&[discover, request(2, "tools/list", "{}")]), [None, Some(-32602)]);
}

#[test]
fn both_eras_share_a_connection() {
    let old = call(2, "lookup", "{}");
    let lines = [
        request(1, "server/discover", &format!("{{{}}}", meta())),
        initialize("2024-11-05"),
        old.clone(),
        modern_call(3, "lookup", "{}"),
        old,
    ];
    let answers = answers("echo", &lines);
    assert_eq!(answers[2], text(2, "{}", false));
    assert!(answers[3].contains(r#""resultType":"complete""#));
    assert_eq!(answers[4], answers[2]);
}

#[test]
fn a_subscription_is_acknowledged_and_ends_with_the_input() {
    let listen = |id| {
        request(
            id,
            "subscriptions/listen",
            &format!(r#"{{"notifications":{{"toolsListChanged":true}},{}}}"#, meta()),
        )
    };
    let subscription = |id: &str| format!(r#""io.modelcontextprotocol/subscriptionId":{id}"#);
    let acknowledged = |id: &str| {
        let params = format!(r#"{{"_meta":{{{}}},"notifications":{{}}}}"#, subscription(id));
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{params}}}"#
        )
    };
    let mut talk = Conversation::start();
    for id in ["1", r#""x""#] {
        talk.say(&listen(id));
        assert_eq!(talk.hear(), acknowledged(id));
    }
    talk.say(&cancel("1"));
    let meta =
        format!(r#"{{{},"io.modelcontextprotocol/serverInfo":{SERVER}}}"#, subscription(r#""x""#));
    assert_eq!(
        talk.end(),
        [
            format!(r#"{{"jsonrpc":"2.0","id":"x","result":{{"resultType":"complete","_meta":{meta}}}}}"#),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"the server is shutting down"}}"#.to_owned(),
        ]
    );
    let unasked = request(1, "subscriptions/listen", &format!("{{{}}}", self::meta()));
    assert_eq!(codes(&[unasked]), [Some(-32602)]);
}

#[test]
fn an_order_can_be_cancelled_once_per_process() {
    let order = r##"{"order_id":"#W7a","user_id":"user_7","status":"STATUS","items":[{"item_id":"4100031738","product_id":"1600418916","name":"Wireless Earbuds","price":159.0},{"item_id":"4100055495","product_id":"1600733103","name":"Espresso Machine","price":312.5},{"item_id":"4100079252","product_id":"1601047290","name":"Garden Hose","price":28.15}],"address":{"address1":"107 Maple Street","city":"Denver","state":"CO","zip":"80207","country":"USA"},"payment":{"payment_method_id":"credit_card_2000007","amount":499.65,"refunded":REFUNDED}REASON}"##;
    let pending =
        order.replace("STATUS", "pending").replace("REFUNDED", "false").replace("REASON", "");
    let cancelled = order
        .replace("STATUS", "cancelled")
        .replace("REFUNDED", "true")
        .replace("REASON", r#","cancel_reason":"ordered by mistake""#);
    let look = |id| call(id, "get_order_details", r##"{"order_id":"#W7a"}"##);
    let cancel = |id| {
        call(id, "cancel_pending_order", r##"{"order_id":"#W7a","reason":"ordered by mistake"}"##)
    };
    let lines = [
        initialize("2025-03-26"),
        call(1, "get_user_details", r#"{"user_id":"user_7"}"#),
        look(2),
        call(3, "cancel_pending_order", r##"{"order_id":"#W7a","reason":"found it cheaper"}"##),
        cancel(4),
        cancel(5),
        look(6),
    ];
    let user = r##"{"user_id":"user_7","orders":["#W7a","#W7b"],"name":{"first_name":"Hana","last_name":"Sato"},"email":"c7@example.com","address":{"address1":"107 Maple Street","city":"Denver","state":"CO","zip":"80207","country":"USA"}}"##;
    let expected = [
        text(1, user, false),
        text(2, &pending, false),
        text(
            3,
            r#"the reason must be "no longer needed" or "ordered by mistake", not "found it cheaper""#,
            true,
        ),
        text(4, &cancelled, false),
        text(5, "order #W7a is not pending: it is cancelled already", true),
        text(6, &cancelled, false),
    ];
    assert_eq!(answers("retail", &lines)[1..], expected);
    assert_eq!(
        answers("retail", &[initialize("2025-03-26"), look(2)])[1],
        text(2, &pending, false)
    );
}

#[test]
fn lines_may_be_blank_end_in_crlf_or_lack_their_end() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let output = output(&[], format!("\n\r\n  \n{ping}\r\n\n{ping}").as_bytes());
    let answer_to_ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), answer_to_ping.repeat(2));
    assert!(output.status.success());
}

#[cfg(unix)]
#[test]
fn a_client_that_left_is_no_failure() {
    use std::net::Shutdown;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    // To close our end of a pipe would not do: until it runs its program, a process that another
    // test starts has that end too, and what the demo writes meanwhile is lost without an error.
    // To shut a socket down holds for all who have it.
    let (client, stdout) = UnixStream::pair().unwrap();
    client.shutdown(Shutdown::Both).unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_hoist-mcp-demo"))
        .stdin(Stdio::piped())
        .stdout(OwnedFd::from(stdout))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = demo.stdin.take().unwrap();
    writeln!(input, "{}", call(1, "lookup", "{}")).unwrap();
    // The program ends by itself although its input stays open.
    let output = demo.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_command_line_is_checked() {
    for (arguments, code, stdout, stderr) in [
        (
            &["--world", "shop"][..],
            2,
            "",
            "hoist-mcp-demo: --world takes echo or retail, not `shop`\n",
        ),
        (&["--wolrd=echo"], 2, "", "hoist-mcp-demo: unknown flag --wolrd; did you mean --world?\n"),
        (&["--help"], 0, "hoist-mcp-demo: a tiny MCP server", ""),
        (&["-V"], 0, concat!("hoist-mcp-demo ", env!("CARGO_PKG_VERSION"), "\n"), ""),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_hoist-mcp-demo")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        for (written, expected) in [(output.stdout, stdout), (output.stderr, stderr)] {
            let written = String::from_utf8(written).unwrap();
            assert!(written.starts_with(expected), "{arguments:?}: {written}");
            assert_eq!(written.is_empty(), expected.is_empty(), "{arguments:?}: {written}");
        }
    }
}
