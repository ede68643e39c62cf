//! What a recorder is told.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Report;
use crate::credentials::{redact_command, redact_url};
use crate::log::Header;

/// Called with the log's path.
type OnOpen = Arc<dyn Fn(&Path) + Send + Sync>;
/// Called with the log's path and what became of the lines.
type OnClose = Arc<dyn Fn(&Path, &Report) + Send + Sync>;

/// Where and how sessions are recorded. Credentials in the command and the URL are redacted as
/// they are given.
///
/// # Examples
///
/// ```
/// use hoist_trace::RecordOptions;
///
/// let options = RecordOptions::new("/var/lib/hoist/logs")
///     .domain("orders")
///     .server_command(["npx", "-y", "some-mcp-server", "--api-key", "s3cr3t"])
///     .retain_days(30);
/// assert!(!format!("{options:?}").contains("s3cr3t"));
/// ```
///
/// Of a server that is reached by URL, the URL takes the command's place: the recorder sees lines,
/// and does not know where they come from. Give it the text that `hoist_transport::HttpServer` is
/// given:
///
/// ```
/// use hoist_trace::RecordOptions;
///
/// let url = "https://user:s3cr3t@example.com/mcp?api_key=s3cr3t";
/// let options = RecordOptions::new("/var/lib/hoist/logs").server_url(url);
/// assert!(!format!("{options:?}").contains("s3cr3t"));
/// ```
#[derive(Clone)]
#[must_use]
pub struct RecordOptions {
    pub(super) dir: PathBuf,
    pub(super) header: Header,
    pub(super) retain_days: Option<u32>,
    pub(super) queue_max_bytes: usize,
    pub(super) on_open: Option<OnOpen>,
    pub(super) on_close: Option<OnClose>,
}

impl RecordOptions {
    /// How much may wait to be written, in bytes, unless told otherwise: 64 MiB.
    pub const QUEUE_MAX_BYTES: usize = 64 << 20;

    /// Logs in this directory, which is made when it is missing.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            header: Header::new("", 0),
            retain_days: None,
            queue_max_bytes: Self::QUEUE_MAX_BYTES,
            on_open: None,
            on_close: None,
        }
    }

    /// Names what the server is about.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.header.domain = Some(domain.into());
        self
    }

    /// Names the model that drives the agent.
    pub fn agent_model(mut self, model: impl Into<String>) -> Self {
        self.header.agent_model = Some(model.into());
        self
    }

    /// Names the server among those of one host session.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.header.server_name = Some(name.into());
        self
    }

    /// The command the server was started with; its credentials are redacted here.
    pub fn server_command<I>(mut self, command: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.header.server_command = redact_command(command);
        self
    }

    /// The URL the server is reached at, in place of [`server_command`](Self::server_command); its
    /// credentials are removed here.
    pub fn server_url(mut self, url: &str) -> Self {
        self.header.server_url = Some(redact_url(url));
        self
    }

    /// Names the host session the proxy runs in.
    pub fn host_session(mut self, name: impl Into<String>) -> Self {
        self.header.host_session = Some(name.into());
        self
    }

    /// Deletes logs that were last written more than so many days ago, as each session starts.
    pub fn retain_days(mut self, days: u32) -> Self {
        self.retain_days = Some(days);
        self
    }

    /// How much may wait to be written, in bytes. A line that does not fit is not recorded, and a
    /// gap entry says so; one that is longer than this is taken only when nothing else waits. Counts
    /// messages and a constant for each; a short message may hold on to the read buffer it lies in,
    /// which is not counted, but which its neighbours share.
    pub fn queue_max_bytes(mut self, bytes: usize) -> Self {
        self.queue_max_bytes = bytes;
        self
    }

    /// Called with the path of each log once it is there, on the thread that starts the session.
    pub fn on_open(mut self, call: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        self.on_open = Some(Arc::new(call));
        self
    }

    /// Called once a log is closed (or removed, for a session that never began), on the writer's
    /// thread.
    pub fn on_close(mut self, call: impl Fn(&Path, &Report) + Send + Sync + 'static) -> Self {
        self.on_close = Some(Arc::new(call));
        self
    }
}

impl fmt::Debug for RecordOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordOptions")
            .field("dir", &self.dir)
            .field("header", &self.header)
            .field("retain_days", &self.retain_days)
            .field("queue_max_bytes", &self.queue_max_bytes)
            .finish_non_exhaustive()
    }
}
