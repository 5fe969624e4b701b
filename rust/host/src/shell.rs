//! Which programs are the system's shell. A repository grant names one of them; under which of its names does not matter,
//! since `/bin` and `/usr/bin` are one directory on many systems and a link farm holds them on others.

use crate::Error;
use std::path::{Path, PathBuf};

/// Where a system keeps its bash and sh. Fixed: `PATH` is the caller's, and would let anything be a shell.
const PLACES: [&str; 6] = [
    "/bin/bash",
    "/bin/sh",
    "/usr/bin/bash",
    "/usr/bin/sh",
    "/run/current-system/sw/bin/bash",
    "/run/current-system/sw/bin/sh",
];

/// The real path of the granted shell.
///
/// # Errors
/// [`Error::NotShell`] for whatever does not lead to the same file as one of the system's names for bash and sh.
pub(crate) fn admit(program: &Path) -> Result<PathBuf, Error> {
    admit_among(program, &PLACES.map(PathBuf::from))
}

fn admit_among(program: &Path, places: &[PathBuf]) -> Result<PathBuf, Error> {
    let refused = |reason: String| Error::NotShell {
        program: program.to_owned(),
        reason,
    };
    let resolved = program.canonicalize().map_err(|error| refused(error.to_string()))?;
    let mut shells = places.iter().filter_map(|place| place.canonicalize().ok());
    if shells.any(|shell| shell == resolved) {
        Ok(resolved)
    } else {
        let first = places.iter().find(|place| place.exists());
        let hint = first.map_or_else(String::new, |place| format!("; this system has {}", place.display()));
        Err(refused(format!("it is neither bash nor sh of this system{hint}")))
    }
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
