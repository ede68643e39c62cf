//! Messages of a shop's tools.

use std::fmt::Write;

use serde_json::{Value, json};

/// A `tools/call` as a host writes it, without a line end: about 140 bytes.
pub fn request(id: u64) -> String {
    let order = order_name(id);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"get_order_details","arguments":{{"order_id":"{order}"}}}}}}"#
    )
}

/// A `tools/call` of exactly this many bytes, and at least 140: a long text is its argument.
pub fn request_of_bytes(id: u64, bytes: usize) -> String {
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add_note","arguments":{{"text":""}}}}}}"#
    );
    padded(&frame, bytes)
}

/// The answer to [`request`], without a line end: a record in a text item, as most servers answer.
/// It is at least so many bytes long, and at most one item more.
pub fn answer(id: u64, bytes: usize) -> String {
    let text = Value::from(record(id, bytes));
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}],"isError":false}}}}"#
    )
}

/// An answer of exactly this many bytes, and at least 100.
pub fn answer_of_bytes(id: u64, bytes: usize) -> String {
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""}}],"isError":false}}}}"#
    );
    padded(&frame, bytes)
}

/// `frame` with its last empty string filled up to `bytes` in all.
fn padded(frame: &str, bytes: usize) -> String {
    let at = frame.rfind(r#""""#).map_or(0, |at| at + 1);
    let mut text = String::with_capacity(bytes);
    text.push_str(&frame[..at]);
    let missing = bytes.saturating_sub(frame.len());
    text.extend("the quick brown fox jumps over the lazy dog. ".chars().cycle().take(missing));
    text.push_str(&frame[at..]);
    text
}

/// An order as JSON text, with as many items as make it so long.
pub fn record(number: u64, bytes: usize) -> String {
    let head = json!({
        "order_id": order_name(number),
        "user_id": format!("user_{}", number % 97),
        "status": if number.is_multiple_of(3) { "pending" } else { "delivered" },
        "address": { "city": "Zürich", "zip": format!("{:05}", number % 99_999) },
    });
    let mut text = head.to_string();
    text.pop();
    text.push_str(r#","items":["#);
    let mut item = 0;
    while item == 0 || text.len() < bytes {
        let comma = if item == 0 { "" } else { "," };
        let id = number.wrapping_mul(1_000_003).wrapping_add(item) % 10_000_000_000;
        write!(
            text,
            r#"{comma}{{"item_id":"{id:010}","name":"Desk \"Lamp\"","price":{}.5,"options":{{"color":"black","power":null}}}}"#,
            item % 400
        )
        .expect("a string takes every text");
        item += 1;
    }
    text.push_str("]}");
    text
}

fn order_name(number: u64) -> String {
    format!("#W{:07}", number.wrapping_mul(7_919) % 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_json_of_the_size_that_was_asked_for() {
        for text in [request(7), answer(7, 5_000), record(7, 0)] {
            serde_json::from_str::<Value>(&text).unwrap();
        }
        assert!((5_000..6_500).contains(&answer(7, 5_000).len()));
        for bytes in [140, 1024, 65_536] {
            for text in [request_of_bytes(7, bytes), answer_of_bytes(7, bytes)] {
                serde_json::from_str::<Value>(&text).unwrap();
                assert_eq!(text.len(), bytes);
            }
        }
    }
}
