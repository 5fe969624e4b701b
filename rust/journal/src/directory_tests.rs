use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn code<T>(result: Result<T, Error>) -> &'static str {
    result.err().map_or("accepted", |error| error.code())
}

#[test]
fn missing_parents_are_made_private() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("a/b/store");
    let opened = PrivateDirectory::open(&path, Missing::Create).unwrap();
    assert_eq!(opened.path(), path.canonicalize().unwrap());
    for made in ["a", "a/b", "a/b/store"] {
        assert_eq!(mode(&home.path().join(made)), 0o700);
    }
    let absent = PrivateDirectory::open(&home.path().join("other"), Missing::Refuse);
    assert_eq!(code(absent), "io");
    assert!(!home.path().join("other").exists());
}

#[test]
fn what_is_not_private_is_refused_and_left_as_it_is() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("store");
    PrivateDirectory::open(&path, Missing::Create).unwrap();
    for open in [0o750, 0o701, 0o720] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
        assert_eq!(code(PrivateDirectory::open(&path, Missing::Create)), "unsafe_path");
        assert_eq!(mode(&path), open);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = home.path().join("link");
    symlink(&path, &link).unwrap();
    assert_eq!(code(PrivateDirectory::open(&link, Missing::Create)), "unsafe_path");
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(code(PrivateDirectory::open(&file, Missing::Create)), "unsafe_path");
    let dangling = home.path().join("dangling");
    symlink(home.path().join("nowhere"), &dangling).unwrap();
    assert_eq!(code(PrivateDirectory::open(&dangling, Missing::Create)), "unsafe_path");
    assert!(!home.path().join("nowhere").exists());
}

#[test]
fn files_are_private_single_and_regular() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("store");
    let directory = PrivateDirectory::open(&path, Missing::Create).unwrap();
    assert!(directory.file("f", Missing::Refuse).unwrap().is_none());
    assert!(directory.file("f", Missing::Create).unwrap().is_some());
    assert_eq!(mode(&path.join("f")), 0o600);
    fs::hard_link(path.join("f"), path.join("g")).unwrap();
    symlink(path.join("f"), path.join("h")).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        path.join("p"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    fs::create_dir(path.join("d")).unwrap();
    fs::write(path.join("o"), "").unwrap();
    fs::set_permissions(path.join("o"), fs::Permissions::from_mode(0o640)).unwrap();
    for name in ["g", "h", "p", "o"] {
        assert_eq!(code(directory.file(name, Missing::Refuse)), "unsafe_path", "{name}");
        assert_eq!(code(directory.check_name(name)), "unsafe_path", "{name}");
    }
    assert_eq!(code(directory.check_name("d")), "unsafe_path");
    assert_eq!(directory.check_name("absent").ok(), Some(false));
}
