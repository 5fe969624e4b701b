//! Tests of `scratch`.

use super::*;
use std::os::unix::fs::MetadataExt;

#[test]
fn it_is_private_and_goes_with_its_value() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(parent.path()).unwrap();
    let (directory, root) = (scratch.path().to_path_buf(), scratch.root().to_path_buf());
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
    let private = root.parent().unwrap().to_path_buf();
    assert_eq!(fs::metadata(&private).unwrap().mode() & 0o777, 0o700);
    drop(scratch);
    assert!(!directory.exists() && !private.exists());
}

#[test]
fn hostile_content_goes_too() {
    let parent = tempfile::tempdir().unwrap();
    let kept = parent.path().join("kept");
    fs::write(&kept, "").unwrap();
    let scratch = Scratch::create(parent.path()).unwrap();
    let home = scratch.home();
    symlink(parent.path(), home.join("link")).unwrap();
    fs::create_dir_all(home.join("moved-0/locked")).unwrap();
    fs::write(home.join("moved-0/locked/file"), "").unwrap();
    fs::set_permissions(home.join("moved-0/locked"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(home.join("moved-0"), Permissions::from_mode(0o000)).unwrap();
    // Deeper than any path can be, and than descriptors can be open at a time.
    let mut deep = open_directory(rustix::fs::CWD, home.as_path()).unwrap();
    for _ in 0..3000 {
        rustix::fs::mkdirat(&deep, "deep-directory", Mode::RWXU).unwrap();
        deep = open_directory(deep.as_fd(), "deep-directory").unwrap();
    }
    scratch.remove().unwrap();
    assert!(kept.exists());
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
}

#[test]
fn a_parent_that_is_not_there_is_refused() {
    assert_eq!(
        Scratch::create(Path::new("/nonexistent")).unwrap_err().code(),
        "path_unusable"
    );
}
