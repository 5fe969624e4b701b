//! One pass over the log, line by line: where each step is, what is wrong with which line, the chain and the digest of
//! the whole. Holds one line at a time and, per step, its place and digest. The pass can be taken up again where it
//! stopped, so following a growing log costs its new bytes only.

use crate::effect::{EffectRecord, ResultRecord};
use crate::fault::{Fault, FaultKind};
use crate::limits;
use crate::record::{Previous, Record, decode};
use crate::step::{RecordedStep, Session};
use coder_digest::{Digest, Hasher, Timestamp};
use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufRead};

/// The session record of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// When the log was begun.
    pub at: Timestamp,
    /// Whose it is.
    pub session: Session,
}

/// Whether the lines name the ones before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// They do; a break is a fault.
    Present,
    /// None does, as in logs written before the chain: an edited line does not show.
    Absent,
}

/// Where one step is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    /// The line's bytes, its newline included.
    pub(crate) length: usize,
    pub(crate) digest: Digest,
    /// The name its call gets in the rendered document, where the recorded one is taken.
    pub(crate) call_name: Option<Box<str>>,
}

/// What one pass found.
#[derive(Clone)]
pub struct Index {
    pub(crate) entries: Vec<Entry>,
    pub(crate) opening: Option<Opening>,
    pub(crate) met_session: bool,
    pub(crate) ended: Option<Timestamp>,
    pub(crate) chain: Option<Chain>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) fault_count: u64,
    pub(crate) torn: Option<Fault>,
    pub(crate) lines: u64,
    pub(crate) whole_bytes: u64,
    pub(crate) bytes: u64,
    /// The hash of the whole lines as far as it went; gone where the index was read back, until it is asked for again.
    pub(crate) hasher: Option<Hasher>,
    /// The digest of the whole lines.
    pub(crate) whole_digest: Digest,
    pub(crate) digest: Digest,
    pub(crate) last_line: Option<Digest>,
    pub(crate) call_names: HashSet<Box<str>>,
    pub(crate) unfinished: BTreeSet<u64>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Index")
            .field("steps", &self.entries.len())
            .field("lines", &self.lines)
            .field("bytes", &self.bytes)
            .field("digest", &self.digest)
            .field("faults", &self.faults())
            .finish_non_exhaustive()
    }
}

impl Index {
    pub(crate) fn empty() -> Self {
        Self {
            entries: Vec::new(),
            opening: None,
            met_session: false,
            ended: None,
            chain: None,
            faults: Vec::new(),
            fault_count: 0,
            torn: None,
            lines: 0,
            whole_bytes: 0,
            bytes: 0,
            hasher: Some(Hasher::new()),
            whole_digest: Digest::of(b""),
            digest: Digest::of(b""),
            last_line: None,
            call_names: HashSet::new(),
            unfinished: BTreeSet::new(),
        }
    }

