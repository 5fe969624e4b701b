use super::*;
use coder_agent::{CapacityRefusal, ResetOrigin};
use rstest::rstest;

const NOW: i64 = 1_796_040_000;

fn said(values: &[Value]) -> Read {
    let mut lines = Lines::new(1_000_000);
    for value in values {
        lines.push(format!("{value}\n").as_bytes());
    }
    lines.finish(Timestamp(NOW * 1000))
}

fn result() -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "{\"a\":1}", "session_id": "s-1",
        "structured_output": {"a": 1}, "total_cost_usd": 0.0123456,
        "usage": {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 77, "output_tokens": 9},
        "modelUsage": {"claude-opus-5-5": {"inputTokens": 3}},
    })
}

fn failed(status: Option<u64>, words: &str) -> Value {
    // Report: the subtype says success on a failed call.
    json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": status, "result": words,
        "total_cost_usd": 0, "usage": {"input_tokens": 0, "output_tokens": 0}, "modelUsage": {}})
}

fn limit(status: &str, window: Option<&str>, resets_at: Option<i64>) -> Value {
    json!({"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": resets_at, "rateLimitType": window}})
}

#[test]
fn a_result_is_read_whole_wherever_its_bytes_are_cut() {
    let message = json!({"model": "claude-opus-5-5", "content": [{"type": "text", "text": "é"}]});
    let text = [
        json!({"type": "system", "subtype": "init"}).to_string(),
        "(node:1) a warning of the runtime".to_owned(),
        json!({"type": "stream_event", "event": {}}).to_string(),
        json!({"type": "assistant", "message": message}).to_string(),
        result().to_string(),
        "not read any more".to_owned(),
    ]
    .join("\n");
    for size in [1, 3, 10_000] {
        let mut lines = Lines::new(1_000_000);
        let ended = text.as_bytes().chunks(size).map(|bytes| lines.push(bytes)).last();
        assert_eq!(ended, Some(Progress::Over));
        let read = lines.finish(Timestamp(NOW * 1000));
        assert_eq!((read.text.as_str(), read.error, read.status), ("{\"a\":1}", None, None));
        assert_eq!(
            (read.served_model.as_deref(), read.session.as_deref()),
            (Some("claude-opus-5-5"), Some("s-1"))
        );
        let tokens = Tokens {
            input: Some(100),
            cached: Some(77),
            output: Some(9),
            reasoning: None,
        };
        assert_eq!(
            (read.tokens, read.cost, read.items),
            (tokens, Cost::Known(12_346), vec![message.clone()])
        );
    }
}

#[rstest]
#[case::rejected(limit("rejected", Some("five_hour"), Some(NOW + 60)), Some(429), CapacityKind::UsageLimit, Some((NOW + 60, "field")))]
#[case::rejected_without_status(limit("rejected", Some("seven_day_opus"), Some(NOW + 60)), None, CapacityKind::UsageLimit, Some((NOW + 60, "field")))]
#[case::rejected_without_reset(limit("rejected", Some("overage"), None), Some(429), CapacityKind::UsageLimit, None)]
#[case::another_word(limit("rejected", Some("minute"), Some(NOW + 60)), Some(429), CapacityKind::RateLimit, Some((NOW + 60, "field")))]
// A window that still allowed the request says nothing of this refusal.
#[case::allowed(limit("allowed_warning", Some("five_hour"), Some(NOW + 60)), Some(429), CapacityKind::RateLimit, None)]
#[case::no_event(json!({"type": "system"}), Some(429), CapacityKind::RateLimit, None)]
fn trap_18_a_limit_is_told_with_its_reset_and_no_other(
    #[case] event: Value,
    #[case] status: Option<u64>,
    #[case] kind: CapacityKind,
    #[case] reset: Option<(i64, &str)>,
) {
    let read = said(&[event, failed(status, "limit reached")]);
    let message = match status {
        Some(_) => "the program reports HTTP status 429: limit reached",
        None => "the program reports an error: limit reached",
    };
    let expected = CapacityRefusal {
        resets_at: reset.map(|(at, _)| at),
        origin: reset.map(|_| ResetOrigin::Field {
            name: "resetsAt".to_owned(),
        }),
        ..CapacityRefusal::without_reset(kind, message)
    };
    assert_eq!(read.error.and_then(|error| error.capacity), Some(expected));
    assert_eq!((read.cost, read.tokens), (Cost::FREE, Tokens::UNKNOWN));
}

