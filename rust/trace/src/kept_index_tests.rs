use super::*;
use crate::testing::{clock, log, rewrite, session, step};
use crate::{Error, Reader, Writer};
use coder_digest::Digest;
use rstest::rstest;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

/// Long after every file of a test was written.
const LATER: Timestamp = Timestamp(9_000_000_000_000);
/// Before: no file counts as settled.
const EARLIER: Timestamp = Timestamp(0);

struct Store {
    folder: TempDir,
    path: PathBuf,
}

impl Store {
    /// A sealed log of a little more than a mebibyte, with a repeated call name, an unfinished effect and a fault.
    fn new() -> Self {
        let log = log();
        let mut writer = log.writer;
        for number in 0..20 {
            let mut large = step(&format!("{number} {}", "x".repeat(60_000)));
            large.call = Some(crate::Call {
                id: "same".into(),
                name: "bash".into(),
                arguments: serde_json::json!({}),
                output: String::new(),
                outcome: "ok".into(),
                milliseconds: 1,
                purpose: None,
                extra: serde_json::Map::new(),
            });
            writer.append(&large).unwrap();
        }
        let intent = writer.intend(step("begins"), crate::EffectKind::Read, serde_json::json!({}));
        assert_eq!(intent.unwrap().sequence(), 1);
        writer.seal().unwrap();
        let bytes = std::fs::read(&log.path).unwrap();
        rewrite(&log.path, &[bytes, b"{}\ntorn".to_vec()].concat());
        Self {
            path: log.path,
            folder: log.folder,
        }
    }

    fn indexes(&self, now: Timestamp) -> KeptIndexes {
        KeptIndexes::new(self.folder.path().join("index"), now)
    }

    fn index_file(&self) -> PathBuf {
        self.folder.path().join("index/fix.1.atif.jsonl.index")
    }

    fn open(&self, now: Timestamp) -> Reader {
        Reader::open_kept(&self.path, &self.indexes(now)).unwrap()
    }

    /// What a look says, kept index or not, must be what a fresh one says.
    #[track_caller]
    fn assert_right(&self, reader: &Reader) {
        let fresh = Reader::open(&self.path).unwrap();
        assert_eq!(reader.index().entries, fresh.index().entries);
        assert_eq!(described(reader.index()), described(fresh.index()));
    }

    fn was_taken_unread(&self, now: Timestamp) -> bool {
        self.open(now).index().needs_hash()
    }
}

fn described(index: &Index) -> String {
    let mut names: Vec<_> = index.call_names.iter().collect();
    names.sort();
    format!(
        "{index:?} {:?} {:?} {:?} {} {:?} {names:?} {:?}",
        index.opening(),
        index.ended(),
        index.chain(),
        index.fault_count(),
        index.last_line,
        index.unfinished_effects()
    )
}

#[test]
fn a_second_look_reads_the_index_and_says_the_same() {
    let store = Store::new();
    store.assert_right(&store.open(LATER));
    assert_eq!(
        store.index_file().metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        store
            .folder
            .path()
            .join("index")
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    assert!(store.was_taken_unread(LATER));
    store.assert_right(&store.open(LATER));
}

#[test]
fn an_index_of_a_log_just_written_is_compared_until_the_log_has_settled() {
    let store = Store::new();
    store.open(EARLIER);
    assert!(!store.was_taken_unread(EARLIER));
    // Long after, one look compares, and the next need not.
    assert!(!store.was_taken_unread(LATER));
    assert!(store.was_taken_unread(LATER));
}

#[rstest]
#[case::appended(|bytes: &mut Vec<u8>| bytes.extend_from_slice(b"more\n"))]
#[case::cut(|bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 100))]
#[case::shorter_by_half(|bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2))]
#[case::empty(|bytes: &mut Vec<u8>| bytes.clear())]
#[case::edited_in_place(|bytes: &mut Vec<u8>| bytes[70_000] ^= 1)]
#[case::last_line_edited(|bytes: &mut Vec<u8>| { let last = bytes.len() - 1; bytes[last] ^= 1; })]
fn a_changed_log_is_noticed(#[case] change: fn(&mut Vec<u8>)) {
    let store = Store::new();
    store.open(LATER);
    let mut bytes = std::fs::read(&store.path).unwrap();
    change(&mut bytes);
    rewrite(&store.path, &bytes);
    let reader = store.open(LATER);
    assert_eq!(reader.index().digest(), Digest::of(&bytes));
    store.assert_right(&reader);
    store.assert_right(&store.open(LATER));
}

#[test]
fn times_set_back_hide_no_change() {
    let store = Store::new();
    store.open(LATER);
    let before = store.path.metadata().unwrap();
    let mut bytes = std::fs::read(&store.path).unwrap();
    bytes[70_000] ^= 1;
    rewrite(&store.path, &bytes);
    let times = std::fs::FileTimes::new().set_modified(before.modified().unwrap());
    File::options()
        .write(true)
        .open(&store.path)
        .unwrap()
        .set_times(times)
        .unwrap();
    assert_eq!(
        store.path.metadata().unwrap().modified().unwrap(),
        before.modified().unwrap()
    );
    store.assert_right(&store.open(LATER));
}

#[test]
fn a_log_copied_with_its_index_is_compared_and_taken() {
    let store = Store::new();
    store.open(LATER);
    let copy = store.folder.path().join("copy");
    std::fs::copy(&store.path, &copy).unwrap();
    std::fs::rename(&copy, &store.path).unwrap();
    store.assert_right(&store.open(LATER));
    assert!(store.was_taken_unread(LATER));
}

#[test]
fn a_growing_log_costs_its_new_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grow.1.atif.jsonl");
    let mut writer = Writer::create(&path, &session(), clock()).unwrap();
    let store = Store { folder, path };
    for round in 0..4 {
        for _ in 0..20 {
            writer.append(&step(&"y".repeat(60_000 + round))).unwrap();
        }
        store.assert_right(&store.open(LATER));
    }
    // A reader that took its index unread can still follow the log.
    let mut reader = store.open(LATER);
    assert!(reader.index().needs_hash());
    writer.append(&step("last")).unwrap();
    reader.refresh().unwrap();
    store.assert_right(&reader);
}

