//! Output of any length in little room: its beginning, its end, and how much lies between. The trace has all of it.

use crate::screen;

/// What is kept of each end, in bytes.
const END: usize = 24 * 1024;

/// The two ends of a stream.
#[derive(Debug, Default, PartialEq, Clone)]
pub(crate) struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// How long the stream was, as far as is known.
    bytes: u64,
    /// Bytes after `head` that are not in `tail`.
    between: u64,
}

impl Output {
    /// All of `bytes` that is kept.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut output = Self::default();
        output.push(bytes);
        output
    }

    /// Adds the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let room = END.saturating_sub(self.head.len());
        // Once something went past the head, nothing that follows belongs to it.
        let room = if self.tail.is_empty() && self.between == 0 {
            room
        } else {
            0
        };
        let (first, rest) = piece.split_at(room.min(piece.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        let over = self.tail.len().saturating_sub(END);
        // Cut rarely, so that many small pieces do not each move the whole tail.
        if over > END {
            self.between += over as u64;
            self.tail.drain(..over);
        }
    }

    /// A stretch that is not there.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.between += self.tail.len() as u64 + bytes;
        self.tail.clear();
    }

    /// How long the whole stream was.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its lines, harmless: those of the beginning, how many bytes are left out, those of the end.
    pub(crate) fn lines(&self) -> (Vec<String>, u64, Vec<String>) {
        let over = self.tail.len().saturating_sub(END);
        let between = self.between + over as u64;
        let tail = self.tail.get(over..).unwrap_or_default();
        if between == 0 {
            return (screen::lines(&[self.head.as_slice(), tail].concat()), 0, Vec::new());
        }
        (screen::lines(&self.head), between, screen::lines(tail))
    }
}
