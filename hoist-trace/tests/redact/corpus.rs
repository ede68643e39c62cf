//! A small shop's sessions, in which the same values stand in all kinds of places.

use std::collections::HashMap;

use hoist_trace::log::{Content, Origin};
use hoist_trace::redact::{Redactor, Rule, Survey};

use crate::copy::{Log, copied, episode, findings, key, leaks_of, shown, surveyed};

const NAMES: [(&str, &str); 8] = [
    ("Sofia", "Hernandez"),
    ("Yusuf", "Rossi"),
    ("Mei", "Kovacs"),
    ("Olufemi", "Brandt"),
    ("José", "Muñoz"),
    ("Anneliese", "Okafor"),
    ("Ravi", "Lindqvist"),
    ("Tomasz", "Żółkiewski"),
];

const TOOLS: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"find_user_id_by_email","description":"Ask Percival Quux","inputSchema":{"type":"object","properties":{"email":{"type":"string"},"tier":{"enum":["plutonium"]}}},"annotations":{"readOnlyHint":true}},{"name":"get_order_details","inputSchema":{"type":"object","properties":{"order_id":{"type":"string"}}}}]}}"#;

/// One session: who writes, finds an order, and asks for it.
pub(crate) fn session(n: usize) -> Log {
    let (first, last) = NAMES[n % NAMES.len()];
    let user = format!("{}_{}_{}", first.to_lowercase(), last.to_lowercase(), 5364 + n * 17);
    let mail = format!("{}.{}{}@example.org", first.to_lowercase(), last.to_lowercase(), 11 + n);
    let order = format!("#W{}", 2_348_761 + n * 7919);
    let item = 6_086_499_569_u64 + (n as u64) * 104_729;
    let zip = 78_742 + n;
    let details = format!(
        r#"{{"user_id":"{user}","name":{{"first_name":"{first}","last_name":"{last}"}},"zip":"{zip}","wobble":"turquoise","orders":["{order}"],"items":{{"{item}":{{"price":{}.25,"available":true}},"{}":{{"price":9.5,"available":false}}}}}}"#,
        120 + n,
        item + 1,
    );
    let quoted = serde_json::to_string(&details).expect("it can be written");
    let encoded = mail.replace('@', "%40");
    let entries = [
        (0, "client", r#""message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.332"}}}"#.to_owned()),
        (3, "server", r#""message":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"acme-shop","version":"1.4.0"}}}"#.to_owned()),
        (4, "client", r#""message":{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_owned()),
        (5, "server", format!(r#""message":{TOOLS}"#)),
        (9, "context", format!(r#""message":{{"role":"user","content":"I am {first} {last} ({mail}), zip {zip}. Where is {order}, item {item}?"}}"#)),
        (10, "client", format!(r#""message":{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"find_user_id_by_email","arguments":{{"email":"{mail}","tier":"plutonium"}}}}}}"#)),
        (14, "server", format!(r#""message":{{"jsonrpc":"2.0","id":3,"result":{{"content":[{{"type":"text","text":"{user}"}}],"isError":false}}}}"#)),
        (15, "client", format!(r#""message":{{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{{"name":"get_user_details","arguments":{{"user_id":"{user}"}}}}}}"#)),
        (19, "server", format!(r#""message":{{"jsonrpc":"2.0","id":14,"result":{{"content":[{{"type":"text","text":{quoted}}}],"structuredContent":{details}}}}}"#)),
        (20, "server", format!(r#""raw":"GET https://shop.internal.acme-widgets.com/u/{encoded}?zip={zip} \u0007 for {first}""#)),
        (900, "client", format!(r#""message":{{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{{"name":"get_order_details","arguments":{{"order_id":"{order}"}}}}}}"#)),
        (950, "server", format!(r#""message":{{"jsonrpc":"2.0","id":15,"error":{{"code":-32602,"message":"Error: order {order} of {user} not found"}}}}"#)),
        (960, "proxy", r#""by":"flow","message":{"jsonrpc":"2.0","id":"hoist-1","method":"tools/call","params":{"name":"get_order_details","arguments":{}}}"#.to_owned()),
        (970, "server", r#""gap":{"lines":3,"bytes":1234}"#.to_owned()),
    ];
    let lines: Vec<String> = entries
        .into_iter()
        .map(|(t_ms, from, what)| format!(r#"{{"t_ms":{t_ms},"from":"{from}",{what}}}"#))
        .collect();
    Log::of(&lines)
}

pub(crate) fn sessions(count: usize) -> Vec<Log> {
    (0..count).map(session).collect()
}

#[test]
fn nothing_gets_out() {
    for count in [1, 12] {
        let leaks = leaks_of(&sessions(count), |logs, key| copied(logs, key).0);
        assert_eq!(leaks, [""; 0]);
    }
}

/// The check finds a leak of each kind: of one place in one session.
#[test]
fn a_leak_is_found() {
    type Leak = fn(&Log, &mut Log);
    let put_back: [(&str, Leak); 8] = [
        ("command", |log, copy| copy.header.server_command = log.header.server_command.clone()),
        ("host session", |log, copy| copy.header.host_session = log.header.host_session.clone()),
        ("argument", |log, copy| copy.entries[5] = log.entries[5].clone()),
        ("result", |log, copy| copy.entries[6] = log.entries[6].clone()),
        ("what was said", |log, copy| copy.entries[4] = log.entries[4].clone()),
        ("no JSON", |log, copy| copy.entries[9] = log.entries[9].clone()),
        ("description", |log, copy| copy.entries[3] = log.entries[3].clone()),
        ("in capitals, escaped", |log, copy| {
            let mail = log.entries[6].message().unwrap().to_uppercase();
            let mail =
                mail.bytes().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat();
            copy.entries[0].content = Content::Message(format!("[\"{mail}\"]"));
        }),
    ];
    for (what, leak) in put_back {
        let leaks = leaks_of(&sessions(3), |logs, key| {
            let mut copies = copied(logs, key).0;
            leak(&logs[1], &mut copies[1]);
            copies
        });
        assert!(!leaks.is_empty(), "{what}");
    }
}

#[test]
fn what_stays_in_clear_is_said() {
    let logs = sessions(12);
    let clear = surveyed(&logs);
    for (word, rule) in [
        ("plutonium", Some(Rule::SchemaValue)),
        ("turquoise", Some(Rule::Constant)),
        ("wobble", Some(Rule::SharedKey)),
        ("order", Some(Rule::PublicWord)),
        ("hernandez", None),
        ("sofia", None),
        ("percival", None),
        ("acme", None),
        ("78742", None),
    ] {
        assert_eq!(clear.rule(word), rule, "{word}");
    }
    let report = copied(&logs, &key(9)).1;
    let constants: Vec<_> =
        report.constants.iter().filter(|kept| kept.rule == Rule::Constant).collect();
    assert!(
        constants.iter().any(|kept| {
            kept.path.ends_with("wobble") && kept.kept == ["turquoise"] && kept.distinct == 1
        }),
        "{constants:?}"
    );
    assert!(
        report.kept.iter().any(|kept| kept.rule == Rule::ToolName || kept.rule == Rule::PublicWord)
    );
    assert!(report.replaced.words > 100 && report.replaced.ids > 50 && report.changed.keys > 0);
    // Of few sessions nothing is shared.
    let few = surveyed(&sessions(4));
    assert_eq!((few.rule("turquoise"), few.rule("wobble")), (None, None));
}

#[test]
fn a_value_is_the_same_wherever_it_stands() {
    let logs = sessions(2);
    let copy = &copied(&logs, &key(9)).0[0];
    let message = |at: usize| -> serde_json::Value {
        serde_json::from_str(copy.entries[at].message().unwrap()).unwrap()
    };
    let said = message(4)["content"].as_str().unwrap().to_owned();
    let mail = message(5)["params"]["arguments"]["email"].as_str().unwrap().to_owned();
    let user = message(6)["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let details = &message(8)["result"]["structuredContent"];
    let text: serde_json::Value =
        serde_json::from_str(message(8)["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, *details);
    assert_eq!(message(7)["params"]["arguments"]["user_id"], *user);
    assert_eq!(details["user_id"], *user);
    let order = details["orders"][0].as_str().unwrap();
    assert_eq!(message(10)["params"]["arguments"]["order_id"], *order);
    let error = message(11)["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(error, format!("Error: order {order} of {user} not found"));
    assert_eq!(message(11)["error"]["code"], -32602);
    for part in [
        &mail,
        order,
        details["name"]["first_name"].as_str().unwrap(),
        details["zip"].as_str().unwrap(),
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let items = details["items"].as_object().unwrap();
    assert_eq!(items.keys().filter(|item| said.contains(*item)).count(), 1, "{said}");
    let Content::Raw(raw) = &copy.entries[9].content else { panic!() };
    assert!(raw.contains(&mail.replace('@', "%40")) && raw.contains("zip="), "{raw}");
    assert_eq!(copy.entries[0].from, Origin::Client);
}

#[test]
fn the_copy_is_read_as_the_original_is() {
    let logs = sessions(12);
    let (copies, _) = copied(&logs, &key(9));
    for (log, copy) in logs.iter().zip(&copies) {
        assert_eq!(findings(log), findings(copy));
        assert_eq!(shown(log), shown(copy));
        assert_eq!(log.header.session, copy.header.session);
        let text = copy.text();
        let again = Log::read(&text);
        assert_eq!(again.entries, copy.entries);
    }
}

/// Whether a session is copied as a log or as an episode makes no difference.
#[test]
fn an_episode_is_copied_as_its_log_is() {
    let logs = sessions(12);
    let mut survey = Survey::new();
    for log in &logs {
        survey.episode(&episode(log));
    }
    let clear = survey.finish();
    assert_eq!(clear.rule("turquoise"), Some(Rule::Constant));
    let mut redactor = Redactor::new(&key(9), clear.clone());
    let mut of_logs = Redactor::new(&key(9), clear);
    for log in &logs {
        let copy = Log {
            header: of_logs.header(&log.header),
            entries: log.entries.iter().map(|entry| of_logs.entry(entry)).collect(),
        };
        assert_eq!(redactor.episode(&episode(log)), episode(&copy));
    }
}

#[test]
fn the_key_alone_decides() {
    let logs = sessions(3);
    let texts = |byte| copied(&logs, &key(byte)).0.iter().map(Log::text).collect::<Vec<_>>();
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    // Another dataset, the same tokens.
    let all = copied(&sessions(4), &key(1)).0;
    assert_eq!(all[0].text(), texts(1)[0]);
    let mut seen = HashMap::new();
    for (n, text) in texts(1).iter().enumerate() {
        for word in text.split('"') {
            seen.entry(word.to_owned()).or_insert(n);
        }
    }
    assert!(seen.len() > 50);
}