#[test]
fn a_reader_that_took_its_index_unread_refuses_to_follow_another_log() {
    let store = Store::new();
    store.open(LATER);
    let mut reader = store.open(LATER);
    let mut bytes = std::fs::read(&store.path).unwrap();
    bytes[70_000] ^= 1;
    rewrite(&store.path, &bytes);
    assert!(matches!(reader.refresh().unwrap_err(), Error::Changed { .. }));
}

#[rstest]
#[case::any_byte(|bytes: &mut Vec<u8>| { let middle = bytes.len() / 2; bytes[middle] ^= 1; })]
#[case::first(|bytes: &mut Vec<u8>| bytes[0] ^= 1)]
#[case::last(|bytes: &mut Vec<u8>| { let last = bytes.len() - 1; bytes[last] ^= 1; })]
#[case::short(|bytes: &mut Vec<u8>| bytes.truncate(31))]
#[case::empty(|bytes: &mut Vec<u8>| bytes.clear())]
fn a_damaged_index_is_none(#[case] damage: fn(&mut Vec<u8>)) {
    let store = Store::new();
    store.open(LATER);
    let mut bytes = std::fs::read(store.index_file()).unwrap();
    damage(&mut bytes);
    std::fs::write(store.index_file(), bytes).unwrap();
    store.assert_right(&store.open(LATER));
}

#[test]
fn an_index_that_others_may_write_or_that_is_a_link_is_none() {
    let store = Store::new();
    store.open(LATER);
    std::fs::set_permissions(store.index_file(), std::fs::Permissions::from_mode(0o606)).unwrap();
    assert!(!store.was_taken_unread(LATER), "and the look replaced it");
    assert!(store.was_taken_unread(LATER));
    std::fs::rename(store.index_file(), store.folder.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(store.folder.path().join("elsewhere"), store.index_file()).unwrap();
    assert!(!store.was_taken_unread(LATER));
}

#[test]
fn a_store_that_takes_no_index_is_looked_at_all_the_same() {
    let store = Store::new();
    std::fs::write(store.folder.path().join("index"), "in the way").unwrap();
    store.assert_right(&store.open(LATER));
}

#[test]
fn nothing_is_kept_of_a_small_log() {
    let log = log();
    let kept = KeptIndexes::new(log.folder.path().join("index"), LATER);
    Reader::open_kept(&log.path, &kept).unwrap();
    assert!(!log.folder.path().join("index").exists());
}

#[test]
fn a_step_that_is_not_the_indexed_one_is_never_shown() {
    let store = Store::new();
    store.open(LATER);
    // An index that claims another line in the place of the tenth, with the facts of the file as it is.
    let mut written = decode(&std::fs::read(store.index_file()).unwrap()).unwrap();
    written.index.entries[9].digest = Digest::of(b"another");
    std::fs::write(store.index_file(), encode(&written).unwrap()).unwrap();
    let task = coder_digest::TaskId::new("fix").unwrap();
    let subject = crate::Subject {
        task: &task,
        intent: Digest::of(b"intent"),
        trace_file: "fix.1.atif.jsonl",
    };
    let (size, expected) = (crate::PageSize::default(), crate::Expectation::default());
    let kept = store.indexes(LATER);
    let page = |kept| crate::view_page(subject, &store.path, None, size, expected, kept).unwrap();
    assert_eq!(page(Some(&kept)), page(None));
}
