use super::*;
use crate::testing::{log, rewrite, step};
use crate::{Call, Source, Step};
use rstest::rstest;
use serde_json::json;

fn call(id: &str) -> Call {
    Call {
        id: id.into(),
        name: "command".into(),
        arguments: json!({"script": "make"}),
        output: "done".into(),
        outcome: "ok".into(),
        milliseconds: 12,
        purpose: None,
        extra: Map::new(),
    }
}

fn agent(message: &str) -> Step {
    Step::new(Source::Agent, message)
}

/// A log of every part a step can have, and its document.
fn everything() -> (crate::testing::Log, Value) {
    let mut log = log();
    let writer = &mut log.writer;
    writer.append(&Step::new(Source::User, "fix it")).unwrap();
    let admission = step("admitted")
        .with_extension("admission", &json!({"mode": "boundary"}))
        .unwrap();
    writer.append(&admission).unwrap();
    let mut full = agent("I run make");
    full.reasoning = Some("it may be broken".into());
    full.model = Some("model-b".into());
    full.milliseconds = Some(40);
    full.tokens = Some(Tokens {
        input: Some(100),
        output: Some(20),
        cached: Some(60),
        reasoning: Some(5),
        cost_microusd: Some(1_250_000),
    });
    full.call = Some(Call {
        purpose: Some("see it fail".into()),
        extra: [("shell".to_owned(), json!("sh"))].into_iter().collect(),
        ..call("call_1")
    });
    writer.append(&full).unwrap();
    // The same name again, arguments that are no object, and a request of unknown price.
    let mut again = agent("");
    again.call = Some(Call {
        arguments: json!("make"),
        ..call("call_1")
    });
    again.tokens = Some(Tokens {
        input: Some(10),
        output: Some(1),
        ..Tokens::default()
    });
    writer.append(&again).unwrap();
    let mut host = step("host");
    host.model = Some("model-c".into());
    host.reasoning = Some("why".into());
    host.tokens = Some(Tokens {
        input: Some(1),
        output: Some(1),
        ..Tokens::default()
    });
    host.call = Some(call("call_2"));
    writer.append(&host).unwrap();
    writer.seal().unwrap();
    let document = atif_document(&Reader::open(&log.path).unwrap()).unwrap();
    (log, document)
}

#[test]
fn a_whole_document() {
    let (log, document) = everything();
    let digest = coder_digest::Digest::of(&std::fs::read(&log.path).unwrap());
    assert_eq!(
        document,
        json!({
            "schema_version": "ATIF-v1.8",
            "session_id": "fix-1",
            "agent": {"name": "repository", "version": "0.1.0", "model_name": "model-a"},
            "steps": [
                {"step_id": 1, "timestamp": "2026-11-30T12:00:01.000Z", "source": "user", "message": "fix it"},
                {
                    "step_id": 2,
                    "timestamp": "2026-11-30T12:00:02.000Z",
                    "source": "system",
                    "message": "admitted",
                    "extra": {"admission": {"mode": "boundary"}},
                },
                {
                    "step_id": 3,
                    "timestamp": "2026-11-30T12:00:03.000Z",
                    "source": "agent",
                    "message": "I run make",
                    "model_name": "model-b",
                    "reasoning_content": "it may be broken",
                    "metrics": {
                        "prompt_tokens": 100,
                        "completion_tokens": 20,
                        "cached_tokens": 60,
                        "cost_usd": 1.25,
                        "extra": {"reasoning_tokens": 5},
                    },
                    "tool_calls": [{
                        "tool_call_id": "call_1",
                        "function_name": "command",
                        "arguments": {"script": "make"},
                        "extra": {"purpose": "see it fail", "call": {"shell": "sh"}},
                    }],
                    "observation": {"results": [{
                        "source_call_id": "call_1",
                        "content": "done",
                        "extra": {"outcome": "ok", "milliseconds": 12},
                    }]},
                    "extra": {"milliseconds": 40},
                },
                {
                    "step_id": 4,
                    "timestamp": "2026-11-30T12:00:04.000Z",
                    "source": "agent",
                    "message": "",
                    "metrics": {"prompt_tokens": 10, "completion_tokens": 1},
                    "tool_calls": [{
                        "tool_call_id": "call_1#4",
                        "function_name": "command",
                        "arguments": {"value": "make"},
                        "extra": {"recorded_id": "call_1"},
                    }],
                    "observation": {"results": [{
                        "source_call_id": "call_1#4",
                        "content": "done",
                        "extra": {"outcome": "ok", "milliseconds": 12},
                    }]},
                },
                {
                    "step_id": 5,
                    "timestamp": "2026-11-30T12:00:05.000Z",
                    "source": "system",
                    "message": "host",
                    "extra": {
                        "model": "model-c",
                        "reasoning": "why",
                        "tokens": {"prompt_tokens": 1, "completion_tokens": 1},
                        "call": {
                            "call": {
                                "tool_call_id": "call_2",
                                "function_name": "command",
                                "arguments": {"script": "make"},
                            },
                            "observation": {"results": [{
                                "source_call_id": "call_2",
                                "content": "done",
                                "extra": {"outcome": "ok", "milliseconds": 12},
                            }]},
                        },
                    },
                },
            ],
            "final_metrics": {
                "total_prompt_tokens": 111,
                "total_completion_tokens": 22,
                "total_steps": 5,
                "extra": {"partial": {
                    "total_cached_tokens": {"known": 60, "unknown_requests": 2},
                    "total_cost_usd": {"known": 1.25, "unknown_requests": 2},
                }},
            },
            "extra": {
                "started": "2026-11-30T12:00:00.000Z",
                "ended": "2026-11-30T12:00:06.000Z",
                "repository": "/data/repository",
                "trace": {"digest": digest, "lines": 7, "chained": true, "faults": []},
            },
        })
    );
    assert_eq!(crate::check::strict(document.to_string().as_bytes()), []);
}

