//! The access modes end to end: what `full` gives and holds, as root and as an ordinary user.

use crate::world::{User, World, differences, reply};
use rstest::rstest;
use serde_json::{Value, json};

const BRANCH: &str = "microcoder/task-1/candidate";
/// What a person's shell sets up.
const PROFILE: &str = "echo welcome back
export PATH=\"$HOME/bin:$PATH\" EDITOR=planted SOME_TOKEN=secret-value
greet() { echo hi; }; export -f greet
";

/// A world whose person has a login shell with a tool on its `PATH`, and a worktree on a branch of the run's own.
fn world(user: User) -> World {
    let world = World::of(user);
    world.repository();
    for name in ["tree", "other", "tasks"] {
        // Where an ordinary user can make none.
        world.directory(name);
    }
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(world.path("tasks"), private).unwrap();
    world.git(
        "repo",
        &["worktree", "add", "--quiet", "-b", BRANCH, &world.text("tree")],
    );
    world.git(
        "repo",
        &["worktree", "add", "--quiet", "--detach", &world.text("other")],
    );
    for name in [".bash_profile", ".profile"] {
        world.write(&format!("home/{name}"), PROFILE);
    }
    world.directory("home/bin");
    let tool = world.write("home/bin/planted-tool", "#!/bin/sh\necho planted tool\n");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world
}

const ATTEMPTS: &str = "
for path in ../repo/notes.txt ../repo/new ../repo/.git/config ../repo/.git/hooks/pre-commit ../repo/.git/HEAD \
            ../repo/.git/refs/heads/main ../repo/.git/index ../other/notes.txt; do
    ( echo evil >>$path ) 2>/dev/null && echo \"written: $path\"
done
git branch evil 2>/dev/null && echo branched
git config user.name evil 2>/dev/null && echo configured
git update-ref refs/stash HEAD 2>/dev/null && echo stashed
(cd ../repo && git commit -q --allow-empty -m evil) 2>/dev/null && echo committed there
grep -q 'NoNewPrivs:.1' /proc/self/status || echo privileges
true";

fn steps(world: &World) -> Vec<Value> {
    let trace = world.read("tasks/task-1.1.atif.jsonl");
    let records = trace.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records
        .map(|mut record| record["step"].take())
        .filter(|step| !step.is_null())
        .collect()
}

fn extension(steps: &[Value], name: &str) -> Value {
    let found = steps.iter().find(|step| !step["extensions"][name].is_null());
    found.map_or(Value::Null, |step| step["extensions"][name].clone())
}

