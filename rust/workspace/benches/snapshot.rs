//! A snapshot of 10,000 files of 4 KiB in 100 directories: read anew, and with every digest known. Then what keeping 2,000
//! small new files costs, and one identification of a repository.
#![allow(clippy::unwrap_used, missing_docs)]

use coder_digest::{FixedClock, SystemClock, Timestamp};
use coder_workspace::{DigestCache, Git, IgnoredPaths, Observer, Repository, Retention, retain};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::fs;

fn snapshot(criterion: &mut Criterion) {
    let root = tempfile::tempdir().unwrap();
    for directory in 0..100_u32 {
        let path = root.path().join(directory.to_string());
        fs::create_dir(&path).unwrap();
        for file in 0..100_u32 {
            let content = (directory * 100 + file).to_le_bytes().repeat(1024);
            fs::write(path.join(file.to_string()), content).unwrap();
        }
    }
    let cold = Observer::new(&SystemClock);
    criterion.bench_function("snapshot/10k files read", |bencher| {
        bencher.iter(|| cold.observe(root.path()).unwrap());
    });
    // A clock far ahead, so that every file counts as settled.
    let later = FixedClock::new(Timestamp(i64::MAX / 2), 0);
    let cache = DigestCache::new();
    let warm = Observer::new(&later).cache(&cache);
    warm.observe(root.path()).unwrap();
    criterion.bench_function("snapshot/10k files known", |bencher| {
        bencher.iter(|| warm.observe(root.path()).unwrap());
    });
    let observed = cold.observe(root.path()).unwrap();
    criterion.bench_function("snapshot/digest of 10k entries", |bencher| {
        bencher.iter(|| observed.digest())
    });
}

fn keep(criterion: &mut Criterion) {
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let observer = Observer::new(&SystemClock);
    let before = observer.observe(&tree).unwrap();
    for file in 0..2_000_u32 {
        fs::write(tree.join(file.to_string()), file.to_le_bytes()).unwrap();
    }
    let after = observer.observe(&tree).unwrap();
    let mut round = 0;
    criterion.bench_function("retain/2k new files", |bencher| {
        bencher.iter_batched(
            || {
                round += 1;
                Retention::open(&root.path().join(format!("store-{round}"))).unwrap()
            },
            |store| retain(&store, &before, &after, &IgnoredPaths::default(), &observer).unwrap(),
            BatchSize::PerIteration,
        );
    });
}

fn identify(criterion: &mut Criterion) {
    let root = tempfile::tempdir().unwrap();
    let git = Git::find().unwrap();
    let made = coder_process::Command::new(git.program())
        .arguments(["init", "--quiet"])
        .directory(root.path())
        .capture(1024)
        .unwrap();
    assert!(made.success());
    criterion.bench_function("repository/identify", |bencher| {
        bencher.iter(|| Repository::identify(&git, root.path()).unwrap());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = snapshot, keep, identify
}
criterion_main!(benches);
