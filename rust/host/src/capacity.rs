//! Who is held by a provider's limit: until when, why, and from what evidence, and that a person may lift it. Reads the books
//! of a store and asks no provider.

use crate::Error;
use crate::store_place::require;
use coder_digest::{Clock, Timestamp};
use coder_failover::{Books, Hold, Lane, LimitKind, ResetSource, UsageEntry};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What the books of a store say now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// The store.
    pub store: PathBuf,
    /// When it was asked, in Unix seconds.
    pub at: i64,
    /// The holds that are in force, one for each login.
    pub held: Vec<Hold>,
    /// What providers last said of their windows.
    pub usage: Vec<UsageEntry>,
    /// The holds that were lifted just now, on the caller's word.
    pub cleared: Vec<Hold>,
}

/// Reads the books of a store, after lifting every hold of `clear`, if given.
///
/// # Errors
/// [`Error::NoStore`] where there is no store; [`Error::Books`] for a book that cannot be understood, locked or written.
pub fn capacity(store: &Path, clock: &dyn Clock, clear: Option<&str>) -> Result<Capacity, Error> {
    require(store)?;
    let books = Books::new(store);
    let cleared = match clear {
        Some(provider) => books.clear(provider)?,
        None => Vec::new(),
    };
    let at = clock.now().0.div_euclid(1000);
    let (capacity, usage) = (books.capacity()?, books.usage()?);
    let in_force = |hold: &&Hold| {
        let lane = Lane {
            provider: hold.provider.clone(),
            model: String::new(),
            account: hold.account.clone(),
        };
        // The book may have a longer one for every login of the provider; each entry is still shown as it is.
        hold.holds(at) && capacity.hold(&lane, &usage, at).is_some()
    };
    Ok(Capacity {
        store: store.to_owned(),
        at,
        held: capacity.entries().iter().filter(in_force).cloned().collect(),
        usage: usage.entries().to_vec(),
        cleared,
    })
}

/// The same in words, for a person.
pub fn capacity_table(capacity: &Capacity) -> String {
    let mut text = String::new();
    for hold in &capacity.cleared {
        text.push_str(&format!("lifted: {}\n", told(hold, capacity.at)));
    }
    match capacity.held.is_empty() {
        true => text.push_str("No provider is held.\n"),
        false => {
            for hold in &capacity.held {
                text.push_str(&format!("{}\n", told(hold, capacity.at)));
            }
        }
    }
    for entry in &capacity.usage {
        let Some(reading) = &entry.reading else { continue };
        for window in &reading.windows {
            let resets = window
                .resets_at
                .map_or(String::new(), |at| format!(", begins anew {}", moment(at)));
            text.push_str(&format!(
                "{}{}: {:.0} % of `{}` used{resets} (said {})\n",
                entry.provider,
                login(entry.account.as_deref()),
                window.used_fraction * 100.0,
                window.window,
                moment(reading.observed_at)
            ));
        }
    }
    text
}

/// One hold in a line.
pub(crate) fn told(hold: &Hold, now: i64) -> String {
    let kind = match hold.kind {
        LimitKind::UsageLimit => "usage limit",
        LimitKind::RateLimit => "rate limit",
    };
    let plan = hold
        .plan
        .as_ref()
        .map_or(String::new(), |plan| format!(" of plan {plan}"));
    format!(
        "{}{}: held until {} ({}), {kind}{plan} met {}; {}",
        hold.provider,
        login(hold.account.as_deref()),
        moment(hold.until),
        span(hold.until.saturating_sub(now)),
        moment(hold.observed_at),
        evidence(hold.evidence.as_ref())
    )
}

/// Where the time of a hold was read, in words.
pub(crate) fn evidence(source: Option<&ResetSource>) -> String {
    match source {
        Some(ResetSource::Field { name }) => format!("the provider's field `{name}` says so"),
        Some(ResetSource::Header { name }) => format!("the provider's header `{name}` says so"),
        Some(ResetSource::Message { zone }) => format!("the provider's words say so, in the zone {zone}"),
        Some(ResetSource::UsageReading { window }) => format!("the last reading of the window `{window}` says so"),
        Some(ResetSource::Assumed) => "nobody said when: assumed".to_owned(),
        None => "the book does not say from what".to_owned(),
    }
}

fn login(account: Option<&str>) -> String {
    account.map_or(String::new(), |account| format!(" login {account}"))
}

pub(crate) fn moment(seconds: i64) -> String {
    let text = Timestamp(seconds.saturating_mul(1000)).to_string();
    text.replace(".000Z", "Z")
}

/// A time from now in its two largest units.
fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match seconds {
        0..=119 => format!("in {seconds} s"),
        120..=7_199 => format!("in {} min", seconds / 60),
        7_200..=172_799 => format!("in {} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("in {} days", seconds / 86_400),
    }
}

#[cfg(test)]
#[path = "capacity_tests.rs"]
mod tests;
