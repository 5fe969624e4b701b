use super::*;
use crate::fixtures::{self, World, clock, id};
use crate::record::Content;
use coder_digest::Identifier;
use rstest::rstest;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn code<T>(result: Result<T, Error>) -> &'static str {
    result.err().map_or("accepted", |error| error.code())
}

fn small() -> Limits {
    Limits {
        tasks: 2,
        commands: 5,
        events_per_task: 3,
        bytes_per_task: 4096,
        ending_bytes: 2048,
    }
}

fn limited(limits: Limits) -> (World, Store) {
    let world = World::new();
    let store = Store::open_with(&world.path(), clock(), Access::Write, limits).unwrap();
    (world, store)
}

#[test]
fn a_receipt_is_that_of_its_own_transition() {
    let world = World::new();
    let bytes = fixtures::submit("c-1", "t-1", "/trees/t-1");
    let receipt = world.store.command(&bytes).unwrap();
    let expected = Receipt {
        schema: "openagents.coder.task-receipt.v1".into(),
        command_id: Identifier::new("c-1").unwrap(),
        task_id: id("t-1"),
        request_digest: Digest::of(&bytes),
        sequence: 1,
        revision: 1,
        status: Status::Queued,
        execution: Execution::NotStarted,
        checks: Checks::NotRun,
    };
    assert_eq!(receipt, expected);
    world.store.command(&fixtures::cancel("c-2", &id("t-1"), 1)).unwrap();
    // Exact bytes again, after the task moved on, from another opening, and from a reader that sees the same store.
    assert_eq!(world.store.command(&bytes).unwrap(), expected);
    assert_eq!(world.again().command(&bytes).unwrap(), expected);
    assert_eq!(world.store.show(&id("t-1")).unwrap().revision, 2);
}

#[test]
fn a_command_id_belongs_to_its_exact_bytes() {
    let world = World::new();
    let bytes = fixtures::submit("c-1", "t-1", "/trees/t-1");
    world.store.command(&bytes).unwrap();
    let mut spaced = bytes.clone();
    spaced.push(b' ');
    assert_eq!(code(world.store.command(&spaced)), "command_conflict");
    let other_task = fixtures::submit("c-1", "t-2", "/trees/t-2");
    assert_eq!(code(world.store.command(&other_task)), "command_conflict");
    let other_action = fixtures::cancel("c-1", &id("t-1"), 1);
    assert_eq!(code(world.store.command(&other_action)), "command_conflict");
    assert_eq!(world.store.verify_all().unwrap(), []);
}

#[test]
fn a_refused_command_reserves_nothing() {
    let world = World::new();
    world.submit("t");
    assert_eq!(
        code(world.store.command(&fixtures::cancel("c", &id("t"), 9))),
        "revision_mismatch"
    );
    assert_eq!(
        code(world.store.command(&fixtures::cancel("c", &id("u"), 1))),
        "not_found"
    );
    assert_eq!(
        code(world.store.command(&fixtures::submit("c", "t", "/x"))),
        "invalid_transition"
    );
    assert_eq!(code(world.store.command(b"{}")), "invalid_command");
    assert_eq!(code(world.store.command(&vec![b' '; 64 * 1024 + 1])), "invalid_command");
    assert_eq!(
        world
            .store
            .command(&fixtures::cancel("c", &id("t"), 1))
            .unwrap()
            .revision,
        2
    );
}

#[test]
fn tasks_are_listed_in_their_order_and_shown() {
    let world = World::new();
    for task in ["b", "a", "c"] {
        world.submit(task);
    }
    let listed = world.store.list().unwrap();
    let names: Vec<_> = listed.iter().map(|summary| summary.task_id.as_str()).collect();
    assert_eq!(names, ["b", "a", "c"]);
    assert_eq!(
        listed[0],
        Summary {
            task_id: id("b"),
            revision: 1,
            title: "Fix the parser".into(),
            submitted_at: listed[0].submitted_at,
            changed_at: listed[0].submitted_at,
            turn: 1,
            status: Status::Queued,
            execution: Execution::NotStarted,
            checks: Checks::NotRun
        }
    );
    assert!(listed.is_sorted_by_key(|summary| summary.submitted_at));
    let receipt = world.store.command(&fixtures::cancel("c", &id("b"), 1)).unwrap();
    let records = world.store.history(&id("b")).unwrap();
    let cancelled = &world.store.list().unwrap()[0];
    assert_eq!(
        (cancelled.submitted_at, cancelled.changed_at),
        (records[0].at, records[1].at)
    );
    assert_eq!(receipt.revision, cancelled.revision);
    assert_eq!(code(world.store.show(&id("absent"))), "not_found");
    assert_eq!(code(world.store.history(&id("absent"))), "not_found");
    assert_eq!(code(world.store.verify(&id("absent"))), "not_found");
}

