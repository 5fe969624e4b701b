use super::*;
use crate::fixture::World;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

#[test]
fn bytes_are_kept_privately_under_their_digest() {
    let world = World::new();
    let store = Retention::open(&world.path("store")).unwrap();
    let digest = store.put(b"bytes").unwrap();
    let hex = digest.hex();
    let path = world.path(&format!("store/blobs/{}/{}", &hex[..2], &hex[2..]));
    assert_eq!(fs::read(&path).unwrap(), b"bytes");
    assert_eq!(mode(&path), 0o600);
    for directory in ["store", "store/blobs", &format!("store/blobs/{}", &hex[..2])] {
        assert_eq!(mode(&world.path(directory)), 0o700, "{directory}");
    }
    assert_eq!(store.get(&digest, 5).unwrap(), b"bytes");
    let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(names, 1, "no temporary file is left");
}

#[test]
fn damaged_bytes_are_never_returned_and_are_mended_by_the_next_put() {
    let world = World::new();
    let store = Retention::open(&world.path("store")).unwrap();
    let digest = store.put(b"bytes").unwrap();
    fs::write(store.blob(&digest), "BYTES").unwrap();
    assert_eq!(store.get(&digest, 100).unwrap_err().code(), "damaged");
    store.put(b"bytes").unwrap();
    assert_eq!(store.get(&digest, 100).unwrap(), b"bytes");
}

#[test]
fn missing_and_oversized_bytes_are_read_errors() {
    let world = World::new();
    let store = Retention::open(&world.path("store")).unwrap();
    assert_eq!(store.get(&Digest::of(b"none"), 100).unwrap_err().code(), "read");
    let digest = store.put(b"bytes").unwrap();
    assert_eq!(store.get(&digest, 4).unwrap_err().code(), "read");
}

/// Kept bytes that others could change, or that lie elsewhere behind a link, passed verification.
#[test]
fn bytes_open_to_others_or_behind_a_link_are_refused() {
    let world = World::new();
    let store = Retention::open(&world.path("store")).unwrap();
    let digest = store.put(b"bytes").unwrap();
    let path = store.blob(&digest);
    let code = || store.get(&digest, 100).err().map(|error| error.code());
    let directories = [store.blobs(), path.parent().unwrap().to_owned()];
    for (place, closed, open) in [
        (&path, 0o600, 0o640),
        (&path, 0o600, 0o666),
        (&directories[0], 0o700, 0o701),
        (&directories[1], 0o700, 0o770),
    ] {
        fs::set_permissions(place, fs::Permissions::from_mode(open)).unwrap();
        assert_eq!(code(), Some("unsafe_path"), "{}", place.display());
        fs::set_permissions(place, fs::Permissions::from_mode(closed)).unwrap();
        assert_eq!(code(), None);
    }
    for place in [&path, &directories[1], &directories[0]] {
        let elsewhere = world.path("elsewhere");
        fs::rename(place, &elsewhere).unwrap();
        symlink(&elsewhere, place).unwrap();
        assert_eq!(code(), Some("unsafe_path"), "{}", place.display());
        if *place == directories[0] {
            assert_eq!(Retention::open(&world.path("store")).unwrap_err().code(), "unsafe_path");
        }
        fs::remove_file(place).unwrap();
        fs::rename(&elsewhere, place).unwrap();
    }
    assert_eq!(code(), None);
    // The next put mends what it finds open.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    store.put(b"bytes").unwrap();
    assert_eq!((code(), mode(&path)), (None, 0o600));
}

#[test]
fn a_store_open_to_others_or_behind_a_link_is_refused_and_left_as_it_is() {
    let world = World::new();
    let open = world.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(&open, world.path("link")).unwrap();
    let file = world.write("file", "");
    for path in [open.clone(), world.path("link"), file] {
        assert_eq!(Retention::open(&path).unwrap_err().code(), "unsafe_path");
    }
    assert_eq!(mode(&open), 0o755);
}

#[test]
fn a_replacement_that_cannot_be_made_leaves_the_old_file() {
    let world = World::new();
    let path = world.write("directory/file", "old");
    fs::create_dir(world.path("directory/target")).unwrap();
    // A directory cannot be replaced by a file.
    let error = replace_file(&world.path("directory/target"), b"new").unwrap_err();
    assert_eq!(error.code(), "write");
    replace_file(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(world.path("directory")).unwrap().count(), 2);
}
