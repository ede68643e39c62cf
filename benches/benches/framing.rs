//! Cutting a stream into lines, by message size. `raw` looks for no line end, so it is the cost of
//! taking the bytes at all: what framing costs is the difference.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hoist_benches::answer_of_bytes;
use hoist_proxy_core::Framing;
use hoist_transport::Framer;

/// How much is read at once, as from a pipe.
const READ_BYTES: usize = 64 << 10;

const FRAMINGS: [(&str, Framing); 3] = [
    ("raw", Framing::Raw),
    ("cut_through", Framing::CutThrough { whole_bytes: 64 << 10 }),
    ("whole", Framing::Whole { max_bytes: 64 << 20 }),
];

fn framing(c: &mut Criterion) {
    let mut group = c.benchmark_group("framing");
    for (size, bytes) in [("100B", 100), ("1KiB", 1 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20)]
    {
        let line = answer_of_bytes(1, bytes - 1) + "\n";
        let wire = line.repeat((4 << 20) / bytes);
        group.throughput(Throughput::Bytes(wire.len() as u64));
        for (name, framing) in FRAMINGS {
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter(|| cut(wire.as_bytes(), framing));
            });
        }
    }
    group.finish();
}

/// How many frames a stream comes to.
fn cut(wire: &[u8], framing: Framing) -> usize {
    let mut framer = Framer::new();
    let mut count = 0;
    for chunk in wire.chunks(READ_BYTES) {
        framer.buffer(READ_BYTES).extend_from_slice(chunk);
        count += std::iter::from_fn(|| framer.next(framing)).count();
    }
    count
}

criterion_group!(benches, framing);
criterion_main!(benches);
