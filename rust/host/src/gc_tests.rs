use super::*;
use crate::testing::World;
use coder_digest::{Digest, FixedClock, TaskId};
use rstest::rstest;
use std::os::unix::fs::PermissionsExt as _;

/// Later than any file of a test is made.
fn later() -> FixedClock {
    FixedClock::new(Timestamp(4_102_444_800_000), 1)
}

fn clear(store: &Store, sweep: Sweep, older_than: Duration) -> Gc {
    clear_up(store.clone(), &later(), sweep, older_than, Duration::ZERO)
        .unwrap()
        .sorted()
}

fn keep(store: &Store, bytes: &str) -> PathBuf {
    let path = leftovers::blob(store.path(), &Digest::of(bytes.as_bytes()));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path.strip_prefix(store.path()).unwrap().to_owned()
}

fn keep_manifest(world: &World, text: &str) -> String {
    let name = format!("manifest-{}.json", Digest::of(text.as_bytes()).hex());
    world.write(&format!("store/{name}"), text);
    name
}

fn lock(world: &World, task: &str) {
    let path = world.write(&format!("store/owner-{task}.lock"), "");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Everything in a store, by path; SQLite's own files aside.
fn listing(store: &Store) -> Vec<PathBuf> {
    let mut pending = vec![store.path().to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = pending.pop() {
        for entry in directory.read_dir().unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                pending.push(entry.path());
            } else if !entry.file_name().as_encoded_bytes().starts_with(b"journal.") {
                found.push(entry.path().strip_prefix(store.path()).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

struct Full {
    world: World,
    store: Store,
    /// What is named, or not to be judged.
    stays: Vec<PathBuf>,
    /// What is left over, in the order in which it is told.
    goes: Vec<Cleared>,
}

/// A store with one of everything.
fn full() -> Full {
    let world = World::new();
    let store = world.store();
    let named = Digest::of(b"named by the journal");
    world.submit(&store, "queued", &format!("See {named}."));
    world.submit(&store, "done", "Fix it.");
    let cancel = coder_journal::Ask::Cancel { reason: "no".into() };
    store
        .ask(&"c-1".parse().unwrap(), &"done".parse().unwrap(), &cancel)
        .unwrap();
    let file = keep(&store, "named by a manifest");
    let inner = Digest::of(b"named by a manifest").hex();
    let manifest = keep_manifest(&world, &format!("[\"{inner}\"]"));
    world.write("store/done.1.atif.jsonl", format!("{{\"kept\":\"{manifest}\"}}\n"));
    world.write("store/launch/queued.grant.json", "{}");
    world.write("store/unknown.bin", "mine");
    world.write("store/blobs/notes", "mine");
    world.write(&format!("store/.mine.{}-0", std::process::id()), "being written");
    let mut stays = vec![
        keep(&store, "named by the journal"),
        file,
        manifest.into(),
        "done.1.atif.jsonl".into(),
        "launch/queued.grant.json".into(),
        "unknown.bin".into(),
        "blobs/notes".into(),
        format!(".mine.{}-0", std::process::id()).into(),
    ];
    stays.sort();
    let lost = keep_manifest(&world, "[]");
    let blob = keep(&store, "nobody's");
    // No process has so high a number.
    for name in [
        "store/.half.4194999-0",
        "store/blobs/ab/.half.4194999-1",
        "store/launch/.tmpx",
    ] {
        world.write(name, "half");
    }
    world.write("store/scratch/done/.tmpy/home/left", "left over");
    lock(&world, "queued");
    world.write("store/launch/done.grant.json", "{\"a\":1}");
    let cleared = |kind, path: &str, bytes| Cleared {
        kind,
        path: path.into(),
        bytes,
    };
    let goes = vec![
        cleared(Leftover::Manifest, &lost, 2),
        cleared(Leftover::Blob, blob.to_str().unwrap(), 8),
        cleared(Leftover::Temporary, ".half.4194999-0", 4),
        cleared(Leftover::Temporary, "blobs/ab/.half.4194999-1", 4),
        cleared(Leftover::Temporary, "launch/.tmpx", 4),
        cleared(Leftover::Scratch, "scratch/done/.tmpy", 9),
        cleared(Leftover::Lock, "owner-queued.lock", 0),
        cleared(Leftover::Launch, "launch/done.grant.json", 7),
    ];
    Full {
        world,
        store,
        stays,
        goes,
    }
}

#[test]
fn what_nothing_names_goes_and_everything_else_stays() {
    let Full {
        world: _world,
        store,
        stays,
        goes,
    } = full();
    let before = listing(&store);
    let planned = clear(&store, Sweep::DryRun, Duration::ZERO);
    assert_eq!((&planned.cleared, planned.bytes), (&goes, 38));
    assert_eq!(listing(&store), before);
    let done = clear(&store, Sweep::Remove, Duration::ZERO);
    assert_eq!((&done.cleared, &done.left), (&goes, &planned.left));
    let own = std::process::id();
    let writing = Left {
        path: format!(".mine.{own}-0").into(),
        reason: format!("process {own}, which made it, may still write it"),
    };
    assert_eq!(done.left, [writing]);
    assert_eq!(listing(&store), stays);
    assert_eq!(store.verify_all().unwrap(), []);
    let again = clear(&store, Sweep::Remove, Duration::ZERO);
    assert_eq!((again.cleared, again.bytes), (vec![], 0));
}

#[test]
fn what_is_young_stays() {
    let Full {
        world: _world, store, ..
    } = full();
    let before = listing(&store);
    let centuries = Duration::from_secs(200 * 365 * 86_400);
    let done = clear(&store, Sweep::Remove, centuries);
    assert_eq!((done.cleared, done.left), (vec![], vec![]));
    assert_eq!(listing(&store), before);
    // A clock that is behind makes everything look young.
    let behind = FixedClock::new(Timestamp(0), 1);
    let done = clear_up(store.clone(), &behind, Sweep::Remove, Duration::ZERO, Duration::ZERO)
        .unwrap()
        .sorted();
    assert_eq!((done.cleared, listing(&store)), (vec![], before));
}

/// A run keeps bytes before its result names them.
#[test]
fn what_a_run_under_way_may_have_kept_stays_and_so_do_its_scratch_and_lock() {
    let world = World::new();
    let store = world.store();
    world.submit(&store, "t", "Fix it.");
    let task = TaskId::new("t").unwrap();
    let owner = store.own(&task, Duration::ZERO).unwrap();
    // The store's clock stands at a moment before the files are made, as that of a run does.
    let blob = keep(&store, "kept just now");
    world.write("store/scratch/t/.tmpx/home/file", "in use");
    let before = listing(&store);
    let done = clear(&store, Sweep::Remove, Duration::ZERO);
    let may = Left {
        path: blob,
        reason: "a run that is under way may have kept it".into(),
    };
    assert_eq!((done.cleared, done.left), (vec![], vec![may]));
    assert_eq!(listing(&store), before);
    drop(owner);
    assert_eq!(clear(&store, Sweep::Remove, Duration::ZERO).cleared.len(), 3);
}

#[test]
fn a_run_that_is_ending_keeps_all_that_is_kept() {
    let Full {
        world: _world, store, ..
    } = full();
    let ending = RetentionLock::share(store.path()).unwrap();
    let other = RetentionLock::share(store.path()).unwrap();
    drop(other);
    let done = clear(&store, Sweep::Remove, Duration::ZERO);
    let waits = Left {
        path: "blobs".into(),
        reason: "a run is ending; clear up again later".into(),
    };
    assert_eq!(done.left, [waits]);
    let kinds: Vec<Leftover> = done.cleared.iter().map(|cleared| cleared.kind).collect();
    assert_eq!(kinds, [Leftover::Scratch, Leftover::Lock, Leftover::Launch]);
    drop(ending);
    assert_eq!(clear(&store, Sweep::Remove, Duration::ZERO).cleared.len(), 5);
}

#[rstest]
#[case::blobs("blobs")]
#[case::launches("launch")]
#[case::scratch("scratch")]
fn a_link_in_the_place_of_a_directory_is_not_followed(#[case] name: &str) {
    let world = World::new();
    let store = world.store();
    world.write("elsewhere/ab/0000", "x");
    world.write("elsewhere/t.grant.json", "x");
    world.write("elsewhere/t/a/file", "x");
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path("store").join(name)).unwrap();
    let done = clear(&store, Sweep::Remove, Duration::ZERO);
    assert_eq!((done.cleared, done.left), (vec![], vec![]));
    assert!(world.path("elsewhere/t.grant.json").exists() && world.path("elsewhere/t/a/file").exists());
}

#[test]
fn an_absent_store_is_not_made() {
    let world = World::new();
    let path = world.path("nowhere");
    let refused = gc(&path, Arc::new(later()), Sweep::Remove, Duration::ZERO, &|_| None).unwrap_err();
    assert_eq!((refused.code(), path.exists()), ("no_store", false));
}
