//! Random sequences of commands, events, retries and reopenings against a model in memory. Each answer must be the model's,
//! and in the end replay must find no fault. Ten thousand sequences; MICROCODER_MODEL_SEQUENCES says another number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;
mod model;

use coder_journal::{Content, Store};
use common::World;
use model::{Model, Step, cases, perform, steps};
use proptest::test_runner::{Config, RngAlgorithm, TestRunner};
use std::cell::RefCell;

/// Sequences that share a store, which takes 1,024 tasks and 2,048 commands.
const SHARED: u64 = 80;

/// A store with the sequences that were done in it.
struct Shared {
    world: World,
    sequences: u64,
}

impl Shared {
    fn new() -> Self {
        Self {
            world: World::new(),
            sequences: 0,
        }
    }

    /// A prefix that no sequence had.
    fn next(&mut self) -> u64 {
        if self.sequences == SHARED {
            assert_eq!(self.world.store.verify_all().unwrap(), []);
            *self = Self::new();
        }
        self.sequences += 1;
        self.sequences
    }
}

fn run(shared: &mut Shared, steps: &[Step]) {
    let mut model = Model::new(shared.next());
    let mut store = shared.world.store.clone();
    for step in steps {
        if matches!(step, Step::Reopen) {
            store = shared.world.again();
        }
        let (found, expected) = perform(step, &mut model, &store);
        assert_eq!(found, expected, "{step:?}");
    }
    finish(&store, &model);
}

fn finish(store: &Store, model: &Model) {
    assert!(model.is_that_of(store));
    model.receipts_hold(store);
    let mut commands = 0;
    for (task, known) in &model.tasks {
        let history = store.history(&model.name(*task)).unwrap();
        assert_eq!(history.len() as u64, known.revision);
        let command = |content: &Content| matches!(content, Content::Command { .. });
        commands += history.iter().filter(|record| command(&record.content)).count();
    }
    assert_eq!(commands, model.commands());
}

fn half() {
    let config = Config {
        cases: cases("MICROCODER_MODEL_SEQUENCES", 10_000).div_ceil(2),
        failure_persistence: None,
        // Each drawn value begins a generator of its own, which costs this one nothing.
        rng_algorithm: RngAlgorithm::XorShift,
        ..Config::default()
    };
    let shared = RefCell::new(Shared::new());
    TestRunner::new(config)
        .run(&steps(), |steps| {
            run(&mut shared.borrow_mut(), &steps);
            Ok(())
        })
        .unwrap();
    let shared = shared.into_inner();
    assert_eq!(shared.world.store.verify_all().unwrap(), []);
}

#[test]
fn every_answer_is_the_models() {
    // Two at once, to be done in half the time.
    std::thread::scope(|scope| {
        scope.spawn(half);
        half();
    });
}
