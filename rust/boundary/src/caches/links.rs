//! A cache made of links: directories of its own down to a depth, and links to what the real cache holds there. So what is
//! in the real one is found, and what is new has a place beside it.

use std::fs;
use std::path::{Path, PathBuf};

/// The most links of one cache. Each costs a little at every start of a boundary in memory.
const LINKS: usize = 16_384;

/// Each link below the cache and what it leads to; nothing without a depth, for a cache that cannot be read, and for one
/// with more entries than are linked: half a cache would be taken for a damaged one.
pub(super) fn of(real: &Path, depth: Option<u8>) -> Option<Vec<(PathBuf, PathBuf)>> {
    let mut links = Vec::new();
    let mut pending = vec![(PathBuf::new(), depth?)];
    while let Some((below, depth)) = pending.pop() {
        for entry in fs::read_dir(real.join(&below)).ok()? {
            let entry = entry.ok()?;
            let path = below.join(entry.file_name());
            // A link in the cache is followed by whoever reads it, and not from here.
            if depth > 0 && entry.file_type().ok()?.is_dir() {
                pending.push((path, depth - 1));
                continue;
            }
            if links.len() == LINKS {
                return None;
            }
            links.push((path, entry.path()));
        }
    }
    links.sort();
    Some(links)
}
