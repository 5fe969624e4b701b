use super::*;
use crate::fixture::World;
use crate::{Observer, Sparse};
use coder_digest::SystemClock;
use rstest::rstest;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn worktrees(world: &World) -> Worktrees {
    Worktrees::open(world.git.clone(), &world.path("records")).unwrap()
}

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn head(repository: &Repository) -> CommitId {
    repository.head.commit().unwrap().clone()
}

/// What a user sees of their repository.
fn seen(world: &World) -> (String, String, Vec<u8>, String) {
    (
        world.run("repo", &["for-each-ref"]),
        world.run("repo", &["worktree", "list"]),
        fs::read(world.path("repo/.git/config")).unwrap(),
        Observer::new(&SystemClock)
            .observe(&world.path("repo/source"))
            .unwrap()
            .digest()
            .hex(),
    )
}

#[test]
fn made_at_a_commit_and_removed_without_a_trace() {
    let world = World::new();
    let repository = world.repository("repo");
    let base = head(&repository);
    world.write("repo/readme", "later\n");
    world.commit("repo");
    world.write("repo/readme", "not committed\n");
    let before = seen(&world);
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    let made = worktrees
        .create(&repository, &world.path("made"), &name, &base)
        .unwrap();
    assert_eq!(
        made,
        Worktree {
            repository: world.identify("made"),
            branch: name.clone(),
            base: base.clone(),
            references: world.path("repo/.git/refs/heads/microcoder/fix"),
            logs: world.path("repo/.git/logs/refs/heads/microcoder/fix"),
        }
    );
    assert!(made.references.is_dir() && made.logs.is_dir());
    assert_eq!(fs::read_to_string(world.path("made/readme")).unwrap(), "hello\n");
    assert!(made.repository.uncommitted(&world.git).unwrap().is_clean());
    let listed = worktrees.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].remains, Remains::Whole);
    assert_eq!(listed[0].record, worktrees.record(&world.path("made")).unwrap());
    world.write("made/new", "work");
    world.commit("made");
    worktrees.remove(&world.path("made"), BranchFate::Drop).unwrap();
    assert_eq!(seen(&world), before);
    assert_eq!(worktrees.list().unwrap(), []);
    assert!(!world.path("made").exists() && !made.references.exists() && !made.logs.exists());
    assert!(!world.path("repo/.git/worktrees").exists());
}

#[test]
fn a_kept_branch_keeps_its_commits() {
    let world = World::new();
    let repository = world.repository("repo");
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    world.write("made/new", "work");
    let commit = world.commit("made");
    worktrees.remove(&world.path("made"), BranchFate::Keep).unwrap();
    let tip = world.run("repo", &["rev-parse", "microcoder/fix/candidate"]);
    assert_eq!(tip.trim(), commit.as_str());
}

#[test]
fn worktrees_of_others_are_left_alone() {
    let world = World::new();
    world.repository("repo");
    world.run("repo", &["worktree", "add", "--quiet", "--detach", "../theirs"]);
    let before = seen(&world);
    let error = worktrees(&world)
        .remove(&world.path("theirs"), BranchFate::Drop)
        .unwrap_err();
    assert_eq!(error.code(), "not_our_worktree");
    assert_eq!(seen(&world), before);
    assert!(world.path("theirs/readme").exists());
}

#[test]
fn our_removal_leaves_the_entries_of_others() {
    let world = World::new();
    let repository = world.repository("repo");
    world.run("repo", &["worktree", "add", "--quiet", "--detach", "../theirs"]);
    // Theirs is away for now, as on a disk that is not mounted: a prune would take its entry.
    fs::rename(world.path("theirs"), world.path("away")).unwrap();
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    worktrees.remove(&world.path("made"), BranchFate::Drop).unwrap();
    fs::rename(world.path("away"), world.path("theirs")).unwrap();
    assert_eq!(world.identify("theirs").head.commit(), repository.head.commit());
}

#[rstest]
#[case::exists("repo/source")]
#[case::file("repo/readme")]
#[case::inside("repo/made")]
#[case::inside_git("repo/.git/made")]
#[case::by_a_link("link/made")]
#[case::no_parent("missing/made")]
#[case::line_break("a\nb")]
fn places_that_cannot_be_used_are_refused(#[case] place: &str) {
    let world = World::new();
    let repository = world.repository("repo");
    symlink("repo", world.path("link")).unwrap();
    let before = seen(&world);
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    let error = worktrees
        .create(&repository, &world.path(place), &name, &head(&repository))
        .unwrap_err();
    assert_eq!(error.code(), "worktree_place", "{error}");
    assert_eq!(seen(&world), before);
    assert_eq!(worktrees.list().unwrap(), []);
}

