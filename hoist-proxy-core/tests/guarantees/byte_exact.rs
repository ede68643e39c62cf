//! *Byte-exact*: a line nobody changes leaves with the bytes it came with, and a changed one keeps
//! the bytes of what was not changed.

use hoist_proxy_core::testkit::{self, Session};
use hoist_proxy_core::{Acts, Direction, Layer, Line};
use proptest::prelude::*;

use crate::util::{Log, act, amends, answer, call, passes, passes_all, raw, with_item};

/// Lines of odd form, as bytes on the wire. None is an answer to anything.
fn odd_lines() -> Vec<Vec<u8>> {
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let mut lines: Vec<Vec<u8>> = [
        r#"{"params":{"z":1,"a":2},"method":"tools/call","id":"k","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"n":1.0,"m":12345678901234567890,"e":1e400,"f":-0.0}}"#,
        r#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools\/call","params":{"s":"\u00e9\/\ud83d\ude00"}}"#,
        "  { \"jsonrpc\" : \"2.0\" ,\t\"id\" : \"sp\\u0061ce\" , \"method\" : \"tools/call\" }  ",
        r#"{"jsonrpc":"2.0","id":"lone","method":"tools/call","params":{"s":"\ud83d"}}"#,
        r#"{"jsonrpc":"2.0","id":"lone\ud83d","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"args","method":"tools/call","params":{"name":"a","name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":null}"#,
        r#"{"jsonrpc":"2.0","id":"nobody","result":{"n":1.0}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
        "{\"text\":\"a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\"}",
        "not JSON at all",
        "{\"jsonrpc\":",
        "[",
        "[]",
        "7",
        "null",
        "",
        " ",
        "\u{1b}[31mred\u{1b}[0m",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"bom\",\"method\":\"tools/call\"}",
        "a\rb",
        "\r",
    ]
    .into_iter()
    .map(|l| l.as_bytes().to_vec())
    .collect();
    lines.push(
        b"{\"jsonrpc\":\"2.0\",\"id\":\"bad\",\"method\":\"tools/call\",\"x\":\"\xff\xfe\"}"
            .to_vec(),
    );
    lines.push(b"\x00\xc3\x28".to_vec());
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{}}}"#,
        deep(100_000)
    );
    lines.push(nested.into_bytes());
    let big = format!(
        r#"{{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{{"s":"{}"}}}}"#,
        "x".repeat(300_000)
    );
    lines.push(big.into_bytes());
    lines
}

/// Every odd line with each terminator, and one unterminated at the end.
fn odd_wire() -> Vec<Vec<u8>> {
    let mut wire = Vec::new();
    for body in odd_lines() {
        for end in [&b"\n"[..], b"\r\n"] {
            wire.push([&body[..], end].concat());
        }
    }
    wire.push(call("\"last\"").into_bytes());
    wire
}

/// Sends `wire` from one side and gives back what comes out on the other.
async fn through(mut session: Session, direction: Direction, wire: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (from, to) = match direction {
        Direction::ToServer => (&mut session.host, &mut session.server),
        _ => (&mut session.server, &mut session.host),
    };
    let mut out = Vec::new();
    for line in wire {
        from.send_line(Line::from_wire(line.clone())).await;
        let got = to.receive_line().await.expect("the line comes out");
        out.push(got.wire().to_vec());
    }
    to.expect_nothing().await;
    out
}

#[track_caller]
fn check_same(out: &[Vec<u8>], wire: &[Vec<u8>]) {
    assert_eq!(out.len(), wire.len());
    for (got, want) in out.iter().zip(wire) {
        let (got, want) = (String::from_utf8_lossy(got), String::from_utf8_lossy(want));
        assert!(got == want, "{want:.200?} became {got:.200?}");
    }
}

#[tokio::test(start_paused = true)]
async fn byte_exact_passively() {
    let wire = odd_wire();
    for direction in [Direction::ToServer, Direction::ToHost] {
        let out = through(testkit::session(Vec::new()), direction, &wire).await;
        check_same(&out, &wire);
        let log = Log::default();
        let out = through(testkit::session(vec![log.layer()]), direction, &wire).await;
        check_same(&out, &wire);
        assert_eq!(log.entries().len(), wire.len());
    }
}

#[tokio::test(start_paused = true)]
async fn byte_exact_through_layers_that_pass_everything_on() {
    let wire = odd_wire();
    for direction in [Direction::ToServer, Direction::ToHost] {
        let (outer, inner) = (passes_all(), passes_all());
        let layers = vec![outer.layer(), inner.layer()];
        let out = through(testkit::session(layers), direction, &wire).await;
        check_same(&out, &wire);
        // The requests that can be read in one way only, and the notification.
        assert_eq!(outer.ran.count(), inner.ran.count());
        assert!(outer.ran.count() >= 20, "{} {direction:?}", outer.ran.count());
    }
}

