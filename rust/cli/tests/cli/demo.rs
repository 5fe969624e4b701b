//! `microcoder demo`: the whole job, what it says, what it keeps and what it leaves.

use crate::world::{User, World, differences, wait_readable, with_tools};
use rstest::rstest;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

/// The output with the task's name and the kernel's version replaced.
fn normalised(text: &str) -> String {
    let task = text.find("run-").unwrap();
    let landlock = text.find("(Landlock ").unwrap();
    let landlock = &text[landlock..=landlock + text[landlock..].find(')').unwrap()];
    let task = &text[task..task + "run-20261130-124647-8fde1992".len()];
    text.replace(task, "TASK").replace(landlock, "(Landlock VERSION)")
}

#[test]
fn it_holds_says_so_and_leaves_nothing() {
    let world = World::empty();
    let before = world.listing("");
    let seen = world.microcoder(&["demo"]).run();
    assert_eq!(seen.stderr, "");
    let expected = "\
Asked:     tally.sh loses the last line of a ledger that does not end with a newline. Find out why, fix it, and make the tests pass.
Enforced:  files: granted only (Landlock VERSION), network: none but its own loopback, processes: its own, capabilities: none, system calls: filtered
           held by the kernel for every command, and recorded with each result

tally.sh dropped the last line of a ledger that does not end with a newline, because `read` reports end of file for it. The loop now also runs for such a line; all four tests pass.

Task TASK: model_finished
Changed:
  M tally.sh
    diff --git a/tally.sh b/tally.sh
    index 4bad39452ddbb3f6f3443c3209b65dd52fe6e193..90d038e3a7413c5ed52d024bcaaa26d0d8e1ec97 100644
    --- a/tally.sh
    +++ b/tally.sh
    @@ -2,7 +2,7 @@
     # Adds up a ledger: lines of `NAME AMOUNT` on standard input, one `NAME TOTAL` line per name on standard output, sorted.
     set -eu
    \x20
    -while read -r name amount; do
    +while read -r name amount || [ -n \"$name\" ]; do
         case $name in
         '' | '#'*) continue ;;
         esac

Check:     passed (independent, candidate read-only): passed
Verify:    holds: 14 comparisons, from the journal's chain to every kept file
Everything was in a temporary store that is gone now; keep one with --store DIR.
";
    let said = seen.printed();
    assert_eq!(normalised(said), expected);
    assert_eq!(differences(&before, &world.listing("")), [""; 0]);
}

#[rstest]
fn its_document_holds_every_part(#[values(User::Same, User::Ordinary)] user: User) {
    let world = World::of(user);
    let before = world.listing("");
    let document = world.microcoder(&["demo", "--json"]).json();
    assert_eq!(document["holds"], true);
    assert_eq!(
        (&document["check"]["passed"], &document["check"]["output"]),
        (&json!(true), &json!("passed"))
    );
    assert_eq!(document["check"]["enforced"]["system_calls"], "filtered");
    assert_eq!(document["verification"]["verdict"], "verified");
    let run = &document["run"];
    assert_eq!(
        (&run["ending"], &run["committed"]),
        (&json!("model_finished"), &json!(true))
    );
    assert_eq!(
        run["changes"],
        json!([{ "change": "modified", "path": "tally.sh", "aspect": "content" }])
    );
    assert_ne!(run["base"], run["head"]);
    assert_eq!(differences(&before, &world.listing("")), [""; 0]);
}

#[test]
fn with_a_store_everything_can_be_verified_taken_and_dropped_afterwards() {
    let world = World::new();
    world.directory("here");
    let store = world.text("kept");
    // By whatever path it is named, the commands that are shown hold everywhere.
    let runs: Vec<Value> = [store.as_str(), "../kept"]
        .map(|named| {
            let call = world.microcoder(&["demo", "--json", "--store", named]);
            call.inside("here").json()["run"].clone()
        })
        .to_vec();
    let listed = world.coder(&["task", "list", "--store", &store]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    for run in &runs {
        let task = run["task"]["task_id"].as_str().unwrap();
        let verification = world.coder(&["task", "verify", task, "--store", &store]).json();
        assert_eq!(verification["verdict"], "verified");
        for command in ["take", "drop"] {
            let script = with_tools(run[command].as_str().unwrap());
            let place = format!("{}/kept-worktrees", world.text(""));
            let demo = format!("{place}.demo");
            let seen = world
                .microcoder(&[
                    "exec", "--access", "full", "--write", &place, "--write", &demo, "--", "sh", "-c", &script,
                ])
                .variables(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "tester")))
                .run();
            assert_eq!(seen.status, 0, "{script}: {}", seen.stderr);
        }
        let repository = run["repository"].as_str().unwrap();
        let tally = std::fs::read_to_string(format!("{repository}/tally.sh")).unwrap();
        assert!(tally.contains("|| [ -n \"$name\" ]"), "{tally}");
        assert!(!std::path::Path::new(run["worktree"].as_str().unwrap()).exists());
        assert_eq!(
            world.coder(&["task", "verify", task, "--store", &store]).json(),
            verification
        );
    }
}

#[test]
fn a_store_that_is_refused_leaves_nothing_beside_it() {
    let world = World::new();
    world.directory("open");
    world.write("open/file", "");
    std::fs::set_permissions(world.path("open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = world.listing("");
    let (code, _) = world
        .microcoder(&["demo", "--store", &world.text("open")])
        .run()
        .refused(1);
    assert_eq!(code, "unsafe_path");
    assert_eq!(differences(&before, &world.listing("")), Vec::<String>::new());
}

#[test]
fn interrupted_at_any_moment_it_leaves_nothing() {
    let begun = Instant::now();
    World::empty().microcoder(&["demo"]).run().printed();
    let whole = begun.elapsed();
    for part in 0..12 {
        let world = World::empty();
        let before = world.listing("");
        let demo = world.microcoder(&["demo"]).start();
        let over = demo.ends_within(whole * part / 10);
        let signal = if part % 2 == 0 { Signal::INT } else { Signal::TERM };
        let below = if over { Vec::new() } else { demo.freeze() };
        demo.signal_if_alive(signal);
        demo.signal_if_alive(Signal::CONT);
        let seen = demo.wait();
        // Before it could watch for signals, such a one ends it as any program.
        let expected = [0, 1, 128 + signal.as_raw()];
        assert!(expected.contains(&seen.status), "{seen:?}");
        assert_eq!(differences(&before, &world.listing("")), [""; 0], "{seen:?}");
        for process in below {
            wait_readable(process, "a process outlived its host");
        }
    }
}
