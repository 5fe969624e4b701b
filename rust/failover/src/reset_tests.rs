use super::*;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use std::collections::HashMap;

/// 2026-11-30T12:00:00Z.
const NOW: i64 = 1_796_040_000;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn field(name: &str, at: i64) -> Option<Reset> {
    Some(Reset {
        at,
        from: ResetSource::Field { name: name.to_owned() },
    })
}

fn header(name: &str, at: i64) -> Option<Reset> {
    Some(Reset {
        at,
        from: ResetSource::Header { name: name.to_owned() },
    })
}

#[rstest]
#[case::epoch_seconds(json!({"resets_at": NOW + 3600}), field("resets_at", NOW + 3600))]
#[case::epoch_milliseconds(json!({"resets_at": (NOW + 3600) * 1000}), field("resets_at", NOW + 3600))]
#[case::epoch_milliseconds_round_up(json!({"resets_at": (NOW + 3600) * 1000 + 1}), field("resets_at", NOW + 3601))]
#[case::fractional_seconds_round_up(json!({"resets_at": 1_796_040_000.2}), field("resets_at", NOW + 1))]
#[case::digits_in_text(json!({"resetsAt": (NOW + 60).to_string()}), field("resetsAt", NOW + 60))]
#[case::rfc_3339(json!({"resets_at": "2026-11-30T13:00:00Z"}), field("resets_at", NOW + 3600))]
#[case::rfc_3339_with_offset(json!({"resets_at": "2026-11-30T14:30:00+01:30"}), field("resets_at", NOW + 3600))]
#[case::rfc_3339_without_zone(json!({"resets_at": "2026-11-30T13:00:00"}), None)]
#[case::http_date(json!({"reset_at": "Mon, 30 Nov 2026 12:00:10 GMT"}), field("reset_at", NOW + 10))]
#[case::a_wait(json!({"resets_in_seconds": 90}), field("resets_in_seconds", NOW + 90))]
#[case::a_fractional_wait(json!({"retry_after": 0.25}), field("retry_after", NOW + 1))]
#[case::a_point_before_a_wait(json!({"resets_in_seconds": 5, "resets_at": NOW + 70}), field("resets_at", NOW + 70))]
#[case::a_past_point_then_the_wait(json!({"resets_in_seconds": 5, "resets_at": NOW - 70}), field("resets_in_seconds", NOW + 5))]
#[case::past(json!({"resets_at": NOW - 1}), None)]
#[case::now_is_no_wait(json!({"resets_in_seconds": 0}), None)]
#[case::negative(json!({"resets_in_seconds": -5}), None)]
#[case::absurdly_far(json!({"resets_at": NOW + 400 * 86_400}), None)]
#[case::no_number(json!({"resets_at": {"seconds": 5}, "resets_in_seconds": "soon"}), None)]
#[case::no_time_at_all(json!({"type": "usage_limit_reached"}), None)]
#[case::no_object(json!("usage limit"), None)]
fn of_fields(#[case] error: Value, #[case] expected: Option<Reset>) {
    assert_eq!(Reset::from_fields(&error, Timestamp(NOW * 1000)), expected);
}

#[rstest]
#[case::seconds(&[("retry-after", "30")], header("retry-after", NOW + 30))]
#[case::date(&[("retry-after", "Mon, 30 Nov 2026 12:00:10 GMT")], header("retry-after", NOW + 10))]
#[case::milliseconds_first(&[("retry-after", "30"), ("retry-after-ms", "1500")], header("retry-after-ms", NOW + 2))]
#[case::past_date(&[("retry-after", "Mon, 30 Nov 2026 11:00:10 GMT")], None)]
#[case::words(&[("retry-after", "later")], None)]
#[case::the_window_that_lasts(
    &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1s"),
      ("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")],
    header("x-ratelimit-reset-tokens", NOW + 360))]
#[case::a_window_with_room_says_nothing(
    &[("x-ratelimit-remaining-requests", "3"), ("x-ratelimit-reset-requests", "1s")], None)]
#[case::windows_with_their_times(
    &[("anthropic-ratelimit-tokens-remaining", "0"), ("anthropic-ratelimit-tokens-reset", "2026-11-30T12:01:00Z")],
    header("anthropic-ratelimit-tokens-reset", NOW + 60))]
#[case::none(&[], None)]
fn of_headers(#[case] sent: &[(&str, &str)], #[case] expected: Option<Reset>) {
    let headers: HashMap<&str, &str> = sent.iter().copied().collect();
    let header = |name: &str| headers.get(name).copied();
    assert_eq!(Reset::from_headers(&header, Timestamp(NOW * 1000)), expected);
}

