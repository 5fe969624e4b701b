//! What a command and a read came to, out of their results: output that streams already gave is taken once, and what
//! neither gave is a gap.

use super::super::{Command, Output, Read};
use super::words::as_text;
use coder_trace::Bytes;
use serde_json::Value;

fn bytes(value: Option<&Value>) -> Vec<u8> {
    value
        .and_then(|value| serde_json::from_value::<Bytes>(value.clone()).ok())
        .map(|bytes| bytes.0)
        .unwrap_or_default()
}

pub(super) fn conclude_command(command: &mut Command, result: &Value, call: Option<coder_trace::Call>) {
    let number = |name: &str| result.get(name).and_then(Value::as_u64);
    command.exit = result.get("exit").and_then(Value::as_i64);
    command.clear = result.get("group_clear").and_then(Value::as_bool);
    command.enforced = result.get("enforced").filter(|value| !value.is_null()).cloned();
    let memory = result.get("memory");
    command.memory = memory
        .and_then(|memory| memory.get("peak_bytes").or(memory.get("peak_bytes_at_most")))
        .and_then(Value::as_u64);
    let tail = bytes(result.get("stdout_tail"));
    let offset = number("stdout_tail_offset").unwrap_or_default();
    let known = command.stdout.bytes();
    if offset > known {
        command.stdout.skip(offset - known);
    }
    let rest = usize::try_from(command.stdout.bytes().saturating_sub(offset)).unwrap_or(usize::MAX);
    command.stdout.push(tail.get(rest..).unwrap_or_default());
    let stderr = bytes(result.get("stderr"));
    let missing = number("stderr_bytes")
        .unwrap_or_default()
        .saturating_sub(stderr.len() as u64);
    if command.stderr.is_empty() {
        if missing > 0 {
            command.stderr.skip(missing);
        }
        command.stderr.push(&stderr);
    }
    let ending = || as_text(result.get("ending"));
    match call {
        Some(call) => {
            command.milliseconds = Some(call.milliseconds);
            if command.stdout.is_empty() && command.stderr.is_empty() {
                command.stdout = Output::of(call.output.as_bytes());
            }
            command.end = Some(call.outcome);
        }
        None => command.end = Some(ending()),
    }
    if command.exit.is_some_and(|_| ending() != "exited") {
        command.end = Some(ending());
    }
}

pub(super) fn conclude_read(read: &mut Read, result: &Value) {
    let total = result.get("total_bytes").and_then(Value::as_u64);
    let content = bytes(result.get("content"));
    let word = as_text(result.get("observation"));
    read.found = Some(match (word.as_str(), total) {
        ("found", Some(total)) => crate::screen::size(total),
        ("refused" | "read_error", _) => format!("{word}: {}", as_text(result.get("reason"))),
        _ => word,
    });
    read.content.push(&content);
    if let Some(missing) = total
        .map(|total| total.saturating_sub(content.len() as u64))
        .filter(|bytes| *bytes > 0)
    {
        read.content.skip(missing);
    }
}
