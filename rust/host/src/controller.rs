//! The identity of the running controller, as far as this machine can say it. A local look and no attestation.

use crate::{Error, world};
use coder_digest::Digest;
use serde_json::{Value, json};
use std::path::Path;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is recorded of the controller at `path`, which must have the digest that is pinned. Its bytes are read only then: a
/// large executable takes seconds, and every start would wait for them.
///
/// # Errors
/// [`Error::Mismatch`] for another digest, [`Error::File`] where the executable cannot be read.
pub(crate) fn identify(path: &Path, expected: Option<Digest>) -> Result<Value, Error> {
    let metadata = path.metadata().map_err(Error::file("look at the controller", path))?;
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    if let Some(expected) = expected {
        let actual = world::program_digest(path)?;
        if actual != expected {
            return Err(Error::mismatch(
                "expected_controller_digest",
                &expected,
                "the running controller",
                &actual,
            ));
        }
    }
    Ok(json!({
        "path": path.display().to_string(),
        "digest": expected,
        "bytes": metadata.len(),
        "modified_ms": modified.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        "version": VERSION,
    }))
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
