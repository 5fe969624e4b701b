//! The one error of this crate: each variant one failed act. No message holds key material.

use std::io;
use std::path::PathBuf;

/// Why a key or an envelope cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key file could not be read or made.
    #[error("could not {act} the key {}", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A private key that others can read is no secret.
    #[error("the key {} is refused: {reason}", path.display())]
    NotPrivate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and the remedy.
        reason: &'static str,
    },
    /// The text is no key of the kind needed.
    #[error("not a {kind} key: {reason}")]
    BadKey {
        /// `private` or `public`.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The text is no envelope.
    #[error("not a DSSE envelope: {reason}")]
    BadEnvelope {
        /// What is wrong.
        reason: String,
    },
    /// No signature of the envelope was made by the key.
    #[error("no signature in the envelope was made over this payload by the key {key_id}")]
    NotSigned {
        /// The key.
        key_id: String,
    },
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "key_file",
            Self::NotPrivate { .. } => "key_not_private",
            Self::BadKey { .. } => "bad_key",
            Self::BadEnvelope { .. } => "bad_envelope",
            Self::NotSigned { .. } => "bad_signature",
        }
    }
}
