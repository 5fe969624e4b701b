use super::*;
use crate::fixture::World;
use rstest::rstest;

fn stamp(inode: u64) -> Stamp {
    Stamp {
        device: 1,
        inode,
        length: 3,
        mode: 0o644,
        modified: FileTime(10, 500_000_000),
        changed: FileTime(11, 0),
    }
}

#[test]
fn what_was_saved_is_loaded() {
    let world = World::new();
    let path = world.path("digests");
    let cache = DigestCache::new();
    for inode in 0..100 {
        cache.keep(stamp(inode), Digest::of(&inode.to_le_bytes()), Timestamp(i64::MAX));
    }
    cache.save(&path).unwrap();
    let loaded = DigestCache::load(&path);
    assert_eq!(loaded.len(), 100);
    assert_eq!(loaded.get(&stamp(42)), Some(Digest::of(&42_u64.to_le_bytes())));
    assert_eq!(
        loaded.get(&Stamp {
            mode: 0o600,
            ..stamp(42)
        }),
        None
    );
}

#[test]
fn a_file_damaged_in_any_byte_is_ignored() {
    let world = World::new();
    let path = world.path("digests");
    let cache = DigestCache::new();
    cache.keep(stamp(1), Digest::of(b"a"), Timestamp(i64::MAX));
    cache.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for index in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[index] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        assert!(DigestCache::load(&path).is_empty(), "byte {index}");
        std::fs::write(&path, &whole[..index]).unwrap();
        assert!(DigestCache::load(&path).is_empty(), "cut at {index}");
    }
    assert!(DigestCache::load(&world.path("missing")).is_empty());
}

/// A write in the same tick of the file system's clock as the hashing leaves every time as it was.
#[rstest]
#[case::settled(13_000, 1)]
#[case::status_change_too_late(12_999, 0)]
#[case::before_either(0, 0)]
fn only_digests_of_settled_files_are_kept(#[case] now: i64, #[case] kept: usize) {
    let cache = DigestCache::new();
    cache.keep(stamp(1), Digest::of(b"a"), Timestamp(now));
    assert_eq!(cache.len(), kept);
}

#[test]
fn a_file_from_the_future_is_never_settled() {
    let cache = DigestCache::new();
    let future = Stamp {
        modified: FileTime(i64::MAX, 0),
        ..stamp(1)
    };
    cache.keep(future, Digest::of(b"a"), Timestamp(1_000_000));
    assert!(cache.is_empty());
}
