//! Tests of `checkouts`: repositories as Git lays them out, written by hand.

use super::*;
use rstest::rstest;

#[rstest]
#[case::plain("[core]\n\tbare = false\n", false, None)]
#[case::bare("[core]\n\trepositoryformatversion = 0\n\tbare = true\n", true, None)]
#[case::bare_without_a_value("[core]\nbare\n", true, None)]
#[case::last_counts("[core]\nbare = true\nbare = false\n", false, None)]
#[case::another_section("[remote \"core\"]\n\tbare = true\n", false, None)]
#[case::any_case("[CORE]\n\tBare = Yes\n", true, None)]
#[case::one_line("[core] bare = on\n", true, None)]
#[case::submodule("[core]\n\tworktree = ../../../sub\n", false, Some("../../../sub"))]
#[case::quoted("[core]\n\tworktree = \"/a \\\"b\\\"\"\n", false, Some("/a \"b\""))]
fn settings(#[case] text: &str, #[case] bare: bool, #[case] worktree: Option<&str>) {
    let mut settings = Settings::default();
    settings.take(text.as_bytes());
    let worktree = worktree.map(PathBuf::from);
    assert_eq!(settings, Settings { bare, worktree });
}

fn repository(common: &Path, config: &str) {
    fs::create_dir_all(common.join("worktrees/mine")).unwrap();
    fs::create_dir_all(common.join("worktrees/other")).unwrap();
    fs::create_dir_all(common.join("worktrees/gone")).unwrap();
    fs::write(common.join("config"), config).unwrap();
}

#[test]
fn the_main_tree_and_the_other_worktrees_are_found_however_they_are_written() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let common = base.join("main/.git");
    repository(&common, "[core]\n\tbare = false\n");
    for name in ["mine", "other"] {
        fs::create_dir(base.join(name)).unwrap();
    }
    let pointer =
        |name: &str, text: String| fs::write(common.join("worktrees").join(name).join("gitdir"), text).unwrap();
    pointer("mine", format!("{}/mine/.git\n", base.display()));
    pointer("other", "../../../../other/.git\n".to_owned());
    pointer("gone", format!("{}/gone/.git\n", base.display()));
    let found = around(&common, &base.join("mine")).unwrap();
    assert_eq!(found, [base.join("main"), common, base.join("other")]);
}

#[rstest]
#[case::bare("[core]\n\tbare = true\n", Ok("git"))]
#[case::named("[core]\n\tworktree = ../checkout\n", Ok("checkout git"))]
#[case::named_and_gone("[core]\n\tworktree = ../nowhere\n", Ok("git"))]
#[case::a_directory_of_its_own("[core]\n\tbare = false\n", Err("source_unknown"))]
fn a_repository_apart_from_its_checkout(#[case] config: &str, #[case] expected: Result<&str, &str>) {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    repository(&base.join("git"), config);
    fs::create_dir(base.join("checkout")).unwrap();
    let found = around(&base.join("git"), &base.join("mine"));
    let expected = expected.map(|names| names.split(' ').map(|name| base.join(name)).collect::<Vec<_>>());
    assert_eq!(found.map_err(|error| error.code()), expected);
}
