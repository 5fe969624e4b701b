//! `kill -9` of the host at random moments of the demonstration. Afterwards the store opens, verification names an honest
//! state, nothing that was begun is begun again, no process of the run is left, and the next run clears up.
//!
//! `MICROCODER_KILLS` says how often (40 unless it says otherwise), `MICROCODER_SEED` repeats the moments of a failure.

use crate::world::{World, wait_readable};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// A small generator (splitmix64), so that a seed repeats a failure.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: Duration) -> Duration {
        Duration::from_nanos(self.next() % u64::try_from(bound.as_nanos()).unwrap())
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// What was found after one kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// It had not made its store yet.
    NoStore,
    /// It had not submitted its task yet.
    NoTask,
    /// The task waits, and its grant may start it.
    Queued,
    /// The run had begun and has no result.
    OwnerGone,
    /// The run had ended.
    Verified,
    /// The whole demonstration was over before the moment came.
    Over,
}

#[test]
fn a_host_that_is_killed_at_any_moment_leaves_an_honest_store() {
    let kills = number("MICROCODER_KILLS").unwrap_or(40);
    let seed = number("MICROCODER_SEED")
        .unwrap_or_else(|| u64::from(std::process::id()) << 32 | u64::from(std::process::id()));
    let mut moments = Moments(seed);
    let mut length = whole();
    let mut found: BTreeMap<Found, u64> = BTreeMap::new();
    for kill in 0..kills {
        let moment = moments.below(length);
        let state = one(moment);
        // A loaded machine is slower at one time than at another; the moments go a little past the end, not far.
        length = match state {
            Found::Over => moment,
            Found::NoStore | Found::NoTask | Found::Queued | Found::OwnerGone | Found::Verified => length + length / 50,
        };
        *found.entry(state).or_default() += 1;
        println!("kill {kill} of seed {seed} after {moment:?}: {state:?}");
    }
    println!("seed {seed}: {found:?}");
    assert!(
        found.contains_key(&Found::OwnerGone) || kills < 20,
        "no kill met a run under way: {found:?}"
    );
}

/// How long a demonstration takes that nobody kills.
fn whole() -> Duration {
    let world = World::empty();
    let begun = Instant::now();
    world
        .microcoder(&["demo", "--store", &world.text("store")])
        .run()
        .printed();
    begun.elapsed()
}

fn one(moment: Duration) -> Found {
    let world = World::empty();
    let store = world.text("store");
    let demo = world.microcoder(&["demo", "--store", &store]).start();
    let over = demo.ends_within(moment);
    let below = if over { Vec::new() } else { demo.freeze() };
    demo.signal_if_alive(Signal::KILL);
    demo.wait();
    for process in below {
        wait_readable(process, "a process outlived its host");
    }
    let state = look(&world, &store);
    clear_memory(&world);
    if over { Found::Over } else { state }
}

/// A command that belongs to no task, as the demonstration's check, has its scratch in the temporary directory, which goes
/// with the world; what a killed host had for it in shared memory goes here.
fn clear_memory(world: &World) {
    for entry in fs::read_dir(world.path("tmp")).unwrap().map(Result::unwrap) {
        if let Ok(memory) = fs::read_link(entry.path().join("memory")) {
            fs::remove_dir_all(memory).unwrap();
        }
    }
}

/// Holds everything in the store against what may be there after a kill.
fn look(world: &World, store: &str) -> Found {
    let list = world.coder(&["task", "list", "--store", store]).run();
    if list.status != 0 {
        assert_eq!(list.refused(1).0, "no_store");
        assert!(!world.path("store/journal.db").exists());
        assert_eq!(world.microcoder(&["demo", "--store", store]).run().status, 0);
        return Found::NoStore;
    }
    let tasks = list.json(0);
    let Some(task) = tasks[0]["task_id"].as_str() else {
        next_run_clears_up(world, store);
        return Found::NoTask;
    };
    let verify = || world.coder(&["task", "verify", task, "--store", store]).run();
    let verification: Value = serde_json::from_str(&verify().stdout).unwrap();
    let state = match (
        verification["verdict"].as_str().unwrap(),
        verification["state"].as_str().unwrap(),
    ) {
        ("verified", "finished") => Found::Verified,
        ("unfinished", "queued") => Found::Queued,
        ("unfinished", "owner_gone") => Found::OwnerGone,
        _ => panic!("{verification:#}"),
    };
    let view = world.coder(&["task", "view", task, "--store", store]).json();
    assert_eq!(view["task"]["task_id"], task);
    let trace = world.path(&format!("store/{task}.1.atif.jsonl"));
    let effects = effects(&fs::read(&trace).unwrap_or_default());
    let expected: Vec<u64> = (1..=effects.len() as u64).collect();
    assert_eq!(effects, expected, "each effect is announced once");
    let grant = world.path(&format!("store/launch/{task}.grant.json"));
    if grant.exists() {
        let before = fs::read(&trace).unwrap_or_default();
        let again = world
            .microcoder(&["repository", "--grant", grant.to_str().unwrap(), "--store", store])
            .run();
        if state == Found::Queued {
            // Nothing had begun, so the grant still starts it, once.
            assert_eq!(again.json(0)["status"], "finished");
            assert_eq!(verify().json(0)["verdict"], "verified");
        } else {
            assert_eq!(again.refused(2).0, "not_queued");
            assert_eq!(fs::read(&trace).unwrap_or_default(), before, "nothing is done twice");
            assert_eq!(serde_json::from_str::<Value>(&verify().stdout).unwrap(), verification);
        }
    } else {
        assert_eq!(state, Found::Queued);
    }
    next_run_clears_up(world, store);
    state
}

/// The numbers of the effects announced, in order.
fn effects(trace: &[u8]) -> Vec<u64> {
    trace
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter_map(|record| record["step"]["extensions"]["effect"]["sequence"].as_u64())
        .collect()
}

fn next_run_clears_up(world: &World, store: &str) {
    if world.path("store/scratch").exists() {
        assert_eq!(world.microcoder(&["demo", "--store", store]).run().status, 0);
        assert_eq!(world.listing("store/scratch").into_keys().collect::<Vec<_>>(), [""; 0]);
    }
}
