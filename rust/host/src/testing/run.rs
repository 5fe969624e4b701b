//! A small run that shows everything once: the steps as a trace holds them, and the task as the journal has it.

use coder_digest::Timestamp;
use coder_journal::Task;
use coder_trace::RecordedStep;
use serde_json::{Value, json};

pub(crate) const START: i64 = 1_796_040_000_000;

fn effect(sequence: u64, kind: &str, arguments: Value) -> Value {
    let digest = coder_digest::json::digest(&arguments);
    json!({ "effect": { "sequence": sequence, "kind": kind, "arguments": arguments, "arguments_digest": digest } })
}

fn result(sequence: u64, kind: &str, result: Value) -> Value {
    json!({ "effect_result": { "sequence": sequence, "kind": kind, "result": result } })
}

fn system(message: &str, extensions: Value) -> Value {
    json!({ "source": "System", "message": message, "extensions": extensions })
}

fn command(sequence: u64, end: &str, exit: Value, stderr: &str) -> Value {
    let ended = json!({
        "ending": "exited", "exit": exit, "group_clear": true, "stdout_tail": "b25lCg==", "stdout_tail_offset": 0,
        "stdout_bytes": 4, "stderr": stderr, "stderr_bytes": if stderr.is_empty() { 0 } else { 40 }, "memory": { "peak_bytes": 3_145_728 },
    });
    json!({
        "source": "Agent", "message": "", "extensions": result(sequence, "command", ended),
        "call": { "id": "effect", "name": "bash", "arguments": {}, "output": "", "outcome": end, "milliseconds": 1500 },
    })
}

/// The run's steps, one a second.
pub(crate) fn recorded() -> Vec<RecordedStep> {
    let action = json!({
        "reply": "Fixed <b>it</b>.", "ask": "none", "rationale": "look first", "commands": ["one"], "view": ["file"],
        "freeze_tests": false, "expand": [], "finished": true,
    });
    let hostile = "PC9wcmU+G1szMW1yZWQbWzBtGxtbMkr/4oCuPHNjcmlwdD4K";
    let steps = [
        json!({ "source": "User", "message": "fix the <parser>\nplease" }),
        system(
            "Admitted.",
            json!({ "admission": { "access": "boundary" }, "controller": { "version": "1" } }),
        ),
        system("no key", json!({ "decision_unavailable": { "reason": "no_key" } })),
        system(
            "The model is asked.",
            effect(1, "generation", json!({ "step": 1, "model": "small" })),
        ),
        system(
            "",
            effect(
                2,
                "openai_request",
                json!({ "endpoint": "http://127.0.0.1/v1", "body_bytes": 2048 }),
            ),
        ),
        system(
            "",
            result(2, "openai_request", json!({ "status": 429, "error": "slow down" })),
        ),
        system(
            "",
            effect(
                3,
                "openai_request",
                json!({ "endpoint": "http://127.0.0.1/v1", "body_bytes": 2048 }),
            ),
        ),
        json!({
            "source": "Agent", "message": "{…}", "model": "small-1", "tokens": { "input": 1200, "output": 34, "cached": 1000 },
            "extensions": result(3, "openai_request", json!({ "status": 200, "error": null })),
        }),
        system(
            "",
            result(
                1,
                "generation",
                json!({ "model": "small-1", "cost": { "status": "unknown" }, "failure": null }),
            ),
        ),
        system(
            "",
            json!({ "microcoder": { "seconds": 1.0, "event": {
            "type": "generated", "step": 1, "generated": { "action": action, "model": "small-1" },
        } } }),
        ),
        system("A command begins.", effect(4, "command", json!({ "script": "one" }))),
        system("", json!({ "process": { "effect": 4, "pid": 7 } })),
        system(
            "",
            json!({ "stream": { "effect": 4, "name": "stdout", "offset": 0, "bytes": "b25lCg==", "gaps": [] } }),
        ),
        command(4, "exit 0", json!(0), ""),
        system(
            "A command begins.",
            effect(5, "command", json!({ "script": "two\nthree" })),
        ),
        command(5, "exit 1", json!(1), hostile),
        system(
            "",
            json!({ "microcoder": { "event": {
            "type": "ran", "step": 1,
            "command": { "number": 2, "script": "two\nthree", "end": { "exited": 1 }, "output": "", "note": "the host says so" },
        } } }),
        ),
        system(
            "",
            json!({ "microcoder": { "event": {
            "type": "ran", "step": 1, "command": { "number": 3, "script": "four", "end": null, "output": "" },
        } } }),
        ),
        system("A read begins.", effect(6, "read", json!({ "path": "file" }))),
        system(
            "",
            result(
                6,
                "read",
                json!({ "observation": "found", "total_bytes": 9, "content": "b25lCg==" }),
            ),
        ),
        system(
            "",
            json!({ "route_switch": {
            "from": { "provider": "openai", "model": "small" }, "to": { "provider": "openai", "model": "large" },
            "refusal": "usage limit", "capacity_book": "recorded",
        } }),
        ),
        system("", effect(7, "command", json!({ "script": "never heard of again" }))),
        system(
            "the model said it is finished",
            json!({
                "adapter_summary": { "ending": "model_finished", "outcome": { "reply": "Fixed <b>it</b>." } },
                "candidate": { "faults": ["the patch is too large"] }, "host_fault": "the disk is full", "result": {}, "stages": [1],
            }),
        ),
    ];
    (0..)
        .zip(steps)
        .map(|(second, step)| RecordedStep {
            at: Timestamp(START + second * 1000),
            step: serde_json::from_value(step).unwrap(),
        })
        .collect()
}

/// The task of the run, with its result.
pub(crate) fn task() -> Task {
    let digest = coder_digest::Digest::of(b"x");
    serde_json::from_value(json!({
        "task_id": "fix-parser", "revision": 4,
        "intent": {
            "title": "Fix the \u{1b}[31mparser", "prompt": "fix the <parser>\nplease",
            "workspace": { "path": "/data/tree", "source_revision": null },
            "configuration": { "adapter": "microcoder-repository", "model": "small" },
        },
        "intent_digest": digest, "status": "finished", "execution": "failed", "checks": "failed",
        "cancellation_reason": null,
        "run": {
            "epoch": 1, "revision": 2,
            "admission": {
                "grant": {}, "grant_digest": digest, "grant_request": "{}", "workspace": "/data/tree",
                "source_revision": "0123456789abcdef0123456789abcdef01234567", "source_snapshot": digest.hex(),
                "program_digest": digest, "adapter": "microcoder-repository", "network": "offline", "read_scope": "granted",
                "authority": "grant", "trace_file": "fix-parser.1.atif.jsonl", "context": null,
            },
            "result": {
                "ending": "loop_incomplete", "exit_code": 1, "stop_requested": false, "group_clear": false,
                "elapsed_ms": 83_000, "trace_digest": digest, "candidate_snapshot": null, "artifact_file": null,
                "artifact_digest": null, "output_incomplete": true, "cost_status": "partial", "cost_microusd": 12_500,
            },
            "report": {
                "schema": "openagents.coder.task-checks.v1", "requirements_digest": digest.hex(), "context_digest": null,
                "candidate_snapshot": null, "verdict": "failed", "evidence": { "suite": 1 }, "reason": "2 of 3 hold",
            },
        },
    }))
    .unwrap()
}