#[test]
fn the_history_is_every_record_chained() {
    let world = World::new();
    let task = world.finished("t");
    let history = world.store.history(&task).unwrap();
    let names: Vec<_> = history
        .iter()
        .map(|record| match &record.content {
            Content::Command { request, .. } => Command::parse(request.as_bytes()).unwrap().action.name(),
            Content::Event { event, .. } => event.name(),
        })
        .collect();
    assert_eq!(names, ["submit", "admitted", "effect_intent", "result"]);
    let mut previous = None;
    for (index, record) in history.iter().enumerate() {
        assert_eq!(
            (record.sequence, record.previous, record.rules),
            (index as u64 + 1, previous, 1)
        );
        previous = Some(record.digest);
    }
    let shown = serde_json::to_value(&history[2]).unwrap();
    assert_eq!(
        shown["event"],
        serde_json::json!({"epoch": 1, "event": {"type": "effect_intent", "effect_id": "t:1:command"}})
    );
}

#[test]
fn the_bounds_of_a_store() {
    let (_world, store) = limited(small());
    let submit = |task: &str| store.command(&fixtures::submit(&format!("s-{task}"), task, "/trees/x"));
    submit("a").unwrap();
    submit("b").unwrap();
    assert_eq!(code(submit("c")), "limit_exceeded");
    for revision in 1..=3 {
        store
            .command(&fixtures::correct(&format!("x-{revision}"), &id("a"), revision))
            .unwrap();
    }
    assert_eq!(
        code(store.command(&fixtures::correct("x-4", &id("a"), 4))),
        "limit_exceeded"
    );
    assert_eq!(store.verify_all().unwrap(), []);
}

#[test]
fn an_ending_has_room_after_the_task_reached_its_bytes() {
    let (_world, store) = limited(Limits {
        commands: 100,
        ..small()
    });
    store.command(&fixtures::submit("s", "a", "/trees/a")).unwrap();
    let mut revision = 1;
    let refused = loop {
        let bytes = fixtures::correct(&format!("x-{revision}"), &id("a"), revision);
        match store.command(&bytes) {
            Ok(receipt) => revision = receipt.revision,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.code(), "limit_exceeded");
    assert!(revision > 2);
    store.command(&fixtures::cancel("c", &id("a"), revision)).unwrap();
    assert_eq!(store.verify_all().unwrap(), []);
}

#[test]
fn a_task_takes_64_turns() {
    let world = World::new();
    let task = world.finished("t");
    let follow_up = |turn: usize| {
        let revision = world.store.show(&task).unwrap().revision;
        world
            .store
            .command(&fixtures::follow_up(&format!("f-{turn}"), &task, revision))
    };
    for turn in 2..=64 {
        follow_up(turn).unwrap();
        let owner = world.running(&task);
        let shown = owner.record(&fixtures::ended(fixtures::result()), None).unwrap();
        assert_eq!(shown.turn(), turn);
    }
    let refused = follow_up(65).unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        (
            "limit_exceeded",
            "the limit of 64 turns of one task is reached: submit a new task"
        )
    );
    assert_eq!(world.store.verify(&task).unwrap(), []);
}

#[test]
fn the_bound_of_owner_events() {
    let (_world, store) = limited(Limits {
        bytes_per_task: 1 << 20,
        ..small()
    });
    store.command(&fixtures::submit("s", "a", "/trees/a")).unwrap();
    let owner = store.own(&id("a"), std::time::Duration::ZERO).unwrap();
    let task = store.show(&id("a")).unwrap();
    let task = owner.record(&fixtures::admitted(&task), None).unwrap();
    owner.record(&fixtures::effect(&task), None).unwrap();
    owner.record(&Event::Spawned { process_id: 1 }, None).unwrap();
    assert_eq!(
        code(owner.record(&fixtures::ended(fixtures::result()), None)),
        "limit_exceeded"
    );
}

