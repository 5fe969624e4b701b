//! The extensions that a command leaves between its intent and its result (facts 9.3): who holds it, its process, and the
//! pieces of its output with their place and what is missing of them.

use crate::{Bytes, Step};
use serde::{Deserialize, Serialize};

/// The `process` extension: the effect's process exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessRecord {
    /// The effect's number.
    pub effect: u64,
    /// The process, as the host's kernel numbers it.
    pub pid: u32,
}

/// The `holder` extension: who will hold the effect's processes, written down before any of them exists. The name stays
/// good after a crash, so that it can be proved later that they are gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HolderRecord {
    /// The effect's number.
    pub effect: u64,
    /// The holding process, as the host's kernel numbers it.
    pub process: i32,
    /// When it started, in clock ticks since the machine did.
    pub start_ticks: u64,
    /// The machine's start, by the kernel's name for it.
    pub boot: String,
    /// The pid namespace that numbered it, by its inode.
    pub namespace: u64,
    /// Whether its end is the end of every process of the effect.
    pub contains: bool,
}

impl HolderRecord {
    /// The extension's name in a step.
    pub const EXTENSION: &str = "holder";

    /// The holder a step records, if it records a well-formed one.
    pub fn of(step: &Step) -> Option<Self> {
        step.extensions
            .get(Self::EXTENSION)
            .and_then(|content| Self::deserialize(content).ok())
    }
}

/// Which output a piece is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Output that was produced and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Where it begins, in bytes from the start of the stream.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

/// The `stream` extension: one piece of an effect's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamRecord {
    /// The effect's number.
    pub effect: u64,
    /// Which output.
    pub name: StreamName,
    /// Where the piece begins, in bytes from the start of the stream.
    pub offset: u64,
    /// The piece.
    pub bytes: Bytes,
    /// What is missing.
    #[serde(default)]
    pub gaps: Vec<Gap>,
}
