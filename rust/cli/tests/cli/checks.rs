//! A candidate judged by suites that were pinned before it existed: approval, `coder task check`, and what keeps a verdict from
//! being given, forged or bent.

use crate::world::{Call, Prepared, Seen, Started, User, World, differences, reply, with_tools};
use coder_digest::{Digest, SystemClock, TaskId, json as canonical};
use coder_journal::{Checks, Store};
use rstest::rstest;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::time::Duration;

/// A suite that looks for the second line the task asks for, and prints the exact verdict.
pub const SUITE: &str = r#"#!/bin/sh
suite=$(sha256sum "$0" | cut -d ' ' -f 1)
verdict=failed
[ "$(cat notes.txt)" = "$(printf 'first\nsecond')" ] && verdict=passed
printf '{"schema":"openagents.verification.v1","suite_digest":"sha256:%s","input_digest":"%s","verdict":"%s"}\n' \
    "$suite" "$1" "$verdict"
"#;
const DONE: &str = "printf 'second\\n' >>notes.txt";

/// The same suite with something done before it judges.
fn suite_that(does: &str) -> String {
    SUITE.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n{does}\n"), 1)
}

/// What a plan says of one suite.
pub struct Laid {
    check: Value,
    manifest: String,
}

impl World {
    /// Writes a suite and its manifest into `judges/`, outside everything a run can touch.
    pub fn suite(&self, name: &str, script: &str, needs: Value) -> Laid {
        if !self.path("judges").exists() {
            self.directory("judges");
        }
        let program = self.write(&format!("judges/{name}.sh"), script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let program = program.to_str().unwrap();
        let manifest = json!({
            "v": 1,
            "slug": format!("judge-{name}"),
            "name": "Judge of the notes",
            "transport": "subprocess",
            "detect": { "binary": program, "version": [program, "--version"] },
            "needs": needs,
        });
        let manifest = manifest.to_string();
        self.write(&format!("judges/{name}.json"), &manifest);
        let path = self.text(&format!("judges/{name}.json"));
        Laid {
            check: json!({
                "id": name,
                "manifest": path,
                "manifest_digest": Digest::of(manifest.as_bytes()).hex(),
                "arguments": ["{candidate_digest}"],
                "seconds": 60,
                "output_bytes": 4096,
                "acceptance": {
                    "kind": "suite",
                    "suite_digest": Digest::of(script.as_bytes()),
                    "input_digest": "{candidate_digest}",
                },
            }),
            manifest: path,
        }
    }

    pub fn approve(&self, laid: &Laid) {
        self.coder(&["capability", "approve", "--manifest", &laid.manifest])
            .json();
    }

    fn check(&self) -> Value {
        self.task(&["check", "task-1"]).json()
    }
}

pub fn requirements(suites: &[&Laid]) -> Value {
    let names: Vec<&Value> = suites.iter().map(|laid| &laid.check["id"]).collect();
    let checks: Vec<&Value> = suites.iter().map(|laid| &laid.check).collect();
    let lineage: Vec<Value> = names
        .iter()
        .map(|name| json!({ "check": name, "sources": ["the notes' manual"] }))
        .collect();
    json!({
        "schema": "openagents.coder.task-requirements.v2",
        "version": 1,
        "requirements": [{ "id": "lines", "statement": "The notes have two lines.", "checks": names }],
        "plan": {
            "schema": "openagents.verification.v1",
            "input_digest": "{candidate_digest}",
            "seconds": 120,
            "allow_unrestricted_reads": true,
            "allow_network": true,
            "checks": checks,
        },
        "instruction_targets": [],
        "source_exclusions": [],
        "task_sources": ["a request of the operator"],
        "check_lineage": lineage,
        "knowledge": [],
    })
}

/// A finished run under requirements of these suites, whose agent ran `command`.
fn run<'a>(world: &'a World, suites: &[&Laid], command: &str) -> Prepared<'a> {
    let tree = world.worktree();
    let mut prepared = world.prepare(&tree, &[reply(&[command], true)]);
    prepared.grant["requirements"] = requirements(suites);
    assert_eq!(prepared.call().json()["execution"], "finished");
    prepared
}