#[rstest]
#[case::before_four("2026-11-30T02:30:00Z", "resets 4am (Europe/Paris)", Some("2026-11-30T03:00:00Z"))]
#[case::after_four("2026-11-30T03:30:00Z", "resets 4am (Europe/Paris)", Some("2026-12-01T03:00:00Z"))]
#[case::at_four("2026-11-30T03:00:00Z", "resets 4am (Europe/Paris)", Some("2026-12-01T03:00:00Z"))]
#[case::in_summer("2026-07-01T00:00:00Z", "resets 4am (Europe/Paris)", Some("2026-07-01T02:00:00Z"))]
// The clocks go back at three: four o'clock is an hour further away than it looks.
#[case::autumn_night("2026-10-25T00:30:00Z", "resets 4am (Europe/Paris)", Some("2026-10-25T03:00:00Z"))]
#[case::autumn_night_second_two("2026-10-25T01:30:00Z", "resets 4am (Europe/Paris)", Some("2026-10-25T03:00:00Z"))]
// Half past two comes twice; the later one is meant, since the earlier might be too early.
#[case::autumn_night_twice("2026-10-25T00:10:00Z", "resets 2:30am (Europe/Paris)", Some("2026-10-25T01:30:00Z"))]
// The clocks go forward at two: four o'clock is an hour nearer, and half past two does not come.
#[case::spring_night("2027-03-28T00:30:00Z", "resets 4am (Europe/Paris)", Some("2027-03-28T02:00:00Z"))]
#[case::spring_night_never("2027-03-28T00:30:00Z", "resets 2:30am (Europe/Paris)", Some("2027-03-28T01:30:00Z"))]
#[case::afternoon(
    "2026-11-30T12:00:00Z",
    "You've hit your limit · resets at 4:45pm (Europe/Paris)",
    Some("2026-11-30T15:45:00Z")
)]
#[case::noon("2026-11-30T10:00:00Z", "resets 12pm (UTC)", Some("2026-11-30T12:00:00Z"))]
#[case::midnight("2026-11-30T10:00:00Z", "resets 12am (UTC)", Some("2026-12-01T00:00:00Z"))]
#[case::twenty_four_hours(
    "2026-11-30T12:00:00Z",
    "Limit reached, resets 16:00 (Asia/Tokyo)",
    Some("2026-12-01T07:00:00Z")
)]
#[case::a_day(
    "2026-11-30T12:00:00Z",
    "resets Dec 6, 1pm (America/New_York)",
    Some("2026-12-06T18:00:00Z")
)]
#[case::a_day_of_next_year(
    "2026-12-30T12:00:00Z",
    "resets Jan 2 at 1pm (America/New_York)",
    Some("2027-01-02T18:00:00Z")
)]
#[case::no_zone("2026-11-30T12:00:00Z", "try again at 9:42 AM.", None)]
#[case::unknown_zone("2026-11-30T12:00:00Z", "resets 4am (Mars/Olympus)", None)]
#[case::no_time("2026-11-30T12:00:00Z", "resets soon (Europe/Paris)", None)]
#[case::bare_number("2026-11-30T12:00:00Z", "resets 4 (Europe/Paris)", None)]
#[case::no_such_hour("2026-11-30T12:00:00Z", "resets 13pm (Europe/Paris)", None)]
#[case::no_such_day("2026-11-30T12:00:00Z", "resets Feb 30, 1pm (UTC)", None)]
#[case::nothing("2026-11-30T12:00:00Z", "You have hit your limit", None)]
fn of_words(#[case] now: &str, #[case] message: &str, #[case] expected: Option<&str>) {
    let zone = message.split(['(', ')']).nth(1).unwrap_or_default();
    let expected = expected.map(|time| Reset {
        at: at(time).0 / 1000,
        from: ResetSource::Message { zone: zone.to_owned() },
    });
    assert_eq!(Reset::from_message(message, at(now)), expected);
}

#[test]
fn a_field_counts_before_a_header_and_a_header_before_words() {
    let now = Timestamp(NOW * 1000);
    let (error, words) = (json!({"resets_at": NOW + 10}), "resets 4am (Europe/Paris)");
    let with_header = |name: &str| (name == "retry-after").then_some("20");
    let without = |_: &str| None;
    assert_eq!(
        Reset::read(&error, &with_header, words, now),
        field("resets_at", NOW + 10)
    );
    assert_eq!(
        Reset::read(&json!({}), &with_header, words, now),
        header("retry-after", NOW + 20)
    );
    let said = Reset::read(&json!({}), &without, words, now).unwrap();
    assert_eq!(
        said.from,
        ResetSource::Message {
            zone: "Europe/Paris".to_owned()
        }
    );
    assert_eq!(Reset::read(&json!({}), &without, "try later", now), None);
}

proptest! {
    #[test]
    fn whatever_is_said_a_reset_is_ahead_and_within_a_year(words in ".{0,60}", number in any::<f64>(), now in 0..4_000_000_000_i64) {
        let header = |_: &str| Some(words.as_str());
        let error = json!({"resets_at": number, "resets_in_seconds": number});
        if let Some(reset) = Reset::read(&error, &header, &words, Timestamp(now * 1000)) {
            prop_assert!(reset.at > now && reset.at <= now + 366 * 86_400);
        }
    }

    #[test]
    fn words_about_resets_never_break_the_reader(hour in any::<u8>(), middle in "[ -~·é]{0,20}", zone in "[A-Za-z/_]{0,16}") {
        let _ = Reset::from_message(&format!("resets {middle}{hour}am ({zone})"), Timestamp(NOW * 1000));
    }
}
