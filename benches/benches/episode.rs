//! From a log of about 20 MB to an episode: what a whole log in memory takes, a file read to an
//! episode, and a session so quick that each call's values must be looked for in all that came
//! before (`quick`: no model is). `read_log` is what reading alone takes.

use std::io::Write;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hoist_benches::session_log;
use hoist_trace::log::LogReader;
use hoist_trace::mcp::{episode, read_log, read_session, read_session_from};

fn episodes(c: &mut Criterion) {
    let text = session_log(8_000, 2_000);
    let mut file = tempfile::NamedTempFile::new().expect("there is a place for temporary files");
    file.write_all(text.as_bytes()).expect("the disk has room");
    let path = file.path();
    let log = read_log(path).expect("the log is good");
    // The same with every line at the same time.
    let mut lines = text.lines();
    let mut quick = lines.next().expect("there is a header").to_owned() + "\n";
    for line in lines {
        let (_, rest) = line.split_once(',').expect("the time stands first");
        quick += &["{\"t_ms\":1,", rest, "\n"].concat();
    }

    let mut group = c.benchmark_group("episode");
    group.sample_size(20).throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read_log", |b| {
        b.iter(|| read_log(path).expect("the log is good").entries.len());
    });
    group.bench_function("episode", |b| b.iter(|| episode(&log).events.len()));
    group.bench_function("read_session", |b| {
        b.iter(|| read_session(path).expect("the log is good").episode.events.len());
    });
    group.bench_function("quick", |b| {
        b.iter(|| {
            let reader = LogReader::new(quick.as_bytes(), "log").expect("the header is good");
            read_session_from(reader).expect("memory does not fail").episode.events.len()
        });
    });
    group.finish();
}

criterion_group!(benches, episodes);
criterion_main!(benches);
