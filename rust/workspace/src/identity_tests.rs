use super::*;
use crate::fixture::World;
use rstest::rstest;
use std::fs;
use std::os::unix::fs::{chown, symlink};

#[test]
fn a_plain_checkout() {
    let world = World::new();
    let made = world.repository("repo");
    let commit = world.run("repo", &["rev-parse", "HEAD"]);
    let expected = Repository {
        top: world.path("repo"),
        git_directory: world.path("repo/.git"),
        common_directory: world.path("repo/.git"),
        kind: CheckoutKind::Checkout,
        head: Head::Branch {
            reference: "refs/heads/main".into(),
            commit: commit.trim().parse().unwrap(),
        },
        object_format: ObjectFormat::Sha1,
        reference_format: ReferenceFormat::Files,
        partial: None,
        sparse: Sparse::Whole,
    };
    assert_eq!(made, expected);
}

#[test]
fn a_linked_worktree_on_no_branch() {
    let world = World::new();
    let main = world.repository("repo");
    world.run("repo", &["worktree", "add", "--quiet", "--detach", "../linked"]);
    let linked = world.identify("linked");
    let admin = world.path("repo/.git/worktrees/linked");
    assert_eq!(linked.kind, CheckoutKind::Linked { admin: admin.clone() });
    assert_eq!(
        (linked.git_directory, linked.common_directory),
        (admin, main.git_directory)
    );
    let commit = main.head.commit().unwrap().clone();
    assert_eq!(linked.head, Head::Detached { commit });
}

#[test]
fn an_unborn_branch_and_the_longer_ids() {
    let world = World::new();
    fs::create_dir(world.path("repo")).unwrap();
    world.run(
        "repo",
        &["init", "--quiet", "--initial-branch=first", "--object-format=sha256"],
    );
    let unborn = world.identify("repo");
    assert_eq!(
        unborn.head,
        Head::Unborn {
            reference: "refs/heads/first".into()
        }
    );
    assert_eq!(
        (unborn.object_format, unborn.head.commit()),
        (ObjectFormat::Sha256, None)
    );
    world.commit("repo");
    assert_eq!(world.identify("repo").head.commit().unwrap().as_str().len(), 64);
}

#[test]
fn a_git_directory_kept_apart_is_followed() {
    let world = World::new();
    fs::create_dir(world.path("repo")).unwrap();
    world.run("repo", &["init", "--quiet", "--separate-git-dir=../apart.git"]);
    let made = world.identify("repo");
    assert_eq!(
        (made.kind, made.git_directory),
        (CheckoutKind::Checkout, world.path("apart.git"))
    );
}

#[test]
fn a_submodule_is_a_checkout_of_its_own() {
    let world = World::new();
    world.repository("inner");
    world.repository("repo");
    let inner = world.path("inner").display().to_string();
    world.run(
        "repo",
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            &inner,
            "sub",
        ],
    );
    let sub = world.identify("repo/sub");
    assert_eq!(sub.kind, CheckoutKind::Checkout);
    assert_eq!(sub.git_directory, world.path("repo/.git/modules/sub"));
}

