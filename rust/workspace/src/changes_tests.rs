use super::*;
use crate::fixture::World;
use crate::{Fault, Observer};
use coder_digest::{SystemClock, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn observe(world: &World) -> Snapshot {
    Observer::new(&SystemClock).observe(&world.path("work")).unwrap()
}

/// What `act` changes in a small tree.
fn after(act: impl FnOnce(&World)) -> Vec<Change> {
    let world = World::new();
    for name in ["a", "b", "dir/inner", "same"] {
        world.write(&format!("work/{name}"), name);
    }
    symlink("a", world.path("work/link")).unwrap();
    let before = observe(&world);
    act(&world);
    changes(&before, &observe(&world)).unwrap()
}

fn lines(act: impl FnOnce(&World)) -> Vec<String> {
    after(act).iter().map(Change::to_string).collect()
}

#[test]
fn nothing_done_is_nothing_changed() {
    assert_eq!(after(|_| {}), []);
}

#[test]
fn each_kind_of_change_in_the_order_of_paths() {
    let found = lines(|world| {
        world.write("work/a", "A");
        world.write("work/new/deep", "x");
        fs::remove_file(world.path("work/b")).unwrap();
        fs::rename(world.path("work/dir/inner"), world.path("work/z")).unwrap();
        fs::remove_file(world.path("work/link")).unwrap();
        fs::create_dir(world.path("work/link")).unwrap();
        fs::set_permissions(world.path("work/same"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    let expected = [
        "M a",
        "D b",
        "R dir/inner -> z",
        "T link",
        "A new",
        "A new/deep",
        "M same (mode)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_file_replaced_by_one_with_the_same_content_says_so() {
    let found = lines(|world| {
        world.write("other", "same");
        fs::rename(world.path("other"), world.path("work/same")).unwrap();
    });
    assert_eq!(found, ["M same (same content)"]);
}

#[test]
fn a_renamed_directory_takes_its_content_along() {
    let found = lines(|world| {
        fs::rename(world.path("work/dir"), world.path("work/moved")).unwrap();
        world.write("work/moved/inner", "changed");
    });
    assert_eq!(found, ["R dir -> moved", "R dir/inner -> moved/inner (altered)"]);
}

#[test]
fn a_link_with_another_target_is_modified() {
    let found = lines(|world| {
        fs::remove_file(world.path("work/link")).unwrap();
        symlink("b", world.path("work/link")).unwrap();
    });
    assert_eq!(found, ["M link"]);
}

/// The number of a removed file's inode is often given to the next new one, which is no rename.
#[test]
fn a_freed_inode_number_is_no_rename() {
    let world = World::new();
    world.write("work/old", "old");
    let before = observe(&world);
    let old = before.entry(b"old").unwrap().clone();
    fs::remove_file(world.path("work/old")).unwrap();
    world.write("work/new", "new");
    let observed = observe(&world);
    let mut new = observed.entry(b"new").unwrap().clone();
    new.inode = old.inode;
    let entries = vec![observed.entry(b"").unwrap().clone(), new];
    let reused = Snapshot::new(observed.root().clone(), entries, Vec::new(), 0);
    if old.born.is_some() {
        assert_eq!(
            changes(&before, &reused).unwrap(),
            [
                Change::Created { path: "new".into() },
                Change::Removed { path: "old".into() }
            ]
        );
    }
}

#[test]
fn among_several_names_of_one_file_no_rename_is_guessed() {
    let found = lines(|world| {
        for name in ["x", "y"] {
            fs::hard_link(world.path("work/a"), world.path(&format!("work/{name}"))).unwrap();
        }
        fs::remove_file(world.path("work/a")).unwrap();
    });
    assert_eq!(found, ["D a", "A x", "A y"]);
}

#[test]
fn an_incomplete_snapshot_is_not_compared() {
    let world = World::new();
    world.write("work/a", "a");
    let whole = observe(&world);
    let fault = Fault::Changed { path: "a".into() };
    let part = Snapshot::new(whole.root().clone(), whole.entries().to_vec(), vec![fault], 0);
    for (before, after) in [(&whole, &part), (&part, &whole)] {
        assert_eq!(changes(before, after).unwrap_err().code(), "snapshot_incomplete");
    }
}

#[test]
fn snapshots_of_two_trees_are_not_compared() {
    let world = World::new();
    world.write("work/a", "a");
    world.write("other/a", "a");
    let other = Observer::new(&SystemClock).observe(&world.path("other")).unwrap();
    assert_eq!(changes(&observe(&world), &other).unwrap_err().code(), "snapshot_roots");
}

#[test]
fn the_written_form() {
    let found = [
        Change::Created {
            path: BytePath::new(*b"\xff"),
        },
        Change::Modified {
            path: "a".into(),
            aspect: Aspect::Mode,
        },
        Change::Renamed {
            from: "a".into(),
            to: "b".into(),
            altered: Alteration::Altered,
        },
        Change::Retyped { path: "a".into() },
        Change::Removed { path: "a".into() },
    ];
    let text = json::canonical_of(&found).unwrap();
    let expected = concat!(
        r#"[{"change":"created","path":{"base64":"/w=="}},{"aspect":"mode","change":"modified","path":"a"},"#,
        r#"{"altered":true,"change":"renamed","from":"a","to":"b"},{"change":"retyped","path":"a"},"#,
        r#"{"change":"removed","path":"a"}]"#
    );
    assert_eq!(text, expected);
    let read: Vec<Change> = json::parse_as(text.as_bytes(), json::Limit::COMMAND).unwrap();
    assert_eq!(read, found);
    let plain: Change = json::parse_as(br#"{"change":"modified","path":"a"}"#, json::Limit::COMMAND).unwrap();
    assert_eq!(
        plain,
        Change::Modified {
            path: "a".into(),
            aspect: Aspect::Content
        }
    );
}
