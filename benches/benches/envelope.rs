//! Reading a message's envelope, and changing one member of it. `validate` is what `serde_json`
//! takes to check the text, which is part of reading: the rest is the difference.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hoist_benches::{answer_of_bytes, request};
use hoist_proxy_core::json::{EnvelopeScanner, object_set};
use hoist_proxy_core::{Line, Message, RawJson};
use serde_json::value::RawValue;

fn envelope(c: &mut Criterion) {
    let mut group = c.benchmark_group("envelope");
    for (name, text) in [
        ("request", request(7)),
        ("small_answer", answer_of_bytes(7, 300)),
        ("64KiB_answer", answer_of_bytes(7, 64 << 10)),
    ] {
        let line = Line::from_body(text.as_bytes());
        let raw = RawJson::parse(text.clone()).expect("a message is JSON");
        let value = RawJson::string("another");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("validate", name), |b| {
            b.iter(|| serde_json::from_slice::<&RawValue>(black_box(text.as_bytes())).is_ok());
        });
        group.bench_function(BenchmarkId::new("parse", name), |b| {
            b.iter(|| Message::parse(black_box(&line)).is_ok());
        });
        group.bench_function(BenchmarkId::new("scan", name), |b| {
            b.iter(|| {
                let mut scanner = EnvelopeScanner::new();
                scanner.feed(black_box(text.as_bytes()));
                scanner.finish()
            });
        });
        group.bench_function(BenchmarkId::new("set_id", name), |b| {
            b.iter(|| object_set(black_box(&raw), "id", &value));
        });
    }
    group.finish();
}

criterion_group!(benches, envelope);
criterion_main!(benches);
