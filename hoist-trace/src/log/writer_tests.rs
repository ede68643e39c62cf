use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::log::{Content, Header, LogReader};

/// A disk with so much room, which may refuse to cut.
#[derive(Debug, Default)]
struct Disk {
    bytes: Vec<u8>,
    room: usize,
    cuts: bool,
    /// The most it takes in one write.
    at_once: usize,
}

impl Sink for &mut Disk {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let take = (self.room - self.bytes.len()).min(self.at_once);
        if take == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut left = take;
        for part in parts {
            let len = part.len().min(left);
            self.bytes.extend_from_slice(&part[..len]);
            left -= len;
        }
        Ok(take - left)
    }

    fn cut(&mut self, len_bytes: u64) -> io::Result<()> {
        if !self.cuts {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.bytes.truncate(usize::try_from(len_bytes).unwrap());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn record(t_ms: u64, from: Origin, body: &[u8]) -> Record {
    let wire_bytes = body.len() as u64 + 1;
    let body = RecordBody::Whole(Bytes::copy_from_slice(body));
    Record { t_ms, from, by: None, body, wire_bytes }
}

fn header() -> Vec<u8> {
    Header::new("s", 0).to_line().into_bytes()
}

fn read(bytes: &[u8]) -> (Vec<crate::log::Entry>, crate::log::ReadReport) {
    let mut reader = LogReader::new(bytes, "disk").unwrap();
    let entries = reader.by_ref().filter_map(Result::ok).collect();
    (entries, reader.report())
}

fn log_of(records: &[Record]) -> String {
    let mut disk = Disk { bytes: Vec::new(), room: usize::MAX, cuts: true, at_once: usize::MAX };
    let counters = Counters::default();
    let mut writer = LogWriter::new(&mut disk, 0, |_| {});
    for record in records {
        writer.push(record, &counters);
    }
    writer.close(&counters).unwrap();
    String::from_utf8(disk.bytes).unwrap()
}

#[test]
fn lines_stand_as_they_came() {
    for (body, expected) in [
        (&br#"{"a": 1.0,"a":1e400}"#[..], r#""message":{"a": 1.0,"a":1e400}"#),
        (b" [1,\r2]\t", "\"message\": [1,\r2]\t"),
        (br#""\ud800""#, r#""message":"\ud800""#),
        (b"null", r#""message":null"#),
        ("\"\u{2028}\u{85}\"".as_bytes(), "\"message\":\"\u{2028}\u{85}\""),
        (b"", r#""raw":"""#),
        (b"  ", r#""raw":"  ""#),
        ("\u{feff}{}".as_bytes(), "\"raw\":\"\u{feff}{}\""),
        (b"say \"hi\" \\ \x1b[0m\x00", r#""raw":"say \"hi\" \\ \u001b[0m\u0000""#),
        (b"\xff\xfe a\xc3", "\"raw\":\"\u{fffd}\u{fffd} a\u{fffd}\""),
        (b"{} {}", r#""raw":"{} {}""#),
        // No transport gives such a line, and the log must not break on one.
        (b"[1,\n2]", r#""raw":"[1,\n2]""#),
    ] {
        let text = log_of(&[record(3, Origin::Server, body)]);
        assert_eq!(text, format!("{{\"t_ms\":3,\"from\":\"server\",{expected}}}\n"));
    }
}

#[test]
fn who_made_it_stands_behind_from_and_times_never_decrease() {
    let mut made = record(5, Origin::Proxy, b"1");
    made.by = Some("a \"layer\"".into());
    let text = log_of(&[made, record(3, Origin::Client, b"2")]);
    assert_eq!(
        text,
        concat!(
            r#"{"t_ms":5,"from":"proxy","by":"a \"layer\"","message":1}"#,
            "\n",
            r#"{"t_ms":5,"from":"client","message":2}"#,
            "\n"
        )
    );
}

#[test]
fn a_line_that_was_too_long_leaves_a_gap_in_its_place() {
    let mut long = record(2, Origin::Server, b"");
    long.body = RecordBody::TooLong;
    long.wire_bytes = 99_999;
    let mut longer = record(3, Origin::Client, b"");
    longer.body = RecordBody::TooLong;
    longer.wire_bytes = 1;
    let text =
        log_of(&[record(1, Origin::Client, b"1"), long, longer, record(4, Origin::Client, b"2")]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1..3],
        [
            r#"{"t_ms":2,"from":"client","gap":{"lines":1,"bytes":1}}"#,
            r#"{"t_ms":2,"from":"server","gap":{"lines":1,"bytes":99999}}"#,
        ]
    );
    assert_eq!(lines.len(), 4);
}

/// Writes the lines to a disk that fills at `room` and has room again after `failing` lines.
fn on_a_full_disk(bodies: &[Vec<u8>], room: usize, failing: usize, cuts: bool, at_once: usize) {
    let header = header();
    let mut disk = Disk { bytes: header.clone(), room: header.len() + room, cuts, at_once };
    let counters = Counters::default();
    let told = Arc::new(AtomicU64::new(0));
    let times = Arc::clone(&told);
    let mut writer = LogWriter::new(&mut disk, header.len() as u64, move |_| {
        times.fetch_add(1, Ordering::Relaxed);
    });
    for (at, body) in bodies.iter().enumerate() {
        if at == failing {
            writer.sink.room = usize::MAX;
        }
        let from = if at % 2 == 0 { Origin::Client } else { Origin::Server };
        writer.push(&record(at as u64, from, body), &counters);
        if at % 3 == 0 {
            writer.flush(&counters);
        }
    }
    writer.sink.room = usize::MAX;
    writer.close(&counters).unwrap();

    let (entries, report) = read(&disk.bytes);
    let messages: Vec<&str> = entries.iter().filter_map(|e| e.message()).collect();
    let (written, lost) =
        (counters.written.load(Ordering::Relaxed), counters.lost.load(Ordering::Relaxed));
    assert_eq!(messages.len() as u64, written);
    assert_eq!(bodies.len() as u64 - written, lost, "sent less logged is lost");
    assert_eq!(report.lost_lines, lost, "the gap entries count them");
    assert_eq!(report.lost_bytes, counters.lost_bytes.load(Ordering::Relaxed));
    assert_eq!(report.torn_bytes, 0);
    assert!(!cuts || report.bad_lines == 0, "{report:?}");
    assert_eq!(told.load(Ordering::Relaxed), u64::from(lost > 0), "told once");
    // What is there is there in order, and a gap stands between its neighbours.
    let mut next = 0;
    let mut skipped = 0;
    for entry in &entries {
        match &entry.content {
            Content::Message(text) => {
                next += skipped;
                assert_eq!(text.as_bytes(), bodies[next], "at line {}", entry.line);
                next += 1;
                skipped = 0;
            }
            Content::Gap(gap) => skipped += usize::try_from(gap.lines).unwrap(),
            Content::Raw(_) => panic!("every body is JSON"),
        }
    }
    assert_eq!(next + skipped, bodies.len());
}

#[test]
fn a_full_disk_costs_lines_and_nothing_else() {
    let bodies = |each: usize| -> Vec<Vec<u8>> {
        let body = |n| format!("{{\"n\":{n},\"x\":\"{}\"}}", "x".repeat(n * each)).into_bytes();
        (0..30).map(body).collect()
    };
    let (short, long) = (bodies(3), bodies(1_000));
    for room in 0..300 {
        for cuts in [true, false] {
            on_a_full_disk(&short, room * 5, 20, cuts, 13);
            on_a_full_disk(&short, room * 5, 20, cuts, usize::MAX);
        }
    }
    for room in (0..250_000).step_by(4_999) {
        on_a_full_disk(&long, room, 25, true, usize::MAX);
        on_a_full_disk(&long, room, 25, false, 8_192);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn dev_full_loses_everything_and_says_so() {
    let Ok(file) = File::options().append(true).open("/dev/full") else { return };
    let counters = Counters::default();
    let mut writer = LogWriter::new(file, 0, |error| {
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    });
    for n in 0..10 {
        writer.push(&record(n, Origin::Client, b"{}"), &counters);
        writer.flush(&counters);
    }
    assert_eq!(counters.lost.load(Ordering::Relaxed), 10);
    assert_eq!(counters.lost_bytes.load(Ordering::Relaxed), 30);
    assert_eq!(counters.written.load(Ordering::Relaxed), 0);
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>().prop_map(|b| if b == b'\n' { b' ' } else { b }), 0..40),
        r#"[ \t\r]{0,2}(\{"(a|é)":(1\.0|1e400|"\\ud800"|\[null\])\}|-?[0-9]{1,30}|"[^"\\\n\x00-\x1f]{0,9}")[ \r]?"#
            .prop_map(String::into_bytes),
        (0_usize..60_000).prop_map(|n| format!("[\"{}\"]", "é".repeat(n / 2)).into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back(
        lines in prop::collection::vec((body(), prop::collection::vec(any::<prop::sample::Index>(), 0..4)), 0..12),
    ) {
        let records: Vec<Record> = lines.iter().map(|(body, cuts)| {
            let mut record = record(1, Origin::Server, body);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            if !cuts.is_empty() {
                cuts.extend([0, body.len()]);
                cuts.sort_unstable();
                let body = Bytes::copy_from_slice(body);
                record.body = RecordBody::Parts(cuts.windows(2).map(|w| body.slice(w[0]..w[1])).collect());
            }
            record
        }).collect();
        let mut log = header();
        log.extend_from_slice(log_of(&records).as_bytes());
        let (entries, report) = read(&log);
        prop_assert_eq!(report.bad_lines + report.blank_lines + report.torn_bytes, 0);
        prop_assert_eq!(entries.len(), lines.len());
        for (entry, (body, _)) in entries.iter().zip(&lines) {
            let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(body).is_ok();
            match &entry.content {
                Content::Message(text) => {
                    prop_assert!(is_json);
                    prop_assert_eq!(text.as_bytes(), body);
                }
                Content::Raw(text) => {
                    prop_assert!(!is_json);
                    prop_assert_eq!(text.as_str(), String::from_utf8_lossy(body));
                }
                Content::Gap(_) => panic!("nothing was lost"),
            }
        }
    }
}

#[test]
fn a_disk_that_stays_full_still_says_how_much_is_missing() {
    // Every amount of room, so that each entry, and each part of the gaps, is what does not fit.
    for room in header().len()..header().len() + 700 {
        let mut disk = Disk { bytes: header(), room, cuts: true, at_once: usize::MAX };
        let counters = Counters::default();
        let len_bytes = disk.bytes.len() as u64;
        let mut writer = LogWriter::new(&mut disk, len_bytes, |_| {});
        let mut wire_bytes = 0;
        for n in 0..1000 {
            let from = if n % 3 == 0 { Origin::Client } else { Origin::Server };
            let record = record(n, from, format!("{{\"n\":{n}}}").as_bytes());
            wire_bytes += record.wire_bytes;
            writer.push(&record, &counters);
            writer.flush(&counters);
        }
        writer.close(&counters).unwrap();
        let (entries, report) = read(&disk.bytes);
        assert_eq!((report.bad_lines, report.torn_bytes), (0, 0), "{room}");
        let logged = entries.iter().filter(|e| e.message().is_some()).count() as u64;
        assert_eq!(counters.written.load(Ordering::Relaxed), logged, "{room}");
        assert_eq!(counters.lost.load(Ordering::Relaxed), 1000 - logged, "{room}");
        // Less than the entries of two gaps take is no room to say anything.
        if room >= header().len() + 150 {
            assert_eq!(report.lost_lines, 1000 - logged, "{room}");
            let kept: u64 = entries
                .iter()
                .filter_map(|e| e.message())
                .map(|message| message.len() as u64 + 1)
                .sum();
            assert_eq!(report.lost_bytes, wire_bytes - kept, "{room}");
        }
    }
}
