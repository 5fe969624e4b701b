//! The written form of an index: one line of JSON for what is small, then a fixed record per step, then the digest of
//! all before. Fixed records because a page must not wait for a hundred thousand of them to be parsed. Reading gives an
//! index only where every byte is as written; whether it still fits its log is for `kept_index` to find out.

use crate::fault::Fault;
use crate::index::{Chain, Entry, Index, Opening};
use crate::step::Session;
use coder_digest::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

/// Changed with every change of what a scan finds in the same bytes.
const FORMAT: &str = concat!("coder-trace-index-1 ", env!("CARGO_PKG_VERSION"));
const RECORD: usize = 8 + 8 + 8 + 32;
const DIGEST: usize = 32;

/// What shows that a file was not written since: device, inode, length, and both times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: u64,
    pub(crate) modified: (i64, i64),
    pub(crate) changed: (i64, i64),
}

/// An index and the file it is of.
pub(crate) struct Written {
    pub(crate) stamp: Stamp,
    /// When the file's bytes were last seen to be the indexed ones.
    pub(crate) seen: Timestamp,
    pub(crate) index: Index,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    format: String,
    stamp: Stamp,
    seen: Timestamp,
    opening: Option<(Timestamp, Session)>,
    met_session: bool,
    ended: Option<Timestamp>,
    chained: Option<bool>,
    faults: Vec<Fault>,
    fault_count: u64,
    torn: Option<Fault>,
    lines: u64,
    whole_bytes: u64,
    bytes: u64,
    whole_digest: Digest,
    digest: Digest,
    last_line: Option<Digest>,
    /// In order, so that the same index has the same bytes.
    call_names: std::collections::BTreeSet<Box<str>>,
    /// The steps whose call is renamed, by place.
    renamed: Vec<(usize, Box<str>)>,
    unfinished: std::collections::BTreeSet<u64>,
    entries: usize,
}

/// The bytes of `written`; nothing where it has no JSON form.
pub(crate) fn encode(written: &Written) -> Option<Vec<u8>> {
    let index = &written.index;
    let renamed = index.entries.iter().enumerate();
    let head = Head {
        format: FORMAT.to_owned(),
        stamp: written.stamp,
        seen: written.seen,
        opening: index
            .opening
            .as_ref()
            .map(|opening| (opening.at, opening.session.clone())),
        met_session: index.met_session,
        ended: index.ended,
        chained: index.chain.map(|chain| chain == Chain::Present),
        faults: index.faults.clone(),
        fault_count: index.fault_count,
        torn: index.torn,
        lines: index.lines,
        whole_bytes: index.whole_bytes,
        bytes: index.bytes,
        whole_digest: index.whole_digest,
        digest: index.digest,
        last_line: index.last_line,
        call_names: index.call_names.iter().cloned().collect(),
        renamed: renamed
            .filter_map(|(place, entry)| Some((place, entry.call_name.clone()?)))
            .collect(),
        unfinished: index.unfinished.clone(),
        entries: index.entries.len(),
    };
    let mut bytes = serde_json::to_vec(&head).ok()?;
    bytes.push(b'\n');
    bytes.reserve(index.entries.len() * RECORD + DIGEST);
    for entry in &index.entries {
        bytes.extend_from_slice(&entry.line.to_le_bytes());
        bytes.extend_from_slice(&entry.offset.to_le_bytes());
        bytes.extend_from_slice(&(entry.length as u64).to_le_bytes());
        bytes.extend_from_slice(entry.digest.as_bytes());
    }
    let digest = Digest::of(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    Some(bytes)
}

/// The index that `bytes` are of; nothing where one byte is not as written.
pub(crate) fn decode(bytes: &[u8]) -> Option<Written> {
    let (content, digest) = bytes.split_last_chunk::<DIGEST>()?;
    if Digest::of(content).as_bytes() != digest {
        return None;
    }
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let (head, records) = content.split_at_checked(end + 1)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let (records, rest) = records.as_chunks::<RECORD>();
    if head.format != FORMAT || !rest.is_empty() || records.len() != head.entries {
        return None;
    }
    let mut entries = records
        .iter()
        .map(|bytes| record(bytes).filter(|entry| fits(entry, head.whole_bytes)))
        .collect::<Option<Vec<Entry>>>()?;
    for (place, name) in head.renamed {
        entries.get_mut(place)?.call_name = Some(name);
    }
    let chain = |chained| if chained { Chain::Present } else { Chain::Absent };
    Some(Written {
        stamp: head.stamp,
        seen: head.seen,
        index: Index {
            entries,
            opening: head.opening.map(|(at, session)| Opening { at, session }),
            met_session: head.met_session,
            ended: head.ended,
            chain: head.chained.map(chain),
            faults: head.faults,
            fault_count: head.fault_count,
            torn: head.torn,
            lines: head.lines,
            whole_bytes: head.whole_bytes,
            bytes: head.bytes,
            hasher: None,
            whole_digest: head.whole_digest,
            digest: head.digest,
            last_line: head.last_line,
            call_names: head.call_names.into_iter().collect(),
            unfinished: head.unfinished,
        },
    })
}

fn record(bytes: &[u8; RECORD]) -> Option<Entry> {
    let (line, rest) = bytes.split_first_chunk::<8>()?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let digest = rest.first_chunk::<DIGEST>()?;
    Some(Entry {
        line: u64::from_le_bytes(*line),
        offset: u64::from_le_bytes(*offset),
        length: usize::try_from(u64::from_le_bytes(*length)).ok()?,
        digest: Digest::from_bytes(*digest),
        call_name: None,
    })
}

/// So that no written length asks for more memory than the log itself has bytes.
fn fits(entry: &Entry, whole_bytes: u64) -> bool {
    let end = entry.offset.checked_add(entry.length as u64);
    end.is_some_and(|end| end <= whole_bytes)
}
