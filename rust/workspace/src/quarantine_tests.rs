use super::*;
use crate::fixture::World;
use rstest::rstest;
use std::os::unix::fs::symlink;

fn place(world: &World) -> LinkedPlace {
    world.repository("repo");
    let tree = world.path("tree");
    world.run(
        "repo",
        &[
            "worktree",
            "add",
            "-q",
            "-b",
            "microcoder/run/candidate",
            tree.to_str().unwrap(),
        ],
    );
    let common_directory = world.path("repo/.git");
    LinkedPlace {
        worktree: tree,
        admin: common_directory.join("worktrees/tree"),
        common_directory,
        branch_directory: Some("refs/heads/microcoder/run".into()),
    }
}

fn create(world: &World, place: &LinkedPlace) -> Quarantine {
    Quarantine::create(&world.path("git"), place, Path::new("/shown"))
        .unwrap()
        .unwrap()
}

#[test]
fn it_holds_what_git_needs_and_no_lock_and_no_submodule() {
    let world = World::new();
    let place = place(&world);
    for name in ["index.lock", "modules/sub/config", "info/sparse-checkout"] {
        world.write(&format!("repo/.git/worktrees/tree/{name}"), "x");
    }
    symlink("/etc/passwd", place.admin.join("link")).unwrap();
    let quarantine = create(&world, &place);
    let there = |name: &str| world.path("git").join(name).exists();
    let expected = [
        "admin/HEAD",
        "admin/index",
        "admin/info/sparse-checkout",
        "admin/modules",
        "references/candidate",
        "logs/candidate",
    ];
    assert_eq!(expected.map(there), [true; 6]);
    assert_eq!(
        ["admin/index.lock", "admin/modules/sub", "admin/link"].map(there),
        [false; 3]
    );
    let alternates = std::fs::read_to_string(world.path("git/objects/info/alternates")).unwrap();
    assert_eq!(alternates, "\"/shown\"\n");
    assert_eq!(quarantine.place(), place);
    assert!(quarantine.left().unwrap().is_nothing());
}

#[test]
fn it_is_found_again_once_its_host_is_gone() {
    let world = World::new();
    let place = place(&world);
    let quarantine = create(&world, &place);
    let directory = world.path("git");
    assert!(matches!(Quarantine::reopen(&directory).unwrap(), Reopened::InUse));
    let record = quarantine.record.clone();
    drop(quarantine);
    let Reopened::Left(again) = Quarantine::reopen(&directory).unwrap() else {
        panic!()
    };
    assert_eq!((again.record.clone(), again.place()), (record, place.clone()));
    drop(again);
    let text = std::fs::read(directory.join("record.json")).unwrap();
    std::fs::remove_file(directory.join("record.json")).unwrap();
    assert!(matches!(Quarantine::reopen(&directory).unwrap(), Reopened::Unfinished));
    let newer = String::from_utf8(text.clone())
        .unwrap()
        .replace("quarantine.v1", "quarantine.v2");
    std::fs::write(directory.join("record.json"), newer).unwrap();
    assert_eq!(Quarantine::reopen(&directory).unwrap_err().code(), "unsupported_schema");
    std::fs::write(directory.join("record.json"), text).unwrap();
    std::fs::remove_dir_all(&place.admin).unwrap();
    assert!(matches!(
        Quarantine::reopen(&directory).unwrap(),
        Reopened::WorktreeGone
    ));
    Quarantine::remove_at(&directory).unwrap();
    assert!(!directory.exists());
}

