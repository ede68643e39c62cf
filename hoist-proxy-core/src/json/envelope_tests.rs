use std::collections::HashSet;
use std::fmt;

use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::*;

/// An object's members as `serde_json` sees them.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn members(value: &RawValue) -> Vec<(&RawValue, &RawValue)> {
    serde_json::from_str::<Members<'_>>(value.get()).map_or(Vec::new(), |members| members.0)
}

fn text_of(key: &RawValue) -> Option<String> {
    serde_json::from_str(key.get()).ok()
}

fn own_fault(object: &RawValue, known: Keys) -> Option<Ambiguity> {
    let mut seen = HashSet::new();
    members(object).into_iter().find_map(|(key, _)| {
        let Some(key) = text_of(key) else { return Some(Ambiguity::NotText) };
        if known.0.iter().any(|k| k.eq_ignore_ascii_case(&key) && *k != key) {
            return Some(Ambiguity::LetterCase(key));
        }
        (!seen.insert(key.clone())).then_some(Ambiguity::RepeatedKey(key))
    })
}

fn fault_anywhere(value: &RawValue) -> Option<Ambiguity> {
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
        return items.into_iter().find_map(fault_anywhere);
    }
    let mut seen = HashSet::new();
    members(value).into_iter().find_map(|(key, value)| {
        let Some(key) = text_of(key) else { return Some(Ambiguity::NotText) };
        if !seen.insert(key.clone()) {
            return Some(Ambiguity::RepeatedKey(key));
        }
        fault_anywhere(value)
    })
}

/// What an envelope says: the texts of its members, and the first key at fault of each part.
#[derive(Debug, PartialEq)]
struct Said {
    members: [Option<String>; 5],
    faults: [Option<Ambiguity>; 4],
}

const KEPT: [&str; 5] = ["id", "method", "params", "result", "error"];

/// The same by `serde_json`, in as many passes as it takes.
fn serde_says(text: &[u8]) -> Result<Said, Ambiguity> {
    let value: &RawValue =
        serde_json::from_slice(without_bom(text)).map_err(|_| Ambiguity::NotJson)?;
    if !value.get().starts_with('{') {
        return Err(Ambiguity::Envelope("outermost value"));
    }
    let mut found: [Option<&RawValue>; 5] = [None; 5];
    for (key, member) in members(value) {
        let key = text_of(key);
        if let Some(at) = KEPT.iter().position(|kept| Some(*kept) == key.as_deref())
            && found[at].replace(member).is_some()
        {
            return Err(Ambiguity::RepeatedKey(KEPT[at].into()));
        }
    }
    let [_, _, params, result, _] = found;
    let params_fault = params.and_then(|params| own_fault(params, PARAM_KEYS));
    let arguments = params.filter(|_| params_fault.is_none()).and_then(|params| {
        let all = members(params).into_iter();
        all.rev().find(|(key, _)| text_of(key).as_deref() == Some("arguments"))
    });
    Ok(Said {
        members: found.map(|member| member.map(|member| member.get().to_owned())),
        faults: [
            own_fault(value, ENVELOPE_KEYS),
            params_fault,
            arguments.and_then(|(_, arguments)| fault_anywhere(arguments)),
            result.and_then(|result| own_fault(result, RESULT_KEYS)),
        ],
    })
}

fn pass_says(text: &[u8]) -> Result<Said, Ambiguity> {
    let found = Envelope::read(text)?;
    let places = [found.id, found.method, found.params, found.result, found.error];
    let KeyFaults { envelope, params, arguments, result } =
        found.faults.map(|faults| *faults).unwrap_or_default();
    // The keys of arguments count only where it is certain which they are.
    let arguments = arguments.filter(|_| params.is_none());
    Ok(Said {
        members: places.map(|p| p.map(|p| String::from_utf8(text[p].to_vec()).unwrap())),
        faults: [envelope, params, arguments, result],
    })
}

#[track_caller]
fn check(text: &[u8]) {
    assert_eq!(pass_says(text), serde_says(text), "{}", text.escape_ascii());
}