#[rstest]
fn trap_3_a_run_with_full_access_leaves_the_checkout_alone_and_its_own_branch_arrives(
    #[values(User::Same, User::Ordinary)] user: User,
) {
    let world = world(user);
    let (checkout, other) = (world.listing("repo"), world.listing("other"));
    let identity = "git -c user.name=a -c user.email=a@b";
    let commit = format!("echo second >>notes.txt; {identity} commit -q -a -m inside && git log -1 --format=%s");
    let home = "planted-tool; printenv EDITOR HOME; printenv SOME_TOKEN; type greet 2>/dev/null; echo there >~/outside; \
                printenv GIT_CEILING_DIRECTORIES";
    let mut prepared = world.prepare(
        &world.path("tree"),
        &[reply(&[ATTEMPTS, home, &commit], false), reply(&[], true)],
    );
    prepared.grant["adapter_configuration"]["access"] = json!("full");
    let task = prepared.call().json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&result["ending"], &result["git_restored"]),
        (&json!("model_finished"), &Value::Null)
    );
    let admission = &task["run"]["admission"];
    assert_eq!(
        [&admission["network"], &admission["read_scope"]],
        ["host_network", "host_user"]
    );

    let steps = steps(&world);
    let view = world.task(&["view", "task-1"]).json();
    let outputs: Vec<&str> = view["evidence"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["observation"]["results"][0]["content"].as_str())
        .collect();
    // `nobody` has no login shell; what is usual takes its place.
    let (source, editor) = match user {
        User::Same => ("login_shell", "planted\n"),
        User::Ordinary => ("fallback", ""),
    };
    let (home, base) = (world.text("home"), world.path(""));
    let seen = format!("planted tool\n{editor}{home}\n{}\n", base.display());
    assert_eq!((outputs[0], outputs[1]), ("", seen.as_str()));
    // Git's tidying up afterwards means nothing.
    assert!(outputs[2].starts_with("inside\n"), "{}", outputs[2]);
    assert_eq!(world.read("home/outside"), "there\n");

    let mut after = world.listing("repo");
    after.retain(|name, _| checkout.contains_key(name));
    let moved: Vec<String> = differences(&checkout, &after)
        .into_iter()
        .map(|said| said.split(':').next().unwrap().to_owned())
        .collect();
    let expected = [
        format!(".git/logs/refs/heads/{BRANCH}"),
        format!(".git/refs/heads/{BRANCH}"),
        ".git/worktrees/tree/index".to_owned(),
        ".git/worktrees/tree/logs/HEAD".to_owned(),
    ];
    assert_eq!(moved, expected);
    assert_eq!(differences(&other, &world.listing("other")), [""; 0]);
    assert_eq!(world.git("repo", &["log", "-1", "--format=%s", BRANCH]), "inside\n");

    let environment = extension(&steps, "command_environment");
    assert_eq!(environment["source"], source);
    assert!(
        environment["path"]
            .as_str()
            .unwrap()
            .starts_with(&world.text("home/bin"))
    );
    let names = environment["variables"].as_array().unwrap();
    assert_eq!(names.contains(&json!("EDITOR")), user == User::Same, "{names:?}");
    assert!(!names.contains(&json!("SOME_TOKEN")), "{names:?}");
    let guard = json!({ "read_only": [world.text("other"), world.text("repo"), world.text("repo/.git")] });
    assert_eq!(extension(&steps, "source_guard"), guard);
    let mut results = steps.iter().map(|step| &step["extensions"]["effect_result"]);
    let command = results.find(|result| result["kind"] == "command").unwrap();
    let enforced = &command["result"]["enforced"];
    assert_eq!(
        (&enforced["access"], &enforced["source_checkout"]),
        (&json!("full"), &json!("guarded"))
    );
    assert!(!world.read("tasks/task-1.1.atif.jsonl").contains("secret-value"));
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    assert!(!world.path("tasks/scratch").exists());
}

#[rstest]
#[case::at_the_top("tree")]
#[case::below_it("tree/inner")]
fn one_command_with_full_access_leaves_the_checkout_alone_too(#[case] directory: &str) {
    let world = world(User::Same);
    let checkout = world.listing("repo");
    let report = world.text("tmp/report.json");
    let script = format!(
        "cd {}; {ATTEMPTS}; planted-tool; echo x >inner/file",
        world.text("tree")
    );
    let seen = world
        .microcoder(&[
            "exec", "--access", "full", "--report", &report, "--", "sh", "-c", &script,
        ])
        .inside(directory)
        .run();
    assert_eq!(seen.printed(), "planted tool\n");
    assert_eq!(differences(&checkout, &world.listing("repo")), [""; 0]);
    assert_eq!(world.read("tree/inner/file"), "x\n");
    let found: Value = serde_json::from_str(&world.read("tmp/report.json")).unwrap();
    assert_eq!(found["enforced"]["source_checkout"], "guarded");
    assert_eq!(found["command_environment"]["source"], "login_shell");
    assert!(!world.read("tmp/report.json").contains("secret-value"));
}

#[test]
fn a_repository_whose_checkout_cannot_be_found_gets_no_full_access() {
    let world = World::empty();
    world.directory("repo");
    world.git(
        "",
        &[
            "init",
            "--quiet",
            "--separate-git-dir",
            &world.text("elsewhere"),
            "repo",
        ],
    );
    world.git("repo", &["commit", "--quiet", "--allow-empty", "--message=first"]);
    world.git("repo", &["worktree", "add", "--quiet", "--detach", &world.text("tree")]);
    let call = world
        .microcoder(&["exec", "--access", "full", "--", "true"])
        .inside("tree");
    let (code, message) = call.run().refused(125);
    assert_eq!(code, "source_unknown", "{message}");
    assert!(
        message.contains("core.worktree") && message.contains("toolchains"),
        "{message}"
    );
}