fn report(task: &Value) -> &Value {
    &task["run"]["report"]
}

/// The verdict with its reason and that of each check.
fn said(task: &Value) -> (String, String, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = report(task)["evidence"]["checks"].as_array();
    let checks = checks.into_iter().flatten().map(|check| text(&check["verdict"]));
    (text(&task["checks"]), text(&report(task)["reason"]), checks.collect())
}

#[test]
fn a_candidate_that_does_what_was_asked_passes_and_the_verdict_can_be_derived_again() {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    let prepared = run(&world, &[&laid], DONE);
    world.approve(&laid);
    let before = world.listing("tree");
    let task = world.check();
    assert_eq!(said(&task), ("passed".into(), String::new(), vec!["passed".into()]));
    let told = report(&task);
    let candidate = task["run"]["result"]["candidate_snapshot"].clone();
    assert_eq!(
        (
            &told["schema"],
            &told["candidate_snapshot"],
            &told["requirements_digest"]
        ),
        (
            &json!("openagents.coder.task-checks.v1"),
            &candidate,
            &json!(canonical::digest(&prepared.grant["requirements"]).hex())
        )
    );
    let evidence = &told["evidence"];
    assert_eq!(
        (
            &evidence["before_snapshot"],
            &evidence["after_snapshot"],
            &evidence["workspace"]
        ),
        (&candidate, &candidate, &json!("unchanged"))
    );
    let check = &evidence["checks"][0];
    assert_eq!(
        (
            &check["ending"],
            &check["grader"],
            &check["boundary"],
            &check["group_clear"]
        ),
        (
            &json!({ "exited": 0 }),
            &json!("unchanged"),
            &json!("whole"),
            &json!(true)
        )
    );
    assert_eq!(
        check["suite_evidence"],
        json!({
            "schema": "openagents.verification.v1",
            "suite_digest": Digest::of(SUITE.as_bytes()),
            "input_digest": candidate,
            "verdict": "passed",
        })
    );
    // The contract allows reads and network; what really held the suite is stricter, and recorded.
    assert_eq!(
        (&check["enforced"]["access"], &check["enforced"]["network"]),
        (&json!("boundary"), &json!("loopback"))
    );
    assert_eq!(check["approval"]["record"]["slug"], "judge-notes");
    assert_eq!(world.listing("tree"), before);
    // What a suite printed is named by the report, so clearing up leaves it.
    let cleared = world.task(&["gc", "--older-than", "0"]).json();
    let blobs = cleared["cleared"].as_array().unwrap().iter();
    assert_eq!(
        blobs.filter(|cleared| cleared["kind"] == "blob").count(),
        0,
        "{cleared}"
    );
    let verified = world.task(&["verify", "task-1"]).json();
    let names = verified["checks"].as_array().unwrap().iter();
    let held = names.filter(|check| check["name"] == "check_report" && check["finding"] == "holds");
    assert_eq!((&verified["verdict"], held.count()), (&json!("verified"), 1));
    // Once: there is no second try at a verdict.
    assert_eq!(
        world.task(&["check", "task-1"]).run().refused(1).0,
        "invalid_transition"
    );
}

/// A statement is of what was known: one from before the checks does not vouch for their verdict.
#[test]
fn an_attestation_names_the_verdict_and_what_was_required() {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    let (before, after) = (world.text("work/before.json"), world.text("work/after.json"));
    world
        .task(&["export", "task-1", "--in-toto", "--output", &before])
        .run()
        .printed();
    let task = world.check();
    world
        .task(&["export", "task-1", "--in-toto", "--output", &after])
        .run()
        .printed();
    let stated: Value = serde_json::from_str(&world.read("work/after.json")).unwrap();
    let told = report(&task);
    let expected = json!({
        "verdict": "passed",
        "requirements_digest": told["requirements_digest"],
        "report_digest": Digest::of(canonical::canonical(told).as_bytes()),
    });
    assert_eq!(stated["predicate"]["checks"], expected);
    assert_eq!(
        world.task(&["verify", "--attestation", &after]).json()["verdict"],
        "verified"
    );
    let verification = world.task(&["verify", "--attestation", &before]).run().json(1);
    let first = verification["first_mismatch"].as_str().unwrap();
    assert!(
        first.starts_with("predicate of turn 1 does not hold: `/checks` is null, and the store says {"),
        "{first}"
    );
}

