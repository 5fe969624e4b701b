//! The main job by exact files: submit, grant, run, look, verify.

use crate::world::{Prepared, World, reply};
use coder_digest::Digest;
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;

/// A finished run that changed one file, made one and read a third.
pub fn finished(world: &World) -> Prepared<'_> {
    let tree = world.worktree();
    let mut first = reply(&["cat notes.txt", "printf 'second\\n' >>notes.txt"], false);
    first["view"] = json!(["inner/file"]);
    let second = reply(&["printf 'odd\\377' >'odd name'; exit 3"], false);
    let prepared = world.prepare(&tree, &[first, second, reply(&[], true)]);
    let task = prepared.call().json();
    assert_eq!(task, world.task(&["show", "task-1"]).json());
    prepared
}

#[test]
fn a_task_is_submitted_inert_and_the_same_bytes_give_the_same_receipt() {
    let world = World::new();
    let prepared = world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let request = fs::read(world.path("submit.json")).unwrap();
    let receipt = json!({
        "schema": "openagents.coder.task-receipt.v1",
        "command_id": "command-1",
        "task_id": "task-1",
        "request_digest": Digest::of(&request),
        "sequence": 1,
        "revision": 1,
        "status": "queued",
        "execution": "not_started",
        "checks": "not_run",
    });
    assert_eq!(
        world.task(&["submit", "--file", &world.text("submit.json")]).json(),
        receipt
    );
    // From standard input too, since the bytes count and not where they come from.
    assert_eq!(
        world.task(&["submit", "--file", "-"]).input(request.clone()).json(),
        receipt
    );
    let spaced = [request, b" ".to_vec()].concat();
    assert_eq!(
        world.task(&["submit", "--file", "-"]).input(spaced).run().refused(1).0,
        "command_conflict"
    );
    let wrong_verb = world.task(&["cancel", "--file", &world.text("submit.json")]).run();
    assert_eq!(wrong_verb.refused(1).0, "action_mismatch");
    let listed = json!([{
        "task_id": "task-1", "revision": 1, "title": "Notes", "turn": 1,
        "status": "queued", "execution": "not_started", "checks": "not_run",
    }]);
    let mut found = world.task(&["list"]).json();
    let times = ["submitted_at", "changed_at"].map(|name| found[0].as_object_mut().unwrap().remove(name));
    assert_eq!(times[0], times[1], "nothing has changed it since");
    assert_eq!(found, listed);
    let intent = json!({
        "title": "Notes",
        "prompt": crate::world::PROMPT,
        "workspace": { "path": world.path("repo"), "source_revision": null },
        "configuration": { "adapter": "microcoder-repository", "model": crate::world::MODEL },
    });
    let shown = world.task(&["show", "task-1"]).json();
    assert_eq!(shown["intent"], intent);
    assert_eq!(shown["intent_digest"], prepared.grant["intent_digest"]);
    let unfinished = world.task(&["verify", "task-1"]).run();
    assert_eq!(unfinished.json(1)["verdict"], "unfinished");
}

#[test]
fn a_run_ends_in_a_result_and_a_candidate_that_can_be_taken_byte_for_byte() {
    let world = World::new();
    finished(&world);
    let task = world.task(&["show", "task-1"]).json();
    let mut result = task["run"]["result"].clone();
    let trace = fs::read(world.path("tasks/task-1.1.atif.jsonl")).unwrap();
    for random in ["elapsed_ms", "candidate_snapshot", "artifact_file", "artifact_digest"] {
        assert!(
            !result.as_object_mut().unwrap().remove(random).unwrap().is_null(),
            "{random}"
        );
    }
    let expected = json!({
        "ending": "model_finished",
        "exit_code": 0,
        "stop_requested": false,
        "group_clear": true,
        "cleanup": "process_namespace_ended",
        "trace_digest": Digest::of(&trace),
        "output_incomplete": false,
        "cost_status": "priced",
        "cost_microusd": 0,
    });
    assert_eq!(result, expected);
    let states = [&task["status"], &task["execution"], &task["checks"], &task["revision"]];
    assert_eq!(
        states,
        [&json!("finished"), &json!("finished"), &json!("not_run"), &json!(4)]
    );
    assert_eq!(world.read("tree/notes.txt"), "first\nsecond\n");
    assert_eq!(world.read("repo/notes.txt"), "first\n");

    let artifact = |path: &str| world.task(&["artifact", "task-1", "--path", path]);
    assert_eq!(
        artifact("notes.txt").arguments(&["--raw"]).run().printed(),
        "first\nsecond\n"
    );
    let odd = json!({ "path": "odd name", "digest": Digest::of(b"odd\xff"), "bytes": "b2Rk/w==" });
    assert_eq!(artifact("odd name").json(), odd);
    assert_eq!(artifact("inner/file").run().refused(1).0, "not_retained");
    assert_eq!(artifact("../notes.txt").run().refused(1).0, "not_retained");
    let changes = json!([
        { "change": "modified", "path": "notes.txt", "aspect": "content" },
        { "change": "created", "path": "odd name" },
    ]);
    let view = world.task(&["view", "task-1"]).json();
    assert_eq!(view["artifacts"]["changes"], changes);
    assert_eq!(
        (&view["integration"], &view["cost_status"]),
        (&json!("not_attempted"), &json!("priced"))
    );
}

