//! Tests of `guards`.

use super::*;

#[test]
fn what_changes_beneath_a_path_shows_and_what_stays_does_not() {
    let place = tempfile::tempdir().unwrap();
    let hooks = place.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    fs::write(hooks.join("pre-commit"), "exit 0").unwrap();
    let watch = || Absent {
        names: vec![place.path().join("config.worktree")],
        unheld: vec![(hooks.clone(), content(&hooks))],
    };
    let (unchanged, written, appeared) = (watch(), watch(), watch());
    assert_eq!(unchanged.appeared(), Vec::<PathBuf>::new());
    fs::write(hooks.join("pre-commit"), "exit 1").unwrap();
    assert_eq!(written.appeared(), std::slice::from_ref(&hooks));
    fs::write(place.path().join("config.worktree"), "").unwrap();
    fs::write(hooks.join("pre-commit"), "exit 0").unwrap();
    assert_eq!(appeared.appeared(), [place.path().join("config.worktree")]);
}
