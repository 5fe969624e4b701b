use super::*;
use crate::fixtures::World;
use rstest::rstest;
use rusqlite::Connection;

/// Puts the guards back, so that only what was done without them shows.
fn restore_triggers(raw: &Connection) {
    let made = database::expected_structure().unwrap();
    let found = database::structure(raw).unwrap();
    for (key, definition) in made {
        if key.0 == "trigger" && !found.contains_key(key) {
            raw.execute_batch(definition.as_deref().unwrap()).unwrap();
        }
    }
}

/// A finished task whose tables were changed behind the store's back, with the guards taken off.
fn tampered(statement: &str) -> Vec<Fault> {
    let world = World::new();
    let task = world.finished("t");
    world.finished("u");
    let raw = Connection::open(world.path().join("journal.db")).unwrap();
    raw.execute_batch(
        "DROP TRIGGER commands_stay; DROP TRIGGER commands_last; DROP TRIGGER events_stay; DROP TRIGGER events_last;
         PRAGMA ignore_check_constraints = ON;",
    )
    .unwrap();
    raw.execute_batch(statement).unwrap();
    restore_triggers(&raw);
    assert_eq!(world.store.verify(&crate::fixtures::id("u")).unwrap(), []);
    world.store.verify(&task).unwrap()
}

#[test]
fn an_untouched_task_has_no_fault() {
    assert_eq!(tampered("SELECT 1"), []);
}

// Report 21: a bad record in the middle is a named corruption, never skipped in silence.
#[rstest]
#[case::removed(
    "DELETE FROM events WHERE task_id = 't' AND sequence = 3",
    vec![Fault::Gap { expected: 3, found: 4 }, Fault::Chain { sequence: 4 }, Fault::End { column: "events" }, Fault::Removed { sequence: 3 }, Fault::State { column: "state" }]
)]
#[case::last_removed("DELETE FROM events WHERE task_id = 't' AND sequence = 4", vec![Fault::End { column: "sequence" }, Fault::Removed { sequence: 4 }, Fault::State { column: "state" }])]
#[case::first_removed(
    "DELETE FROM commands WHERE task_id = 't'",
    vec![
        Fault::Gap { expected: 1, found: 2 },
        Fault::Chain { sequence: 2 },
        Fault::Unreadable { sequence: 2 },
        Fault::End { column: "bytes" },
        Fault::Removed { sequence: 1 },
    ]
)]
#[case::renumbered(
    "UPDATE events SET sequence = 5 WHERE task_id = 't' AND sequence = 4",
    vec![Fault::Gap { expected: 4, found: 5 }, Fault::Digest { sequence: 5 }, Fault::End { column: "sequence" }, Fault::Unentered { sequence: 5 }, Fault::Removed { sequence: 4 }]
)]
#[case::edited(
    "UPDATE events SET event = replace(event, '\"exit_code\":0', '\"exit_code\":1') WHERE task_id = 't' AND sequence = 4",
    vec![Fault::Digest { sequence: 4 }, Fault::State { column: "state" }]
)]
#[case::time("UPDATE events SET at = at + 1 WHERE task_id = 't' AND sequence = 2", vec![Fault::Digest { sequence: 2 }])]
#[case::garbled(
    "UPDATE events SET event = char(0, 0) WHERE task_id = 't' AND sequence = 4",
    vec![Fault::Digest { sequence: 4 }, Fault::Unreadable { sequence: 4 }, Fault::End { column: "bytes" }]
)]
#[case::not_allowed(
    "UPDATE events SET epoch = 2 WHERE task_id = 't' AND sequence = 3",
    vec![Fault::Digest { sequence: 3 }, Fault::Refused { sequence: 3, code: "invalid_transition" }]
)]
#[case::receipt(
    "UPDATE commands SET receipt = replace(receipt, 'queued', 'running') WHERE task_id = 't'",
    vec![Fault::Digest { sequence: 1 }, Fault::Receipt { sequence: 1 }, Fault::End { column: "bytes" }]
)]
#[case::newer_rules(
    "UPDATE events SET rules = 9 WHERE task_id = 't' AND sequence = 4",
    vec![Fault::Digest { sequence: 4 }, Fault::Rules { sequence: 4, found: 9 }]
)]
#[case::state(
    "UPDATE tasks SET state = replace(state, '\"exit_code\":0', '\"exit_code\":1') WHERE task_id = 't'",
    vec![Fault::State { column: "state" }]
)]
#[case::revision("UPDATE tasks SET revision = 9 WHERE task_id = 't'", vec![Fault::State { column: "revision" }])]
#[case::title("UPDATE tasks SET title = 'x' WHERE task_id = 't'", vec![Fault::State { column: "title" }])]
#[case::turn("UPDATE tasks SET turn = 2 WHERE task_id = 't'", vec![Fault::State { column: "turn" }])]
#[case::status("UPDATE tasks SET status = 'unknown' WHERE task_id = 't'", vec![Fault::State { column: "status" }])]
#[case::execution("UPDATE tasks SET execution = 'failed' WHERE task_id = 't'", vec![Fault::State { column: "execution" }])]
#[case::checks("UPDATE tasks SET checks = 'passed' WHERE task_id = 't'", vec![Fault::State { column: "checks" }])]
#[case::tree("UPDATE tasks SET tree = '/' WHERE task_id = 't'", vec![Fault::State { column: "tree" }])]
#[case::reserved("UPDATE tasks SET reserved = 1 WHERE task_id = 't'", vec![Fault::State { column: "reserved" }])]
#[case::end_sequence("UPDATE tasks SET sequence = 9 WHERE task_id = 't'", vec![Fault::End { column: "sequence" }])]
#[case::end_events("UPDATE tasks SET events = 9 WHERE task_id = 't'", vec![Fault::End { column: "events" }])]
#[case::end_bytes("UPDATE tasks SET bytes = 9 WHERE task_id = 't'", vec![Fault::End { column: "bytes" }])]
#[case::end("UPDATE tasks SET digest = zeroblob(32) WHERE task_id = 't'", vec![Fault::End { column: "digest" }])]
#[case::unreadable_state(
    "UPDATE tasks SET state = '' WHERE task_id = 't'",
    vec![Fault::Tables { reason: "task t cannot be read".into() }]
)]
fn each_tampering_shows(#[case] statement: &str, #[case] faults: Vec<Fault>) {
    assert_eq!(tampered(statement), faults);
}

