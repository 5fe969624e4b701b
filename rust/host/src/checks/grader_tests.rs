use super::*;
use crate::testing::{World, clock};
use rstest::rstest;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A part that was changed by `change` after it was taken, and what is found of it.
fn after(part: &str, change: impl FnOnce(&World)) -> Sameness {
    let world = World::new();
    world.write("suite.sh", "one");
    world.write("data/expected", "two");
    let part = GraderPart::take(&world.path(part), 1024, clock().as_ref()).unwrap();
    change(&world);
    part.sameness(clock().as_ref())
}

#[rstest]
#[case::untouched(|_: &World| {}, Sameness::Unchanged)]
#[case::other_bytes(|w: &World| drop(w.write("suite.sh", "three")), Sameness::Changed)]
#[case::same_bytes_written_again(|w: &World| drop(w.write("suite.sh", "one")), Sameness::Changed)]
#[case::replaced(|w: &World| { w.write("new", "one"); fs::rename(w.path("new"), w.path("suite.sh")).unwrap(); }, Sameness::Changed)]
#[case::removed(|w: &World| fs::remove_file(w.path("suite.sh")).unwrap(), Sameness::Changed)]
#[case::mode(|w: &World| fs::set_permissions(w.path("suite.sh"), fs::Permissions::from_mode(0o777)).unwrap(), Sameness::Changed)]
#[case::now_a_link(|w: &World| { fs::rename(w.path("suite.sh"), w.path("old")).unwrap(); symlink("old", w.path("suite.sh")).unwrap(); }, Sameness::Changed)]
fn a_file_is_the_one_that_was_taken_or_not(#[case] change: fn(&World), #[case] expected: Sameness) {
    assert_eq!(after("suite.sh", change), expected);
}

#[rstest]
#[case::untouched(|_: &World| {}, Sameness::Unchanged)]
#[case::other_bytes(|w: &World| drop(w.write("data/expected", "three")), Sameness::Changed)]
#[case::one_more(|w: &World| drop(w.write("data/more", "")), Sameness::Changed)]
#[case::gone(|w: &World| fs::remove_dir_all(w.path("data")).unwrap(), Sameness::Unobservable)]
fn a_directory_is_the_one_that_was_taken_or_not(#[case] change: fn(&World), #[case] expected: Sameness) {
    assert_eq!(after("data", change), expected);
}

#[test]
fn a_link_a_pipe_and_a_file_too_large_are_not_taken() {
    let world = World::new();
    world.write("suite.sh", "x".repeat(1025));
    symlink("suite.sh", world.path("link")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, world.path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for name in ["suite.sh", "link", "pipe", "missing"] {
        let error = GraderPart::take(&world.path(name), 1024, clock().as_ref()).unwrap_err();
        assert_eq!(error.code(), "io", "{name}");
    }
    assert!(GraderFile::open(&world.path("suite.sh"), 1025).is_ok());
}
