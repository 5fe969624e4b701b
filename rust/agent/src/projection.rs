//! Shortening: what a prompt or a judge sees of long text. Beginning and end stay, a marker line says how much is left
//! out between them. Counts are characters, so that a cut never splits one. Bytes that are no UTF-8 are shown replaced;
//! the exact bytes are in the host's evidence.

use crate::environment::Captured;
use std::fmt::Write as _;

/// How many characters of a command's output a prompt shows from its beginning.
pub const OUTPUT_HEAD_CHARACTERS: usize = 6_000;
/// How many characters of a command's output a prompt shows from its end.
pub const OUTPUT_TAIL_CHARACTERS: usize = 6_000;

/// Standard output, then standard error, as a prompt shows them: at most the first 6,000 and the last 6,000 characters.
pub fn project_output(stdout: &Captured, stderr: &Captured) -> String {
    let mut text = String::new();
    // Where bytes were not kept: the byte offset into `text`, and how many bytes.
    let mut gaps: Vec<(usize, u64)> = Vec::new();
    for stream in [stdout, stderr] {
        if !stream.head.is_empty() || stream.dropped > 0 {
            end_line(&mut text);
        }
        push_lossy(&mut text, &stream.head);
        if stream.dropped > 0 {
            gaps.push((text.len(), stream.dropped));
        }
        push_lossy(&mut text, &stream.tail);
    }
    let (head, tail) = match outer(&text, OUTPUT_HEAD_CHARACTERS, OUTPUT_TAIL_CHARACTERS) {
        Some(ends) => ends,
        None => return with_gaps(&text, 0, &gaps),
    };
    let tail_start = text.len() - tail.len();
    let left_out = text.get(head.len()..tail_start).unwrap_or_default().chars().count();
    let hidden: u64 = gaps
        .iter()
        .filter(|(offset, _)| (head.len()..=tail_start).contains(offset))
        .map(|(_, bytes)| bytes)
        .sum();
    let before: Vec<_> = gaps
        .iter()
        .copied()
        .filter(|(offset, _)| *offset < head.len())
        .collect();
    let after: Vec<_> = gaps
        .iter()
        .copied()
        .filter(|(offset, _)| *offset > tail_start)
        .collect();
    let mut short = with_gaps(head, 0, &before);
    end_line(&mut short);
    let _ = match hidden {
        0 => writeln!(short, "[… {left_out} characters left out …]"),
        bytes => writeln!(
            short,
            "[… {left_out} characters left out, and {bytes} bytes that were not kept …]"
        ),
    };
    short.push_str(&with_gaps(tail, tail_start, &after));
    short
}

/// `text`, which begins at `start` of the whole, with a marker line at each gap.
fn with_gaps(text: &str, start: usize, gaps: &[(usize, u64)]) -> String {
    let mut marked = String::with_capacity(text.len() + gaps.len() * 48);
    let mut done = 0;
    for (offset, bytes) in gaps {
        let at = offset.saturating_sub(start).min(text.len());
        marked.push_str(text.get(done..at).unwrap_or_default());
        end_line(&mut marked);
        let _ = writeln!(marked, "[… {bytes} bytes that were not kept …]");
        done = at;
    }
    marked.push_str(text.get(done..).unwrap_or_default());
    marked
}

pub(crate) fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Appends bytes as text, what is no UTF-8 replaced.
pub(crate) fn push_lossy(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// The first `count` characters.
pub(crate) fn first(text: &str, count: usize) -> &str {
    // A text of no more bytes than characters asked for cannot be too long.
    if text.len() <= count {
        return text;
    }
    match text.char_indices().nth(count) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The last `count` characters.
pub(crate) fn last(text: &str, count: usize) -> &str {
    if text.len() <= count {
        return text;
    }
    match count.checked_sub(1).and_then(|back| text.char_indices().nth_back(back)) {
        Some((start, _)) => text.get(start..).unwrap_or(text),
        None if count == 0 => "",
        None => text,
    }
}

/// The first `head` and the last `tail` characters, when `text` has more than both together.
fn outer(text: &str, head: usize, tail: usize) -> Option<(&str, &str)> {
    if text.len() <= head + tail || text.chars().count() <= head + tail {
        return None;
    }
    Some((first(text, head), last(text, tail)))
}

/// One line: white space of every kind becomes a single space, and at most `count` characters stay.
pub(crate) fn one_line(text: &str, count: usize) -> String {
    let mut line = String::new();
    let mut characters = 0;
    for word in text.split_whitespace() {
        if characters > 0 {
            line.push(' ');
            characters += 1;
        }
        for character in word.chars() {
            if characters >= count {
                line.push('…');
                return line;
            }
            line.push(character);
            characters += 1;
        }
    }
    line
}

/// A fenced block whose fence is longer than any run of backticks inside, so that no content can close it.
pub(crate) fn push_fenced(text: &mut String, language: &str, content: &str) {
    let mut longest = 0;
    // Most content holds no fence at all, and a search is many times faster than counting.
    if content.contains("```") {
        let mut run = 0;
        for byte in content.bytes() {
            run = if byte == b'`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
    }
    let fence = "`".repeat((longest + 1).max(3));
    let _ = writeln!(text, "{fence}{language}");
    text.push_str(content);
    end_line(text);
    let _ = writeln!(text, "{fence}");
}

/// A growing text of which only the first and the last characters are kept.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    head: String,
    head_characters: usize,
    tail: String,
    tail_characters: usize,
    left_out: usize,
}

impl Ends {
    /// Adds `text`, keeping at most `head` characters of the beginning and `tail` of the end.
    pub(crate) fn push(&mut self, text: &str, head: usize, tail: usize) {
        let begin = first(text, head.saturating_sub(self.head_characters));
        if self.tail_characters == 0 && self.left_out == 0 {
            self.head.push_str(begin);
            self.head_characters += begin.chars().count();
        }
        let rest = match self.tail_characters == 0 && self.left_out == 0 {
            true => text.get(begin.len()..).unwrap_or_default(),
            false => text,
        };
        self.tail.push_str(rest);
        self.tail_characters += rest.chars().count();
        // Trimmed only once twice as long as needed, so that each character is moved a bounded number of times.
        if self.tail_characters > tail.saturating_mul(2) {
            self.trim(tail);
        }
    }

    fn trim(&mut self, tail: usize) {
        let kept = last(&self.tail, tail).len();
        self.tail.drain(..self.tail.len() - kept);
        self.left_out += self.tail_characters.saturating_sub(tail);
        self.tail_characters = self.tail_characters.min(tail);
    }

    /// The text, with a marker line where something is left out.
    pub(crate) fn render(&self, tail: usize) -> String {
        let end = last(&self.tail, tail);
        let left_out = self.left_out + self.tail_characters.saturating_sub(tail);
        let mut text = String::with_capacity(self.head.len() + end.len() + 48);
        text.push_str(&self.head);
        if left_out > 0 {
            end_line(&mut text);
            let _ = writeln!(text, "[… {left_out} characters left out …]");
        }
        text.push_str(end);
        text
    }
}

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;
