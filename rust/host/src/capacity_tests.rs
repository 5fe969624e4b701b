use super::*;
use coder_digest::FixedClock;
use coder_failover::Refusal;
use rstest::rstest;

const NOW: i64 = 1_796_040_000;

fn hold(provider: &str, reset: Option<i64>) -> Hold {
    let lane = Lane {
        provider: provider.to_owned(),
        model: "m".to_owned(),
        account: Some("0123456789abcdef".to_owned()),
    };
    let refusal = Refusal {
        kind: LimitKind::UsageLimit,
        reset: reset.map(|at| coder_failover::Reset {
            at,
            from: ResetSource::Field {
                name: "resets_at".to_owned(),
            },
        }),
        plan: Some("pro".to_owned()),
        window_minutes: None,
    };
    Hold::of(&lane, &refusal, &coder_failover::UsageBook::default(), NOW)
}

#[test]
fn who_is_held_is_told_until_a_person_lifts_it() {
    let place = tempfile::tempdir().unwrap();
    let clock = |seconds: i64| FixedClock::new(Timestamp((NOW + seconds) * 1000), 0);
    let look = |seconds, clear| capacity(place.path(), &clock(seconds), clear);
    assert_eq!(look(0, None).unwrap_err().code(), "no_store");
    std::fs::write(place.path().join("journal.db"), "").unwrap();
    assert_eq!(capacity_table(&look(0, None).unwrap()), "No provider is held.\n");

    let books = Books::new(place.path());
    books.record(hold("codex", Some(NOW + 5_400))).unwrap();
    books.record(hold("claude", None)).unwrap();
    assert_eq!(
        capacity_table(&look(60, None).unwrap()),
        "claude login 0123456789abcdef: held until 2026-11-30T12:30:00Z (in 29 min), usage limit of plan pro met \
         2026-11-30T12:00:00Z; nobody said when: assumed\n\
         codex login 0123456789abcdef: held until 2026-11-30T13:30:00Z (in 89 min), usage limit of plan pro met \
         2026-11-30T12:00:00Z; the provider's field `resets_at` says so\n"
    );
    // What is over is not shown, and what is lifted is gone for every run.
    assert_eq!(look(1_800, None).unwrap().held, [hold("codex", Some(NOW + 5_400))]);
    let lifted = look(60, Some("codex")).unwrap();
    assert_eq!(
        (lifted.cleared, lifted.held),
        (vec![hold("codex", Some(NOW + 5_400))], vec![hold("claude", None)])
    );
}

#[rstest]
#[case(-5, "in 0 s")]
#[case(119, "in 119 s")]
#[case(7_199, "in 119 min")]
#[case(7_260, "in 2 h 1 min")]
#[case(260_000, "in 3 days")]
fn spans(#[case] seconds: i64, #[case] words: &str) {
    assert_eq!(span(seconds), words);
}