    /// Takes the pass up from [`Index::whole_bytes`], where `input` must stand, to the end of `input`. The hash of what
    /// lies before must be there: see [`Index::needs_hash`].
    pub(crate) fn scan(&mut self, mut input: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        let mut hasher = self.hasher.take().unwrap_or_default();
        self.torn = None;
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.last() != Some(&b'\n') {
                break;
            }
            hasher.update(&line);
            self.whole_line(&line);
        }
        self.whole_digest = hasher.finish();
        self.hasher = Some(hasher.clone());
        hasher.update(&line);
        self.digest = hasher.finish();
        self.bytes = hasher.bytes();
        if !line.is_empty() {
            self.torn = Some(Fault {
                line: self.lines + 1,
                kind: FaultKind::Torn,
            });
        }
        Ok(())
    }

    fn whole_line(&mut self, line: &[u8]) {
        let offset = self.whole_bytes;
        self.lines += 1;
        self.whole_bytes += line.len() as u64;
        let digest = Digest::of(line);
        let (record, previous) = decode(line.strip_suffix(b"\n").unwrap_or(line));
        match record {
            // What a line that is no record says of the line before is not known; the line after will not fit it.
            Err(kind) => self.fault(kind),
            Ok(record) => {
                self.link(previous);
                self.take(record, offset, line.len(), digest);
            }
        }
        self.last_line = Some(digest);
    }

    fn link(&mut self, previous: Previous) {
        let found = match previous {
            Previous::Absent => Chain::Absent,
            Previous::First | Previous::Line(_) | Previous::Bad => Chain::Present,
        };
        let chain = *self.chain.get_or_insert(found);
        let fits = match previous {
            Previous::Absent => chain == Chain::Absent,
            Previous::First => chain == Chain::Present && self.lines == 1,
            Previous::Line(digest) => chain == Chain::Present && self.last_line == Some(digest),
            Previous::Bad => false,
        };
        if !fits {
            self.fault(FaultKind::BadChain);
        }
    }

    fn take(&mut self, record: Record, offset: u64, length: usize, digest: Digest) {
        match record {
            Record::Session { .. } if self.met_session => self.fault(FaultKind::RepeatedSession),
            Record::Session { at, session } => {
                self.met_session = true;
                self.opening = Some(Opening { at, session });
            }
            Record::Step(_) | Record::End { .. } if !self.met_session => self.fault(FaultKind::BeforeSession),
            Record::Step(_) if self.ended.is_some() => self.fault(FaultKind::AfterEnd),
            Record::Step(recorded) => {
                let call_name = self.call_name(&recorded);
                if let Some(intent) = EffectRecord::of(&recorded.step) {
                    self.unfinished.insert(intent.sequence);
                }
                if let Some(result) = ResultRecord::of(&recorded.step) {
                    self.unfinished.remove(&result.sequence);
                }
                self.entries.push(Entry {
                    line: self.lines,
                    offset,
                    length,
                    digest,
                    call_name,
                });
            }
            Record::End { .. } if self.ended.is_some() => self.fault(FaultKind::RepeatedEnd),
            Record::End { at } => self.ended = Some(at),
        }
    }

    /// Providers repeat call names between requests, but a document's must be unique.
    fn call_name(&mut self, recorded: &RecordedStep) -> Option<Box<str>> {
        let call = recorded.step.call.as_ref()?;
        if self.call_names.insert(call.id.as_str().into()) {
            return None;
        }
        let mut name = format!("{}#{}", call.id, self.entries.len() + 1);
        while !self.call_names.insert(name.as_str().into()) {
            name.push('#');
        }
        Some(name.into())
    }

    fn fault(&mut self, kind: FaultKind) {
        if matches!(kind, FaultKind::BadSession | FaultKind::UnsupportedVersion) {
            // It was meant as the session; the steps after it are not blamed for it.
            self.met_session = true;
        }
        self.fault_count += 1;
        if self.faults.len() < limits::FAULTS {
            self.faults.push(Fault { line: self.lines, kind });
        }
    }

    /// The session record, where one was read.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// The effects that were announced and have no result, by number: after a crash, what may or may not have happened.
    pub fn unfinished_effects(&self) -> Vec<u64> {
        self.unfinished.iter().copied().collect()
    }

    /// Whether the index was read back and knows the digest of its lines but not the hash that goes on from there.
    pub(crate) fn needs_hash(&self) -> bool {
        self.hasher.is_none()
    }

    /// Takes the hash of the whole lines, made anew; false where they are not the indexed ones.
    pub(crate) fn take_hash(&mut self, hasher: Hasher) -> bool {
        let same = hasher.bytes() == self.whole_bytes && hasher.finish() == self.whole_digest;
        if same {
            self.hasher = Some(hasher);
        }
        same
    }

    pub(crate) fn is_torn(&self) -> bool {
        self.torn.is_some()
    }

    /// When the log was ended, where it was.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Whether its lines are chained.
    pub fn chain(&self) -> Chain {
        self.chain.unwrap_or(Chain::Absent)
    }

    /// What is wrong, in the order of the lines; at most [`limits::FAULTS`] and the torn tail.
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.iter().chain(&self.torn).copied().collect()
    }

    /// How many faults there are, itemised or not.
    pub fn fault_count(&self) -> u64 {
        self.fault_count + u64::from(self.torn.is_some())
    }

    /// How many steps can be read.
    pub fn steps(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Whole lines.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// All bytes, a torn tail included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of the whole lines.
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// The digest of all bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}
