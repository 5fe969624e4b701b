use super::*;
use crate::usage::{Reading, UsageEntry, UsageWindow};
use rstest::rstest;

const NOW: i64 = 1_796_040_000;
const DAY: i64 = 86_400;

fn lane() -> Lane {
    Lane {
        provider: "codex".to_owned(),
        model: "gpt-6-luna".to_owned(),
        account: Some("a1".to_owned()),
    }
}

fn refusal(at: Option<i64>) -> Refusal {
    Refusal {
        kind: LimitKind::UsageLimit,
        reset: at.map(|at| Reset {
            at,
            from: ResetSource::Field {
                name: "resets_at".to_owned(),
            },
        }),
        plan: Some("pro".to_owned()),
        window_minutes: Some(300),
    }
}

fn usage(observed_at: i64, used_fraction: f64, resets_at: i64) -> UsageBook {
    let mut book = UsageBook::default();
    book.record(UsageEntry {
        provider: "codex".to_owned(),
        account: Some("a1".to_owned()),
        attempted_at: observed_at,
        next_probe_at: observed_at,
        reading: Some(Reading {
            provider: "codex".to_owned(),
            observed_at,
            windows: vec![UsageWindow {
                window: "primary".to_owned(),
                used_fraction,
                resets_at: Some(resets_at),
                length_seconds: Some(18_000),
            }],
            limit_reached: false,
            plan: None,
        }),
        failure: None,
    });
    book
}

fn hold(resets_at: Option<i64>, until: i64, evidence: ResetSource) -> Hold {
    Hold {
        provider: "codex".to_owned(),
        kind: LimitKind::UsageLimit,
        observed_at: NOW,
        resets_at,
        until,
        plan: Some("pro".to_owned()),
        window_minutes: Some(300),
        account: Some("a1".to_owned()),
        evidence: Some(evidence),
    }
}

fn field() -> ResetSource {
    ResetSource::Field {
        name: "resets_at".to_owned(),
    }
}

fn reading() -> ResetSource {
    ResetSource::UsageReading {
        window: "primary".to_owned(),
    }
}

#[rstest]
#[case::stated(Some(NOW + 60), UsageBook::default(), hold(Some(NOW + 60), NOW + 60, field()))]
#[case::stated_before_a_reading(Some(NOW + 60), usage(NOW, 1.0, NOW + 900), hold(Some(NOW + 60), NOW + 60, field()))]
#[case::capped_but_kept_as_said(
    Some(NOW + 90 * DAY), UsageBook::default(), hold(Some(NOW + 90 * DAY), NOW + 31 * DAY, field()))]
#[case::from_a_fresh_reading(None, usage(NOW - 900, 0.97, NOW + 900), hold(Some(NOW + 900), NOW + 900, reading()))]
#[case::a_past_time_is_none(Some(NOW), usage(NOW, 0.97, NOW + 900), hold(Some(NOW + 900), NOW + 900, reading()))]
#[case::a_stale_reading(None, usage(NOW - 901, 0.97, NOW + 900), hold(None, NOW + 1_800, ResetSource::Assumed))]
#[case::a_reading_from_ahead(None, usage(NOW + 1, 0.97, NOW + 900), hold(None, NOW + 1_800, ResetSource::Assumed))]
#[case::a_window_with_room(None, usage(NOW, 0.5, NOW + 900), hold(None, NOW + 1_800, ResetSource::Assumed))]
#[case::nobody_said(None, UsageBook::default(), hold(None, NOW + 1_800, ResetSource::Assumed))]
fn a_refusal_holds_until_what_is_best_known(
    #[case] stated: Option<i64>,
    #[case] usage: UsageBook,
    #[case] expected: Hold,
) {
    assert_eq!(Hold::of(&lane(), &refusal(stated), &usage, NOW), expected);
}

#[rstest]
#[case::the_login(Some("a1"), Some("a1"), true)]
// Trap 18: a refusal must not survive a change of the login.
#[case::another_login(Some("a1"), Some("b2"), false)]
#[case::a_login_nobody_can_name(Some("a1"), None, true)]
#[case::a_refusal_of_nobody_in_particular(None, Some("b2"), true)]
fn trap_18_a_hold_is_of_one_login(#[case] held: Option<&str>, #[case] used: Option<&str>, #[case] concerns: bool) {
    let hold = Hold {
        account: held.map(str::to_owned),
        ..hold(None, NOW + 1, ResetSource::Assumed)
    };
    let lane = Lane {
        account: used.map(str::to_owned),
        ..lane()
    };
    assert_eq!(hold.concerns(&lane), concerns);
    let other = Lane {
        provider: "claude".to_owned(),
        ..lane
    };
    assert!(!hold.concerns(&other));
}

#[rstest]
#[case::it_ends_on_time(NOW, NOW + 60, NOW + 60, false)]
#[case::a_second_before(NOW, NOW + 60, NOW + 59, true)]
#[case::a_clock_that_was_set_back(NOW, NOW + 60, NOW - DAY, true)]
#[case::written_by_a_wrong_clock(NOW + 40 * DAY, NOW + 41 * DAY, NOW, false)]
fn a_hold_ends(#[case] observed_at: i64, #[case] until: i64, #[case] now: i64, #[case] holds: bool) {
    let hold = Hold {
        observed_at,
        ..hold(None, until, ResetSource::Assumed)
    };
    assert_eq!(hold.holds(now), holds);
}

fn known(observed_at: i64, until: i64) -> Hold {
    Hold {
        observed_at,
        ..hold(Some(until), until, field())
    }
}

fn assumed(observed_at: i64) -> Hold {
    Hold {
        observed_at,
        ..hold(None, observed_at + 1_800, ResetSource::Assumed)
    }
}

// Report 27: a later longer limit kept the first short deadline.
#[rstest]
#[case::the_later_is_longer(known(NOW, NOW + 60), known(NOW + 10, NOW + 7_200), known(NOW + 10, NOW + 7_200))]
#[case::the_earlier_is_longer(known(NOW, NOW + 7_200), known(NOW + 10, NOW + 60), known(NOW + 10, NOW + 7_200))]
#[case::a_stated_time_replaces_an_older_assumption(assumed(NOW), known(NOW + 10, NOW + 60), known(NOW + 10, NOW + 60))]
#[case::a_newer_assumption_may_add(known(NOW, NOW + 60), assumed(NOW + 10), assumed(NOW + 10))]
#[case::a_newer_assumption_shortens_nothing(known(NOW, NOW + 7_200), assumed(NOW + 10), known(NOW + 10, NOW + 7_200))]
#[case::two_assumptions(assumed(NOW), assumed(NOW + 10), assumed(NOW + 10))]
fn report_27_two_refusals_of_one_login(#[case] first: Hold, #[case] second: Hold, #[case] joined: Hold) {
    assert_eq!(first.joined(second), joined);
}
