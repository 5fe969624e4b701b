//! A reset that stands in a sentence, such as `resets 4am (Europe/Paris)` or `resets Oct 6, 1pm (America/New_York)`. Only a
//! sentence that names its zone says a time; of two times a night with a clock change gives, the later one is meant.

use coder_digest::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

/// How far behind `reset` its time may stand, in bytes.
const REACH: usize = 80;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The reset in Unix seconds with the zone it is said in.
pub(crate) fn reset(words: &str, now: Timestamp) -> Option<(i64, String)> {
    let lower = words.to_ascii_lowercase();
    lower.match_indices("reset").find_map(|(at, word)| {
        let begin = at + word.len();
        // The text is as long in lower case: only ASCII letters changed.
        let rest = words.get(begin..)?;
        let (before, after) = rest.split_once('(')?;
        let (zone, _) = after.split_once(')')?;
        (before.len() <= REACH).then_some(())?;
        let time = next(before, zone.trim(), now)?;
        Some((time, zone.trim().to_owned()))
    })
}

/// When a local time comes next in its zone.
fn next(said: &str, zone: &str, now: Timestamp) -> Option<i64> {
    let zone = TimeZone::get(zone).ok()?;
    let now = jiff::Timestamp::from_millisecond(now.0).ok()?;
    let today = zone.to_datetime(now).date();
    let (date, time) = written(said)?;
    let at = |date: Date| {
        let moment = zone.to_ambiguous_zoned_datetime(date.to_datetime(time)).later().ok()?;
        Some(moment.timestamp()).filter(|moment| *moment > now)
    };
    let found = match date {
        None => at(today).or_else(|| at(today.tomorrow().ok()?)),
        Some((month, day)) => [today.year(), today.year() + 1]
            .into_iter()
            .find_map(|year| at(Date::new(year, month, day).ok()?)),
    };
    Some(found?.as_second())
}

/// The month and day, if any, and the time of the day.
fn written(said: &str) -> Option<(Option<(i8, i8)>, Time)> {
    let said = said.to_ascii_lowercase();
    let mut words = said
        .split(|character: char| character.is_whitespace() || character == ',')
        .filter(|word| !matches!(*word, "" | "s" | "at" | "on" | "the" | ":" | "-"))
        .peekable();
    let mut date = None;
    if let Some(month) = words.peek().and_then(|word| month(word)) {
        words.next();
        let day = words
            .next()?
            .trim_end_matches(|character: char| character.is_ascii_alphabetic());
        date = Some((month, day.parse().ok()?));
    }
    let clock: String = words.collect();
    Some((date, time_of_day(&clock)?))
}

fn month(word: &str) -> Option<i8> {
    let index = MONTHS.iter().position(|month| word.starts_with(month))?;
    i8::try_from(index + 1).ok()
}

/// `4am`, `4:30pm`, `16:00`.
fn time_of_day(text: &str) -> Option<Time> {
    let (digits, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        (None, None) => (text, None),
    };
    let (hour, minute) = match (digits.split_once(':'), half) {
        (Some((hour, minute)), _) => (hour.parse::<i8>().ok()?, minute.parse::<i8>().ok()?),
        (None, Some(_)) => (digits.parse().ok()?, 0),
        // A bare number is no time of the day.
        (None, None) => return None,
    };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}
