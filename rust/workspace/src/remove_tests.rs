use super::*;
use crate::fixture::World;
use std::fs;
use std::os::unix::fs::symlink;

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
fn directories_without_rights_are_opened_up() {
    let world = World::new();
    for name in ["tree/a/b/file", "tree/c/file"] {
        world.write(name, "");
    }
    for name in ["tree/a/b", "tree/a", "tree/c"] {
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    // Root is stopped by no permission, so the step is taken for itself.
    open_up(descriptor::open_root(&world.path("tree")).unwrap()).unwrap();
    for name in ["tree/a", "tree/a/b", "tree/c"] {
        let mode = fs::metadata(world.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{name}");
    }
    remove_tree(&world.path("tree")).unwrap();
    assert!(!world.path("tree").exists());
}
