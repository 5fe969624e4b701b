use super::*;
use crate::confine::git_place;
use crate::testing::World;
use coder_boundary::{Ground, Mode, Scratch, Workspace};
use coder_workspace::{Moved, Repository};
use rstest::rstest;
use std::fs;

const BRANCH: &str = "microcoder/task-1/candidate";
const REFERENCE: &str = "refs/heads/microcoder/task-1/candidate";

/// Runs scripts in a worktree as a run does, each a command of its own, and returns the quarantine they left.
fn commands(world: &World, repository: &Repository, scripts: &[&str]) -> Held {
    fs::create_dir_all(world.path("scratch")).unwrap();
    let held = Held::for_run(
        &world.path("scratch"),
        &git_place(repository),
        Root::Assembled,
        Ground::default(),
    )
    .unwrap()
    .unwrap();
    let policy = Policy {
        workspace: Some(Workspace {
            path: repository.top.clone(),
            mode: Mode::Write,
        }),
        git: Some(held.view()),
        environment: crate::confine::git_identity(),
        ..Policy::default()
    };
    let boundary = Boundary::prepare(policy, Scratch::create(&world.path("scratch")).unwrap()).unwrap();
    for script in scripts {
        let outcome = boundary
            .command("/bin/sh")
            .arguments(["-ec", script])
            .capture(1 << 20)
            .unwrap();
        assert!(
            outcome.success(),
            "{script}: {}",
            coder_digest::display_bytes(&outcome.stderr.head)
        );
    }
    held
}

fn publish(world: &World, repository: &Repository, scripts: &[&str]) -> Published {
    let published = commands(world, repository, scripts).publish(&Git::find().unwrap());
    assert_eq!(
        fs::read_dir(world.path("scratch")).unwrap().count(),
        0,
        "nothing is left behind"
    );
    assert_eq!(
        world.git("repo", &["fsck", "--strict", "--no-progress", "--no-dangling"]),
        ""
    );
    published
}

fn names(restored: &[Restored]) -> Vec<&str> {
    restored.iter().map(|restored| restored.name.as_str()).collect()
}

fn moved(name: &str, to: &str) -> Moved {
    Moved {
        name: name.to_owned(),
        to: to.trim().to_owned(),
    }
}

#[test]
fn a_commit_reaches_the_repository_and_git_works_there_as_if_it_had_been_made_there() {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let scripts = [
        "echo two >>file; echo new >new; git add new; git commit -qam second",
        "git commit -q --amend -m amended; echo staged >staged; git add staged; echo untracked >untracked",
    ];
    let published = publish(&world, &tree, &scripts);
    let tip = world.git("repo", &["rev-parse", BRANCH]);
    assert!(published.pack_bytes > 0);
    let expected = Published {
        pack_bytes: published.pack_bytes,
        moved: vec![moved(REFERENCE, &tip)],
        index: true,
        ..Published::default()
    };
    assert_eq!(published, expected);
    assert_eq!(world.git("tree", &["log", "--format=%s"]), "amended\none\n");
    assert_eq!(
        world.git("tree", &["status", "--porcelain"]),
        "A  staged\n?? untracked\n"
    );
    assert_eq!(
        world.git("tree", &["diff", "--cached"]).lines().last().unwrap(),
        "+staged"
    );
    let log = ["log", "-g", "-1", "--format=%gs"];
    assert_eq!(world.git("tree", &log), "microcoder: taken over from a command\n");
    world.git("repo", &["gc", "--quiet", "--prune=now"]);
    assert_eq!(world.git("tree", &["show", ":staged"]), "staged\n");
}

#[rstest]
#[case::looked("git status --porcelain; git log; git diff")]
#[case::only_files("echo x >x; rm file")]
#[case::loose_objects("echo x | git hash-object -w --stdin")]
fn what_changes_nothing_of_git_asks_git_nothing(#[case] script: &str) {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    world.git("tree", &["status"]);
    let mut held = commands(&world, &tree, &[script]);
    assert!(held.is_unchanged().unwrap());
    assert_eq!(held.publish(&Git::at("/no/such/git")), Published::default());
}

