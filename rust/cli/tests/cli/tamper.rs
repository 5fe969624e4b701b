//! Every kept thing changed in turn: verification ends in status 1 and names it.

use crate::repository::finished;
use crate::world::World;
use rstest::rstest;
use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const TRACE: &str = "tasks/task-1.1.atif.jsonl";

/// What verification names first.
#[track_caller]
fn named(world: &World) -> String {
    let verification = world.task(&["verify", "task-1"]).run().json(1);
    assert_eq!(verification["verdict"], "mismatch", "{verification}");
    verification["first_mismatch"].as_str().unwrap().to_owned()
}

fn change(path: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    let changed = change(bytes.clone());
    assert_ne!(bytes, changed, "nothing was changed");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(path, changed).unwrap();
}

fn replaced(from: &'static str, to: &'static str) -> impl FnOnce(Vec<u8>) -> Vec<u8> {
    move |bytes| String::from_utf8(bytes).unwrap().replacen(from, to, 1).into_bytes()
}

#[rstest]
#[case::one_byte(replaced("second", "secone"))]
#[case::a_result(replaced("\"exit\":3", "\"exit\":0"))]
#[case::a_line_less(|bytes: Vec<u8>| {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.remove(5);
    lines.concat()
})]
#[case::no_end(|mut bytes: Vec<u8>| {
    bytes.truncate(bytes.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').unwrap() + 1);
    bytes
})]
#[case::a_torn_end(|mut bytes: Vec<u8>| { bytes.truncate(bytes.len() - 7); bytes })]
#[case::more(|bytes: Vec<u8>| [bytes, b"{}\n".to_vec()].concat())]
#[case::empty(|_: Vec<u8>| Vec::new())]
fn report_21_the_trace(#[case] altered: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let world = World::new();
    finished(&world);
    change(&world.path(TRACE), altered);
    let first = named(&world);
    assert!(first.starts_with("trace of turn 1 does not hold"), "{first}");
}

#[test]
fn a_trace_that_is_gone_or_a_link() {
    let world = World::new();
    finished(&world);
    fs::rename(world.path(TRACE), world.path("work/trace")).unwrap();
    assert!(named(&world).starts_with("trace of turn 1"));
    std::os::unix::fs::symlink(world.path("work/trace"), world.path(TRACE)).unwrap();
    assert!(named(&world).starts_with("trace of turn 1"));
}

/// The digest that a pointer into the disposition's `candidate` names.
fn kept(world: &World, pointer: &str) -> PathBuf {
    let disposition = world
        .read(TRACE)
        .lines()
        .rev()
        .nth(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let candidate = disposition.unwrap()["step"]["extensions"]["candidate"].clone();
    let digest = candidate.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    blob(world, &digest)
}

fn blob(world: &World, digest: &str) -> PathBuf {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    world.path("tasks/blobs").join(&hex[..2]).join(&hex[2..])
}

#[rstest]
#[case::source_document("/source_document", "source_snapshot")]
#[case::candidate_document("/candidate_document", "candidate_snapshot")]
#[case::patch("/patch/digest", "patch")]
fn a_kept_document(#[case] pointer: &str, #[case] name: &str) {
    let world = World::new();
    finished(&world);
    let path = kept(&world, pointer);
    let whole = fs::read(&path).unwrap();
    change(&path, |mut bytes| {
        bytes[9] ^= 1;
        bytes
    });
    assert!(named(&world).starts_with(&format!("{name} of turn 1 does not hold")));
    fs::write(&path, &whole[1..]).unwrap();
    assert!(named(&world).starts_with(&format!("{name} of turn 1 does not hold")));
    fs::remove_file(&path).unwrap();
    assert!(named(&world).starts_with(&format!("{name} of turn 1 does not hold")));
}

#[test]
fn a_kept_file_and_the_manifest() {
    let world = World::new();
    finished(&world);
    let view = world.task(&["view", "task-1"]).json();
    let entry = &view["artifacts"]["entries"][0];
    assert_eq!(entry["path"], "notes.txt");
    let path = blob(&world, entry["digest"].as_str().unwrap());
    let whole = fs::read(&path).unwrap();
    change(&path, replaced("second", "secone"));
    let first = named(&world);
    assert!(
        first.starts_with("artifacts of turn 1 does not hold: `notes.txt`"),
        "{first}"
    );
    let taken = world.task(&["artifact", "task-1", "--path", "notes.txt"]).run();
    assert_eq!(taken.status, 1, "altered bytes are never given out");
    taken.refused(1);
    fs::write(&path, whole).unwrap();

    let manifest = view["task"]["run"]["result"]["artifact_file"].as_str().unwrap();
    change(&world.path("tasks").join(manifest), replaced("notes.txt", "notes.txu"));
    assert!(named(&world).starts_with("artifacts of turn 1 does not hold"));
}

#[rstest]
#[case::an_event(
    "UPDATE events SET event = replace(event, 'model_finished', 'model_finishes') WHERE event LIKE '%model_finished%'"
)]
#[case::a_command("UPDATE commands SET request = replace(request, 'second line', 'third line')")]
#[case::an_event_less("DELETE FROM events WHERE sequence = 3")]
#[case::a_receipt("UPDATE commands SET receipt = replace(receipt, 'queued', 'cancelled')")]
#[case::what_replay_gives("UPDATE tasks SET execution = 'failed'")]
#[case::time("UPDATE events SET at = at + 1 WHERE sequence = 2")]
fn the_journal(#[case] statement: &str) {
    let world = World::new();
    finished(&world);
    let journal = Connection::open(world.path("tasks/journal.db")).unwrap();
    let triggers =
        "DROP TRIGGER commands_stay; DROP TRIGGER commands_last; DROP TRIGGER events_stay; DROP TRIGGER events_last;";
    if !statement.starts_with("UPDATE tasks") {
        journal.execute(statement, []).unwrap_err();
    }
    journal.execute_batch(triggers).unwrap();
    assert_eq!(journal.execute(statement, []).unwrap(), 1);
    drop(journal);
    let first = named(&world);
    assert!(first.starts_with("journal does not hold"), "{first}");
}
