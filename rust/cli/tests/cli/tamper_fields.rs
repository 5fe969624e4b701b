//! Every stored thing changed by itself: each column of each table, each field of each line of the trace, regions of every
//! kept file. Verification names that thing first. And any bytes at all in place of any of them: an answer, no panic.

use crate::repository::finished;
use crate::world::World;
use coder_digest::{SystemClock, TaskId};
use coder_host::{Error, Verdict, open_to_read, verify};
use coder_journal::Store;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value as Column;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TRACE: &str = "tasks/task-1.1.atif.jsonl";

/// What verification names first, in this process; the refusal's code where the store cannot even be opened.
#[track_caller]
fn named(world: &World) -> String {
    let task = TaskId::new("task-1").unwrap();
    let verified = opened(world).and_then(|store| verify(&store, &task));
    match verified {
        Ok(verification) => {
            assert_eq!(verification.verdict, Verdict::Mismatch);
            verification.first_mismatch.unwrap()
        }
        Err(error) => error.code().to_owned(),
    }
}

fn opened(world: &World) -> Result<Store, Error> {
    open_to_read(&world.path("tasks"), Arc::new(SystemClock))
}

/// Every leaf of a line.
fn leaves(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                leaves(
                    inner,
                    &format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                leaves(inner, &format!("{place}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(place.to_owned()),
    }
}

fn changed(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) if number.is_f64() => (number.as_f64().unwrap() + 1.0).into(),
        Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
        Value::String(text) => format!("{text}x").into(),
        Value::Null | Value::Array(_) | Value::Object(_) => 1.into(),
    }
}

