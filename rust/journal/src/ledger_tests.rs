use super::*;
use crate::fixtures::{self, World, id};
use rstest::rstest;

/// Changes the tables with the guards taken off, and puts the guards back.
fn tamper(world: &World, statements: &str) {
    let raw = Connection::open(world.path().join("journal.db")).unwrap();
    let triggers: Vec<(String, String)> = raw
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (name, _) in &triggers {
        raw.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    raw.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    raw.execute_batch(statements).unwrap();
    for (_, definition) in &triggers {
        raw.execute_batch(definition).unwrap();
    }
}

/// Takes the last record of `t` away with everything its own row says of it, so that the task alone looks whole.
fn take_the_last_away(world: &World) {
    let task = id("t");
    let records = world.store.query(&world.store.reader(), "test", |connection| {
        Stored::all(connection, &task)
    });
    let mut records = records.unwrap();
    let removed = records.pop().unwrap();
    let before = records.last().unwrap();
    let whole = world.store.show(&task).unwrap();
    let mut state = whole;
    state.revision -= 1;
    state.status = crate::state::Status::Running;
    state.execution = crate::state::Execution::Running;
    state.run.as_mut().unwrap().result = None;
    let state = serde_json::to_string(&state).unwrap().replace('\'', "''");
    tamper(
        world,
        &format!(
            "DELETE FROM events WHERE task_id = 't' AND sequence = {};
             UPDATE tasks SET revision = {1}, status = 'running', execution = 'running', reserved = 1, sequence = {1},
             digest = x'{2}', events = events - 1, bytes = bytes - {3}, state = '{state}' WHERE task_id = 't';",
            removed.sequence,
            before.sequence,
            before.digest.hex(),
            removed.body.bytes(),
        ),
    );
}

#[test]
fn the_head_moves_with_every_record_and_stays_findable() {
    let world = World::new();
    assert_eq!(world.store.head().unwrap(), None);
    world.submit("t");
    let first = world.store.head().unwrap().unwrap();
    assert_eq!(first.position, 1);
    world.finished("u");
    let last = world.store.head().unwrap().unwrap();
    assert_eq!(last.position, 5);
    assert!(world.store.holds(&first).unwrap() && world.store.holds(&last).unwrap());
    let never = Head {
        position: 1,
        digest: last.digest,
    };
    assert!(!world.store.holds(&never).unwrap());
    // A refused step enters nothing, and neither does an exact retry.
    world.store.command(&fixtures::cancel("c", &id("u"), 1)).unwrap_err();
    world
        .store
        .command(&fixtures::submit("submit-t", "t", "/trees/t"))
        .unwrap();
    assert_eq!(world.store.head().unwrap(), Some(last));
}

#[test]
fn a_head_is_read_as_it_is_written() {
    let world = World::new();
    world.submit("t");
    let head = world.store.head().unwrap().unwrap();
    assert_eq!(head.to_string().parse(), Ok(head));
    for wrong in ["", "1", "1:", "x:sha256:00", &head.digest.to_string()] {
        assert_eq!(wrong.parse::<Head>(), Err(HeadError), "{wrong}");
    }
}

/// The last event of a task could be removed together with what the task's row said of it, and nothing showed.
#[test]
fn the_last_record_removed_with_its_row_shows() {
    let world = World::new();
    let task = world.finished("t");
    take_the_last_away(&world);
    assert_eq!(world.store.verify(&task).unwrap(), [Fault::Removed { sequence: 4 }]);
}

/// With its ledger entry gone as well, every later entry still counts it.
#[test]
fn the_entry_removed_too_shows_by_the_next_one() {
    let world = World::new();
    let task = world.finished("t");
    world.submit("u");
    take_the_last_away(&world);
    tamper(&world, "DELETE FROM ledger WHERE task_id = 't' AND sequence = 4");
    assert_eq!(world.store.verify(&task).unwrap(), [Fault::Ledger { position: 4 }]);
    tamper(&world, "UPDATE ledger SET position = 4 WHERE position = 5");
    assert_eq!(world.store.verify(&task).unwrap(), [Fault::Ledger { position: 4 }]);
}

/// What no chain can show by itself: its own end taken away. A head kept elsewhere does.
#[test]
fn the_end_of_the_ledger_removed_shows_by_a_head_kept_elsewhere() {
    let world = World::new();
    let task = world.finished("t");
    let noted = world.store.head().unwrap().unwrap();
    take_the_last_away(&world);
    tamper(&world, "DELETE FROM ledger WHERE task_id = 't' AND sequence = 4");
    assert_eq!(world.store.verify(&task).unwrap(), []);
    assert!(!world.store.holds(&noted).unwrap());
}

#[rstest]
#[case::digest("UPDATE ledger SET digest = zeroblob(32) WHERE position = 2", vec![Fault::Ledger { position: 2 }])]
#[case::record(
    "UPDATE ledger SET record = zeroblob(32) WHERE position = 3",
    vec![Fault::Unentered { sequence: 3 }, Fault::Ledger { position: 3 }]
)]
#[case::other_task(
    "INSERT INTO tasks SELECT 'u', revision, title, turn, status, execution, checks, tree, 0, sequence, digest, events,
     bytes, state, NULL FROM tasks; UPDATE ledger SET task_id = 'u' WHERE position = 4",
    vec![Fault::Unentered { sequence: 4 }, Fault::Ledger { position: 4 }]
)]
#[case::gone("DELETE FROM ledger", (1..=4).map(|sequence| Fault::Unentered { sequence }).collect())]
#[case::added(
    "INSERT INTO ledger VALUES (5, 't', 5, zeroblob(32), zeroblob(32))",
    vec![Fault::Removed { sequence: 5 }, Fault::Ledger { position: 5 }]
)]
fn a_changed_entry_shows(#[case] statements: &str, #[case] faults: Vec<Fault>) {
    let world = World::new();
    let task = world.finished("t");
    tamper(&world, statements);
    assert_eq!(world.store.verify(&task).unwrap(), faults);
}

#[test]
fn a_missing_ledger_is_a_fault_of_the_tables() {
    let world = World::new();
    let task = world.finished("t");
    let raw = Connection::open(world.path().join("journal.db")).unwrap();
    raw.execute_batch("DROP TABLE ledger").unwrap();
    let faults = world.store.verify(&task).unwrap();
    let missing = |name: &str, kind: &str| Fault::Tables {
        reason: format!("the {kind} `{name}` is missing"),
    };
    assert!(faults.contains(&missing("ledger", "table")), "{faults:?}");
}
