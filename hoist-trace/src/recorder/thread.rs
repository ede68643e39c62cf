//! The thread that writes one session's log.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, Thread};
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::file::Created;
use super::queue::{Closing, Item, Queue};
use super::{CreateError, RecordOptions, Report};
use crate::log::writer::LogWriter;
use crate::retention::prune;

/// So much is written before the queue is told that it has room again.
const RELEASE_BYTES: usize = 256 << 10;

/// Starts it. The receiver hears when the log is closed.
pub(super) fn start(
    created: Created,
    queue: Arc<Queue>,
    options: &RecordOptions,
) -> Result<(Thread, oneshot::Receiver<()>), CreateError> {
    let (done, receiver) = oneshot::channel();
    let on_close = options.on_close.clone();
    let path = created.path.clone();
    let retention = options.retain_days.map(|days| (options.dir.clone(), days));
    let run = move || {
        let pruning = retention.and_then(|(dir, days)| start_pruning(dir, days));
        let path = created.path.clone();
        write(created, &queue);
        if let Some(pruning) = pruning {
            // A panic in there has been reported, and harms no log.
            let _ = pruning.join();
        }
        if let Some(on_close) = on_close {
            on_close(&path, &Report::of(&queue.counters));
        }
        // Nobody may be waiting.
        let _ = done.send(());
    };
    match Builder::new().name("hoist-log".to_owned()).spawn(run) {
        Ok(handle) => Ok((handle.thread().clone(), receiver)),
        Err(source) => {
            let _ = std::fs::remove_file(path);
            Err(CreateError::Thread(source))
        }
    }
}

fn write(created: Created, queue: &Queue) {
    let Created { file, path, len_bytes } = created;
    let warn_path = path.clone();
    let mut writer = LogWriter::new(file, len_bytes, move |error| warn_disk(&warn_path, error));
    let mut batch = VecDeque::new();
    let mut wrote = false;
    let mut said_full = false;
    let closing = loop {
        let closing = queue.next_batch(&mut batch, wrote);
        wrote = !batch.is_empty();
        let mut released_bytes = 0;
        for item in batch.drain(..) {
            released_bytes += item.cost_bytes();
            match item {
                Item::Record(record) => writer.push(&record, &queue.counters),
                Item::Missing(missing) => {
                    writer.miss(&missing);
                    if !std::mem::replace(&mut said_full, true) {
                        warn_full(&path);
                    }
                }
            }
            if released_bytes >= RELEASE_BYTES {
                queue.release(std::mem::take(&mut released_bytes));
            }
        }
        writer.flush(&queue.counters);
        queue.release(released_bytes);
        if let Some(closing) = closing {
            break closing;
        }
    };
    if let Err(error) = writer.close(&queue.counters) {
        warn_disk(&path, &error);
    }
    if closing == Closing::Remove
        && let Err(error) = std::fs::remove_file(&path)
    {
        tracing::warn!("cannot remove the empty session log {}: {error}", path.display());
    }
}

fn warn_disk(path: &Path, error: &io::Error) {
    tracing::warn!(
        "cannot write the session log {}: {error}; traffic goes on, and lines are missing from the \
         log until writing works again",
        path.display()
    );
}

fn warn_full(path: &Path) {
    tracing::warn!(
        "the session log {} is written more slowly than lines come in; traffic goes on, and lines \
         are missing from the log",
        path.display()
    );
}

fn start_pruning(dir: PathBuf, days: u32) -> Option<JoinHandle<()>> {
    let run = move || {
        let pruned = prune(&dir, days, SystemTime::now());
        for error in &pruned.errors {
            tracing::warn!("{error}: {}", error.source);
        }
        if !pruned.deleted.is_empty() {
            tracing::info!("deleted {} files older than {days} days", pruned.deleted.len());
        }
    };
    match Builder::new().name("hoist-prune".to_owned()).spawn(run) {
        Ok(handle) => Some(handle),
        Err(error) => {
            tracing::warn!("cannot start deleting old session logs: {error}");
            None
        }
    }
}
