//! Limits of providers and the routes around them: when a limit is lifted, who is held until then, and where a run goes on.
//!
//! A provider's refusal becomes a [`Hold`] of its login, until the time the provider said and never a shorter one
//! ([`Reset`] reads it, with where it was read); a refusal without a time holds for thirty minutes and is marked as assumed.
//! Holds are kept in a [`CapacityBook`] that every run of a store shares through [`Books`]; a [`UsageBook`] has what
//! providers said of their windows. [`Failover`] is the decision which of a run's routes is next: a value of the books and
//! the time, with no socket and no clock. Only [`Books`] touches the disk.
//!
//! ```
//! use coder_failover::{CapacityBook, Choice, Failover, Hold, Lane, LimitKind, Refusal, UsageBook};
//! use std::collections::BTreeSet;
//!
//! let lane = |provider: &str, model: &str| Lane { provider: provider.into(), model: model.into(), account: None };
//! let failover = Failover::new(vec![lane("codex", "gpt-6-luna"), lane("claude", "claude-opus-5-5")])?;
//! let (mut book, usage, now) = (CapacityBook::default(), UsageBook::default(), 1_796_040_000);
//!
//! let refusal = Refusal { kind: LimitKind::UsageLimit, reset: None, plan: None, window_minutes: None };
//! book.record(Hold::of(&failover.lanes()[0], &refusal, &usage, now));
//! let choice = failover.choose(&book, &usage, &BTreeSet::new(), now);
//! assert_eq!(choice, Choice::Lane(1));
//! # Ok::<(), coder_failover::Error>(())
//! ```

mod books;
mod capacity;
mod error;
mod hold;
mod message;
mod reset;
mod switch;
mod usage;

pub use books::Books;
pub use capacity::{CAPACITY_SCHEMA, CapacityBook};
pub use error::Error;
pub use hold::{ASSUMED_SECONDS, Hold, LONGEST_SECONDS, LimitKind, Refusal};
pub use reset::{Reset, ResetSource};
pub use switch::{Choice, FALLBACKS, Failover, Lane};
pub use usage::{Reading, USAGE_SCHEMA, UsageBook, UsageEntry, UsageFailure, UsageWindow};
