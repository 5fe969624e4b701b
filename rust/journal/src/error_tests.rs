use super::*;
use rstest::rstest;

/// A full disk was taken for one that is known before the record is whole, whatever it was that could not grow.
#[rstest]
#[case::log(13, false, "disk_full")]
#[case::busy(5, false, "store_busy")]
#[case::index(SHARED_MEMORY_SIZE, true, "disk_full")]
#[case::sync(10 | (4 << 8), true, "io")]
fn a_commit_is_doubtful_where_its_record_may_be_whole(#[case] code: i32, #[case] doubtful: bool, #[case] begun: &str) {
    let failure = || rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
    assert_eq!(Error::is_doubtful(&failure()), doubtful);
    assert_eq!(
        Error::database("begin to write", Path::new("/s"), failure()).code(),
        begun
    );
}
