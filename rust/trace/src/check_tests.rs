use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn good() -> Value {
    json!({
        "schema_version": "ATIF-v1.8",
        "session_id": "s-1",
        "agent": {"name": "a", "version": "1", "model_name": "m", "tool_definitions": [{}], "extra": {}},
        "steps": [
            {"step_id": 1, "timestamp": "2026-11-30T12:00:00Z", "source": "user", "message": "hi"},
            {
                "step_id": 2,
                "timestamp": "2026-11-30T13:00:00.5+01:00",
                "source": "agent",
                "message": [{"type": "text", "text": "hi"}],
                "model_name": "m",
                "reasoning_effort": "high",
                "reasoning_content": "r",
                "tool_calls": [{"tool_call_id": "c1", "function_name": "f", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "c1", "content": "out"}]},
                "metrics": {"prompt_tokens": 3, "cached_tokens": 1, "cost_usd": 0.5, "logprobs": [-0.5]},
                "llm_call_count": 1,
                "is_copied_context": false,
                "extra": {},
            },
        ],
        "final_metrics": {"total_prompt_tokens": 3, "total_steps": 2},
    })
}

fn found(document: &str) -> Vec<(String, Rule)> {
    strict(document.as_bytes())
        .into_iter()
        .map(|fault| (fault.pointer, fault.rule))
        .collect()
}

#[test]
fn a_good_document_has_no_fault() {
    assert_eq!(strict(good().to_string().as_bytes()), []);
}

/// Sets `pointer` of a good document, or takes it away for `null`-like absence.
fn set(pointer: &str, value: Value) -> String {
    let mut document = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(object) => {
            object.insert(name.into(), value);
        }
        Value::Array(list) => list.insert(name.parse().unwrap(), value),
        other => panic!("{other}"),
    }
    document.to_string()
}

#[rstest]
#[case::string_step_id("/steps/0/step_id", json!("1"), Rule::WrongType)]
#[case::boolean_step_id("/steps/0/step_id", json!(true), Rule::WrongType)]
#[case::float_step_id("/steps/0/step_id", json!(1.0), Rule::WrongType)]
#[case::wrong_step_id("/steps/1/step_id", json!(3), Rule::StepOrder)]
#[case::zero_step_id("/steps/0/step_id", json!(0), Rule::StepOrder)]
#[case::wrong_total("/final_metrics/total_steps", json!(3), Rule::WrongTotal)]
#[case::negative_tokens("/steps/1/metrics/completion_tokens", json!(-1), Rule::Negative)]
#[case::negative_cost("/steps/1/metrics/cost_usd", json!(-0.1), Rule::Negative)]
#[case::negative_total("/final_metrics/total_cost_usd", json!(-1), Rule::Negative)]
#[case::text_tokens("/steps/1/metrics/prompt_tokens", json!("3"), Rule::WrongType)]
#[case::backwards("/steps/1/timestamp", json!("2026-11-30T11:59:59Z"), Rule::TimeBackwards)]
#[case::backwards_by_zone("/steps/1/timestamp", json!("2026-11-30T12:30:00+01:00"), Rule::TimeBackwards)]
#[case::no_zone("/steps/0/timestamp", json!("2026-11-30T12:00:00"), Rule::BadTimestamp)]
#[case::no_time("/steps/0/timestamp", json!("yesterday"), Rule::BadTimestamp)]
#[case::no_such_day("/steps/0/timestamp", json!("2026-02-30T12:00:00Z"), Rule::BadTimestamp)]
#[case::leap_second("/steps/0/timestamp", json!("2026-11-30T11:59:60Z"), Rule::BadTimestamp)]
#[case::annotated("/steps/0/timestamp", json!("2026-11-30T12:00:00Z[UTC]"), Rule::BadTimestamp)]
#[case::lower_case("/steps/0/timestamp", json!("2026-11-30t12:00:00z"), Rule::BadTimestamp)]
#[case::unknown_field("/steps/0/foo", json!(1), Rule::UnknownField)]
#[case::unknown_root_field("/foo", json!(1), Rule::UnknownField)]
#[case::unknown_metric("/steps/1/metrics/price", json!(1), Rule::UnknownField)]
#[case::unknown_source("/steps/0/source", json!("robot"), Rule::UnknownWord)]
#[case::unknown_version("/schema_version", json!("ATIF-v1.9"), Rule::UnknownWord)]
#[case::null_message("/steps/0/message", Value::Null, Rule::WrongType)]
#[case::metrics_of_a_user("/steps/0/metrics", json!({}), Rule::AgentOnly)]
#[case::model_of_a_user("/steps/0/model_name", json!("m"), Rule::AgentOnly)]
#[case::calls_of_a_user("/steps/0/tool_calls", json!([]), Rule::AgentOnly)]
#[case::unknown_call("/steps/1/observation/results/0/source_call_id", json!("c2"), Rule::UnknownCall)]
#[case::call_twice(
    "/steps/1/tool_calls/1",
    json!({"tool_call_id": "c1", "function_name": "f", "arguments": {}}),
    Rule::DuplicateCall
)]
#[case::arguments_as_text("/steps/1/tool_calls/0/arguments", json!("{}"), Rule::WrongType)]
#[case::cached_over_prompt("/steps/1/metrics/cached_tokens", json!(4), Rule::CachedOverPrompt)]
#[case::text_part_with_source("/steps/1/message/0/source", json!({"media_type": "image/png", "path": "p"}), Rule::BadContent)]
#[case::image_without_source("/steps/1/message/0", json!({"type": "image"}), Rule::BadContent)]
#[case::image_of_sound(
    "/steps/1/message/0",
    json!({"type": "image", "source": {"media_type": "audio/wav", "path": "p"}}),
    Rule::BadContent
)]
#[case::unknown_subagent(
    "/steps/1/observation/results/0/subagent_trajectory_ref",
    json!([{"session_id": "s"}]),
    Rule::UnresolvedSubagent
)]
#[case::nameless_subagent("/subagent_trajectories", json!([good()]), Rule::SubagentName)]
fn each_rule_alone(#[case] pointer: &str, #[case] value: Value, #[case] rule: Rule) {
    let faults = found(&set(pointer, value));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].1, rule, "{faults:?}");
    let place = faults[0].0.as_str();
    assert!(place.starts_with(pointer) || pointer.starts_with(place), "{faults:?}");
}

