//! What can go wrong before a client exists: its address, its key, its script. What goes wrong in a call is part of the
//! reply, not an error of this kind.

use coder_digest::{Digest, json};
use std::path::PathBuf;

/// A client that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The endpoint is not allowed.
    #[error("the endpoint is refused: {reason}")]
    Endpoint {
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// The key cannot be sent, or could not be kept out of the record.
    #[error("the key is refused: {reason}")]
    Key {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no login that can be used.
    #[error("{reason}")]
    Login {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The provider's program cannot be used.
    #[error("{reason}")]
    Program {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The HTTP client or its runtime could not be set up.
    #[error("the HTTP client could not be set up: {reason}")]
    Setup {
        /// What failed.
        reason: String,
    },
    /// The script could not be read.
    #[error("cannot read the script {}", path.display())]
    ReadScript {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The script is not the one that was admitted.
    #[error("the script {} has the digest {actual}; the grant names {expected}", path.display())]
    ScriptDigest {
        /// Where it is.
        path: PathBuf,
        /// The admitted one.
        expected: Digest,
        /// Its own.
        actual: Digest,
    },
    /// The script is not strict JSON of the known shape.
    #[error("the script is not usable")]
    ScriptJson {
        /// What is wrong with it.
        source: json::Error,
    },
    /// The script has another schema.
    #[error("the script's schema is not `{expected}`")]
    ScriptSchema {
        /// The only schema read here.
        expected: &'static str,
    },
    /// A turn of the script says too much or too little.
    #[error("turn {turn} of the script {reason}")]
    ScriptTurn {
        /// Its number, from 1.
        turn: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Error {
    /// The stable name of the failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Endpoint { .. } => "endpoint",
            Self::Key { .. } => "key",
            Self::Login { .. } => "login",
            Self::Program { .. } => "program",
            Self::Setup { .. } => "setup",
            Self::ReadScript { .. } => "read_script",
            Self::ScriptDigest { .. } => "script_digest",
            Self::ScriptJson { .. } => "script_json",
            Self::ScriptSchema { .. } => "script_schema",
            Self::ScriptTurn { .. } => "script_turn",
        }
    }
}
