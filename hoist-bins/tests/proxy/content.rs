//! What messages hold: everything crosses as it came, known to MCP or not.

use crate::play::Play;
use crate::ways::Case;

/// Has requests and their answers cross: each line must arrive with the bytes it was sent with.
#[track_caller]
fn cross(exchanges: &[(&str, &str)]) {
    let answers: Vec<String> = exchanges.iter().map(|(_, answer)| format!("{answer}\n")).collect();
    let methods: Vec<String> = exchanges.iter().map(|(request, _)| method(request)).collect();
    let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
    let play = Play::new().answers(&answers);
    Case::new(&methods, play).same_in_every_way(|host| {
        for ((request, _), answer) in exchanges.iter().zip(&answers) {
            host.send(request);
            host.expect(answer);
        }
    });
}

fn method(request: &str) -> String {
    let rest = request.split(r#""method":""#).nth(1).expect("a request has a method");
    rest.split('"').next().expect("it ends").to_owned()
}

#[test]
fn numbers_keep_their_digits() {
    cross(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"id":9007199254740993,"min":-9223372036854775808,"more":18446744073709551617}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"id":9007199254740993,"f":0.1000000000000000055511151231257827}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":{"a":1.0,"b":1e400,"c":-0,"d":1E+2,"e":0.10}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"a":1.0,"b":-1e400,"c":-0.0,"d":1E-2}}"#,
        ),
    ]);
}

#[test]
fn lone_surrogates_and_odd_escapes_cross() {
    cross(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"t":"\udfff \u0000 \/ \u00E9"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud83d"}]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"\ud83d","method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":"\ud83d","result":{"\uD83D":1}}"#,
        ),
    ]);
}

#[test]
fn omitted_null_and_empty_arguments_stay_what_they_are() {
    cross(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":null}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":null}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":null}"#,
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no"}}"#,
        ),
    ]);
}

#[test]
fn content_of_every_kind_is_left_alone() {
    cross(&[(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"vendor/hologram","z":{"y":[1,{"x":null}]}},{"type":"text","text":"t","annotations":{"audience":["user"],"priority":0.50}}]}}"#,
    )]);
}

#[test]
fn structured_content_is_not_checked_against_its_schema() {
    cross(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}]}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":["not","an","object"]}}"#,
        ),
    ]);
}

#[test]
fn resources_keep_every_member() {
    cross(&[(
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///a","mimeType":"x/y; q=1","_meta":{"a/b":[null]},"blob":"AAEC"}],"ttlMs":0,"cacheScope":"private","_meta":{}}}"#,
    )]);
}

#[test]
fn initialize_keeps_every_member_both_ways() {
    cross(&[(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2999-01-01","capabilities":{"roots":{},"vendor":{"x":1}},"clientInfo":{"name":"h","version":"0","icons":[{"src":"data:,"}]},"more":[]}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true},"experimental":{"a":{}},"vendor":[]},"serverInfo":{"name":"s","version":"1","title":"S","icons":[{"src":"data:,","sizes":["any"]}]},"instructions":"Do\nthis.","_meta":{"k":1}}}"#,
    )]);
}

#[test]
fn metadata_crosses_both_ways() {
    cross(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":0,"x/y":[null],"traceparent":"00-a-b-01"},"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"x/y":{"z":[]}}}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"0"}}}"#,
            r#"{"_meta":1,"id":2,"result":{"isError":true},"jsonrpc":"2.0"}"#,
        ),
    ]);
}

#[test]
fn cursors_are_opaque() {
    cross(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"a=\u0062&\/é"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"a=\u0062&\/é"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":null}}"#,
        ),
    ]);
}

#[test]
fn keys_keep_their_order_and_nesting_its_depth() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let call = format!(
        r#" {{ "params" : {{"arguments":{{"b":1,"a":{deep}}}}} , "method":"tools/call", "id" : 1, "jsonrpc":"2.0"}} "#
    );
    let answer = format!(r#"{{"result":{{"b":{deep},"a":1}},"x":[],"id":1 ,"jsonrpc":"2.0"}}"#);
    cross(&[(&call, &answer)]);
}

#[test]
fn repeated_keys_cross_past_layers_that_could_misread_them() {
    let answers = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{},"result":{"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"b":1,"\u0062":2}}"#,
    ];
    let answers = answers.map(|answer| format!("{answer}\n"));
    // The last request alone can be read in one way only.
    Case::new(&["ping"], Play::new().answers(&answers)).same_in_every_way(|host| {
        for (request, answer) in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","method":"ping","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
        ]
        .iter()
        .zip(&answers)
        {
            host.send(request);
            host.expect(answer);
        }
    });
}
