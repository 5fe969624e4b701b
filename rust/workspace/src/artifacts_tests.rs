use super::*;
use crate::Limits;
use crate::fixture::World;
use coder_digest::SystemClock;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::symlink;

struct Run {
    world: World,
    before: Snapshot,
}

fn observe(world: &World) -> Snapshot {
    Observer::new(&SystemClock).observe(&world.path("work")).unwrap()
}

impl Run {
    fn new() -> Self {
        let world = World::new();
        for name in ["keep", "gone", "old"] {
            world.write(&format!("work/{name}"), name);
        }
        let before = observe(&world);
        Self { world, before }
    }

    fn store(&self) -> Retention {
        Retention::open(&self.world.path("store")).unwrap()
    }

    fn retain(&self, ignored: &[&str]) -> Result<RetainedArtifacts, Error> {
        let ignored = ignored.iter().map(|path| BytePath::from(*path)).collect();
        let after = observe(&self.world);
        let observer = Observer::new(&SystemClock);
        retain(&self.store(), &self.before, &after, &ignored, &observer)
    }
}

fn states(manifest: &Manifest) -> Vec<(String, State)> {
    let shown = |entry: &Artifact| (entry.path.to_string(), entry.state);
    manifest.entries.iter().map(shown).collect()
}

#[test]
fn what_changed_is_kept_listed_and_had_again() {
    let run = Run::new();
    run.world.write("work/new", "content");
    fs::remove_file(run.world.path("work/gone")).unwrap();
    fs::rename(run.world.path("work/old"), run.world.path("work/renamed")).unwrap();
    symlink("new", run.world.path("work/link")).unwrap();
    fs::create_dir(run.world.path("work/directory")).unwrap();
    let kept = run.retain(&[]).unwrap();
    let file = |path: &str, content: &[u8]| Artifact {
        state: State::Retained,
        digest: Some(Digest::of(content)),
        bytes: Some(content.len() as u64),
        ..removed(&path.into())
    };
    let expected = Manifest {
        schema: "openagents.coder.task-artifacts.v1".to_owned(),
        source_snapshot: run.before.digest(),
        candidate_snapshot: observe(&run.world).digest(),
        complete: true,
        omitted_changes: 0,
        changes: vec![
            Change::Created {
                path: "directory".into(),
            },
            Change::Removed { path: "gone".into() },
            Change::Created { path: "link".into() },
            Change::Created { path: "new".into() },
            Change::Renamed {
                from: "old".into(),
                to: "renamed".into(),
                altered: crate::Alteration::Unaltered,
            },
        ],
        entries: vec![
            Artifact {
                state: State::Directory,
                ..removed(&"directory".into())
            },
            removed(&"gone".into()),
            Artifact {
                state: State::Symlink,
                link_target: Some("new".into()),
                ..removed(&"link".into())
            },
            file("new", b"content"),
            removed(&"old".into()),
            file("renamed", b"old"),
        ],
    };
    assert_eq!(kept.manifest, expected);
    let store = run.store();
    assert_eq!(kept.file_name, format!("manifest-{}.json", kept.digest.hex()));
    assert!(run.world.path("store").join(&kept.file_name).is_file());
    let read = manifest(&store, &kept.digest).unwrap();
    assert_eq!(read, expected);
    assert_eq!(read.artifact(&store, &"new".into()).unwrap(), b"content");
    assert_eq!(read.artifact(&store, &"renamed".into()).unwrap(), b"old");
    // Only what the manifest lists as retained, whatever else is there.
    for path in ["gone", "link", "directory", "keep", "../store", "nothing"] {
        assert_eq!(
            read.artifact(&store, &path.into()).unwrap_err().code(),
            "not_retained",
            "{path}"
        );
    }
}

#[test]
fn a_damaged_manifest_or_artifact_is_refused() {
    let run = Run::new();
    run.world.write("work/new", "content");
    let kept = run.retain(&[]).unwrap();
    let store = run.store();
    let hex = Digest::of(b"content").hex();
    fs::write(
        run.world.path(&format!("store/blobs/{}/{}", &hex[..2], &hex[2..])),
        "CONTENT",
    )
    .unwrap();
    assert_eq!(
        kept.manifest.artifact(&store, &"new".into()).unwrap_err().code(),
        "damaged"
    );
    let path = run.world.path("store").join(&kept.file_name);
    let edited = fs::read_to_string(&path)
        .unwrap()
        .replace("\"complete\":true", "\"complete\":false");
    fs::write(&path, edited).unwrap();
    assert_eq!(manifest(&store, &kept.digest).unwrap_err().code(), "damaged");
}

