//! What one supervised run of a program that does nothing costs, bare and without a confinement.
#![allow(clippy::unwrap_used, missing_docs)]

use coder_process::{Command, Ending};
use criterion::{Criterion, criterion_group, criterion_main};

fn spawn(criterion: &mut Criterion) {
    let command = Command::new("/bin/true");
    criterion.bench_function("run true", |bencher| {
        bencher.iter(|| assert_eq!(command.capture(0).unwrap().ending, Ending::Exited(0)));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50);
    targets = spawn
}
criterion_main!(benches);
