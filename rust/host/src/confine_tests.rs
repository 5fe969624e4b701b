use super::*;
use crate::testing::World;
use rstest::rstest;

fn described(repository: &Repository, workspace_access: WorkspaceAccess, network: &Network) -> String {
    described_with(repository, Access::Boundary, workspace_access, network)
}

fn described_with(
    repository: &Repository,
    access: Access,
    workspace_access: WorkspaceAccess,
    network: &Network,
) -> String {
    let confine = Confine {
        repository,
        access,
        network: None,
        nested: &[],
        workspace_access,
        store: Path::new("/nonexistent"),
        resources: coder_boundary::Resources::default(),
        require: coder_boundary::Level::Complete,
        environment: &|_| None,
        credentials: Vec::new(),
    };
    describe(&confine, Path::new("/usr/bin/bash"), network)
}

#[test]
fn the_whole_description_of_a_runs_own_worktree() {
    let world = World::new();
    world.repository();
    let repository = world.worktree("tree", Some("microcoder/task-1/candidate"));
    let expected = format!(
        "Working directory: {}, a Git checkout on branch refs/heads/microcoder/task-1/candidate at {}. You may change \
         files below it; everything else is read-only or absent.\n\
         Each command is one script for /usr/bin/bash, in a process tree of its own that ends with it; a command may take \
         300 seconds.\n\
         HOME and the directory for temporary files are private, and stay from command to command.\n\
         There is no network: nothing can be downloaded, and only a loopback of your own exists.\n\
         Git works: status, diff, add, commit on this branch. Other branches, configuration and hooks are read-only; that \
         Git cannot create packed-refs.lock after a commit means nothing.\n\
         A denied path shows as a missing file or as \"Permission denied\" or \"Read-only file system\".",
        world.path("tree").display(),
        repository.head.commit().unwrap(),
    );
    assert_eq!(described(&repository, WorkspaceAccess::Write, &Network::None), expected);
}

#[test]
fn full_access_is_described_with_what_it_leaves_out() {
    let world = World::new();
    world.repository();
    let repository = world.worktree("tree", None);
    let text = described_with(&repository, Access::Full, WorkspaceAccess::Write, &Network::Host);
    assert!(
        text.contains("whatever else this user may change, but not the checkout it was made from"),
        "{text}"
    );
    assert!(text.contains("HOME and the environment are the person's own"), "{text}");
    assert!(!text.contains("private"), "{text}");
}

#[rstest]
#[case::detached(None, WorkspaceAccess::Write, "Commits work on a detached HEAD only")]
#[case::somebody_elses(Some("feature/x"), WorkspaceAccess::Write, "Commits work on a detached HEAD only")]
#[case::deeper(
    Some("microcoder/a/b/c"),
    WorkspaceAccess::Write,
    "Commits work on a detached HEAD only"
)]
#[case::read(None, WorkspaceAccess::Read, "Git can be read.")]
fn trap_n_what_git_can_do_is_said(#[case] branch: Option<&str>, #[case] access: WorkspaceAccess, #[case] said: &str) {
    let world = World::new();
    world.repository();
    let repository = world.worktree("tree", branch);
    let text = described(&repository, access, &Network::Host);
    assert!(text.contains(said) && text.contains("The network is open."), "{text}");
}

#[test]
fn the_hosts_of_a_list_are_named() {
    let world = World::new();
    world.repository();
    let repository = world.worktree("tree", None);
    let network = "allow:a.test:443,b.test:80".parse().unwrap();
    let text = described(&repository, WorkspaceAccess::Read, &network);
    let said = "The network is what the proxy variables of the environment lead to: a.test:443,b.test:80. Any other host \
                or port is refused there, and nothing else leads out.";
    assert!(text.lines().any(|line| line == said), "{text}");
}

#[test]
fn only_the_runs_own_branch_has_a_directory_that_commands_may_change() {
    let world = World::new();
    let checkout = world.repository();
    let git_dir = world.path("repo/.git");
    assert_eq!(git_place(&checkout), Place::Checkout(git_dir.clone()));
    let own = world.worktree("tree", Some("microcoder/task-1/candidate"));
    let linked = LinkedPlace {
        worktree: world.path("tree"),
        common_directory: git_dir.clone(),
        admin: git_dir.join("worktrees/tree"),
        branch_directory: Some("refs/heads/microcoder/task-1".into()),
    };
    assert_eq!(git_place(&own), Place::Linked(linked.clone()));
    // Packed away, the reference leaves no directory that could be shown.
    world.git("repo", &["pack-refs", "--all"]);
    let packed = LinkedPlace {
        branch_directory: None,
        ..linked
    };
    assert_eq!(git_place(&world.identify("tree")), Place::Linked(packed));
}