#[test]
fn the_written_document_is_the_same_one() {
    let (log, document) = everything();
    let mut written = Vec::new();
    write_atif_document(&Reader::open(&log.path).unwrap(), &mut written).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), document);
    assert_eq!(written.last(), Some(&b'\n'));
}

// Unknown is a value: no total where any part of it is unknown, and no zero anywhere.
#[rstest]
#[case::no_request(&[], json!({"total_steps": 1}))]
#[case::usage_unknown(&[Tokens::default()], json!({"total_steps": 2}))]
#[case::free(
    &[Tokens { input: Some(0), output: Some(0), cached: Some(0), cost_microusd: Some(0), reasoning: None }],
    json!({
        "total_prompt_tokens": 0, "total_completion_tokens": 0, "total_cached_tokens": 0, "total_cost_usd": 0.0,
        "total_steps": 2,
    })
)]
#[case::one_price_unknown(
    &[Tokens { cost_microusd: Some(7), ..Tokens::default() }, Tokens::default()],
    json!({"total_steps": 3, "extra": {"partial": {"total_cost_usd": {"known": 0.000_007, "unknown_requests": 1}}}})
)]
fn totals(#[case] requests: &[Tokens], #[case] expected: Value) {
    let mut log = log();
    log.writer.append(&step("first")).unwrap();
    for tokens in requests {
        let mut step = agent("");
        step.tokens = Some(*tokens);
        log.writer.append(&step).unwrap();
    }
    let document = atif_document(&Reader::open(&log.path).unwrap()).unwrap();
    assert_eq!(document["final_metrics"], expected);
    assert_eq!(crate::check::strict(document.to_string().as_bytes()), []);
}

#[test]
fn an_invented_call_name_never_meets_a_real_one() {
    let mut log = log();
    for id in ["a", "a#3", "a", "a#3"] {
        let mut step = agent("");
        step.call = Some(call(id));
        log.writer.append(&step).unwrap();
    }
    let document = atif_document(&Reader::open(&log.path).unwrap()).unwrap();
    let names: Vec<_> = (0..4)
        .map(|place| document["steps"][place]["tool_calls"][0]["tool_call_id"].clone())
        .collect();
    assert_eq!(names, ["a", "a#3", "a#3#", "a#3#4"]);
    assert_eq!(crate::check::strict(document.to_string().as_bytes()), []);
}

#[test]
fn a_damaged_log_is_exported_and_says_so() {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    log.writer.append(&step("two")).unwrap();
    let bytes = std::fs::read(&log.path).unwrap();
    rewrite(&log.path, &bytes[..bytes.len() - 3]);
    let document = atif_document(&Reader::open(&log.path).unwrap()).unwrap();
    assert_eq!(document["steps"].as_array().unwrap().len(), 1);
    assert_eq!(
        document["extra"]["trace"]["faults"],
        json!([{"line": 3, "kind": "torn"}])
    );
    assert_eq!(document["extra"].get("ended"), None);
}

#[test]
fn a_log_without_steps_has_no_document() {
    let log = log();
    let reader = Reader::open(&log.path).unwrap();
    assert_eq!(atif_document(&reader).unwrap_err().code(), "trace_empty");
    assert_eq!(
        write_atif_document(&reader, Vec::new()).unwrap_err().code(),
        "trace_empty"
    );
}