#[tokio::test(start_paused = true)]
async fn odd_answers_pass_an_acting_layer_byte_for_byte() {
    let layer = passes();
    let mut session = testkit::session(vec![layer.layer()]);
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let answers: Vec<Vec<u8>> = vec![
        br#"{"result":{"content":[{"n":1e400,"m":1.0}]},"id":7,"jsonrpc":"2.0"}"#.to_vec(),
        b" { \"id\" : 7.0 , \"result\" : null } \r\n".to_vec(),
        br#"{"id":7,"result":{"s":"\ud83d \/"}}"#.to_vec(),
        "\u{feff}{\"id\":70e-1,\"error\":{\"code\":1.5}}".as_bytes().to_vec(),
        format!(r#"{{"id":7,"result":{deep}}}"#).into_bytes(),
        br#"{"id":7,"result":{"a":1},"error":null}"#.to_vec(),
        br#"{"id":7,"result":{"a":1,"a":2}}"#.to_vec(),
        br#"{"id":7,"result":1,"result":2}"#.to_vec(),
        b"{\"id\":7,\"result\":\"\xff\"}".to_vec(),
        br#"{"id":7,"error":{},"result":{}}"#.to_vec(),
    ];
    for (n, mut wire) in answers.into_iter().enumerate() {
        if !wire.ends_with(b"\n") {
            wire.push(b'\n');
        }
        session.host.send(&call(7)).await;
        session.server.expect(&call(7)).await;
        session.server.send_line(Line::from_wire(wire.clone())).await;
        let got = session.host.receive_line().await.expect("the answer comes out");
        assert_eq!(got.wire(), &wire, "{}", String::from_utf8_lossy(&wire));
        assert_eq!(layer.ran.count(), n + 1);
    }
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_amended_answer_keeps_every_other_byte() {
    let layer = amends("more");
    let mut session = testkit::session(vec![layer.layer()]);
    let wire = "\u{feff} {\"x\" : 1.0, \"result\":{ \"content\" :[ {\"n\":1e400} ] ,\"structuredContent\":{\"b\":2,\"a\":12345678901234567890}}, \"id\":\"\\u0061\" }\r\n";
    session.host.send(&call("\"a\"")).await;
    session.server.expect(&call("\"a\"")).await;
    session.server.send_line(Line::from_wire(wire)).await;
    let want =
        wire.replace("{\"n\":1e400} ]", "{\"n\":1e400},{\"type\":\"text\",\"text\":\"more\"} ]");
    assert_ne!(want, wire);
    let got = session.host.receive_line().await.expect("the answer comes out");
    assert_eq!(got.wire(), want.as_bytes());
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn rewritten_params_keep_every_other_byte() {
    let layer = act("rewrites", |request, next| {
        Box::pin(async move { next.run(request.with_params(raw(r#"{"name":"other"}"#))).await })
    });
    let mut session = testkit::session(vec![layer.layer()]);
    let before = "\u{feff} {\"id\" : 1.0, \"params\": {\"name\":\"t\"} , \"x\":[1e400,\"\\ud83d\"],\"method\":\"tools\\/call\" }\r\n";
    session.host.send_line(Line::from_wire(before)).await;
    let got = session.server.receive_line().await.expect("the request comes out");
    assert_eq!(got.wire(), before.replace(r#""name":"t""#, r#""name":"other""#).as_bytes());
    session.server.send(&answer(1)).await;
    session.host.expect(&answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_given_under_another_spelling_of_the_id_matches() {
    let layer = amends("x");
    let mut session = testkit::session(vec![layer.layer()]);
    for (asked, answered) in [("\"a\"", "\"\\u0061\""), ("1", "1.0"), ("\"\\/\"", "\"/\"")] {
        session.host.send(&call(asked)).await;
        session.server.expect(&call(asked)).await;
        session.server.send(&answer(answered)).await;
        let want = with_item_in(&answer(answered));
        session.host.expect(&want).await;
    }
    assert_eq!(layer.ran.count(), 3);
    session.end().await;
}

fn with_item_in(answer: &str) -> String {
    answer.replace("[]", r#"[{"type":"text","text":"x"}]"#)
}

#[tokio::test(start_paused = true)]
async fn a_line_after_an_unterminated_one_is_not_glued_to_it() {
    let layer = passes();
    let mut session = testkit::session(vec![layer.layer()]);
    session.host.send(&call(1)).await;
    session.server.expect(&call(1)).await;
    // The server dies in the middle of its answer.
    session.server.send_line(Line::from_wire(r#"{"jsonrpc":"2.0","id":1,"resu"#)).await;
    session.server.close();
    let mut wire = Vec::new();
    while let Some(line) = session.host.receive_line().await {
        wire.extend_from_slice(line.wire());
    }
    let wire = String::from_utf8(wire).unwrap();
    let lines: Vec<&str> = wire.lines().collect();
    assert_eq!(lines[0], r#"{"jsonrpc":"2.0","id":1,"resu"#);
    assert!(lines[1].starts_with(r#"{"jsonrpc":"2.0","id":1,"error""#), "{wire}");
    assert_eq!(layer.ran.count(), 1);
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("1.0".to_owned()),
        Just("\"hoist-1\"".to_owned()),
        Just("{}".to_owned()),
        (0..4u32).prop_map(|n| n.to_string()),
        "[a-c]{1,2}".prop_map(|s| format!("\"{s}\"")),
    ];
    let method = prop_oneof![
        Just("tools/call"),
        Just("tools\\/call"),
        Just("ping"),
        Just("notifications/x"),
        Just("\\ud83d"),
    ];
    let value = prop_oneof![
        Just("{}"),
        Just(r#"{"name":"t"}"#),
        Just(r#"{"name":"t","name":"u"}"#),
        Just("[1.0, 1e400]"),
        Just("null"),
        Just("\"\\ud83d\""),
        Just("tru"),
    ];
    let member = prop_oneof![
        3 => id.prop_map(|id| format!("\"id\":{id}")),
        3 => method.prop_map(|m| format!("\"method\" : \"{m}\"")),
        2 => value.clone().prop_map(|v| format!("\"params\":{v} ")),
        1 => value.prop_map(|v| format!("\"x\":{v} ")),
    ];
    let message = prop::collection::vec(member, 0..5)
        .prop_map(|members| format!("{{{}}}", members.join(",")).into_bytes());
    let noise = prop::collection::vec(any::<u8>(), 0..40)
        .prop_map(|bytes| bytes.into_iter().filter(|b| *b != b'\n').collect::<Vec<u8>>());
    let end = prop_oneof![Just(&b"\n"[..]), Just(&b"\r\n"[..])];
    (prop_oneof![4 => message, 1 => noise], end).prop_map(|(mut body, end)| {
        body.extend_from_slice(end);
        body
    })
}

/// Runs lines both ways and checks that each side gets what the other sent, in order. What may
/// differ with a layer that acts is left out by `lines`.
fn check_any(lines: &[(bool, Vec<u8>)], layers: Vec<Box<dyn Layer>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut session = testkit::session(layers);
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for (to_server, wire) in lines {
            let line = Line::from_wire(wire.clone());
            if *to_server {
                session.host.send_line(line).await;
                up.push(wire.clone());
            } else {
                session.server.send_line(line).await;
                down.push(wire.clone());
            }
        }
        for (peer, want) in [(&mut session.server, up), (&mut session.host, down)] {
            let mut got = Vec::new();
            for _ in &want {
                got.push(peer.receive_line().await.expect("a line").wire().to_vec());
            }
            check_same(&got, &want);
            peer.expect_nothing().await;
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_lines_cross_unchanged_and_in_order_passively(
        lines in prop::collection::vec((any::<bool>(), any_line()), 0..20),
    ) {
        check_any(&lines, Vec::new());
        let log = Log::default();
        check_any(&lines, vec![log.layer()]);
        prop_assert_eq!(log.entries().len(), lines.len());
    }

    #[test]
    fn any_lines_cross_unchanged_and_in_order_through_an_acting_layer(
        lines in prop::collection::vec((any::<bool>(), any_line()), 0..20),
    ) {
        let layer = passes_all();
        // A call that is surely acted on, so that each run tests something.
        let mut lines = lines;
        lines.push((true, format!("{}\n", call("\"sure\"")).into_bytes()));
        check_any(&lines, vec![layer.layer()]);
        prop_assert!(layer.ran.count() >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_layer_that_amends_sees_nothing_of_an_input_required_answer() {
    let layer = act("amends", |request, next| {
        Box::pin(async move { Ok(with_item(next.run(request).await?, "x")) })
    })
    .acts(Acts::nothing().on_every(Direction::ToServer));
    let mut session = testkit::session(vec![layer.layer()]);
    session.host.send(&call(1)).await;
    session.server.expect(&call(1)).await;
    let asks = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","content":[],"requestState":"s"}}"#;
    session.server.send(asks).await;
    session.host.expect(asks).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}
