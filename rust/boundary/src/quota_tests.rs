//! Tests of `quota`.

use super::*;
use std::fs;

#[test]
fn bytes_are_counted_once_and_what_cannot_be_counted_is_too_much() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(parent.path()).unwrap();
    let over = |most| Meter::new(&scratch, most).is_over();
    let mebibyte = 1 << 20;
    assert!(!over(mebibyte));
    fs::create_dir(scratch.home().join("inner")).unwrap();
    fs::write(scratch.home().join("inner/file"), vec![1; mebibyte as usize]).unwrap();
    fs::hard_link(scratch.home().join("inner/file"), scratch.temporary().join("again")).unwrap();
    assert!(over(mebibyte / 2));
    assert!(!over(3 * mebibyte / 2), "a file of two names was counted twice");
    // A hole takes no room.
    fs::File::create(scratch.temporary().join("hole"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert!(!over(3 * mebibyte / 2));
    let mut deep = scratch.home();
    for _ in 0..=DEEPEST {
        deep.push("d");
    }
    fs::create_dir_all(deep).unwrap();
    assert!(over(u64::MAX));
}

#[test]
fn what_was_found_above_stays_so() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(parent.path()).unwrap();
    let meter = Meter::new(&scratch, 1 << 20);
    assert_eq!(meter.look(), Flow::Continue);
    fs::write(scratch.home().join("file"), vec![1; 2 << 20]).unwrap();
    assert_eq!(meter.look(), Flow::Stop);
    fs::remove_file(scratch.home().join("file")).unwrap();
    assert!(meter.is_over());
}
