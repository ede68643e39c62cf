//! Logs made for a test, and the program run on them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A directory of logs that is removed again.
pub(crate) struct Dir(TempDir);

/// What the program came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Dir {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, and the directories it is in.
    pub(crate) fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("it is in one")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }

    /// Runs `hoist` in this directory.
    #[track_caller]
    pub(crate) fn hoist(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Said {
        self.run(hoist().args(words))
    }

    /// Runs a command in this directory, without input unless it has some.
    #[track_caller]
    pub(crate) fn run(&self, command: &mut Command) -> Said {
        let output = command.current_dir(self.path()).output().expect("it can be run");
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        Said {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// The built program, in an environment that says nothing of a width.
pub(crate) fn hoist() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoist"));
    command.env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// A header of a session of this name, with its line feed.
pub(crate) fn header(session: &str) -> String {
    let members = concat!(
        r#""started_unix_ms":1790198400123,"server_command":["npx","-y","some server"],"#,
        r#""domain":"orders","agent_model":"model-1","host_session":"host-1""#
    );
    format!("{{\"hoist_mcp_log\":2,\"session\":\"{session}\",{members}}}\n")
}

/// A message of the log, with its line feed; of JSON-RPC 2.0 where it does not say so itself.
pub(crate) fn entry(t_ms: u64, from: &str, message: &str) -> String {
    let version =
        if message.contains("jsonrpc") || from == "context" { "{" } else { r#"{"jsonrpc":"2.0","# };
    let message = message.replacen('{', version, usize::from(message.starts_with('{')));
    format!("{{\"t_ms\":{t_ms},\"from\":\"{from}\",\"message\":{message}}}\n")
}

/// A call of a tool.
pub(crate) fn call(t_ms: u64, id: u64, name: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
    entry(t_ms, "client", &message)
}

/// Its result, whose text is written as JSON.
pub(crate) fn result(t_ms: u64, id: u64, text: &str) -> String {
    let content = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    entry(t_ms, "server", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{content}}}"#))
}

/// The first two messages of a legacy session.
pub(crate) fn opening() -> String {
    entry(
        1,
        "client",
        concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1"}}}"#
        ),
    ) + &entry(
        2,
        "server",
        concat!(
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"#,
            r#""serverInfo":{"name":"order-server","version":"1.4"}}}"#
        ),
    )
}

/// A session with two turns, three calls, one error.
pub(crate) fn session(name: &str) -> String {
    [
        header(name),
        opening(),
        call(1203, 3, "get_order_details", r##"{"order_id":"#W1"}"##),
        call(1204, 4, "get_user_details", "{}"),
        result(1222, 3, "status: pending"),
        entry(
            1230,
            "server",
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no user"}}"#,
        ),
        call(9000, 5, "cancel_order", r##"{"order_id":"#W1"}"##),
        result(71_000, 5, "done\\nand\\tdone"),
    ]
    .concat()
}
