//! Git in a linked worktree, where commands work on a private copy of what Git changes: what they commit arrives, what
//! they do to the copy does not, and a killed host leaves a repository without a scratch.

use crate::world::{Call, Gate, World, differences, reply, wait_readable};
use rstest::rstest;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

const BRANCH: &str = "microcoder/task-1/candidate";

/// A local clone of the repository, whose objects are hard links to those of its origin, with one more branch; and a
/// worktree of it on a branch of its own.
fn cloned(world: &World) {
    world.git("", &["clone", "--quiet", "--local", "repo", "clone"]);
    world.write("clone/other.txt", "other\n");
    world.git("clone", &["checkout", "--quiet", "-b", "other"]);
    world.git("clone", &["add", "--all"]);
    world.git("clone", &["commit", "--quiet", "--message=other"]);
    world.git("clone", &["checkout", "--quiet", "main"]);
    let tree = world.text("tree");
    world.git("clone", &["worktree", "add", "--quiet", "-b", BRANCH, &tree]);
}

fn sound(world: &World) {
    for name in ["repo", "clone"] {
        assert_eq!(
            world.git(name, &["fsck", "--strict", "--no-progress", "--no-dangling"]),
            "",
            "{name}"
        );
    }
}

/// Each rewrites, replaces or removes what it finds, by every name it has inside.
const ATTACK: &str = r#"
for place in "$(git rev-parse --git-common-dir)/objects" /run/agent/git-objects; do
    find "$place" -type f | while read -r file; do
        chmod u+w "$file"; echo evil >"$file"; mv -f notes.txt "$file"; rm -f "$file"; ln -f "$file" link && echo evil >link
    done
    rm -rf "$place"/pack "$place"/[0-9a-f]*
done 2>/dev/null
git gc --quiet --prune=now 2>/dev/null
git checkout -- notes.txt
git status --porcelain"#;

#[test]
fn a_run_can_neither_rewrite_what_other_branches_hold_nor_what_the_origin_holds_and_its_commit_arrives() {
    let world = World::new();
    cloned(&world);
    let (origin, before) = (world.listing("repo"), world.listing("clone/.git"));
    let commit = "echo second >>notes.txt; git commit -q -a -m first-try; git commit -q --amend -m inside; echo staged >new; git add new";
    let prepared = world.prepare(
        &world.path("tree"),
        &[reply(&[ATTACK, commit], false), reply(&[], true)],
    );
    let task = prepared.call().json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&result["ending"], &result["git_restored"]),
        (&json!("model_finished"), &Value::Null)
    );
    assert_eq!(differences(&origin, &world.listing("repo")), [""; 0]);
    let mut after = world.listing("clone/.git");
    after.retain(|name, _| before.contains_key(name));
    let moved: Vec<String> = differences(&before, &after)
        .into_iter()
        .map(|said| said.split(':').next().unwrap().to_owned())
        .collect();
    let expected = [
        format!("logs/refs/heads/{BRANCH}"),
        format!("refs/heads/{BRANCH}"),
        "worktrees/tree/index".to_owned(),
        "worktrees/tree/logs/HEAD".to_owned(),
    ];
    assert_eq!(moved, expected);
    sound(&world);
    assert_eq!(world.git("clone", &["log", "--format=%s", BRANCH]), "inside\nfirst\n");
    assert_eq!(world.git("clone", &["show", "other:other.txt"]), "other\n");
    assert_eq!(world.git("tree", &["status", "--porcelain"]), "A  new\n");
    assert!(!world.path("tasks/scratch").exists());
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    let moved = last_step(&world)["git"]["moved"].clone();
    let tip = world.git("clone", &["rev-parse", BRANCH]);
    assert_eq!(
        moved,
        json!([{ "name": format!("refs/heads/{BRANCH}"), "to": tip.trim() }])
    );
}

/// The extensions of the last step of the first task.
fn last_step(world: &World) -> Value {
    let trace = world.read("tasks/task-1.1.atif.jsonl");
    let mut records = trace
        .lines()
        .rev()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = records.find(|record| !record["step"].is_null()).unwrap();
    last["step"]["extensions"].clone()
}

