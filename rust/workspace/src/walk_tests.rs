use super::*;
use crate::fixture::World;
use crate::{FileId, FileTime};
use coder_digest::{SystemClock, Timestamp};
use rustix::fs::{CWD, Mode, mknodat};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

fn observe(path: &Path) -> Snapshot {
    Observer::new(&SystemClock).observe(path).unwrap()
}

fn shown(snapshot: &Snapshot) -> Vec<(String, String, u32)> {
    let entry = |entry: &Entry| (entry.path.to_string(), entry.kind.word().to_owned(), entry.mode);
    snapshot.entries().iter().map(entry).collect()
}

#[test]
fn everything_is_recorded_and_no_ignore_rule_obeyed() {
    let world = World::new();
    let files = [".gitignore", "target/out", ".git", "a/b/c"];
    for name in files {
        let path = world.write(&format!("work/{name}"), "target\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    symlink("/etc", world.path("work/etc")).unwrap();
    mknodat(CWD, world.path("work/pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    for name in ["work", "work/target", "work/a", "work/a/b"] {
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o750)).unwrap();
    }
    let snapshot = observe(&world.path("work"));
    assert_eq!(snapshot.faults(), []);
    let expected = [
        ("", "directory", 0o750),
        (".git", "file", 0o640),
        (".gitignore", "file", 0o640),
        ("a", "directory", 0o750),
        ("a/b", "directory", 0o750),
        ("a/b/c", "file", 0o640),
        ("etc", "symlink", 0o777),
        ("pipe", "fifo", 0o400),
        ("target", "directory", 0o750),
        ("target/out", "file", 0o640),
    ];
    assert_eq!(
        shown(&snapshot),
        expected.map(|(path, word, mode)| (path.to_owned(), word.to_owned(), mode))
    );
    let status = fs::metadata(world.path("work/a/b/c")).unwrap();
    let found = snapshot.entry(b"a/b/c").unwrap();
    assert_eq!(
        found.kind,
        Kind::File {
            length: 7,
            digest: Digest::of(b"target\n"),
            modified: FileTime(status.mtime(), u32::try_from(status.mtime_nsec()).unwrap()),
        }
    );
    assert_eq!(found.inode.inode, status.ino());
    assert_eq!(
        snapshot.entry(b"etc").unwrap().kind,
        Kind::Symlink { target: "/etc".into() }
    );
}

#[test]
fn a_copy_has_the_digest_of_the_tree() {
    let world = World::new();
    for root in ["one", "two"] {
        world.write(&format!("{root}/a/b"), "text");
        symlink("b", world.path(&format!("{root}/a/link"))).unwrap();
    }
    let (one, two) = (observe(&world.path("one")), observe(&world.path("two")));
    assert_eq!(one.digest(), two.digest());
    world.write("two/a/b", "tex!");
    assert_ne!(one.digest(), observe(&world.path("two")).digest());
}

#[test]
fn names_that_are_no_text_stay_whole() {
    let world = World::new();
    world.write("work/a", "");
    let name = std::ffi::OsStr::from_bytes(b"\xfe\xff \n");
    fs::write(world.path("work").join(name), "x").unwrap();
    let snapshot = observe(&world.path("work"));
    assert!(snapshot.entry(b"\xfe\xff \n").is_some());
}

#[test]
fn many_files_in_many_directories_are_all_there() {
    let world = World::new();
    for directory in 0..40 {
        for file in 0..70 {
            world.write(&format!("work/{directory}/{file}"), format!("{directory} {file}"));
        }
    }
    let snapshot = observe(&world.path("work"));
    assert!(snapshot.is_complete());
    assert_eq!(snapshot.entries().len(), 1 + 40 + 40 * 70);
    assert_eq!(snapshot, observe(&world.path("work")));
}

#[test]
fn a_tree_deeper_than_any_path_is_observed() {
    let world = World::new();
    fs::create_dir(world.path("work")).unwrap();
    let name = "d".repeat(200);
    let mut directory = descriptor::open_root(&world.path("work")).unwrap();
    for _ in 0..40 {
        rustix::fs::mkdirat(&directory, name.as_str(), Mode::RWXU).unwrap();
        directory = descriptor::open_directory(&directory, name.as_bytes()).unwrap();
    }
    let snapshot = observe(&world.path("work"));
    assert_eq!((snapshot.faults(), snapshot.entries().len()), ([].as_slice(), 41));
}

#[test]
fn a_root_that_is_missing_or_a_file_is_a_fault() {
    let world = World::new();
    let file = world.write("file", "");
    for path in [world.path("missing"), file] {
        let snapshot = observe(&path);
        assert!(matches!(snapshot.faults(), [Fault::Root { .. }]), "{snapshot:?}");
        assert_eq!(snapshot.entries(), []);
    }
}

/// Trap 19: a tree over a limit is refused with the limit's name, and is never taken for a small one.
#[test]
fn each_limit_is_a_fault_of_its_own() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.write(&format!("work/{name}"), "12345");
    }
    let within = |entries, bytes| {
        Observer::new(&SystemClock)
            .limits(Limits { entries, bytes })
            .observe(&world.path("work"))
            .unwrap()
    };
    assert!(within(4, 15).is_complete());
    assert_eq!(within(3, 15).faults(), [Fault::Entries { limit: 3 }]);
    assert_eq!(within(4, 14).faults(), [Fault::Bytes { limit: 14 }]);
}

