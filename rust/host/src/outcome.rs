//! How what came of a command or a read is written: the stable words of endings and proofs, the results that the trace
//! retains, and the text a person reads. No judgment of it.

use crate::Denied;
use coder_agent::Captured;
use coder_boundary::{Connections, Enforced, Exhausted};
use coder_digest::display_bytes;
use coder_process::{Death, Ending, Outcome, PeakMemory, Proof, Tree};
use coder_trace::Bytes;
use coder_workspace::Observation;
use serde_json::{Value, json};

/// How much of a long stream's end a person is shown, in bytes.
const SHOWN_TAIL: usize = 32 * 1024;

fn death_json(death: Death) -> Value {
    match death {
        Death::Exited(status) => json!({ "exited": status }),
        Death::Signalled(signal) => json!({ "signalled": signal }),
        Death::Unknown => Value::Null,
    }
}

/// The stable word of an ending and the exit status, where there is one.
pub(crate) fn ending_word(ending: &Ending) -> (&'static str, Option<i32>, Value) {
    match ending {
        Ending::Exited(status) => ("exited", Some(*status), json!({ "exited": status })),
        Ending::Signalled(signal) => ("signalled", None, json!({ "signalled": signal })),
        Ending::Unknown => ("unknown", None, Value::Null),
        Ending::DeadlineExceeded { death } => ("deadline_exceeded", None, death_json(*death)),
        Ending::Cancelled { death, .. } => ("cancelled", None, death_json(*death)),
        Ending::OutputLimit { death } => ("output_limit", None, death_json(*death)),
        Ending::Stopped { death } => ("stopped", None, death_json(*death)),
    }
}

pub(crate) fn proof_word(proof: Proof) -> &'static str {
    match proof {
        Proof::Namespace => "process_namespace_ended",
        Proof::Reaped => "subreaper_has_no_child",
    }
}

pub(crate) fn tree_json(tree: Tree) -> (bool, Option<&'static str>) {
    match tree {
        Tree::Clear(proof) => (true, Some(proof_word(proof))),
        Tree::Unknown => (false, None),
    }
}

pub(crate) fn peak_memory(peak: PeakMemory) -> Value {
    match peak {
        PeakMemory::Exactly(bytes) => json!({ "peak_bytes": bytes }),
        PeakMemory::AtMost(bytes) => json!({ "peak_bytes_at_most": bytes }),
    }
}

/// What held a command, and what it did through its gateway, where it had one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding<'a> {
    pub(crate) enforced: &'a Enforced,
    pub(crate) exhausted: Exhausted,
    pub(crate) connections: Option<&'a Connections>,
    pub(crate) denied: &'a [Denied],
}

/// What the trace retains of a command: of each stream the last `stream_bytes` bytes at most.
pub(crate) fn command_result(outcome: &Outcome, held: &Holding<'_>, stream_bytes: usize) -> Value {
    let (ending, exit, death) = ending_word(&outcome.ending);
    let (group_clear, proof) = tree_json(outcome.tree);
    let (stdout_tail, stdout_tail_offset) = last(&outcome.stdout, stream_bytes);
    let (stderr, stderr_offset) = last(&outcome.stderr, stream_bytes);
    let mut result = json!({
        "ending": ending,
        "exit": exit,
        "death": death,
        "group_clear": group_clear,
        "proof": proof,
        "requested_stop": matches!(outcome.ending, Ending::Cancelled { .. } | Ending::Stopped { .. }),
        "stdout_tail": Bytes(stdout_tail),
        "stdout_tail_offset": stdout_tail_offset,
        "stdout_bytes": outcome.stdout.total_bytes,
        "stderr": Bytes(stderr),
        "stderr_bytes": outcome.stderr.total_bytes,
        "stderr_truncated": stderr_offset > 0,
        "seconds": outcome.elapsed.as_secs_f64(),
        "memory": outcome.usage.as_ref().map(|usage| peak_memory(usage.peak_memory)),
        "enforced": held.enforced,
        "out_of_memory": held.exhausted.out_of_memory,
        "out_of_processes": held.exhausted.out_of_processes,
        "out_of_scratch": held.exhausted.out_of_scratch,
    });
    if let Some(fields) = result.as_object_mut() {
        if let Some(connections) = held.connections {
            fields.insert("connections".to_owned(), json!(connections));
        }
        if !held.denied.is_empty() {
            fields.insert("denied".to_owned(), json!(held.denied));
        }
    }
    result
}

/// The last bytes of a stream without a gap, at most `most`, and where in the stream they begin.
fn last(captured: &coder_process::Captured, most: usize) -> (Vec<u8>, u64) {
    // The tail alone would lack what the head took of a stream that was kept whole.
    let mut bytes = match captured.complete() {
        Some(whole) => whole.into_owned(),
        None => captured.tail.clone(),
    };
    bytes.drain(..bytes.len().saturating_sub(most));
    let offset = captured.total_bytes.saturating_sub(bytes.len() as u64);
    (bytes, offset)
}

/// All that is kept of both streams, for reading.
pub(crate) fn kept(outcome: &Outcome) -> [&[u8]; 4] {
    let Outcome { stdout, stderr, .. } = outcome;
    [&stdout.head, &stdout.tail, &stderr.head, &stderr.tail]
}

pub(crate) fn captured(captured: &coder_process::Captured) -> Captured {
    let kept = (captured.head.len() + captured.tail.len()) as u64;
    Captured {
        head: captured.head.clone(),
        dropped: captured.total_bytes.saturating_sub(kept),
        tail: captured.tail.clone(),
    }
}

/// Standard output then standard error, as a person reads them; the exact bytes are elsewhere in the record. Bounded
/// whatever the grant retains, since bytes that are no text grow fivefold here and a step has a limit.
pub(crate) fn joined(outcome: &Outcome) -> String {
    let mut text = String::new();
    for captured in [&outcome.stdout, &outcome.stderr] {
        let (tail, _) = last(captured, SHOWN_TAIL);
        let kept = (captured.head.len() + tail.len()) as u64;
        match captured.complete() {
            Some(whole) if whole.len() as u64 <= kept => text.push_str(&lines(&whole)),
            Some(_) | None => {
                text.push_str(&lines(&captured.head));
                let left_out = captured.total_bytes.saturating_sub(kept);
                text.push_str(&format!("\n[{left_out} bytes left out]\n"));
                text.push_str(&lines(&tail));
            }
        }
    }
    text
}

fn lines(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.split(|byte| *byte == b'\n').map(display_bytes).collect();
    shown.join("\n")
}

pub(crate) fn read_result(observation: &Observation) -> Value {
    match observation {
        Observation::Found { bytes, digest, total } => json!({
            "observation": "found", "bytes": bytes.len(), "digest": digest, "total_bytes": total,
            "truncated": (bytes.len() as u64) < *total, "content": Bytes(bytes.clone()),
        }),
        Observation::Absent => json!({ "observation": "absent" }),
        Observation::Refused(refusal) => json!({ "observation": "refused", "reason": refusal.to_string() }),
        Observation::ReadError {
            partial,
            digest,
            reason,
        } => json!({
            "observation": "read_error", "reason": reason, "bytes": partial.len(), "digest": digest,
            "content": Bytes(partial.clone()), "observation_complete": false,
        }),
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
