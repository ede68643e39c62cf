//! Logs that one host session left with several servers.

use hoist_trace::sessions::Sessions;
use proptest::prelude::*;

use crate::files::{Dir, story};

/// A log of a server in a host session, with these entries.
struct Log {
    session: &'static str,
    start_ms: u64,
    host_session: &'static str,
    name: Option<&'static str>,
    domain: Option<&'static str>,
    entries: Vec<String>,
}

impl Log {
    fn of(session: &'static str, start_ms: u64, name: &'static str) -> Self {
        Self {
            session,
            start_ms,
            host_session: "h",
            name: Some(name),
            domain: None,
            entries: Vec::new(),
        }
    }

    fn entry(mut self, t_ms: u64, from: &str, message: &str) -> Self {
        self.entries
            .push(format!("{{\"t_ms\":{t_ms},\"from\":\"{from}\",\"message\":{message}}}\n"));
        self
    }

    fn call(self, t_ms: u64, id: u32, tool: &str, value: &str) -> Self {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"v":"{value}"}}}}"#);
        self.entry(
            t_ms,
            "client",
            &format!(r#"{{"id":{id},"method":"tools/call","params":{params}}}"#),
        )
    }

    fn answer(self, t_ms: u64, id: u32, text: &str) -> Self {
        let content = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
        self.entry(t_ms, "server", &format!(r#"{{"id":{id},"result":{content}}}"#))
    }

    fn said(self, t_ms: u64, role: &str, text: &str) -> Self {
        self.entry(t_ms, "context", &format!(r#"{{"role":"{role}","content":"{text}"}}"#))
    }

    fn initialized(self, own: &str) -> Self {
        self.entry(0, "client", r#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"host","version":"1"}}}"#)
            .entry(1, "server", &format!(r#"{{"id":0,"result":{{"protocolVersion":"2025-11-25","serverInfo":{{"name":"{own}"}}}}}}"#))
    }

    fn tools(self, t_ms: u64, tool: &str) -> Self {
        self.entry(t_ms, "client", r#"{"id":99,"method":"tools/list"}"#).entry(
            t_ms,
            "server",
            &format!(r#"{{"id":99,"result":{{"tools":[{{"name":"{tool}"}}]}}}}"#),
        )
    }

    fn write(&self, dir: &Dir, name: &str) {
        let mut header = serde_json::json!({
            "hoist_mcp_log": 2, "session": self.session, "started_unix_ms": self.start_ms,
            "server_command": ["x"], "domain": self.domain, "host_session": self.host_session,
        });
        if let Some(name) = self.name {
            header["server_name"] = name.into();
        }
        // The recorder writes the version first.
        let header = header.to_string();
        let rest = header.replacen("\"hoist_mcp_log\":2,", "", 1);
        let header = format!("{{\"hoist_mcp_log\":2,{}\n", &rest[1..]);
        dir.write(name, header + &self.entries.concat());
    }
}

#[test]
fn they_are_one_session_in_the_order_of_time() {
    let dir = Dir::new();
    Log::of("s-2", 1_000_100, "docs")
        .initialized("docs-mcp")
        .tools(2, "search")
        .said(10, "user", "fix it")
        .said(850, "assistant", "now I know")
        .call(900, 1, "search", "T-1")
        .answer(950, 1, "page")
        .call(2_000, 2, "search", "never answered")
        .write(&dir, "a.jsonl");
    Log::of("s-1", 1_000_000, "tickets")
        .initialized("tickets-mcp")
        .tools(2, "read")
        .said(105, "user", "fix it")
        .call(200, 1, "read", "x")
        .call(210, 2, "read", "y")
        .answer(300, 1, "T-1")
        .answer(310, 2, "T-2")
        .said(955, "assistant", "now I know")
        .said(5_000, "user", "fix it")
        .call(9_000, 3, "read", "z")
        .write(&dir, "b.jsonl");
    let mut sessions = Sessions::merged([dir.path()]);
    let found = sessions.next().unwrap().unwrap();
    assert!(sessions.next().is_none());
    assert_eq!(found.logs.len(), 2);
    let episode = &found.episode;
    assert_eq!((episode.id.as_str(), episode.started_unix_ms), ("s-1", Some(1_000_000)));
    assert_eq!((episode.agent.as_str(), episode.duration_ms), ("host", 9_000));
    let servers: Vec<&str> = episode.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(servers, ["tickets", "docs"]);
    let tools: Vec<&str> = episode.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["tickets::read", "docs::search"]);
    assert_eq!(
        story(episode),
        [
            "1 user fix it",
            "2 turn 0 -",
            r#"  tickets:1 tickets::read{"v":"x"}"#,
            r#"  tickets:2 tickets::read{"v":"y"}"#,
            "4 tickets:1 = T-1",
            "5 tickets:2 = T-2",
            "6 turn 1 now I know",
            r#"  docs:1 docs::search{"v":"T-1"}"#,
            "8 docs:1 = page",
            "9 turn 2 -",
            r#"  docs:2 docs::search{"v":"never answered"} cancelled"#,
            "11 user fix it",
            "12 turn 3 -",
            r#"  tickets:3 tickets::read{"v":"z"} cancelled"#,
        ]
    );
    // Each log has the conversation; whichever heard it first counts.
    let said = episode.events.iter().find_map(|event| match event {
        hoist_trace::episode::Event::User(message) => Some(message.t_ms),
        _ => None,
    });
    assert_eq!(said, Some(105));
    let times: Vec<u64> = episode.calls().map(|call| call.t_ms).collect();
    assert_eq!(times, [200, 210, 1_000, 2_100, 9_000]);
    let calls: Vec<&str> = episode.calls().map(|call| call.server.as_str()).collect();
    assert_eq!(calls, ["tickets", "tickets", "docs", "docs", "tickets"]);
}

#[test]
fn a_call_to_another_server_may_be_of_the_same_turn() {
    let dir = Dir::new();
    Log::of("s-1", 1_000, "a").call(10, 1, "t", "p").answer(500, 1, "x").write(&dir, "a.jsonl");
    Log::of("s-2", 1_000, "b").call(15, 1, "t", "q").answer(20, 1, "y").write(&dir, "b.jsonl");
    let found = Sessions::merged([dir.path()]).next().unwrap().unwrap();
    let turns: Vec<u32> = found.episode.calls().map(|call| call.turn).collect();
    assert_eq!(turns, [0, 0]);
}

#[test]
fn names_come_from_the_user_then_the_domain_then_the_server() {
    let dir = Dir::new();
    let mut by_domain = Log::of("s-1", 1_000, "x").call(10, 1, "t", "p");
    (by_domain.name, by_domain.domain) = (None, Some("shop"));
    by_domain.write(&dir, "a.jsonl");
    let mut by_itself = Log::of("s-2", 1_000, "x").initialized("own").call(10, 1, "t", "p");
    by_itself.name = None;
    by_itself.write(&dir, "b.jsonl");
    // Another host session's tools go by their server's name as well, from now on.
    let mut alone = Log::of("s-3", 5_000_000, "z").call(10, 1, "t", "p");
    alone.host_session = "other";
    alone.write(&dir, "c.jsonl");
    let names = |sessions: Sessions| -> Vec<String> {
        let names = sessions.flat_map(|found| {
            let names: Vec<_> = found.unwrap().episode.calls().map(|c| c.name.clone()).collect();
            names
        });
        names.collect()
    };
    assert_eq!(names(Sessions::merged([dir.path()])), ["shop::t", "own::t", "z::t"]);
    // Not in another directory, and not where nobody asked for it.
    alone.write(&dir, "elsewhere/c.jsonl");
    assert_eq!(names(Sessions::merged([dir.path()])), ["shop::t", "own::t", "z::t", "t"]);
    assert_eq!(names(Sessions::of([dir.path()])), ["t"; 4]);
    // Logs that are named one by one belong together as well.
    let paths = ["a.jsonl", "b.jsonl"].map(|name| dir.join(name));
    assert_eq!(names(Sessions::merged(paths)), ["shop::t", "own::t"]);
}

#[test]
fn only_logs_of_one_time_belong_together() {
    let dir = Dir::new();
    Log::of("s-1", 1_000, "a").call(10, 1, "t", "p").answer(500, 1, "x").write(&dir, "a.jsonl");
    // The first has ended.
    Log::of("s-2", 1_501, "b").call(10, 1, "t", "p").write(&dir, "b.jsonl");
    assert_eq!(dir.lines(Sessions::merged([dir.path()])), ["a.jsonl: s-1", "b.jsonl: s-2"]);
    // One that runs as long as both joins them, with a server that was started again.
    Log::of("s-3", 900, "c").call(5_000, 1, "t", "p").write(&dir, "c.jsonl");
    Log::of("s-4", 3_000, "a").call(10, 1, "t", "p").write(&dir, "d.jsonl");
    let mut sessions = Sessions::merged([dir.path()]);
    let found = sessions.next().unwrap().unwrap();
    assert!(sessions.next().is_none());
    assert_eq!((found.logs.len(), found.episode.servers.len()), (4, 3));
    let ids: Vec<&str> = found.episode.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a:1", "b:1", "a:1#2", "c:1"]);
}

#[test]
fn servers_of_one_name_at_once_stay_apart_and_that_is_said() {
    let dir = Dir::new();
    Log::of("s-1", 1_000, "a").call(10, 1, "t", "p").write(&dir, "a.jsonl");
    Log::of("s-2", 1_000, "b").call(10, 1, "t", "p").write(&dir, "b.jsonl");
    Log::of("s-3", 1_005, "a").call(10, 1, "t", "p").write(&dir, "c.jsonl");
    let lines = dir.lines(Sessions::merged([dir.path()]));
    assert_eq!(
        lines,
        [
            "! a.jsonl and c.jsonl: two servers named \"a\" at once in host session h, so its logs stay \
         apart; name each with --server-name",
            "a.jsonl: s-1",
            "b.jsonl: s-2",
            "c.jsonl: s-3",
        ]
    );
    assert!(Sessions::merged([dir.path()]).next().unwrap().unwrap_err().is_notice());
}

#[test]
fn probes_are_left_out() {
    let dir = Dir::new();
    Log::of("s-1", 1_000, "a").call(10, 1, "t", "p").write(&dir, "a.jsonl");
    Log::of("s-2", 1_000, "a")
        .entry(1, "client", r#"{"id":1,"method":"server/discover"}"#)
        .write(&dir, "b.jsonl");
    Log::of("s-3", 1_000, "b").call(10, 1, "t", "p").write(&dir, "c.jsonl");
    let found: Vec<_> = Sessions::merged([dir.path()]).map(|found| found.unwrap()).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].logs.len(), 2);
    assert!(found[1].is_probe() && !found[0].is_probe());
}

#[test]
fn what_is_wrong_with_one_log_is_said_with_it() {
    let dir = Dir::new();
    Log::of("s-1", 1_000, "a").call(10, 1, "t", "p").write(&dir, "a.jsonl");
    let mut torn = Log::of("s-2", 1_000, "b").call(10, 1, "t", "p");
    torn.entries.push("junk\n{\"t_ms\":".to_owned());
    torn.write(&dir, "b.jsonl");
    let found = Sessions::merged([dir.path()]).next().unwrap().unwrap();
    assert_eq!(found.episode.calls().count(), 2);
    assert_eq!(found.logs[1].problems.len(), 1);
    assert_eq!(found.logs[1].report.torn_bytes, 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever the times, nothing is lost or made up, and all is in order.
    #[test]
    fn everything_is_there_once_and_in_the_order_of_time(
        starts in prop::collection::vec(0..50_u64, 2..4),
        moments in prop::collection::vec((0..3_usize, 0..40_u64, 0..40_u64, any::<bool>()), 1..20),
    ) {
        let dir = Dir::new();
        let mut made = 0;
        for (n, start_ms) in starts.iter().enumerate() {
            let name = ["a", "b", "c"][n];
            // All run to the end, so that they overlap.
            let mut log = Log::of(["s-0", "s-1", "s-2"][n], 1_000 + start_ms, name);
            let mut t_ms = 0;
            for (id, (_, wait, takes, answered)) in (1..).zip(moments.iter().filter(|m| m.0 == n)) {
                t_ms += wait;
                log = log.call(t_ms, id, "t", "x");
                made += 1;
                if *answered {
                    t_ms += takes;
                    log = log.answer(t_ms, id, "y");
                }
            }
            log.entry(5_000, "client", r#"{"method":"notifications/x"}"#).write(&dir, &format!("{name}.jsonl"));
        }
        let mut sessions = Sessions::merged([dir.path()]);
        let found = sessions.next().unwrap().unwrap();
        prop_assert!(sessions.next().is_none());
        let episode = &found.episode;
        prop_assert_eq!(episode.calls().count(), made);
        let mut places: Vec<(u64, u64)> = episode.calls().map(|call| (call.seq, call.t_ms)).collect();
        places.extend(episode.results().map(|result| (result.seq, result.t_ms)));
        places.sort_unstable();
        prop_assert!(places.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{:?}", places);
        let answered: Vec<&str> = episode.results().map(|result| result.call.as_str()).collect();
        for call in episode.calls() {
            let count = answered.iter().filter(|id| **id == call.id).count();
            prop_assert_eq!(count, usize::from(!call.cancelled), "{}", &call.id);
        }
    }
}