#[rstest]
#[case::detached("git checkout -q --detach; echo x >x; git add x; git commit -qm x", "x")]
#[case::another_of_its_own("git checkout -q -b microcoder/task-1/other; git commit -q --allow-empty -m x", "x")]
#[case::a_branch_that_is_there("git checkout -q other", "one")]
fn head_may_be_moved(#[case] script: &str, #[case] subject: &str) {
    let world = World::new();
    world.repository();
    world.git("repo", &["branch", "other"]);
    let tree = world.worktree("tree", Some(BRANCH));
    let published = publish(&world, &tree, &[script]);
    assert_eq!(published.restored, []);
    assert_eq!(published.moved.last().unwrap().name, "HEAD");
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), format!("{subject}\n"));
    assert_eq!(world.git("tree", &["status", "--porcelain"]), "");
    assert_eq!(world.git("repo", &["log", "--format=%s", BRANCH]), "one\n");
}

/// An agent wrote HEAD where it wished instead of switching: the next turn in this worktree was given the branch of another
/// run as its own and committed on it, and a person's own branch was in use in two places.
#[rstest]
#[case::of_another_run(
    "refs/heads/microcoder/task-2/candidate",
    "refs/heads/microcoder/task-2/candidate is the branch of another run"
)]
#[case::checked_out("refs/heads/main", "refs/heads/main is checked out in ")]
fn head_is_not_put_on_a_branch_of_somebody_else(#[case] reference: &str, #[case] reason: &str) {
    let world = World::new();
    world.repository();
    world.git("repo", &["branch", "microcoder/task-2/candidate"]);
    let tree = world.worktree("tree", Some(BRANCH));
    let script = format!("echo ref: {reference} >$(git rev-parse --git-dir)/HEAD");
    let published = publish(&world, &tree, &[&script]);
    assert_eq!(names(&published.restored), ["HEAD"]);
    assert!(published.restored[0].reason.starts_with(reason), "{published:#?}");
    assert_eq!(world.git("tree", &["symbolic-ref", "HEAD"]), format!("{REFERENCE}\n"));
}

const OBJECTS: &str = "$(git rev-parse --git-common-dir)/objects";

/// What cannot be taken over stays as it was, alone, and the repository is whole.
#[rstest]
#[case::every_object_removed(
    "echo x >x; git add x; git commit -qm x; find $O -path '*/??/*' -type f -delete", &[REFERENCE, "index"], "one", "?? x\n")]
#[case::a_tree_removed(
    "mkdir d; echo x >d/x; git add d; git commit -qm x; t=$(git rev-parse HEAD:d); rm -f $O/${t%${t#??}}/${t#??}; \
     git read-tree HEAD~; rm -r d", &[REFERENCE], "one", "")]
#[case::an_object_of_another_content(
    "echo x >x; git add x; git commit -qm x; t=$(git rev-parse HEAD:x); rm -f $O/${t%${t#??}}/${t#??}; \
     o=$(echo other | git hash-object -w --stdin); mv $O/${o%${o#??}}/${o#??} /tmp/o; mkdir -p $O/${t%${t#??}}; \
     mv /tmp/o $O/${t%${t#??}}/${t#??}", &[REFERENCE, "index"], "one", "?? x\n")]
#[case::objects_are_links(
    "echo x >x; git add x; git commit -qm x; rm -rf $O/??; ln -s /dev/zero $O/00 || true", &[REFERENCE, "index"], "one", "?? x\n")]
#[case::only_the_index(
    "echo x >x; git commit -q --allow-empty -m y; git add x; t=$(git rev-parse :x); rm -f $O/${t%${t#??}}/${t#??}",
    &["index"], "y", "?? x\n")]
