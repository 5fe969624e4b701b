//! A snapshot of 10,000 files of 4 KiB in 100 directories: read anew, and with every digest known. Then what one
//! identification of a repository costs.
#![allow(clippy::unwrap_used, missing_docs)]

use coder_digest::{FixedClock, SystemClock, Timestamp};
use coder_workspace::{DigestCache, Git, Observer, Repository};
use criterion::{Criterion, criterion_group, criterion_main};
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
    targets = snapshot, identify
}
criterion_main!(benches);
