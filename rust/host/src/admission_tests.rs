use super::*;
use crate::testing::{World as Place, clock};
use coder_digest::Digest;
use rstest::rstest;
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

/// Everything wrong at once: each fault of the grant is put right by the case that comes after it.
struct Wrong {
    place: Place,
    grant: Value,
}

impl Wrong {
    fn new() -> Self {
        let place = Place::new();
        place.repository();
        place.worktree("tree", None);
        place.write("repo/inner/file", "");
        symlink(place.path("repo"), place.path("link")).unwrap();
        for name in ["repo", "tree"] {
            symlink("/etc/passwd", place.path(&format!("{name}/AGENTS.md"))).unwrap();
        }
        let script = json!({ "schema": "openagents.microcoder.script.v1", "turns": [{ "reply": {
            "reply": "Done.", "ask": "none", "rationale": "", "commands": [], "view": [], "freeze_tests": false, "expand": [],
            "finished": true,
        } }] })
        .to_string();
        place.write("script.json", &script);
        place.write("controller", "program");
        let grant = json!({
            "schema": "openagents.coder.task-execution-grant.v1",
            "task_id": "task-1",
            "intent_digest": "0".repeat(64),
            "expected_revision": 7,
            "expected_source_snapshot": "0".repeat(64),
            "program": "/usr/bin/env",
            "arguments": [],
            "write_workspace": true,
            "stream_bytes": 65536,
            "memory_bytes": 536_870_912,
            "requirements": null,
            "adapter_configuration": {
                "schema": "openagents.microcoder.repository-config.v1",
                "provider": "scripted",
                "model": "another",
                "effort": null,
                "generation_endpoint": "in-process",
                "decision_endpoint": "in-process",
                "decision_model": "none",
                "acceptance": false,
                "route": "never",
                "knowledge": "frozen-context",
                "dollar_limit_micros": null,
                "expected_controller_digest": "0".repeat(64),
                "access": "full",
                "script": place.path("script.json"),
                "script_digest": "0".repeat(64),
            },
        });
        Self { place, grant }
    }

    fn configuration(&mut self) -> &mut Value {
        &mut self.grant["adapter_configuration"]
    }

    /// Submits the next task, and grants exactly it.
    fn submit(&mut self, task: &str, workspace: &str, revision: Option<&str>) {
        let path = self.place.path(workspace);
        let task = self.place.submit_on(&self.place.store(), task, "Do.", &path, revision);
        self.grant["task_id"] = json!(task.task_id);
        self.grant["intent_digest"] = json!(task.intent_digest);
        self.grant["expected_revision"] = json!(1);
    }

    /// The task that the grant names.
    fn task(&self) -> Task {
        let id = self.grant["task_id"].as_str().unwrap();
        let id = coder_digest::TaskId::new(id).unwrap();
        self.place.store().show(&id).unwrap()
    }

    /// The files of the store, but for what SQLite makes on a look.
    fn kept(&self) -> BTreeSet<std::ffi::OsString> {
        let entries = std::fs::read_dir(self.place.path("store")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| !name.as_encoded_bytes().starts_with(b"journal.db-"))
            .collect()
    }

    /// The code of the refusal, with the field of a pin that does not hold. Nothing is left of the attempt.
    #[track_caller]
    fn refusal(&self) -> String {
        let store = self.place.store();
        let before = self.kept();
        let error = match Grant::parse(self.grant.to_string().as_bytes()) {
            Err(error) => error,
            Ok(grant) => {
                let asked = Asked {
                    grant,
                    store: &store,
                    environment: &|_| None,
                    controller: &self.place.path("controller"),
                    clock: &clock(),
                    cancel: &Cancel::never(),
                };
                match asked.admit() {
                    Err(error) => error,
                    Ok(_) => return "admitted".to_owned(),
                }
            }
        };
        assert_eq!(self.kept(), before, "{error}");
        match &error {
            Error::Mismatch { field, .. } => (*field).to_owned(),
            error => error.code().to_owned(),
        }
    }
}