#[test]
fn a_branch_that_exists_and_a_commit_that_does_not_are_refused() {
    let world = World::new();
    let repository = world.repository("repo");
    world.run("repo", &["branch", "microcoder/fix/candidate"]);
    let before = seen(&world);
    let worktrees = worktrees(&world);
    let create = |name: &str, at: &CommitId| {
        let error = worktrees
            .create(&repository, &world.path("made"), &branch(name), at)
            .unwrap_err();
        error.code()
    };
    assert_eq!(create("microcoder/fix/candidate", &head(&repository)), "branch_exists");
    let nothing = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    assert_eq!(create("microcoder/other/candidate", &nothing), "git_failed");
    assert_eq!(seen(&world), before);
    assert_eq!(worktrees.list().unwrap(), []);
}

/// The last step fails, after the directory, the entry and the branch were made: all of it goes again.
#[test]
fn a_making_that_fails_half_way_leaves_nothing() {
    let world = World::new();
    let repository = world.repository("repo");
    let tree = world.run("repo", &["rev-parse", "HEAD:source/one.txt"]);
    let (first, rest) = tree.trim().split_at(2);
    // The content of one file is lost, which shows only when the files are written.
    fs::remove_file(world.path(&format!("repo/.git/objects/{first}/{rest}"))).unwrap();
    let before = seen(&world);
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    let create = || worktrees.create(&repository, &world.path("made"), &name, &head(&repository));
    assert_eq!(create().unwrap_err().code(), "git_failed");
    assert_eq!(seen(&world), before);
    assert_eq!(worktrees.list().unwrap(), []);
    assert!(!world.path("made").exists() && !world.path("repo/.git/refs/heads/microcoder/fix").exists());
}

/// A crash may come after the record and before anything else, or in the middle of a removal.
#[test]
fn leftovers_are_listed_and_removed_again() {
    let world = World::new();
    let repository = world.repository("repo");
    let worktrees = worktrees(&world);
    let create = |index: usize| {
        let name = branch(&format!("microcoder/run-{index}/candidate"));
        let directory = world.path(&format!("made-{index}"));
        worktrees
            .create(&repository, &directory, &name, &head(&repository))
            .unwrap();
        directory
    };
    let directories: Vec<PathBuf> = (0..4).map(create).collect();
    fs::remove_dir_all(&directories[1]).unwrap();
    fs::remove_dir_all(world.path("repo/.git/worktrees/made-2")).unwrap();
    fs::remove_dir_all(&directories[3]).unwrap();
    fs::remove_dir_all(world.path("repo/.git/worktrees/made-3")).unwrap();
    world.run("repo", &["branch", "--quiet", "-D", "microcoder/run-3/candidate"]);
    let listed: Vec<Remains> = worktrees
        .list()
        .unwrap()
        .iter()
        .map(|recorded| recorded.remains)
        .collect();
    use Remains::{DirectoryOnly, EntryOnly, RecordOnly, Whole};
    assert_eq!(listed, [Whole, EntryOnly, DirectoryOnly, RecordOnly]);
    for directory in &directories {
        worktrees.remove(directory, BranchFate::Drop).unwrap();
    }
    assert_eq!(worktrees.list().unwrap(), []);
    assert_eq!(world.run("repo", &["branch", "--list", "microcoder/*"]), "");
    assert!(directories.iter().all(|directory| !directory.exists()));
}

#[test]
fn a_branch_somebody_has_checked_out_is_not_deleted_under_them() {
    let world = World::new();
    let repository = world.repository("repo");
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    world.run(
        "repo",
        &["worktree", "add", "--quiet", "--force", "../theirs", name.as_str()],
    );
    assert_eq!(
        worktrees
            .remove(&world.path("made"), BranchFate::Drop)
            .unwrap_err()
            .code(),
        "git_failed"
    );
    // The record stays, so the removal can be finished another way.
    worktrees.remove(&world.path("made"), BranchFate::Keep).unwrap();
    assert_eq!(world.identify("theirs").head.commit(), repository.head.commit());
}

