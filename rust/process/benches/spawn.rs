//! What one supervised run of a program that does nothing costs, beside the standard library's unsupervised one, and in a
//! host that holds a GiB of memory: it must cost the same there.
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(unsafe_code, reason = "the size of pages is set by a plain system call")]

use coder_process::{Command, Ending};
use criterion::{Criterion, criterion_group, criterion_main};

fn supervised(criterion: &mut Criterion) {
    let command = Command::new("/bin/true");
    criterion.bench_function("supervised true", |bencher| {
        bencher.iter(|| assert_eq!(command.capture(0).unwrap().ending, Ending::Exited(0)));
    });
}

#[expect(clippy::disallowed_methods, reason = "the thing compared with")]
fn unsupervised(criterion: &mut Criterion) {
    criterion.bench_function("unsupervised true", |bencher| {
        bencher.iter(|| {
            let output = std::process::Command::new("/bin/true").env_clear().output().unwrap();
            assert!(output.status.success());
        });
    });
}

fn supervised_by_a_large_host(criterion: &mut Criterion) {
    const GIBIBYTE: usize = 1 << 30;
    // In pages of the usual size, as most hosts hold theirs; large ones would hide what a copy of their table costs.
    // SAFETY: takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    let held = vec![1_u8; GIBIBYTE];
    let command = Command::new("/bin/true");
    criterion.bench_function("supervised true, host of 1 GiB", |bencher| {
        bencher.iter(|| assert_eq!(command.capture(0).unwrap().ending, Ending::Exited(0)));
    });
    std::hint::black_box(held);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50);
    targets = supervised, supervised_by_a_large_host, unsupervised
}
criterion_main!(benches);
