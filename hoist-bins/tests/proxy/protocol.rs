//! Messages out of turn: the proxy knows the protocol well enough to leave it alone.

use serde_json::Value;
use tempfile::TempDir;

use crate::play::{Play, got};
use crate::ways::{Case, Way};

/// Lines with their ends.
fn lines(bodies: &[impl AsRef<str>]) -> String {
    bodies.iter().flat_map(|body| [body.as_ref(), "\n"]).collect()
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
}

fn answer(id: &str, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{text}"}}}}"#)
}

fn note(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#)
}

fn cancel(id: &str) -> String {
    note("cancelled", &format!(r#"{{"requestId":{id}}}"#))
}

#[test]
fn ids_of_every_kind_are_told_apart_while_in_flight() {
    let ids =
        [r#""1""#, "1", r#""req-ü""#, "1.5", r#""""#, "0", r#""0""#, "9007199254740993", "-1"];
    // In reverse, so that no answer meets its request by its place.
    let answers: Vec<String> = ids.iter().rev().map(|id| answer(id, "a")).collect();
    let answers = lines(&answers);
    let play = Play::new().read(ids.len()).write(&answers);
    Case::new(&["tools/call"; 9], play).same_in_every_way(|host| {
        for id in ids {
            host.send(&call(id));
        }
        host.expect(&answers);
    });
}

#[test]
fn answers_under_the_wrong_id_pass_and_the_session_goes_on() {
    let wrong =
        lines(&[&answer("0", "zero"), &answer(r#""nobody""#, "unasked"), &answer("null", "")]);
    let right = lines(&[&answer("7", "right")]);
    let play = Play::new().read(1).write(&wrong).read(1).write(&right);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.send(&call("7"));
        host.expect(&wrong);
        host.send(&note("x", "{}"));
        host.expect(&right);
    });
}

#[test]
fn news_of_lists_and_resources_are_delivered() {
    let news = lines(&[
        &note("tools/list_changed", "{}"),
        r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
        &note("resources/updated", r#"{"uri":"file:///a"}"#),
        &note("vendor/x", "[1]"),
    ]);
    let first = lines(&[&answer("1", "a")]);
    let play = Play::new().read(1).write(&first).write(&news).read(1).write(&first);
    Case::new(&["tools/list", "tools/list"], play).same_in_every_way(|host| {
        for after in [news.as_str(), ""] {
            host.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
            host.expect(&first);
            host.expect(after);
        }
    });
}

#[test]
fn a_cancel_reaches_the_server_while_its_call_runs() {
    let end = lines(&[&answer("1", "done")]);
    // The server answers call 1 only once it has read the cancel of call 2.
    let play = Play::new().read(3).write(&end);
    for way in Way::ALL {
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = way.start(play.command(dir.path()), &[]);
        run.host.send(&call("1"));
        run.host.send(&call(r#""2""#));
        run.host.send(&cancel(r#""2""#));
        run.host.expect(&end);
        run.host.end();
        assert!(
            got(dir.path()) == run.host.sent,
            "{way:?}: the id must be the one the server knows"
        );
        run.check_log();
        if way.acts() {
            assert_eq!(run.acted(), ["tools/call"; 2]);
        }
    }
}

#[test]
fn a_cancel_of_an_unknown_id_swallows_no_later_answer() {
    let end = lines(&[&answer("9", "done")]);
    Case::new(&["tools/call"], Play::new().read(2).write(&end)).same_in_every_way(|host| {
        host.send(&cancel("9"));
        host.send(&call("9"));
        host.expect(&end);
    });
}

#[test]
fn late_and_double_answers_pass_and_nothing_is_left_pending() {
    let once = lines(&[&answer("1", "once")]);
    let late = lines(&[&answer("1", "late"), &answer("1", "again")]);
    let reused = lines(&[&answer("1", "reused")]);
    let play = Play::new().read(1).write(&once).read(1).write(&late).read(1).write(&reused);
    Case::new(&["tools/call", "tools/call"], play).same_in_every_way(|host| {
        host.send(&call("1"));
        host.expect(&once);
        // The cancel crosses with the answer.
        host.send(&cancel("1"));
        host.expect(&late);
        host.send(&call("1"));
        host.expect(&reused);
    });
}

#[test]
fn an_answer_after_its_cancel_passes() {
    let after = lines(&[&answer("1", "too late"), &note("message", r#"{"data":"after"}"#)]);
    let reused = lines(&[&answer("1", "reused")]);
    let play = Play::new().read(2).write(&after).read(1).write(&reused);
    Case::new(&["tools/call", "tools/call"], play).same_in_every_way(|host| {
        host.send(&call("1"));
        host.send(&cancel("1"));
        host.expect(&after);
        host.send(&call("1"));
        host.expect(&reused);
    });
}

#[test]
fn progress_passes_before_and_after_the_result_under_the_token_given() {
    let mut answers = Vec::new();
    for token in ["0", r#""0""#, r#""p""#] {
        let progress = note("progress", &format!(r#"{{"progressToken":{token},"progress":1}}"#));
        answers.push(lines(&[&progress, &answer("1", "a"), &progress, &progress]));
    }
    let play = Play::new().answers(&answers);
    Case::new(&["tools/call"; 3], play).same_in_every_way(|host| {
        for (token, answer) in ["0", r#""0""#, r#""p""#].iter().zip(&answers) {
            host.send(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{token}}}}}}}"#
            ));
            host.expect(answer);
        }
    });
}

#[test]
fn the_handshake_is_not_policed() {
    let early = lines(&[
        &note("message", r#"{"level":"info","data":"up"}"#),
        &note("tools/list_changed", "{}"),
    ]);
    let answers =
        [answer("0", "hello"), answer("1", "level"), answer("2", "pong"), answer("3", "b")];
    let play = answers
        .iter()
        .fold(Play::new().write(&early), |play, answer| play.read(1).write(lines(&[answer])));
    let methods = ["initialize", "logging/setLevel", "ping", "initialize"];
    Case::new(&methods, play).same_in_every_way(|host| {
        host.expect(&early);
        for (id, (method, answer)) in methods.iter().zip(&answers).enumerate() {
            host.send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#
            ));
            host.expect(lines(&[answer]));
        }
    });
}

#[test]
fn a_notification_is_never_answered() {
    let odd = lines(&[
        &note("vendor/x", "{}"),
        r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
        r#"{"method":"x"}"#,
    ]);
    let end = lines(&[&answer("1", "a")]);
    // At last the server's output is over, so that whatever is sent then cannot be answered by it.
    let play = Play::new().read(4).write(&end).close_output().drain();
    for way in Way::ALL {
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = way.start(play.command(dir.path()), &[]);
        run.host.send_bytes(odd.as_bytes());
        run.host.send(&call("1"));
        run.host.expect(&end);
        run.host.send_if_read(odd.as_bytes());
        assert_eq!(run.host.line(), None, "{way:?}: a notification was answered");
        run.host.end();
        if way.acts() {
            assert_eq!(run.acted(), ["tools/call"], "{way:?}: the request alone");
        }
    }
}

#[test]
fn a_request_of_the_servers_is_answered_by_the_host() {
    let asks = lines(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"a":1.0}}"#,
    ]);
    let end = lines(&[&answer("1", "a")]);
    let play = Play::new().read(1).write(&asks).read(1).write(&end);
    // The same id in both directions at once.
    Case::new(&["tools/call", "sampling/createMessage"], play).same_in_every_way(|host| {
        host.send(&call("1"));
        host.expect(&asks);
        host.send(r#"{"jsonrpc":"2.0","result":{"role":"x"},"id":1}"#);
        host.expect(&end);
    });
}

#[test]
fn discover_may_come_first_and_its_refusal_passes() {
    let unknown =
        r#"{"jsonrpc":"2.0","id":"server-discover-probe-1","error":{"code":-32601,"message":"?"}}"#;
    let answers = [lines(&[unknown]), lines(&[&answer("1", "hello")])];
    let methods = ["server/discover", "initialize"];
    Case::new(&methods, Play::new().answers(&answers)).same_in_every_way(|host| {
        host.send(r#"{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
        host.expect(&answers[0]);
        host.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
        host.expect(&answers[1]);
    });
}

#[test]
fn the_modern_envelope_is_left_alone() {
    let modern = lines(&[
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public"}}"#,
    ]);
    let asks = lines(&[
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}},"requestState":"s\u0061"}}"#,
    ]);
    let play = Play::new().answers(&[&modern, &asks]);
    Case::new(&["tools/list", "tools/call"], play).same_in_every_way(|host| {
        host.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#);
        host.expect(&modern);
        host.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","requestState":"s\u0061","inputResponses":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
        host.expect(&asks);
    });
}

const BATCH: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"2","method":"ping"}]"#;