#[test]
fn the_evidence_is_read_page_by_page_and_a_cursor_is_of_one_view_only() {
    let world = World::new();
    finished(&world);
    let page = |limit: &str, cursor: Option<&Value>| {
        let cursor = cursor.map(|cursor| ["--cursor".to_owned(), cursor.to_string()]);
        world
            .task(&["view", "task-1", "--limit", limit])
            .arguments(cursor.as_ref().map_or(&[][..], |cursor| cursor))
    };
    let whole = page("200", None).json()["evidence"].clone();
    assert_eq!(
        (&whole["state"], &whole["matches_result"], &whole["faults"]),
        (&json!("sealed"), &json!(true), &json!([]))
    );
    let all = whole["steps"].as_array().unwrap().clone();
    assert_eq!(whole["total_steps"], json!(all.len()));
    let ids: Vec<u64> = all.iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=all.len() as u64).collect::<Vec<_>>());
    let (mut read, mut cursor) = (Vec::new(), None);
    loop {
        let evidence = page("7", cursor.as_ref()).json()["evidence"].clone();
        read.extend(evidence["steps"].as_array().unwrap().clone());
        if evidence["more_available"] == false {
            break;
        }
        assert_eq!(evidence["steps"].as_array().unwrap().len(), 7);
        cursor = Some(evidence["next"].clone());
    }
    assert_eq!(read, all);
    let mut other = cursor.unwrap();
    other["task_id"] = json!("task-2");
    assert_eq!(page("7", Some(&other)).run().refused(1).0, "command_conflict");
    assert_eq!(page("7", Some(&json!({ "next": 3 }))).run().status, 1);
    assert_eq!(page("0", None).run().status, 64);
    assert_eq!(page("201", None).run().status, 64);
}

#[test]
fn effects_are_announced_before_they_are_answered_and_numbered_without_gap() {
    let world = World::new();
    finished(&world);
    let (mut announced, mut answered) = (Vec::new(), Vec::new());
    for line in world.read("tasks/task-1.1.atif.jsonl").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let extensions = &record["step"]["extensions"];
        if let Some(sequence) = extensions["effect"]["sequence"].as_u64() {
            announced.push((sequence, extensions["effect"]["kind"].as_str().unwrap().to_owned()));
        }
        if let Some(sequence) = extensions["effect_result"]["sequence"].as_u64() {
            assert!(announced.iter().any(|(open, _)| *open == sequence));
            answered.push(sequence);
        }
    }
    let kinds = [
        "generation",
        "scripted_request",
        "command",
        "command",
        "read",
        "generation",
        "scripted_request",
        "command",
        "read",
        "generation",
        "scripted_request",
    ];
    let expected: Vec<(u64, String)> = (1..).zip(kinds.map(str::to_owned)).collect();
    assert_eq!(announced, expected);
    answered.sort_unstable();
    assert_eq!(answered, (1..=kinds.len() as u64).collect::<Vec<_>>());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the other judge is a Python program")]
fn the_export_is_a_document_that_strict_readers_take() {
    let world = World::new();
    finished(&world);
    let file = world.text("work/trace.json");
    assert_eq!(
        world
            .task(&["export", "task-1", "--format", "atif", "--output", &file])
            .run()
            .printed(),
        ""
    );
    let document = world.read("work/trace.json");
    assert_eq!(coder_trace::check::strict(document.as_bytes()), []);
    assert_eq!(world.task(&["export", "task-1"]).run().printed(), document);
    let Some(python) = std::env::var_os("MICROCODER_HARBOR_PYTHON") else {
        return;
    };
    let harbor = std::process::Command::new(python)
        .args(["-m", "harbor.utils.trajectory_validator", &file])
        .output();
    let harbor = harbor.unwrap();
    assert!(harbor.status.success(), "{}", String::from_utf8(harbor.stderr).unwrap());
}