#[test]
fn a_candidate_that_does_not_do_it_fails_and_the_status_can_say_so() {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    let later = world.suite("later", SUITE, json!({}));
    run(&world, &[&laid, &later], "true");
    world.approve(&laid);
    world.approve(&later);
    let seen = world.task(&["check", "task-1", "--require-passed"]).run();
    assert_eq!((seen.status, seen.stderr.as_str()), (1, ""));
    let task: Value = serde_json::from_str(&seen.stdout).unwrap();
    // The second was not run: the first that does not pass is the last.
    assert_eq!(
        said(&task),
        (
            "failed".into(),
            "`notes`: the suite says so".into(),
            vec!["failed".into()]
        )
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

/// Trap 27: a missing compiler first showed as a failed control. Only what a suite says, or its own end, fails a candidate.
#[rstest]
#[case::exit_status("exit 3", json!({}), "failed", "`notes`: the suite did not exit with status 0: its status is 3")]
#[case::suite_killed("kill -9 $$", json!({}), "failed", "`notes`: the suite was ended by a signal: signal 9")]
#[case::nothing_said("exit 0", json!({}), "unavailable", "`notes`: the suite did not print exactly one verdict: ")]
#[case::talk_besides("echo checking", json!({}), "unavailable", "`notes`: the suite did not print exactly one verdict: ")]
#[case::another_candidate("set -- 0000000000000000000000000000000000000000000000000000000000000000", json!({}), "unavailable", "`notes`: the printed verdict is of another schema, suite or candidate")]
#[case::too_much("head -c 5000 /dev/zero >&2", json!({}), "unavailable", "`notes`: the suite printed more than its `output_bytes`")]
#[case::program_missing("true", json!({ "programs": ["no-such-compiler"] }), "unavailable", "`notes`: the suite could not be started: `no-such-compiler`, which its manifest needs, is not on the suite's PATH")]
#[case::cannot_tell("verdict=unverifiable; printf '{\"schema\":\"openagents.verification.v1\",\"suite_digest\":\"sha256:%s\",\"input_digest\":\"%s\",\"verdict\":\"unverifiable\"}' $(sha256sum $0 | cut -c 1-64) $1; exit 0", json!({}), "unavailable", "`notes`: the suite says so")]
fn failed_and_unavailable_are_kept_apart(
    #[case] does: &str,
    #[case] needs: Value,
    #[case] checks: &str,
    #[case] reason: &str,
) {
    let world = World::new();
    let laid = world.suite("notes", &suite_that(does), needs);
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    let (verdict, told, _) = said(&world.check());
    assert_eq!(verdict, checks, "{told}");
    assert!(told.starts_with(reason), "{told}");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_suite_whose_interpreter_is_missing_is_unavailable() {
    let world = World::new();
    let laid = world.suite(
        "notes",
        &SUITE.replace("#!/bin/sh", "#!/no/such/interpreter"),
        json!({}),
    );
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    let task = world.check();
    assert_eq!(task["checks"], "unavailable");
    assert_eq!(report(&task)["evidence"]["checks"][0]["ending"], "not_started");
}

#[test]
fn a_suite_that_takes_too_long_fails_and_leaves_nothing() {
    let world = World::new();
    let mut laid = world.suite("notes", &suite_that("sleep 1000 & sleep 1000"), json!({}));
    laid.check["seconds"] = json!(1);
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    let task = world.check();
    let check = &report(&task)["evidence"]["checks"][0];
    assert_eq!(
        (&task["checks"], &check["ending"], &check["group_clear"]),
        (&json!("failed"), &json!("deadline_exceeded"), &json!(true))
    );
    assert!(!world.path("tasks/scratch").exists());
}

#[test]
fn without_approval_or_after_it_was_revoked_nothing_runs() {
    let world = World::new();
    let ran = world.text("judges/ran");
    let laid = world.suite("notes", &suite_that(&format!("touch {ran}")), json!({}));
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    let listed = world.coder(&["capability", "list"]).json();
    assert_eq!(listed[0]["slug"], "judge-notes");
    let revoked = world.coder(&["capability", "revoke", "judge-notes"]).json();
    assert_eq!(revoked, listed);
    assert_eq!(
        world.coder(&["capability", "revoke", "judge-notes"]).run().refused(1).0,
        "not_approved"
    );
    let task = world.check();
    let (verdict, reason, _) = said(&task);
    assert_eq!(verdict, "unavailable");
    assert!(
        reason.contains("is not approved in") && reason.contains("coder capability approve --manifest"),
        "{reason}"
    );
    assert_eq!(report(&task)["evidence"]["checks"][0]["approval"], Value::Null);
}

/// What a candidate could do to its judge: replace it, its data, or its approval before the check. Each is noticed.
#[rstest]
#[case::program("notes.sh", "is not the one pinned")]
#[case::manifest("notes.json", "is not the one pinned")]
fn a_suite_that_was_replaced_judges_nothing(#[case] file: &str, #[case] reason: &str) {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    run(&world, &[&laid], "true");
    world.approve(&laid);
    let path = format!("judges/{file}");
    let changed = world
        .read(&path)
        .replace("verdict=failed", "verdict=passed")
        .replace("Judge of", "Friend of");
    world.write(&path, changed);
    let (verdict, told, _) = said(&world.check());
    assert_eq!(verdict, "unavailable");
    assert!(told.contains(reason), "{told}");
}

/// The agent's commands reach neither the suite nor the approvals, and the judge's boundary keeps the candidate's own programs
/// from what judges them.
#[test]
fn neither_the_agent_nor_the_candidate_can_touch_what_judges() {
    let world = World::new();
    // The suite runs the candidate's own program, as a test does, and that tries everything.
    let script = suite_that("./attack.sh \"$0\" >/dev/null 2>&1");
    let laid = world.suite("notes", &script, json!({ "reads": [world.text("judges/data")] }));
    world.directory("judges/data");
    world.write("judges/data/expected", "first\nsecond\n");
    world.approve(&laid);
    let home = world.text("home");
    let judges = world.text("judges");
    let attack = format!(
        "cat >attack.sh <<'END'\n#!/bin/sh\nfor f in \"$1\" {judges}/data/expected {judges}/notes.json notes.txt; do \
         chmod 777 \"$f\"; echo x >>\"$f\"; mv \"$f\" \"$f.old\"; rm -f \"$f\"; done\n\
         ls {home} {home}/.openagents && touch found-home\nEND\nchmod 755 attack.sh; ./attack.sh {judges}/notes.sh; exit 0"
    );
    let before = world.listing("judges");
    run(&world, &[&laid], &attack);
    assert_eq!(world.listing("judges"), before);
    // What the attack did to the notes as the agent's own work is the candidate; judging it changes nothing more.
    let tree = world.listing("tree");
    let task = world.check();
    assert_eq!(task["checks"], "failed", "{}", report(&task)["reason"]);
    assert_eq!((world.listing("judges"), world.listing("tree")), (before, tree));
    let check = &report(&task)["evidence"]["checks"][0];
    assert_eq!(
        (&check["grader"], &check["suite_evidence"]["verdict"]),
        (&json!("unchanged"), &json!("failed"))
    );
}

/// A suite that waits, once it judges, until its pipe is written to.
fn waiting(world: &World) -> Laid {
    world.directory("judges");
    world.directory("judges/data");
    world.write("judges/data/expected", "first\nsecond\n");
    let pipe = world.path("judges/data/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let data = world.text("judges/data");
    let laid = world.suite(
        "notes",
        &suite_that(&format!("read line <{data}/pipe")),
        json!({ "reads": [data] }),
    );
    run(world, &[&laid], DONE);
    world.approve(&laid);
    laid
}

/// Runs the check and does `meanwhile` while the suite judges.
fn check_while(world: &World, meanwhile: impl FnOnce(&Started) + Send) -> Seen {
    let started = world.task(&["check", "task-1"]).start();
    let pipe = world.path("judges/data/pipe");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Opening waits for the suite's own opening.
            let mut gate = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
            meanwhile(&started);
            // Nobody may be left to read it.
            let _ = gate.write_all(b"go\n");
        });
        assert!(started.ends_within(Duration::from_secs(60)));
        // If the suite was never there, this lets the other thread's opening return.
        drop(fs::OpenOptions::new().read(true).custom_flags(0o4000).open(&pipe));
    });
    started.wait()
}

