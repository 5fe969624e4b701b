//! The one door through which time enters, so that a fixed clock makes every output byte-stable.
//! A [`Timestamp`] is whole milliseconds since 1970 UTC, in JSON a number; its text form is RFC 3339 with `Z`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A string that is not a time with its zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a time is written as in RFC 3339, with its zone: 2026-11-30T12:00:00.000Z")]
pub struct TimestampError;

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(formatter, "{time:.3}"),
            Err(_) => write!(formatter, "{}ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self(time.as_millisecond()))
            .map_err(|_| TimestampError)
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that starts where it is told and moves on by a fixed step at each reading.
#[derive(Debug)]
pub struct FixedClock {
    next: AtomicI64,
    step: i64,
}

impl FixedClock {
    /// First answers `start`, then `step_milliseconds` more at each reading.
    pub fn new(start: Timestamp, step_milliseconds: i64) -> Self {
        Self {
            next: AtomicI64::new(start.0),
            step: step_milliseconds,
        }
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.next.fetch_add(self.step, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let time = Timestamp(1_796_040_000_123);
        assert_eq!(time.to_string(), "2026-11-30T12:00:00.123Z");
        assert_eq!(time.to_string().parse(), Ok(time));
        assert_eq!("2026-11-30T13:00:00.123+01:00".parse(), Ok(time));
    }

    #[test]
    fn a_time_without_a_zone_is_refused() {
        assert_eq!("2026-11-30T12:00:00".parse::<Timestamp>(), Err(TimestampError));
        assert_eq!("yesterday".parse::<Timestamp>(), Err(TimestampError));
    }

    #[test]
    fn a_fixed_clock_moves_by_its_step() {
        let clock = FixedClock::new(Timestamp(5), 2);
        assert_eq!([clock.now(), clock.now()], [Timestamp(5), Timestamp(7)]);
    }
}
