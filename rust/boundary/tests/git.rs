//! Git in the boundary: it works, and it cannot be turned against whoever runs it outside later.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Boundary, GitView, Mode, Policy, Workspace};
use common::{World, again_as_an_ordinary_user, checkout, host, identity, linked, shell};
use rstest::rstest;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn as_an_ordinary_user() {
    again_as_an_ordinary_user("as_an_ordinary_user");
}

fn policy(world: &World, view: GitView) -> Policy {
    Policy {
        git: Some(view),
        environment: identity().to_vec(),
        ..world.policy()
    }
}

#[test]
fn a_linked_worktree_commits_on_its_own_branch_and_on_a_detached_head() {
    let world = World::new();
    let (view, common) = linked(&world);
    let boundary = world.prepare(policy(&world, view));
    shell(
        &boundary,
        "echo two >> file && echo new > new && git add . && git diff --cached --stat && git commit -qm second",
    )
    .printed();
    assert_eq!(
        host(&common, "git", &["log", "--format=%s", "microcoder/task/run"]),
        "second\nfirst\n"
    );
    assert_eq!(shell(&boundary, "git status --porcelain").printed(), "");
    shell(
        &boundary,
        "git checkout -q --detach && echo three >> file && git commit -qam third",
    )
    .printed();
    assert_eq!(
        host(&world.workspace, "git", &["log", "--format=%s"]),
        "third\nsecond\nfirst\n"
    );
    assert_eq!(host(&common, "git", &["log", "--format=%s", "main"]), "first\n");
    assert_eq!(host(&common, "git", &["fsck", "--strict"]), "");
}

#[rstest]
#[case::config("echo x >> $C/config")]
#[case::config_by_git("git config core.fsmonitor /tmp/evil")]
#[case::config_by_rename("cp $C/config $A/x; mv $A/x $C/config")]
#[case::hook("echo x > $C/hooks/pre-commit")]
#[case::hooks_moved("mv $C/hooks $C/h")]
#[case::other_branch("echo x > $C/refs/heads/main")]
#[case::new_branch("git branch other")]
#[case::packed_refs("git pack-refs --all")]
#[case::head_of_the_repository("echo ref: refs/heads/x > $C/HEAD")]
#[case::other_worktree("echo x > $C/worktrees/other/HEAD")]
#[case::new_worktree("git worktree add /tmp/w")]
#[case::alternates("mkdir -p $C/objects/info; echo /tmp > $C/objects/info/alternates")]
#[case::commondir("echo /tmp > $A/commondir")]
#[case::commondir_replaced("echo /tmp > $A/x; mv $A/x $A/commondir")]
#[case::commondir_removed("rm -f $A/commondir")]
#[case::gitdir("echo /tmp > $A/gitdir")]
#[case::admin_moved("mv $A $A.x")]
#[case::worktree_config("echo x > $A/x; mv $A/x $A/config.worktree")]
#[case::pointer("echo gitdir: /tmp > .git")]
#[case::pointer_replaced("echo gitdir: /tmp > x; mv x .git")]
#[case::pointer_removed("rm -f .git")]
#[case::workspace_swapped("cd /; mv $W /tmp/y")]
fn a_linked_worktree_cannot_steer_the_repository(#[case] script: &str) {
    let world = World::new();
    let (view, common) = linked(&world);
    host(
        &common,
        "git",
        &[
            "worktree",
            "add",
            "--quiet",
            "--detach",
            world.outside.join("other").to_str().unwrap(),
        ],
    );
    fs::write(common.join("worktrees/workspace/config.worktree"), "").unwrap();
    let GitView::Linked { admin, .. } = &view else { panic!() };
    let places = [
        ("C", common.clone()),
        ("A", admin.clone()),
        ("W", world.workspace.clone()),
    ];
    let mut policy = policy(&world, view);
    policy
        .environment
        .extend(places.map(|(name, path)| (name.into(), path.into_os_string())));
    let seen = |path: &str| fs::read(common.join(path)).ok();
    let watched = [
        "config",
        "HEAD",
        "packed-refs",
        "refs/heads/main",
        "refs/heads/other",
        "hooks/pre-commit",
        "worktrees/other/HEAD",
        "worktrees/workspace/commondir",
        "worktrees/workspace/gitdir",
        "worktrees/workspace/config.worktree",
        "objects/info/alternates",
    ];
    let before = watched.map(seen);
    let pointer = fs::read(world.workspace.join(".git")).unwrap();
    assert_ne!(shell(&world.prepare(policy), script).code, 0);
    assert_eq!(watched.map(seen), before);
    assert_eq!(fs::read(world.workspace.join(".git")).unwrap(), pointer);
    assert!(common.join("hooks").is_dir());
}

#[test]
fn in_a_read_only_workspace_git_only_reads() {
    let world = World::new();
    let (view, common) = linked(&world);
    let workspace = Workspace {
        path: world.workspace.clone(),
        mode: Mode::Read,
    };
    let boundary = world.prepare(Policy {
        workspace: Some(workspace),
        ..policy(&world, view)
    });
    assert_eq!(
        shell(&boundary, "git status --porcelain; git log --format=%s; git diff").printed(),
        "first\n"
    );
    assert_ne!(shell(&boundary, "git commit -q --allow-empty -m x").code, 0);
    assert_ne!(
        shell(&boundary, &format!("touch {}/objects/x", common.display())).code,
        0
    );
}