/// Report 19: the sparse set holds in the worktree too, and what a partial clone lacks outside it is not asked for.
#[test]
fn report_19_the_sparse_set_of_a_partial_clone_is_kept() {
    let world = World::new();
    world.repository("origin");
    world.write("origin/other/three.txt", "three\n");
    world.commit("origin");
    world.run("origin", &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", world.path("origin").display());
    fs::create_dir(world.path("here")).unwrap();
    world.run(
        "here",
        &["clone", "--quiet", "--filter=blob:none", "--sparse", &url, "repo"],
    );
    world.run("here/repo", &["sparse-checkout", "set", "source"]);
    let repository = world.identify("here/repo");
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    let made = worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    assert_eq!(made.repository.sparse, Sparse::Cone);
    assert!(world.path("made/source/one.txt").exists() && !world.path("made/other").exists());
    assert!(made.repository.uncommitted(&world.git).unwrap().is_clean());
    // An earlier commit's content was never fetched.
    world.write("origin/source/one.txt", "newer\n");
    let newer = world.commit("origin");
    world.run("here/repo", &["fetch", "--quiet"]);
    let other = branch("microcoder/other/candidate");
    let error = worktrees
        .create(&repository, &world.path("other"), &other, &newer)
        .unwrap_err();
    assert_eq!(error.code(), "missing_objects", "{error}");
    assert!(!world.path("other").exists());
}

/// Report 17: a killed Git leaves its lock, and every later write fails for ever.
#[test]
fn report_17_a_stale_lock_is_removed_only_from_a_worktree_of_ours() {
    let world = World::new();
    let repository = world.repository("repo");
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    let made = worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    let theirs = world.write("repo/.git/index.lock", "");
    assert_eq!(
        worktrees.remove_index_lock(&world.path("repo")).unwrap_err().code(),
        "not_our_worktree"
    );
    assert!(theirs.exists());
    assert_eq!(worktrees.remove_index_lock(&world.path("made")).unwrap(), None);
    let ours = made.repository.git_directory.join("index.lock");
    fs::write(&ours, "").unwrap();
    let lock = made.repository.index_lock().unwrap();
    assert_eq!(worktrees.remove_index_lock(&world.path("made")).unwrap(), lock);
    assert!(lock.is_some() && !ours.exists());
}

/// A run may write in its own worktree and entry: neither may lead the host to the user's index or to other entries.
#[test]
fn what_a_run_writes_in_its_entry_does_not_steer_the_removal() {
    let world = World::new();
    let repository = world.repository("repo");
    world.run("repo", &["worktree", "add", "--quiet", "--detach", "../theirs"]);
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    let made = worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    let users = world.write("repo/.git/index.lock", "");
    world.write("made/.git", format!("gitdir: {}\n", world.path("repo/.git").display()));
    assert_eq!(worktrees.remove_index_lock(&world.path("made")).unwrap(), None);
    assert!(users.exists());
    let entry = made.repository.git_directory;
    fs::write(
        entry.join("gitdir"),
        format!("{}\n", world.path("theirs/.git").display()),
    )
    .unwrap();
    worktrees.remove(&world.path("made"), BranchFate::Drop).unwrap();
    assert!(!entry.exists());
    assert_eq!(world.identify("theirs").head.commit(), repository.head.commit());
}

#[test]
fn a_worktree_full_of_obstacles_is_removed() {
    let world = World::new();
    let repository = world.repository("repo");
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    world.write("made/locked/file", "");
    symlink(world.path("repo"), world.path("made/out")).unwrap();
    fs::set_permissions(world.path("made/locked"), fs::Permissions::from_mode(0o000)).unwrap();
    // The run may even have taken away the pointer to its repository.
    fs::remove_file(world.path("made/.git")).unwrap();
    worktrees.remove(&world.path("made"), BranchFate::Drop).unwrap();
    assert!(!world.path("made").exists() && world.path("repo/readme").exists());
    assert_eq!(world.run("repo", &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_record_of_another_schema_is_refused() {
    let world = World::new();
    let repository = world.repository("repo");
    let worktrees = worktrees(&world);
    let name = branch("microcoder/fix/candidate");
    worktrees
        .create(&repository, &world.path("made"), &name, &head(&repository))
        .unwrap();
    let path = worktrees.record_path(&world.path("made"));
    let text = fs::read_to_string(&path).unwrap().replace("worktree.v1", "worktree.v2");
    fs::write(&path, text).unwrap();
    assert_eq!(worktrees.list().unwrap_err().code(), "unsupported_schema");
    assert_eq!(
        worktrees
            .remove(&world.path("made"), BranchFate::Keep)
            .unwrap_err()
            .code(),
        "unsupported_schema"
    );
}