#[test]
fn faults_are_itemised_up_to_a_number_and_then_counted() {
    let walk = Walk {
        observer: Observer::new(&SystemClock),
        entries: Mutex::default(),
        faults: Mutex::default(),
        seen: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
        interrupted: AtomicBool::new(false),
    };
    for index in 0..100 {
        walk.fault(Fault::Changed {
            path: BytePath::from(index.to_string().as_str()),
        });
    }
    walk.stop(Fault::Bytes { limit: 1 });
    let faults = walk.faults.into_inner().unwrap();
    assert_eq!((faults.kept.len(), faults.omitted), (MAXIMUM_FAULTS, 37));
    assert_eq!(faults.kept.last(), Some(&Fault::Bytes { limit: 1 }));
}

/// A clock that does something at the moment a file was opened for hashing.
struct Meanwhile<A: Fn() + Send + Sync>(A);

impl<A: Fn() + Send + Sync> Clock for Meanwhile<A> {
    fn now(&self) -> Timestamp {
        (self.0)();
        Timestamp(0)
    }
}

#[test]
fn a_file_written_while_it_is_hashed_is_a_fault() {
    let world = World::new();
    let path = world.write("work/file", "before");
    for content in ["longer than before", "short", "afters"] {
        let clock = Meanwhile(|| fs::write(&path, content).unwrap());
        let snapshot = Observer::new(&clock).observe(&world.path("work")).unwrap();
        assert_eq!(snapshot.faults(), [Fault::Changed { path: "file".into() }], "{content}");
    }
}

#[test]
fn a_file_without_read_permission_is_a_fault_and_not_an_empty_file() {
    let world = World::new();
    let path = world.write("work/file", "x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let snapshot = observe(&world.path("work"));
    // Root reads it all the same.
    if rustix::process::geteuid().is_root() {
        assert!(snapshot.is_complete());
    } else {
        assert!(matches!(snapshot.faults(), [Fault::Read { .. }]));
    }
}

#[test]
fn a_known_digest_spares_the_read_and_a_write_ends_that() {
    let world = World::new();
    let path = world.write("work/file", "first");
    let work = world.path("work");
    let cache = DigestCache::new();
    // A clock far ahead, so that the file counts as settled.
    let later = coder_digest::FixedClock::new(Timestamp(i64::MAX / 2), 0);
    let observer = Observer::new(&later).cache(&cache);
    let first = observer.observe(&work).unwrap();
    assert_eq!(cache.len(), 1);
    let reading = Meanwhile(|| panic!("the file was opened again"));
    assert_eq!(Observer::new(&reading).cache(&cache).observe(&work).unwrap(), first);
    // The same length and the old time of writing: only the status-change time tells.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "other").unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let second = observer.observe(&work).unwrap();
    assert_eq!(second, observe(&work));
    assert_ne!(second.digest(), first.digest());
}

#[test]
fn known_digests_count_against_the_bytes_limit() {
    let world = World::new();
    world.write("work/file", "12345");
    let cache = DigestCache::new();
    let later = coder_digest::FixedClock::new(Timestamp(i64::MAX / 2), 0);
    let observer = Observer::new(&later).cache(&cache);
    observer.observe(&world.path("work")).unwrap();
    let small = observer
        .limits(Limits { entries: 10, bytes: 4 })
        .observe(&world.path("work"));
    assert_eq!(small.unwrap().faults(), [Fault::Bytes { limit: 4 }]);
}

#[test]
fn identities_are_of_the_device_and_inode() {
    let world = World::new();
    let path = world.write("work/file", "");
    let snapshot = observe(&world.path("work"));
    let status = fs::metadata(path).unwrap();
    let FileId { device, inode } = snapshot.entry(b"file").unwrap().inode;
    let expected = u64::from(rustix::fs::major(status.dev())) << 32 | u64::from(rustix::fs::minor(status.dev()));
    assert_eq!((device, inode), (expected, status.ino()));
}

#[test]
fn a_tree_made_to_be_endlessly_deep_is_a_fault_and_not_a_long_wait() {
    // 3,000 directories of 50 letters, made step by step, kept the host busy for ten minutes.
    let tree = tempfile::tempdir().unwrap();
    let name = "d".repeat(50);
    let mut parent: std::os::fd::OwnedFd = std::fs::File::open(tree.path()).unwrap().into();
    for _ in 0..500 {
        rustix::fs::mkdirat(&parent, name.as_str(), rustix::fs::Mode::RWXU).unwrap();
        parent = crate::descriptor::open_directory(&parent, name.as_bytes()).unwrap();
    }
    let snapshot = Observer::new(&coder_digest::SystemClock).observe(tree.path()).unwrap();
    assert_eq!(snapshot.faults().len(), 1);
    assert!(snapshot.entries().len() < 400, "{}", snapshot.entries().len());
    drop(parent);
    crate::remove::remove_tree(tree.path()).unwrap();
    let _ = tree.keep();
}

#[test]
fn an_observation_is_given_up_when_asked_even_inside_a_large_file() {
    let world = World::new();
    fs::create_dir_all(world.path("work")).unwrap();
    let large = File::create(world.path("work/large")).unwrap();
    // Sparse: reading it whole would take seconds.
    large.set_len(8 << 30).unwrap();
    let asked = std::sync::atomic::AtomicU32::new(0);
    let interrupt = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 20;
    let given_up = Observer::new(&SystemClock)
        .interrupt(&interrupt)
        .observe(&world.path("work"));
    assert_eq!(given_up.unwrap_err().code(), "interrupted");
}
