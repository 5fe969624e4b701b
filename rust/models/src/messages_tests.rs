use super::*;
use coder_agent::action_schema;
use coder_digest::Timestamp;
use reqwest::header::HeaderMap;
use rstest::rstest;

fn read(events: &[Value]) -> Received {
    let headers = HeaderMap::new();
    let failing = Failing {
        status: 200,
        headers: &headers,
        now: Timestamp(0),
    };
    let mut received = Received::default();
    let mut messages = Messages::default();
    for event in events {
        messages.event(&event.to_string(), "m", &failing, &mut received);
    }
    Box::new(messages).finish(&mut received);
    received
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {
        "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 1}}})
}

#[test]
fn the_prompt_stands_in_pieces_with_one_mark_on_the_last() {
    let request = GenerationRequest {
        step: 2,
        system: "Be brief.",
        prompt: "one two three",
        previous_bytes: 8,
        schema: action_schema(),
    };
    let schema = serde_json::from_str::<&RawValue>(request.schema.json).unwrap();
    let text = body(&request, "m", Some("low"), Some(schema), &["one ", "two ", "three"]).unwrap();
    let sent: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        sent,
        json!({
            "model": "m", "max_tokens": 32_000, "stream": true,
            "output_config": {
                "effort": "low",
                "format": {"type": "json_schema", "schema": serde_json::from_str::<Value>(request.schema.json).unwrap()},
            },
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "one "},
                {"type": "text", "text": "two "},
                {"type": "text", "text": "three", "cache_control": {"type": "ephemeral"}},
            ]}],
        })
    );
    // What stands between two pieces is exactly this text, which the evidence is put together with.
    assert!(text.contains(&format!(r#""one {BETWEEN}two {BETWEEN}three""#)));
    let plain = body(&request, "m", None, None, &["x"]).unwrap();
    assert!(!plain.contains("output_config"));
}

#[test]
fn counts_are_cumulative_and_the_cache_is_part_of_the_prompt() {
    let received = read(&[
        start(),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "{}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]);
    let tokens = Tokens {
        input: Some(100),
        cached: Some(70),
        output: Some(9),
        reasoning: None,
    };
    assert_eq!(
        (received.tokens, received.cache_written, received.end),
        (tokens, Some(20), End::Complete)
    );
    assert_eq!(
        (received.text.as_str(), received.response_id.as_deref(), received.error),
        ("{}", Some("msg_1"), None)
    );
    assert_eq!(
        received.items.kept(),
        [
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}]})
        ]
    );
}

#[test]
fn a_stream_that_breaks_has_counted_its_prompt_only() {
    let received = read(&[start()]);
    assert_eq!(
        (received.tokens.input, received.tokens.output, received.end),
        (Some(100), None, End::Open)
    );
}

#[rstest]
#[case::length(
    "max_tokens",
    AttemptErrorKind::Incomplete,
    "the server ended the reply early: max_tokens"
)]
#[case::refusal("refusal", AttemptErrorKind::Declined, "the model declined: I will not")]
fn a_reply_that_is_none(#[case] reason: &str, #[case] kind: AttemptErrorKind, #[case] words: &str) {
    let received = read(&[
        start(),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I will not"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]);
    let error = received.error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (kind, words));
}

#[test]
fn an_overload_inside_the_stream_is_told() {
    let received = read(&[
        start(),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
    ]);
    let words = "the server reports an error inside the response (overloaded_error): busy";
    assert_eq!(received.error.map(|error| error.message).as_deref(), Some(words));
}
