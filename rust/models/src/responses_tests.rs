use super::*;
use coder_digest::Timestamp;
use proptest::prelude::*;
use reqwest::header::HeaderMap;
use rstest::rstest;
use serde_json::json;

fn read(events: &[Value]) -> Received {
    let headers = HeaderMap::new();
    let failing = Failing {
        status: 200,
        headers: &headers,
        now: Timestamp(0),
    };
    let mut received = Received::default();
    let mut responses = Responses::default();
    for event in events {
        responses.event(&event.to_string(), "m", &failing, &mut received);
    }
    Box::new(responses).finish(&mut received);
    received
}

fn closing(kind: &str, response: Value) -> Value {
    json!({"type": kind, "response": response})
}

#[test]
fn finished_items_stand_above_their_deltas() {
    let received = read(&[
        json!({"type": "response.output_text.delta", "delta": "dra"}),
        json!({"type": "response.output_item.done", "item":
            {"type": "message", "content": [{"type": "output_text", "text": "one "}, {"type": "output_text", "text": "two"}]}}),
        json!({"type": "response.brand_new_event"}),
        closing("response.completed", json!({"model": "m", "status": "completed"})),
    ]);
    assert_eq!(
        (received.text.as_str(), received.end, received.error),
        ("one two", End::Complete, None)
    );
}

#[rstest]
#[case::incomplete(
    closing("response.incomplete", json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}})),
    AttemptErrorKind::Incomplete, "the server ended the reply early: max_output_tokens"
)]
#[case::limit(
    closing("response.failed", json!({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}})),
    AttemptErrorKind::Capacity, "the server reports an error inside the response (rate_limit_exceeded): slow"
)]
#[case::error_event(
    json!({"type": "error", "code": "server_error", "message": "oops"}),
    AttemptErrorKind::Status, "the server reports an error inside the response (server_error): oops"
)]
#[case::odd_status(
    closing("response.completed", json!({"status": "queued"})),
    AttemptErrorKind::Malformed, "the response has the status \"queued\""
)]
#[case::nothing(closing("response.completed", json!({})), AttemptErrorKind::Malformed, "the response has no output")]
#[case::declined(
    closing("response.completed", json!({"status": "completed", "output":
        [{"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}]})),
    AttemptErrorKind::Declined, "the model declined: I won't."
)]
fn what_is_no_reply_is_named(#[case] event: Value, #[case] kind: AttemptErrorKind, #[case] message: &str) {
    let error = read(&[event]).error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (kind, message));
}

proptest! {
    #[test]
    fn any_event_is_read_or_refused(
        kind in prop_oneof![
            Just("response.created"), Just("response.output_text.delta"), Just("response.output_item.done"),
            Just("response.completed"), Just("response.failed"), Just("error"), Just("")
        ],
        key in prop_oneof![Just("response"), Just("item"), Just("delta"), Just("error")],
        value in prop_oneof![
            Just(json!(null)), Just(json!(7)), Just(json!("x")), Just(json!({"status": 5, "output": {}})),
            Just(json!({"type": "message", "content": [1, {"type": "output_text"}]})), Just(json!({"usage": []})),
        ],
    ) {
        read(&[json!({"type": kind, key: value})]);
    }
}