#[test]
fn a_commit_whose_objects_are_gone_is_no_commit_and_the_result_says_so() {
    let world = World::new();
    cloned(&world);
    let before = world.listing("clone/.git");
    let script = "echo x >new; git add new; git commit -q -m broken; find \"$(git rev-parse --git-common-dir)/objects\" -type f -path '*/??/*' -delete";
    let prepared = world.prepare(&world.path("tree"), &[reply(&[script], false), reply(&[], true)]);
    let task = prepared.call().json();
    let expected = json!([format!("refs/heads/{BRANCH}"), "index"]);
    assert_eq!(task["run"]["result"]["git_restored"], expected);
    assert_eq!(differences(&before, &world.listing("clone/.git")), [""; 0]);
    sound(&world);
    let restored = last_step(&world)["git"]["restored"].clone();
    assert!(restored[0]["reason"].as_str().unwrap().contains("bad"), "{restored}");
    // The files are the candidate, whatever became of the commit.
    let kept = world.task(&["artifact", "task-1", "--path", "new", "--raw"]).run();
    assert_eq!(kept.printed(), "x\n");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_host_killed_after_a_commit_leaves_a_whole_repository_and_the_next_run_takes_the_commit_over() {
    let world = World::new();
    cloned(&world);
    let before = world.listing("clone/.git");
    let script = "echo x >new; git add new; git commit -q -m inside; echo ready >gate; sleep 1000";
    let prepared = world.prepare(&world.path("tree"), &[reply(&[script], false), reply(&[], true)]);
    let mut gate = Gate::at(&world.path("tree/gate"));
    let host = prepared.call().start();
    gate.wait(&host);
    let below = host.freeze();
    host.signal(Signal::KILL);
    host.wait();
    for process in below {
        crate::world::wait_readable(process, "a process outlived its host");
    }
    assert_eq!(differences(&before, &world.listing("clone/.git")), [""; 0]);
    sound(&world);
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), "first\n");
    let demo = world
        .microcoder(&["demo", "--store", &world.text("tasks"), "--json"])
        .run();
    assert_eq!(demo.status, 0, "{}", demo.stderr);
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), "inside\n");
    assert_eq!(world.git("tree", &["show", "HEAD:new"]), "x\n");
    sound(&world);
    assert!(!world.path("tasks/scratch").exists());
    let told = fs::read_dir(world.path("tasks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| fs::read_to_string(path).ok())
        .any(|trace| trace.contains("git_recovered") && trace.contains(BRANCH));
    assert!(told, "the run that took it over says so");
}

#[test]
fn a_single_command_commits_and_a_killed_one_leaves_a_whole_repository() {
    let world = World::new();
    cloned(&world);
    let report = world.text("tmp/report.json");
    let identity = ["--env", "GIT_AUTHOR_NAME=A", "--env", "GIT_AUTHOR_EMAIL=a@localhost"];
    let committer = [
        "--env",
        "GIT_COMMITTER_NAME=A",
        "--env",
        "GIT_COMMITTER_EMAIL=a@localhost",
    ];
    let exec = |script: &str| {
        world
            .microcoder(&["exec", "--report", &report])
            .arguments(&identity)
            .arguments(&committer)
            .arguments(&["--", "sh", "-c", script])
            .inside("tree")
    };
    let seen = exec("echo second >>notes.txt; git commit -qam inside 2>/dev/null").run();
    assert_eq!((seen.status, seen.stderr.as_str()), (0, ""));
    let found: Value = serde_json::from_str(&world.read("tmp/report.json")).unwrap();
    assert_eq!(found["git"]["moved"][0]["name"], json!(format!("refs/heads/{BRANCH}")));
    assert_eq!(world.git("clone", &["log", "--format=%s", BRANCH]), "inside\nfirst\n");
    let broken =
        exec("git commit -q --allow-empty -m broken 2>/dev/null; rm -rf $(git rev-parse --git-common-dir)/objects/??")
            .run();
    assert_eq!(broken.status, 0);
    assert!(
        broken
            .stderr
            .starts_with(&format!("microcoder: refs/heads/{BRANCH} stays as it was: ")),
        "{}",
        broken.stderr
    );
    let before = world.listing("clone/.git");
    killed(
        &world,
        exec("git commit -q --allow-empty -m late; echo ready >gate; sleep 1000"),
    );
    let mut after = world.listing("clone/.git");
    let notes = |name: &String| name.starts_with("worktrees/tree/microcoder-command-");
    assert_eq!(after.keys().filter(|name| notes(name)).count(), 1, "{after:?}");
    after.retain(|name, _| !notes(name));
    assert_eq!(differences(&before, &after), [""; 0]);
    sound(&world);
    assert_eq!(commands(&world).len(), 1);
    let tip = world.git("clone", &["rev-parse", BRANCH]);

    // The next command in the worktree takes over what the killed one had committed, and says so.
    let next = exec("git log -1 --format=%s; ls $(git rev-parse --git-dir)").run();
    let told = next.stderr.lines().next().unwrap_or_default();
    let now = world.git("clone", &["rev-parse", BRANCH]);
    let expected = format!(
        "microcoder: refs/heads/{BRANCH} is at {} now, as a killed command had left it",
        now.trim()
    );
    assert_eq!((next.status, told), (0, expected.as_str()));
    assert_ne!(now, tip);
    assert_eq!(
        world.git("clone", &["log", "--format=%s", BRANCH]),
        "late\ninside\nfirst\n"
    );
    assert!(
        next.stdout.starts_with("late\n") && !next.stdout.contains("microcoder-command-"),
        "{}",
        next.stdout
    );
    assert!(!world.listing("clone/.git").keys().any(notes));
    assert_eq!(commands(&world), [""; 0]);
    sound(&world);
}

/// Kills the host of a command once it says `ready`.
fn killed(world: &World, call: Call) {
    let mut gate = Gate::at(&world.path("tree/gate"));
    let running = call.start();
    gate.wait(&running);
    let below = running.freeze();
    running.signal(Signal::KILL);
    running.wait();
    for process in below {
        wait_readable(process, "a process outlived its host");
    }
    fs::remove_file(world.path("tree/gate")).unwrap();
}

/// What commands without a run have left where temporary files are.
fn commands(world: &World) -> Vec<String> {
    let names = fs::read_dir(world.path("tmp")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("microcoder-git-")).collect()
}

/// A killed `exec` left its commit and its directory for ever.
#[test]
fn a_run_takes_over_what_a_killed_command_committed_and_gc_what_has_no_worktree_any_more() {
    let world = World::new();
    cloned(&world);
    let exec = |script: &str| world.microcoder(&["exec", "--", "sh", "-c", script]).inside("tree");
    let commit =
        "git -c user.name=A -c user.email=a@localhost commit -q --allow-empty -m late; echo ready >gate; sleep 1000";
    killed(&world, exec(commit));
    let prepared = world.prepare(&world.path("tree"), &[reply(&["echo x >new"], true)]);
    let gc = |arguments: &[&str]| world.task(&[&["gc", "--older-than", "0"], arguments].concat()).json();
    let left = gc(&[]);
    let directory = world.path("tmp").join(&commands(&world)[0]);
    assert_eq!(left["cleared"], json!([]));
    let expected = json!([{
        "path": directory,
        "reason": format!("it may hold what a killed command committed, which the next one in {} takes over", world.text("tree")),
    }]);
    assert_eq!(left["left"], expected);
    // It arrives, and so the tree is not the one that was compared: the run begins again.
    assert_eq!(prepared.call().run().refused(2).0, "source_changed");
    assert_eq!(world.git("clone", &["log", "--format=%s", BRANCH]), "late\nfirst\n");
    assert_eq!(commands(&world), [""; 0]);
    assert_eq!(prepared.call().json()["execution"], "finished");

    killed(&world, exec(commit));
    let directory = world.path("tmp").join(&commands(&world)[0]);
    world.git("clone", &["worktree", "remove", "--force", &world.text("tree")]);
    let would = gc(&["--dry-run"])["cleared"].clone();
    assert_eq!(
        (&would[0]["kind"], &would[0]["path"]),
        (&json!("command"), &json!(directory))
    );
    assert!(directory.exists());
    assert_eq!(gc(&[])["cleared"], would);
    assert_eq!(commands(&world), [""; 0]);
}

#[test]
fn what_a_killed_run_left_of_a_worktree_that_is_gone_is_cleared_away() {
    let world = World::new();
    cloned(&world);
    let script = "git commit -q --allow-empty -m inside; echo ready >gate; sleep 1000";
    let prepared = world.prepare(&world.path("tree"), &[reply(&[script], false), reply(&[], true)]);
    killed(&world, prepared.call());
    let gc = || world.task(&["gc", "--older-than", "0"]).json();
    let left = gc()["left"].clone();
    assert_eq!(
        left,
        json!([{
            "path": "scratch/task-1/git",
            "reason": "it may hold what a killed run committed, which the next run takes over",
        }])
    );
    assert!(world.path("tasks/scratch/task-1/git").exists());
    world.git("clone", &["worktree", "remove", "--force", &world.text("tree")]);
    let done = gc();
    let cleared: Vec<(&Value, &Value)> = done["cleared"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cleared| (&cleared["kind"], &cleared["path"]))
        .collect();
    assert_eq!(cleared, [(&json!("scratch"), &json!("scratch/task-1/git"))]);
    assert_eq!(done["left"], json!([]));
    assert!(!world.path("tasks/scratch/task-1").exists());
}

/// A submodule's repository lies in its parent's, and a worktree of it lies anywhere.
#[test]
fn git_works_in_a_worktree_of_a_submodule() {
    let world = World::new();
    let allow = ["-c", "protocol.file.allow=always"];
    world.git(
        "",
        &["init", "--quiet", "--initial-branch=main", "--template=", "parent"],
    );
    let repository = world.text("repo");
    let add = [&allow[..], &["submodule", "--quiet", "add", &repository, "part"]].concat();
    world.git("parent", &add);
    world.git("parent", &["commit", "--quiet", "--message=parent"]);
    let tree = world.text("tree");
    world.git("parent/part", &["worktree", "add", "--quiet", "-b", BRANCH, &tree]);
    let (parent, before) = (
        world.listing("parent/part"),
        world.git("parent", &["rev-parse", "HEAD"]),
    );
    let script = "git status --porcelain; echo second >>notes.txt; git commit -qam inside; git log --format=%s";
    let prepared = world.prepare(&world.path("tree"), &[reply(&[script], true)]);
    let task = prepared.call().json();
    assert_eq!(task["run"]["result"]["ending"], "model_finished", "{task:#}");
    assert_eq!(
        world.git("parent/part", &["log", "--format=%s", BRANCH]),
        "inside\nfirst\n"
    );
    assert_eq!(world.git("tree", &["status", "--porcelain"]), "");
    assert_eq!(differences(&parent, &world.listing("parent/part")), [""; 0]);
    assert_eq!(world.git("parent", &["rev-parse", "HEAD"]), before);
    assert_eq!(
        world.git("parent/part", &["fsck", "--strict", "--no-progress", "--no-dangling"]),
        ""
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

/// In a read-only workspace there is no quarantine to show the stores that a repository borrows from, and Git found nothing.
#[rstest]
#[case::worktree("tree")]
#[case::checkout("shared")]
fn a_repository_that_borrows_its_objects_can_be_read(#[case] place: &str) {
    let world = World::new();
    world.git("", &["clone", "--quiet", "--shared", "repo", "shared"]);
    let tree = world.text("tree");
    world.git("shared", &["worktree", "add", "--quiet", "--detach", &tree]);
    let before = world.listing("repo");
    let script = "git log --format=%s && git show HEAD:notes.txt && git fsck --connectivity-only";
    let attack = "echo x >>\"$(cat $(git rev-parse --git-common-dir)/objects/info/alternates)/info/x\"";
    let exec = |script: &str| {
        let call = world.microcoder(&["exec", "--read-only", "--", "sh", "-c", script]);
        call.inside(place).run()
    };
    let seen = exec(script);
    assert_eq!(
        (seen.status, seen.stdout.as_str()),
        (0, "first\nfirst\n"),
        "{}",
        seen.stderr
    );
    assert_ne!(exec(attack).status, 0);
    let mut prepared = world.prepare(&world.path(place), &[reply(&[script, attack], false), reply(&[], true)]);
    prepared.grant["write_workspace"] = json!(false);
    assert_eq!(prepared.call().json()["run"]["result"]["ending"], "model_finished");
    let view = world.task(&["view", "task-1"]).json().to_string();
    assert!(view.contains("first\\nfirst"), "{view}");
    assert_eq!(differences(&before, &world.listing("repo")), [""; 0]);
}

/// Recovering closed a killed run and left its commits for whichever run came next.
#[test]
fn recovering_a_killed_run_takes_over_what_it_committed() {
    let world = World::new();
    cloned(&world);
    let script = "echo x >new; git add new; git commit -q -m inside; echo ready >gate; sleep 1000";
    let prepared = world.prepare(&world.path("tree"), &[reply(&[script], false), reply(&[], true)]);
    killed(&world, prepared.call());
    let seen = world.task(&["recover", "task-1"]).run();
    let task: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(
        (seen.status, &task["run"]["result"]["ending"]),
        (0, &json!("owner_process_ended"))
    );
    let tip = world.git("clone", &["rev-parse", BRANCH]);
    let told = format!(
        "microcoder: refs/heads/{BRANCH} is at {} now, as the killed run had left it\n",
        tip.trim()
    );
    assert_eq!(seen.stderr, told);
    assert_eq!(world.git("tree", &["show", "HEAD:new"]), "x\n");
    assert!(!world.path("tasks/scratch").exists());
    sound(&world);
    assert_eq!(world.task(&["recover", "task-1"]).json(), task, "once");
}
