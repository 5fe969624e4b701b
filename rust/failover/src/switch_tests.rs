use super::*;
use crate::hold::{LimitKind, Refusal};
use crate::reset::{Reset, ResetSource};
use rstest::rstest;

const NOW: i64 = 1_796_040_000;

fn lane(provider: &str, model: &str, account: Option<&str>) -> Lane {
    Lane {
        provider: provider.to_owned(),
        model: model.to_owned(),
        account: account.map(str::to_owned),
    }
}

fn lanes() -> Vec<Lane> {
    vec![
        lane("codex", "luna", Some("a")),
        lane("codex", "sol", Some("a")),
        lane("claude", "opus", None),
    ]
}

fn held(lane: &Lane, at: Option<i64>) -> Hold {
    let refusal = Refusal {
        kind: LimitKind::RateLimit,
        reset: at.map(|at| Reset {
            at,
            from: ResetSource::Header {
                name: "retry-after".to_owned(),
            },
        }),
        plan: None,
        window_minutes: None,
    };
    Hold::of(lane, &refusal, &UsageBook::default(), NOW)
}

fn choose(failover: &Failover, book: &CapacityBook, tried: &[usize], now: i64) -> Choice {
    failover.choose(book, &UsageBook::default(), &tried.iter().copied().collect(), now)
}

#[rstest]
#[case::none(Vec::new(), "route_missing")]
#[case::six((0..6).map(|number| lane("codex", &format!("m{number}"), None)).collect(), "routes_too_many")]
#[case::twice(vec![lane("codex", "luna", None), lane("claude", "luna", None), lane("codex", "luna", Some("b"))], "route_repeated")]
fn a_list_that_cannot_be(#[case] lanes: Vec<Lane>, #[case] code: &str) {
    assert_eq!(Failover::new(lanes).unwrap_err().code(), code);
}

#[test]
fn five_routes_can_be() {
    let lanes = (0..5)
        .map(|number| lane("codex", &format!("m{number}"), None))
        .collect();
    assert_eq!(Failover::new(lanes).unwrap().lanes().len(), 5);
}

#[test]
fn a_held_login_takes_all_its_routes_out_and_gives_them_back() {
    let failover = Failover::new(lanes()).unwrap();
    let mut book = CapacityBook::default();
    assert_eq!(choose(&failover, &book, &[], NOW), Choice::Lane(0));
    book.record(held(&failover.lanes()[0], Some(NOW + 60)));
    assert_eq!(choose(&failover, &book, &[], NOW), Choice::Lane(2));
    // Back to the first choice as soon as it can be.
    assert_eq!(choose(&failover, &book, &[], NOW + 60), Choice::Lane(0));
}

#[test]
fn a_route_is_tried_once_for_a_step_even_when_its_hold_is_over_meanwhile() {
    let failover = Failover::new(lanes()).unwrap();
    let mut book = CapacityBook::default();
    book.record(held(&failover.lanes()[0], Some(NOW + 1)));
    assert_eq!(choose(&failover, &book, &[0], NOW + 5), Choice::Lane(1));
    assert_eq!(choose(&failover, &book, &[0, 1], NOW + 5), Choice::Lane(2));
    assert_eq!(
        choose(&failover, &book, &[0, 1, 2], NOW + 5),
        Choice::Exhausted { resets_at: None }
    );
}

#[rstest]
#[case::the_earliest_stated(Some(NOW + 60), Some(NOW + 30), Some(NOW + 30))]
#[case::an_assumption_is_no_time(Some(NOW + 7_200), None, Some(NOW + 7_200))]
#[case::nobody_said(None, None, None)]
fn exhausted_says_only_what_somebody_said(
    #[case] codex: Option<i64>,
    #[case] claude: Option<i64>,
    #[case] resets_at: Option<i64>,
) {
    let failover = Failover::new(lanes()).unwrap();
    let mut book = CapacityBook::default();
    book.record(held(&failover.lanes()[0], codex));
    book.record(held(&failover.lanes()[2], claude));
    assert_eq!(choose(&failover, &book, &[], NOW), Choice::Exhausted { resets_at });
}

#[test]
fn a_hold_that_no_book_took_is_obeyed_by_its_run() {
    let mut failover = Failover::new(lanes()).unwrap();
    let hold = held(&failover.lanes()[2], None);
    failover.remember(hold.clone());
    let book = CapacityBook::default();
    assert_eq!(
        failover.holds(&book, &UsageBook::default(), NOW),
        [None, None, Some(&hold)]
    );
    assert_eq!(
        choose(&failover, &book, &[0, 1], NOW),
        Choice::Exhausted { resets_at: None }
    );
}