#[rstest]
#[case::schema_version("/schema_version")]
#[case::agent("/agent")]
#[case::steps("/steps")]
#[case::agent_version("/agent/version")]
#[case::message("/steps/0/message")]
#[case::arguments("/steps/1/tool_calls/0/arguments")]
fn a_missing_field_is_named(#[case] pointer: &str) {
    let mut document = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    document
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(name);
    assert_eq!(found(&document.to_string()), [(pointer.to_owned(), Rule::MissingField)]);
}

#[test]
fn a_call_name_is_used_once_in_the_whole_document() {
    let mut document = good();
    let mut third = document["steps"][1].clone();
    third["step_id"] = json!(3);
    document["steps"].as_array_mut().unwrap().push(third);
    document["final_metrics"]["total_steps"] = json!(3);
    let expected = [("/steps/2/tool_calls/0/tool_call_id".to_owned(), Rule::DuplicateCall)];
    assert_eq!(found(&document.to_string()), expected);
}

#[test]
fn a_pointer_escapes_what_it_must() {
    assert_eq!(
        found(&set("/a~b", json!(1))),
        [("/a~0b".to_owned(), Rule::UnknownField)]
    );
    let text = good().to_string().replacen("\"agent\"", "\"a/b\":0,\"agent\"", 1);
    assert_eq!(found(&text), [("/a~1b".to_owned(), Rule::UnknownField)]);
}

#[test]
fn an_empty_document_and_no_steps() {
    assert_eq!(
        found(&set("/steps", json!([]))),
        [
            ("/steps".to_owned(), Rule::NoSteps),
            ("/final_metrics/total_steps".to_owned(), Rule::WrongTotal),
        ]
    );
    assert_eq!(found("[]"), [(String::new(), Rule::WrongType)]);
}

#[rstest]
#[case::nan("NaN")]
#[case::infinity("Infinity")]
#[case::minus_infinity("-Infinity")]
#[case::beyond_a_double("1e999")]
fn numbers_that_are_none_are_named_and_read_past(#[case] word: &str) {
    let text = set("/steps/1/metrics/cost_usd", json!("@"))
        .replace("\"@\"", word)
        .replace("user", "robot");
    let faults = found(&text);
    assert_eq!(
        faults,
        [
            (String::new(), Rule::NonFinite),
            ("/steps/0/source".to_owned(), Rule::UnknownWord),
        ]
    );
    // Inside a text they are letters.
    assert_eq!(found(&set("/notes", json!(format!("\"{word}\\")))), []);
}

#[rstest]
#[case::nothing("")]
#[case::half("{\"agent\":")]
#[case::two("{}{}")]
#[case::lone_surrogate("{\"notes\":\"\\ud800\"}")]
#[case::word("Nan")]
fn what_is_no_json_is_one_fault(#[case] text: &str) {
    assert_eq!(found(text), [(String::new(), Rule::NotJson)]);
}

#[test]
fn every_fault_is_reported_at_once() {
    let text = r#"{
        "schema_version": "ATIF-v1.9", "agent": {"name": "a", "name": 1}, "foo": 1,
        "steps": [
            {"step_id": "1", "timestamp": "2026-11-30T12:00:00", "source": "user", "message": "m", "metrics": {"cost_usd": -1}},
            {"step_id": 7, "source": "agent", "message": 3, "observation": {"results": [{"source_call_id": "x"}]}}
        ],
        "final_metrics": {"total_steps": 9}
    }"#;
    let mut faults = found(text);
    faults.sort();
    let expected = [
        ("/agent/name", Rule::DuplicateKey),
        ("/agent/name", Rule::WrongType),
        ("/agent/version", Rule::MissingField),
        ("/final_metrics/total_steps", Rule::WrongTotal),
        ("/foo", Rule::UnknownField),
        ("/schema_version", Rule::UnknownWord),
        ("/steps/0/metrics", Rule::AgentOnly),
        ("/steps/0/metrics/cost_usd", Rule::Negative),
        ("/steps/0/step_id", Rule::WrongType),
        ("/steps/0/timestamp", Rule::BadTimestamp),
        ("/steps/1/message", Rule::WrongType),
        ("/steps/1/observation/results/0/source_call_id", Rule::UnknownCall),
        ("/steps/1/step_id", Rule::StepOrder),
    ];
    assert_eq!(faults, expected.map(|(pointer, rule)| (pointer.to_owned(), rule)));
}

proptest::proptest! {
    #[test]
    fn any_bytes_end_in_an_answer(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = strict(&bytes);
    }

    #[test]
    fn any_edit_of_a_good_document_ends_in_an_answer(place in 0..600_usize, byte in 0..128_u8) {
        let mut text = good().to_string().into_bytes();
        let place = place % text.len();
        text[place] = byte;
        let _ = strict(&text);
    }
}
