use super::*;
use rstest::rstest;

#[rstest]
#[case("t.grant.json", "t", true)]
#[case("t-1.grant.json", "t", false)]
#[case("t-1.grant.json", "t-1", true)]
#[case("launch-t-1234-99.jsonl", "t", true)]
#[case("repository-launch-t-1234-99.grant.json", "t", true)]
// Of `t-1234` or of `t`: both keep it.
#[case("repository-launch-t-1234-5-99.jsonl", "t", true)]
#[case("repository-launch-t-1234-5-99.jsonl", "t-1234", true)]
#[case("repository-launch-u-1234-99.jsonl", "t", false)]
#[case("tt.grant.json", "t", false)]
fn whose_launch_a_file_is_of(#[case] file: &str, #[case] task: &str, #[case] expected: bool) {
    assert_eq!(is_launch_of(file, task), expected);
}

#[rstest]
#[case(".manifest-ab.json.4321-0", Some(4321))]
#[case(".snapshot-digests.bin.17-3", Some(17))]
#[case(".tmpAbC123", None)]
#[case(".journal.db.new-wal", None)]
#[case(".x.12-y", None)]
fn who_writes_an_unfinished_file(#[case] name: &str, #[case] process: Option<u32>) {
    assert_eq!(writer(name), process);
}

#[test]
fn only_the_spelling_that_is_written_is_a_name() {
    let written = Digest::of(b"x");
    assert_eq!(
        manifest_digest(format!("manifest-{}.json", written.hex()).as_bytes()),
        Some(written)
    );
    assert_eq!(manifest_digest(format!("manifest-{written}.json").as_bytes()), None);
    assert_eq!(manifest_digest(b"manifest-.json"), None);
    assert_eq!(manifest_digest(b"manifest-\xff.json"), None);
}