const MESSAGES: [&str; 9] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[{}]}}}"#,
    " {\t\"id\" : \"\\u00e9\" ,\r \"result\" : { \"content\" : [ 1.50 , -0e+7 ] , \"x\":1 } } ",
    "\u{feff}{\"id\":null,\"error\":{\"code\":-32600,\"message\":\"\u{e9}\u{1f600}\"}}",
    r#"{"m\u0065thod":"a\"\\\/\b\f\n\r\t","params":[true,false,null,[[]],"]"],"jsonrpc":"2.0"}"#,
    r#"{"id":1,"ID":2,"other":1,"Other":1,"other":2,"params":{"Name":1,"_meta":{"k":1,"k":1}}}"#,
    r#"{"params":{"arguments":{"a":{"b":1,"\u0062":2}},"x":1,"x":1},"result":{"isERROR":0,"is":1}}"#,
    r#"{"params":{"arguments":[[{"a":1},{"a":{"c":1,"\ud83d":2}}]],"z":{"a":1,"a":1}},"\ud83d":1}"#,
    r#"{"result":{"a":1,"content":[{"type":"text","type":"x"}],"a":2},"params":{"arguments":{}}}"#,
    r#"{"id":1,"method":"m","id":1e400,"params":12345678901234567890,"params":-1}"#,
];

#[test]
fn messages_are_read_as_serde_reads_them() {
    for text in MESSAGES {
        check(text.as_bytes());
    }
    let said = pass_says(MESSAGES[5].as_bytes()).unwrap();
    assert_eq!(said.faults[1], Some(Ambiguity::RepeatedKey("x".into())));
    assert_eq!(said.faults[3], Some(Ambiguity::LetterCase("isERROR".into())));
    let said = pass_says(MESSAGES[6].as_bytes()).unwrap();
    assert_eq!(said.faults[0], Some(Ambiguity::NotText));
    assert_eq!(said.faults[2], Some(Ambiguity::NotText));
    assert!(pass_says(MESSAGES[0].as_bytes()).unwrap().faults.iter().all(Option::is_none));
}

#[test]
fn broken_messages_are_refused_as_serde_refuses_them() {
    for text in MESSAGES.map(str::as_bytes) {
        for at in 0..text.len() {
            check(&text[..at]);
            for byte in *b"\x00\x1f \n\"\\,:[]{}0-.eut\x80\xff" {
                let mut text = text.to_vec();
                text[at] = byte;
                check(&text);
                text.insert(at, byte);
                check(&text);
            }
        }
    }
}

