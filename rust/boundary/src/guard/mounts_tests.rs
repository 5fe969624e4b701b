//! Tests of `mounts`: aliases in a described table, the paths of which exist in a temporary directory.

use super::*;
use rstest::rstest;

#[rstest]
#[case(b"/plain", "/plain")]
#[case(b"/a\\040b\\134c", "/a b\\c")]
#[case(b"/end\\04", "/end\\04")]
#[case(b"\\", "\\")]
fn escapes(#[case] field: &[u8], #[case] expected: &str) {
    assert_eq!(unescaped(field), Path::new(expected));
}

/// `B` stands for the base directory.
fn table(base: &Path, lines: &[&str]) -> Mounts {
    let text: Vec<String> = lines
        .iter()
        .map(|line| line.replace('B', base.to_str().unwrap()))
        .collect();
    Mounts::parse(text.join("\n").as_bytes())
}

#[rstest]
#[case::none(&["27 1 254:0 / / rw - ext4 /dev/vda rw"], &[])]
#[case::another_filesystem(&["27 1 254:0 / / rw - ext4 x rw", "28 1 254:1 / B/alias rw - ext4 y rw"], &[])]
#[case::whole(
    &["27 1 254:0 / / rw - ext4 x rw", "28 1 254:0 B B/alias rw - ext4 x rw"],
    &["alias/repo"]
)]
#[case::the_tree_itself(
    &["27 1 254:0 / / rw - ext4 x rw", "28 1 254:0 B/repo B/alias rw shared:1 - ext4 x rw"],
    &["alias"]
)]
#[case::a_part(
    &["27 1 254:0 / / rw - ext4 x rw", "28 1 254:0 B/repo/part B/alias rw - ext4 x rw"],
    &["alias"]
)]
#[case::mounted_in_the_tree(
    &["27 1 254:0 / / rw - ext4 x rw", "28 1 254:0 B/repo B/repo/part rw - ext4 x rw"],
    &[]
)]
#[case::a_tree_on_a_mount_of_its_own(
    &["27 1 254:0 / / rw - ext4 x rw", "28 1 254:9 /volume B/repo rw - btrfs x rw", "29 1 254:9 /volume B/alias rw - btrfs x rw"],
    &["alias"]
)]
fn aliases(#[case] lines: &[&str], #[case] expected: &[&str]) {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("repo/part")).unwrap();
    fs::create_dir_all(base.join("alias/repo")).unwrap();
    let expected: Vec<PathBuf> = expected.iter().map(|name| base.join(name)).collect();
    assert_eq!(table(&base, lines).aliases(&base.join("repo")), expected);
}

#[test]
fn every_place_of_process_files_is_found_and_a_part_of_one_is_none() {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("proc")).unwrap();
    let mounts = table(
        base.path(),
        &[
            "22 27 0:21 / /proc rw - proc proc rw",
            "23 27 0:21 /sys /proc/sys ro - proc proc rw",
            "24 27 0:22 / B/proc rw - proc proc rw",
            "25 27 0:22 / B/gone rw - proc proc rw",
        ],
    );
    assert_eq!(
        mounts.process_files(),
        [PathBuf::from("/proc"), base.path().join("proc")]
    );
}
