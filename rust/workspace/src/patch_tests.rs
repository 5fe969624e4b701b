use super::*;
use crate::fixture::World;
use crate::{Observer, changes};
use coder_digest::SystemClock;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// The patch of what `act` does in a checkout, and a second checkout it is applied to.
fn patch_of(world: &World, act: impl FnOnce(&World), limit: usize) -> Patch {
    patch_in(world, "repo", act, limit)
}

fn patch_in(world: &World, name: &str, act: impl FnOnce(&World), limit: usize) -> Patch {
    let repository = world.identify(name);
    let base = repository.head.commit().unwrap().clone();
    let observer = Observer::new(&SystemClock);
    // Without Git's own directory, which the tests of this module change by running Git there.
    let observe = || {
        let snapshot = observer.observe(&repository.top).unwrap();
        let kept = snapshot
            .entries()
            .iter()
            .filter(|entry| !entry.path.as_bytes().starts_with(b".git/"));
        Snapshot::new(snapshot.root().clone(), kept.cloned().collect(), Vec::new(), 0)
    };
    let before = observe();
    act(world);
    let after = observe();
    let scratch = tempfile::tempdir().unwrap();
    let candidate = Candidate {
        repository: &repository,
        base: &base,
        after: &after,
        changes: &changes(&before, &after).unwrap(),
        ignored: &repository.ignored_paths(&world.git).unwrap(),
    };
    candidate_patch(&world.git, &candidate, scratch.path(), limit).unwrap()
}

fn objects(world: &World) -> String {
    world.run("repo", &["count-objects", "-v"])
}

#[test]
fn a_small_change_word_for_word() {
    let world = World::new();
    world.repository("repo");
    let (before, index) = (objects(&world), fs::read(world.path("repo/.git/index")).unwrap());
    let patch = patch_of(
        &world,
        |world| drop(world.write("repo/readme", "hello\nworld\n")),
        1 << 20,
    );
    let expected = "diff --git a/readme b/readme\n\
        index ce013625030ba8dba906f756967f9e9ca394464a..94954abda49de8615a048f8d2e64b5de848e27a1 100644\n\
        --- a/readme\n+++ b/readme\n@@ -1 +1,2 @@\n hello\n+world\n";
    assert_eq!(coder_digest::display_bytes(&patch.bytes), expected.replace('\n', "\\n"));
    assert_eq!((patch.extent, patch.left_out), (Extent::Whole, Vec::new()));
    // Neither an object nor an index entry was written to the user's repository.
    assert_eq!(
        (objects(&world), fs::read(world.path("repo/.git/index")).unwrap()),
        (before, index)
    );
}

#[test]
fn applied_to_the_base_it_gives_the_candidate() {
    let world = World::new();
    world.repository("repo");
    world.run("repo", &["clone", "--quiet", ".", "../target"]);
    let patch = patch_of(
        &world,
        |world| {
            world.write("repo/binary", [0, 159, 146, 150, 0, 255]);
            world.write("repo/new/deep/file", "x\n");
            fs::write(
                world.path("repo").join(std::ffi::OsStr::from_bytes(b"\xff \"quoted\"")),
                "name\n",
            )
            .unwrap();
            fs::remove_file(world.path("repo/source/one.txt")).unwrap();
            fs::rename(world.path("repo/source/two.txt"), world.path("repo/moved.txt")).unwrap();
            fs::set_permissions(world.path("repo/readme"), fs::Permissions::from_mode(0o755)).unwrap();
            symlink("readme", world.path("repo/link")).unwrap();
            // What the run did to its own index and commits has no say.
            world.commit("repo");
            world.run("repo", &["update-index", "--assume-unchanged", "readme"]);
        },
        1 << 20,
    );
    assert_eq!(patch.left_out, []);
    fs::write(world.path("patch"), &patch.bytes).unwrap();
    world.run("target", &["apply", "--index", "../patch"]);
    assert_eq!(
        world.run("target", &["write-tree"]),
        world.run("repo", &["rev-parse", "HEAD^{tree}"])
    );
}