#[test]
fn each_field_of_each_line_of_the_trace() {
    let world = World::new();
    finished(&world);
    let whole = world.read(TRACE);
    let lines: Vec<&str> = whole.lines().collect();
    let (store, task) = (opened(&world).unwrap(), TaskId::new("task-1").unwrap());
    let mut fields = 0;
    for (index, line) in lines.iter().enumerate() {
        let record: Value = serde_json::from_str(line).unwrap();
        let mut places = Vec::new();
        leaves(&record, "", &mut places);
        for place in places {
            let mut altered = record.clone();
            let leaf = altered.pointer_mut(&place).unwrap();
            *leaf = changed(leaf);
            let mut copy: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            copy[index] = altered.to_string();
            fs::write(world.path(TRACE), copy.join("\n") + "\n").unwrap();
            let first = verify(&store, &task).unwrap().first_mismatch.unwrap();
            let last = index + 1 == lines.len();
            let expected = [
                format!("trace of turn 1 does not hold: line {}: ", index + 1),
                "trace of turn 1 does not hold: each line fits the one before".to_owned(),
            ];
            // Of the last line's own word on the line before, nothing says which of the two is wrong.
            let before = format!(
                "trace of turn 1 does not hold: line {index}: it is not the line that line {} names",
                index + 1
            );
            let named = first.starts_with(&expected[0])
                || (last && (first.starts_with(&expected[1]) || (place == "/previous" && first.starts_with(&before))))
                // Without its first line it is no log at all.
                || (index == 0 && first.starts_with("trace of turn 1 does not hold"));
            assert!(named, "line {}, {place}: {first}", index + 1);
            fields += 1;
        }
    }
    assert!(fields > 200, "{fields}");
    fs::write(world.path(TRACE), &whole).unwrap();
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

fn flipped(value: Column) -> Column {
    match value {
        Column::Null => Column::Blob(vec![0; 32]),
        Column::Integer(number) => Column::Integer(number ^ 1),
        Column::Real(number) => Column::Real(number + 1.0),
        Column::Text(text) => Column::Text(format!("{text}x")),
        Column::Blob(mut bytes) => {
            bytes[0] ^= 1;
            Column::Blob(bytes)
        }
    }
}

/// The tables, their columns and how many rows each has.
fn tables(journal: &Connection) -> Vec<(String, Vec<String>, Vec<i64>)> {
    let names: Vec<String> = journal
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let of = |name: String| {
        let columns = journal
            .prepare(&format!("PRAGMA table_info({name})"))
            .unwrap()
            .query_map([], |row| row.get(1))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let rows = journal
            .prepare(&format!("SELECT rowid FROM {name}"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        (name, columns, rows)
    };
    names.into_iter().map(of).collect()
}

/// Changes one value behind the triggers' back, which are then as before.
fn change_column(journal: &Connection, table: &str, column: &str, row: i64) -> bool {
    let triggers: Vec<(String, String)> = journal
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    journal
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
        .unwrap();
    for (name, _) in &triggers {
        journal.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let value: Column = journal
        .query_row(
            &format!("SELECT {column} FROM {table} WHERE rowid = ?1"),
            [row],
            |row| row.get(0),
        )
        .unwrap();
    let statement = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2");
    let done = journal.execute(&statement, rusqlite::params![flipped(value), row]);
    for (_, definition) in &triggers {
        journal.execute_batch(definition).unwrap();
    }
    done.is_ok_and(|rows| rows == 1)
}

#[test]
fn each_column_of_each_table() {
    let world = World::new();
    finished(&world);
    let path = world.path("tasks/journal.db");
    let journal = Connection::open(&path).unwrap();
    journal.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let tables = tables(&journal);
    drop(journal);
    let whole = fs::read(&path).unwrap();
    let mut columns = 0;
    for (table, names, rows) in &tables {
        // Whether a task is archived is how the store is used, and no evidence of anything.
        let names = names
            .iter()
            .filter(|name| (table.as_str(), name.as_str()) != ("tasks", "archived"));
        for (name, row) in names.flat_map(|name| rows.iter().map(move |row| (name, *row))) {
            let journal = Connection::open(&path).unwrap();
            let done = change_column(&journal, table, name, row);
            drop(journal);
            // Some values cannot even be stored: a name that another row has.
            if !done {
                restore(&path, &whole);
                continue;
            }
            let first = named(&world);
            // The row of the task itself is gone when its name is another.
            let gone = (table == "tasks" && name == "task_id").then_some("not_found");
            let holds = first.starts_with("journal does not hold: [")
                || gone == Some(first.as_str())
                || first == "corrupt_store";
            assert!(holds, "{table}.{name} of row {row}: {first}");
            if table == "tasks" && gone.is_none() && name != "state" {
                assert!(
                    first.contains(&format!("\"column\":\"{name}\"")),
                    "{table}.{name}: {first}"
                );
            }
            columns += 1;
            restore(&path, &whole);
        }
    }
    assert!(columns >= 40, "{columns}");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

/// Puts the database back as it was, without what SQLite kept beside it.
fn restore(path: &Path, bytes: &[u8]) {
    for companion in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{companion}", path.display()));
    }
    fs::write(path, bytes).unwrap();
}

/// Every kept file of the store but the database and its companions, with its bytes.
fn kept(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![world.path("tasks")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            if path.is_dir() {
                directories.push(path);
            } else if name.starts_with("manifest-") || path.parent().unwrap() != world.path("tasks") {
                found.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn regions_of_every_kept_file() {
    let world = World::new();
    finished(&world);
    let disposition = world.read(TRACE);
    let kept: Vec<_> = kept(&world)
        .into_iter()
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    assert!(kept.len() >= 6, "{kept:?}");
    for (path, bytes) in kept {
        let mut regions: Vec<Vec<u8>> = [0, bytes.len() / 2, bytes.len() - 1]
            .iter()
            .map(|place| {
                let mut altered = bytes.clone();
                altered[*place] ^= 0x20;
                altered
            })
            .collect();
        regions.push(bytes[1..].to_vec());
        regions.push([bytes.as_slice(), b"x"].concat());
        regions.push(Vec::new());
        for altered in regions {
            fs::write(&path, &altered).unwrap();
            let first = named(&world);
            let hex = path
                .components()
                .rev()
                .take(2)
                .map(|part| part.as_os_str().to_str().unwrap().to_owned());
            let hex: Vec<String> = hex.collect();
            let digest = format!("{}{}", hex[1], hex[0]);
            // Named by its place in the candidate, or by where it lies.
            let documents = ["source_snapshot", "candidate_snapshot", "artifacts", "patch"];
            assert!(
                documents
                    .iter()
                    .any(|name| first.starts_with(&format!("{name} of turn 1 does not hold"))),
                "{first}"
            );
            let place = path.file_name().unwrap().to_str().unwrap();
            assert!(
                first.contains(place) || disposition.contains(&digest),
                "{}: {first}",
                path.display()
            );
        }
        fs::remove_file(&path).unwrap();
        assert!(named(&world).contains(" of turn 1 does not hold"));
        fs::write(&path, &bytes).unwrap();
        set_private(&path);
    }
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

fn set_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Larger than anything that is read: named, and not read into memory.
#[test]
fn files_that_grew_past_every_bound() {
    let world = World::new();
    finished(&world);
    for (path, bytes) in kept(&world) {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let first = named(&world);
        assert!(first.contains(" of turn 1 does not hold"), "{first}");
        file.set_len(bytes.len() as u64).unwrap();
    }
    let trace = world.path(TRACE);
    let bytes = fs::read(&trace).unwrap();
    let file = fs::File::options().write(true).open(&trace).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_eq!(named(&world), "trace of turn 1 does not hold: the trace is oversized");
    file.set_len(bytes.len() as u64).unwrap();
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Overwritten,
    Cut,
    Grown,
}

/// Any damage to any file of the store, the database among them: an answer or a refusal, and never a panic or `verified`
/// where evidence was changed.
#[test]
fn any_bytes_in_any_file() {
    let world = World::new();
    finished(&world);
    let journal = world.path("tasks/journal.db");
    Connection::open(&journal)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let mut files = kept(&world);
    files.push((world.path(TRACE), fs::read(world.path(TRACE)).unwrap()));
    files.push((journal.clone(), fs::read(&journal).unwrap()));
    let damage = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        prop::collection::vec(any::<u8>(), 1..64),
        prop_oneof![Just(Damage::Overwritten), Just(Damage::Cut), Just(Damage::Grown)],
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let task = TaskId::new("task-1").unwrap();
    runner
        .run(&damage, |(file, place, bytes, damage)| {
            let (path, whole) = file.get(&files);
            let mut altered = whole.clone();
            let start = place.index(whole.len().max(1));
            match damage {
                Damage::Overwritten => {
                    for (at, byte) in altered.iter_mut().skip(start).zip(&bytes) {
                        *at = *byte;
                    }
                }
                Damage::Cut => altered.truncate(start),
                Damage::Grown => altered.extend(&bytes),
            }
            fs::write(path, &altered).unwrap();
            let answer = opened(&world).and_then(|store| verify(&store, &task));
            let same = altered == *whole;
            match path == &journal {
                true => restore(path, whole),
                false => fs::write(path, whole).unwrap(),
            }
            // SQLite has room of its own in which a byte means nothing; every other file is evidence to its last byte.
            if let (Ok(verification), false, false) = (answer, same, path == &journal) {
                prop_assert_eq!(verification.verdict, Verdict::Mismatch, "{}", path.display());
            }
            Ok(())
        })
        .unwrap();
}
