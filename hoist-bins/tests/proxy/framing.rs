//! Bytes and lines: what servers and hosts really write.

use crate::host::Host;
use crate::play::Play;
use crate::ways::Case;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

#[test]
fn what_a_server_prints_besides_messages_passes_in_its_place() {
    let banner = b"Odd Server 1.0 is ready\n\x1b[32mINFO\x1b[0m up\n\n   \n\r\n\0\n".to_vec();
    let noise =
        b"\xff\xfe\x80\n[debug] calling\r\n{\"jsonrpc\":\"2.0\", \"id\n\"id\":1}\n7\n".to_vec();
    let answer = format!("{ANSWER}\n").into_bytes();
    let after = [&noise[..], &answer, &banner].concat();
    let play = Play::new().write(&banner).read(1).write(&noise).write(&answer).write(&banner);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.expect(&banner);
        host.send(CALL);
        host.expect(&after);
    });
}

#[test]
fn a_byte_order_mark_hides_no_message() {
    let answer = format!("\u{feff}{ANSWER}\n");
    let play = Play::new().read(1).write(&answer).read(1).write(&answer);
    Case::new(&["tools/call", "tools/call"], play).same_in_every_way(|host| {
        for _ in 0..2 {
            host.send(&format!("\u{feff}{CALL}"));
            host.expect(&answer);
        }
    });
}

#[test]
fn a_carriage_return_before_the_line_feed_crosses_and_is_no_content() {
    let answer = format!("{ANSWER}\r\n");
    let play = Play::new().read(2).write(&answer);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r");
        host.send(&format!("{CALL}\r"));
        host.expect(&answer);
    });
}

#[test]
fn a_character_may_arrive_byte_by_byte() {
    let call = CALL.replace("\"t\"", "\"é世😀\"");
    let answer = format!("{}\n", ANSWER.replace("[]", "[\"é世😀\u{2028}\"]"));
    let play = Play::new().read(1).drip(&answer);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.drip(format!("{call}\n").as_bytes());
        host.expect(&answer);
    });
}

#[test]
fn only_a_line_feed_ends_a_message() {
    let odd = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\u{7f}";
    let call = format!(
        "{{\"jsonrpc\":\"2.0\",\r\"id\":1,\r\t\"method\":\"tools/call\",\"params\":{{\"name\":\"{odd}\"}}}}"
    );
    let answer =
        format!("{{\"jsonrpc\":\"2.0\",\r\"id\":1,\"result\":\r{{\"text\":\"{odd}\"}}}}\n");
    // Raw control characters are no JSON: such a message is noise, and crosses as well.
    let is_json = |c: &char| !matches!(c, '\u{b}' | '\u{c}');
    let call_json: String = call.chars().filter(is_json).collect();
    let answer_json: String = answer.chars().filter(is_json).collect();
    let play = Play::new().answers(&[&answer, &answer_json]);
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.send(&call);
        host.expect(&answer);
        host.send(&call_json);
        host.expect(&answer_json);
    });
}

#[test]
fn a_malformed_line_passes_and_the_next_request_is_answered() {
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    let pong = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let play = Play::new()
        .read(1)
        .write(format!("{ANSWER}\n"))
        .read(1)
        .write(format!("{refusal}\n"))
        .read(1)
        .write(format!("{pong}\n"));
    Case::new(&["tools/call", "ping"], play).same_in_every_way(|host| {
        host.send(CALL);
        host.expect(format!("{ANSWER}\n"));
        host.send(r#"{"jsonrpc":"#);
        host.expect(format!("{refusal}\n"));
        host.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
        host.expect(format!("{pong}\n"));
    });
}

#[test]
fn each_answer_comes_while_the_input_stays_open() {
    let answers: Vec<String> =
        (0..50).map(|id| format!("{{\"id\":{id},\"result\":{{}}}}\n")).collect();
    let methods = ["ping"; 50];
    let play = Play::new().answers(&answers);
    Case::new(&methods, play).same_in_every_way(|host| {
        for (id, answer) in answers.iter().enumerate() {
            host.send(&format!("{{\"id\":{id},\"method\":\"ping\"}}"));
            host.expect(answer);
        }
    });
}

#[test]
fn a_last_message_without_line_feed_is_delivered() {
    let last = |host: &mut Host| {
        host.send(CALL);
        host.expect(ANSWER);
    };
    let play = Play::new().read(1).write(ANSWER).exit(0);
    Case::new(&["tools/call"], play).same_in_every_way(last);
}

#[test]
fn a_last_request_without_line_feed_is_delivered_and_answered() {
    // A server that reads lines sees the end of this one at the end of its input.
    let play = Play::new().read(1).write(ANSWER).drain();
    Case::new(&["tools/call"], play).same_in_every_way(|host| {
        host.send_bytes(CALL.as_bytes());
        host.close();
        host.expect(ANSWER);
    });
}
