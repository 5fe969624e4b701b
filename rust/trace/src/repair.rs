//! Cuts the torn tail of a log whose writer is gone, for the task's owner. Nothing before the last newline is touched:
//! a bad line in the middle is evidence of something and stays. The caller must know that nobody writes.

use crate::error::{Act, Error};
use crate::open::{Access, open};
use coder_digest::Digest;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const BLOCK: u64 = 64 << 10;

/// The bytes that were cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// How many.
    pub bytes: u64,
    /// Their digest.
    pub digest: Digest,
}

/// What a repair did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repaired {
    /// The bytes that stay.
    pub kept: u64,
    /// The torn tail, where there was one.
    pub cut: Option<Cut>,
}

/// Cuts what follows the last newline of the log `path`; the shorter file is on disk when this returns.
///
/// # Errors
/// As [`crate::Reader::open`], except that a log of any size is repaired; [`Error::File`] where the cut fails.
pub fn repair(path: &Path) -> Result<Repaired, Error> {
    let mut file = open(path, Access::Repair)?;
    let reading = |source| Error::file(path, Act::Read, source);
    let bytes = file.metadata().map_err(reading)?.len();
    let kept = after_last_newline(&file, bytes).map_err(reading)?;
    if kept == bytes {
        return Ok(Repaired { kept, cut: None });
    }
    file.seek(SeekFrom::Start(kept)).map_err(reading)?;
    let (digest, count) = Digest::of_reader((&file).take(bytes - kept)).map_err(reading)?;
    file.set_len(kept)
        .and_then(|()| file.sync_data())
        .map_err(|source| Error::file(path, Act::Cut, source))?;
    Ok(Repaired {
        kept,
        cut: Some(Cut { bytes: count, digest }),
    })
}

fn after_last_newline(file: &File, bytes: u64) -> std::io::Result<u64> {
    let mut end = bytes;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        block.resize(usize::try_from(end - start).unwrap_or_default(), 0);
        file.read_exact_at(&mut block, start)?;
        if let Some(place) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
