//! What is kept of a stream: its first bytes, its last bytes, and the true count of all. Constant memory.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

/// How many bytes of a stream are kept: the first `head`, and the last `tail` of those after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Bytes from the beginning.
    pub head: usize,
    /// Bytes before the end.
    pub tail: usize,
}

impl Default for Window {
    /// 64 KiB at each end.
    fn default() -> Self {
        Self {
            head: 64 << 10,
            tail: 64 << 10,
        }
    }
}

/// The kept bytes of one stream. Head and tail never overlap; between them may be a gap that was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, as far as they are not in the head.
    pub tail: Vec<u8>,
    /// Where in the stream the tail begins.
    pub tail_offset: u64,
    /// How many bytes the command wrote as far as was seen.
    pub total_bytes: u64,
}

impl Captured {
    /// Whether bytes of the stream are missing here.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.gap().is_some()
    }

    /// The missing bytes, as offsets into the stream.
    #[must_use]
    pub fn gap(&self) -> Option<Range<u64>> {
        let kept = self.head.len() as u64;
        (kept < self.tail_offset).then_some(kept..self.tail_offset)
    }

    /// The whole stream, if nothing of it is missing.
    #[must_use]
    pub fn complete(&self) -> Option<Cow<'_, [u8]>> {
        match (self.truncated(), self.tail.is_empty()) {
            (true, _) => None,
            (false, true) => Some(Cow::Borrowed(&self.head)),
            (false, false) => Some(Cow::Owned([self.head.as_slice(), self.tail.as_slice()].concat())),
        }
    }
}

/// Takes a stream piece by piece.
#[derive(Debug)]
pub(crate) struct Recorder {
    window: Window,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Recorder {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.window.head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.window.tail)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.window.tail);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Captured {
        let tail = Vec::from(self.tail);
        let tail_offset = self.total.saturating_sub(tail.len() as u64);
        Captured {
            head: self.head,
            tail,
            tail_offset,
            total_bytes: self.total,
        }
    }
}

#[cfg(test)]
#[path = "captured_tests.rs"]
mod tests;
