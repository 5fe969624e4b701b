//! What the tests of this crate are built from: a store of its own in an empty directory, and commands, admissions and
//! results that are right unless the test changes them.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use coder_digest::{Clock, Digest, FixedClock, TaskId, Timestamp, json};
use coder_journal::{
    Admission, CheckEvidence, CheckOutcome, CostStatus, Event, Held, Judgement, Owner, RunResult, Sameness, Store,
    SuiteEnding, SuiteEvidence, Task, VERIFICATION_SCHEMA, prepared_plan,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub struct World {
    pub home: TempDir,
    pub store: Store,
}

impl World {
    pub fn new() -> Self {
        // In memory where there is such a place: thousands of these are made, and each commit is synced.
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() {
            TempDir::new_in(memory).unwrap()
        } else {
            TempDir::new().unwrap()
        };
        let store = Store::open(&home.path().join("store"), clock()).unwrap();
        Self { home, store }
    }

    pub fn path(&self) -> PathBuf {
        self.home.path().join("store")
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn again(&self) -> Store {
        Store::open(&self.path(), clock()).unwrap()
    }

    /// Submits a task that works on `/trees/<task>`.
    pub fn submit(&self, task: &str) -> TaskId {
        self.store
            .command(&submit(&format!("submit-{task}"), task, &format!("/trees/{task}")))
            .unwrap();
        id(task)
    }

    /// An owner of `task` that recorded the admission and the intent of its effect.
    pub fn running(&self, task: &TaskId) -> Owner {
        let owner = self.store.own(task, Duration::ZERO).unwrap();
        let shown = self.store.show(task).unwrap();
        let shown = owner.record(&admitted(&shown), Some(shown.revision)).unwrap();
        owner.record(&effect(&shown), None).unwrap();
        owner
    }

    /// A task whose run ended with exit code 0.
    pub fn finished(&self, task: &str) -> TaskId {
        let task = self.submit(task);
        let owner = self.running(&task);
        owner.record(&ended(result()), None).unwrap();
        task
    }
}

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(FixedClock::new(Timestamp(1_796_040_000_000), 1))
}

pub fn id(task: &str) -> TaskId {
    TaskId::new(task).unwrap()
}

pub fn command(command: &str, task: &str, revision: Option<u64>, action: &Value) -> Vec<u8> {
    let value = json!({
        "schema": "openagents.coder.task-command.v1",
        "command_id": command,
        "task_id": task,
        "expected_revision": revision,
        "action": action,
    });
    serde_json::to_vec(&value).unwrap()
}

pub fn intent(path: &str) -> Value {
    json!({
        "title": "Fix the parser",
        "prompt": "Fix the parser.\nKeep the tests.",
        "workspace": {"path": path, "source_revision": null},
        "configuration": {"adapter": "microcoder-repository", "model": "gpt-6-luna"},
    })
}

pub fn submit(name: &str, task: &str, path: &str) -> Vec<u8> {
    command(name, task, None, &json!({"type": "submit", "intent": intent(path)}))
}

pub fn cancel(name: &str, task: &TaskId, revision: u64) -> Vec<u8> {
    let action = json!({"type": "cancel", "reason": "not needed"});
    command(name, task.as_str(), Some(revision), &action)
}

pub fn correct(name: &str, task: &TaskId, revision: u64) -> Vec<u8> {
    let action = json!({"type": "correct", "prompt": "Fix the lexer.", "reason": "wrong file"});
    command(name, task.as_str(), Some(revision), &action)
}

pub fn follow_up(name: &str, task: &TaskId, revision: u64) -> Vec<u8> {
    let action = json!({"type": "continue", "prompt": "Now the printer."});
    command(name, task.as_str(), Some(revision), &action)
}

/// Requirements of one check, as far as the journal looks into them.
pub fn requirements() -> Value {
    json!({
        "schema": "openagents.coder.task-requirements.v2",
        "version": 1,
        "plan": {
            "schema": VERIFICATION_SCHEMA,
            "input_digest": "{candidate_digest}",
            "checks": [{
                "id": "unit",
                "manifest_digest": Digest::of(b"manifest").hex(),
                "arguments": ["{candidate_digest}"],
                "acceptance": {
                    "kind": "suite", "suite_digest": Digest::of(b"suite"), "input_digest": "{candidate_digest}",
                },
            }],
        },
    })
}

pub fn grant(task: &Task) -> Value {
    json!({
        "schema": "openagents.coder.task-execution-grant.v1",
        "task_id": task.task_id,
        "intent_digest": task.intent_digest,
        "expected_revision": task.revision,
        "expected_source_snapshot": null,
        "program": "/usr/bin/bash",
        "arguments": [],
        "write_workspace": true,
        "stream_bytes": 65536,
        "memory_bytes": 536_870_912,
        "requirements": requirements(),
        "adapter_configuration": {
            "provider": "codex",
            "model": "gpt-6-luna",
            "fallbacks": [{"provider": "claude", "model": "claude-x"}],
        },
    })
}

pub fn admission(task: &Task) -> Admission {
    admission_of(task, grant(task))
}

pub fn admission_of(task: &Task, grant: Value) -> Admission {
    let grant_request = grant.to_string();
    Admission {
        grant_digest: Digest::of(grant_request.as_bytes()),
        grant,
        grant_request,
        workspace: task.intent.workspace.path.clone(),
        source_revision: Some("a".repeat(40)),
        source_snapshot: Digest::of(b"tree"),
        program_digest: Digest::of(b"bash"),
        adapter: task.intent.configuration.adapter.clone(),
        network: "network_namespace_isolated".into(),
        read_scope: "workspace_and_system".into(),
        authority: "local_os_user".into(),
        trace_file: format!("{}.{}.atif.jsonl", task.task_id, task.turn()),
        context: json!({
            "task_revision": task.revision,
            "prompt": task.prompt(),
            "suites": [{
                "check": "unit",
                "manifest_digest": Digest::of(b"manifest").hex(),
                "program_digest": Digest::of(b"suite"),
            }],
            "digest": Digest::of(b"context").hex(),
        }),
    }
}

pub fn admitted(task: &Task) -> Event {
    Event::Admitted {
        admission: Box::new(admission(task)),
    }
}

pub fn effect(task: &Task) -> Event {
    Event::EffectIntent {
        effect_id: format!("{}:{}:command", task.task_id, task.turn()),
    }
}

pub fn ended(result: RunResult) -> Event {
    Event::Result {
        result: Box::new(result),
    }
}

pub fn result() -> RunResult {
    RunResult {
        ending: "completed".into(),
        reason: None,
        exit_code: Some(0),
        stop_requested: false,
        group_clear: true,
        cleanup: None,
        elapsed_ms: Some(1200),
        trace_digest: Some(Digest::of(b"trace")),
        candidate_snapshot: Some(Digest::of(b"candidate")),
        artifact_file: None,
        artifact_digest: None,
        git_restored: Vec::new(),
        appeared: Vec::new(),
        auto_exec: Vec::new(),
        auto_exec_omitted: 0,
        output_incomplete: false,
        cost_status: CostStatus::Unknown,
        cost_microusd: None,
        engine_microusd: None,
        jev_microusd: None,
        payer: None,
    }
}

pub fn report(task: &Task) -> coder_journal::CheckReport {
    let run = task.run.as_ref().unwrap();
    coder_journal::CheckReport {
        schema: "openagents.coder.task-checks.v1".into(),
        requirements_digest: json::digest(run.admission.requirements()),
        context_digest: Some(Digest::of(b"context")),
        candidate_snapshot: Some(Digest::of(b"candidate")),
        verdict: coder_journal::Verdict::Passed,
        evidence: serde_json::to_value(evidence(task)).unwrap(),
        reason: None,
    }
}

/// The evidence of the one check passing.
pub fn evidence(task: &Task) -> CheckEvidence {
    let candidate = Digest::of(b"candidate");
    let requirements = task.run.as_ref().unwrap().admission.requirements().clone();
    CheckEvidence {
        schema: VERIFICATION_SCHEMA.into(),
        plan_digest: json::digest(&prepared_plan(&requirements, &candidate)),
        input_digest: candidate,
        before_snapshot: Some(candidate),
        after_snapshot: Some(candidate),
        workspace: Sameness::Unchanged,
        verdict: Judgement::Passed,
        checks: vec![CheckOutcome {
            id: "unit".parse().unwrap(),
            verdict: Judgement::Passed,
            reason: "the suite says so".into(),
            ending: SuiteEnding::Exited(0),
            elapsed_ms: 12,
            stdout_digest: Digest::of(b"verdict"),
            stderr_digest: Digest::of(b""),
            output_truncated: false,
            suite_evidence: Some(SuiteEvidence {
                schema: VERIFICATION_SCHEMA.into(),
                suite_digest: Digest::of(b"suite"),
                input_digest: candidate,
                verdict: Judgement::Passed,
            }),
            group_clear: true,
            grader: Sameness::Unchanged,
            boundary: Held::Whole,
            enforced: Value::Null,
            approval: Value::Null,
        }],
    }
}

pub fn checked(report: coder_journal::CheckReport) -> Event {
    Event::Checked {
        report: Box::new(report),
    }
}
