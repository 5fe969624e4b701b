use super::*;
use crate::hold::LimitKind;
use crate::reset::ResetSource;
use crate::usage::{Reading, UsageEntry, UsageWindow};
use rstest::rstest;

const NOW: i64 = 1_796_040_000;

fn lane(account: &str) -> Lane {
    Lane {
        provider: "codex".to_owned(),
        model: "m".to_owned(),
        account: Some(account.to_owned()),
    }
}

fn hold(account: Option<&str>, observed_at: i64, until: i64) -> Hold {
    Hold {
        provider: "codex".to_owned(),
        kind: LimitKind::UsageLimit,
        observed_at,
        resets_at: Some(until),
        until,
        plan: None,
        window_minutes: None,
        account: account.map(str::to_owned),
        evidence: Some(ResetSource::Assumed),
    }
}

fn reading(observed_at: i64, used_fraction: f64, limit_reached: bool) -> UsageBook {
    let mut usage = UsageBook::default();
    usage.record(UsageEntry {
        provider: "codex".to_owned(),
        account: Some("a".to_owned()),
        attempted_at: observed_at,
        next_probe_at: observed_at,
        reading: Some(Reading {
            provider: "codex".to_owned(),
            observed_at,
            windows: vec![UsageWindow {
                window: "primary".to_owned(),
                used_fraction,
                resets_at: None,
                length_seconds: None,
            }],
            limit_reached,
            plan: None,
        }),
        failure: None,
    });
    usage
}

#[test]
fn each_login_has_its_own_entry_and_the_longest_that_concerns_it_counts() {
    let mut book = CapacityBook::default();
    book.record(hold(Some("a"), NOW, NOW + 60));
    book.record(hold(Some("b"), NOW, NOW + 90));
    book.record(hold(None, NOW, NOW + 70));
    let none = UsageBook::default();
    assert_eq!(book.entries().len(), 3);
    assert_eq!(book.hold(&lane("a"), &none, NOW).map(|hold| hold.until), Some(NOW + 70));
    assert_eq!(book.hold(&lane("b"), &none, NOW).map(|hold| hold.until), Some(NOW + 90));
    assert_eq!(book.hold(&lane("c"), &none, NOW).map(|hold| hold.until), Some(NOW + 70));
    assert_eq!(book.hold(&lane("c"), &none, NOW + 70), None);
}

// Trap 18: refusals outlived the real limit.
#[rstest]
#[case::newer_with_room(NOW + 1, 0.2, false, true)]
#[case::older(NOW, 0.2, false, false)]
#[case::from_ahead_of_now(NOW + 11, 0.2, false, false)]
#[case::at_its_limit(NOW + 1, 0.96, false, false)]
#[case::the_provider_says_so(NOW + 1, 0.2, true, false)]
fn trap_18_a_newer_reading_with_room_lifts(
    #[case] observed_at: i64,
    #[case] used: f64,
    #[case] limit_reached: bool,
    #[case] lifted: bool,
) {
    let mut book = CapacityBook::default();
    book.record(hold(Some("a"), NOW, NOW + 7_200));
    let usage = reading(observed_at, used, limit_reached);
    assert_eq!(book.hold(&lane("a"), &usage, NOW + 10).is_none(), lifted);
}

#[test]
fn an_entry_that_is_over_stays_for_clocks_that_are_behind_and_joins_nothing() {
    let mut book = CapacityBook::default();
    book.record(hold(Some("a"), NOW, NOW + 60));
    // Another login, an hour later: the first entry is over, and another host's clock may not know it yet.
    book.record(hold(Some("b"), NOW + 3_600, NOW + 7_200));
    assert_eq!(book.entries().len(), 2);
    assert!(book.hold(&lane("a"), &UsageBook::default(), NOW + 30).is_some());
    book.record(hold(Some("a"), NOW + 3_600, NOW + 3_610));
    assert_eq!(book.entries().first(), Some(&hold(Some("a"), NOW + 3_600, NOW + 3_610)));
    // Long after, it is gone.
    book.record(hold(Some("c"), NOW + 40 * 86_400, NOW + 41 * 86_400));
    assert_eq!(book.entries(), [hold(Some("c"), NOW + 40 * 86_400, NOW + 41 * 86_400)]);
}

#[test]
fn a_book_is_bounded_and_keeps_what_lasts() {
    let mut book = CapacityBook::default();
    for number in 0..300_i64 {
        book.record(hold(Some(&format!("login-{number}")), NOW, NOW + 60 + number));
    }
    assert_eq!(book.entries().len(), ENTRIES);
    assert_eq!(book.entries().iter().map(|hold| hold.until).min(), Some(NOW + 60 + 44));
}

#[test]
fn clearing_takes_one_provider() {
    let mut book = CapacityBook::default();
    let other = Hold {
        provider: "claude".to_owned(),
        ..hold(None, NOW, NOW + 60)
    };
    book.record(hold(Some("a"), NOW, NOW + 60));
    book.record(other.clone());
    assert_eq!(book.clear("codex"), [hold(Some("a"), NOW, NOW + 60)]);
    assert_eq!(book.clear("codex"), []);
    assert_eq!(book.entries(), [other]);
}
