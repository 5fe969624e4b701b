use super::*;
use crate::testing::World;

#[test]
fn trap_9_the_executable_is_digested_only_when_it_is_pinned() {
    let world = World::new();
    let path = world.write("controller", "program");
    let unpinned = identify(&path, None).unwrap();
    assert_eq!(unpinned["digest"], Value::Null);
    assert_eq!((&unpinned["path"], &unpinned["bytes"]), (&json!(path), &json!(7)));
    // A file that can be looked at and not read shows that it is not read; a pin needs its bytes.
    let directory = world.path("");
    assert!(identify(&directory, None).is_ok());
    assert_eq!(identify(&directory, Some(Digest::of(b""))).unwrap_err().code(), "io");
    let pinned = identify(&path, Some(Digest::of(b"program"))).unwrap();
    assert_eq!(pinned["digest"], json!(Digest::of(b"program")));
    let error = identify(&path, Some(Digest::of(b"another"))).unwrap_err();
    assert_eq!(error.code(), "grant_mismatch");
    assert!(error.to_string().contains("expected_controller_digest"), "{error}");
}