/// A grader that somebody outside changes while it judges is noticed after it, though all its bytes were put back.
#[rstest]
#[case::data(|world: &World| drop(world.write("judges/data/expected", "first\nsecond\n")))]
#[case::program(|world: &World| touch_mode(world, "judges/notes.sh"))]
#[case::manifest(|world: &World| drop(world.write("judges/notes.json", world.read("judges/notes.json"))))]
fn a_suite_that_was_touched_while_it_judged_gives_no_verdict(#[case] touch: fn(&World)) {
    let world = World::new();
    waiting(&world);
    let seen = check_while(&world, |_| touch(&world));
    let task = seen.json(0);
    assert_eq!(
        said(&task),
        (
            "unavailable".into(),
            "`notes`: the suite's own files did not stay as they were".into(),
            vec!["unverifiable".into()]
        )
    );
}

fn touch_mode(world: &World, name: &str) {
    for mode in [0o700, 0o755] {
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_waiting_suite_that_nobody_touched_passes() {
    let world = World::new();
    waiting(&world);
    assert_eq!(check_while(&world, |_| {}).json(0)["checks"], "passed");
}

#[test]
fn a_request_corrected_while_it_is_judged_leaves_a_disputed_verdict() {
    let world = World::new();
    waiting(&world);
    let seen = check_while(&world, |_| {
        let shown = world.task(&["show", "task-1"]).json();
        let command = json!({
            "schema": "openagents.coder.task-command.v1",
            "command_id": "command-3",
            "task_id": "task-1",
            "expected_revision": shown["revision"],
            "action": { "type": "correct", "prompt": "Three lines.", "reason": "counted again" },
        });
        store(&world).command(command.to_string().as_bytes()).unwrap();
    });
    let task = seen.json(0);
    assert_eq!(
        (&task["checks"], &report(&task)["verdict"]),
        (&json!("disputed"), &json!("passed"))
    );
}

/// Facts 2.7: a checker that was killed left an intent without a report; that is unavailable, and never tried again.
#[test]
fn a_killed_checker_leaves_the_checks_unavailable_and_no_process() {
    let world = World::new();
    waiting(&world);
    let seen = check_while(&world, |started| started.signal(Signal::KILL));
    assert_eq!(seen.stdout, "");
    let open = world.task(&["show", "task-1"]).json();
    assert_eq!(open["checks"], "running");
    let task = store(&world)
        .recover(&TaskId::new("task-1").unwrap(), |_| {
            panic!("the run itself has a result")
        })
        .unwrap();
    assert_eq!(
        (task.checks, task.run.unwrap().check_reason.as_deref()),
        (Checks::Unavailable, Some("checker_owner_lost"))
    );
    assert_eq!(
        world.task(&["check", "task-1"]).run().refused(1).0,
        "invalid_transition"
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn an_interrupted_checker_says_so() {
    let world = World::new();
    waiting(&world);
    let seen = check_while(&world, |started| started.signal(Signal::TERM));
    let task = seen.json(0);
    assert_eq!(
        said(&task),
        (
            "unavailable".into(),
            "`notes`: the checker was asked to stop".into(),
            vec!["unverifiable".into()]
        )
    );
}

fn store(world: &World) -> Store {
    Store::open(&world.path("tasks"), std::sync::Arc::new(SystemClock)).unwrap()
}

#[test]
fn a_workspace_that_changed_since_the_run_is_not_judged() {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    world.write("tree/notes.txt", "first\nsecond\nthird\n");
    let task = world.check();
    assert_eq!(
        said(&task),
        (
            "unavailable".into(),
            "the workspace is not the candidate any more: it changed since the run ended".into(),
            vec![]
        )
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

/// The page that says how to do all this is itself done, word for word.
#[rstest]
fn the_worked_example_of_the_documentation_passes(#[values(User::Same, User::Ordinary)] user: User) {
    let world = World::of(user);
    world.directory("work/repo");
    world.write("work/repo/notes.txt", "first\n");
    world.git(
        "work/repo",
        &["init", "--quiet", "--initial-branch=main", "--template="],
    );
    world.git("work/repo", &["add", "--all"]);
    world.git("work/repo", &["commit", "--quiet", "--message=first"]);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md")).unwrap();
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let script = format!("set -eu\n{}", blocks.collect::<Vec<_>>().join("\n"));
    let script = with_tools(&script);
    let seen = world
        .microcoder(&["exec", "--access", "full", "--", "sh", "-c", &script])
        .run();
    assert_eq!(seen.status, 0, "{}", seen.stderr);
    let answers: Vec<Value> = serde_json::Deserializer::from_str(&seen.stdout)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let [approved, receipt, ran, checked, verified] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    assert_eq!(
        [
            &approved["approval"]["slug"],
            &receipt["status"],
            &ran["checks"],
            &checked["checks"],
            &verified["verdict"]
        ],
        [
            &json!("judge-notes"),
            &json!("queued"),
            &json!("not_run"),
            &json!("passed"),
            &json!("verified")
        ]
    );
}

/// Each is refused before anything is made or recorded.
#[rstest]
#[case::in_the_workspace("tree/judge.sh")]
#[case::in_the_git_directory("repo/.git/judge.sh")]
fn a_suite_that_the_run_could_write_is_not_admitted(#[case] place: &str) {
    let world = World::new();
    let tree = world.worktree();
    let mut laid = world.suite("notes", SUITE, json!({}));
    let program = world.path(place);
    fs::rename(world.path("judges/notes.sh"), &program).unwrap();
    let manifest = world
        .read("judges/notes.json")
        .replace(&world.text("judges/notes.sh"), program.to_str().unwrap());
    world.write("judges/notes.json", &manifest);
    laid.check["manifest_digest"] = json!(Digest::of(manifest.as_bytes()).hex());
    let mut prepared = world.prepare(&tree, &[reply(&[DONE], true)]);
    prepared.grant["requirements"] = requirements(&[&laid]);
    let before = world.listing("tasks");
    assert_eq!(prepared.call().run().refused(2).0, "protected_suite");
    assert_eq!(world.listing("tasks"), before);
}

#[rstest]
#[case::legacy(|r: &mut Value| { r["schema"] = json!("openagents.coder.task-requirements.v1"); for name in ["task_sources", "check_lineage"] { r[name] = json!([]); } }, "requirements.schema")]
#[case::no_restriction(|r: &mut Value| r["plan"]["allow_network"] = json!(false), "requirements.plan.allow_network")]
#[case::no_lineage(|r: &mut Value| r["check_lineage"] = json!([]), "requirements.check_lineage")]
fn requirements_that_cannot_be_held_start_nothing(#[case] change: fn(&mut Value), #[case] place: &str) {
    let world = World::new();
    let tree = world.worktree();
    let laid = world.suite("notes", SUITE, json!({}));
    let mut prepared = world.prepare(&tree, &[reply(&[DONE], true)]);
    prepared.grant["requirements"] = requirements(&[&laid]);
    change(&mut prepared.grant["requirements"]);
    let (code, message) = prepared.call().run().refused(2);
    assert_eq!(code, "grant_field");
    assert!(message.contains(&format!("`{place}`")), "{message}");
    assert_eq!(world.task(&["show", "task-1"]).json()["status"], "queued");
}

#[test]
fn a_task_without_requirements_or_result_is_not_checked() {
    let world = World::new();
    let prepared = world.prepare(&world.worktree(), &[reply(&[DONE], true)]);
    let (code, message) = world.task(&["check", "task-1"]).run().refused(1);
    assert_eq!(code, "invalid_transition", "{message}");
    prepared.call().json();
    let (code, message) = world.task(&["check", "task-1"]).run().refused(1);
    assert_eq!(code, "invalid_transition");
    assert!(message.contains("the grant pins no requirements"), "{message}");
    let absent = world
        .coder(&["task", "check", "task-2", "--store", &world.text("tasks")])
        .run();
    assert_eq!(absent.refused(1).0, "not_found");
}

/// A run that did not finish its work leaves nothing to judge, and that is no failure of the work.
#[test]
fn the_candidate_of_a_run_that_failed_is_not_judged() {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    world.approve(&laid);
    let tree = world.worktree();
    let mut prepared = world.prepare(&tree, &[reply(&["exit 3"], true)]);
    prepared.grant["requirements"] = requirements(&[&laid]);
    assert_eq!(prepared.call().json()["execution"], "failed");
    let (verdict, reason, _) = said(&world.check());
    assert_eq!(
        (verdict.as_str(), reason.as_str()),
        (
            "unavailable",
            "the run did not finish its work: it ended with `loop_incomplete`"
        )
    );
}

/// What a manifest asks for is given, and recorded as what it is: less protection.
#[rstest]
#[case::nothing(json!({}), "boundary", "loopback")]
#[case::network(json!({ "network": true }), "boundary", "host")]
#[case::toolchains(json!({ "toolchains": true }), "toolchains", "loopback")]
#[case::both(json!({ "toolchains": true, "network": true }), "toolchains", "host")]
fn what_a_suite_needs_is_given_and_recorded(#[case] needs: Value, #[case] access: &str, #[case] network: &str) {
    let world = World::new();
    let laid = world.suite("notes", SUITE, needs);
    run(&world, &[&laid], DONE);
    world.approve(&laid);
    let task = world.check();
    let enforced = &report(&task)["evidence"]["checks"][0]["enforced"];
    assert_eq!(
        (&task["checks"], &enforced["access"], &enforced["network"]),
        (&json!("passed"), &json!(access), &json!(network))
    );
}

/// Two suites share nothing: what one leaves in its home and `/tmp`, the next does not find.
#[test]
fn a_check_finds_nothing_of_the_one_before() {
    let world = World::new();
    let leaves = "[ -e ~/left ] || [ -e /tmp/left ] && exit 9; touch ~/left /tmp/left";
    let first = world.suite("notes", &suite_that(leaves), json!({}));
    let second = world.suite("again", &suite_that(leaves), json!({}));
    run(&world, &[&first, &second], DONE);
    world.approve(&first);
    world.approve(&second);
    assert_eq!(
        said(&world.check()),
        ("passed".into(), String::new(), vec!["passed".into(); 2])
    );
}

/// Neither the record nor the printed bytes can be bent afterwards.
#[rstest]
#[case::printed(|world: &World, task: &Value| {
    let digest = report(task)["evidence"]["checks"][0]["stdout_digest"].as_str().unwrap().to_owned();
    let (first, rest) = digest.strip_prefix("sha256:").unwrap().split_at(2);
    let path = format!("tasks/blobs/{first}/{rest}");
    let forged = world.read(&path).replace("failed", "passed");
    world.write(&path, forged);
}, "check_report of turn 1 does not hold: what the suite of `notes` printed")]
#[case::recorded(|world: &World, _: &Value| {
    let database = rusqlite::Connection::open(world.path("tasks/journal.db")).unwrap();
    database.execute_batch("DROP TRIGGER events_stay").unwrap();
    let changed = database.execute("UPDATE events SET event = replace(event, '\"failed\"', '\"passed\"') WHERE event LIKE '%\"checked\"%'", []);
    assert_eq!(changed.unwrap(), 1);
}, "journal does not hold")]
fn a_verdict_that_was_bent_is_found(#[case] bend: fn(&World, &Value), #[case] mismatch: &str) {
    let world = World::new();
    let laid = world.suite("notes", SUITE, json!({}));
    run(&world, &[&laid], "true");
    world.approve(&laid);
    let task = world.check();
    assert_eq!(task["checks"], "failed");
    bend(&world, &task);
    let verified = world.task(&["verify", "task-1"]).run().json(1);
    let first = verified["first_mismatch"].as_str().unwrap();
    assert!(first.starts_with(mismatch), "{first}");
}

