//! Looking at tasks: each state of the evidence in its precedence, pages and their cursors, a page for a browser, and what
//! a person sees on a terminal of a certain width.

use crate::repository::finished;
use crate::world::{Prepared, World, differences, reply};
use coder_digest::Digest;
use rstest::rstest;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const TRACE: &str = "tasks/task-1.1.atif.jsonl";

fn view(world: &World) -> Value {
    world.task(&["view", "task-1"]).json()
}

#[track_caller]
fn assert_state(world: &World, state: &str) {
    let view = view(world);
    assert_eq!(view["evidence"]["state"], state, "{}", view["evidence"]);
}

/// Makes the journal's own account of the task say something else, which no command can.
fn alter(world: &World, change: &str) {
    let journal = Connection::open(world.path("tasks/journal.db")).unwrap();
    let statement = format!("UPDATE tasks SET state = json({change})");
    assert_eq!(journal.execute(&statement, []).unwrap(), 1);
}

fn set(path: &str, value: &str) -> String {
    format!("json_set(state, '$.run.result.{path}', {value})")
}

fn rewrite(world: &World, change: impl FnOnce(&mut Vec<u8>)) -> Digest {
    let mut bytes = fs::read(world.path(TRACE)).unwrap();
    change(&mut bytes);
    fs::write(world.path(TRACE), &bytes).unwrap();
    Digest::of(&bytes)
}

#[test]
fn evidence_that_was_never_begun() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let view = view(&world);
    let evidence = json!({
        "state": "not_started", "trace_file": null, "digest": null, "matches_result": null, "faults": [],
        "total_steps": 0, "next": null, "more_available": false, "steps": [],
    });
    assert_eq!(view["evidence"], evidence);
    assert_eq!(
        (&view["cost_usd"], &view["cost_status"]),
        (&Value::Null, &json!("unknown"))
    );
}

/// Each state with what makes it, and with everything that is wrong in a lesser way besides: the graver one is said.
#[rstest]
#[case::missing("missing", |world: &World| fs::remove_file(world.path(TRACE)).unwrap())]
#[case::a_link("unavailable_or_unsafe", |world: &World| {
    fs::rename(world.path(TRACE), world.path("work/trace")).unwrap();
    std::os::unix::fs::symlink(world.path("work/trace"), world.path(TRACE)).unwrap();
})]
#[case::readable_by_others("unavailable_or_unsafe", |world: &World| {
    fs::set_permissions(world.path(TRACE), fs::Permissions::from_mode(0o644)).unwrap();
})]
#[case::a_directory("unavailable_or_unsafe", |world: &World| {
    fs::remove_file(world.path(TRACE)).unwrap();
    fs::create_dir(world.path(TRACE)).unwrap();
})]
#[case::oversized("oversized", |world: &World| {
    fs::File::options().write(true).open(world.path(TRACE)).unwrap().set_len((64 << 20) + 1).unwrap();
})]
#[case::malformed("malformed", |world: &World| {
    rewrite(world, |bytes| *bytes = b"{}\n".to_vec());
})]
#[case::digest_mismatch("digest_mismatch", |world: &World| {
    rewrite(world, |bytes| bytes.extend_from_slice(b"{}\n"));
    alter(world, &set("output_incomplete", "json('true')"));
})]
#[case::damaged("damaged", |world: &World| {
    let digest = rewrite(world, |bytes| bytes.extend_from_slice(b"{}\n"));
    alter(world, &set("trace_digest", &format!("'{digest}'")));
    alter(world, &set("output_incomplete", "json('true')"));
})]
#[case::incomplete("incomplete", |world: &World| {
    alter(world, &set("output_incomplete", "json('true')"));
    alter(world, &set("trace_digest", "null"));
})]
#[case::unsealed("unsealed", |world: &World| alter(world, &set("trace_digest", "null")))]
#[case::sealed("sealed", |_: &World| ())]
fn a_state_of_the_evidence(#[case] state: &str, #[case] make: fn(&World)) {
    let world = World::new();
    finished(&world);
    make(&world);
    assert_state(&world, state);
    // The page says the same before anything else, and a terminal too.
    let page = world.text("work/page.html");
    world.task(&["view", "task-1", "--html", &page]).run().printed();
    let alarm = world.read("work/page.html").contains("Before you believe this page");
    assert_eq!(alarm, state != "sealed");
    let told = world.task(&["view", "task-1"]).terminal(100);
    assert!(told.contains("Evidence   "), "{told}");
}

