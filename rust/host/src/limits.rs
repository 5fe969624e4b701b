//! What a command may use up beside memory, as a grant or a caller writes it, and what that makes of the boundary's
//! bounds. Enforces nothing.

use crate::Error;
use coder_boundary::Resources;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The open files of one command's process where nothing else is asked for.
const OPEN_FILES: u64 = 4096;
/// Processes and threads of one command where nothing else is asked for.
const PIDS: u64 = 4096;

const PIDS_BOUNDS: RangeInclusive<u64> = 4..=1 << 22;
const OPEN_FILES_BOUNDS: RangeInclusive<u64> = 16..=1 << 20;
const FILE_BYTES_BOUNDS: RangeInclusive<u64> = 4096..=1 << 44;
const CPU_SECONDS_BOUNDS: RangeInclusive<u64> = 1..=7 * 24 * 3600;
const SCRATCH_BYTES_BOUNDS: RangeInclusive<u64> = 1 << 20..=1 << 40;

/// Bounds beside memory. What is left out is as always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes and threads together: 4 to 4194304.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Open files of each process: 16 to 1048576.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// Bytes of one written file: 4 KiB to 16 TiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Seconds of processor time of each process: 1 to 604800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<u64>,
    /// Bytes of the private home and `/tmp` together: 1 MiB to 1 TiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch_bytes: Option<u64>,
}

impl Limits {
    /// Checks every field against its bounds.
    ///
    /// # Errors
    /// [`Error::GrantField`] with the field.
    pub fn check(&self) -> Result<(), Error> {
        let fields = [
            ("limits.pids", self.pids, PIDS_BOUNDS),
            ("limits.open_files", self.open_files, OPEN_FILES_BOUNDS),
            ("limits.file_bytes", self.file_bytes, FILE_BYTES_BOUNDS),
            ("limits.cpu_seconds", self.cpu_seconds, CPU_SECONDS_BOUNDS),
            ("limits.scratch_bytes", self.scratch_bytes, SCRATCH_BYTES_BOUNDS),
        ];
        for (name, value, bounds) in fields {
            if let Some(value) = value {
                crate::grant::within(name, value, bounds)?;
            }
        }
        Ok(())
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The bounds of every command that has a bound of memory.
    pub(crate) fn with_memory(&self, memory_bytes: u64) -> Resources {
        Resources {
            memory_bytes: Some(memory_bytes),
            processes: Some(self.pids.unwrap_or(PIDS)),
            open_files: Some(self.open_files.unwrap_or(OPEN_FILES)),
            ..self.alone()
        }
    }

    /// The bounds of a command with these alone.
    pub(crate) fn alone(&self) -> Resources {
        Resources {
            memory_bytes: None,
            processes: self.pids,
            open_files: self.open_files,
            file_bytes: self.file_bytes,
            cpu_seconds: self.cpu_seconds,
            scratch_bytes: self.scratch_bytes,
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
