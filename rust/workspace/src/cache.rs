//! Digests of files that did not change since they were hashed, so that the next snapshot need not read them again.
//! A digest is reused only for a file whose device, inode, length, mode, modification and status-change times all
//! still match, and is kept only if both times lay two seconds back when it was hashed: a write in the same tick of
//! the file system's clock would not show. Damage of the kept file costs time, never truth.

use crate::Error;
use crate::descriptor::{FileTime, Status};
use crate::retain::replace_file;
use coder_digest::{Digest, Timestamp};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// Past this the cache is emptied and filled anew: twice the entries of the largest snapshot.
const MAXIMUM_DIGESTS: usize = 400_000;

const SETTLED_MILLISECONDS: i64 = 2000;

const MAGIC: &[u8; 16] = b"coder-digests-1\n";
const RECORD_BYTES: usize = 8 * 3 + 4 + (8 + 4) * 2 + 32;

/// Everything that shows a file was not written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    mode: u32,
    modified: FileTime,
    changed: FileTime,
}

impl Stamp {
    pub fn of(status: &Status) -> Self {
        Self {
            device: status.device,
            inode: status.inode,
            length: status.length,
            mode: status.mode,
            modified: status.modified,
            changed: status.changed,
        }
    }
}

/// Known digests, shared by the threads of a walk and by walks one after the other.
///
/// Keep its file where only this user, and no agent, can write it: whoever writes it decides what unchanged means.
#[derive(Debug, Default)]
pub struct DigestCache {
    known: RwLock<HashMap<Stamp, Digest>>,
}

impl DigestCache {
    /// A cache that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What an earlier [`DigestCache::save`] kept at `path`. A file that is missing, unreadable or damaged in any
    /// byte is ignored whole.
    pub fn load(path: &Path) -> Self {
        let known = std::fs::read(path)
            .ok()
            .and_then(|bytes| decode(&bytes))
            .unwrap_or_default();
        Self {
            known: RwLock::new(known),
        }
    }

    /// Replaces the file at `path`, 0600, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Write`] when it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let bytes = encode(&self.known.read().unwrap_or_else(PoisonError::into_inner));
        replace_file(path, &bytes)
    }

    /// How many digests are known.
    pub fn len(&self) -> usize {
        self.known.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, stamp: &Stamp) -> Option<Digest> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(stamp)
            .copied()
    }

    /// Keeps the digest of a file that was opened for hashing at `at`, unless it was written too lately for that.
    pub(crate) fn keep(&self, stamp: Stamp, digest: Digest, at: Timestamp) {
        let settled = |time: FileTime| at.0.saturating_sub(time.milliseconds()) >= SETTLED_MILLISECONDS;
        if !(settled(stamp.modified) && settled(stamp.changed)) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAXIMUM_DIGESTS {
            known.clear();
        }
        known.insert(stamp, digest);
    }
}

fn encode(known: &HashMap<Stamp, Digest>) -> Vec<u8> {
    let mut sorted: Vec<_> = known.iter().collect();
    sorted.sort_unstable();
    let mut bytes = Vec::with_capacity(MAGIC.len() + sorted.len() * RECORD_BYTES + 32);
    bytes.extend_from_slice(MAGIC);
    for (stamp, digest) in sorted {
        for number in [stamp.device, stamp.inode, stamp.length] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&stamp.mode.to_le_bytes());
        for time in [stamp.modified, stamp.changed] {
            bytes.extend_from_slice(&time.0.to_le_bytes());
            bytes.extend_from_slice(&time.1.to_le_bytes());
        }
        bytes.extend_from_slice(digest.as_bytes());
    }
    let checksum = Digest::of(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<HashMap<Stamp, Digest>> {
    let (content, checksum) = bytes.split_last_chunk::<32>()?;
    if Digest::of(content).as_bytes() != checksum {
        return None;
    }
    let records = content.strip_prefix(MAGIC.as_slice())?;
    if records.len() % RECORD_BYTES != 0 || records.len() / RECORD_BYTES > MAXIMUM_DIGESTS {
        return None;
    }
    let mut known = HashMap::with_capacity(records.len() / RECORD_BYTES);
    for mut record in records.chunks_exact(RECORD_BYTES) {
        let rest = &mut record;
        let stamp = Stamp {
            device: u64::from_le_bytes(take(rest)?),
            inode: u64::from_le_bytes(take(rest)?),
            length: u64::from_le_bytes(take(rest)?),
            mode: u32::from_le_bytes(take(rest)?),
            modified: FileTime(i64::from_le_bytes(take(rest)?), u32::from_le_bytes(take(rest)?)),
            changed: FileTime(i64::from_le_bytes(take(rest)?), u32::from_le_bytes(take(rest)?)),
        };
        known.insert(stamp, Digest::from_bytes(take(rest)?));
    }
    Some(known)
}

fn take<const COUNT: usize>(rest: &mut &[u8]) -> Option<[u8; COUNT]> {
    let (taken, after) = rest.split_first_chunk::<COUNT>()?;
    *rest = after;
    Some(*taken)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
