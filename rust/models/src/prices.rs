//! List prices, as data with their date. They make an estimate and no invoice: plans, discounts and taxes are not in them. A
//! model that is not here has no price, and what it costs stays unknown.

use coder_agent::{Cost, Tokens};

/// The day of the newest published list that the table was compared with.
pub(crate) const LIST_PRICES: &str = "2026-03-21";

/// What a million tokens of a model cost, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPrice {
    model: &'static str,
    input: u64,
    /// Tokens of the prompt that the provider read from its cache.
    cached: u64,
    /// Tokens of the prompt that it wrote to its cache.
    cache_written: u64,
    output: u64,
}

const fn price(model: &'static str, input: u64, cached: u64, cache_written: u64, output: u64) -> ListPrice {
    ListPrice {
        model,
        input,
        cached,
        cache_written,
        output,
    }
}

/// Models that OpenAI serves.
const OPENAI: [ListPrice; 2] = [
    price("gpt-6-luna", 100_000, 10_000, 100_000, 500_000),
    price("gpt-6-sol", 2_000_000, 200_000, 2_000_000, 10_000_000),
];

/// Models that Anthropic serves.
const ANTHROPIC: [ListPrice; 4] = [
    price("claude-haiku-4-5-20251001", 1_000_000, 100_000, 1_250_000, 5_000_000),
    price("claude-sonnet-4-5-20250929", 3_000_000, 300_000, 3_750_000, 15_000_000),
    price("claude-opus-4-5-20251101", 5_000_000, 500_000, 6_250_000, 25_000_000),
    price(
        "claude-opus-4-1-20250805",
        15_000_000,
        1_500_000,
        18_750_000,
        75_000_000,
    ),
];

/// The list price of a model that OpenAI serves.
pub(crate) fn openai(model: &str) -> Option<&'static ListPrice> {
    OPENAI.iter().find(|price| price.model == model)
}

/// The list price of a model that Anthropic serves.
pub(crate) fn anthropic(model: &str) -> Option<&'static ListPrice> {
    ANTHROPIC.iter().find(|price| price.model == model)
}

impl ListPrice {
    /// What a call costs, rounded up: exactly where both sides were counted, at least the prompt where only that was.
    pub(crate) fn cost(&self, tokens: Tokens, cache_written: Option<u64>) -> Cost {
        let Some(input) = tokens.input else {
            return Cost::Unknown;
        };
        let cached = tokens.cached.unwrap_or(0).min(input);
        let written = cache_written.unwrap_or(0).min(input - cached);
        let parts = [
            (input - cached - written, self.input),
            (cached, self.cached),
            (written, self.cache_written),
            (tokens.output.unwrap_or(0), self.output),
        ];
        let sum: u128 = parts
            .iter()
            .map(|(count, rate)| u128::from(*count) * u128::from(*rate))
            .sum();
        let amount = u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        match tokens.output {
            Some(_) => Cost::Known(amount),
            None => Cost::AtLeast(amount),
        }
    }
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
