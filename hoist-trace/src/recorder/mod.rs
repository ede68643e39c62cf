//! Recording sessions: a layer that observes, and one thread per session that writes.
//!
//! The session's task only clones the handles of a line's bytes into a queue. The thread checks
//! what kind of line it is and writes it; nothing the disk does stops or slows the session.

mod file;
mod options;
mod queue;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use hoist_proxy_core::{
    Body, BoxFuture, Crossing, Emit, Error, Finish, Interceptor, Layer, SessionContext, SessionId,
    Side,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use file::{CreateError, create_log_dir};
pub use options::RecordOptions;

use crate::log::Origin;
use crate::log::writer::{Counters, Record, RecordBody};
use queue::{Closing, Queue};

/// The name of the recorder's layer.
const NAME: &str = "recorder";

/// What became of a session's lines. `lines_seen` is `lines_written` + `lines_lost` once the log
/// is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// Lines that crossed.
    pub lines_seen: u64,
    /// Lines that are in the log.
    pub lines_written: u64,
    /// Lines that are not, because the queue was full, the disk failed, or they were too long.
    pub lines_lost: u64,
    /// Their length on the wire, in bytes.
    pub bytes_lost: u64,
}

impl Report {
    fn of(counters: &Counters) -> Self {
        Self {
            lines_seen: counters.seen.load(Ordering::Relaxed),
            lines_written: counters.written.load(Ordering::Relaxed),
            lines_lost: counters.lost.load(Ordering::Relaxed),
            bytes_lost: counters.lost_bytes.load(Ordering::Relaxed),
        }
    }
}

/// Records each session to `<dir>/<session>.jsonl`.
///
/// The file is there, with its header, once the interceptor is made; it is removed again when the
/// session never begins. With [`RecordOptions::retain_days`], old logs are deleted on a thread of
/// their own meanwhile, which the end of the session waits for.
#[derive(Debug, Clone)]
pub struct RecordLayer {
    options: Arc<RecordOptions>,
}

impl RecordLayer {
    /// A layer with these options.
    pub fn new(options: RecordOptions) -> Self {
        Self { options: Arc::new(options) }
    }

    /// Where the log of this session goes, unless a file is there already;
    /// [`RecordOptions::on_open`] says where it went.
    pub fn path_for(&self, session: &SessionId) -> PathBuf {
        self.options.dir.join(format!("{session}.jsonl"))
    }
}

impl Layer for RecordLayer {
    fn layer(&self, session: &SessionContext) -> Result<Box<dyn Interceptor>, Error> {
        let recorder = Recorder::start(&self.options, session).map_err(|error| {
            Error::LayerSetup { layer: NAME.to_owned(), source: Arc::new(error) }
        })?;
        Ok(Box::new(recorder))
    }
}

/// Records one session. Only observes.
///
/// Dropped without [`finish`](Interceptor::finish), it still has its thread write what was seen
/// and close the log, or remove it when nothing was seen.
#[derive(Debug)]
pub struct Recorder {
    queue: Arc<Queue>,
    writer: std::thread::Thread,
    done: Mutex<Option<oneshot::Receiver<()>>>,
    started: Instant,
    path: PathBuf,
}

impl Recorder {
    /// Makes the log of a session and starts its thread.
    ///
    /// # Errors
    ///
    /// [`CreateError`]; no file is left then.
    pub fn start(options: &RecordOptions, session: &SessionContext) -> Result<Self, CreateError> {
        let mut header = options.header.clone();
        session.id.as_str().clone_into(&mut header.session);
        header.started_unix_ms = session.started_unix_ms();
        if let Some(name) = &session.host.session {
            header.host_session = Some(name.to_string());
        }
        let created = file::create(&options.dir, &mut header)?;
        let path = created.path.clone();
        let queue = Queue::new(options.queue_max_bytes);
        let (writer, done) = thread::start(created, Arc::clone(&queue), options)?;
        if let Some(on_open) = &options.on_open {
            on_open(&path);
        }
        Ok(Self { queue, writer, done: Mutex::new(Some(done)), started: session.started, path })
    }

    /// Where the log is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What became of the lines so far.
    pub fn report(&self) -> Report {
        Report::of(&self.queue.counters)
    }
}

impl Interceptor for Recorder {
    fn name(&self) -> &str {
        NAME
    }

    fn observe(&self, crossing: &Crossing<'_>, _emit: &mut Emit) {
        let since = crossing.read_at().saturating_duration_since(self.started);
        let (body, wire_bytes) = match crossing.body() {
            Body::Line(line) => (RecordBody::Whole(line.body_bytes()), line.wire().len() as u64),
            Body::Parts { chunks, terminator } => {
                let len_bytes: usize = chunks.iter().map(bytes::Bytes::len).sum();
                let wire_bytes = (len_bytes + terminator.len_bytes()) as u64;
                (RecordBody::Parts(chunks.into()), wire_bytes)
            }
            Body::Lost { len_bytes } => (RecordBody::TooLong, len_bytes),
            // A body of a kind that is not known here cannot be kept.
            _ => (RecordBody::TooLong, 0),
        };
        let record = Record {
            t_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            from: match crossing.side() {
                Side::Client => Origin::Client,
                Side::Server => Origin::Server,
                Side::Context => Origin::Context,
                // A side that is not known here is neither peer's.
                _ => Origin::Proxy,
            },
            by: crossing.made_by().map(Into::into),
            body,
            wire_bytes,
        };
        self.queue.push(record, &self.writer);
    }

    /// Closes the log, or removes it for [`Finish::NeverBegan`]; ready once that is done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing but that nobody waits.
    fn finish(&self, finish: Finish) -> BoxFuture<'_, ()> {
        let closing = match finish {
            Finish::NeverBegan => Closing::Remove,
            _ => Closing::Keep,
        };
        self.queue.close(closing, &self.writer);
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(done) = done {
                // An error means that the thread is gone, which is as done as it gets.
                let _ = done.await;
            }
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let nothing_seen = self.queue.counters.seen.load(Ordering::Relaxed) == 0;
        let closing = if nothing_seen { Closing::Remove } else { Closing::Keep };
        self.queue.close(closing, &self.writer);
    }
}
