//! The book of holds as a value: read, joined with what is new, asked. One entry for each login of a provider. An entry stays
//! for a while after its end, so that a host whose clock ran ahead cannot take it away from one whose clock is right.

use crate::hold::{Hold, LONGEST_SECONDS};
use crate::switch::Lane;
use crate::usage::UsageBook;
use serde::{Deserialize, Serialize};

/// The schema of the book.
pub const CAPACITY_SCHEMA: &str = "openagents.coder.provider-capacity.v1";
/// The most entries; those that end first make room.
const ENTRIES: usize = 256;

/// Who is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityBook {
    pub(crate) schema: String,
    refusals: Vec<Hold>,
}

impl Default for CapacityBook {
    /// Nobody is held.
    fn default() -> Self {
        Self {
            schema: CAPACITY_SCHEMA.to_owned(),
            refusals: Vec::new(),
        }
    }
}

impl CapacityBook {
    /// Every entry, also those that are over.
    pub fn entries(&self) -> &[Hold] {
        &self.refusals
    }

    /// Enters a hold, joined with what is known of the same login.
    pub fn record(&mut self, hold: Hold) {
        let now = hold.observed_at;
        self.refusals
            .retain(|known| known.until.saturating_add(LONGEST_SECONDS) > now);
        let same = |known: &Hold| known.provider == hold.provider && known.account == hold.account;
        match self.refusals.iter().position(same) {
            Some(place) => {
                let known = self.refusals.swap_remove(place);
                // What is over holds nothing, and must not turn a new assumption into its own old time.
                let joined = match known.holds(now) {
                    true => known.joined(hold),
                    false => hold,
                };
                self.refusals.push(joined);
            }
            None => self.refusals.push(hold),
        }
        self.refusals
            .sort_by(|left, right| (&left.provider, &left.account).cmp(&(&right.provider, &right.account)));
        while self.refusals.len() > ENTRIES {
            let first = self.refusals.iter().enumerate().min_by_key(|(_, hold)| hold.until);
            let Some((place, _)) = first else { break };
            self.refusals.remove(place);
        }
    }

    /// Takes every entry of a provider away and returns them.
    pub fn clear(&mut self, provider: &str) -> Vec<Hold> {
        let (cleared, kept) = std::mem::take(&mut self.refusals)
            .into_iter()
            .partition(|hold| hold.provider == provider);
        self.refusals = kept;
        cleared
    }

    /// The hold of a lane at `now` (Unix seconds), the longest there is. A usage reading that is newer than a refusal and shows
    /// room in every window lifts it.
    pub fn hold(&self, lane: &Lane, usage: &UsageBook, now: i64) -> Option<&Hold> {
        self.refusals
            .iter()
            .filter(|hold| hold.concerns(lane) && hold.holds(now))
            .filter(|hold| !usage.lifts(hold, now))
            .max_by_key(|hold| hold.until)
    }
}

#[cfg(test)]
#[path = "capacity_tests.rs"]
mod tests;