/// Trap e: package managers hard-link whole trees; such files are not kept, and the reason is told.
#[test]
fn a_hard_linked_file_makes_the_manifest_incomplete_and_says_why() {
    let run = Run::new();
    let outside = run.world.write("outside", "shared");
    fs::hard_link(outside, run.world.path("work/linked")).unwrap();
    mknodat(CWD, run.world.path("work/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let kept = run.retain(&[]).unwrap().manifest;
    assert!(!kept.complete);
    let told: Vec<_> = kept
        .entries
        .iter()
        .map(|entry| (entry.state, entry.reason.clone()))
        .collect();
    let linked = "the file has 2 names and may be shared with a file outside the workspace";
    assert_eq!(
        told,
        [
            (State::Unavailable, Some(linked.to_owned())),
            (State::Unavailable, Some("a fifo has no content to keep".to_owned())),
        ]
    );
    let error = kept.artifact(&run.store(), &"linked".into()).unwrap_err();
    assert_eq!(error.to_string(), format!("nothing of `linked` was kept: {linked}"));
}

#[test]
fn a_file_over_its_limit_is_not_kept_in_part() {
    let run = Run::new();
    let limit = usize::try_from(MAXIMUM_FILE_BYTES).unwrap();
    run.world.write("work/fits", vec![1; limit]);
    run.world.write("work/large", vec![2; limit + 1]);
    let kept = run.retain(&[]).unwrap().manifest;
    assert_eq!(
        states(&kept),
        [
            ("fits".to_owned(), State::Retained),
            ("large".to_owned(), State::UnavailableOrOverLimit)
        ]
    );
    assert!(!kept.complete);
}

#[test]
fn the_bytes_of_a_run_go_first_to_what_is_not_ignored() {
    let run = Run::new();
    let limit = usize::try_from(MAXIMUM_FILE_BYTES).unwrap();
    for index in 0..8 {
        run.world.write(&format!("work/build/{index}"), vec![index; limit]);
    }
    run.world.write("work/zfix", "the fix");
    let kept = run.retain(&["build/"]).unwrap().manifest;
    let over = State::UnavailableOrOverLimit;
    let lost: Vec<_> = kept.entries.iter().filter(|entry| entry.state == over).collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].path, BytePath::from("build/7"));
    assert_eq!(kept.artifact(&run.store(), &"zfix".into()).unwrap(), b"the fix");
}

/// Trap f: a package directory made by the run must not push the fix out of the manifest.
#[test]
fn the_places_in_the_list_go_first_to_what_is_not_ignored() {
    let run = Run::new();
    for index in 0..MAXIMUM_CHANGES + 10 {
        run.world.write(&format!("work/node_modules/{index}"), "");
    }
    run.world.write("work/zfix", "the fix");
    let kept = run.retain(&["node_modules"]).unwrap().manifest;
    assert_eq!(kept.changes.len(), MAXIMUM_CHANGES);
    // The files, their directory and the fix.
    assert_eq!(kept.omitted_changes, 12);
    assert!(!kept.complete);
    assert_eq!(kept.changes.last().unwrap(), &Change::Created { path: "zfix".into() });
}

/// Only bytes of the completed snapshot are kept: what was written after it is somebody still at work.
#[test]
fn a_tree_that_moves_on_after_the_snapshot_is_refused() {
    let run = Run::new();
    run.world.write("work/new", "content");
    let after = observe(&run.world);
    let observer = Observer::new(&SystemClock);
    let retain = || retain(&run.store(), &run.before, &after, &IgnoredPaths::default(), &observer);
    // A changed file itself is named; any other shows in the second look.
    run.world.write("work/new", "CONTENT");
    assert!(matches!(retain(), Err(Error::WorkspaceChanged { path }) if path == "new".into()));
    run.world.write("work/new", "content");
    assert!(matches!(retain(), Err(Error::WorkspaceChanged { path }) if path == *after.root()));
    assert!(
        fs::read_dir(run.world.path("store"))
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().display().to_string().starts_with("manifest") })
    );
}

#[test]
fn an_incomplete_snapshot_is_not_retained() {
    let run = Run::new();
    let observer = Observer::new(&SystemClock);
    let part = observer
        .limits(Limits { entries: 1, bytes: 0 })
        .observe(&run.world.path("work"))
        .unwrap();
    let error = retain(&run.store(), &run.before, &part, &IgnoredPaths::default(), &observer).unwrap_err();
    assert_eq!(error.code(), "snapshot_incomplete");
}

#[test]
fn ignored_directories_cover_what_lies_below_them() {
    let ignored: IgnoredPaths = ["target/", "a/b"].into_iter().map(BytePath::from).collect();
    for (path, expected) in [
        ("target", true),
        ("target/x/y", true),
        ("targets", false),
        ("a", false),
        ("a/b/c", true),
    ] {
        assert_eq!(ignored.contains(&path.into()), expected, "{path}");
    }
}
