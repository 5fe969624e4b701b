use super::*;
use AttemptErrorKind::{Capacity, FormatRefused, Status};
use CapacityKind::{RateLimit, UsageLimit};
use reqwest::header::{HeaderName, HeaderValue};
use rstest::rstest;
use std::str::FromStr as _;

/// 2026-11-30T12:00:00Z and a bit.
const NOW: i64 = 1_796_040_000;

fn read(status: u16, headers: &[(&str, &str)], body: &str) -> AttemptError {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_str(name).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect();
    let failing = Failing {
        status,
        headers: &headers,
        now: Timestamp(NOW * 1_000 + 1),
    };
    status_error(body.as_bytes(), &failing)
}

#[rstest]
#[case::at(&[], r#"{"error":{"type":"usage_limit_reached","resets_at":1796043600}}"#, UsageLimit, Some(NOW + 3_600))]
#[case::at_in_milliseconds(&[], r#"{"error":{"resets_at":1796043600000}}"#, RateLimit, Some(NOW + 3_600))]
#[case::at_as_text(&[], r#"{"error":{"resets_at":"2026-11-30T13:00:00Z"}}"#, RateLimit, Some(NOW + 3_600))]
#[case::after(&[], r#"{"error":{"resets_in_seconds":60}}"#, RateLimit, Some(NOW + 61))]
#[case::beside_the_error(&[], r#"{"error":{"message":"slow"},"retry_after":60}"#, RateLimit, Some(NOW + 61))]
#[case::field_before_header(&[("retry-after", "5")], r#"{"error":{"resets_in_seconds":60}}"#, RateLimit, Some(NOW + 61))]
#[case::header(&[("retry-after", "5")], "slow down", RateLimit, Some(NOW + 6))]
#[case::header_in_milliseconds(&[("retry-after-ms", "1500"), ("retry-after", "9")], "", RateLimit, Some(NOW + 2))]
#[case::header_as_date(&[("retry-after", "Mon, 30 Nov 2026 13:00:00 GMT")], "", RateLimit, Some(NOW + 3_600))]
#[case::window(
    &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m0s"),
      ("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6h")],
    "", RateLimit, Some(NOW + 61)
)]
#[case::quota(&[], r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, UsageLimit, None)]
#[case::past(&[], r#"{"error":{"resets_at":5}}"#, RateLimit, None)]
#[case::absurd(&[("retry-after", "1e300")], "", RateLimit, None)]
#[case::negative(&[("retry-after", "-5")], "", RateLimit, None)]
#[case::nothing_said(&[], "", RateLimit, None)]
fn a_429_is_a_capacity_refusal_with_the_reset_that_is_stated(
    #[case] headers: &[(&str, &str)],
    #[case] body: &str,
    #[case] kind: CapacityKind,
    #[case] resets_at: Option<i64>,
) {
    let error = read(429, headers, body);
    let refusal = error.capacity.unwrap();
    assert_eq!(
        (error.kind, refusal.kind, refusal.resets_at),
        (Capacity, kind, resets_at)
    );
    assert_eq!(refusal.message, error.message);
}

#[test]
fn a_usage_limit_says_its_plan_and_window_and_where_its_reset_was_read() {
    let body = r#"{"error":{"type":"usage_limit_reached","message":"no more","plan_type":"pro","resets_at":1796043600,"limit_window_minutes":300}}"#;
    assert_eq!(
        read(429, &[], body).capacity,
        Some(CapacityRefusal {
            kind: UsageLimit,
            resets_at: Some(NOW + 3_600),
            origin: Some(ResetOrigin::Field {
                name: "resets_at".to_owned()
            }),
            plan: Some("pro".to_owned()),
            window_minutes: Some(300),
            message: "the server answered with HTTP status 429 (usage_limit_reached): no more".to_owned(),
        })
    );
}

#[test]
fn a_reset_in_words_names_its_zone() {
    let refusal = read(
        429,
        &[],
        r#"{"error":{"message":"Limit reached, resets 4am (Europe/Paris)"}}"#,
    );
    let refusal = refusal.capacity.unwrap();
    let zone = "Europe/Paris".to_owned();
    assert_eq!(
        (refusal.resets_at, refusal.origin),
        (Some(1_796_094_000), Some(ResetOrigin::Message { zone }))
    );
}

/// Trap g: the body is understood whole, and only its words are cut.
#[test]
fn a_long_body_keeps_its_reset() {
    let body = format!(
        r#"{{"error":{{"message":"{}","type":"usage_limit_reached","resets_in_seconds":60}}}}"#,
        "word ".repeat(1_000)
    );
    let refusal = read(429, &[], &body).capacity.unwrap();
    assert_eq!((refusal.kind, refusal.resets_at), (UsageLimit, Some(NOW + 61)));
    assert!(refusal.message.chars().count() < 500 && refusal.message.ends_with('…'));
}

#[rstest]
#[case::plain(
    500,
    "boom\n\u{1b}[31m",
    Status,
    "the server answered with HTTP status 500: boom\\n\\u{1b}[31m"
)]
#[case::object(
    401,
    r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
    Status,
    "the server answered with HTTP status 401 (invalid_request_error): bad key"
)]
#[case::text(
    404,
    r#"{"error":"model \"x\" not found"}"#,
    Status,
    "the server answered with HTTP status 404: model \"x\" not found"
)]
#[case::detail(422, r#"{"detail":"no"}"#, Status, "the server answered with HTTP status 422: no")]
#[case::empty(503, "", Status, "the server answered with HTTP status 503")]
#[case::format_by_parameter(
    400,
    r#"{"error":{"message":"Unknown","param":"response_format"}}"#,
    FormatRefused,
    "the server answered with HTTP status 400: Unknown"
)]
#[case::format_by_words(
    400,
    r#"{"error":"JSON_SCHEMA is not supported"}"#,
    FormatRefused,
    "the server answered with HTTP status 400: JSON_SCHEMA is not supported"
)]
#[case::no_format_in_a_401(
    401,
    r#"{"error":"response_format"}"#,
    Status,
    "the server answered with HTTP status 401: response_format"
)]
fn other_statuses(#[case] status: u16, #[case] body: &str, #[case] kind: AttemptErrorKind, #[case] message: &str) {
    let error = read(status, &[], body);
    assert_eq!(
        (error.kind, error.message.as_str(), error.capacity),
        (kind, message, None)
    );
}

#[test]
fn a_limit_may_come_inside_a_stream() {
    let failing = Failing {
        status: 200,
        headers: &HeaderMap::new(),
        now: Timestamp(NOW * 1_000),
    };
    let error = stream_error(
        &serde_json::json!({"code": "rate_limit_exceeded", "message": "slow"}),
        &failing,
    );
    assert_eq!(error.kind, Capacity);
    assert_eq!(
        error.message,
        "the server reports an error inside the response (rate_limit_exceeded): slow"
    );
}

proptest::proptest! {
    #[test]
    fn any_body_and_header_is_understood_somehow(
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        wait in "[ -~]{0,12}",
        status in 300_u16..600,
    ) {
        let headers = HeaderMap::from_iter([(HeaderName::from_static("retry-after"), HeaderValue::from_str(&wait).unwrap())]);
        let failing = Failing { status, headers: &headers, now: Timestamp(NOW * 1_000) };
        let error = status_error(&body, &failing);
        assert_eq!(error.capacity.is_some(), error.kind == Capacity);
        assert!(error.message.chars().count() < 500);
    }
}