#[test]
fn a_reset_in_words_counts_where_no_event_came() {
    let refusal = said(&[failed(Some(429), "You've hit your limit · resets 4am (Europe/Paris)")])
        .error
        .unwrap();
    let refusal = refusal.capacity.unwrap();
    let zone = "Europe/Paris".to_owned();
    assert_eq!(
        (refusal.resets_at, refusal.origin),
        (Some(1_796_094_000), Some(ResetOrigin::Message { zone }))
    );
}

#[rstest]
#[case::server_error(
    failed(Some(500), "API Error"),
    AttemptErrorKind::Status,
    "the program reports HTTP status 500: API Error"
)]
#[case::no_word_on_failure(json!({"type": "result"}), AttemptErrorKind::Status, "the program reports an error")]
#[case::torn(json!({"type": "resu"}), AttemptErrorKind::Malformed, "a line of the program is no JSON in UTF-8")]
fn other_failures(#[case] line: Value, #[case] kind: AttemptErrorKind, #[case] words: &str) {
    let read = match kind {
        AttemptErrorKind::Malformed => {
            let mut lines = Lines::new(1_000);
            assert_eq!(lines.push(b"{\"type\": \"\xc3\n"), Progress::Over);
            lines.finish(Timestamp(0))
        }
        _ => said(&[line]),
    };
    assert_eq!(
        read.error.map(|error| (error.kind, error.message)),
        Some((kind, words.to_owned()))
    );
}

#[test]
fn output_is_bounded_also_without_a_line_end() {
    let mut lines = Lines::new(10_000);
    while lines.push(&[b'x'; 1_000]) == Progress::More {}
    let error = lines.finish(Timestamp(0)).error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (AttemptErrorKind::TooLarge, "the program printed more than 10000 bytes")
    );
}

#[test]
fn no_result_costs_an_unknown_amount() {
    let read = said(&[json!({"type": "system"})]);
    assert_eq!(
        (read.cost, read.tokens, read.error),
        (Cost::Unknown, Tokens::UNKNOWN, None)
    );
}

#[test]
fn the_message_says_who_answered_where_several_models_were_used() {
    let mut several = result();
    several["modelUsage"] = json!({"claude-haiku-4-5": {}, "claude-opus-5-5": {}});
    assert_eq!(said(std::slice::from_ref(&several)).served_model, None);
    let synthetic = json!({"type": "assistant", "message": {"model": "<synthetic>"}});
    let real = json!({"type": "assistant", "message": {"model": "claude-opus-5-5"}});
    assert_eq!(
        said(&[real, synthetic, several]).served_model.as_deref(),
        Some("claude-opus-5-5")
    );
}

#[test]
fn the_prompt_is_given_in_growing_pieces_and_recorded_with_the_arguments() {
    let line = input("one two", &[4], Marks::Set).unwrap();
    let expected = json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "text", "text": "one "}, {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]}});
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
    assert!(line.contains(&format!("one {}two", crate::messages::BETWEEN)));
    assert!(!input("one", &[], Marks::Off).unwrap().contains("cache_control"));
    let body = body(Path::new("/bin/claude"), &["-p".to_owned()], &line).unwrap();
    let expected = json!({"program": "/bin/claude", "arguments": ["-p"], "input": expected});
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    assert!(body.contains(&line), "the line stands in the body as it was given");
}
