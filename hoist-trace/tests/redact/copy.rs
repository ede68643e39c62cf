//! Logs, and their copies.

use hoist_trace::log::{Content, Entry, Header, LogReader};
use hoist_trace::redact::{Clear, Key, Redactor, Report, Survey, line_of};

/// Keys of tests, each another.
pub(crate) fn key(byte: u8) -> Key {
    Key::new(&[byte; Key::MIN_BYTES]).expect("it is long enough")
}

/// A log as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) header: Header,
    pub(crate) entries: Vec<Entry>,
}

impl Log {
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = LogReader::new(text.as_bytes(), "log").expect("it is a log");
        let entries = (&mut reader).filter_map(Result::ok).collect();
        Self { header: reader.header().clone(), entries }
    }

    pub(crate) fn of(entries: &[String]) -> Self {
        let header = r#"{"hoist_mcp_log":2,"session":"20260923T212000.123Z-4242","started_unix_ms":1790198400123,"#;
        let header = format!(
            "{header}\"server_command\":[\"npx\",\"-y\",\"acme-internal-mcp\"],\"host_session\":\"host-774211\"}}"
        );
        Self::read(&format!("{header}\n{}\n", entries.join("\n")))
    }

    pub(crate) fn text(&self) -> String {
        let lines: String = self.entries.iter().map(line_of).collect();
        self.header.to_line() + &lines
    }

    /// All that was written by people and programs, and not by the recorder.
    pub(crate) fn contents(&self) -> Vec<&str> {
        let Header {
            server_command,
            domain,
            agent_model,
            host_session,
            server_name,
            server_url,
            ..
        } = &self.header;
        let named = [domain, agent_model, host_session, server_name, server_url];
        let mut all: Vec<&str> = server_command.iter().map(String::as_str).collect();
        all.extend(named.into_iter().flatten().map(String::as_str));
        for entry in &self.entries {
            all.extend(entry.by.as_deref());
            match &entry.content {
                Content::Message(text) | Content::Raw(text) => all.push(text),
                _ => {}
            }
        }
        all
    }
}

/// What stays in clear in these sessions.
pub(crate) fn surveyed(logs: &[Log]) -> Clear {
    let mut survey = Survey::new();
    for log in logs {
        survey.session();
        log.entries.iter().for_each(|entry| survey.entry(entry));
    }
    survey.finish()
}

pub(crate) fn copied(logs: &[Log], key: &Key) -> (Vec<Log>, Report) {
    let mut redactor = Redactor::new(key, surveyed(logs));
    let copies = logs
        .iter()
        .map(|log| Log {
            header: redactor.header(&log.header),
            entries: log.entries.iter().map(|entry| redactor.entry(entry)).collect(),
        })
        .collect();
    (copies, redactor.report())
}

/// The values of these sessions that get out, if they are copied by `copy`.
pub(crate) fn leaks_of(logs: &[Log], copy: impl Fn(&[Log], &Key) -> Vec<Log>) -> Vec<String> {
    let clear = surveyed(logs);
    let is_clear = |word: &str| clear.rule(word).is_some();
    let copies: Vec<Vec<Log>> = (1..=3).map(|byte| copy(logs, &key(byte))).collect();
    let mut found = Vec::new();
    let values = logs
        .iter()
        .flat_map(Log::contents)
        .flat_map(|text| crate::leak::values(text, &is_clear))
        .filter(|value| !stays_anyway(value))
        .collect();
    for at in 0..logs.len() {
        let texts: Vec<String> = copies
            .iter()
            .map(|copy| {
                copy[at].contents().into_iter().map(|text| text.replace('\n', " ") + "\n").collect()
            })
            .collect();
        found.extend(crate::leak::leaks(&values, &texts, &is_clear));
    }
    found
}

/// A revision of MCP, where a version stands.
fn stays_anyway(value: &str) -> bool {
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"].contains(&value)
}

/// What `hoist validate` says of a log, without what it quotes.
pub(crate) fn findings(log: &Log) -> Vec<(u64, &'static str)> {
    let text = log.text();
    let mut found = Vec::new();
    let reader = LogReader::new(text.as_bytes(), "log").expect("it is a log");
    hoist_trace::mcp::check(reader, |finding| found.push((finding.line, finding.kind.name())))
        .expect("memory can be read");
    found
}

/// The session that a log holds.
pub(crate) fn episode(log: &Log) -> hoist_trace::Episode {
    let text = log.text();
    let reader = LogReader::new(text.as_bytes(), "log").expect("it is a log");
    hoist_trace::mcp::read_session_from(reader).expect("memory can be read").episode
}

/// What `hoist show` makes of it: turns, calls, times, errors.
pub(crate) fn shown(log: &Log) -> Vec<String> {
    let episode = episode(log);
    let mut all = vec![format!("{:?} {}", episode.started_unix_ms, episode.duration_ms)];
    for tool in &episode.tools {
        all.push(format!("{} {:?}", tool.name, tool.kind));
    }
    for turn in episode.turns() {
        all.push(format!("turn {} {} {}", turn.turn, turn.seq, turn.t_ms));
        for call in &turn.calls {
            let made = (call.turn, call.seq, call.t_ms, &call.name, &call.made_by, call.cancelled);
            all.push(format!("{made:?} {}", call.arguments.get().len()));
        }
    }
    for result in episode.results() {
        let came = (result.seq, result.t_ms, result.is_error, result.error_code);
        all.push(format!("{came:?} {}", result.text.chars().count()));
    }
    all
}