#[case::index_is_a_link("git commit -q --allow-empty -m y; ln -sf /etc/passwd $(git rev-parse --git-dir)/index", &["index"], "y", "")]
#[case::index_is_a_pipe("cd $(git rev-parse --git-dir); rm index; mkfifo index", &["index"], "one", "")]
#[case::index_is_nonsense("echo nonsense >$(git rev-parse --git-dir)/index", &["index"], "one", "")]
#[case::index_is_gone("rm $(git rev-parse --git-dir)/index", &["index"], "one", "")]
#[case::head_is_nonsense("echo nonsense >$(git rev-parse --git-dir)/HEAD", &["HEAD"], "one", "")]
#[case::head_is_gone("rm $(git rev-parse --git-dir)/HEAD", &["HEAD"], "one", "")]
#[case::head_leads_out("echo ref: refs/heads/../../config >$(git rev-parse --git-dir)/HEAD", &["HEAD"], "one", "")]
#[case::head_leads_nowhere("echo ref: refs/heads/none >$(git rev-parse --git-dir)/HEAD", &["HEAD"], "one", "")]
#[case::branch_is_no_commit("b=$(git rev-parse HEAD:file); echo $b >$(git rev-parse --git-common-dir)/$R", &[REFERENCE], "one", "")]
#[case::branch_names_nothing("echo 1111111111111111111111111111111111111111 >$(git rev-parse --git-common-dir)/$R", &[REFERENCE], "one", "")]
#[case::a_tree_that_git_refuses(
    "t=$(printf '100644 blob %s\\t.git\\n' $(git rev-parse HEAD:file) | git mktree); \
     git update-ref $R $(git commit-tree -m bad $t)", &[REFERENCE], "one", "")]
#[case::own_rights_taken("git commit -q --allow-empty -m y; chmod 000 $(git rev-parse --git-dir) $O", &[], "y", "")]
fn what_is_not_whole_stays_as_it_was(
    #[case] script: &str,
    #[case] restored: &[&str],
    #[case] subject: &str,
    #[case] status: &str,
) {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let script = script.replace("$O", OBJECTS).replace("$R", REFERENCE);
    let published = publish(&world, &tree, &[&script]);
    assert_eq!(names(&published.restored), restored, "{published:#?}");
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), format!("{subject}\n"));
    assert_eq!(world.git("tree", &["status", "--porcelain"]), status);
}

#[test]
fn what_somebody_else_moved_meanwhile_stays_as_they_left_it() {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let mut held = commands(&world, &tree, &["echo x >x; git add x; git commit -qm theirs"]);
    world.write("tree/mine", "mine\n");
    world.git("tree", &["add", "mine"]);
    world.git("tree", &["commit", "--quiet", "--message=mine"]);
    let published = held.publish(&Git::find().unwrap());
    assert_eq!(names(&published.restored), [REFERENCE, "index"]);
    assert_eq!(published.moved, []);
    assert_eq!(world.git("tree", &["log", "--format=%s"]), "mine\none\n");
    assert_eq!(world.git("tree", &["status", "--porcelain"]), "?? x\n");
}

#[test]
fn an_operation_that_is_not_finished_is_told_and_not_carried_over() {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let script = "git checkout -q --detach; echo a >file; git commit -qam a; a=$(git rev-parse HEAD); git checkout -q HEAD~; \
                  echo b >file; git commit -qam b; git rebase $a || echo exec touch evil >>$(git rev-parse --git-dir)/rebase-merge/git-rebase-todo";
    let published = publish(&world, &tree, &[script]);
    assert_eq!(published.unfinished, ["CHERRY_PICK_HEAD", "rebase-merge"]);
    assert!(!world.path("repo/.git/worktrees/tree/rebase-merge").exists());
}

#[test]
fn a_publication_that_was_interrupted_can_be_repeated() {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let mut held = commands(&world, &tree, &["echo x >x; git add x; git commit -qm x"]);
    let git = Git::find().unwrap();
    let missing = held.publish(&Git::at("/no/such/git"));
    assert_eq!(names(&missing.restored), ["repository"]);
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), "one\n");
    drop(held);
    // Kept for another time, by whoever comes.
    let directory = world.path("scratch").join(FOLDER);
    let found = |directory| match Quarantine::reopen(directory).unwrap() {
        coder_workspace::Reopened::Left(quarantine) => Held::found(*quarantine),
        other => panic!("{other:?}"),
    };
    let mut first = found(&directory);
    let published = first.publish(&git);
    assert_eq!(
        (published.moved.len(), published.index, published.restored.len()),
        (1, true, 0)
    );
    let packs = || fs::read_dir(world.path("repo/.git/objects/pack")).unwrap().count();
    let before = packs();
    let again = first.publish(&git);
    assert_eq!(
        (again.moved, again.restored, again.index, again.pack_bytes),
        (vec![], vec![], true, 0)
    );
    assert_eq!(packs(), before);
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), "x\n");
    assert_eq!(world.git("tree", &["status", "--porcelain"]), "");
}

