//! Whatever a log holds.

use hoist_trace::log::{Content, LogReader};
use hoist_trace::redact::{Clear, Redactor};

use crate::copy::{Log, copied, findings, key, leaks_of};

fn log(messages: &[&str]) -> Log {
    let lines: Vec<String> = messages
        .iter()
        .map(|message| format!("{{\"t_ms\":1,\"from\":\"server\",\"message\":{message}}}"))
        .collect();
    Log::of(&lines)
}

#[test]
fn odd_json_is_copied_and_nothing_gets_out() {
    let deep = format!("{}\"Hernandez\"{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_objects =
        format!("{}\"Hernandez\"{}", "{\"Hernandez\":".repeat(10_000), "}".repeat(10_000));
    let mut nested = "{\"Hernandez\":4471123}".to_owned();
    for _ in 0..9 {
        nested = serde_json::to_string(&[&nested]).unwrap();
    }
    let blob = format!("\"{}==\"", "QUJDRGVm0123".repeat(20_000));
    let logs = [log(&[
        r#"{"Hernandez":"Hernandez","Hernandez":4471123,"a":1,"a":2}"#,
        r#"{"jsonrpc":"2.0","id":1e400,"result":{"x":-4471123e12345678,"y":1.0E-7,"z":123456789012345678901234567890}}"#,
        r#"{"text":"Hernan\ud800dez Muñoz \udfff \u0000","\ud800Hernandez":"\\ud83d Hernandez"}"#,
        r#"["Hern\u0061ndez","%48ernandez%40x%ff","{\"broken\": \"Hernandez\"","Hernandez\\nMu\\u00f1oz4471"]"#,
        r#""!@$%^&*()_+Hernandez""#,
        "4471123",
        "null",
        &deep,
        &deep_objects,
        &nested,
        &blob,
    ])];
    assert_eq!(logs[0].entries.len(), 11);
    let leaks = leaks_of(&logs, |logs, key| copied(logs, key).0);
    assert_eq!(leaks, [""; 0]);
    let copy = &copied(&logs, &key(1)).0[0];
    assert_eq!(findings(&logs[0]), findings(copy));
    for entry in &copy.entries {
        let message = entry.message().unwrap();
        serde_json::from_str::<&serde_json::value::RawValue>(message).unwrap();
        assert!(!message.to_lowercase().contains("hernandez"));
    }
    let first = copy.entries[0].message().unwrap();
    let name = first.split('"').nth(1).unwrap();
    assert_eq!(first.matches(name).count(), 3, "{first}");
    assert!(copy.entries[1].message().unwrap().contains("\"id\":1e400"));
}

#[test]
fn lines_that_are_no_json_are_copied() {
    let text = "\u{feff}{\"Hernandez\":1} \u{fffd}\u{fffd} Hernandez\tMuñoz 4471123";
    let raw = serde_json::to_string(text).unwrap();
    let logs = [Log::of(&[format!("{{\"t_ms\":1,\"from\":\"server\",\"raw\":{raw}}}")])];
    let copy = &copied(&logs, &key(1)).0[0];
    let Content::Raw(copied_text) = &copy.entries[0].content else { panic!("{copy:?}") };
    assert_eq!(copied_text.chars().count(), text.chars().count());
    assert!(copied_text.starts_with("\u{feff}{\"") && copied_text.contains("\u{fffd}\u{fffd}"));
    assert_eq!(leaks_of(&logs, |logs, key| copied(logs, key).0), [""; 0]);
}

/// What is said to be JSON and is none is replaced all the same.
#[test]
fn what_is_no_json_is_a_text() {
    let mut redactor = Redactor::new(&key(1), Clear::new());
    for text in ["{\"a\": Hernandez", "Hernandez", "\"Hernandez", "[1,Hernandez]", "{}Hernandez"] {
        let copy = redactor.json(text);
        assert!(!copy.contains("Hernandez") && copy.len() == text.len(), "{copy}");
    }
    assert_eq!(redactor.json(""), "");
    assert_eq!(redactor.text(""), "");
}

#[test]
fn a_copy_of_a_copy_is_one_too() {
    let logs = crate::corpus::sessions(6);
    let once = copied(&logs, &key(1)).0;
    let twice = copied(&once, &key(2)).0;
    for (log, copy) in logs.iter().zip(&twice) {
        assert_eq!(findings(log), findings(copy));
        let text = copy.text();
        assert!(LogReader::new(text.as_bytes(), "x").unwrap().all(|entry| entry.is_ok()));
    }
}
