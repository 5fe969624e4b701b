//! Ten thousand hours of four routes with random limits, clocks that jump and hosts that share a book: whatever happens, no
//! known hold is broken, none is shorter than the provider said, and every switch and every cent is accounted for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use coder_failover::{
    CapacityBook, Choice, Failover, Hold, LONGEST_SECONDS, Lane, LimitKind, Refusal, Reset, ResetSource, UsageBook,
};
use rstest::rstest;
use std::collections::BTreeSet;

const BEGIN: i64 = 1_796_040_000;
const HOURS: i64 = 10_000;
const HOSTS: usize = 3;
const LANES: usize = 4;

/// A small generator of our own (SplitMix64), so that a seed means the same run for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: i64) -> i64 {
        i64::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }
}

/// One provider login as it really is, in true time.
#[derive(Default)]
struct Provider {
    limited_until: i64,
    served: u64,
    refused: u64,
}

/// What one host's trace says.
#[derive(Default)]
struct Host {
    /// How far its clock is off, in seconds.
    offset: i64,
    on: Option<usize>,
    switches: Vec<(Option<usize>, usize)>,
    exhausted: u64,
    requests: u64,
    replies: u64,
    refusals: u64,
    tokens: u64,
}

#[rstest]
#[case::first(1)]
#[case::second(0x5eed)]
#[case::third(u64::MAX)]
fn ten_thousand_hours_of_four_routes(#[case] seed: u64) {
    let mut random = Random(seed);
    // The first two routes are two models of one login.
    let lanes: Vec<Lane> = [
        ("codex", "luna", "a"),
        ("codex", "sol", "a"),
        ("claude", "opus", "b"),
        ("openai", "gpt", "c"),
    ]
    .map(|(provider, model, account)| Lane {
        provider: provider.to_owned(),
        model: model.to_owned(),
        account: Some(account.to_owned()),
    })
    .to_vec();
    let login = |lane: usize| lane.saturating_sub(1);
    let failover = Failover::new(lanes).unwrap();
    assert_eq!(failover.lanes().len(), LANES);
    let usage = UsageBook::default();
    let mut book = CapacityBook::default();
    let mut providers: [Provider; 3] = Default::default();
    let mut hosts: [Host; HOSTS] = Default::default();
    let mut billed = 0;
    let mut true_time = BEGIN;

    while true_time < BEGIN + HOURS * 3600 {
        true_time += 1 + random.below(600);
        let host_number = usize::try_from(random.below(HOSTS as i64)).unwrap();
        if random.below(500) == 0 {
            // A clock is set: up to two days ahead or behind, or right again.
            hosts[host_number].offset =
                [0, random.below(172_800), -random.below(172_800)][usize::try_from(random.below(3)).unwrap()];
        }
        let host = &mut hosts[host_number];
        let now = true_time + host.offset;
        let mut tried = BTreeSet::new();
        loop {
            let Choice::Lane(lane) = failover.choose(&book, &usage, &tried, now) else {
                host.exhausted += 1;
                host.on = None;
                // Nothing was left: each route is held in the book, or was tried for this very step.
                for (place, hold) in failover.holds(&book, &usage, now).iter().enumerate() {
                    assert!(hold.is_some() || tried.contains(&place));
                }
                break;
            };
            assert!(!tried.contains(&lane), "a route came twice for one step");
            for hold in book
                .entries()
                .iter()
                .filter(|hold| hold.concerns(&failover.lanes()[lane]))
            {
                assert!(now >= hold.until, "a held route was asked: {hold:?} at {now}");
            }
            if host.on != Some(lane) {
                host.switches.push((host.on, lane));
                host.on = Some(lane);
            }
            host.requests += 1;
            let provider = &mut providers[login(lane)];
            if true_time >= provider.limited_until && random.below(12) == 0 {
                // The allowance ends now: seconds, hours, a week, or two months.
                let length = [
                    random.below(90),
                    random.below(18_000),
                    random.below(604_800),
                    random.below(5_184_000),
                ];
                let pick = [0, 0, 1, 1, 1, 2, 3][usize::try_from(random.below(7)).unwrap()];
                provider.limited_until = true_time + 1 + length[pick];
            }
            if true_time >= provider.limited_until {
                provider.served += 1;
                host.replies += 1;
                host.tokens += 10;
                billed += 10;
                break;
            }
            provider.refused += 1;
            host.refusals += 1;
            tried.insert(lane);
            // The provider says when, or it does not; it speaks of true time, the host's clock may not.
            let says = random.below(4) != 0;
            let reset = says.then(|| Reset {
                at: provider.limited_until,
                from: ResetSource::Field {
                    name: "resets_at".to_owned(),
                },
            });
            let said = reset.as_ref().map(|reset| reset.at).filter(|at| *at > now);
            let refusal = Refusal {
                kind: LimitKind::UsageLimit,
                reset,
                plan: None,
                window_minutes: None,
            };
            book.record(Hold::of(&failover.lanes()[lane], &refusal, &usage, now));
            let hold = book
                .hold(&failover.lanes()[lane], &usage, now)
                .expect("a refusal holds");
            let least = said.map_or(now + 1, |at| at.min(now + LONGEST_SECONDS));
            assert!(hold.until >= least, "{hold:?} is shorter than {least}");
            assert_eq!(hold.is_known(), hold.evidence != Some(ResetSource::Assumed));
        }
    }

    let sum = |count: fn(&Host) -> u64| hosts.iter().map(count).sum::<u64>();
    let served: u64 = providers.iter().map(|provider| provider.served).sum();
    let refused: u64 = providers.iter().map(|provider| provider.refused).sum();
    assert_eq!(sum(|host| host.replies), served);
    assert_eq!(sum(|host| host.refusals), refused);
    assert_eq!(sum(|host| host.requests), served + refused);
    assert_eq!(sum(|host| host.tokens), billed);
    for host in &hosts {
        // Each switch leaves the route that the one before took, unless every route was out in between.
        for pair in host.switches.windows(2) {
            assert!(pair[1].0.is_none() || pair[1].0 == Some(pair[0].1), "{pair:?}");
        }
        assert!(
            host.switches.len() > 100 && host.exhausted > 0,
            "the run met too little to show anything"
        );
    }
}
