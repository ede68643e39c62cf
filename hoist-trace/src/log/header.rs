//! The first line of a log.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::LogError;
use super::error::describe;

/// The version of the log format that is written and read here.
pub const FORMAT: u64 = 2;

/// What the log says of its session: its first line.
///
/// Members are written in this order. A reader ignores members it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// The format's version, 2.
    pub hoist_mcp_log: u64,
    /// The session's name, which is also the name of the file without `.jsonl`.
    pub session: String,
    /// When the session started, in milliseconds since 1970-01-01T00:00:00Z.
    pub started_unix_ms: u64,
    /// The server's command line, credentials redacted; empty for a server reached by URL.
    #[serde(default)]
    pub server_command: Vec<String>,
    /// What the server is about, as the user named it.
    #[serde(default)]
    pub domain: Option<String>,
    /// The model that drives the agent, as the user named it.
    #[serde(default)]
    pub agent_model: Option<String>,
    /// The host session the proxy ran in: logs that share it belong together.
    #[serde(default)]
    pub host_session: Option<String>,
    /// The server's name among those of one host session; absent when none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The server's URL without user, password and credentials in its query; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_url: Option<String>,
}

impl Header {
    /// The header of a session that has a name and a start time (milliseconds since 1970), and
    /// nothing else yet.
    pub fn new(session: impl Into<String>, started_unix_ms: u64) -> Self {
        Self {
            hoist_mcp_log: FORMAT,
            session: session.into(),
            started_unix_ms,
            server_command: Vec::new(),
            domain: None,
            agent_model: None,
            host_session: None,
            server_name: None,
            server_url: None,
        }
    }

    /// The header line, line feed included.
    ///
    /// # Panics
    ///
    /// Never: strings and numbers can always be written.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("strings and numbers are always JSON");
        line.push('\n');
        line
    }

    /// Reads a first line.
    ///
    /// # Errors
    ///
    /// [`LogError::NotALog`] or [`LogError::Version`], naming `path`.
    pub fn from_line(line: &[u8], path: &Path) -> Result<Self, LogError> {
        // The version decides first: another version's header may lack what this one's has.
        #[derive(Deserialize)]
        struct Version {
            hoist_mcp_log: u64,
        }
        let not_a_log = |error: &serde_json::Error| {
            let (column, what) = describe(error);
            LogError::NotALog { path: path.to_owned(), column, what }
        };
        if line.starts_with("\u{feff}".as_bytes()) {
            let what = "a byte order mark stands in front; take it away".to_owned();
            return Err(LogError::NotALog { path: path.to_owned(), column: 1, what });
        }
        // A derived struct also reads an array, which is no header.
        if line.trim_ascii_start().first() != Some(&b'{') {
            let what = "it is not a JSON object".to_owned();
            return Err(LogError::NotALog { path: path.to_owned(), column: 1, what });
        }
        let version: Version = serde_json::from_slice(line).map_err(|e| not_a_log(&e))?;
        if version.hoist_mcp_log != FORMAT {
            return Err(LogError::Version { path: path.to_owned(), found: version.hoist_mcp_log });
        }
        serde_json::from_slice(line).map_err(|e| not_a_log(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_its_members_in_the_documented_order() {
        let mut header = Header::new("20260923T212000.123Z-4242", 1_790_198_400_123);
        header.server_command = ["npx", "-y", "some-mcp-server"].map(str::to_owned).to_vec();
        header.domain = Some("orders".to_owned());
        header.host_session = Some("host-4211".to_owned());
        assert_eq!(
            header.to_line(),
            concat!(
                r#"{"hoist_mcp_log":2,"session":"20260923T212000.123Z-4242","#,
                r#""started_unix_ms":1790198400123,"server_command":["npx","-y","some-mcp-server"],"#,
                r#""domain":"orders","agent_model":null,"host_session":"host-4211"}"#,
                "\n"
            )
        );
        header.server_name = Some("orders".to_owned());
        header.server_url = Some("https://example.com/mcp".to_owned());
        let line = header.to_line();
        let end = r#""host_session":"host-4211","server_name":"orders","server_url":"https://example.com/mcp"}"#;
        assert!(line.trim_end().ends_with(end), "{line}");
        assert_eq!(Header::from_line(line.as_bytes(), Path::new("x")).unwrap(), header);
    }

    #[test]
    fn unknown_members_are_ignored_and_missing_optional_ones_are_none() {
        let line = br#"{"new":[1],"session":"s","hoist_mcp_log":2,"started_unix_ms":5}"#;
        assert_eq!(Header::from_line(line, Path::new("x")).unwrap(), Header::new("s", 5));
    }

    #[test]
    fn what_is_no_header_is_said_with_the_file() {
        for (line, expected) in [
            ("", "a.jsonl:1:1: not a Hoist session log"),
            ("hello", "a.jsonl:1:1: not a Hoist session log"),
            ("\u{feff}{\"hoist_mcp_log\":2}", "(a byte order mark stands in front; take it away)"),
            ("[2,\"s\",5]", "it is not a JSON object"),
            ("{\"t_ms\":1}", "missing field `hoist_mcp_log`"),
            ("{\"hoist_mcp_log\":2,\"session\":\"s\"}", "missing field `started_unix_ms`"),
            ("{\"hoist_mcp_log\":1}", "format 1 cannot be read, only format 2: record"),
            ("{\"hoist_mcp_log\":3}", "format 3 cannot be read, only format 2: use a newer Hoist"),
        ] {
            let error = Header::from_line(line.as_bytes(), Path::new("a.jsonl")).unwrap_err();
            assert!(error.to_string().contains(expected), "{line}: {error}");
        }
    }
}
