use super::*;
use crate::confine::git_place;
use crate::testing::World;
use rstest::rstest;
use std::fs;

#[test]
fn what_is_told_from_files_is_what_git_says() {
    let world = World::new();
    let checkout = world.repository();
    let detached = world.worktree("detached", None);
    let own = world.worktree("own", Some("microcoder/task-1/candidate"));
    for (name, repository) in [("repo", checkout), ("detached", detached), ("own", own)] {
        assert_eq!(
            place(&world.path(name)).unwrap(),
            Some(git_place(&repository)),
            "{name}"
        );
    }
    assert_eq!(place(&world.path("")).unwrap(), None);
    assert_eq!(place(&world.path("repo/absent")).unwrap(), None);
}

/// Makes `forged`, a directory whose `.git` a command wrote.
fn forged(world: &World, pointer: &str) -> Option<Place> {
    world.write(
        "forged/.git",
        pointer.replace("{world}", world.path("").to_str().unwrap()),
    );
    place(&world.path("forged")).unwrap()
}

#[rstest]
#[case::another_worktree("gitdir: {world}repo/.git/worktrees/tree\n")]
#[case::the_repository("gitdir: {world}repo/.git\n")]
#[case::outside("gitdir: /etc\n")]
#[case::nowhere("gitdir: /no/such/place\n")]
#[case::relative("gitdir: ../repo/.git/worktrees/tree\n")]
#[case::no_pointer("something else\n")]
#[case::empty("")]
#[case::endless(&format!("gitdir: {}", "/x".repeat(100_000)))]
fn a_forged_pointer_opens_nothing(#[case] pointer: &str) {
    let world = World::new();
    world.repository();
    world.worktree("tree", None);
    assert_eq!(forged(&world, pointer), None);
}

#[rstest]
#[case::entry_inside(true)]
#[case::entry_outside(false)]
fn a_made_up_repository_is_believed_only_where_git_would_put_it(#[case] inside: bool) {
    let world = World::new();
    let common = if inside { "forged/fake" } else { "fake" };
    for name in ["HEAD", "objects/x", "refs/x"] {
        world.write(&format!("{common}/{name}"), "ref: refs/heads/main\n");
    }
    let entry = format!("{common}/worktrees/entry");
    world.write(&format!("{entry}/commondir"), "../..\n");
    world.write(&format!("{entry}/HEAD"), "ref: refs/heads/main\n");
    world.write(&format!("{entry}/gitdir"), world.path("forged/.git").to_str().unwrap());
    let found = forged(&world, &format!("gitdir: {{world}}{entry}\n"));
    // One outside the workspace can only have been made by somebody who may write there.
    assert_eq!(found.is_none(), inside, "{found:?}");
    // An entry whose common directory lies elsewhere is not where Git puts entries.
    world.write(&format!("{entry}/commondir"), world.path("elsewhere").to_str().unwrap());
    assert_eq!(place(&world.path("forged")).unwrap(), None);
}

#[test]
fn links_and_pipes_are_not_read() {
    let world = World::new();
    world.repository();
    world.worktree("tree", None);
    world.write("other/file", "");
    std::os::unix::fs::symlink(world.path("repo/.git"), world.path("other/.git")).unwrap();
    assert_eq!(place(&world.path("other")).unwrap(), None);
    // Reading a pipe would wait for ever.
    let head = world.path("repo/.git/worktrees/tree/HEAD");
    fs::remove_file(&head).unwrap();
    let made = coder_process::Command::new("/usr/bin/mkfifo")
        .argument(&head)
        .capture(4096)
        .unwrap();
    assert!(made.success());
    let found = place(&world.path("tree")).unwrap();
    assert!(
        matches!(
            found,
            Some(Place::Linked(LinkedPlace {
                branch_directory: None,
                ..
            }))
        ),
        "{found:?}"
    );
    fs::remove_file(world.path("repo/.git/worktrees/tree/gitdir")).unwrap();
    let gitdir = world.path("repo/.git/worktrees/tree/gitdir");
    assert!(
        coder_process::Command::new("/usr/bin/mkfifo")
            .argument(&gitdir)
            .capture(4096)
            .unwrap()
            .success()
    );
    assert_eq!(place(&world.path("tree")).unwrap(), None);
}

#[rstest]
#[case::own("refs/heads/microcoder/task/candidate", true)]
#[case::main("refs/heads/main", false)]
#[case::flat("refs/heads/microcoder/candidate", false)]
#[case::deeper("refs/heads/microcoder/task/a/b", false)]
#[case::no_leaf("refs/heads/microcoder/task/", false)]
#[case::no_task("refs/heads/microcoder//x", false)]
#[case::up("refs/heads/microcoder/../x", false)]
#[case::here("refs/heads/microcoder/./x", false)]
#[case::linked("refs/heads/microcoder/linked/x", false)]
#[case::missing("refs/heads/microcoder/missing/x", false)]
fn only_the_branch_of_a_run_has_a_directory_of_its_own(#[case] reference: &str, #[case] own: bool) {
    let world = World::new();
    for place in ["git/refs/heads/microcoder", "git/logs/refs/heads/microcoder"] {
        fs::create_dir_all(world.path(place).join("task")).unwrap();
        std::os::unix::fs::symlink("/tmp", world.path(place).join("linked")).unwrap();
    }
    let expected = own.then(|| PathBuf::from("refs/heads/microcoder/task"));
    assert_eq!(own_branch(reference, &world.path("git")), expected);
}
