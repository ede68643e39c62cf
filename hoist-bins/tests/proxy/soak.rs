//! Any bytes, cut anywhere, come out the same.

use hoist_trace::log::Origin;
use tempfile::TempDir;

use crate::host::Host;
use crate::log::{holds_every_line, only_log, whole_log};
use crate::play::python;
use crate::ways::Way;

const CASES: u64 = 200;
const LINES: usize = 50;

/// A generator of its own, so that a case is the same everywhere and for ever (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("it is below a usize")
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A line of some kind: a message of any sort, or whatever else.
///
/// A request comes back to its sender, which is then asked the same; so it may be answered, too,
/// by a later line.
fn line(random: &mut Random) -> Vec<u8> {
    const IDS: [&str; 8] = ["1", r#""1""#, "null", "1.0", "2", r#""\u0031""#, "-0", "1e400"];
    const METHODS: [&str; 5] = ["tools/call", "ping", "x", "notifications/cancelled", "initialize"];
    let (id, method) = (random.pick(&IDS), random.pick(&METHODS));
    let mut line = match random.below(9) {
        0 => {
            let len = random.below(200);
            (0..len).map(|_| random.next().to_le_bytes()[0]).filter(|b| *b != b'\n').collect()
        }
        1 => random.pick(&["", " ", "\r", "{", "[]", "null", "\u{feff}{}"]).into(),
        2 => {
            let bound = 1 << random.below(18);
            "x".repeat(random.below(bound)).into()
        }
        3 | 4 => {
            let n = random.next();
            format!(r#"{{"method":"{method}","id":{id},"params":{{"n":{n}}}}}"#).into()
        }
        5 => format!(r#"{{"method":"{method}","params":{{"requestId":{id}}}}}"#).into(),
        6 => format!(r#"{{ "id" :{id},"result":1e400, "x":[]}}"#).into(),
        7 => format!(r#"{{"error":{{}},"id":{id}}}"#).into_bytes(),
        _ => format!(r#"{{"id":{id},"method":"{method}","id":{id}}}"#).into_bytes(),
    };
    if random.below(4) == 0 {
        line.push(b'\r');
    }
    line
}

fn lines(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..LINES {
        bytes.extend(line(random));
        bytes.push(b'\n');
    }
    bytes
}

/// Sends the bytes in pieces, and closes once they have come back. All that came back.
fn through(way: Way, case: u64, dir: &TempDir, bytes: &[u8]) -> Vec<u8> {
    let mut words = python("echo.py");
    words.push(case.to_string().into());
    let mut command = way.command(dir.path(), words, &[]);
    let mut host = Host::spawn(&mut command);
    let mut random = Random(!case);
    let mut rest = bytes;
    while !rest.is_empty() {
        let len = [1, 7, 100, 5000, 1 << 17][random.below(5)].min(rest.len());
        host.send_bytes(&rest[..len]);
        rest = &rest[len..];
    }
    while host.received.len() < bytes.len() {
        assert!(host.line().is_some(), "{way:?}, case {case}: not all came back");
    }
    host.end();
    std::mem::take(&mut host.received)
}

/// What came back must be what was sent. Requests of the server's that the host has not answered
/// are answered with an error as it goes, which this server sends back, too.
#[track_caller]
fn same(way: Way, case: u64, back: &[u8], bytes: &[u8]) {
    let at = back.iter().zip(bytes).take_while(|(a, b)| a == b).count();
    let near = |b: &[u8]| {
        let part = &b[at.saturating_sub(80)..b.len().min(at + 80)];
        String::from_utf8_lossy(part).into_owned()
    };
    assert!(at == bytes.len(), "{way:?}, case {case}: {} came for {}", near(back), near(bytes));
    let more = String::from_utf8_lossy(&back[at..]);
    for line in more.lines() {
        assert!(
            way.acts() && line.contains(r#""message":"hoist: "#),
            "{way:?}, case {case}: {line}"
        );
    }
}

/// An error that the proxy made; nothing that is sent looks like it.
fn is_own_error(line: &str) -> bool {
    line.contains(r#""message":"hoist: "#)
}

#[track_caller]
fn all_cases(way: Way) {
    let mut acted = 0;
    for case in 0..CASES {
        let dir = TempDir::new().expect("a temporary directory");
        let bytes = lines(&mut Random(case));
        let back = through(way, case, &dir, &bytes);
        same(way, case, &back, &bytes);
        if way.records() {
            let mut log = whole_log(&only_log(&dir.path().join("logs")));
            log.entries.retain(|entry| !entry.message().is_some_and(is_own_error));
            holds_every_line(&log, Origin::Client, &bytes);
            holds_every_line(&log, Origin::Server, &bytes);
        }
        let methods = std::fs::read_to_string(dir.path().join("acted")).unwrap_or_default();
        acted += methods.lines().count();
    }
    assert_eq!(acted > 1000, way.acts(), "{way:?}: {acted} requests were acted on");
}

#[test]
fn random_lines_come_out_the_same_passively() {
    all_cases(Way::Passive);
}

#[test]
fn random_lines_come_out_the_same_and_are_all_recorded() {
    all_cases(Way::Recorded);
}

#[test]
fn random_lines_come_out_the_same_while_a_layer_acts() {
    all_cases(Way::Acting);
}

#[test]
fn random_lines_come_out_the_same_while_a_layer_acts_and_are_all_recorded() {
    all_cases(Way::ActingRecorded);
}