/// A file that opens as the trace must and fails when it is read, which only the kernel makes.
#[test]
fn evidence_that_cannot_be_read() {
    let world = World::new();
    finished(&world);
    let store = world.text("tasks");
    let script = format!(
        "mount --bind /proc/$$/mem {} && exec \"$0\" task view task-1 --store {store}",
        world.text(TRACE)
    );
    let seen = world.privately(&script).run();
    if seen.status != 0 && seen.stderr.contains("unshare") {
        eprintln!("skipped: this user may not make mount namespaces: {}", seen.stderr);
        return;
    }
    assert_eq!(seen.json(0)["evidence"]["state"], "unreadable");
}

#[test]
fn what_of_the_candidate_is_no_longer_as_it_was_kept_is_listed() {
    let world = World::new();
    finished(&world);
    assert_eq!(view(&world)["artifact_faults"], json!([]));
    let digest = Digest::of(b"first\nsecond\n").hex();
    let blob = world.path("tasks/blobs").join(&digest[..2]).join(&digest[2..]);
    fs::set_permissions(&blob, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&blob, "first\nsecunde\n").unwrap();
    let faults = view(&world)["artifact_faults"].clone();
    let fault = faults[0].as_str().unwrap();
    assert!(
        fault.starts_with("`notes.txt`: ") && faults.as_array().unwrap().len() == 1,
        "{faults}"
    );
    world
        .task(&["artifact", "task-1", "--path", "notes.txt", "--raw"])
        .run()
        .refused(1);
    let manifest = view(&world)["task"]["run"]["result"]["artifact_file"]
        .as_str()
        .unwrap()
        .to_owned();
    fs::remove_file(world.path("tasks").join(manifest)).unwrap();
    let view = view(&world);
    assert_eq!(
        (&view["artifacts"], &view["artifact_faults"]),
        (&Value::Null, &json!([]))
    );
    assert!(view["artifact_error"].is_string());
}

/// A run whose trace is large enough for its index to be kept.
fn large(world: &World) -> Prepared<'_> {
    let tree = world.worktree();
    let command = "head -c 700000 /dev/zero | tr '\\0' x";
    let prepared = world.prepare(&tree, &[reply(&[command, command], false), reply(&[], true)]);
    prepared.call().json();
    prepared
}

#[test]
fn pages_out_of_a_kept_index_are_the_same_pages() {
    let world = World::new();
    large(&world);
    let pages = || {
        let mut pages = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut arguments = vec!["view", "task-1", "--limit", "7"];
            if let Some(cursor) = &cursor {
                arguments.extend(["--cursor", cursor.as_str()]);
            }
            let page = world.task(&arguments).json()["evidence"].clone();
            cursor = page["more_available"]
                .as_bool()
                .unwrap()
                .then(|| page["next"].to_string());
            pages.push(page);
            if cursor.is_none() {
                return pages;
            }
        }
    };
    let first = pages();
    let index = world.path("tasks/index/task-1.1.atif.jsonl.index");
    assert!(index.exists() && first.len() > 2);
    assert_eq!(pages(), first);
    // A look leaves nothing else behind, and what is done to the index changes no answer.
    let before = world.listing("tasks");
    assert_eq!(pages(), first);
    let changed = differences(&before, &world.listing("tasks"));
    assert!(changed.iter().all(|name| name.starts_with("index/")), "{changed:?}");
    fs::write(&index, "not an index").unwrap();
    assert_eq!(pages(), first);
    fs::remove_dir_all(world.path("tasks/index")).unwrap();
    fs::write(world.path("tasks/index"), "in the way").unwrap();
    assert_eq!(pages(), first);
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_trace_that_changes_under_a_kept_index_is_noticed() {
    let world = World::new();
    large(&world);
    assert_state(&world, "sealed");
    let next = world.task(&["view", "task-1", "--limit", "9"]).json()["evidence"]["next"].to_string();
    rewrite(&world, |bytes| {
        let place = bytes.windows(6).position(|window| window == b"second").unwrap();
        bytes[place] = b'f';
    });
    assert_state(&world, "digest_mismatch");
    let refused = world.task(&["view", "task-1", "--cursor", &next]).run().refused(1);
    assert_eq!(refused.0, "command_conflict");
}

