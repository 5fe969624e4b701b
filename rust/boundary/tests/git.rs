//! Git in the boundary: it works, and it cannot be turned against whoever runs it outside later.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Boundary, GitView, Mode, Policy, Quarantine, Workspace};
use common::{World, again_as_an_ordinary_user, checkout, host, identity, linked, shell};
use rstest::rstest;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

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

/// Everything below the common Git directory, by content.
fn repository(common: &Path) -> String {
    host(
        common,
        "sh",
        &[
            "-c",
            "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; find . -type d -o -type l | sort",
        ],
    )
}

#[test]
fn a_linked_worktree_commits_on_its_own_branch_and_on_a_detached_head_and_the_repository_stays_as_it_is() {
    let world = World::new();
    let (view, common) = linked(&world);
    let before = repository(&common);
    let boundary = world.prepare(policy(&world, view));
    let said = shell(
        &boundary,
        "echo two >> file && echo new > new && git add . && git diff --cached --stat && git commit -qm second",
    );
    // After each commit Git tidies up a reference that is not there, and says that it cannot.
    let lock = common.join("packed-refs.lock");
    let refused = format!("error: Unable to create '{}': Read-only file system\n", lock.display());
    assert_eq!(said.stderr.replace(&refused, ""), "");
    said.printed();
    // Each command sees what the one before it made.
    let log = "git status --porcelain; git log --format=%s microcoder/task/run; git log -g -1 --format=%gs";
    assert_eq!(shell(&boundary, log).printed(), "second\nfirst\ncommit: second\n");
    let detached = "git checkout -q --detach && echo three >> file && git commit -qam third && git log --format=%s && \
                    git log --format=%s main && git fsck --strict --no-progress";
    assert_eq!(shell(&boundary, detached).printed(), "third\nsecond\nfirst\nfirst\n");
    assert_eq!(repository(&common), before);
    assert_eq!(host(&common, "git", &["fsck", "--strict"]), "");
}

/// The objects of a repository were writable, because Git cannot commit without: a command could replace what other
/// branches hold, and through the hard links of a local clone what its origin holds.
#[rstest]
#[case::rewritten("chmod u+w $O; echo x >$O")]
#[case::rewritten_where_it_is_shown("chmod u+w $R; echo x >$R")]
#[case::replaced("cp .git x; mv -f x $R")]
#[case::removed("rm -f $R")]
#[case::pack_removed("rm -rf $R/../../pack")]
#[case::truncated("python3 -c 'import os; os.truncate(\"'$R'\", 0)'")]
#[case::linked_and_rewritten("ln $R x; chmod u+w x; echo x >x; ln $R /tmp/x && chmod u+w /tmp/x && echo x >/tmp/x")]
#[case::unmounted("umount $C/objects; echo x >$O")]
#[case::collected("git gc --prune=now --aggressive; git repack -adf; git prune --expire=now")]
#[case::borrowed("echo /tmp >$C/objects/info/alternates")]
fn objects_of_the_repository_cannot_be_changed(#[case] script: &str) {
    let world = World::new();
    let (view, common) = linked(&world);
    let blob = host(&common, "git", &["rev-parse", "main:file"]);
    let name = format!("{}/{}", &blob[..2], blob[2..].trim_end());
    let places = [
        ("O", common.join("objects").join(&name)),
        ("R", Path::new(coder_boundary::GIT_OBJECTS).join(&name)),
        ("C", common.clone()),
    ];
    let mut policy = policy(&world, view);
    policy
        .environment
        .extend(places.map(|(name, path)| (name.into(), path.into_os_string())));
    let before = repository(&common);
    shell(&world.prepare(policy), script);
    assert_eq!(repository(&common), before);
    assert_eq!(host(&common, "git", &["fsck", "--strict"]), "");
}

#[test]
fn without_a_quarantine_git_only_reads() {
    let world = World::new();
    let (view, common) = linked(&world);
    let GitView::Linked {
        common: shown, admin, ..
    } = view
    else {
        panic!()
    };
    let view = GitView::Linked {
        common: shown,
        admin,
        quarantine: None,
    };
    let before = repository(&common);
    let boundary = world.prepare(policy(&world, view));
    assert_eq!(
        shell(&boundary, "echo x >new; git status --porcelain; git log --format=%s").printed(),
        "?? new\nfirst\n"
    );
    shell(&boundary, "git add new").failed("Read-only file system");
    assert_eq!(repository(&common), before);
}

