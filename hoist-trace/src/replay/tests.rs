use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use hoist_proxy_core::{Proxy, testkit};
use tokio::time::Instant;

use super::{Recording, ReplayServer};
use crate::log::LogReader;

/// A log of these entries: who, when, what.
fn recording(entries: &[(&str, u64, &str)]) -> Recording {
    let mut log = r#"{"hoist_mcp_log":2,"session":"s","started_unix_ms":0}"#.to_owned() + "\n";
    for (from, t_ms, message) in entries {
        let _ = writeln!(log, r#"{{"t_ms":{t_ms},"from":"{from}","message":{message}}}"#);
    }
    let mut recording = Recording::default();
    recording.add(LogReader::new(log.as_bytes(), "log").unwrap()).unwrap();
    recording
}

fn call(id: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"look","arguments":{arguments}}}}}"#
    )
}

fn recorded() -> Recording {
    recording(&[
        ("client", 0, r#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"a"}}}"#),
        ("server", 5, r#"{"id":0,"result":{"serverInfo":{"name":"s"},"n":1.0}}"#),
        ("client", 6, &call("1", r#"{"a":1,"b":[2]}"#)),
        ("server", 9, r#"{"id":1,"result":{"content":["first"]}}"#),
        ("client", 10, &call("2", r#"{"b":[2.0],"a":1}"#)),
        ("server", 30, r#"{ "result":{"content":["second"]}, "id":2 }"#),
        ("client", 40, &call("3", r#"{"a":3}"#)),
        ("server", 41, r#"{"id":3,"error":{"code":-5,"message":"no"}}"#),
    ])
}

/// What a host that asks these is told.
async fn told(server: ReplayServer, asked: &[&str]) -> Vec<String> {
    let (mut host, downstream) = testkit::host();
    let running = tokio::spawn(Proxy::new(downstream, server).run(std::future::pending()));
    let mut told = Vec::new();
    for line in asked {
        host.send(line).await;
        told.push(String::from_utf8(host.receive_line().await.unwrap().body().to_vec()).unwrap());
    }
    drop(host);
    running.await.unwrap().unwrap().into_last().unwrap();
    told
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_before_is_answered_as_before() {
    let asked = [
        r#"{"id":"i","method":"initialize","params":{"clientInfo":{"name":"other"}}}"#,
        &call("7", r#"{"b":[2],"a":1e0}"#),
        &call("\"x\"", r#"{"a":1,"b":[2]}"#),
        &call("8", r#"{"a":1,"b":[2]}"#),
        &call("9", r#"{"a":3}"#),
        r#"{"id":10,"method":"ping"}"#,
        r#"{"id":11,"method":"#,
        r#"{"id":12,"id":13,"method":"ping"}"#,
    ];
    let told = told(ReplayServer::new(recorded()), &asked).await;
    assert_eq!(
        told,
        [
            r#"{"id":"i","result":{"serverInfo":{"name":"s"},"n":1.0}}"#,
            r#"{"id":7,"result":{"content":["first"]}}"#,
            r#"{ "result":{"content":["second"]}, "id":"x" }"#,
            r#"{ "result":{"content":["second"]}, "id":8 }"#,
            r#"{"id":9,"error":{"code":-5,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":10,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"hoist: it is not valid JSON"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"hoist: key \"id\" stands twice"}}"#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_never_asked_is_a_miss_that_names_the_nearest() {
    let missed = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&missed);
    let server = ReplayServer::new(recorded())
        .strict(true)
        .on_miss(move |miss| seen.lock().unwrap().push(miss.to_string()));
    let asked = [
        &call("1", r#"{"a":1,"b":[3]}"#),
        &call("2", r#"{"a":3}"#),
        &call("3", r#"{"a":3}"#),
        r#"{"id":4,"method":"resources/list"}"#,
    ];
    let told = told(server.clone(), &asked.map(|text| text as &str)).await;
    assert!(told[0].contains(r#""code":-32602"#), "{}", told[0]);
    assert!(told[1].contains(r#""code":-5"#), "{}", told[1]);
    assert!(told[2].contains(r#""code":-32602"#), "{}", told[2]);
    assert!(told[3].contains(r#""code":-32601"#), "{}", told[3]);
    assert_eq!(server.misses(), 3);
    let missed = missed.lock().unwrap();
    let nearest =
        r#"look {"a":1,"b":[3]} was not recorded; the nearest call is look {"a":1,"b":[2]}"#;
    assert_eq!(missed[0], nearest);
    assert_eq!(missed[1], r#"look {"a":3} was recorded, but not so often"#);
    assert_eq!(missed[2], "resources/list was not recorded as it is asked");
}

#[tokio::test(start_paused = true)]
async fn answers_may_take_as_long_as_they_took() {
    let (mut host, downstream) = testkit::host();
    let server = ReplayServer::new(recorded()).pace(true);
    let running = tokio::spawn(Proxy::new(downstream, server).run(std::future::pending()));
    let began = Instant::now();
    host.send(&call("1", r#"{"a":1,"b":[2]}"#)).await;
    host.receive().await;
    assert_eq!(began.elapsed(), Duration::from_millis(3));
    // The second takes 20 ms, the other 1 ms: they pass each other.
    host.send(&call("2", r#"{"a":1,"b":[2]}"#)).await;
    host.send(&call("3", r#"{"a":3}"#)).await;
    host.expect(r#"{"id":3,"error":{"code":-5,"message":"no"}}"#).await;
    host.expect(r#"{ "result":{"content":["second"]}, "id":2 }"#).await;
    assert_eq!(began.elapsed(), Duration::from_millis(23));
    drop(host);
    running.await.unwrap().unwrap().into_last().unwrap();
}

#[tokio::test(start_paused = true)]
async fn notifications_come_with_the_request_that_is_there_now() {
    let meta = |id: &str| {
        format!(
            r#"{{"method":"x","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    let server = ReplayServer::new(recording(&[
        (
            "client",
            0,
            r#"{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}"#,
        ),
        (
            "server",
            1,
            r#"{"method":"notifications/progress","params":{"progressToken":7,"progress":0.50}}"#,
        ),
        ("server", 2, r#"{"method":"notifications/message","params":{"data":1}}"#),
        ("server", 3, r#"{"id":1,"result":{}}"#),
        (
            "client",
            4,
            r#"{"id":"l","method":"subscriptions/listen","params":{"notifications":{}}}"#,
        ),
        ("server", 5, &meta("\"l\"")),
    ]));
    let (mut host, downstream) = testkit::host();
    let running = tokio::spawn(Proxy::new(downstream, server).run(std::future::pending()));
    host.send(
        r#"{"id":2,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"t"}}"#,
    )
    .await;
    host.expect(
        r#"{"method":"notifications/progress","params":{"progressToken":"p","progress":0.50}}"#,
    )
    .await;
    host.expect(r#"{"method":"notifications/message","params":{"data":1}}"#).await;
    host.expect(r#"{"id":2,"result":{}}"#).await;
    // Whoever gave no token gets no progress.
    host.send(r#"{"id":3,"method":"tools/call","params":{"name":"t"}}"#).await;
    host.expect(r#"{"method":"notifications/message","params":{"data":1}}"#).await;
    host.expect(r#"{"id":3,"result":{}}"#).await;
    host.send(r#"{"id":9,"method":"subscriptions/listen","params":{"notifications":{}}}"#).await;
    host.expect(&meta("9")).await;
    drop(host);
    running.await.unwrap().unwrap().into_last().unwrap();
}