/// Repositories of other kinds: each commits in a worktree as ever, and is whole afterwards.
#[rstest]
#[case::sha256(
    "git init -q -b main --object-format=sha256 repo; cd repo; echo one >file; git add .; git commit -qm one"
)]
#[case::borrowing("cp -r source lender; git clone -q --shared lender repo")]
#[case::borrowing_of_a_borrower("git clone -q --shared source middle; git clone -q --shared middle repo")]
#[case::borrowing_by_a_relative_path(
    "git clone -q --shared source repo; echo ../../../source/.git/objects >repo/.git/objects/info/alternates"
)]
#[case::shallow("git -C source commit -q --allow-empty -m two; git clone -q --depth=1 file://$PWD/source repo")]
#[case::partial(
    "git -C source config uploadpack.allowFilter true; git clone -q --filter=blob:none file://$PWD/source repo"
)]
#[case::treeless(
    "git -C source config uploadpack.allowFilter true; git clone -q --filter=tree:0 file://$PWD/source repo"
)]
#[case::packed(
    "cp -r source repo; git -C repo gc -q; git -C repo config core.multiPackIndex true; git -C repo repack -adq --write-midx --write-bitmap-index"
)]
#[case::split_index("cp -r source repo; git -C repo config core.splitIndex true")]
#[case::odd_name("cp -r source 'odd \"name\" : \\'; ln -s 'odd \"name\" : \\' repo")]
fn a_repository_of_any_kind(#[case] make: &str) {
    let world = World::new();
    world.write("source/file", "one\n");
    world.git("source", &["init", "--quiet", "--initial-branch=main"]);
    world.git("source", &["add", "."]);
    world.git("source", &["commit", "--quiet", "--message=one"]);
    let made = coder_process::Command::new("/bin/sh")
        .arguments(["-ec", make])
        .directory(world.path(""))
        .variables([
            ("PATH", "/usr/bin:/bin"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
        ])
        .capture(1 << 16)
        .unwrap();
    assert!(made.success(), "{}", coder_digest::display_bytes(&made.stderr.head));
    let tree = world.worktree("tree", Some(BRANCH));
    let script = "mkdir d; echo x >d/x; echo two >>file; git add .; git commit -qm x; echo y >y; git add y; git status; git gc -q || true";
    let published = publish(&world, &tree, &[script]);
    assert_eq!(published.restored, []);
    assert!(published.index && published.moved.len() == 1);
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), "x\n");
    assert_eq!(world.git("tree", &["status", "--porcelain"]), "A  y\n");
    assert_eq!(world.git("tree", &["show", "HEAD:file"]), "one\ntwo\n");
}

#[test]
fn references_kept_in_another_way_than_as_files_leave_git_to_read() {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", None);
    // The Git here may be too old to make one.
    fs::create_dir(world.path("repo/.git/reftable")).unwrap();
    fs::create_dir(world.path("scratch")).unwrap();
    assert!(
        Held::for_run(
            &world.path("scratch"),
            &git_place(&tree),
            Root::Assembled,
            Ground::default()
        )
        .unwrap()
        .is_none()
    );
    assert_eq!(fs::read_dir(world.path("scratch")).unwrap().count(), 0);
}

/// A pack of one small object was shorter than what was taken for an empty one.
#[test]
fn the_smallest_object_arrives() {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let published = publish(&world, &tree, &[": >x; git add x"]);
    assert_eq!((published.index, published.restored), (true, Vec::new()));
    assert_eq!(world.git("tree", &["show", ":x"]), "");
}

#[rstest]
#[case::of_a_killed_host(true)]
#[case::of_another_git(false)]
fn a_lock_on_the_index(#[case] ours: bool) {
    let world = World::new();
    world.repository();
    let tree = world.worktree("tree", Some(BRANCH));
    let mut held = commands(&world, &tree, &["echo x >x; git add x"]);
    let lock = world.path("repo/.git/worktrees/tree/index.lock");
    if ours {
        fs::copy(world.path("scratch/git/admin/index"), &lock).unwrap();
    } else {
        fs::write(&lock, "").unwrap();
    }
    let published = held.publish(&Git::find().unwrap());
    assert_eq!(
        (published.index, names(&published.restored).is_empty(), lock.exists()),
        (ours, ours, !ours),
        "{published:?}"
    );
    let own = world.path(&format!("repo/.git/worktrees/tree/index.{}", std::process::id()));
    assert!(!own.exists());
}