#[test]
fn every_kind_of_value_is_read_to_the_letter() {
    let values = [
        "0",
        "-0",
        "10",
        "01",
        "-",
        "-a",
        "--1",
        "+1",
        "1.",
        "1.5",
        "1.e1",
        ".5",
        "1e",
        "1e+",
        "1E-0",
        "1e400",
        "0x1",
        "1_0",
        "nul",
        "nulll",
        "null",
        "truE",
        "true",
        "false",
        "NaN",
        "\"",
        "\"\"",
        "\"\\\"",
        "\"\\u12G4\"",
        "\"\\u123\"",
        "\"\\ud800\"",
        "\"\\x\"",
        "\"\t\"",
        "\"\u{7f}\"",
        "\"12345678\t\"",
        "\"1234567\\\"\"",
        "[]",
        "[,]",
        "[1,]",
        "[1 2]",
        "[1}",
        "{]",
        "{}",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:2}",
        "{\"a\" :\n1 ,\"b\": [ ]\r}",
        "'a'",
        "//",
        "\u{a0}1",
        "\u{feff}1",
    ];
    for value in values {
        check(format!(r#"{{"id":1,"result":{value}}}"#).as_bytes());
        check(format!(r#"{{"result":[{value},{value}],"x":{value}}}"#).as_bytes());
        check(value.as_bytes());
    }
}

#[test]
fn depth_and_number_cost_neither_stack_nor_quadratic_time() {
    let (open, close) = ("[".repeat(300_000), "]".repeat(300_000));
    let deep = format!(r#"{{"id":1,"result":{open}{close}}}"#);
    assert_eq!(Envelope::read(deep.as_bytes()).unwrap().result, Some(17..600_017));
    assert!(Envelope::read(&deep.as_bytes()[..deep.len() - 2]).is_err());

    // All 65 combinations of brackets around the 64 that take no allocation.
    for objects in 0..=65 {
        let open = "{\"a\":".repeat(objects) + &"[".repeat(65 - objects);
        let close = "]".repeat(65 - objects) + &"}".repeat(objects);
        check(format!(r#"{{"result":{open}1{close}}}"#).as_bytes());
        check(format!(r#"{{"result":{open}1{}}}"#, close.replacen(']', "}", 1)).as_bytes());
    }

    let deep = |inside: &str| {
        let (open, close) = ("{\"a\":[".repeat(100_000), "]}".repeat(100_000));
        let text = format!(r#"{{"params":{{"arguments":{open}{inside}{close}}}}}"#);
        pass_says(text.as_bytes()).unwrap().faults
    };
    assert_eq!(deep(r#"{"a":1,"b":1}"#), [None, None, None, None]);
    assert_eq!(deep(r#"{"b":1,"b":1}"#)[2], Some(Ambiguity::RepeatedKey("b".into())));

    let many = |last: &str| {
        let keys: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":{{\"k1\":{n}}},")).collect();
        let keys = keys.concat();
        let text = format!(r#"{{"params":{{"arguments":{{{keys}"{last}":0}}}}}}"#);
        pass_says(text.as_bytes()).unwrap().faults
    };
    assert_eq!(many("new"), [None, None, None, None]);
    for last in ["k0", "k15", "k16", "k17", "k49999"] {
        assert_eq!(many(last)[2], Some(Ambiguity::RepeatedKey(last.into())));
    }

    let keys: Vec<String> = (0..40).map(|n| format!("\"k{n}\":{n}")).collect();
    let object = format!("{{{}}}", keys.join(","));
    check(format!(r#"{{"params":{{"arguments":[{object},{object}]}}}}"#).as_bytes());
}

/// Values with keys that are repeated, miscased, escaped and no text.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "-0.5e+3",
        "1e400",
        "null",
        "true",
        "\"\"",
        "\"\\ud800\\n\"",
        "\"é\"",
        "\"aaaaaaaaaaaaa\"",
    ]);
    let key = prop::sample::select(vec![
        "id",
        "Id",
        "\\u0069d",
        "method",
        "params",
        "PARAMS",
        "result",
        "error",
        "jsonrpc",
        "arguments",
        "arg\\u0075ments",
        "Arguments",
        "name",
        "nAme",
        "content",
        "Content",
        "x",
        "y",
        "\\ud83d",
        "\\\\",
    ]);
    let space = || prop::sample::select(vec!["", "", "", " ", "\r\n\t"]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 60, 5, move |inner| {
        let member = (space(), key.clone(), space(), inner.clone())
            .prop_map(|(a, key, b, value)| format!("{a}\"{key}\"{b}:{b}{value}{a}"));
        prop_oneof![
            1 => (prop::collection::vec(inner, 0..4), space())
                .prop_map(|(items, a)| format!("[{a}{}{a}]", items.join(","))),
            4 => (prop::collection::vec(member, 0..6), space())
                .prop_map(|(members, a)| format!("{{{a}{}}}{a}", members.join(","))),
        ]
    })
}

/// A message whose params or result may be anything.
fn message() -> impl Strategy<Value = String> {
    (json(), json(), json()).prop_map(|(a, b, c)| {
        format!(r#"{{"id":1,"params":{{"arguments":{a},"name":{b}}},"result":{c}}}"#)
    })
}

proptest! {
    #[test]
    fn any_json_is_read_as_serde_reads_it(text in prop_oneof![json(), message()]) {
        prop_assert_eq!(pass_says(text.as_bytes()), serde_says(text.as_bytes()));
    }

    #[test]
    fn almost_json_is_read_as_serde_reads_it(
        text in prop_oneof![json(), message()],
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4),
    ) {
        let mut text = text.into_bytes();
        for (at, byte, how) in edits {
            let at = at.index(text.len().max(1)).min(text.len());
            // Half of the bytes are ones that mean something to JSON.
            let byte = *b"\"\\{}[],: 01-.e".get(usize::from(byte % 32)).unwrap_or(&byte);
            match how {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                _ => text.truncate(at.max(1)),
            }
        }
        prop_assert_eq!(pass_says(&text), serde_says(&text));
    }

    #[test]
    fn any_bytes_are_read_as_serde_reads_them(text in prop::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(pass_says(&text), serde_says(&text));
        let inside = [b"{\"id\":\"", &text[..], b"\"}"].concat();
        prop_assert_eq!(pass_says(&inside), serde_says(&inside));
    }
}
