//! `coder task gc` on stores of real runs: what they name stays and verifies, beside a run that is under way and after a kill
//! in the middle.

use crate::repository::finished;
use crate::world::{Gate, World, reply};
use coder_digest::Digest;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

/// Bytes that nothing names, as a run leaves them that was killed before its result.
fn orphan(world: &World, text: &str) -> PathBuf {
    let hex = Digest::of(text.as_bytes()).hex();
    let (first, rest) = hex.split_at(2);
    let directory = world.path("tasks/blobs").join(first);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .unwrap();
    fs::write(directory.join(rest), text).unwrap();
    directory.join(rest)
}

fn verified(world: &World) -> Value {
    world.task(&["verify", "task-1"]).json()
}

#[test]
fn only_what_nothing_names_goes() {
    let world = World::new();
    finished(&world);
    let (before, said) = (world.listing("tasks"), verified(&world));
    let gc = |arguments: &[&str]| world.task(&[&["gc"], arguments].concat()).json();
    let nothing = json!({"sweep": "remove", "cleared": [], "bytes": 0, "left": []});
    assert_eq!(gc(&["--older-than", "0"]), nothing);
    assert_eq!(world.listing("tasks"), before);
    let lost = orphan(&world, "nobody's");
    assert_eq!(gc(&[]), nothing, "for a day it stays");
    let path = lost.strip_prefix(world.path("tasks")).unwrap();
    let cleared = json!([{"kind": "blob", "path": path, "bytes": 8}]);
    let told = |sweep: &str| json!({"sweep": sweep, "cleared": cleared, "bytes": 8, "left": []});
    assert_eq!(gc(&["--older-than", "0", "--dry-run"]), told("dry_run"));
    assert!(lost.exists());
    assert_eq!(gc(&["--older-than", "0"]), told("remove"));
    assert!(!lost.exists());
    assert_eq!(verified(&world), said);
}

#[test]
fn a_run_under_way_loses_nothing() {
    let world = World::new();
    let tree = world.worktree();
    let prepared = world.prepare(
        &tree,
        &[
            reply(
                &["echo second >>notes.txt; echo x >$HOME/x; echo ready >gate; head -n 1 go"],
                false,
            ),
            reply(&[], true),
        ],
    );
    let mut gate = Gate::at(&world.path("tree/gate"));
    let mut go = Gate::at(&world.path("tree/go"));
    let host = prepared.call().start();
    gate.wait(&host);
    let kept = orphan(&world, "kept by the run just now");
    let done = world.task(&["gc", "--older-than", "0"]).json();
    let path = kept.strip_prefix(world.path("tasks")).unwrap();
    let left = json!([{"path": path, "reason": "a run that is under way may have kept it"}]);
    assert_eq!((&done["cleared"], &done["left"]), (&json!([]), &left));
    go.open();
    assert_eq!(host.wait().json(0)["run"]["result"]["ending"], "model_finished");
    verified(&world);
    world.task(&["gc", "--older-than", "0"]).json();
    assert!(!kept.exists());
    verified(&world);
}

/// Many at once, while runs start and end: whatever a run names is there afterwards.
#[test]
fn clearing_up_again_and_again_beside_runs() {
    let world = World::new();
    finished(&world);
    for round in 0..3 {
        let calls: Vec<_> = (0..3)
            .map(|number| {
                orphan(&world, &format!("{round} {number}"));
                world.task(&["gc", "--older-than", "0"]).start()
            })
            .collect();
        let script = world.text("script.json");
        let run = world
            .microcoder(&[
                "run",
                "Add",
                "--repo",
                &world.text("repo"),
                "--provider",
                "scripted",
                "--script",
                &script,
            ])
            .arguments(&[
                "--model",
                crate::world::MODEL,
                "--store",
                &world.text("tasks"),
                "--json",
            ])
            .run();
        assert_eq!(run.status, 0, "{} {}", run.stdout, run.stderr);
        for call in calls {
            let done = call.wait().json(0);
            assert!(done["cleared"].is_array());
        }
    }
    for task in world.task(&["list"]).json().as_array().unwrap() {
        let verification = world.task(&["verify", task["task_id"].as_str().unwrap()]).json();
        assert_eq!(verification["verdict"], "verified", "{verification:#}");
    }
}

#[test]
fn a_kill_in_the_middle_leaves_a_store_that_is_as_good() {
    let world = World::new();
    finished(&world);
    let said = verified(&world);
    for round in 0..6 {
        let orphans: Vec<PathBuf> = (0..200)
            .map(|number| orphan(&world, &format!("{round} {number}")))
            .collect();
        let call = world.task(&["gc", "--older-than", "0"]).start();
        // At any moment: once as soon as it begins, later when so many are gone.
        while !call.ends_within(std::time::Duration::ZERO)
            && orphans.iter().filter(|path| path.exists()).count() > 200 - round * 30
        {
            std::hint::spin_loop();
        }
        call.signal_if_alive(Signal::KILL);
        call.wait();
        assert_eq!(verified(&world), said);
        world.task(&["gc", "--older-than", "0"]).json();
        assert!(orphans.iter().all(|path| !path.exists()));
    }
    assert_eq!(verified(&world), said);
}
