//! Which of a run's routes is asked next: a pure decision over the books and the time. It sends nothing, waits for nothing and
//! keeps no clock; whoever asks says what was already tried for the step at hand.

use crate::capacity::CapacityBook;
use crate::error::Error;
use crate::hold::Hold;
use crate::usage::UsageBook;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};

/// The most routes beside the first one.
pub const FALLBACKS: usize = 4;

/// One route, as far as its limits go.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// The provider's word.
    pub provider: String,
    /// The exact model.
    pub model: String,
    /// The fingerprint of the login, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// Where to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// To this route, by its place in the list.
    Lane(usize),
    /// Nowhere: each route is held, or was tried for this step.
    Exhausted {
        /// The earliest stated reset of a held route, in Unix seconds; nothing where nobody said one.
        resets_at: Option<i64>,
    },
}

/// A run's routes in order of preference, with the holds that only this run knows of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failover {
    lanes: Vec<Lane>,
    unrecorded: CapacityBook,
}

impl Failover {
    /// Takes the routes, the first choice first.
    ///
    /// # Errors
    /// [`Error::NoRoute`], [`Error::TooManyRoutes`], and [`Error::RepeatedRoute`] for a provider with the same model twice.
    pub fn new(lanes: Vec<Lane>) -> Result<Self, Error> {
        if lanes.is_empty() {
            return Err(Error::NoRoute);
        }
        if lanes.len() > FALLBACKS + 1 {
            return Err(Error::TooManyRoutes { count: lanes.len() });
        }
        let mut seen = HashSet::new();
        for lane in &lanes {
            if !seen.insert((&lane.provider, &lane.model)) {
                return Err(Error::RepeatedRoute {
                    provider: lane.provider.clone(),
                    model: lane.model.clone(),
                });
            }
        }
        Ok(Self {
            lanes,
            unrecorded: CapacityBook::default(),
        })
    }

    /// The routes.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Keeps a hold that could not be entered into the shared book, so that at least this run obeys it.
    pub fn remember(&mut self, hold: Hold) {
        self.unrecorded.record(hold);
    }

    /// What holds each route at `now` (Unix seconds), in the order of the routes.
    pub fn holds<'b>(&'b self, book: &'b CapacityBook, usage: &UsageBook, now: i64) -> Vec<Option<&'b Hold>> {
        let hold = |lane| {
            [book, &self.unrecorded]
                .into_iter()
                .filter_map(|book| book.hold(lane, usage, now))
                .max_by_key(|hold| hold.until)
        };
        self.lanes.iter().map(hold).collect()
    }

    /// The first route in the order of preference that is not held and not among `tried`, the routes that have refused or
    /// been left for the step at hand. A route comes at most once for a step, so that two with short limits do not hand it
    /// to and fro.
    pub fn choose(&self, book: &CapacityBook, usage: &UsageBook, tried: &BTreeSet<usize>, now: i64) -> Choice {
        let holds = self.holds(book, usage, now);
        let free = holds
            .iter()
            .enumerate()
            .find(|(place, hold)| hold.is_none() && !tried.contains(place));
        match free {
            Some((place, _)) => Choice::Lane(place),
            None => Choice::Exhausted {
                resets_at: holds.iter().flatten().filter_map(|hold| hold.resets_at).min(),
            },
        }
    }
}

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
