use super::*;
use crate::fixture::World;
use std::fs;

#[test]
fn what_the_user_has_not_committed() {
    let world = World::new();
    let repository = world.repository("repo");
    assert!(repository.uncommitted(&world.git).unwrap().is_clean());
    world.write("repo/readme", "changed\n");
    world.write("repo/source/one.txt", "staged\n");
    world.run("repo", &["mv", "source/two.txt", "source/a name with spaces"]);
    world.run("repo", &["add", "source"]);
    world.write("repo/source/one.txt", "staged and changed\n");
    world.write("repo/new/file", "");
    world.write("repo/.gitignore", "ignored\n");
    world.write("repo/ignored/file", "");
    let index = fs::read(world.path("repo/.git/index")).unwrap();
    let paths = |names: &[&str]| names.iter().map(|name| BytePath::from(*name)).collect();
    let expected = Uncommitted {
        staged: paths(&["source/a name with spaces", "source/one.txt", "source/two.txt"]),
        modified: paths(&["readme", "source/one.txt"]),
        conflicted: paths(&[]),
        untracked: paths(&[".gitignore", "new/"]),
    };
    assert_eq!(repository.uncommitted(&world.git).unwrap(), expected);
    assert_eq!(
        fs::read(world.path("repo/.git/index")).unwrap(),
        index,
        "the index is left alone"
    );
    let ignored = repository.ignored_paths(&world.git).unwrap();
    assert!(ignored.contains(&"ignored/file".into()) && !ignored.contains(&"new/file".into()));
}

#[test]
fn records_of_the_machine_format() {
    let hashes = "1111 2222";
    let text = format!(
        "# branch.head main\01 .M N... 100644 100644 100644 {hashes} a b\02 R. N... 100644 100644 100644 {hashes} R100 new\0old\0u UU N... 1 2 3 4 5 6 7 both\0? some thing\0! ignored\0"
    );
    let paths = |names: &[&str]| names.iter().map(|name| BytePath::from(*name)).collect();
    let expected = Uncommitted {
        staged: paths(&["new"]),
        modified: paths(&["a b"]),
        conflicted: paths(&["both"]),
        untracked: paths(&["some thing"]),
    };
    assert_eq!(parse(text.as_bytes()), Some(expected));
    for broken in ["x what", "1 .M N... 100644", "1 M N... 1 2 3 4 5 path"] {
        assert_eq!(parse(broken.as_bytes()), None, "{broken}");
    }
}
