//! Frozen documents: exactly those the requirements name, by id, version, digest, path and sources. Nothing is looked up,
//! chosen or fetched; a document that differs from its pin in anything refuses. That its account of where it comes from is
//! true is its author's word.

use super::front_matter::{self, FrontMatter, Status};
use crate::Error;
use crate::requirements::KnowledgeInput;
use coder_digest::Digest;
use coder_workspace::{Confined, Observation, ReadCap};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The longest document, in bytes.
pub(super) const DOCUMENT_BYTES: usize = 64 * 1024;
/// All of them together.
pub(super) const ALL_BYTES: usize = 256 * 1024;

/// One document, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// Its name.
    pub id: String,
    /// Its version, from 1.
    pub version: u32,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its path in the workspace.
    pub path: String,
    /// Where it comes from.
    pub sources: Vec<String>,
    /// Its text, front matter included.
    pub text: String,
}

/// Reads every document of the inventory and compares it with its pin.
pub(super) fn read(workspace: &Confined, inventory: &[KnowledgeInput]) -> Result<Vec<Document>, Error> {
    let mut documents = Vec::with_capacity(inventory.len());
    let mut bytes = 0;
    for input in inventory {
        let refused = |reason: String| Error::Knowledge {
            id: input.id.clone(),
            path: input.path.clone(),
            reason,
        };
        let text = text(workspace, input).map_err(refused)?;
        bytes += text.len();
        if bytes > ALL_BYTES {
            let reason = format!("with it the documents have {bytes} bytes; at most {ALL_BYTES} are read");
            return Err(refused(reason));
        }
        let front = front_matter::parse(&text).map_err(refused)?;
        compare(input, &front).map_err(refused)?;
        documents.push(Document {
            id: input.id.clone(),
            version: input.version,
            digest: input.digest,
            path: input.path.clone(),
            sources: input.sources.clone(),
            text,
        });
    }
    Ok(documents)
}

/// The document's exact text, which has the pinned digest.
fn text(workspace: &Confined, input: &KnowledgeInput) -> Result<String, String> {
    let cap = ReadCap::new(DOCUMENT_BYTES).map_err(|error| error.to_string())?;
    match workspace.read(Path::new(&input.path), cap) {
        Observation::Absent => Err("there is no such file".to_owned()),
        Observation::Refused(refusal) => Err(refusal.to_string()),
        Observation::ReadError { reason, .. } => Err(reason),
        Observation::Found { bytes, digest, total } => {
            if total > DOCUMENT_BYTES as u64 {
                return Err(format!("it has {total} bytes; at most {DOCUMENT_BYTES} are read"));
            }
            if digest != input.digest {
                return Err(format!("its digest is {digest}, and {} is pinned", input.digest));
            }
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
        }
    }
}

/// What the document says of itself is what the requirements say of it.
fn compare(input: &KnowledgeInput, front: &FrontMatter) -> Result<(), String> {
    if front.id != input.id {
        return Err(format!("it says its `id` is `{}`", front.id));
    }
    if front.version != input.version {
        let (said, pinned) = (front.version, input.version);
        return Err(format!("it says its `version` is {said}, and {pinned} is pinned"));
    }
    match front.status {
        Status::Withdrawn => return Err("it is withdrawn".to_owned()),
        Status::Candidate | Status::Admitted => {}
    }
    let set = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
    if set(&front.provenance.written_from) != set(&input.sources) {
        return Err("its `provenance.written_from` is not exactly the `sources` that are pinned".to_owned());
    }
    Ok(())
}

#[cfg(test)]
#[path = "knowledge_tests.rs"]
mod tests;