#[test]
fn a_cursor_over_its_bound_is_refused() {
    let world = World::new();
    finished(&world);
    let long = format!("{{\"schema\":\"{}\"}}", "x".repeat(4096));
    assert_eq!(
        world.task(&["view", "task-1", "--cursor", &long]).run().refused(1).0,
        "command_conflict"
    );
    for limit in ["0", "201", "-1", "x"] {
        assert_eq!(
            world.task(&["view", "task-1", "--limit", limit]).run().status,
            64,
            "{limit}"
        );
    }
}

#[test]
fn a_page_for_a_browser_is_written_whole_and_the_same_and_replaces_nothing() {
    let world = World::new();
    finished(&world);
    let page = |name: &str, more: &[&str]| {
        let path = world.text(name);
        world.task(&["view", "task-1", "--html", &path]).arguments(more).run()
    };
    let before = world.listing("tasks");
    assert_eq!(page("work/one.html", &[]).printed(), "");
    assert_eq!(page("work/two.html", &[]).printed(), "");
    assert_eq!(differences(&before, &world.listing("tasks")), Vec::<String>::new());
    let text = world.read("work/one.html");
    assert_eq!(text, world.read("work/two.html"));
    for part in [
        "evidence: verified",
        "+second",
        "exit 3",
        "Put a second line into notes.txt.",
        "default-src 'none'",
    ] {
        assert!(text.contains(part), "{part}");
    }
    world.write("work/one.html", "mine");
    let (code, message) = page("work/one.html", &[]).refused(1);
    assert_eq!(code, "io");
    assert!(
        message.ends_with("one.html: a file is there already: --force replaces it"),
        "{message}"
    );
    assert_eq!(world.read("work/one.html"), "mine");
    assert_eq!(page("work/one.html", &["--force"]).printed(), "");
    assert_eq!(world.read("work/one.html"), text);
    assert_eq!(page("work/no/where.html", &[]).refused(1).0, "io");
    assert_eq!(page("work/three.html", &["--limit", "3"]).status, 64);
    assert_eq!(world.task(&["view", "task-1", "--force"]).run().status, 64);
    let names: Vec<String> = world.listing("work").into_keys().collect();
    assert_eq!(names, ["one.html", "two.html"]);
}

