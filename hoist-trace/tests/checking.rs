//! Everything that is odd about a log, said as it is found.

#![expect(clippy::unwrap_used, reason = "what these tests make up is what they expect")]

use std::io::{self, BufRead, BufReader, Read};

use hoist_trace::log::{LogError, LogReader};
use hoist_trace::mcp::{FindingKind, check};

const HEADER: &str = "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":5}\n";

fn findings(reader: LogReader<impl BufRead>) -> Vec<String> {
    let mut found = Vec::new();
    check(reader, |finding| {
        let sign = if finding.is_problem() { "" } else { "note " };
        found.push(format!("{sign}{} {}: {}", finding.line, finding.kind.name(), finding.kind));
    })
    .unwrap();
    found
}

#[test]
fn every_kind_of_line_is_said_with_its_place() {
    let text = format!(
        "{HEADER}{}",
        concat!(
            "{\"t_ms\":9,\"from\":\"client\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}}\n",
            "\n",
            "junk\n",
            "{\"hoist_mcp_log\":2,\"session\":\"t\",\"started_unix_ms\":6}\n",
            "{\"t_ms\":8,\"from\":\"server\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n",
            "{\"t_ms\":9,\"from\":\"server\",\"gap\":{\"lines\":1,\"bytes\":20}}\n",
            "{\"t_ms\":9,\"from\":\"server\",\"message\":7}\n",
            "{\"t_ms\":9,\"fr",
        )
    );
    assert_eq!(
        findings(LogReader::new(text.as_bytes(), "x").unwrap()),
        [
            "4 bad-line: not a log entry: it is not a JSON object",
            "5 bad-line: not a log entry: a second header, of format 2 and session t: more than \
             one session was written into this file",
            "6 time-goes-back: time goes back: 8 ms after 9 ms",
            "6 answer-without-request: an answer to request 1, which nobody made or which is \
             answered",
            "note 7 gap: 1 line (20 bytes) that came here was not recorded",
            "8 not-json-rpc: not a JSON-RPC message: it is not a JSON object",
            "9 torn-line: the last line is torn: it has 13 bytes and no line feed",
            "note 2 unanswered: tools/list request 7 was not answered before the log ends",
        ]
    );
}

#[test]
fn what_is_no_json_rpc_is_said() {
    let found = |message: &str| {
        let text = format!("{HEADER}{{\"t_ms\":1,\"from\":\"client\",\"message\":{message}}}\n");
        findings(LogReader::new(text.as_bytes(), "x").unwrap())
    };
    let call = r#""method":"tools/call","params":{"name":"a"}}"#;
    for id in ["null", "true", "[1]", "{}"] {
        let found = found(&format!(r#"{{"jsonrpc":"2.0","id":{id},{call}"#));
        let expected = "2 not-json-rpc: not a JSON-RPC message: the id of a request must be a text \
                        or a number";
        assert_eq!(found, [expected], "{id}");
    }
    for (version, said) in [
        ("", "it has no \"jsonrpc\":\"2.0\""),
        (r#""jsonrpc":"1.0","#, "its jsonrpc is \"1.0\" and not \"2.0\""),
        (r#""jsonrpc":2,"#, "its jsonrpc is 2 and not \"2.0\""),
        (r#""jsonrpc":null,"#, "its jsonrpc is null and not \"2.0\""),
    ] {
        let found = found(&format!(r#"{{{version}"id":1,{call}"#));
        // It is a call all the same.
        let expected = [
            format!("2 not-json-rpc: not a JSON-RPC message: {said}"),
            "note 2 unanswered: tools/call request 1 was not answered before the log ends".into(),
        ];
        assert_eq!(found, expected, "{version}");
    }
    let batch = found(r#"[{"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#);
    assert_eq!(batch.len(), 1, "{batch:?}");
}

#[test]
fn a_header_alone_without_its_line_feed_is_torn() {
    let reader = LogReader::new(HEADER.trim_end().as_bytes(), "x").unwrap();
    let expected = format!(
        "1 torn-line: the last line is torn: it has {} bytes and no line feed",
        HEADER.len() - 1
    );
    assert_eq!(findings(reader), [expected]);
}

#[test]
fn a_gap_of_no_line_is_no_entry() {
    let gap = |lines| {
        format!(
            "{HEADER}{{\"t_ms\":1,\"from\":\"client\",\"gap\":{{\"lines\":{lines},\"bytes\":1}}}}\n"
        )
    };
    let found = findings(LogReader::new(gap(0).as_bytes(), "x").unwrap());
    assert_eq!(found, ["2 bad-line: not a log entry: a gap must have lines, at least 1"]);
    let found = findings(LogReader::new(gap(1).as_bytes(), "x").unwrap());
    assert_eq!(found, ["note 2 gap: 1 line (1 byte) that came here was not recorded"]);
}

#[test]
fn none_is_left_out_however_many_there_are() {
    let batch = vec!["7"; 3_000].join(",");
    let text = format!(
        "{HEADER}{}{{\"t_ms\":1,\"from\":\"client\",\"message\":[{batch}]}}\n",
        "junk\n".repeat(5_000)
    );
    let found = findings(LogReader::new(text.as_bytes(), "x").unwrap());
    assert_eq!(found.iter().filter(|text| text.contains(" bad-line: ")).count(), 5_000);
    assert_eq!(found.iter().filter(|text| text.contains(" not-json-rpc: ")).count(), 3_000);
    assert_eq!(found.len(), 8_000);
}

#[test]
fn a_log_as_hoist_writes_it_has_none() {
    let text = format!(
        "{HEADER}{}",
        concat!(
            "{\"t_ms\":1,\"from\":\"client\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n",
            "{\"t_ms\":1,\"from\":\"server\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n",
        )
    );
    assert!(findings(LogReader::new(text.as_bytes(), "x").unwrap()).is_empty());
}

#[test]
fn a_failing_disk_is_an_error_behind_what_was_found() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }

    let text = format!("{HEADER}junk\n");
    let input = BufReader::new(text.as_bytes().chain(Fails));
    let mut kinds = Vec::new();
    let error = check(LogReader::new(input, "x").unwrap(), |finding| kinds.push(finding.kind));
    assert!(matches!(error, Err(LogError::Io { .. })), "{error:?}");
    assert!(matches!(&kinds[..], [FindingKind::BadLine { column: 1, .. }]), "{kinds:?}");
}
