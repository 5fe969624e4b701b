//! Old history under today's program (trap a).

use crate::fixtures::{World, id};
use crate::record::Content;
use crate::verify::Fault;
use std::collections::BTreeSet;
use std::os::unix::fs::OpenOptionsExt as _;

const VERSION_1: &str = include_str!("../tests/fixtures/rules-1.sql");

/// A store with the history in `statements`, and its owners' locks.
fn with(statements: &str) -> World {
    let world = World::new();
    let raw = rusqlite::Connection::open(world.path().join("journal.db")).unwrap();
    raw.execute_batch(statements).unwrap();
    for task in ["a", "b", "c", "d"] {
        let path = world.path().join(format!("owner-{task}.lock"));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(path).unwrap();
    }
    world
}

/// Replay checks old records again, so a rule that became stricter would turn old history into damage, if it were not kept
/// under its own version. Whoever changes a rule adds a version and a file beside this one.
#[test]
fn history_of_rules_version_1_stays_what_it_is() {
    let world = with(VERSION_1);
    assert_eq!(world.store.verify_all().unwrap(), []);
    let mut kinds = BTreeSet::new();
    for task in ["a", "b", "c", "d"] {
        for record in world.store.history(&id(task)).unwrap() {
            assert_eq!(record.rules, 1);
            match record.content {
                Content::Command { request, receipt, .. } => {
                    let request = request.as_bytes();
                    kinds.insert(crate::Command::parse(request).unwrap().action.name());
                    assert_eq!(world.store.command(request).unwrap(), receipt);
                }
                Content::Event { event, .. } => {
                    kinds.insert(event.name());
                }
            }
        }
    }
    let all = [
        "admitted",
        "cancel",
        "check_intent",
        "check_owner_lost",
        "checked",
        "continue",
        "correct",
        "effect_intent",
        "owner_lost",
        "result",
        "spawned",
        "submit",
    ];
    assert_eq!(kinds, all.into());
    // And it goes on.
    let receipt = world
        .store
        .command(&crate::fixtures::correct("more", &id("d"), 5))
        .unwrap();
    assert_eq!((receipt.revision, receipt.checks.as_str()), (6, "disputed"));
    assert_eq!(world.store.verify_all().unwrap(), []);
}

/// The file is not accepted for some other reason than that it is right.
#[test]
fn the_same_history_with_one_letter_changed_is_not() {
    let world = with(&VERSION_1.replacen("wrong file", "wrong fine", 1));
    let faults = world.store.verify(&id("a")).unwrap();
    assert_eq!(faults.first(), Some(&Fault::State { column: "state" }), "{faults:?}");
}