/// Report 5: masks that are device nodes make `git add` fail and show in `git status`.
#[test]
fn report_5_an_ordinary_checkout_looks_the_same_inside_and_outside() {
    let world = World::new();
    let view = checkout(&world);
    fs::write(world.workspace.join("new"), "").unwrap();
    let outside = host(&world.workspace, "git", &["status", "--porcelain", "--ignored"]);
    let boundary = world.prepare(policy(&world, view));
    assert_eq!(shell(&boundary, "git status --porcelain --ignored").printed(), outside);
    shell(
        &boundary,
        "git add . && git commit -qm second && git stash list && git format-patch -q HEAD~",
    )
    .printed();
    assert_eq!(
        host(&world.workspace, "git", &["log", "--format=%s"]),
        "second\nfirst\n"
    );
}

/// Report 9: a rule on a path was passed by renaming into it, or by swapping its parent.
#[rstest]
#[case::rename_into("echo x > .git/x; mv .git/x .git/hooks/pre-commit")]
#[case::swap_the_parent("mv .git .g2 && mkdir -p .git/hooks")]
#[case::remove_the_parent("rm -rf .git/hooks; mkdir .git/hooks && echo x > .git/hooks/pre-commit")]
#[case::config("echo x >> .git/config")]
#[case::config_renamed("mv .git/config .git/c2")]
#[case::config_replaced("echo x > c; mv c .git/config")]
#[case::exclude("echo x >> .git/info/exclude")]
#[case::alternates("echo /tmp > .git/objects/info/alternates")]
fn report_9_an_ordinary_checkout_cannot_steer_git(#[case] script: &str) {
    let world = World::new();
    let view = checkout(&world);
    let boundary = world.prepare(policy(&world, view));
    let config = fs::read(world.workspace.join(".git/config")).unwrap();
    assert_ne!(shell(&boundary, script).code, 0);
    assert_eq!(fs::read(world.workspace.join(".git/config")).unwrap(), config);
    assert!(!world.workspace.join(".git/hooks/pre-commit").exists());
    assert!(!world.workspace.join(".git/objects/info/alternates").exists());
    assert_eq!(host(&world.workspace, "git", &["status", "--porcelain", "-uno"]), "");
}

#[test]
fn names_no_kernel_can_hold_are_told() {
    let world = World::new();
    let view = checkout(&world);
    let git = world.workspace.join(".git");
    fs::remove_dir_all(git.join("hooks")).unwrap();
    let boundary = world.prepare(policy(&world, view));
    let names = ["config.worktree", "commondir", "hooks", "modules", "worktrees"].map(|name| git.join(name));
    assert_eq!(boundary.unguarded(), names);
    // Made by the first command, held in place for the second.
    shell(&boundary, "mkdir .git/hooks && touch .git/hooks/pre-commit").printed();
    assert_ne!(shell(&boundary, "echo x > .git/hooks/pre-commit").code, 0);
}

#[rstest]
#[case::branch_above("../refs/heads/x", "git_branch_invalid")]
#[case::every_branch("refs/heads", "git_branch_invalid")]
#[case::a_tag("refs/tags/x", "git_branch_invalid")]
#[case::absolute("/refs/heads/x", "git_branch_invalid")]
#[case::missing("refs/heads/missing", "path_unusable")]
fn a_branch_directory_that_cannot_be_is_refused(#[case] branch: &str, #[case] code: &str) {
    let world = World::new();
    let (view, _) = linked(&world);
    let GitView::Linked { common, admin, .. } = view else {
        panic!()
    };
    let view = GitView::Linked {
        common,
        admin,
        branch_directory: Some(branch.into()),
    };
    assert_eq!(
        Boundary::prepare(policy(&world, view), world.scratch())
            .unwrap_err()
            .code(),
        code
    );
}

#[test]
fn a_view_that_does_not_belong_together_is_refused() {
    let world = World::new();
    let (view, common) = linked(&world);
    let GitView::Linked { admin, .. } = view.clone() else {
        panic!()
    };
    let refused = |view| {
        Boundary::prepare(policy(&world, view), world.scratch())
            .unwrap_err()
            .code()
    };
    let elsewhere = GitView::Linked {
        common: admin,
        admin: common.clone(),
        branch_directory: None,
    };
    assert_eq!(refused(elsewhere), "git_place_mismatch");
    assert_eq!(
        refused(GitView::Checkout {
            git_dir: common.clone()
        }),
        "git_place_mismatch"
    );
    // With the extension on, Git would obey a file that a command could make.
    host(&common, "git", &["config", "extensions.worktreeConfig", "true"]);
    assert_eq!(refused(view.clone()), "git_unguarded");
    fs::write(common.join("worktrees/workspace/config.worktree"), "").unwrap();
    world.prepare(policy(&world, view.clone()));
    fs::rename(world.workspace.join(".git"), world.workspace.join("pointer")).unwrap();
    symlink("pointer", world.workspace.join(".git")).unwrap();
    assert_eq!(refused(view), "git_link_unprotectable");
}
