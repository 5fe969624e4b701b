use super::*;
use coder_digest::Timestamp;
use proptest::prelude::*;
use reqwest::header::HeaderMap;

fn read(events: &[String]) -> Received {
    let headers = HeaderMap::new();
    let failing = Failing {
        status: 200,
        headers: &headers,
        now: Timestamp(0),
    };
    let mut received = Received::default();
    let mut chat = Chat::default();
    for event in events {
        chat.event(event, "m", &failing, &mut received);
    }
    Box::new(chat).finish(&mut received);
    received
}

#[test]
fn only_the_first_choice_is_the_reply() {
    let received = read(&[
        json!({"model": "m", "choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]})
            .to_string(),
        json!({"model": "m", "choices": [{"index": 0, "delta": {"content": "mine"}}]}).to_string(),
        "[DONE]".to_owned(),
    ]);
    assert_eq!(
        (received.text.as_str(), received.end, received.error),
        ("mine", End::Complete, None)
    );
}

proptest! {
    #[test]
    fn the_text_is_the_sum_of_its_deltas(deltas in proptest::collection::vec(".{0,12}", 0..12)) {
        let mut events: Vec<String> = deltas
            .iter()
            .map(|delta| json!({"model": "m", "choices": [{"delta": {"content": delta}}]}).to_string())
            .collect();
        events.push("[DONE]".to_owned());
        let received = read(&events);
        prop_assert_eq!(received.text.as_str(), deltas.concat());
        prop_assert_eq!(received.error, None);
    }

    #[test]
    fn any_event_is_read_or_refused(
        key in prop_oneof![Just("model"), Just("choices"), Just("usage"), Just("error"), Just("id"), Just("x")],
        value in prop_oneof![
            Just(json!(null)), Just(json!(-1)), Just(json!("x")), Just(json!([[]])), Just(json!([{"delta": 5}])),
            Just(json!({"prompt_tokens": -3, "completion_tokens": 1e300})), Just(json!([{"delta": {"content": ["x"]}}])),
            Just(json!([{"index": "0", "finish_reason": 7}])),
        ],
        garbage in ".{0,30}",
    ) {
        read(&[json!({ key: value }).to_string(), garbage]);
    }
}
