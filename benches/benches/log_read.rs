//! Reading a log of about 20 MB: entry by entry, from memory and from a file, and whole.
//! `line_ends` only looks for the line ends, so it is what any reader pays.

use std::hint::black_box;
use std::io::{BufRead, Write};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hoist_benches::session_log;
use hoist_trace::log::{LogError, LogReader};
use hoist_trace::mcp::read_log;

fn log_read(c: &mut Criterion) {
    let text = session_log(8_000, 2_000);
    let mut file = tempfile::NamedTempFile::new().expect("there is a place for temporary files");
    file.write_all(text.as_bytes()).expect("the disk has room");
    let path = file.path();

    let mut group = c.benchmark_group("log_read");
    group.sample_size(20).throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("line_ends", |b| {
        b.iter(|| {
            let mut input = black_box(text.as_bytes());
            while input.skip_until(b'\n').expect("memory does not fail") > 0 {}
        });
    });
    group.bench_function("reader_memory", |b| {
        b.iter(|| entries(LogReader::new(text.as_bytes(), "log")));
    });
    group.bench_function("reader_file", |b| b.iter(|| entries(LogReader::open(path))));
    group.bench_function("read_log", |b| {
        b.iter(|| read_log(path).expect("the log is good").entries.len());
    });
    group.finish();
}

fn entries<R: BufRead>(log: Result<LogReader<R>, LogError>) -> usize {
    let log = log.expect("the header is good");
    log.map(|entry| entry.expect("the entry is good")).filter(|e| e.message().is_some()).count()
}

criterion_group!(benches, log_read);
criterion_main!(benches);
