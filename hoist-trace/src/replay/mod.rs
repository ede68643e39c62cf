//! Serving what was recorded: a server with no server behind it.

mod halves;
mod recording;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hoist_proxy_core::{BoxFuture, Connection, Error, SessionContext, Upstream};

use halves::{Reader, State, Writer};
pub use recording::Recording;

/// A server that answers as the recorded one did.
///
/// A request is answered with what the recorded server answered when it was asked the same: the same
/// method, and params that say the same but for `_meta`. Asked again, it gives the answers in the
/// order in which they were recorded, and then the last one. Each session begins anew.
///
/// What was never asked is answered with an error that names the nearest recorded call.
///
/// # Examples
///
/// ```no_run
/// use std::path::Path;
/// use hoist_proxy_core::{Proxy, testkit};
/// use hoist_trace::log::LogReader;
/// use hoist_trace::replay::{Recording, ReplayServer};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let mut recording = Recording::default();
/// recording.add(LogReader::open(Path::new("logs/20260923T212000.123Z-4242.jsonl"))?)?;
/// let (host, downstream) = testkit::host();
/// let proxy = Proxy::new(downstream, ReplayServer::new(recording));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ReplayServer {
    recording: Arc<Recording>,
    strict: bool,
    pace: bool,
    misses: Arc<AtomicU64>,
    on_miss: Option<OnMiss>,
}

type OnMiss = Arc<dyn Fn(&Miss<'_>) + Send + Sync>;

/// A request that nothing recorded answers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Miss<'a> {
    /// The request's method.
    pub method: &'a str,
    /// Its tool and arguments, for a call.
    pub call: Option<(&'a str, &'a str)>,
    /// The recorded call that is nearest to it, tool and arguments.
    pub nearest: Option<(&'a str, &'a str)>,
    /// Whether it was recorded, and has been asked more often than that.
    pub used_up: bool,
}

impl fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call {
            Some((name, arguments)) if self.used_up => {
                return write!(f, "{name} {arguments} was recorded, but not so often");
            }
            None if self.used_up => {
                return write!(f, "{} was recorded, but not so often", self.method);
            }
            Some((name, arguments)) => write!(f, "{name} {arguments} was not recorded")?,
            None => write!(f, "{} was not recorded as it is asked", self.method)?,
        }
        match self.nearest {
            Some((name, arguments)) => write!(f, "; the nearest call is {name} {arguments}"),
            None => Ok(()),
        }
    }
}

impl ReplayServer {
    /// A server with these answers.
    pub fn new(recording: Recording) -> Self {
        Self {
            recording: Arc::new(recording),
            strict: false,
            pace: false,
            misses: Arc::default(),
            on_miss: None,
        }
    }

    /// Whether each recorded answer is given once only: what is asked more often than it was is a
    /// miss, too.
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whether answers take as long as they took.
    pub fn pace(mut self, pace: bool) -> Self {
        self.pace = pace;
        self
    }

    /// Called for each request that nothing recorded answers.
    pub fn on_miss(mut self, call: impl Fn(&Miss<'_>) + Send + Sync + 'static) -> Self {
        self.on_miss = Some(Arc::new(call));
        self
    }

    /// How many requests nothing recorded answered, in all sessions.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    fn missed(&self, miss: &Miss<'_>) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        if let Some(on_miss) = &self.on_miss {
            on_miss(miss);
        }
    }
}

impl Upstream for ReplayServer {
    fn connect<'a>(
        &'a self,
        _session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        let state = Arc::new(Mutex::new(State::new(self.clone())));
        let connection = Connection::new(Reader::new(Arc::clone(&state)), Writer::new(state));
        Box::pin(async move { Ok(connection) })
    }
}

impl fmt::Debug for ReplayServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayServer")
            .field("answers", &self.recording.answers())
            .field("strict", &self.strict)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
