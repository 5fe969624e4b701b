//! Amounts as people write them on a command line: `512M`, `2G`, `90s`, `5m`. Parsing only.

use std::time::Duration;

/// A number of bytes: a whole number with an optional suffix K, M, G or T (powers of 1024).
///
/// # Errors
/// A sentence for clap when `text` is not such an amount.
pub fn parse(text: &str) -> Result<u64, String> {
    let trimmed = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, power) = match trimmed.chars().last().map(|unit| unit.to_ascii_uppercase()) {
        Some('K') => (&trimmed[..trimmed.len() - 1], 10),
        Some('M') => (&trimmed[..trimmed.len() - 1], 20),
        Some('G') => (&trimmed[..trimmed.len() - 1], 30),
        Some('T') => (&trimmed[..trimmed.len() - 1], 40),
        _ => (trimmed, 0),
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << power))
        .ok_or_else(|| "a number of bytes is written like 512M or 2G".to_owned())
}

/// A bound of memory: an amount in which a program can begin at all. Below it a command would fail in words of its loader.
///
/// # Errors
/// A sentence for clap when `text` is not such an amount.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    match parse(text)? {
        bytes if bytes < LEAST => Err("a command needs at least 1M".to_owned()),
        bytes => Ok(bytes),
    }
}

/// A length of time: a whole number of seconds, or with the suffix `ms`, `s`, `m` or `h`.
///
/// # Errors
/// A sentence for clap when `text` is not such a length, or is zero.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a length of time is written like 90, 90s, 500ms, 5m or 1h, and is not zero".to_owned();
    let split = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let total = milliseconds
        .and_then(|unit| number.checked_mul(unit))
        .filter(|total| *total > 0);
    total.map(Duration::from_millis).ok_or_else(wrong)
}

/// An age: a whole number with the suffix `s`, `m`, `h` or `d`, or 0.
///
/// # Errors
/// A sentence for clap when `text` is not such an age.
pub fn parse_age(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: Option<u64> = digits.parse().ok();
    let seconds = match (number, unit) {
        (Some(0), "") => Some(0),
        (Some(number), "s") => Some(number),
        (Some(number), "m") => number.checked_mul(60),
        (Some(number), "h") => number.checked_mul(3600),
        (Some(number), "d") => number.checked_mul(86_400),
        (Some(_) | None, _) => None,
    };
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "an age is written like 0, 90s, 30m, 12h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", 0)]
    #[case("1k", 1024)]
    #[case("512M", 512 << 20)]
    #[case("2GiB", 2 << 30)]
    fn amounts(#[case] text: &str, #[case] bytes: u64) {
        assert_eq!(parse(text), Ok(bytes));
    }

    #[rstest]
    #[case("")]
    #[case("M")]
    #[case("-1")]
    #[case("1.5G")]
    #[case("99999999999999999999")]
    #[case("99999999999T")]
    fn what_is_no_amount(#[case] text: &str) {
        assert!(parse(text).is_err());
    }

    #[rstest]
    #[case("90", 90_000)]
    #[case("500ms", 500)]
    #[case("5m", 300_000)]
    #[case("1h", 3_600_000)]
    fn lengths_of_time(#[case] text: &str, #[case] milliseconds: u64) {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)));
    }

    #[rstest]
    #[case("")]
    #[case("0")]
    #[case("soon")]
    #[case("5 m")]
    #[case("99999999999999999999h")]
    #[case("é")]
    fn what_is_no_length_of_time(#[case] text: &str) {
        assert!(parse_duration(text).is_err());
    }

    #[rstest]
    #[case("0", Some(0))]
    #[case("0s", Some(0))]
    #[case("90s", Some(90))]
    #[case("12h", Some(43_200))]
    #[case("7d", Some(604_800))]
    #[case("7", None)]
    #[case("d", None)]
    #[case("", None)]
    #[case("1w", None)]
    #[case("999999999999999999d", None)]
    fn ages(#[case] text: &str, #[case] seconds: Option<u64>) {
        assert_eq!(parse_age(text).ok(), seconds.map(Duration::from_secs));
    }
}
