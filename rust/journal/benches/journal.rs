//! What a caller waits for: one durable submit, and looking at a store of a thousand tasks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use coder_journal::Store;
use common::{clock, id};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

fn filled(tasks: usize) -> (tempfile::TempDir, Store) {
    let home = tempfile::TempDir::new().unwrap();
    let store = Store::open(&home.path().join("store"), clock()).unwrap();
    for number in 0..tasks {
        let task = format!("t-{number}");
        store
            .command(&common::submit(&format!("s-{task}"), &task, &format!("/trees/{task}")))
            .unwrap();
    }
    (home, store)
}

fn submit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("submit");
    // Few samples of few iterations: a store takes 1,024 tasks.
    group.sample_size(10).warm_up_time(Duration::from_millis(1));
    for (name, beside) in [("into_an_empty_store", 0), ("beside_900_tasks", 900)] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || filled(beside),
                |(home, store)| {
                    let receipt = store.command(&common::submit("s", "t", "/trees/t")).unwrap();
                    (home, store, receipt)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn look(criterion: &mut Criterion) {
    let (_home, store) = filled(1000);
    let mut group = criterion.benchmark_group("1000_tasks");
    group.bench_function("show", |bencher| {
        bencher.iter(|| store.show(black_box(&id("t-500"))).unwrap());
    });
    group.bench_function("list", |bencher| bencher.iter(|| store.list().unwrap()));
    group.bench_function("verify_one", |bencher| {
        bencher.iter(|| store.verify(black_box(&id("t-500"))).unwrap());
    });
    group.sample_size(10);
    group.bench_function("verify_all", |bencher| bencher.iter(|| store.verify_all().unwrap()));
    group.bench_function("open", |bencher| {
        bencher.iter(|| Store::open(black_box(store.path()), clock()).unwrap());
    });
    let owner = store.own(&id("t-500"), Duration::ZERO).unwrap();
    group.bench_function("cancellation_requested", |bencher| {
        bencher.iter(|| owner.cancellation_requested().unwrap());
    });
    group.bench_function("exact_retry", |bencher| {
        let bytes = common::submit("s-t-500", "t-500", "/trees/t-500");
        bencher.iter(|| store.command(&bytes).unwrap());
    });
    group.finish();
}

criterion_group!(benches, submit, look);
criterion_main!(benches);
