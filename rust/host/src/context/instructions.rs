//! The repository's instruction files: `AGENTS.md` at the top level and in every directory on the way to a declared target.
//! Reads are confined to the workspace. Deciding whether to follow them is the model's; nothing here does.

use crate::Error;
use coder_digest::Digest;
use coder_workspace::{Confined, Observation, ReadCap, Refusal};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The only instruction file that is captured.
pub(super) const FILE: &str = "AGENTS.md";
/// The longest instruction file, in bytes.
pub(super) const FILE_BYTES: usize = 64 * 1024;
/// All of them together.
pub(super) const ALL_BYTES: usize = 256 * 1024;
/// The scope of the file at the top level.
const TOP: &str = ".";

/// One instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// Its path in the workspace.
    pub path: String,
    /// The directory it speaks of; `.` is the whole repository.
    pub scope: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its text.
    pub text: String,
}

impl Instruction {
    /// The scope for a reader.
    pub(super) fn scope_in_words(&self) -> String {
        if self.scope == TOP {
            "the whole repository".to_owned()
        } else {
            format!("everything below {}/", self.scope)
        }
    }
}

/// Reads the files that hold for `targets`, shallow to deep.
pub(super) fn read(workspace: &Confined, targets: &[String]) -> Result<Vec<Instruction>, Error> {
    let mut found = Vec::new();
    let mut bytes = 0;
    for (_, directory) in directories(targets) {
        // A target may be a file or not exist yet; then it has no directory of its own to look into.
        let is_only_target = !targets.iter().any(|target| is_inside(target, &directory));
        let Some(instruction) = one(workspace, &directory, is_only_target)? else {
            continue;
        };
        bytes += instruction.text.len();
        if bytes > ALL_BYTES {
            return refused(
                &instruction.path,
                format!("with it the instruction files have {bytes} bytes; at most {ALL_BYTES} are read"),
            );
        }
        found.push(instruction);
    }
    Ok(found)
}

/// Every directory on the way to a target, and the targets themselves, by depth and then by name.
fn directories(targets: &[String]) -> BTreeSet<(usize, String)> {
    let mut found = BTreeSet::from([(0, String::new())]);
    for target in targets {
        let names: Vec<&str> = target.split('/').collect();
        for depth in 1..=names.len() {
            found.insert((depth, names.iter().take(depth).copied().collect::<Vec<_>>().join("/")));
        }
    }
    found
}

/// Whether `target` lies below `directory`, by whole names.
fn is_inside(target: &str, directory: &str) -> bool {
    directory.is_empty() || target.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

fn one(workspace: &Confined, directory: &str, is_only_target: bool) -> Result<Option<Instruction>, Error> {
    let path = match directory {
        "" => FILE.to_owned(),
        _ => format!("{directory}/{FILE}"),
    };
    match workspace.read(Path::new(&path), ReadCap::new(FILE_BYTES)?) {
        Observation::Absent => Ok(None),
        Observation::Refused(Refusal::NotDirectory(_)) if is_only_target => Ok(None),
        Observation::Refused(refusal) => refused(&path, refusal.to_string()),
        Observation::ReadError { reason, .. } => refused(&path, reason),
        Observation::Found { bytes, digest, total } => {
            if total > FILE_BYTES as u64 {
                return refused(&path, format!("it has {total} bytes; at most {FILE_BYTES} are read"));
            }
            match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(Instruction {
                    scope: if directory.is_empty() { TOP } else { directory }.to_owned(),
                    path,
                    digest,
                    text,
                })),
                Err(_) => refused(&path, "it is not UTF-8".to_owned()),
            }
        }
    }
}

fn refused<T>(path: &str, reason: String) -> Result<T, Error> {
    Err(Error::Instructions {
        path: path.to_owned(),
        reason,
    })
}