#[test]
fn a_file_that_became_a_directory_or_a_link_in_the_way() {
    let world = World::new();
    world.repository("repo");
    world.run("repo", &["clone", "--quiet", ".", "../target"]);
    let patch = patch_of(
        &world,
        |world| {
            fs::remove_file(world.path("repo/readme")).unwrap();
            world.write("repo/readme/inner", "x\n");
            fs::remove_dir_all(world.path("repo/source")).unwrap();
            symlink("/etc", world.path("repo/source")).unwrap();
            world.commit("repo");
        },
        1 << 20,
    );
    fs::write(world.path("patch"), &patch.bytes).unwrap();
    world.run("target", &["apply", "--index", "../patch"]);
    assert_eq!(
        world.run("target", &["write-tree"]),
        world.run("repo", &["rev-parse", "HEAD^{tree}"])
    );
}

/// An agent left gigabytes, and the host packed them for minutes after it had been told to stop.
#[test]
fn a_file_too_large_to_be_packed_is_left_out_and_named() {
    let world = World::new();
    world.repository("repo");
    let patch = patch_of(
        &world,
        |world| {
            world.write("repo/kept", "x\n");
            let large = std::fs::File::create(world.path("repo/large")).unwrap();
            large.set_len(FILE_BYTES + 1).unwrap();
        },
        1 << 20,
    );
    assert_eq!(
        (patch.extent, patch.left_out),
        (Extent::Whole, vec![BytePath::from("large")])
    );
    assert!(coder_digest::display_bytes(&patch.bytes).contains("b/kept"));
}

/// Report 15: a nested repository is no part of what is taken over, and is said to be left out.
#[test]
fn report_15_what_is_ignored_nested_or_no_file_is_left_out_and_named() {
    let world = World::new();
    world.repository("repo");
    let patch = patch_of(
        &world,
        |world| {
            world.write("repo/.gitignore", "build\n");
            world.write("repo/build/out", "x");
            world.write("repo/vendor/x/.git/hooks/pre-commit", "evil");
            world.write("repo/vendor/x/file", "x");
            world.write("repo/kept", "x\n");
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(
                rustix::fs::CWD,
                world.path("repo/pipe"),
                kind,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        },
        1 << 20,
    );
    let expected = ["build/out", "pipe", "vendor/x/.git/hooks/pre-commit", "vendor/x/file"];
    assert_eq!(patch.left_out, expected.map(BytePath::from));
    let text = coder_digest::display_bytes(&patch.bytes);
    assert!(
        text.contains("b/kept") && text.contains("b/.gitignore") && !text.contains("evil"),
        "{text}"
    );
}

#[test]
fn a_patch_over_its_limit_is_cut_and_said_to_be() {
    let world = World::new();
    world.repository("repo");
    let patch = patch_of(
        &world,
        |world| drop(world.write("repo/new", "line\n".repeat(1000))),
        100,
    );
    assert_eq!((patch.bytes.len(), patch.extent), (100, Extent::Cut));
}

#[test]
fn nothing_changed_is_an_empty_patch() {
    let world = World::new();
    world.repository("repo");
    assert_eq!(patch_of(&world, |_| {}, 100).bytes, b"");
}

#[test]
fn a_repository_at_an_odd_path_lends_its_objects() {
    assert_eq!(quoted(Path::new("/a \"b\\\n")), b"\"/a \\\"b\\\\\\012\"");
    let world = World::new();
    let odd = "odd \"pl:ace\"\\";
    world.repository(odd);
    let change = |world: &World| drop(world.write(&format!("{odd}/readme"), "x\n"));
    let patch = patch_in(&world, odd, change, 1 << 20);
    assert!(patch.bytes.starts_with(b"diff --git a/readme b/readme\n"));
}