#[test]
fn a_batch_passes_untouched_while_nobody_acts() {
    let reply = lines(&[&format!("[{}, {}]", answer("1", "a"), answer(r#""2""#, "b"))]);
    let play = Play::new().read(1).write(&reply);
    for way in [Way::Direct, Way::Passive, Way::Recorded] {
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = way.start(play.command(dir.path()), &[]);
        run.host.send(BATCH);
        run.host.expect(&reply);
        run.host.end();
        assert!(got(dir.path()) == run.host.sent, "{way:?}");
        run.check_log();
    }
}

#[test]
fn a_batch_is_taken_apart_for_a_layer_that_acts_and_answered_as_one() {
    // Answered out of order.
    let play = Play::new().read(3).write(lines(&[&answer(r#""2""#, "b"), &answer("1", "a")]));
    for way in [Way::Acting, Way::ActingRecorded] {
        let dir = TempDir::new().expect("a temporary directory");
        let mut run = way.start(play.command(dir.path()), &[]);
        run.host.send(BATCH);
        let reply = run.host.line().expect("an answer");
        let reply: Value = serde_json::from_slice(&reply).expect("it is JSON");
        let texts: Vec<_> = reply
            .as_array()
            .expect("it is an array")
            .iter()
            .map(|a| &a["result"]["text"])
            .collect();
        assert_eq!(texts, ["a", "b"], "in the order of the requests");
        run.host.end();
        assert_eq!(run.acted(), ["ping", "ping"]);
        let want = lines(&[
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
            r#"{"jsonrpc":"2.0","id":"2","method":"ping"}"#,
        ]);
        assert_eq!(String::from_utf8_lossy(&got(dir.path())), want);
    }
}

#[test]
fn two_thousand_answers_each_come_before_the_notification_behind_them() {
    const CALLS: usize = 2000;
    let pairs: Vec<String> = (0..CALLS)
        .map(|id| {
            let id = id.to_string();
            lines(&[&answer(&id, "a"), &note("progress", &format!(r#"{{"progress":{id}}}"#))])
        })
        .collect();
    let all = pairs.concat();
    // Everything is in flight before the first answer; then answers and notifications come as fast
    // as they can.
    let play = Play::new().read(CALLS).write(&all).read(CALLS).write(&all);
    let methods = vec!["tools/call"; 2 * CALLS];
    Case::new(&methods, play).same_in_every_way(|host| {
        for _ in 0..2 {
            let calls: Vec<String> = (0..CALLS).map(|id| call(&id.to_string())).collect();
            host.send_bytes(lines(&calls).as_bytes());
            host.expect(&all);
        }
    });
}
