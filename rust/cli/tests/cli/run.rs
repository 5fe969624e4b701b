//! `microcoder run`: from a prompt to a candidate that can be looked at, taken and dropped; and what it leaves when it
//! cannot begin.

use crate::world::{Call, World, differences, reply, with_tools};
use rstest::rstest;
use serde_json::{Value, json};

/// Writes a conversation and returns the arguments that use it.
fn scripted(world: &World, replies: &[Value]) -> Vec<String> {
    let turns: Vec<Value> = replies.iter().map(|reply| json!({ "reply": reply })).collect();
    let script = json!({ "schema": "openagents.microcoder.script.v1", "turns": turns });
    world.write("script.json", script.to_string());
    [
        "--provider",
        "scripted",
        "--script",
        &world.text("script.json"),
        "--store",
        &world.text("tasks"),
    ]
    .map(str::to_owned)
    .into()
}

fn run(world: &World, replies: &[Value]) -> Call {
    let arguments = scripted(world, replies);
    world
        .microcoder(&["run", "Put a second line\ninto notes.txt."])
        .arguments(&arguments)
}

fn second_line() -> [Value; 2] {
    [reply(&["echo second >>notes.txt"], false), reply(&[], true)]
}

fn shell(world: &World, script: &Value) {
    let script = with_tools(script.as_str().unwrap());
    let seen = world
        .microcoder(&["exec", "--access", "full", "--", "sh", "-c", &script])
        .variable("HOME", &world.text("home"))
        .run();
    assert_eq!(seen.status, 0, "{script}: {}", seen.stderr);
}

/// What the list refuses, the model is told, and the trace keeps.
#[test]
fn a_run_with_listed_hosts_records_each_connection_of_each_command() {
    let world = World::new();
    let ask = "curl --silent --fail http://other.invalid:9/ || echo second >>notes.txt";
    let replies = [reply(&[ask], false), reply(&[], true)];
    let document = run(&world, &replies)
        .arguments(&["--json", "--network", "allow:registry.invalid:443"])
        .inside("repo")
        .json();
    let task = &document["task"];
    assert_eq!(
        task["run"]["admission"]["network"],
        json!("network_allow_list"),
        "{task}"
    );
    let id = task["task_id"].as_str().unwrap();
    let trace = world.read(&format!("tasks/{id}.1.atif.jsonl"));
    let steps: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let held: Vec<&Value> = steps
        .iter()
        .filter_map(|step| {
            step.pointer("/step/extra/result/result/connections")
                .or_else(|| find(step, "connections"))
        })
        .collect();
    let [connections] = held.as_slice() else {
        panic!("{held:?}")
    };
    let one = &connections["listed"][0];
    assert_eq!(
        [&one["host"], &one["port"], &one["verdict"], &connections["omitted"]],
        [&json!("other.invalid"), &json!(9), &json!("refused"), &json!(0)]
    );
    assert!(trace.contains("the boundary's network: other.invalid:9 refused: not on the list of allowed hosts"));
    world
        .coder(&["task", "verify", id, "--store", &world.text("tasks")])
        .run()
        .printed();
}

/// Reports 11 and 15: what the boundary refused is told apart from a compiler's errors, hooks of nested repositories stay
/// as they are, and what others will execute of the candidate is listed.
#[test]
fn report_15_what_others_will_execute_is_listed_and_nested_repositories_stay_as_they_are() {
    let world = World::new();
    let ask = "mkdir -p new/.git/hooks .vscode; echo evil >new/.git/hooks/pre-commit; echo {} >.vscode/tasks.json; \
               echo all: >Makefile; echo x >plain; touch /usr/local/x";
    let replies = [reply(&[ask], false), reply(&[], true)];
    let document = run(&world, &replies).arguments(&["--json"]).inside("repo").json();
    let found: Vec<String> = document["auto_exec"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}: {}", one["path"].as_str().unwrap(), one["runs"].as_str().unwrap()))
        .collect();
    let expected = [
        ".vscode/tasks.json: an editor, by its tasks and settings",
        "Makefile: make",
        "new/.git: git, as a repository of its own",
        "new/.git/hooks: git, as a hook",
        "new/.git/hooks/pre-commit: git, as a hook",
    ];
    assert_eq!(found, expected);
    let task = document["task"]["task_id"].as_str().unwrap();
    let trace = world.read(&format!("tasks/{task}.1.atif.jsonl"));
    assert!(
        trace.contains("denied: /usr/local/x (inferred from the output): the system's `/usr`, shown read-only"),
        "the model was not told"
    );
}

