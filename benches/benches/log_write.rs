//! Recording a session to a file in the temporary directory, by entry size. `session` is the part
//! that the session's own task pays; `disk` is all of it, to the end of the file with `fsync`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hoist_benches::answer_of_bytes;
use hoist_proxy_core::{Crossing, Emit, Finish, Layer, Line, SessionContext, SessionId, Side};
use hoist_trace::{RecordLayer, RecordOptions};
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// How many bytes one session has: they fit the recorder's queue, so that none is lost.
const SESSION_BYTES: usize = 8 << 20;

fn log_write(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("there is a place for temporary files");
    let mut sessions = Sessions::new(dir.path());
    let mut group = c.benchmark_group("log_write");
    group.sample_size(20);
    for (size, bytes) in [("200B", 200), ("16KiB", 16 << 10)] {
        let line = Line::from_body(answer_of_bytes(7, bytes).as_bytes());
        let lines = vec![line; SESSION_BYTES / bytes];
        group.throughput(Throughput::Bytes((lines.len() * bytes) as u64));
        group.bench_function(BenchmarkId::new("session", size), |b| {
            b.iter_custom(|times| (0..times).map(|_| sessions.record(&lines).0).sum());
        });
        group.bench_function(BenchmarkId::new("disk", size), |b| {
            b.iter_custom(|times| (0..times).map(|_| sessions.record(&lines).1).sum());
        });
    }
    group.finish();
    assert_eq!(sessions.lost.load(Ordering::Relaxed), 0, "lines were lost, so not all was written");
}

/// Records one session after the other.
struct Sessions<'a> {
    dir: &'a Path,
    layer: RecordLayer,
    lost: Arc<AtomicU64>,
    runtime: Runtime,
    number: u64,
}

impl<'a> Sessions<'a> {
    fn new(dir: &'a Path) -> Self {
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let options = RecordOptions::new(dir).on_close(move |_, report| {
            count.fetch_add(report.lines_lost, Ordering::Relaxed);
        });
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
        Self { dir, layer: RecordLayer::new(options), lost, runtime, number: 0 }
    }

    /// How long the session's task took, and how long it took to the end of the log.
    fn record(&mut self, lines: &[Line]) -> (Duration, Duration) {
        self.number += 1;
        let name = format!("bench-{}", self.number);
        let context = SessionContext::new(SessionId::new(&name).expect("it is a legal name"));
        let started = Instant::now();
        let recorder = self.layer.layer(&context).expect("a log can be made");
        let mut emit = Emit::new();
        for line in lines {
            recorder.observe(&Crossing::new(Side::Server, line, started), &mut emit);
        }
        let observed = started.elapsed();
        self.runtime.block_on(recorder.finish(Finish::Ended));
        let written = started.elapsed();
        std::fs::remove_file(self.dir.join(name + ".jsonl")).expect("the log is there");
        (observed, written)
    }
}

criterion_group!(benches, log_write);
criterion_main!(benches);
