//! `coder task cancel|correct|continue|archive|restore`: by an exact file at the revision it names, and in words at whatever
//! revision the task is.

use crate::world::{Gate, World, reply};
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;

/// A command file of the world; its path.
fn file(world: &World, command: &str, revision: u64, action: &Value) -> String {
    let command = json!({
        "schema": "openagents.coder.task-command.v1",
        "command_id": command,
        "task_id": "task-1",
        "expected_revision": revision,
        "action": action,
    });
    let path = world.write(
        &format!("{}.json", command["command_id"].as_str().unwrap()),
        command.to_string(),
    );
    path.to_str().unwrap().to_owned()
}

fn states(receipt: &Value) -> [&Value; 4] {
    ["revision", "status", "execution", "checks"].map(|name| &receipt[name])
}

#[test]
fn a_task_through_all_commands_by_exact_files() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let steps = [
        (
            "correct",
            json!({"type": "correct", "prompt": "Put a third line.", "reason": "miscounted"}),
            "queued",
        ),
        ("cancel", json!({"type": "cancel", "reason": "not now"}), "cancelled"),
        (
            "continue",
            json!({"type": "continue", "prompt": "Now do it."}),
            "queued",
        ),
    ];
    for (revision, (verb, action, status)) in (1..).zip(&steps) {
        let path = file(&world, &format!("c-{verb}"), revision, action);
        let call = || world.task(&[verb, "--file", &path]);
        let receipt = call().json();
        assert_eq!(
            states(&receipt),
            [
                &json!(revision + 1),
                &json!(status),
                &json!("not_started"),
                &json!("not_run")
            ]
        );
        assert_eq!(call().json(), receipt, "the same bytes, the same receipt");
        // Each file under every other verb: told before the store is looked for.
        for other in ["submit", "cancel", "correct", "continue"]
            .iter()
            .filter(|other| *other != verb)
        {
            let (code, message) = world
                .coder(&["task", other, "--file", &path, "--store", "nowhere"])
                .run()
                .refused(1);
            assert_eq!(code, "action_mismatch");
            assert_eq!(message, format!("the file holds a `{verb}` command, not `{other}`"));
            assert!(!world.path("work/nowhere").exists());
        }
    }
    let shown = world.task(&["show", "task-1"]).json();
    assert_eq!(shown["follow_ups"], json!([{"revision": 4, "prompt": "Now do it."}]));
    assert_eq!(
        shown["corrections"],
        json!([{"revision": 2, "prompt": "Put a third line.", "reason": "miscounted"}])
    );
    assert_eq!(shown["cancellation_reason"], Value::Null);
}

#[test]
fn a_task_through_all_commands_in_words() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let corrected = world
        .task(&[
            "correct",
            "task-1",
            "--prompt",
            "Put a third line.",
            "--reason",
            "miscounted",
        ])
        .json();
    assert_eq!(corrected["revision"], 2);
    assert!(corrected["command_id"].as_str().unwrap().starts_with("correct-"));
    let cancel = || world.task(&["cancel", "task-1", "--reason", "not now", "--command-id", "c-9"]);
    let cancelled = cancel().json();
    assert_eq!(
        (&cancelled["revision"], &cancelled["status"]),
        (&json!(3), &json!("cancelled"))
    );
    assert_eq!(cancel().json(), cancelled, "with its id it is safe to repeat");
    let continued = world
        .task(&["continue", "task-1", "--prompt-file", "-"])
        .input("Now do it.\nWhole.")
        .json();
    assert_eq!(
        (&continued["revision"], &continued["status"]),
        (&json!(4), &json!("queued"))
    );
    assert_eq!(cancel().json(), cancelled, "whatever happened since");
    let shown = world.task(&["show", "task-1"]).json();
    assert_eq!(shown["follow_ups"][0]["prompt"], "Now do it.\nWhole.");
    world.write("prompt.txt", "From a file.");
    let path = world.text("prompt.txt");
    world
        .task(&["correct", "task-1", "--prompt-file", &path, "--reason", "again"])
        .json();
    assert_eq!(
        world.task(&["show", "task-1"]).json()["corrections"][1]["prompt"],
        "From a file."
    );
}

/// Trap b: the owner's own records move the revision, and a cancel written from an older look comes too late.
#[test]
fn a_running_task_is_stopped_in_words_where_an_exact_file_is_stale() {
    let world = World::new();
    let tree = world.worktree();
    let prepared = world.prepare(
        &tree,
        &[
            reply(&["echo ready >gate; while :; do sleep 1000; done"], false),
            reply(&[], true),
        ],
    );
    let mut gate = Gate::at(&world.path("tree/gate"));
    let host = prepared.call().start();
    gate.wait(&host);
    let stale = file(&world, "c-stale", 1, &json!({"type": "cancel", "reason": "enough"}));
    let (code, message) = world.task(&["cancel", "--file", &stale]).run().refused(1);
    assert_eq!(
        (code.as_str(), message.as_str()),
        (
            "revision_mismatch",
            "task task-1 is at revision 3, not 1: look at it again and repeat"
        )
    );
    // A correction stops the run too, with a reason that the host wrote.
    let corrected = world
        .task(&[
            "correct",
            "task-1",
            "--prompt",
            "Something else.",
            "--reason",
            "changed my mind",
        ])
        .json();
    assert_eq!(
        states(&corrected),
        [
            &json!(4),
            &json!("cancel_requested"),
            &json!("running"),
            &json!("disputed")
        ]
    );
    let task = host.wait().json(0);
    assert_eq!(
        (&task["status"], &task["execution"], &task["cancellation_reason"]),
        (
            &json!("finished"),
            &json!("stopped"),
            &json!("the request was corrected while the task ran")
        )
    );
}

