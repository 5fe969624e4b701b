//! What a person is shown as text: made harmless, cut to a width, and counted in the units people read. Nothing here
//! knows a task; the same words stand on a terminal and in a page.

use coder_agent::Cost;
use coder_digest::{Timestamp, display_bytes, is_unsafe_to_show};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The longest line that is shown, in characters.
pub(crate) const LINE_CHARACTERS: usize = 2000;

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    Off,
    /// The sixteen colours of every terminal.
    On,
}

/// What text is made for.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Columns; no line is longer.
    pub width: usize,
    /// Colours.
    pub colours: Colours,
    /// The time that ages count from.
    pub now: Timestamp,
}

/// How a piece of text stands out. Never the only carrier of what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Busy,
    Quiet,
    Strong,
}

impl Screen {
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match (self.colours, tone) {
            (Colours::Off, _) => return text.to_owned(),
            (Colours::On, _) if text.is_empty() => return String::new(),
            (Colours::On, Tone::Good) => "32",
            (Colours::On, Tone::Bad) => "31",
            (Colours::On, Tone::Busy) => "33",
            (Colours::On, Tone::Quiet) => "2",
            (Colours::On, Tone::Strong) => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The columns that `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` in one harmless line of at most `width` columns, with `…` where something is missing.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let text = line(text);
    if columns(&text) <= width {
        return text;
    }
    let mut cut = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        cut.push(character);
    }
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// `text` in harmless lines of at most `width` columns, broken between words where it can be.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut wrapped = Vec::new();
    for line in lines(text.as_bytes()) {
        let mut rest = line.as_str();
        while columns(rest) > width && width > 0 {
            let fitting = fitting_bytes(rest, width);
            // The space that ends the last word that fits may be the first character that does not.
            let (end, next) = match rest.get(..=fitting).unwrap_or(rest).rfind(' ') {
                Some(space) if space > 0 => (space, space + 1),
                Some(_) | None => (fitting, fitting),
            };
            wrapped.push(rest.get(..end).unwrap_or(rest).to_owned());
            rest = rest.get(next..).unwrap_or_default();
        }
        if !rest.is_empty() || line.is_empty() {
            wrapped.push(rest.to_owned());
        }
    }
    wrapped
}

/// How many bytes of `text` fit into `width` columns; at least one character, so that there is an end to it.
fn fitting_bytes(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (place, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > width && place > 0 {
            return place;
        }
    }
    text.len()
}

/// `text` with spaces up to `width` columns.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// `text` as one harmless line: line ends and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    let spaced = text.split(['\n', '\t']).collect::<Vec<_>>().join(" ");
    harmless(spaced.trim_end().as_bytes())
}

/// The lines of `bytes`, harmless, each cut to [`LINE_CHARACTERS`]. A last line end begins no line.
pub(crate) fn lines(bytes: &[u8]) -> Vec<String> {
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if whole.is_empty() {
        return Vec::new();
    }
    whole.split(|byte| *byte == b'\n').map(one_line).collect()
}

fn one_line(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    // Four bytes are the longest character; no more is looked at, or a line of mebibytes would cost them.
    let looked_at = bytes.get(..LINE_CHARACTERS * 4).unwrap_or(bytes);
    let text = harmless(looked_at);
    match text.char_indices().nth(LINE_CHARACTERS) {
        None if looked_at.len() == bytes.len() => text,
        None => format!("{text}… [{} more bytes in this line]", bytes.len() - looked_at.len()),
        Some((end, _)) => {
            let cut = text.get(..end).unwrap_or(&text);
            format!("{cut}… [a line of {} bytes]", bytes.len())
        }
    }
}

/// Text without a character that steers what shows it. Colour codes are dropped, since programs print them all the time;
/// everything else that is dropped or changed by nobody is escaped and can be seen.
pub(crate) fn harmless(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(place) = rest.iter().position(|byte| *byte == 0x1b || *byte == b'\t') {
        let (before, from) = rest.split_at(place);
        push_harmless(&mut text, before);
        if from.first() == Some(&b'\t') {
            text.push_str("    ");
            rest = from.get(1..).unwrap_or_default();
            continue;
        }
        let length = colour_code(from);
        if length == 0 {
            push_harmless(&mut text, from.get(..1).unwrap_or_default());
        }
        rest = from.get(length.max(1)..).unwrap_or_default();
    }
    push_harmless(&mut text, rest);
    text
}

fn push_harmless(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(plain) if !plain.chars().any(is_unsafe_to_show) => text.push_str(plain),
        Ok(_) | Err(_) => text.push_str(&display_bytes(bytes)),
    }
}

/// The length of the colour code (`ESC [ digits ; … m`) that `bytes` begins with, or 0.
fn colour_code(bytes: &[u8]) -> usize {
    let Some(parameters) = bytes.strip_prefix(b"\x1b[") else {
        return 0;
    };
    let length = parameters
        .iter()
        .take(32)
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
        .count();
    match parameters.get(length) {
        Some(b'm') => length + 3,
        Some(_) | None => 0,
    }
}

/// A length of time: `0.42 s`, `12.5 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..10 => format!("{:.2} s", milliseconds as f64 / 1000.0),
        10..60 => format!("{:.1} s", milliseconds as f64 / 1000.0),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// How long ago, in one unit: `now`, `40 s`, `5 min`, `3 h`, `12 d`.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(since.0).max(0) / 1000;
    match seconds {
        0..5 => "now".to_owned(),
        5..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A size: `312 bytes`, `1.4 KiB`, `12.0 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// A number with its thousands set apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 step`, `2 steps`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A price in dollars. A part of one says so; what is not known is never a zero.
pub(crate) fn cost(cost: Cost) -> String {
    match cost {
        Cost::Known(amount) => dollars(amount),
        Cost::AtLeast(amount) => format!("at least {}", dollars(amount)),
        Cost::Unknown => "unknown".to_owned(),
    }
}

fn dollars(microusd: u64) -> String {
    let (whole, part) = (microusd / 1_000_000, microusd % 1_000_000);
    let part = format!("{part:06}");
    let shown = part.trim_end_matches('0');
    format!("${}.{shown:0<2}", count(whole))
}

/// The time of day in UTC, with the date left to where it is said once.
pub(crate) fn clock_time(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(11..19).unwrap_or(&text).to_owned()
}

/// Date and time in UTC.
pub(crate) fn date_time(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => text,
    }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
