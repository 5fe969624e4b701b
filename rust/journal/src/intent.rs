//! What a task is to do, as submitted: title, prompt, workspace, requested adapter and model. Immutable once accepted.
//! Checking it touches no file, no model and no network. Its digest is that of serde_json's compact text with the fields
//! in declaration order, not of canonical JSON (facts 1.4); the tests publish vectors for other implementations.

use crate::Error;
use crate::limits;
use coder_digest::{Digest, Identifier, ModelName, check_line, check_text};
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;

/// A checked intent. The order of the fields here and below is part of the digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// One line, at most 256 bytes.
    pub title: String,
    /// At most 32 KiB.
    pub prompt: String,
    /// Where the work happens.
    pub workspace: Workspace,
    /// Who is asked to do it.
    pub configuration: Configuration,
    /// Names of attached images, at most 16 single lines of at most 4096 bytes; omitted when there are none, so that
    /// older intents keep their bytes and digests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// The tree a task works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    /// Absolute, at most 4096 bytes, without `.` and `..`.
    pub path: String,
    /// The full commit id the tree must be at, lower-case hexadecimal of 40 or 64 digits, or null.
    #[serde(deserialize_with = "present")]
    pub source_revision: Option<String>,
}

/// The requested adapter and model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Which adapter runs the task.
    pub adapter: Identifier,
    /// The exact model, or null where the adapter takes none. The pair is checked at admission, not here.
    #[serde(deserialize_with = "present")]
    pub model: Option<ModelName>,
}

/// A field that may be null but not absent: one intent, one text.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

impl Intent {
    /// `sha256:` digest of the compact serialisation in declaration order.
    pub fn digest(&self) -> Digest {
        // A struct of strings always has a JSON form; the empty fallback keeps this total without a panic.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        check_line("title", &self.title, limits::TITLE_BYTES)?;
        check_text("prompt", &self.prompt, limits::PROMPT_BYTES)?;
        check_line("workspace.path", &self.workspace.path, limits::PATH_BYTES)?;
        let path = &self.workspace.path;
        if !path.starts_with('/') || path.split('/').any(|component| matches!(component, "." | "..")) {
            return Err(Error::CommandField {
                field: "workspace.path",
                rule: "must be absolute and without `.` and `..` components",
            });
        }
        if let Some(revision) = &self.workspace.source_revision
            && !is_commit(revision)
        {
            return Err(Error::CommandField {
                field: "workspace.source_revision",
                rule: "must be null or a full commit id: 40 or 64 lower-case hexadecimal digits",
            });
        }
        if self.images.len() > limits::IMAGES {
            return Err(Error::CommandField {
                field: "images",
                rule: "must name at most 16 images",
            });
        }
        for image in &self.images {
            check_line("images", image, limits::PATH_BYTES)?;
        }
        Ok(())
    }

    pub(crate) fn tree(&self) -> &Path {
        Path::new(&self.workspace.path)
    }
}

pub(crate) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
#[path = "intent_tests.rs"]
mod tests;