#[rstest]
#[case::plain("candidate", "2222222222222222222222222222222222222222\n", 1)]
#[case::new("other", "2222222222222222222222222222222222222222\n", 1)]
#[case::symbolic("other", "ref: refs/heads/main\n", 0)]
#[case::short("other", "2222\n", 0)]
#[case::long("other", &"2".repeat(100_000), 0)]
#[case::lock("other.lock", "2222222222222222222222222222222222222222\n", 0)]
#[case::hidden(".other", "2222222222222222222222222222222222222222\n", 0)]
#[case::odd("o t", "2222222222222222222222222222222222222222\n", 0)]
fn only_what_is_a_reference_is_read_as_one(#[case] name: &str, #[case] content: &str, #[case] found: usize) {
    let world = World::new();
    let quarantine = create(&world, &place(&world));
    std::fs::write(world.path("git/references").join(name), content).unwrap();
    assert_eq!(quarantine.left().unwrap().references.len(), found);
}

#[test]
fn links_and_pipes_are_not_followed_and_not_waited_for() {
    let world = World::new();
    let quarantine = create(&world, &place(&world));
    let secret = world.write("secret", "2222222222222222222222222222222222222222\n");
    for name in ["references/link", "admin/HEAD", "admin/index"] {
        let path = world.path("git").join(name);
        let _ = std::fs::remove_file(&path);
        symlink(&secret, &path).unwrap();
    }
    let pipe = world.path("git/references/pipe");
    let made = coder_process::Command::new("/usr/bin/mkfifo")
        .argument(&pipe)
        .capture(4096)
        .unwrap();
    assert!(made.success());
    let expected = Left {
        head: HeadLeft::Unusable,
        references: BTreeMap::new(),
        index: IndexLeft::Unusable("it is no plain file".to_owned()),
        unfinished: Vec::new(),
    };
    assert_eq!(quarantine.left().unwrap(), expected);
}

#[rstest]
#[case::gone("/no/such/store\n", Some(vec![]))]
#[case::comment("# a comment\n\n", Some(vec![]))]
#[case::quoted("\"{world}/o\\144d \\\"x\\\"\"\n", Some(vec!["od d \"x\"".replace("od d", "odd")]))]
#[case::no_store("{world}/repo\n", None)]
#[case::a_home("/root\n", None)]
fn the_stores_of_a_list(#[case] list: &str, #[case] expected: Option<Vec<String>>) {
    let world = World::new();
    let place = place(&world);
    for name in ["info/x", "pack/x"] {
        world.write(&format!("odd \"x\"/{name}"), "");
    }
    let list = list.replace("{world}", world.path("").to_str().unwrap().trim_end_matches('/'));
    world.write("repo/.git/objects/info/alternates", list);
    match (
        Quarantine::create(&world.path("git"), &place, Path::new("/shown")),
        expected,
    ) {
        (Ok(Some(made)), Some(expected)) => {
            let expected: Vec<PathBuf> = expected.iter().map(|name| world.path(name)).collect();
            assert_eq!(made.borrowed(), expected);
        }
        (Err(error), None) => {
            assert_eq!(error.code(), "borrowed_objects");
            assert!(!world.path("git").exists());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_base_is_told_from_the_files_alone() {
    let world = World::new();
    let place = place(&world);
    let commit: CommitId = world.run("tree", &["rev-parse", "HEAD"]).trim().parse().unwrap();
    let told = || Record::of(&place).unwrap();
    let loose = told();
    assert_eq!(loose.base.as_ref(), Some(&commit));
    world.run("repo", &["pack-refs", "--all"]);
    std::fs::create_dir_all(world.path("repo/.git/refs/heads/microcoder/run")).unwrap();
    assert_eq!(told(), loose);
    world.run("tree", &["checkout", "-q", "--detach"]);
    assert_eq!(told().base, Some(commit));
}

#[test]
fn a_removal_that_was_interrupted_leaves_nothing_to_take_over() {
    let world = World::new();
    drop(create(&world, &place(&world)));
    let directory = world.path("git");
    // A link in its place stands for the kill: of what it leads to, only the record is removed.
    let elsewhere = world.path("elsewhere");
    std::fs::rename(&directory, &elsewhere).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    Quarantine::remove_at(&directory).unwrap();
    assert!(elsewhere.join("objects").is_dir());
    assert!(matches!(Quarantine::reopen(&elsewhere).unwrap(), Reopened::Unfinished));
}