/// Report 19: what a partial clone lacks cannot be had inside a boundary, so it is known beforehand.
#[test]
fn report_19_a_partial_and_sparse_clone_is_said_to_be_one() {
    let world = World::new();
    world.repository("origin");
    world.run("origin", &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", world.path("origin").display());
    fs::create_dir(world.path("here")).unwrap();
    world.run(
        "here",
        &["clone", "--quiet", "--filter=blob:none", "--sparse", &url, "clone"],
    );
    let clone = world.identify("here/clone");
    assert_eq!(
        clone.partial,
        Some(PartialClone {
            remote: "origin".to_owned(),
            filter: Some("blob:none".to_owned()),
        })
    );
    assert_eq!(clone.sparse, Sparse::Cone);
}

#[test]
fn another_branch_format_is_named() {
    // Not every Git that runs these tests can make such a repository.
    assert_eq!(reference_format(None), ReferenceFormat::Files);
    assert_eq!(reference_format(Some(b"files")), ReferenceFormat::Files);
    assert_eq!(
        reference_format(Some(b"reftable")),
        ReferenceFormat::Other("reftable".to_owned())
    );
}

/// Trap 20: Git answers for an empty directory inside a repository with that repository.
#[rstest]
#[case::subdirectory("source")]
#[case::empty_directory("empty")]
fn a_directory_inside_a_checkout_is_refused_and_the_top_named(#[case] name: &str) {
    let world = World::new();
    world.repository("repo");
    fs::create_dir_all(world.path("repo/empty")).unwrap();
    let path = world.path(&format!("repo/{name}"));
    let error = Repository::identify(&world.git, &path).unwrap_err();
    assert!(
        matches!(&error, Error::NotTopLevel { path: asked, top } if *asked == path && *top == world.path("repo")),
        "{error}"
    );
}

#[rstest]
#[case::no_repository("plain", "not_repository")]
#[case::broken_git_directory("repo/broken", "not_repository")]
#[case::broken_git_file("repo/pointer", "not_repository")]
#[case::bare("bare", "bare_repository")]
#[case::link("link", "unsafe_git_link")]
#[case::missing("missing", "resolve")]
#[case::somebody_elses_admin("thief", "foreign_admin")]
#[case::somebody_elses_git("burglar", "foreign_admin")]
#[case::elsewhere("elsewhere", "not_top_level")]
#[case::inside_git("repo/.git", "bare_repository")]
fn what_is_no_checkout_is_refused(#[case] name: &str, #[case] code: &str) {
    let world = World::new();
    world.repository("repo");
    world.run("repo", &["init", "--quiet", "--bare", "../bare"]);
    world.run("repo", &["worktree", "add", "--quiet", "--detach", "../linked"]);
    for directory in ["plain", "repo/broken/.git", "repo/pointer", "link", "thief", "burglar"] {
        fs::create_dir_all(world.path(directory)).unwrap();
    }
    world.write("repo/pointer/.git", "no pointer\n");
    symlink("../repo/.git", world.path("link/.git")).unwrap();
    fs::copy(world.path("linked/.git"), world.path("thief/.git")).unwrap();
    let pointer = format!("gitdir: {}\n", world.path("repo/.git").display());
    world.write("burglar/.git", pointer);
    world.repository("elsewhere");
    world.run("elsewhere", &["config", "core.worktree", "../../repo"]);
    let error = Repository::identify(&world.git, &world.path(name)).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
}

#[test]
fn what_another_user_owns_is_refused_with_both_users() {
    let world = World::new();
    let repository = world.repository("repo");
    let user = rustix::process::geteuid();
    // Only root can give a file away.
    if !user.is_root() {
        return;
    }
    for path in [repository.git_directory.clone(), repository.top.clone()] {
        chown(&path, Some(1234), None).unwrap();
        let error = Repository::identify(&world.git, &repository.top).unwrap_err();
        let expected = (path.clone(), 1234, user.as_raw());
        assert!(
            matches!(&error, Error::ForeignOwner { path, owner, user } if (path.clone(), *owner, *user) == expected),
            "{error}"
        );
        chown(&path, Some(user.as_raw()), None).unwrap();
    }
}

#[test]
fn a_lock_on_the_index_is_reported() {
    let world = World::new();
    let repository = world.repository("repo");
    assert_eq!(repository.index_lock().unwrap(), None);
    let path = world.write("repo/.git/index.lock", "");
    let lock = repository.index_lock().unwrap().unwrap();
    assert_eq!(lock.path, path);
}

#[rstest]
#[case("")]
#[case("abc")]
#[case("HEAD")]
#[case("0123456789ABCDEF0123456789ABCDEF01234567")]
#[case("0123456789abcdef0123456789abcdef0123456")]
fn only_full_lower_case_commit_ids_are_taken(#[case] text: &str) {
    assert_eq!(text.parse::<CommitId>().unwrap_err().code(), "commit_id");
}
