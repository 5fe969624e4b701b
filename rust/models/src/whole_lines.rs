//! A stream of bytes in pieces that end where a line ends. The parser of events begins again at all it holds whenever more
//! comes, so that one line of a mebibyte in small pieces was read a hundred times over. Bounds nothing: what feeds it does.

use futures_util::stream::{self, Stream, StreamExt as _};

/// The same bytes, cut anew. A part of a line that no end follows comes last.
pub(crate) fn whole_lines<B: AsRef<[u8]>, E>(
    pieces: impl Stream<Item = Result<B, E>> + Unpin,
) -> impl Stream<Item = Result<Vec<u8>, E>> + Unpin {
    Box::pin(stream::unfold(Some((pieces, Vec::new())), |state| async {
        let (mut pieces, mut held) = state?;
        loop {
            match pieces.next().await {
                Some(Ok(piece)) => {
                    let (lines, rest) = split(piece.as_ref());
                    held.extend_from_slice(lines);
                    if lines.is_empty() {
                        held.extend_from_slice(rest);
                    } else {
                        return Some((Ok(held), Some((pieces, rest.to_vec()))));
                    }
                }
                Some(Err(error)) => return Some((Err(error), None)),
                None if held.is_empty() => return None,
                None => return Some((Ok(held), None)),
            }
        }
    }))
}

/// What of a piece ends a line, and what begins the next. A carriage return alone ends one too, where no line feed does.
fn split(piece: &[u8]) -> (&[u8], &[u8]) {
    let last = |end: u8| piece.iter().rposition(|byte| *byte == end);
    let cut = last(b'\n').or_else(|| last(b'\r')).map_or(0, |place| place + 1);
    piece.split_at(cut)
}

#[cfg(test)]
#[path = "whole_lines_tests.rs"]
mod tests;
