//! Random sequences cut off in the middle of a write, as power loss or a crash leaves the files: only a part of what one step
//! wrote, sectors of it missing or torn, pages of a checkpoint half copied. What was acknowledged is there afterwards, what
//! was not is there whole or not at all, every receipt is the first one, and the sequence goes on in what was recovered. A
//! thousand crashes; MICROCODER_MODEL_CRASHES says another number. Killed processes are in `processes`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;
mod model;

use coder_journal::Store;
use common::{World, clock};
use model::{Model, Step, cases, perform, steps};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const SECTOR: usize = 512;
const PAGE: usize = 4096;
const DATABASE: &str = "journal.db";
const LOG: &str = "journal.db-wal";

/// What is lost of the bytes that were being written.
#[derive(Debug, Clone)]
enum Loss {
    /// Everything behind a byte.
    Behind,
    /// Everything behind a byte, and what stands in its sector is of neither before nor after.
    Torn,
    /// One sector, while later ones landed.
    Hole,
}

#[derive(Debug, Clone)]
struct Crash {
    /// At which step.
    at: prop::sample::Index,
    /// At which of the bytes that this step wrote.
    byte: prop::sample::Index,
    loss: Loss,
    /// Which pages of a checkpoint landed.
    pages: u64,
}

fn crash() -> impl Strategy<Value = Crash> {
    let loss = prop_oneof![2 => Just(Loss::Behind), 1 => Just(Loss::Torn), 1 => Just(Loss::Hole)];
    (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        loss,
        any::<u64>(),
    )
        .prop_map(|(at, byte, loss, pages)| Crash { at, byte, loss, pages })
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What is on disk; the index in shared memory does not outlive a crash.
fn files(store: &Path) -> Files {
    let entries = store.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let kept = entries.filter(|path| !path.ends_with("journal.db-shm"));
    kept.map(|path| (path.file_name().unwrap().into(), std::fs::read(&path).unwrap()))
        .collect()
}

/// The files of a crash between `before` and `after`. Whether all of the step is certainly in them.
fn crashed(crash: &Crash, before: &Files, after: &Files) -> (Files, bool) {
    let mut left = after.clone();
    let nothing = Vec::new();
    let [old_log, new_log] = [before, after].map(|files| files.get(Path::new(LOG)).unwrap_or(&nothing));
    let [old, new] = [before, after].map(|files| &files[Path::new(DATABASE)]);
    if old != new {
        // A checkpoint: the log is whole and durable before the first page is copied.
        let pages = old.len().max(new.len()).div_ceil(PAGE);
        let mut mixed = new.clone();
        mixed.resize(pages * PAGE, 0);
        for page in 0..pages {
            let range = page * PAGE..(page + 1) * PAGE;
            if crash.pages >> (page % 64) & 1 == 0 && range.end <= old.len() {
                mixed[range.clone()].copy_from_slice(&old[range]);
            }
        }
        left.insert(DATABASE.into(), mixed);
        let log = if new_log.starts_with(old_log) { new_log } else { old_log };
        left.insert(LOG.into(), log.clone());
        return (left, true);
    }
    if !new_log.starts_with(old_log) || new_log.len() == old_log.len() {
        return (left, true);
    }
    let written = new_log.len() - old_log.len();
    let kept = old_log.len() + crash.byte.index(written + 1);
    let mut log = new_log.clone();
    let landed = match crash.loss {
        Loss::Behind => {
            log.truncate(kept);
            kept == new_log.len()
        }
        Loss::Torn => {
            log.truncate((kept / SECTOR + 1).saturating_mul(SECTOR).min(new_log.len()));
            log[kept..].fill(0xa5);
            kept == new_log.len()
        }
        Loss::Hole => {
            let sector = (kept / SECTOR * SECTOR).max(old_log.len());
            let end = (sector + SECTOR).min(log.len());
            log[sector..end].fill(0);
            false
        }
    };
    left.insert(LOG.into(), log);
    (left, landed)
}

fn put(place: &Path, files: &Files) {
    std::fs::DirBuilder::new().mode(0o700).create(place).unwrap();
    for (name, bytes) in files {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(place.join(name))
            .unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
    }
}

fn run(steps: &[Step], crash: &Crash) {
    let world = World::new();
    let mut model = Model::new(0);
    let mut store = world.store.clone();
    let at = crash.at.index(steps.len());
    let (first, rest) = steps.split_at(at);
    for step in first {
        let (found, expected) = perform(step, &mut model, &store);
        assert_eq!(found, expected, "{step:?}");
    }
    let (step, rest) = rest.split_first().unwrap();
    let (before, model_before) = (files(&world.path()), model.clone());
    let (found, expected) = perform(step, &mut model, &store);
    assert_eq!(found, expected, "{step:?}");
    if matches!(step, Step::Reopen) {
        // The last connection that closes moves the log into the database: a crash in the middle of that.
        drop((store, world.store));
        store = Store::open(&world.home.path().join("store"), clock()).unwrap();
    }
    let (left, certain) = crashed(crash, &before, &files(store.path()));
    let place = world.home.path().join("recovered");
    put(&place, &left);
    drop(store);
    let recovered = Store::open(&place, clock()).unwrap();
    assert_eq!(recovered.verify_all().unwrap(), []);
    let landed = model.is_that_of(&recovered);
    assert!(
        landed || (!certain && model_before.is_that_of(&recovered)),
        "neither before nor after {step:?}"
    );
    model_before.receipts_hold(&recovered);
    if !landed || archives(step) {
        // It was never acknowledged: done again, it is answered as it would have been.
        model = model_before;
        let (found, expected) = perform(step, &mut model, &recovered);
        assert_eq!(found, expected, "{step:?}");
    }
    for step in rest {
        let (found, expected) = perform(step, &mut model, &recovered);
        assert_eq!(found, expected, "{step:?}");
    }
    assert!(model.is_that_of(&recovered));
    model.receipts_hold(&recovered);
    assert_eq!(recovered.verify_all().unwrap(), []);
}

/// Does not show in the task, and may be done twice.
fn archives(step: &Step) -> bool {
    matches!(step, Step::Archive { .. } | Step::Restore { .. })
}

fn half() {
    let config = Config {
        cases: cases("MICROCODER_MODEL_CRASHES", 1000).div_ceil(2),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&(steps(), crash()), |(steps, crash)| {
            run(&steps, &crash);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_crash_in_the_middle_of_a_write_loses_nothing_that_was_acknowledged() {
    std::thread::scope(|scope| {
        scope.spawn(half);
        half();
    });
}
