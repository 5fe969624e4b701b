use super::*;
use crate::fixture::World;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

#[test]
fn a_tree_is_removed_and_what_its_links_name_is_not() {
    let world = World::new();
    world.write("outside/file", "stays");
    world.write("tree/a/b", "goes");
    symlink("../outside", world.path("tree/link")).unwrap();
    remove_tree(&world.path("tree")).unwrap();
    assert!(!world.path("tree").exists());
    assert!(world.path("outside/file").exists());
    remove_tree(&world.path("tree")).unwrap();
}

#[test]
fn directories_without_rights_are_removed() {
    let world = World::new();
    for name in ["tree/a/b/file", "tree/c/file"] {
        world.write(name, "");
    }
    for name in ["tree/a/b", "tree/a", "tree/c", "tree"] {
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    remove_tree(&world.path("tree")).unwrap();
    assert!(!world.path("tree").exists());
}

/// What an agent nested in the objects of its Git stayed behind for want of descriptors, and deeper it would have ended the
/// host for want of stack.
#[test]
fn nesting_deeper_than_any_path_stack_or_number_of_descriptors() {
    // In memory: on a disk each of so many directories is waited for.
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let tree = place.path().join("tree");
    // Also the names it gives in passing.
    fs::create_dir_all(tree.join("moved-1/moved-2")).unwrap();
    let mut directory = open(CWD, &tree).unwrap();
    for _ in 0..20_000 {
        rustix::fs::mkdirat(&directory, "a", Mode::RWXU).unwrap();
        directory = open(directory.as_fd(), c"a").unwrap();
    }
    drop(directory);
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn a_link_in_its_place_goes_alone() {
    let world = World::new();
    world.write("outside/file", "stays");
    symlink("outside", world.path("tree")).unwrap();
    remove_tree(&world.path("tree")).unwrap();
    assert!(world.path("tree").symlink_metadata().is_err());
    assert!(world.path("outside/file").exists());
}
