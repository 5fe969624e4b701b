//! Markup in the making. What is markup is written in this program's source, and what is not comes in through [`text`]
//! alone: made harmless and escaped. So no byte of a repository, a model or a command can become markup.
//!
//! [`text`]: Markup::text

use crate::screen;

/// The whole page's room for what others said, in bytes: past it each block is cut to a few lines.
const ROOM: usize = 24 << 20;
/// What of one block is shown at most, in lines.
const BLOCK_LINES: usize = 1200;
/// The lines of a block once the room is used up.
const LAST_LINES: usize = 4;

/// The text of a page.
pub(super) struct Markup {
    text: String,
    room: usize,
}

impl Default for Markup {
    fn default() -> Self {
        Self {
            text: String::with_capacity(256 * 1024),
            room: ROOM,
        }
    }
}

impl Markup {
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Markup of this program's own.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Anybody's text, in one line.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let shown = screen::harmless(text.as_bytes());
        self.escape(&shown);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.text.push_str(&number.to_string());
        self
    }

    /// `text` between two pieces of markup.
    pub(super) fn wrap(&mut self, before: &'static str, text: &str, after: &'static str) -> &mut Self {
        self.raw(before).text(text).raw(after)
    }

    /// A small label.
    pub(super) fn badge(&mut self, class: Class, text: &str) -> &mut Self {
        self.raw("<span class=\"badge ")
            .raw(class.name())
            .raw("\">")
            .text(text)
            .raw("</span>")
    }

    /// Lines of a block, as many as there is room for; says how many are missing.
    pub(super) fn lines(&mut self, lines: &[String]) -> &mut Self {
        let most = if self.room == 0 { LAST_LINES } else { BLOCK_LINES };
        for (place, line) in lines.iter().take(most).enumerate() {
            if place > 0 {
                self.raw("\n");
            }
            self.room = self.room.saturating_sub(line.len());
            // Harmless already: lines come from `screen::lines`, and making them so again changes nothing.
            self.text(line);
        }
        if let Some(missing) = lines.len().checked_sub(most).filter(|missing| *missing > 0) {
            let words = format!("… {} not shown here", screen::counted(missing as u64, "more line"));
            self.raw("\n").wrap("<i>", &words, "</i>");
        }
        self
    }

    fn escape(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                other => self.text.push(other),
            }
        }
    }
}

/// How a label stands out; the words say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Good,
    Bad,
    Busy,
    Plain,
}

impl Class {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Busy => "busy",
            Self::Plain => "plain",
        }
    }
}

#[cfg(test)]
#[path = "markup_tests.rs"]
mod tests;
