//! The command line of MCP Inspector, which reads a host's configuration and makes one request.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::run::{Outcome, Way, run};
use crate::host::demo;
use crate::peers;

/// Runs it on the demo server.
fn inspect(way: Way, request: &[&str]) -> Outcome {
    run(way, &[demo().into()], |dir: &Path, words: Vec<OsString>| {
        let words: Vec<_> = words.iter().map(|word| word.to_str().expect("UTF-8")).collect();
        let server = serde_json::json!({"command": words[0], "args": words[1..]});
        let configuration = serde_json::json!({"mcpServers": {"orders": server}});
        let file = dir.join("mcp.json");
        fs::write(&file, configuration.to_string()).expect("it can be written");
        let mut command = Command::new("node");
        command.arg(peers::npm().join("node_modules/.bin/mcp-inspector"));
        command.args(["--cli", "--config"]).arg(file).args(["--server", "orders"]).args(request);
        // Otherwise it asks the user's keychain.
        command.env("MCP_INSPECTOR_SECRET_STORE", "memory");
        command
    })
}

#[test]
fn the_inspector_shows_the_same() {
    let call: fn(&'static str, &'static str) -> Vec<&'static str> = |tool, arguments| {
        vec!["--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments]
    };
    for (request, code, seen) in [
        (vec!["--method", "tools/list"], 0, "Changes nothing and answers"),
        (
            [vec!["--protocol-era", "auto"], call("lookup", r#"{"n":1}"#)].concat(),
            0,
            r#"{\"n\":1}"#,
        ),
        (call("update", r#"{"text":"no","fail":true}"#), 5, r#""isError": true"#),
    ] {
        let direct = inspect(Way::Direct, &request);
        assert_eq!(direct.status.code(), Some(code), "{request:?}: {}", direct.stderr);
        assert!(direct.transcript.contains(seen), "{request:?}: {}", direct.transcript);
        for way in Way::PROXIED {
            let difference = inspect(way, &request).differs_from(&direct);
            assert_eq!(difference, None, "{request:?} {way:?}");
        }
    }
}