#[test]
fn everything_in_the_store_is_private() {
    let world = World::new();
    let task = world.submit("t");
    let _owner = world.running(&task);
    let mut seen = 0;
    for entry in fs::read_dir(world.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
        seen += 1;
    }
    assert_eq!(seen, 5, "database, log, index, reserve and one lock");
}

#[test]
fn a_reader_neither_makes_nor_writes_a_store() {
    let world = World::new();
    let task = world.submit("t");
    let reader = Store::open_read_only(&world.path(), clock()).unwrap();
    assert_eq!(reader.show(&task).unwrap(), world.store.show(&task).unwrap());
    assert_eq!(code(reader.command(&fixtures::cancel("c", &task, 1))), "read_only");
    assert_eq!(code(reader.own(&task, std::time::Duration::ZERO)), "read_only");
    assert_eq!(reader.verify_all().unwrap(), []);
    let nowhere = world.home().join("nowhere");
    assert_eq!(code(Store::open_read_only(&nowhere, clock())), "io");
    assert!(!nowhere.exists());
}

#[test]
fn a_reader_opens_a_store_that_nobody_else_has_open() {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store");
    let store = Store::open(&path, clock()).unwrap();
    store.command(&fixtures::submit("s", "t", "/trees/t")).unwrap();
    drop(store);
    assert!(!path.join("journal.db-wal").exists());
    let reader = Store::open_read_only(&path, clock()).unwrap();
    assert_eq!(reader.list().unwrap().len(), 1);
}

// Readers must not wait for a writer that is inside its transaction, nor hold it up.
#[test]
fn looking_goes_on_while_a_writer_is_in_the_middle() {
    let world = World::new();
    let task = world.submit("t");
    let other = world.again();
    let shown = world
        .store
        .write(crate::write::Room::Ordinary, |transaction| {
            transaction
                .execute("UPDATE tasks SET title = 'half done'", [])
                .map_err(|source| other.database_error("test", source))?;
            Ok((
                other.show(&task)?,
                other.list()?,
                other.verify(&task)?,
                world.store.list()?,
            ))
        })
        .unwrap();
    assert_eq!(shown.1[0].title, "Fix the parser");
    assert_eq!((shown.2, &shown.3), (vec![], &shown.1));
}

#[test]
fn records_refuse_change_and_removal() {
    let world = World::new();
    world.finished("t");
    let raw = rusqlite::Connection::open(world.path().join("journal.db")).unwrap();
    for statement in [
        "UPDATE commands SET at = 0",
        "UPDATE events SET epoch = 2",
        "DELETE FROM commands",
        "DELETE FROM events",
        "DELETE FROM tasks",
    ] {
        let error = raw.execute(statement, []).unwrap_err().to_string();
        assert!(error.contains("is never"), "{statement}: {error}");
    }
    assert_eq!(world.store.verify_all().unwrap(), []);
}

fn damaged(damage: impl FnOnce(&Path)) -> Error {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store");
    let store = Store::open(&path, clock()).unwrap();
    store.command(&fixtures::submit("s", "t", "/trees/t")).unwrap();
    drop(store.own(&id("t"), std::time::Duration::ZERO).unwrap());
    drop(store);
    damage(&path);
    Store::open(&path, clock())
        .and_then(|store| store.list())
        .expect_err("the damage shows")
}

// Report 21: what is damaged is named, never skipped or begun anew.
#[rstest]
#[case::gone(|path: &Path| fs::remove_file(path.join("journal.db")).unwrap())]
#[case::empty(|path: &Path| fs::write(path.join("journal.db"), b"").unwrap())]
#[case::other_bytes(|path: &Path| fs::write(path.join("journal.db"), b"not a database ".repeat(500)).unwrap())]
#[case::zeroed_head(|path: &Path| {
    let mut bytes = fs::read(path.join("journal.db")).unwrap();
    bytes[..512].fill(0);
    fs::write(path.join("journal.db"), bytes).unwrap();
})]
#[case::cut(|path: &Path| {
    let bytes = fs::read(path.join("journal.db")).unwrap();
    fs::write(path.join("journal.db"), &bytes[..4096 + 7]).unwrap();
})]
#[case::other_application(|path: &Path| {
    fs::remove_file(path.join("journal.db")).unwrap();
    let raw = rusqlite::Connection::open(path.join("journal.db")).unwrap();
    raw.execute_batch("CREATE TABLE t (a)").unwrap();
    fs::set_permissions(path.join("journal.db"), fs::Permissions::from_mode(0o600)).unwrap();
})]
fn a_damaged_database_is_named(#[case] damage: fn(&Path)) {
    let error = damaged(damage);
    assert_eq!(error.code(), "corrupt_store", "{error}");
    assert!(error.to_string().contains("journal.db"), "{error}");
}