#[test]
fn what_the_repository_borrows_is_read() {
    let world = World::new();
    let (view, common) = linked(&world);
    let lender = world.outside.join("lender");
    host(
        &world.outside,
        "git",
        &["clone", "-q", "--bare", "--shared", "repository", "lender"],
    );
    host(
        &common,
        "sh",
        &[
            "-c",
            "mv objects/?? ../../lender/objects/ && echo ../../../lender/objects >objects/info/alternates",
        ],
    );
    fs::remove_file(lender.join("objects/info/alternates")).unwrap();
    let GitView::Linked {
        common: shown,
        admin,
        quarantine,
    } = view
    else {
        panic!()
    };
    let mut quarantine = quarantine.unwrap();
    fs::write(
        quarantine.directory.join("objects/info/alternates"),
        format!("{}\n{}/objects\n", coder_boundary::GIT_OBJECTS, lender.display()),
    )
    .unwrap();
    quarantine.borrowed = vec![lender.join("objects")];
    let view = GitView::Linked {
        common: shown,
        admin,
        quarantine: Some(quarantine),
    };
    let boundary = world.prepare(policy(&world, view));
    // Not a word of the relative path that leads nowhere from where the store is shown.
    let said = shell(
        &boundary,
        "git commit -q --allow-empty -m second && git log --format=%s && git show HEAD:file",
    );
    assert!(!said.stderr.contains("alternate"), "{}", said.stderr);
    assert_eq!(said.printed(), "second\nfirst\none\n");
    assert_ne!(
        shell(&boundary, &format!("touch {}/objects/x", lender.display())).code,
        0
    );
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
    let GitView::Linked { admin, quarantine, .. } = &view else {
        panic!()
    };
    let own = quarantine.as_ref().unwrap().directory.join("admin/config.worktree");
    fs::write(own, "").unwrap();
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
    let whole = repository(&common);
    let pointer = fs::read(world.workspace.join(".git")).unwrap();
    assert_ne!(shell(&world.prepare(policy), script).code, 0);
    assert_eq!(watched.map(seen), before);
    assert_eq!(repository(&common), whole);
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
    let names = ["config.worktree", "commondir", "hooks", "worktrees", "modules"].map(|name| git.join(name));
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
    let GitView::Linked {
        common,
        admin,
        quarantine,
    } = view
    else {
        panic!()
    };
    let view = GitView::Linked {
        common,
        admin,
        quarantine: quarantine.map(|quarantine| Quarantine {
            branch_directory: Some(branch.into()),
            ..quarantine
        }),
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
        quarantine: None,
    };
    assert_eq!(refused(elsewhere), "git_place_mismatch");
    assert_eq!(
        refused(GitView::Checkout {
            git_dir: common.clone()
        }),
        "git_place_mismatch"
    );
    fs::rename(world.workspace.join(".git"), world.workspace.join("pointer")).unwrap();
    symlink("pointer", world.workspace.join(".git")).unwrap();
    assert_eq!(refused(view), "git_link_unprotectable");
}

#[test]
fn in_an_ordinary_checkout_git_obeys_no_configuration_of_a_worktree_that_a_command_could_make() {
    let world = World::new();
    let view = checkout(&world);
    host(
        &world.workspace,
        "git",
        &["config", "extensions.worktreeConfig", "true"],
    );
    let refused = Boundary::prepare(policy(&world, view.clone()), world.scratch()).unwrap_err();
    assert_eq!(refused.code(), "git_unguarded");
    fs::write(world.workspace.join(".git/config.worktree"), "").unwrap();
    world.prepare(policy(&world, view));
}

/// A checkout with two submodules, one of them with one of its own.
fn with_submodules(world: &World) -> GitView {
    let view = checkout(world);
    let script = "set -e; for n in inner a b; do git init -q -b main $n; (cd $n; echo $n >file; git add .; git commit -qm $n); done
        G='git -c protocol.file.allow=always'; cd a; $G submodule -q add ../inner nested; git commit -qm nested; cd $W
        $G submodule -q add $O/a a; $G submodule -q add $O/b deep/b; $G submodule -q update --init --recursive; git commit -qm modules";
    let script = script
        .replace("$W", world.workspace.to_str().unwrap())
        .replace("$O", world.outside.to_str().unwrap());
    host(&world.outside, "sh", &["-c", &script]);
    view
}

#[test]
fn submodules_of_an_ordinary_checkout_can_be_committed_in() {
    let world = World::new();
    let view = with_submodules(&world);
    let boundary = world.prepare(policy(&world, view));
    let script = "for m in a/nested a deep/b; do (cd $m && echo more >>file && git add -A && git commit -qm more) || exit 1; done
        git commit -qam all && git status --porcelain && git log -1 --format=%s && git submodule foreach -q --recursive 'git log -1 --format=%s'";
    let said = shell(&boundary, script);
    assert_eq!(said.stderr, "");
    assert_eq!(said.printed(), "all\nmore\nmore\nmore\n");
    assert_eq!(host(&world.workspace, "git", &["status", "--porcelain"]), "");
}

#[test]
fn a_submodules_repository_cannot_be_steered() {
    let world = World::new();
    let view = with_submodules(&world);
    let boundary = world.prepare(policy(&world, view));
    let seen = || {
        let list = "find .git/modules -name config -o -name pre-commit -o -name alternates | sort | xargs sha256sum";
        host(&world.workspace, "sh", &["-c", list])
    };
    let before = seen();
    let attacks = [
        "echo x >>.git/modules/a/config",
        "git -C a config core.fsmonitor /tmp/evil",
        "echo x >.git/modules/a/hooks/pre-commit",
        "echo x >.git/modules/a/modules/nested/config",
        "echo x >.git/modules/deep/b/config",
        "mv .git/modules/a .git/modules/x && mkdir .git/modules/a",
        "mv .git/modules/deep .git/modules/x && mkdir .git/modules/deep",
        "mv .git/modules .git/x && mkdir .git/modules",
        "echo /tmp >.git/modules/a/objects/info/alternates",
    ];
    for script in attacks {
        assert_ne!(shell(&boundary, script).code, 0, "{script}");
        assert_eq!(seen(), before, "{script}");
    }
}

#[test]
fn more_submodules_than_are_held_one_by_one_are_read_only() {
    let world = World::new();
    let view = with_submodules(&world);
    for number in 0..64 {
        fs::create_dir(world.workspace.join(format!(".git/modules/{number}"))).unwrap();
    }
    let boundary = world.prepare(policy(&world, view));
    shell(&boundary, "cd a && git commit --allow-empty -m x").failed("Read-only file system");
    shell(&boundary, "git commit -q --allow-empty -m x").printed();
}