#[test]
fn refusals_come_in_the_order_of_admission_and_leave_nothing() {
    let mut wrong = Wrong::new();
    wrong.submit("task-1", "link", None);
    wrong.grant["intent_digest"] = json!("0".repeat(64));
    wrong.grant["expected_revision"] = json!(7);
    // The grant alone, and the client it names.
    assert_eq!(wrong.refusal(), "grant_field");
    wrong.configuration()["knowledge"] = json!("off");
    wrong.configuration().as_object_mut().unwrap().remove("access");
    assert_eq!(wrong.refusal(), "script_digest");
    let script = std::fs::read(wrong.place.path("script.json")).unwrap();
    wrong.configuration()["script_digest"] = json!(Digest::of(&script));
    // The task.
    assert_eq!(wrong.refusal(), "intent_digest");
    let task = wrong.task();
    wrong.grant["intent_digest"] = json!(task.intent_digest);
    assert_eq!(wrong.refusal(), "expected_revision");
    wrong.grant["expected_revision"] = json!(1);
    assert_eq!(wrong.refusal(), "model");
    wrong.configuration()["model"] = json!("model");
    // The workspace and the shell.
    assert_eq!(wrong.refusal(), "workspace");
    wrong.submit("task-2", "store", None);
    assert_eq!(wrong.refusal(), "unsafe_path");
    wrong.submit("task-3", "repo/inner", Some(&"0".repeat(40)));
    assert_eq!(wrong.refusal(), "not_shell");
    wrong.grant["program"] = json!("/usr/bin/bash");
    // The checkout.
    assert_eq!(wrong.refusal(), "not_top_level");
    wrong.submit("task-4", "repo", Some(&"0".repeat(40)));
    assert_eq!(wrong.refusal(), "source_revision");
    wrong.submit("task-5", "repo", None);
    assert_eq!(wrong.refusal(), "writable_checkout");
    // The source, what is captured from it, and the controller.
    wrong.submit("task-6", "tree", None);
    assert_eq!(wrong.refusal(), "expected_source_snapshot");
    wrong.grant["expected_source_snapshot"] = Value::Null;
    assert_eq!(wrong.refusal(), "instructions");
    std::fs::remove_file(wrong.place.path("tree/AGENTS.md")).unwrap();
    assert_eq!(wrong.refusal(), "expected_controller_digest");
    wrong.configuration()["expected_controller_digest"] = json!(Digest::of(b"program"));
    assert_eq!(wrong.refusal(), "admitted");
}

/// A grant on a worktree in which nothing is wrong.
fn right() -> Wrong {
    let mut right = Wrong::new();
    std::fs::remove_file(right.place.path("tree/AGENTS.md")).unwrap();
    let script = std::fs::read(right.place.path("script.json")).unwrap();
    let configuration = right.configuration();
    configuration["script_digest"] = json!(Digest::of(&script));
    configuration["model"] = json!("model");
    configuration["knowledge"] = json!("off");
    configuration["access"] = json!("boundary");
    configuration["expected_controller_digest"] = Value::Null;
    right.grant["expected_source_snapshot"] = Value::Null;
    right.grant["program"] = json!("/bin/bash");
    right
}

#[rstest]
#[case::bare("")]
#[case::prefixed("sha256:")]
fn trap_j_a_source_pin_holds_in_both_forms_and_covers_uncommitted_files(#[case] prefix: &str) {
    let mut right = right();
    right.place.write("tree/uncommitted", "new");
    right.submit("task-1", "tree", None);
    let tree = right.place.path("tree");
    let digest = Observer::new(clock().as_ref()).observe(&tree).unwrap().digest();
    right.grant["expected_source_snapshot"] = json!(format!("{prefix}{}", digest.hex()));
    right.place.write("tree/uncommitted", "newer");
    assert_eq!(right.refusal(), "expected_source_snapshot");
    right.place.write("tree/uncommitted", "new");
    assert_eq!(right.refusal(), "admitted");
}

#[test]
fn a_source_revision_that_is_head_is_admitted() {
    let mut right = right();
    let head = right.place.git("tree", &["rev-parse", "HEAD"]);
    right.submit("task-1", "tree", Some(head.trim()));
    assert_eq!(right.refusal(), "admitted");
}

#[test]
fn the_task_may_ask_for_any_admitted_route() {
    let mut right = right();
    right.submit("task-1", "tree", None);
    right.configuration()["model"] = json!("another");
    assert_eq!(right.refusal(), "model");
    // A fallback of the asked model makes the pair fit.
    right.configuration()["fallbacks"] = json!([{
        "provider": "openai", "model": "model", "effort": null, "generation_endpoint": "https://models.example/v1",
    }]);
    assert_eq!(right.refusal(), "admitted");
    let grant = Grant::parse(right.grant.to_string().as_bytes()).unwrap();
    let Work::Repository(configuration) = &grant.work else {
        panic!("a repository grant")
    };
    let asked = Asked {
        grant: grant.clone(),
        store: &right.place.store(),
        environment: &|_| None,
        controller: Path::new("/nonexistent"),
        clock: &clock(),
        cancel: &Cancel::never(),
    };
    assert!(compare_repository(&asked.grant, &right.task(), configuration).is_ok());
}
