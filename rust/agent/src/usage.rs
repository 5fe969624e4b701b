//! Tokens and money as they were reported. What nobody reported stays unknown: there is no invented zero here, and a sum
//! with an unknown part is a lower bound or unknown, never an amount. Prices and currencies other than the micro-dollar
//! are not known here.

use serde::{Deserialize, Serialize};

/// Token counts of one call, or the known part of a sum; `None` is "not reported".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Tokens of the prompt, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// The part of `input` that the provider read from its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens of the reply, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Tokens {
    /// Nothing reported.
    pub const UNKNOWN: Self = Self {
        input: None,
        cached: None,
        output: None,
        reasoning: None,
    };

    /// The sum of what both report; an unreported count adds nothing, so a sum is a subtotal.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
            match (left, right) {
                (None, None) => None,
                (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
            }
        }
        Self {
            input: sum(self.input, other.input),
            cached: sum(self.cached, other.cached),
            output: sum(self.output, other.output),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }

    /// Whether both the prompt and the reply were counted.
    pub fn is_complete(&self) -> bool {
        self.input.is_some() && self.output.is_some()
    }
}

/// What something cost, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "micro_usd", rename_all = "snake_case")]
pub enum Cost {
    /// Exactly this much.
    Known(u64),
    /// At least this much: a part is unknown.
    AtLeast(u64),
    /// Nothing is known.
    Unknown,
}

impl Cost {
    /// An explicit zero, for what is known to cost nothing.
    pub const FREE: Self = Self::Known(0);

    /// The sum: an unknown part turns a known one into a lower bound.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(left), Self::Known(right)) => Self::Known(left.saturating_add(right)),
            (Self::Unknown, Self::Unknown) => Self::Unknown,
            (Self::Unknown, Self::Known(0)) | (Self::Known(0), Self::Unknown) => Self::Unknown,
            (left, right) => Self::AtLeast(left.at_least().saturating_add(right.at_least())),
        }
    }

    /// The most that is certain, in millionths of a US dollar.
    pub fn at_least(self) -> u64 {
        match self {
            Self::Known(amount) | Self::AtLeast(amount) => amount,
            Self::Unknown => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::exact(Cost::Known(2), Cost::Known(3), Cost::Known(5))]
    #[case::unknown_part(Cost::Known(2), Cost::Unknown, Cost::AtLeast(2))]
    #[case::bound(Cost::AtLeast(2), Cost::Known(3), Cost::AtLeast(5))]
    #[case::bound_and_unknown(Cost::AtLeast(2), Cost::Unknown, Cost::AtLeast(2))]
    #[case::free_adds_no_bound(Cost::FREE, Cost::Unknown, Cost::Unknown)]
    #[case::unknown(Cost::Unknown, Cost::Unknown, Cost::Unknown)]
    #[case::saturates(Cost::Known(u64::MAX), Cost::Known(1), Cost::Known(u64::MAX))]
    fn sums_keep_what_is_certain(#[case] left: Cost, #[case] right: Cost, #[case] sum: Cost) {
        assert_eq!(left.plus(right), sum);
        assert_eq!(right.plus(left), sum);
    }

    #[test]
    fn costs_are_written_with_their_status() {
        let written =
            [Cost::Known(7), Cost::AtLeast(7), Cost::Unknown].map(|cost| serde_json::to_string(&cost).unwrap());
        assert_eq!(
            written,
            [
                r#"{"status":"known","micro_usd":7}"#,
                r#"{"status":"at_least","micro_usd":7}"#,
                r#"{"status":"unknown"}"#
            ]
        );
    }

    #[test]
    fn an_unreported_count_is_no_zero() {
        let reported = Tokens {
            input: Some(3),
            cached: None,
            output: Some(1),
            reasoning: None,
        };
        assert_eq!(Tokens::UNKNOWN.plus(Tokens::UNKNOWN), Tokens::UNKNOWN);
        assert_eq!(Tokens::UNKNOWN.plus(reported), reported);
        assert_eq!(serde_json::to_string(&reported).unwrap(), r#"{"input":3,"output":1}"#);
        assert!(reported.is_complete() && !Tokens::UNKNOWN.is_complete());
    }
}
