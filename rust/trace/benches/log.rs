//! What a record costs, and what it costs to come to a large log: append, index, page, export.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use coder_digest::{SystemClock, TaskId};
use coder_trace::{PageSize, Reader, Session, SessionId, Source, Step, Writer, write_atif_document};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;

fn session() -> Session {
    Session {
        id: SessionId::new(&TaskId::new("bench").unwrap(), 1),
        model: None,
        door: "repository".into(),
        repository: None,
        version: "0.1.0".into(),
    }
}

fn writer(path: &Path) -> Writer {
    Writer::create(path, &session(), Arc::new(SystemClock)).unwrap()
}

fn step(bytes: usize) -> Step {
    let output = "error[E0308]: mismatched types at \"src/main.rs\"\n".repeat(bytes / 50 + 1);
    Step::new(Source::System, "")
        .with_extension(
            "effect_note",
            &json!({"kind": "command", "seconds": 0.25, "output": output}),
        )
        .unwrap()
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    group.sample_size(50);
    for bytes in [200, 4096, 65_536, 1 << 20] {
        let step = step(bytes);
        let folder = tempfile::tempdir().unwrap();
        let mut number = 0;
        let mut next = || {
            number += 1;
            writer(&folder.path().join(number.to_string()))
        };
        let mut log = next();
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::from_parameter(bytes), |bencher| {
            bencher.iter(|| {
                // A full log is left for a new one; it is one record in many.
                if log.append(&step).is_err() {
                    log = next();
                    log.append(&step).unwrap();
                }
            });
        });
    }
    group.finish();
}

/// A log of 60 MiB: all that ordinary records may take, and a disposition of the rest.
fn large(path: &Path) {
    let mut log = writer(path);
    let step = step(8000);
    while log.append(&step).is_ok() {}
    let rest = (60 << 20) - usize::try_from(log.bytes()).unwrap();
    log.append_final(&Step::new(Source::System, "y".repeat(rest))).unwrap();
    log.seal().unwrap();
}

fn read(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    large(&path);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.index().fault_count(), 0);
    let middle = reader.index().steps() / 2;
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(reader.index().bytes()));
    group.bench_function("index of 60 MiB", |bencher| {
        bencher.iter(|| black_box(Reader::open(&path).unwrap().index().steps()));
    });
    group.bench_function("export of 60 MiB", |bencher| {
        bencher.iter(|| write_atif_document(&reader, io::sink()).unwrap());
    });
    group.throughput(Throughput::Elements(100));
    group.bench_function("a page of 100 from the middle", |bencher| {
        bencher.iter(|| black_box(reader.page(middle, PageSize::default()).unwrap().len()));
    });
    group.finish();
}

criterion_group!(benches, append, read);
criterion_main!(benches);
