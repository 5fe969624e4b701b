//! Tests of `paths`.

use super::*;

fn granted(path: &str, mode: Mode, presence: Presence) -> Granted {
    Granted {
        role: "test",
        path: path.into(),
        source: None,
        kind: Kind::Directory,
        mode,
        presence,
    }
}

#[test]
fn outer_comes_before_inner_and_each_path_once_by_strength() {
    let same = Presence::Same(1, 2);
    let grants = vec![
        granted("/a/b/c", Mode::Read, same),
        granted("/a", Mode::Read, same),
        granted("/a", Mode::Write, same),
        granted("/a", Mode::Read, same),
        granted("/a/b/c", Mode::Read, Presence::Optional),
        granted("/a/b/c", Mode::Write, same),
    ];
    let expected = vec![
        granted("/a", Mode::Write, same),
        granted("/a/b/c", Mode::Read, Presence::Optional),
    ];
    assert_eq!(ordered(grants), expected);
}

#[test]
fn links_are_resolved_before_anything_is_compared() {
    let base = tempfile::tempdir().unwrap();
    let real = base.path().canonicalize().unwrap().join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink("real", base.path().join("link")).unwrap();
    let policy = Policy {
        sealed: vec![base.path().join("link")],
        ..Policy::default()
    };
    let write = grant("write", &real, Mode::Write).unwrap();
    assert!(matches!(sealed(&policy, &[write]), Err(Error::MeetsSealed { sealed, .. }) if sealed == real));
}
