use super::*;
use rstest::rstest;

const NOW: i64 = 1_796_040_000;

fn window(name: &str, used_fraction: f64, resets_at: Option<i64>) -> UsageWindow {
    UsageWindow {
        window: name.to_owned(),
        used_fraction,
        resets_at,
        length_seconds: None,
    }
}

fn entry(attempted_at: i64, reading: Option<(i64, Vec<UsageWindow>, bool)>) -> UsageEntry {
    UsageEntry {
        provider: "codex".to_owned(),
        account: Some("a".to_owned()),
        attempted_at,
        next_probe_at: attempted_at + 60,
        failure: reading.is_none().then_some(UsageFailure::Network),
        reading: reading.map(|(observed_at, windows, limit_reached)| Reading {
            provider: "codex".to_owned(),
            observed_at,
            windows,
            limit_reached,
            plan: None,
        }),
    }
}

fn limiting(windows: Vec<UsageWindow>, limit_reached: bool) -> Option<(i64, String)> {
    let mut book = UsageBook::default();
    book.record(entry(NOW, Some((NOW, windows, limit_reached))));
    let lane = Lane {
        provider: "codex".to_owned(),
        model: "m".to_owned(),
        account: Some("a".to_owned()),
    };
    let reset = book.limiting_reset(&lane, NOW)?;
    match reset.from {
        ResetSource::UsageReading { window } => Some((reset.at, window)),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::the_last_of_the_full(
    vec![window("five_hour", 1.0, Some(NOW + 60)), window("seven_day", 0.95, Some(NOW + 90))], false,
    Some((NOW + 90, "seven_day")))]
#[case::one_with_room_does_not_count(
    vec![window("five_hour", 1.0, Some(NOW + 60)), window("seven_day", 0.94, Some(NOW + 90))], false,
    Some((NOW + 60, "five_hour")))]
#[case::the_fullest_where_only_the_provider_says_so(
    vec![window("five_hour", 0.3, Some(NOW + 60)), window("seven_day", 0.5, Some(NOW + 90))], true,
    Some((NOW + 90, "seven_day")))]
#[case::a_past_reset_is_none(vec![window("five_hour", 1.0, Some(NOW))], true, None)]
#[case::no_reset(vec![window("five_hour", 1.0, None)], true, None)]
#[case::room(vec![window("five_hour", 0.3, Some(NOW + 60))], false, None)]
fn the_window_that_limits(
    #[case] windows: Vec<UsageWindow>,
    #[case] limit_reached: bool,
    #[case] expected: Option<(i64, &str)>,
) {
    assert_eq!(
        limiting(windows, limit_reached),
        expected.map(|(at, name)| (at, name.to_owned()))
    );
}

#[test]
fn a_look_that_gave_nothing_keeps_the_last_reading_and_an_older_one_replaces_nothing() {
    let mut book = UsageBook::default();
    let windows = |used| vec![window("primary", used, None)];
    book.record(entry(NOW, Some((NOW, windows(0.5), false))));
    book.record(entry(NOW + 60, None));
    let failed = UsageEntry {
        reading: entry(NOW, Some((NOW, windows(0.5), false))).reading,
        ..entry(NOW + 60, None)
    };
    assert_eq!(book.entries(), std::slice::from_ref(&failed));
    book.record(entry(NOW - 60, Some((NOW - 60, windows(0.1), false))));
    assert_eq!(book.entries(), [failed]);
}