#[test]
fn a_missing_lock_file_shows() {
    let world = World::new();
    let task = world.finished("t");
    std::fs::remove_file(world.path().join("owner-t.lock")).unwrap();
    assert_eq!(world.store.verify(&task).unwrap(), [Fault::LockMissing]);
    assert_eq!(world.store.verify_all().unwrap(), [(Some(task), Fault::LockMissing)]);
}

#[test]
fn a_task_that_was_removed_shows() {
    let world = World::new();
    world.finished("t");
    let raw = Connection::open(world.path().join("journal.db")).unwrap();
    raw.execute_batch("DROP TRIGGER tasks_last; PRAGMA foreign_keys = OFF; DELETE FROM tasks")
        .unwrap();
    restore_triggers(&raw);
    let reason = "records of a task that is gone".to_owned();
    assert_eq!(world.store.verify_all().unwrap(), [(None, Fault::Tables { reason })]);
}

/// Without its triggers, or with others, a store that verified could be changed by anybody without a trace.
#[rstest]
#[case::dropped("DROP TRIGGER events_last", "the trigger `events_last` is missing")]
#[case::replaced(
    "DROP TRIGGER tasks_last; CREATE TRIGGER tasks_last BEFORE DELETE ON tasks BEGIN SELECT 1; END",
    "the trigger `tasks_last` is not defined as this version defines it"
)]
#[case::added_trigger(
    "CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM commands; END",
    "the trigger `more` does not belong to a journal"
)]
#[case::added_view("CREATE VIEW v AS SELECT 1", "the view `v` does not belong to a journal")]
#[case::added_table("CREATE TABLE more (a)", "the table `more` does not belong to a journal")]
#[case::added_column(
    "ALTER TABLE events ADD COLUMN more TEXT",
    "the table `events` is not defined as this version defines it"
)]
#[case::dropped_index("DROP INDEX tasks_reserved", "the index `tasks_reserved` is missing")]
fn a_changed_structure_shows(#[case] statement: &str, #[case] reason: &str) {
    let world = World::new();
    let task = world.finished("t");
    Connection::open(world.path().join("journal.db"))
        .unwrap()
        .execute_batch(statement)
        .unwrap();
    let fault = Fault::Tables { reason: reason.into() };
    assert_eq!(world.store.verify_all().unwrap(), [(None, fault.clone())]);
    assert_eq!(world.store.verify(&task).unwrap(), [fault]);
}