/// `microcoder run --check`: the suites lie where a person has them, even in the checkout, which the run does not touch.
fn run_with(world: &World, script: &str) -> Call {
    let suite = world.write("repo/inner/judge.sh", script);
    fs::set_permissions(&suite, fs::Permissions::from_mode(0o755)).unwrap();
    let turns = json!([{ "reply": reply(&[DONE], true) }]);
    let conversation = json!({ "schema": "openagents.microcoder.script.v1", "turns": turns }).to_string();
    world.write("script.json", conversation);
    world
        .microcoder(&[
            "run",
            "Put a second line into notes.txt.",
            "--provider",
            "scripted",
            "--check",
            "judge.sh",
        ])
        .arguments(&["--script", &world.text("script.json"), "--store", &world.text("tasks")])
        .inside("repo/inner")
}

#[rstest]
#[case::passed(SUITE, 0, "passed", "Checks: passed\n")]
#[case::failed(&suite_that("exit 4"), 1, "failed", "Checks: failed: `1-judge.sh`: the suite did not exit with status 0: its status is 4\n")]
#[case::unavailable(&suite_that("exit 0"), 1, "unavailable", "Checks: unavailable: `1-judge.sh`: the suite did not print exactly one verdict: ")]
fn a_named_suite_judges_the_candidate_of_one_run(
    #[case] script: &str,
    #[case] status: i32,
    #[case] checks: &str,
    #[case] told: &str,
) {
    let world = World::new();
    let seen = run_with(&world, script).run();
    assert_eq!(seen.status, status, "{}", seen.stderr);
    assert!(seen.stdout.contains(told), "{}", seen.stdout);
    let document = run_with(&world, script).arguments(&["--json"]).run().json(status);
    let task = &document["task"];
    assert_eq!(
        (&task["checks"], &document["unchecked"]),
        (&json!(checks), &Value::Null)
    );
    let verified = world.task(&["verify", task["task_id"].as_str().unwrap()]).json();
    assert_eq!(verified["verdict"], "verified");
    // What was made to let it run is gone, and the person's own approvals are untouched.
    assert!(!world.path("tasks-checks").exists());
    assert!(!world.path("home/.openagents").exists());
}