/// The digest of the last entry of the ledger, from the tables.
fn ledger_end(world: &World) -> String {
    let journal = rusqlite::Connection::open(world.path("tasks/journal.db")).unwrap();
    let digest: Vec<u8> = journal
        .query_row("SELECT digest FROM ledger WHERE position = 4", [], |row| row.get(0))
        .unwrap();
    Digest::from_bytes(digest.try_into().unwrap()).to_string()
}

#[test]
fn verify_names_everything_it_compared() {
    let world = World::new();
    finished(&world);
    let names = [
        "journal",
        "intent_digest",
        "grant_digest",
        "trace",
        "trace_session",
        "trace_admission",
        "journal_heads",
        "effects",
        "requests",
        "result",
        "source_snapshot",
        "candidate_snapshot",
        "artifacts",
        "patch",
    ];
    let check = |name: &&str| match *name {
        "journal" | "intent_digest" => json!({ "name": name, "finding": "holds" }),
        _ => json!({ "turn": 1, "name": name, "finding": "holds" }),
    };
    let expected = json!({
        "task_id": "task-1",
        "verdict": "verified",
        "state": "finished",
        "journal_head": { "position": 4, "digest": ledger_end(&world) },
        "checks": names.iter().map(check).collect::<Vec<_>>(),
    });
    let before = world.listing("");
    assert_eq!(world.task(&["verify", "task-1"]).json(), expected);
    // Looking changes nothing, and needs nothing but the store.
    assert_eq!(crate::world::differences(&before, &world.listing("")), [""; 0]);
    fs::remove_dir_all(world.path("tree")).unwrap();
    fs::remove_dir_all(world.path("repo")).unwrap();
    assert_eq!(world.task(&["verify", "task-1"]).json(), expected);
}

#[test]
fn a_reading_grant_works_on_an_ordinary_checkout_and_nothing_is_written() {
    let world = World::new();
    let script =
        "cat notes.txt; git log --format=%s; touch new || echo refused; git commit --allow-empty -qm x || echo refused";
    let mut prepared = world.prepare(&world.path("repo"), &[reply(&[script], false), reply(&[], true)]);
    prepared.grant["write_workspace"] = json!(false);
    let before = world.listing("repo");
    assert_eq!(prepared.call().json()["status"], "finished");
    assert_eq!(crate::world::differences(&before, &world.listing("repo")), [""; 0]);
    let view = world.task(&["view", "task-1"]).json();
    let steps = view["evidence"]["steps"].as_array().unwrap();
    let outputs: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["observation"]["results"][0]["content"].as_str())
        .collect();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    assert_eq!(
        outputs[0].lines().filter(|line| *line == "refused").count(),
        2,
        "{}",
        outputs[0]
    );
    assert!(outputs[0].starts_with("first\nfirst\nrefused\n"), "{}", outputs[0]);
    assert_eq!(view["artifacts"]["changes"], json!([]));
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_run_commits_in_its_worktree_and_cannot_reach_the_store_or_other_branches() {
    let world = World::new();
    let tree = world.worktree();
    let store = world.text("tasks");
    let commands = [
        "git commit -q -a --allow-empty -m inside && git log -1 --format=%s",
        &format!("ls {store}/journal.db || echo absent"),
        "git update-ref refs/heads/main HEAD || echo refused",
        "git config user.name x || echo refused",
        "echo x >.git || echo refused",
    ];
    let prepared = world.prepare(&tree, &[reply(&commands, false), reply(&[], true)]);
    assert_eq!(prepared.call().json()["run"]["result"]["ending"], "model_finished");
    let view = world.task(&["view", "task-1"]).json();
    let steps = view["evidence"]["steps"].as_array().unwrap();
    let last_lines: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["observation"]["results"][0]["content"].as_str())
        .map(|output| output.lines().find(|line| !line.starts_with("ls:")).unwrap_or_default())
        .collect();
    assert_eq!(last_lines, ["inside", "absent", "refused", "refused", "refused"]);
    assert_eq!(world.git("tree", &["log", "-1", "--format=%s"]), "inside\n");
    assert_eq!(world.git("repo", &["log", "-1", "--format=%s", "main"]), "first\n");
}

