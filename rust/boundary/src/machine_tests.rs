//! Tests of `machine`, on the machine it runs on.

use super::*;
use rstest::rstest;

#[test]
fn secrets_of_etc_are_not_among_the_parts() {
    let parts = parts(&Network::Host, Liveness::Prepared).unwrap();
    let shown = |path: &str| parts.iter().any(|part| Path::new(path).starts_with(&part.path));
    for secret in [
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/sudoers",
        "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssl/private/key",
    ] {
        assert!(!shown(secret), "{secret}");
    }
    assert!(shown("/etc/passwd") && shown("/usr/bin/env"));
}

#[test]
fn what_is_not_for_everybody_is_left_out() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir(base.join("small")).unwrap();
    fs::set_permissions(base.join("small"), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, mode) in [("small/open", 0o644), ("small/private", 0o600), ("private", 0o640)] {
        fs::write(base.join(name), name).unwrap();
        fs::set_permissions(base.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", base.join("dangling")).unwrap();
    let mut shown = Vec::new();
    for name in ["small", "private", "dangling", "missing"] {
        show(&base.join(name), Known::ByPattern, Liveness::Prepared, &mut shown).unwrap();
    }
    let expected = vec![
        Part {
            path: base.join("small"),
            appearance: Appearance::Directory,
        },
        Part {
            path: base.join("small/open"),
            appearance: Appearance::Copied(b"small/open".to_vec()),
        },
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_directory_of_the_table_is_mounted_without_a_look_inside() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("fonts/conf.d")).unwrap();
    fs::set_permissions(base.join("fonts"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut shown = Vec::new();
    show(&base.join("fonts"), Known::ByName, Liveness::Prepared, &mut shown).unwrap();
    let expected = Part {
        path: base.join("fonts"),
        appearance: Appearance::Mounted {
            source: base.join("fonts"),
            directory: true,
        },
    };
    assert_eq!(shown, [expected]);
}

#[test]
fn a_pattern_stands_for_every_ending() {
    let base = tempfile::tempdir().unwrap();
    for name in ["jav", "java-17", "java", "python3", "x"] {
        fs::write(base.path().join(name), "").unwrap();
    }
    let table = ["java*", "missing", "x/y"];
    let names = names(base.path(), &table).unwrap();
    assert_eq!(
        wanted(&table, &names),
        [
            ("java", Known::ByPattern),
            ("java-17", Known::ByPattern),
            ("missing", Known::ByName),
            ("x/y", Known::ByName)
        ]
        .map(|(path, known)| (PathBuf::from(path), known))
    );
}

#[rstest]
#[case::everything_for_everybody(&[("directory/deep/file", 0o644), ("directory/file", 0o644)], true)]
#[case::one_file_for_its_owner(&[("directory/deep/file", 0o600), ("directory/file", 0o644)], false)]
fn a_directory_is_mounted_where_nothing_in_it_is_for_its_owner_alone(
    #[case] files: &[(&str, u32)],
    #[case] mounted: bool,
) {
    let base = tempfile::tempdir().unwrap();
    for (name, mode) in files {
        let path = base.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
    }
    for directory in ["directory/deep", "directory"] {
        fs::set_permissions(base.path().join(directory), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let directory = base.path().join("directory");
    assert_eq!(better_mounted(&directory, &mut 32).unwrap(), mounted);
}