/// It was found out only when the run was over and its model paid for.
#[rstest]
#[case::not_executable(SUITE, 0o644, "it is not executable; `chmod +x` makes it so")]
#[case::no_interpreter(
    "exit 0\n",
    0o755,
    "it is neither a binary of this machine nor a script with an interpreter line"
)]
fn a_named_suite_that_cannot_be_started_is_told_before_anything_is_made(
    #[case] script: &str,
    #[case] mode: u32,
    #[case] reason: &str,
) {
    let world = World::new();
    let call = run_with(&world, script);
    let judge = world.path("repo/inner/judge.sh");
    fs::set_permissions(&judge, fs::Permissions::from_mode(mode)).unwrap();
    let before = world.listing("");
    let (code, message) = call.run().refused(1);
    let judge = judge.display();
    assert_eq!(
        (code.as_str(), message),
        ("io", format!("could not start the suite {judge}: {reason}"))
    );
    assert_eq!(differences(&before, &world.listing("")), Vec::<String>::new());
}

#[test]
fn a_named_suite_that_is_not_there_is_told_before_anything_is_made() {
    let world = World::new();
    let call = run_with(&world, SUITE).arguments(&["--check", "no-such-suite"]);
    let before = world.listing("");
    let (code, message) = call.run().refused(1);
    assert_eq!(code, "io");
    assert!(
        message.contains("could not find the suite") && message.contains("no-such-suite"),
        "{message}"
    );
    assert_eq!(differences(&before, &world.listing("")), Vec::<String>::new());
}