#[test]
fn a_grant_from_standard_input_with_the_developers_tools() {
    let world = World::new();
    let tree = world.worktree();
    let mut prepared = world.prepare(
        &tree,
        &[
            reply(&["echo second >>notes.txt; command -v git"], false),
            reply(&[], true),
        ],
    );
    prepared.grant["adapter_configuration"]["access"] = json!("toolchains");
    let grant = prepared.grant.to_string();
    let call = world
        .microcoder(&["repository", "--grant", "-"])
        .variable("MICROCODER_STORE", &world.text("tasks"));
    let task = call.input(grant.clone()).json();
    let admission = &task["run"]["admission"];
    assert_eq!(admission["grant_request"], json!(grant));
    assert_eq!(admission["grant_digest"], json!(Digest::of(grant.as_bytes())));
    let labels = [&admission["network"], &admission["read_scope"]];
    assert_eq!(labels, ["host_network", "workspace_system_and_toolchains"]);
    assert_eq!(task["run"]["result"]["ending"], "model_finished");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn streams_of_any_bytes_fit_into_the_evidence_at_the_largest_bound() {
    let world = World::new();
    let tree = world.worktree();
    let loud = "head -c 1500000 /dev/urandom; head -c 1500000 /dev/urandom >&2";
    let longer_than_the_head = "head -c 50000 /dev/zero | tr '\\0' e >&2";
    let mut prepared = world.prepare(&tree, &[reply(&[loud, longer_than_the_head], false), reply(&[], true)]);
    prepared.grant["stream_bytes"] = json!(1 << 20);
    let task = prepared.call().json();
    assert_eq!(task["run"]["result"]["ending"], "model_finished");
    assert_eq!(task["run"]["result"]["output_incomplete"], false);
    let results: Vec<Value> = world
        .read("tasks/task-1.1.atif.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["step"]["extensions"]["effect_result"].take())
        .filter(|result| result["kind"] == "command")
        .map(|mut result| result["result"].take())
        .collect();
    let told = |index: usize| {
        let result: &Value = &results[index];
        let kept = serde_json::from_value::<coder_trace::Bytes>(result["stderr"].clone())
            .unwrap()
            .0
            .len();
        (
            kept,
            result["stderr_bytes"].as_u64().unwrap(),
            result["stderr_truncated"].as_bool().unwrap(),
        )
    };
    assert_eq!(
        [told(0), told(1)],
        [(1 << 20, 1_500_000, true), (50_000, 50_000, false)]
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

/// What a command may leave behind, and whether all of it can be kept.
#[rstest]
#[case::names(
    "printf x >\"$(printf '\\377\\012name')\"; mkdir -p -- '-d/ spaced'; ln -s / root; ln -s gone dangling",
    true
)]
#[case::kinds(
    "mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; true",
    false
)]
#[case::hard_links("ln notes.txt hard; echo more >>hard", false)]
#[case::too_large("head -c 2000000 /dev/urandom >large; echo x >small", false)]
#[case::removed("rm -rf inner notes.txt; ln -s /etc inner", true)]
#[case::deep(
    "i=0; while [ $i -lt 300 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done; echo x >leaf",
    true
)]
#[case::many("mkdir many; cd many; seq 5000 | xargs touch", false)]
#[case::unreadable("mkdir closed; echo x >closed/file; chmod 000 closed; chmod 000 notes.txt", true)]
fn a_candidate_of_any_shape_is_kept_as_far_as_it_can_be(#[case] script: &str, #[case] whole: bool) {
    let world = World::new();
    let tree = world.worktree();
    let prepared = world.prepare(&tree, &[reply(&[script], false), reply(&[], true)]);
    let task = prepared.call().json();
    assert_eq!(task["run"]["result"]["ending"], "model_finished");
    let view = world.task(&["view", "task-1"]).json();
    assert_eq!(view["artifact_error"], Value::Null);
    assert_eq!(
        view["artifacts"]["complete"],
        json!(whole),
        "{:#}",
        view["artifacts"]["entries"]
    );
    assert!(!view["artifacts"]["changes"].as_array().unwrap().is_empty());
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    // Nothing of what lies elsewhere is kept for a link that leads there.
    assert!(!view["artifacts"].to_string().contains("passwd"));
}

#[test]
fn a_model_that_stops_answering_well_ends_the_run_and_not_the_host() {
    let world = World::new();
    let tree = world.worktree();
    let nonsense = json!("no JSON at all");
    let prepared = world.prepare(&tree, &[nonsense.clone(), nonsense.clone(), nonsense]);
    let task = prepared.call().json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&task["execution"], &result["ending"], &result["exit_code"]),
        (&json!("failed"), &json!("loop_incomplete"), &json!(1))
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_store_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    finished(&world);
    let open: Vec<_> = world
        .listing("tasks")
        .into_iter()
        .filter(|(_, said)| {
            let mode = said.split_whitespace().nth(1).unwrap();
            u32::from_str_radix(mode, 8).unwrap() & 0o077 != 0
        })
        .collect();
    assert_eq!(open, []);
    fs::set_permissions(world.path("tasks"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(world.task(&["list"]).run().refused(1).0, "unsafe_path");
}