/// The first value under a name, however deep.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .or_else(|| fields.values().find_map(|field| find(field, name))),
        Value::Array(items) => items.iter().find_map(|item| find(item, name)),
        _ => None,
    }
}

#[rstest]
fn from_any_directory_of_the_repository(#[values("repo", "repo/inner")] directory: &str) {
    let world = World::new();
    world.git("repo", &["config", "user.name", "tester"]);
    world.git("repo", &["config", "user.email", "tester@localhost"]);
    let mut document = run(&world, &second_line())
        .arguments(&["--json"])
        .inside(directory)
        .json();
    let task = document["task"].take();
    assert_eq!(
        (&task["status"], &task["intent"]["title"]),
        (&json!("finished"), &json!("Put a second line"))
    );
    let id = task["task_id"].as_str().unwrap();
    let (repository, worktree) = (world.text("repo"), format!("{}-worktrees/{id}", world.text("tasks")));
    let branch = format!("microcoder/{id}/candidate");
    let store = world.text("tasks");
    let base = world.git("repo", &["rev-parse", "HEAD"]).trim_end().to_owned();
    let expected = json!({
        "task": null,
        "ending": "model_finished",
        "reply": "Done.",
        "repository": repository,
        "worktree": worktree,
        "branch": branch,
        "auto_exec": [],
            "base": base,
        "head": base,
        "head_moved_to": null,
        "summary": "the model said it is finished",
        "committed": false,
        "changes": [{ "change": "modified", "path": "notes.txt", "aspect": "content" }],
        "look": format!("coder task artifact {id} --patch --store {store}"),
        "take": format!("coder task artifact {id} --patch --store {store} | git -C {repository} apply --index"),
        "drop": format!("git -C {repository} worktree remove --force {worktree} && git -C {repository} branch -D {branch}"),
        "unchecked": null,
    });
    assert_eq!(document, expected);
    assert_eq!(world.read("repo/notes.txt"), "first\n");
    shell(&world, &document["take"]);
    assert_eq!(world.read("repo/notes.txt"), "first\nsecond\n");
    shell(&world, &document["drop"]);
    assert_eq!(world.git("repo", &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(world.git("repo", &["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.task(&["verify", id]).json()["verdict"], "verified");
}

#[test]
fn what_a_person_is_told() {
    let world = World::new();
    world.write("repo/notes.txt", "not committed\n");
    let seen = run(&world, &second_line()).inside("repo").run();
    assert_eq!(seen.stderr, "");
    let listed = world.task(&["list"]).json();
    let id = listed[0]["task_id"].as_str().unwrap();
    let (repository, store) = (world.text("repo"), world.text("tasks"));
    let worktree = format!("{store}-worktrees/{id}");
    let branch = format!("microcoder/{id}/candidate");
    let expected = format!(
        "Done.

Task {id}: model_finished
Changed:
  M notes.txt
Your uncommitted changes were not part of it: the run began from the last commit.
Look at it:  coder task artifact {id} --patch --store {store}
             coder task view {id} --store {store}
Verify it:   coder task verify {id} --store {store}
Take it:     coder task artifact {id} --patch --store {store} | git -C {repository} apply --index
Drop it:     git -C {repository} worktree remove --force {worktree} && git -C {repository} branch -D {branch}
"
    );
    assert_eq!(seen.printed(), expected);
    assert_eq!(world.read("repo/notes.txt"), "not committed\n");
}

#[test]
fn a_run_that_moves_head_is_told_and_what_is_offered_is_what_was_shown() {
    let world = World::new();
    let script = "echo second >>notes.txt; git commit -qam second; git checkout -q --detach HEAD^";
    let seen = run(&world, &[reply(&[script], false), reply(&[], true)])
        .inside("repo")
        .run();
    let base = world.git("repo", &["rev-parse", "HEAD"]).trim_end().to_owned();
    let told = format!("The run moved HEAD of its worktree to {base}: look before you use Git there.\n");
    assert!(seen.printed().contains(&told), "{}", seen.stdout);
    // Its branch holds a commit that the worktree does not show; only what was shown is offered, which is nothing.
    assert!(
        !seen.stdout.contains("Take it:") && !seen.stdout.contains("merge"),
        "{}",
        seen.stdout
    );
}

#[test]
fn no_printed_command_runs_git_where_the_agent_may_have_set_it_up() {
    // A nested repository's file system monitor ran on the host as soon as `git diff` was pasted.
    let world = World::new();
    let script = "git init -q nested; git -C nested config core.fsmonitor 'touch /tmp/x'; echo second >>notes.txt";
    let seen = run(&world, &[reply(&[script], false), reply(&[], true)])
        .inside("repo")
        .run();
    let id = world.task(&["list"]).json()[0]["task_id"].as_str().unwrap().to_owned();
    let worktree = format!("{}-worktrees/{id}", world.text("tasks"));
    let inside = format!("git -C {worktree}");
    assert!(!seen.printed().contains(&inside), "{}", seen.stdout);
    assert!(
        !seen.stdout.contains("Take it:") && seen.stdout.contains("not in the patch: nested"),
        "{}",
        seen.stdout
    );
}

#[test]
fn what_a_run_breaks_of_its_git_is_told_and_does_not_reach_the_worktree() {
    let world = World::new();
    let script = "echo second >>notes.txt; echo nonsense >\"$(git rev-parse --git-dir)/HEAD\"";
    let seen = run(&world, &[reply(&[script], false), reply(&[], true)])
        .arguments(&["--json"])
        .inside("repo")
        .run();
    let document = seen.json(0);
    let base = world.git("repo", &["rev-parse", "HEAD"]).trim_end().to_owned();
    assert_eq!(document["head"], json!(base));
    assert_eq!(document["task"]["run"]["result"]["git_restored"], json!(["HEAD"]));
    assert!(document["take"].is_string(), "{document:#}");
    let id = document["task"]["task_id"].as_str().unwrap();
    assert_eq!(world.task(&["verify", id]).run().json(0)["verdict"], "verified");
    let seen = run(&world, &[reply(&[script], false), reply(&[], true)])
        .inside("repo")
        .run();
    let told = "What the run did to HEAD of its Git was not taken over; the last step of the trace says why.\n";
    assert!(seen.printed().contains(told), "{}", seen.stdout);
}

#[test]
fn a_store_in_the_repository() {
    let world = World::new();
    for store in ["repo/tasks", "repo/.git/tasks"] {
        scripted(&world, &second_line());
        let call = world
            .microcoder(&[
                "run",
                "Do it.",
                "--provider",
                "scripted",
                "--script",
                "../script.json",
                "--store",
                &world.text(store),
            ])
            .inside("repo");
        refused(&world, call, 1, "unsafe_path");
    }
}

#[test]
fn a_run_that_does_not_complete_ends_in_1_and_still_tells_all() {
    let world = World::new();
    let nonsense = vec![json!("nonsense"); 3];
    let seen = run(&world, &nonsense).arguments(&["--json"]).inside("repo").run();
    let document = seen.json(1);
    assert_eq!(
        (&document["ending"], &document["changes"]),
        (&json!("loop_incomplete"), &json!([]))
    );
    let id = document["task"]["task_id"].as_str().unwrap();
    assert_eq!(world.task(&["verify", id]).json()["verdict"], "verified");
}

#[test]
fn a_prompt_from_a_file_or_standard_input() {
    let world = World::new();
    for (file, input) in [("../prompt.txt", ""), ("-", "Say hello.\n")] {
        world.write("prompt.txt", "Say hello.\n");
        let arguments = scripted(&world, &[reply(&[], true)]);
        let call = world
            .microcoder(&["run", "--json", "--prompt-file", file])
            .arguments(&arguments);
        let document = call.input(input).inside("repo").json();
        assert_eq!(document["task"]["intent"]["prompt"], "Say hello.\n");
        assert_eq!(document["changes"], json!([]));
    }
}

/// Refuses with `code`, and changes nothing.
#[track_caller]
fn refused(world: &World, call: Call, status: i32, code: &str) -> String {
    let before = world.listing("");
    let (found, message) = call.run().refused(status);
    assert_eq!(found, code, "{message}");
    assert_eq!(differences(&before, &world.listing("")), [""; 0], "{message}");
    message
}

#[test]
fn outside_a_repository() {
    let world = World::empty();
    let call = run(&world, &second_line());
    let message = refused(&world, call, 1, "not_repository");
    assert!(message.contains(&world.text("work")), "{message}");
    let call = run(&world, &second_line()).arguments(&["--repo", "../nowhere"]);
    refused(&world, call, 1, "resolve");
}

#[test]
fn a_repository_without_a_commit() {
    let world = World::empty();
    world.directory("repo");
    world.git("repo", &["init", "--quiet", "--initial-branch=main"]);
    let call = run(&world, &second_line()).inside("repo");
    let message = refused(&world, call, 1, "no_commit");
    assert!(message.contains("commit something first"), "{message}");
}

#[rstest]
#[case::empty("", "invalid_command")]
#[case::blank(" \n\t", "invalid_command")]
#[case::control("a\u{1b}[2Jb", "invalid_command")]
#[case::too_long(&"x".repeat(32 * 1024 + 1), "invalid_command")]
fn a_prompt_that_cannot_be(#[case] prompt: &str, #[case] code: &str) {
    let world = World::new();
    let arguments = scripted(&world, &second_line());
    world.write("prompt", prompt);
    let call = world
        .microcoder(&["run", "--prompt-file", "../prompt"])
        .arguments(&arguments)
        .inside("repo");
    refused(&world, call, 1, code);
}

#[test]
fn what_is_found_wrong_later_leaves_no_worktree_and_no_branch() {
    let world = World::new();
    std::fs::write(world.path("repo/AGENTS.md"), [b'x'; 64 * 1024 + 1]).unwrap();
    world.git("repo", &["add", "--all"]);
    world.git("repo", &["commit", "--quiet", "--message=too long"]);
    let seen = run(&world, &second_line()).inside("repo").run();
    assert_eq!(seen.refused(1).0, "instructions");
    assert_eq!(world.git("repo", &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(world.git("repo", &["worktree", "list"]).lines().count(), 1);
    let task = &world.task(&["list"]).json()[0];
    assert_eq!(task["status"], "cancelled", "nothing can run it any more: {task}");
}

#[rstest]
#[case::no_conversation(&["--script", "/no/such/file"], "io")]
#[case::endpoint(&["--provider", "openai", "--model", "m", "--endpoint", "http://models.example/v1"], "grant_field")]
#[case::key_not_set(&["--provider", "openai", "--model", "m", "--endpoint", "http://127.0.0.1:9", "--credential-env", "NO_KEY"], "provider_unavailable")]
#[case::model(&["--model", "two words"], "usage")]
#[case::memory(&["--memory", "1K"], "grant_field")]
fn options_that_cannot_be(#[case] options: &[&str], #[case] code: &str) {
    let world = World::new();
    world.write(
        "script.json",
        json!({ "schema": "openagents.microcoder.script.v1", "turns": [] }).to_string(),
    );
    let mut arguments = vec!["run", "Do it."];
    if !options.contains(&"--provider") {
        arguments.extend(["--provider", "scripted"]);
    }
    if !options.contains(&"--script") && !options.contains(&"--endpoint") {
        arguments.extend(["--script", "../script.json"]);
    }
    let store = world.text("tasks");
    arguments.extend(["--store", &store]);
    let call = world.microcoder(&arguments).arguments(options).inside("repo");
    refused(&world, call, if code == "usage" { 2 } else { 1 }, code);
}
