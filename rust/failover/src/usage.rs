//! The book of what providers said of their windows: how much is used, and when each begins anew. It is evidence for a
//! refusal that named no time, and a newer one with room in it lifts a hold. Nothing is asked of a provider here.

use crate::hold::Hold;
use crate::reset::{Reset, ResetSource};
use crate::switch::Lane;
use serde::{Deserialize, Serialize};

/// The schema of the book.
pub const USAGE_SCHEMA: &str = "openagents.coder.provider-usage.v1";
/// A reading older than this says nothing of a refusal, in seconds.
const STALE_SECONDS: i64 = 900;
/// From here on a window is at its limit: a provider refuses a request that would not fit into the rest.
const FULL: f64 = 0.95;
/// The most entries; the oldest make room.
const ENTRIES: usize = 256;

/// One window of a provider's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageWindow {
    /// Its name: `five_hour`, `seven_day`, `primary`, `secondary`, or another one of the provider's.
    pub window: String,
    /// How much of it is used, from 0 to 1 and above.
    pub used_fraction: f64,
    /// When it begins anew, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
    /// How long it is, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_seconds: Option<u64>,
}

/// What a provider said of its windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The provider's word.
    pub provider: String,
    /// When it was said, in Unix seconds.
    pub observed_at: i64,
    /// The windows.
    pub windows: Vec<UsageWindow>,
    /// Whether the provider says that a limit is reached.
    pub limit_reached: bool,
    /// The plan, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// Why a reading could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageFailure {
    /// There is no login.
    NoCredential,
    /// The login is over.
    Expired,
    /// The provider does not accept the login.
    Unauthorized,
    /// The provider refuses to say so often.
    RateLimited,
    /// Another error status.
    Status,
    /// The answer is not what it should be.
    Malformed,
    /// The provider was not reached.
    Network,
}

/// What is known of one login's usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageEntry {
    /// The provider's word.
    pub provider: String,
    /// The fingerprint of the login, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// When somebody last looked, in Unix seconds.
    pub attempted_at: i64,
    /// Nobody asks again before this, in Unix seconds.
    pub next_probe_at: i64,
    /// What was last said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// Why the last look gave nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<UsageFailure>,
}

/// What is known of every login's usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageBook {
    pub(crate) schema: String,
    entries: Vec<UsageEntry>,
}

impl Default for UsageBook {
    /// Nothing is known.
    fn default() -> Self {
        Self {
            schema: USAGE_SCHEMA.to_owned(),
            entries: Vec::new(),
        }
    }
}

impl UsageBook {
    /// Every entry.
    pub fn entries(&self) -> &[UsageEntry] {
        &self.entries
    }

    /// Enters what is known of a login now. An older reading does not replace a newer one, whoever comes last.
    pub fn record(&mut self, entry: UsageEntry) {
        let same = |known: &UsageEntry| known.provider == entry.provider && known.account == entry.account;
        let observed = |entry: &UsageEntry| entry.reading.as_ref().map_or(i64::MIN, |reading| reading.observed_at);
        let entry = match self.entries.iter().position(same) {
            Some(place) => {
                let known = self.entries.swap_remove(place);
                let (newer, older) = match entry.attempted_at >= known.attempted_at {
                    true => (entry, known),
                    false => (known, entry),
                };
                let reading = match observed(&older) > observed(&newer) {
                    true => older.reading,
                    false => newer.reading.clone(),
                };
                UsageEntry { reading, ..newer }
            }
            None => entry,
        };
        self.entries.push(entry);
        self.entries
            .sort_by(|left, right| (&left.provider, &left.account).cmp(&(&right.provider, &right.account)));
        while self.entries.len() > ENTRIES {
            let oldest = self
                .entries
                .iter()
                .enumerate()
                .min_by_key(|(_, entry)| entry.attempted_at);
            let Some((place, _)) = oldest else { break };
            self.entries.remove(place);
        }
    }

    /// The reset that a fresh reading shows for a lane that was refused at `now` (Unix seconds): of the windows at their limit
    /// the last reset, or that of the fullest window where the provider only says that a limit is reached.
    pub fn limiting_reset(&self, lane: &Lane, now: i64) -> Option<Reset> {
        let reading = self.reading(&lane.provider, lane.account.as_deref())?;
        let age = now.saturating_sub(reading.observed_at);
        (0..=STALE_SECONDS).contains(&age).then_some(())?;
        let ahead = |window: &&UsageWindow| window.resets_at.is_some_and(|at| at > now);
        let full = reading.windows.iter().filter(|window| window.used_fraction >= FULL);
        let limiting = full.filter(ahead).max_by_key(|window| window.resets_at);
        let fullest = || {
            let windows = reading.windows.iter().filter(ahead).filter(|_| reading.limit_reached);
            windows.max_by(|left, right| left.used_fraction.total_cmp(&right.used_fraction))
        };
        let window = limiting.or_else(fullest)?;
        Some(Reset {
            at: window.resets_at?,
            from: ResetSource::UsageReading {
                window: window.window.clone(),
            },
        })
    }

    /// Whether a reading that is newer than the refusal shows room in every window.
    pub(crate) fn lifts(&self, hold: &Hold, now: i64) -> bool {
        self.reading(&hold.provider, hold.account.as_deref())
            .is_some_and(|reading| {
                reading.observed_at > hold.observed_at
                    && reading.observed_at <= now
                    && !reading.limit_reached
                    && !reading.windows.is_empty()
                    && reading.windows.iter().all(|window| window.used_fraction < FULL)
            })
    }

    /// The reading of exactly this login; another login's says nothing of it.
    fn reading(&self, provider: &str, account: Option<&str>) -> Option<&Reading> {
        self.entries
            .iter()
            .filter(|entry| entry.provider == provider && entry.account.as_deref() == account)
            .find_map(|entry| entry.reading.as_ref())
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