/// What a terminal shows, with what differs between two runs taken out.
fn told(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = match line.split_once("  ") {
            Some((time, rest)) if time.len() == 8 && time.matches(':').count() == 2 => format!("HH:MM:SS  {rest}"),
            _ => line.to_owned(),
        };
        let words: Vec<&str> = line.split(' ').collect();
        let seconds = words.iter().position(|word| *word == "s" || *word == "s.");
        let line = match seconds.and_then(|place| place.checked_sub(1)) {
            Some(place) if words[place].parse::<f64>().is_ok() => {
                let mut words = words.clone();
                words[place] = "N";
                words.join(" ")
            }
            _ => line.clone(),
        };
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

#[test]
fn on_a_terminal_of_80_columns() {
    let world = World::new();
    finished(&world);
    let list = world.task(&["list"]).variable("NO_COLOR", "1").terminal(80);
    let mut lines: Vec<&str> = list.lines().collect();
    let row = lines.pop().unwrap();
    assert_eq!(lines, ["TASK    STATE     CHECKS  CHANGED  TITLE"]);
    assert!(
        row.starts_with("task-1  finished  -       ") && row.ends_with("Notes"),
        "{row}"
    );

    let commit = world.git("repo", &["rev-parse", "HEAD"]);
    let tree = world.text("tree");
    let story = told(&world.task(&["view", "task-1"]).variable("NO_COLOR", "1").terminal(80));
    let expected = format!(
        "\
task-1  Notes
State      finished
Prompt     Put a second line into notes.txt.
Workspace  {tree}
Model      recorded (microcoder-repository)
Commit     {}
Ended      model_finished, after N s
Cost       $0.00
Candidate  kept: coder task artifact --patch
Next       coder task view task-1 [--html FILE]
Evidence   sealed: whole, ended, and the one the result names

HH:MM:SS  asked
            Put a second line into notes.txt.
HH:MM:SS  admitted  boundary
HH:MM:SS  no Jev key on this computer  no_key
HH:MM:SS  step 1: recorded  0 in, 0 out, N s
            next
HH:MM:SS  $ cat notes.txt  exit 0, N s
            first
HH:MM:SS  $ printf 'second\\n' >>notes.txt  exit 0, N s
HH:MM:SS  read inner/file  6 bytes
HH:MM:SS  step 2: recorded  0 in, 0 out, N s
            next
HH:MM:SS  $ printf 'odd\\377' >'odd name'; exit 3  exit 3, N s
HH:MM:SS  read inner/file  6 bytes
HH:MM:SS  step 3: recorded  0 in, 0 out, N s
            next
            Done.
HH:MM:SS  ended  model_finished
            the model said it is finished
",
        commit.trim()
    );
    assert!(story.starts_with(&expected), "{story}\n--- expected:\n{expected}");
    assert!(story.ends_with("steps shown, cost $0.00.\n"), "{story}");
}

#[test]
fn a_terminal_gets_colours_unless_it_says_no_and_json_when_asked() {
    let world = World::new();
    finished(&world);
    let list = || world.task(&["list"]);
    assert!(
        list()
            .variable("TERM", "xterm")
            .terminal(80)
            .contains("\u{1b}[32mfinished\u{1b}[0m")
    );
    assert!(!list().variable("TERM", "dumb").terminal(80).contains('\u{1b}'));
    assert!(
        !list()
            .variable("TERM", "xterm")
            .variable("NO_COLOR", "1")
            .terminal(80)
            .contains('\u{1b}')
    );
    for arguments in [
        &["list", "--json"][..],
        &["show", "task-1", "--json"],
        &["view", "task-1", "--json"],
    ] {
        let shown = world.task(arguments).terminal(80);
        let piped = world.task(&arguments[..arguments.len() - 1]).json();
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), piped);
    }
}

#[test]
fn nothing_a_title_or_a_command_prints_steers_the_terminal() {
    let world = World::new();
    let tree = world.worktree();
    let hostile = "printf '\\033[2J\\033]0;owned\\007\\342\\200\\256\\377\\n'";
    let prepared = world.prepare(&tree, &[reply(&[hostile], false), reply(&[], true)]);
    prepared.call().json();
    alter(
        &world,
        "json_set(state, '$.intent.title', char(27) || '[2J' || char(8238) || 'title')",
    );
    let journal = Connection::open(world.path("tasks/journal.db")).unwrap();
    journal
        .execute(
            "UPDATE tasks SET title = char(27) || '[2J' || char(8238) || 'title'",
            [],
        )
        .unwrap();
    for arguments in [&["list"][..], &["show", "task-1"], &["view", "task-1"]] {
        let shown = world.task(arguments).variable("NO_COLOR", "1").terminal(80);
        let steering = shown
            .chars()
            .find(|character| *character != '\n' && coder_digest::is_unsafe_to_show(*character));
        assert_eq!(steering, None, "{shown}");
        assert!(shown.contains("\\u{1b}[2J\\u{202e}title"), "{shown}");
    }
}

#[test]
fn a_thousand_tasks_are_listed() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let submit: Value = serde_json::from_str(&world.read("submit.json")).unwrap();
    let clock = std::sync::Arc::new(coder_digest::SystemClock);
    let store = coder_journal::Store::open(&world.path("tasks"), clock).unwrap();
    for number in 2..=1000 {
        let mut command = submit.clone();
        command["command_id"] = json!(format!("command-{number}"));
        command["task_id"] = json!(format!("task-{number}"));
        store.command(command.to_string().as_bytes()).unwrap();
    }
    drop(store);
    assert_eq!(world.task(&["list"]).json().as_array().unwrap().len(), 1000);
    let shown = world.task(&["list"]).variable("NO_COLOR", "1").terminal(60);
    assert_eq!(shown.lines().count(), 1001);
    assert!(shown.lines().all(|line| line.chars().count() <= 60));
}
