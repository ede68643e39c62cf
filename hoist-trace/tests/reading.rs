//! Reading logs from files and streams; needs no recorder.

use std::fs;
use std::io::{BufReader, Cursor};
use std::path::Path;

use hoist_trace::log::{Content, LogError, LogReader, Origin};
use hoist_trace::mcp::read_log;

const HEADER: &str = "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":5}\n";

#[test]
fn everything_but_the_good_lines_is_reported_and_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let text = format!(
        "{HEADER}{}",
        concat!(
            "{\"t_ms\":1,\"from\":\"client\",\"message\":{\"id\":1}}\n",
            "\n",
            "  \r\n",
            "{\"t_ms\":2,\"from\":\"client\",\"message\":{\"id\":}}\n",
            "{\"t_ms\":2,\"from\":\"robot\",\"message\":{}}\n",
            "{\"t_ms\":3,\"from\":\"server\",\"gap\":{\"lines\":2,\"bytes\":70}}\n",
            "{\"t_ms\":4,\"from\":\"server\",\"raw\":\"hi\\u2028\"}\r\n",
            "{\"t_ms\":5,\"from\":\"server\",\"mess",
        )
    );
    fs::write(&path, &text).unwrap();
    let log = read_log(&path).unwrap();
    assert_eq!(log.header.session, "s");
    assert_eq!(log.entries.iter().map(|e| e.line).collect::<Vec<_>>(), [2, 7, 8]);
    assert_eq!(log.entries[0].message(), Some("{\"id\":1}"));
    assert_eq!(log.entries[2].content, Content::Raw("hi\u{2028}".to_owned()));
    let report = log.report;
    assert_eq!((report.entries, report.bad_lines, report.blank_lines), (3, 2, 2));
    assert_eq!((report.gaps, report.lost_lines, report.lost_bytes), (1, 2, 70));
    assert_eq!(report.torn_bytes, 31);
    let said: Vec<String> = log.problems.iter().map(ToString::to_string).collect();
    let at = path.display();
    assert!(said[0].starts_with(&format!("{at}:5:43: ")), "{said:?}");
    assert!(said[1].starts_with(&format!("{at}:6:24: ")), "{said:?}");
    assert!(said[1].contains("unknown variant `robot`"), "{said:?}");
}

#[test]
fn a_log_cut_anywhere_reads_up_to_its_last_whole_line() {
    let line = "{\"t_ms\":1,\"from\":\"client\",\"message\":{\"id\":\"é\"}}\n";
    let text = format!("{HEADER}{line}{line}");
    for cut in HEADER.len()..=text.len() {
        let mut reader = LogReader::new(&text.as_bytes()[..cut], "x").unwrap();
        let whole = (cut - HEADER.len()) / line.len();
        assert_eq!(reader.by_ref().filter_map(Result::ok).count(), whole);
        assert_eq!(reader.report().bad_lines, 0);
        assert_eq!(reader.report().torn_bytes, ((cut - HEADER.len()) % line.len()) as u64);
    }
}

#[test]
fn how_the_input_comes_makes_no_difference() {
    let text = format!("{HEADER}{{\"t_ms\":1,\"from\":\"client\",\"message\": [1] }}\n\nx\n{{\"t");
    let read = |capacity| {
        let input = BufReader::with_capacity(capacity, Cursor::new(text.clone()));
        let mut reader = LogReader::new(input, "x").unwrap();
        let entries: Vec<_> = reader.by_ref().filter_map(Result::ok).collect();
        (entries, reader.report())
    };
    let expected = read(1 << 16);
    assert_eq!(expected.0[0].message(), Some(" [1] "));
    for capacity in 1..text.len() {
        assert_eq!(read(capacity), expected);
    }
}

#[test]
fn a_long_line_is_read_and_one_over_the_limit_is_skipped() {
    let long = format!("\"{}\"", "x".repeat(15 << 20));
    let text = format!(
        "{HEADER}{{\"t_ms\":1,\"from\":\"server\",\"message\":{long}}}\n{{\"t_ms\":2,\"from\":\"client\",\"message\":1}}\n"
    );
    let mut reader = LogReader::new(text.as_bytes(), "x").unwrap();
    let entry = reader.next().unwrap().unwrap();
    assert_eq!((entry.from, entry.message().unwrap().len()), (Origin::Server, long.len()));
    assert_eq!(reader.next().unwrap().unwrap().line, 3);

    let mut reader = LogReader::new(text.as_bytes(), "x").unwrap().with_max_line_bytes(1 << 20);
    let error = reader.next().unwrap().unwrap_err();
    assert!(error.is_bad_line() && error.to_string().contains("over the limit"), "{error}");
    assert_eq!(reader.next().unwrap().unwrap().line, 3);
    assert!(reader.next().is_none());
}

#[test]
fn what_is_no_log_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let read = |text: &[u8]| {
        fs::write(&path, text).unwrap();
        read_log(&path).unwrap_err()
    };
    assert!(matches!(read(b""), LogError::Empty { .. }));
    assert!(matches!(read(b"hello\n"), LogError::NotALog { .. }));
    assert!(matches!(read(b"{\"hoist_mcp_log\":2,\"sess"), LogError::NotALog { .. }));
    assert!(matches!(read(b"{\"hoist_mcp_log\":1}\n"), LogError::Version { found: 1, .. }));
    assert!(matches!(read(b"{\"hoist_mcp_log\":3}\n"), LogError::Version { found: 3, .. }));
    assert!(matches!(read_log(Path::new("/nonexistent")), Err(LogError::Io { .. })));
    assert!(matches!(read_log(dir.path()), Err(LogError::Io { .. })));
}
