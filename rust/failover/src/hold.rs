//! A hold: one login of one provider is not asked before a time. It lasts as long as the provider said, at most 31 days; half
//! an hour where nobody said, which is marked and never passed off as a stated time.

use crate::reset::{Reset, ResetSource};
use crate::switch::Lane;
use crate::usage::UsageBook;
use serde::{Deserialize, Serialize};

/// How long a refusal without a time holds, in seconds.
pub const ASSUMED_SECONDS: i64 = 1_800;
/// The longest hold, in seconds: 31 days. A limit that lasts longer is asked about again then.
pub const LONGEST_SECONDS: i64 = 31 * 24 * 3600;

/// Which kind of limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// A plan's allowance is used up.
    UsageLimit,
    /// Too many requests or tokens at once.
    RateLimit,
}

/// What a provider said when it refused for a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Which kind of limit.
    pub kind: LimitKind,
    /// When it is lifted, if the provider said so.
    pub reset: Option<Reset>,
    /// The plan, as the provider names it.
    pub plan: Option<String>,
    /// The length of the window, in minutes.
    pub window_minutes: Option<u64>,
}

/// One login of one provider is not asked before a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The provider's word.
    pub provider: String,
    /// Which kind of limit.
    pub kind: LimitKind,
    /// When the refusal came, in Unix seconds.
    pub observed_at: i64,
    /// When the limit is lifted, as somebody said; nothing where it is assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
    /// The provider is not asked before this, in Unix seconds.
    pub until: i64,
    /// The plan, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The length of the window, in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_minutes: Option<u64>,
    /// The fingerprint of the login; nothing where it is not known, and then every login is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Where the time was read. Books of other programs say nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ResetSource>,
}

impl Hold {
    /// The hold that follows from a refusal at `now` (Unix seconds): until the stated reset, else until the one that a fresh
    /// usage reading shows, else for half an hour.
    pub fn of(lane: &Lane, refusal: &Refusal, usage: &UsageBook, now: i64) -> Self {
        let stated = refusal.reset.clone().filter(|reset| reset.at > now);
        let reset = stated.or_else(|| usage.limiting_reset(lane, now));
        let until = match &reset {
            Some(reset) => reset.at.min(now.saturating_add(LONGEST_SECONDS)),
            None => now.saturating_add(ASSUMED_SECONDS),
        };
        Self {
            provider: lane.provider.clone(),
            kind: refusal.kind,
            observed_at: now,
            resets_at: reset.as_ref().map(|reset| reset.at),
            until,
            plan: refusal.plan.clone(),
            window_minutes: refusal.window_minutes,
            account: lane.account.clone(),
            evidence: Some(reset.map_or(ResetSource::Assumed, |reset| reset.from)),
        }
    }

    /// Whether the time was said by somebody.
    pub fn is_known(&self) -> bool {
        self.resets_at.is_some()
    }

    /// Whether it may be of this lane: of its provider, and of its login as far as both are known.
    pub fn concerns(&self, lane: &Lane) -> bool {
        let same_login = match (&self.account, &lane.account) {
            (Some(held), Some(used)) => held == used,
            // A login nobody can name may be the one that was refused.
            (None, _) | (_, None) => true,
        };
        self.provider == lane.provider && same_login
    }

    /// Whether it still holds at `now`. One that claims to come from more than 31 days ahead was written by a wrong clock.
    pub fn holds(&self, now: i64) -> bool {
        now < self.until && self.observed_at <= now.saturating_add(LONGEST_SECONDS)
    }

    /// What is known of one login from two refusals: of two stated times the later one, and a newer stated one rather than
    /// an assumption.
    #[must_use]
    pub(crate) fn joined(self, other: Self) -> Self {
        let newest = self.observed_at.max(other.observed_at);
        let (assumed, known) = match (self.is_known(), other.is_known()) {
            (false, true) => (Some(self), other),
            (true, false) => (Some(other), self),
            (true, true) | (false, false) => {
                let longer = match other.until > self.until {
                    true => other,
                    false => self,
                };
                (None, longer)
            }
        };
        let longer = match assumed {
            Some(assumed) if assumed.observed_at > known.observed_at && assumed.until > known.until => assumed,
            Some(_) | None => known,
        };
        Self {
            observed_at: newest,
            ..longer
        }
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