#[test]
fn unknown_files_are_ignored() {
    let world = World::new();
    let task = world.submit("t");
    fs::write(world.path().join("notes.txt"), "mine").unwrap();
    fs::create_dir(world.path().join("blobs")).unwrap();
    assert_eq!(world.again().show(&task).unwrap().revision, 1);
    assert_eq!(world.again().verify_all().unwrap(), []);
}

#[rstest]
#[case::newer(
    3,
    "was made by a newer version (store format 3, and this version reads 2): use that version"
)]
#[case::older(
    1,
    "was made by an older version (store format 1, and this version reads 2): read it with that version, and use another \
     store for new tasks"
)]
fn the_store_of_another_version_is_refused(#[case] format: i64, #[case] words: &str) {
    let error = damaged(|path| {
        let raw = rusqlite::Connection::open(path.join("journal.db")).unwrap();
        raw.pragma_update(None, "user_version", format).unwrap();
    });
    assert_eq!(error.code(), "unsupported_schema");
    let message = error.to_string();
    let (path, said) = message.split_once(' ').unwrap();
    assert!(path.ends_with("/store/journal.db"), "{path}");
    assert_eq!(said, words);
}

/// A newer version may write under rules, and keep of a task, what this one does not know (trap a): that is no damage, and
/// nothing is written after it.
#[rstest]
#[case::rules("")]
#[case::rules_and_state("UPDATE tasks SET state = replace(state, '{', '{\"news\":1,')")]
fn a_task_that_a_newer_version_wrote_is_not_a_damaged_one(#[case] statement: &str) {
    let world = World::new();
    let task = world.finished("t");
    let raw = rusqlite::Connection::open(world.path().join("journal.db")).unwrap();
    let mut last = Stored::all(&raw, &task).unwrap().pop().unwrap();
    last.rules = 2;
    let digest = last.chain_digest(&task).hex();
    raw.execute_batch(&format!(
        "DROP TRIGGER events_stay; DROP TRIGGER ledger_stays; {statement};
         UPDATE events SET rules = 2, digest = x'{digest}' WHERE sequence = 4; UPDATE tasks SET digest = x'{digest}';
         UPDATE ledger SET record = x'{digest}' WHERE position = 4;
         CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;
         CREATE TRIGGER ledger_stays BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;",
    ))
    .unwrap();
    let refusals = [
        world.store.own(&task, std::time::Duration::ZERO).map(drop),
        world.store.command(&fixtures::follow_up("f", &task, 4)).map(drop),
    ];
    for refusal in refusals {
        let error = refusal.unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (
                "unsupported_schema",
                "task t was last written by a newer version (record 4 follows rules version 2): use that version"
            )
        );
    }
    // The list and the other tasks go on.
    assert_eq!(world.store.list().unwrap().len(), 1);
    world.submit("u");
}

#[test]
fn an_interrupted_creation_leaves_nothing_in_the_way() {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store");
    crate::directory::PrivateDirectory::open(&path, Missing::Create).unwrap();
    fs::write(path.join(".journal.db.new"), b"half").unwrap();
    fs::write(path.join(".journal.db.new-wal"), b"half").unwrap();
    let store = Store::open(&path, clock()).unwrap();
    assert_eq!(store.list().unwrap(), []);
    assert!(!path.join(".journal.db.new").exists());
}

// A commit that failed may have landed; until the store is opened again nothing more is written through this handle.
#[test]
fn after_a_doubtful_write_the_store_must_be_opened_again() {
    let world = World::new();
    let task = world.submit("t");
    world
        .store
        .shared
        .doubtful
        .store(true, std::sync::atomic::Ordering::Release);
    assert_eq!(
        code(world.store.command(&fixtures::cancel("c", &task, 1))),
        "reopen_required"
    );
    assert_eq!(world.store.show(&task).unwrap().revision, 1);
    world.again().command(&fixtures::cancel("c", &task, 1)).unwrap();
}
