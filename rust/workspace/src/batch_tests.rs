use super::*;
use crate::fixture::World;
use rstest::rstest;
use std::os::unix::fs::PermissionsExt as _;

/// All names below `path` with their permissions.
fn names(path: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
        found.push((entry.file_name().into_string().unwrap(), mode));
        found.extend(names(&entry.path()));
    }
    found.sort();
    found
}

#[rstest]
#[case::none(0)]
#[case::one(1)]
#[case::few(FEW)]
#[case::many(FEW + 1)]
#[case::more(300)]
fn what_is_kept_at_once_is_kept_as_one_by_one(#[case] count: usize) {
    let world = World::new();
    let (one_by_one, at_once) = (world.path("one"), world.path("all"));
    let store = Retention::open(&one_by_one).unwrap();
    let pieces: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let expected: Vec<Digest> = pieces
        .iter()
        .map(|piece| store.put(piece.as_bytes()).unwrap())
        .collect();
    let store = Retention::open(&at_once).unwrap();
    let mut batch = Batch::new(&store);
    // Each twice; and nothing can be had before the commit.
    let twice = pieces.iter().chain(&pieces);
    let digests: Vec<Digest> = twice.map(|piece| batch.put(piece.as_bytes()).unwrap()).collect();
    assert_eq!(digests, [expected.clone(), expected.clone()].concat());
    assert!(expected.iter().all(|digest| store.get(digest, 100).is_err()));
    batch.commit().unwrap();
    assert_eq!(names(&at_once), names(&one_by_one));
    for (digest, piece) in expected.iter().zip(&pieces) {
        assert_eq!(store.get(digest, 100).unwrap(), piece.as_bytes());
    }
}

#[test]
fn a_batch_that_is_dropped_leaves_no_bytes() {
    let world = World::new();
    let store = Retention::open(&world.path("store")).unwrap();
    let mut batch = Batch::new(&store);
    let digest = batch.put(b"bytes").unwrap();
    drop(batch);
    assert_eq!(
        names(&world.path("store")),
        [(digest.hex()[..2].to_owned(), 0o700), ("blobs".to_owned(), 0o700)]
    );
}

#[test]
fn a_batch_that_fails_leaves_no_temporary_file() {
    let world = World::new();
    let store = Retention::open(&world.path("store")).unwrap();
    let mut batch = Batch::new(&store);
    let digest = batch.put(b"bytes").unwrap();
    batch.put(b"more").unwrap();
    // A directory in its place cannot be replaced by a file.
    std::fs::create_dir_all(store.blob(&digest)).unwrap();
    assert_eq!(batch.commit().unwrap_err().code(), "write");
    assert!(
        names(&store.root().join("blobs"))
            .iter()
            .all(|(name, _)| !name.starts_with('.'))
    );
}
