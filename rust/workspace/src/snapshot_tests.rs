use super::*;
use coder_digest::json;
use proptest::prelude::*;

fn entry(path: &str, kind: Kind, mode: u32) -> Entry {
    Entry {
        path: BytePath::from(path),
        kind,
        mode,
        inode: FileId {
            device: 7,
            inode: u64::MAX,
        },
        born: Some(FileTime(-1, 999_999_999)),
    }
}

fn file(content: &[u8]) -> Kind {
    Kind::File {
        length: content.len() as u64,
        digest: Digest::of(content),
        modified: FileTime(1_796_040_000, 123_456_789),
    }
}

fn sample() -> Snapshot {
    let entries = vec![
        entry("", Kind::Directory, 0o755),
        entry("a-b", file(b""), 0o644),
        entry("a", Kind::Directory, 0o700),
        entry("a/run.sh", file(b"echo hello\n"), 0o755),
        entry("pipe", Kind::Other { word: "fifo".into() }, 0o600),
        Entry {
            path: BytePath::new(*b"\xff"),
            ..entry(
                "",
                Kind::Symlink {
                    target: "a/run.sh".into(),
                },
                0o777,
            )
        },
    ];
    Snapshot::new("/work".into(), entries, Vec::new(), 0)
}

/// The published vector of the digest: the bytes are put together here by hand, from the rule as it is documented.
#[test]
fn the_digest_of_the_published_vector() {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"\0directory\xed\x01\0\0\xff");
    bytes.extend_from_slice(b"a\0directory\xc0\x01\0\0\xff");
    bytes.extend_from_slice(b"a/run.sh\0file\x0b\0\0\0\0\0\0\0");
    bytes.extend_from_slice(Digest::of(b"echo hello\n").as_bytes());
    bytes.extend_from_slice(b"\xed\x01\0\0\xff");
    bytes.extend_from_slice(b"a-b\0file\0\0\0\0\0\0\0\0");
    bytes.extend_from_slice(Digest::of(b"").as_bytes());
    bytes.extend_from_slice(b"\xa4\x01\0\0\xff");
    bytes.extend_from_slice(b"pipe\0fifo\x80\x01\0\0\xff");
    bytes.extend_from_slice(b"\xff\0symlinka/run.sh\xff\x01\0\0\xff");
    let digest = sample().digest();
    assert_eq!(digest, Digest::of(&bytes));
    assert_eq!(
        digest.hex(),
        "d490f208c2048dcc8e9e6a819704be841bd0dae94ea84fa64af2218fd7664748"
    );
}

#[test]
fn times_and_inodes_do_not_enter_the_digest_but_are_compared() {
    let mut other = sample();
    for entry in &mut other.entries {
        entry.inode.inode = 1;
        entry.born = None;
    }
    assert_eq!(other.digest(), sample().digest());
    assert_ne!(other, sample());
}

#[test]
fn faults_enter_the_digest_and_make_it_incomplete() {
    let fault = Fault::Changed { path: "a".into() };
    let faulted = Snapshot::new("/work".into(), sample().entries, vec![fault], 0);
    assert!(!faulted.is_complete());
    assert_ne!(faulted.digest(), sample().digest());
}

#[test]
fn entries_are_found_by_path() {
    let snapshot = sample();
    assert_eq!(snapshot.entry(b"a/run.sh").map(|entry| entry.mode), Some(0o755));
    assert_eq!(snapshot.entry(b"").map(|entry| entry.mode), Some(0o755));
    assert_eq!(snapshot.entry(b"a/run"), None);
    assert_eq!(snapshot.content_bytes(), 11);
}

#[test]
fn a_kept_snapshot_reads_back_as_it_was_in_strict_json() {
    let fault = Fault::Read {
        path: "b".into(),
        reason: "no".into(),
    };
    let snapshot = Snapshot::new("/work".into(), sample().entries, vec![fault], 3);
    let text = json::canonical_of(&snapshot).unwrap();
    let read: Snapshot = json::parse_as(text.as_bytes(), json::Limit::RECORD).unwrap();
    assert_eq!(read, snapshot);
}

#[test]
fn a_kept_snapshot_that_was_edited_is_refused() {
    let text = json::canonical_of(&sample()).unwrap();
    for (from, to) in [
        ("\"mode\":493", "\"mode\":511"),
        ("workspace-snapshot.v1", "workspace-snapshot.v2"),
        ("\"path\":\"pipe\"", "\"path\":\"a/pipe\""),
        ("\"faults\":[]", "\"faults\":[{\"fault\":\"changed\",\"path\":\"a\"}]"),
    ] {
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text);
        assert!(
            json::parse_as::<Snapshot>(edited.as_bytes(), json::Limit::RECORD).is_err(),
            "{to}"
        );
    }
}

/// Report 15: a repository inside the workspace brings hooks that run once somebody uses it.
#[test]
fn report_15_nested_repositories_are_listed_at_every_depth() {
    let entries = [
        "",
        ".git",
        "vendor",
        "vendor/x",
        "vendor/x/.git",
        "vendor/x/.git/hooks",
        "vendor/x/a.git",
    ]
    .map(|path| entry(path, Kind::Directory, 0o755));
    let snapshot = Snapshot::new("/work".into(), entries.to_vec(), Vec::new(), 0);
    assert_eq!(snapshot.nested_repositories(), [BytePath::from("vendor/x")]);
}

proptest! {
    /// The order is the one of `std::path`, which compares by components.
    #[test]
    fn paths_are_ordered_by_component(left in "[a-]{1,2}(/[a-]{1,2}){0,3}", right in "[a-]{1,2}(/[a-]{1,2}){0,3}") {
        let expected = std::path::Path::new(&left).cmp(std::path::Path::new(&right));
        prop_assert_eq!(by_component(left.as_bytes(), right.as_bytes()), expected);
    }
}
