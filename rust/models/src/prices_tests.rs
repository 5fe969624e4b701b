use super::*;
use rstest::rstest;

fn tokens(input: Option<u64>, cached: Option<u64>, output: Option<u64>) -> Tokens {
    Tokens {
        input,
        cached,
        output,
        reasoning: None,
    }
}

#[rstest]
#[case::both_counted(tokens(Some(1_000_000), None, Some(1_000_000)), None, Cost::Known(600_000))]
#[case::cached_are_cheaper(tokens(Some(1_000_000), Some(900_000), Some(0)), None, Cost::Known(19_000))]
#[case::rounded_up(tokens(Some(1), None, Some(0)), None, Cost::Known(1))]
#[case::more_cached_than_sent(tokens(Some(10), Some(20), Some(0)), None, Cost::Known(1))]
#[case::the_reply_is_not_counted(tokens(Some(1_000_000), None, None), None, Cost::AtLeast(100_000))]
#[case::nothing_is_counted(tokens(None, None, Some(5)), None, Cost::Unknown)]
#[case::absurd(
    tokens(Some(u64::MAX), None, Some(u64::MAX)),
    None,
    Cost::Known(11_068_046_444_225_730_969)
)]
fn what_a_call_costs(#[case] tokens: Tokens, #[case] written: Option<u64>, #[case] cost: Cost) {
    let price = openai("gpt-6-luna").unwrap();
    assert_eq!(price.cost(tokens, written), cost);
}

#[test]
fn writing_to_a_cache_has_a_price_of_its_own() {
    let price = anthropic("claude-opus-4-5-20251101").unwrap();
    let counted = tokens(Some(3_000_000), Some(1_000_000), Some(1_000_000));
    assert_eq!(
        price.cost(counted, Some(1_000_000)),
        Cost::Known(5_000_000 + 500_000 + 6_250_000 + 25_000_000)
    );
}

#[test]
fn a_model_that_is_not_listed_has_no_price() {
    assert_eq!(
        (
            openai("gpt-6"),
            anthropic("claude-opus-4-5"),
            openai("claude-opus-4-5-20251101")
        ),
        (None, None, None)
    );
}
