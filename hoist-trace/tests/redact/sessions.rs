//! Sessions of random values, each of which may stand in many places.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::copy::Log;

/// Values of all kinds.
fn values() -> impl Strategy<Value = Vec<String>> {
    let value = prop_oneof![
        4 => "[A-Z]?[a-z]{1,9}",
        3 => "#?[A-Z]{1,2}[0-9]{4,9}",
        2 => "[a-z]{3,8}_[a-z]{3,8}_[0-9]{3,5}",
        2 => "[a-z]{2,7}\\.[a-z]{2,7}[0-9]{0,4}@[a-z]{3,9}\\.(com|de)",
        2 => "[0-9]{1,20}",
        1 => any::<u64>().prop_map(|number| number.to_string()),
        1 => "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?",
        1 => "https?://[a-z]{3,9}\\.[a-z]{3,9}/[a-z]{3,9}/[A-Za-z0-9%@=&?]{4,20}",
        1 => "/home/[a-z]{4,9}/[a-z]{2,9}/[a-z]{2,9}\\.(py|txt)",
        1 => "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{12}",
        1 => "[\\PC]{0,12}",
        1 => "(pending|no longer needed|one_way|économie|世界の友)",
        1 => any::<String>(),
    ];
    vec(value, 3..12)
}

/// A call: what its arguments and its result are made of, and when it is made.
type Call = (Vec<(u8, Index)>, Index, u64);

/// The choices that JSON is made by.
fn tree() -> impl Strategy<Value = Vec<(u8, Index)>> {
    vec((any::<u8>(), any::<Index>()), 1..25)
}

/// Builds a value from choices: scalars from the pool, lists, objects, maps keyed by values, JSON
/// in texts, prose.
fn build(choices: &mut std::slice::Iter<'_, (u8, Index)>, pool: &[String], depth: u8) -> Value {
    let Some((choice, at)) = choices.next() else { return Value::Null };
    let value = &pool[at.index(pool.len())];
    let number = |text: &str| -> Value {
        let digits: String = text.chars().filter(char::is_ascii_digit).take(15).collect();
        digits.parse::<u64>().map_or_else(|_| json!(0.5), |number| json!(number))
    };
    match choice % 12 {
        0 if depth > 0 => (0..3).map(|_| build(choices, pool, depth - 1)).collect(),
        1 if depth > 0 => json!({
            "user_id": build(choices, pool, depth - 1),
            "status": build(choices, pool, depth - 1),
        }),
        2 if depth > 0 => {
            let mut map = serde_json::Map::new();
            map.insert(value.clone(), build(choices, pool, depth - 1));
            map.insert(format!("{value}x"), build(choices, pool, depth - 1));
            Value::Object(map)
        }
        3 if depth > 0 => json!(build(choices, pool, depth - 1).to_string()),
        4 => json!(format!("The order of {value}, {value} was not found.")),
        5 => number(value),
        6 => json!(choice % 24 > 12),
        7 => json!(f64::from(*choice) + 0.25),
        _ => json!(value),
    }
}

/// Sessions that share their values.
pub(crate) fn sessions() -> impl Strategy<Value = Vec<Log>> {
    let session = vec((tree(), any::<Index>(), 0_u64..2000), 1..5);
    (values(), vec(session, 1..4)).prop_map(|(pool, sessions)| {
        let log = |calls: &Vec<Call>| {
            let mut lines = Vec::new();
            let mut t_ms = 0;
            let mut add = |t_ms: u64, from: &str, content: String| {
                lines.push(format!("{{\"t_ms\":{t_ms},\"from\":\"{from}\",{content}}}"));
            };
            for (n, (choices, at, later)) in calls.iter().enumerate() {
                let mut choices = choices.iter();
                let arguments = json!({"q": build(&mut choices, &pool, 2), "z": pool[at.index(pool.len())]});
                let result = build(&mut choices, &pool, 4);
                t_ms += later;
                let call = json!({"jsonrpc": "2.0", "id": n * 7, "method": "tools/call",
                    "params": {"name": "look_up", "arguments": arguments}});
                add(t_ms, "client", format!("\"message\":{call}"));
                let text = if result.is_string() { result.clone() } else { json!(result.to_string()) };
                let answer = if later % 5 == 0 {
                    json!({"jsonrpc": "2.0", "id": n * 7, "error": {"code": later, "message": text}})
                } else {
                    json!({"jsonrpc": "2.0", "id": n * 7, "result": {"content": [{"type": "text", "text": text}],
                        "structuredContent": {"it": result}, "isError": later % 3 == 0}})
                };
                add(t_ms + later / 3, "server", format!("\"message\":{answer}"));
                t_ms += later / 3;
                if later % 4 == 0 {
                    let said = json!({"role": "user", "content": pool.join(" and ")});
                    add(t_ms, "context", format!("\"message\":{said}"));
                    add(t_ms, "server", format!("\"raw\":{}", json!(pool[0])));
                }
            }
            Log::of(&lines)
        };
        sessions.iter().map(log).collect()
    })
}