#[rstest]
#[case::no_task(&["cancel", "--reason", "r"])]
#[case::no_reason(&["cancel", "task-1"])]
#[case::task_and_file(&["cancel", "task-1", "--file", "f"])]
#[case::reason_and_file(&["cancel", "--reason", "r", "--file", "f"])]
#[case::id_and_file(&["cancel", "--command-id", "c", "--file", "f"])]
#[case::no_prompt(&["correct", "task-1", "--reason", "r"])]
#[case::no_why(&["correct", "task-1", "--prompt", "p"])]
#[case::two_prompts(&["correct", "task-1", "--reason", "r", "--prompt", "p", "--prompt-file", "f"])]
#[case::prompt_and_file(&["continue", "--prompt", "p", "--file", "f"])]
#[case::nothing(&["continue"])]
#[case::twice(&["cancel", "task-1", "--reason", "r", "--reason", "r"])]
#[case::bad_task(&["cancel", "a b", "--reason", "r"])]
#[case::bad_id(&["cancel", "task-1", "--reason", "r", "--command-id", "-"])]
#[case::submit_in_words(&["submit", "task-1"])]
#[case::archive_what(&["archive"])]
#[case::age(&["archive", "--older-than", "old"])]
#[case::gc_age(&["gc", "--older-than", "7"])]
fn wrong_use(#[case] arguments: &[&str]) {
    let world = World::empty();
    let seen = world.task(arguments).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (64, ""), "{}", seen.stderr);
    assert!(!world.path("tasks").exists());
}

/// A store of years takes new tasks: what was put away counts no more, and is there as before.
#[test]
fn a_task_is_put_away_and_taken_out_again() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    assert_eq!(
        world.task(&["archive", "task-1"]).run().refused(1).0,
        "invalid_transition"
    );
    assert_eq!(world.task(&["archive", "task-2"]).run().refused(1).0, "not_found");
    world.task(&["cancel", "task-1", "--reason", "r"]).json();
    assert_eq!(world.task(&["archive", "--older-than", "1d"]).json(), json!([]));
    let (shown, listed) = (world.task(&["show", "task-1"]).json(), world.task(&["list"]).json());
    let archived = world.task(&["archive", "--older-than", "0"]).json();
    assert_eq!(
        (&archived[0]["task_id"], archived.as_array().unwrap().len()),
        (&json!("task-1"), 1)
    );
    assert_eq!(world.task(&["archive", "task-1"]).json(), archived);
    assert_eq!(world.task(&["list"]).json(), json!([]));
    assert_eq!(world.task(&["list", "--all"]).json(), listed);
    assert_eq!(world.task(&["show", "task-1"]).json(), shown);
    let refused = world.task(&["continue", "task-1", "--prompt", "p"]).run().refused(1);
    assert_eq!(
        refused,
        (
            "invalid_transition".to_owned(),
            "task task-1 does not take this step: it is archived; `coder task restore` takes it out again".to_owned()
        )
    );
    let restored = json!({"task_id": "task-1", "archived_at": null});
    assert_eq!(world.task(&["restore", "task-1"]).json(), restored);
    world.task(&["continue", "task-1", "--prompt", "p"]).json();
    assert_eq!(world.task(&["list"]).json()[0]["status"], "queued");
}

/// A correction of what was never submitted makes no store.
#[test]
fn only_a_submission_makes_a_store() {
    let world = World::empty();
    let exact = file(&world, "c-1", 1, &json!({"type": "cancel", "reason": "r"}));
    let calls: [&[&str]; 5] = [
        &["cancel", "--file", &exact],
        &["cancel", "task-1", "--reason", "r"],
        &["archive", "task-1"],
        &["restore", "task-1"],
        &["gc"],
    ];
    for arguments in calls {
        assert_eq!(world.task(arguments).run().refused(1).0, "no_store");
        assert!(fs::symlink_metadata(world.path("tasks")).is_err());
    }
}

/// What no chain can show by itself, its own end taken away, shows by an end that was noted before.
#[test]
fn a_record_taken_away_with_all_that_speaks_of_it_shows_by_a_noted_head() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let whole = world.listing("tasks");
    let before: Vec<_> = ["journal.db", "journal.db-wal"]
        .map(|name| fs::read(world.path("tasks").join(name)).ok())
        .into();
    world.task(&["cancel", "task-1", "--reason", "r"]).json();
    let verify = |arguments: &[&str]| world.task(&[&["verify", "task-1"], arguments].concat()).run();
    let head = verify(&[]).json(1)["journal_head"].clone();
    assert_eq!(head["position"], 2);
    let noted = format!("{}:{}", head["position"], head["digest"].as_str().unwrap());
    assert_eq!(verify(&["--head", &noted]).json(1)["verdict"], "unfinished");
    // The whole journal as it was before the cancel.
    for (name, bytes) in ["journal.db", "journal.db-wal"].iter().zip(before) {
        let path = world.path("tasks").join(name);
        match bytes {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => drop(fs::remove_file(path)),
        }
    }
    assert_eq!(world.listing("tasks"), whole);
    assert_eq!(verify(&[]).json(1)["verdict"], "unfinished", "by itself it is whole");
    let told = verify(&["--head", &noted]).json(1);
    assert_eq!(
        (&told["verdict"], &told["first_mismatch"]),
        (
            &json!("mismatch"),
            &json!("noted_head does not hold: the journal no longer has the record at position 2 that was noted")
        )
    );
    assert_eq!(verify(&["--head", "2"]).status, 64);
}
