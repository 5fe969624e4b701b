//! A suite as it lies on this machine: manifest, program and everything named, opened and digested, and outside everything that
//! the run can write. Found twice, before the candidate exists and when it is judged, and both must agree.

use super::grader::{GraderFile, GraderPart, sameness};
use super::manifest::Manifest;
use crate::Error;
use crate::requirements::{PlannedCheck, Requirements};
use coder_digest::{Clock, Digest, Identifier, bare};
use coder_journal::Sameness;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest program, and the largest single file it reads.
pub(super) const PROGRAM_BYTES: u64 = 128 * 1024 * 1024;

/// A suite as the context of a run records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedSuite {
    /// The check of the plan.
    pub check: Identifier,
    /// The manifest, by its canonical path.
    pub manifest: String,
    /// The digest of its bytes.
    #[serde(with = "bare")]
    pub manifest_digest: Digest,
    /// The program, by its canonical path.
    pub program: String,
    /// The digest of its bytes.
    pub program_digest: Digest,
}

/// Where a suite must not lie, since a run writes there or could.
#[derive(Debug, Clone, Copy)]
pub struct Outside<'a> {
    /// The canonical workspace.
    pub workspace: &'a Path,
    /// The task store.
    pub store: &'a Path,
    /// The repository's common Git directory, if it has one.
    pub git: Option<&'a Path>,
}

/// The suites of a plan as they are now.
///
/// # Errors
/// [`Error::Suite`] naming the check, where one is missing, is not the one pinned, or lies where a run can write.
pub fn frozen_suites(
    requirements: &Requirements,
    outside: Outside<'_>,
    clock: &dyn Clock,
) -> Result<Vec<ProtectedSuite>, Error> {
    let suites = requirements.plan.checks.iter();
    suites
        .map(|check| Suite::find(check, outside, clock).map(|suite| suite.frozen))
        .collect()
}

/// Everything that judges in one check.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) frozen: ProtectedSuite,
    pub(super) manifest: Manifest,
    pub(super) manifest_file: GraderFile,
    pub(super) program: GraderFile,
    pub(super) parts: Vec<GraderPart>,
}

impl Suite {
    /// Finds the suite of `check` and compares it with the plan's digests.
    pub(super) fn find(check: &PlannedCheck, outside: Outside<'_>, clock: &dyn Clock) -> Result<Self, Error> {
        let refused = |reason: String| Error::Suite {
            check: check.id.clone(),
            reason,
        };
        let found = Found::at(&check.manifest, clock).map_err(|error| refused(error.message()))?;
        let told = |what: &str, path: &Path, reason: &str| refused(format!("its {what} {} {reason}", path.display()));
        if found.manifest_file.digest() != check.manifest_digest {
            return Err(told("manifest", &check.manifest, "is not the one pinned"));
        }
        if found.program.digest() != check.suite_digest {
            return Err(told("program", found.program.path(), "is not the one pinned"));
        }
        let paths = [
            ("manifest", found.manifest_file.path()),
            ("program", found.program.path()),
        ];
        let parts = found.parts.iter().map(|part| ("file", part.path()));
        for (what, path) in paths.into_iter().chain(parts) {
            let places = [
                (outside.workspace, "the workspace"),
                (outside.store, "the task store"),
                (
                    outside.git.unwrap_or(outside.workspace),
                    "the repository's Git directory",
                ),
            ];
            // A tree that holds one of them is as bad as a file inside.
            let inside = |place: &Path| path.starts_with(place) || place.starts_with(path);
            if let Some((_, name)) = places.into_iter().find(|(place, _)| inside(place)) {
                return Err(told(what, path, &format!("is not outside {name}")));
            }
        }
        Ok(Self {
            frozen: ProtectedSuite {
                check: check.id.clone(),
                manifest: text(found.manifest_file.path())?,
                manifest_digest: found.manifest_file.digest(),
                program: text(found.program.path())?,
                program_digest: found.program.digest(),
            },
            manifest: found.manifest,
            manifest_file: found.manifest_file,
            program: found.program,
            parts: found.parts,
        })
    }

    /// Every single file that the suite is shown.
    pub(super) fn files(&self) -> impl Iterator<Item = &GraderFile> {
        let parts = self.parts.iter().filter_map(|part| match part {
            GraderPart::File(file) => Some(file),
            GraderPart::Tree { .. } => None,
        });
        std::iter::once(&self.program).chain(parts)
    }

    /// Every directory that it is shown.
    pub(super) fn trees(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().filter_map(|part| match part {
            GraderPart::Tree { path, .. } => Some(path.as_path()),
            GraderPart::File(_) => None,
        })
    }

    /// Whether everything that judges is still what it was when it was found.
    pub(super) fn sameness(&self, clock: &dyn Clock) -> Sameness {
        sameness([&self.manifest_file, &self.program], &self.parts, clock)
    }
}

/// A path as a record holds it.
pub(super) fn text(path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::PathNotText {
        what: "suite's",
        path: path.to_owned(),
    })
}

/// What a manifest leads to, before anybody asks whether it may be used.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) manifest: Manifest,
    pub(super) manifest_file: GraderFile,
    pub(super) program: GraderFile,
    /// What the manifest names, in its order: the files of its command lines, then its `needs.reads`.
    pub(super) parts: Vec<GraderPart>,
}

impl Found {
    /// Reads the manifest at `path` and opens all that it names.
    pub(super) fn at(path: &Path, clock: &dyn Clock) -> Result<Self, Error> {
        let canonical = path.canonicalize().map_err(Error::file("find the manifest", path))?;
        let (manifest, manifest_file) = Manifest::open(&canonical)?;
        let fault = |reason: String| Error::Manifest {
            path: canonical.clone(),
            reason,
        };
        // A path through a link could be turned elsewhere without the manifest changing.
        let resolved = |path: &PathBuf| match path.canonicalize() {
            Ok(resolved) if resolved == *path => Ok(resolved),
            Ok(resolved) => Err(fault(format!(
                "`{}` leads to {}: write that path",
                path.display(),
                resolved.display()
            ))),
            Err(error) => Err(Error::file("find", path)(error)),
        };
        let program = GraderFile::open(&resolved(&manifest.program)?, PROGRAM_BYTES)?;
        // A word may be a path of something that the program would make; a file that comes to be there later is one more part
        // than was approved.
        let named = manifest.named.iter().filter(|path| path.symlink_metadata().is_ok());
        let named = named.chain(&manifest.needs.reads);
        let parts: Result<Vec<GraderPart>, Error> = named
            .map(|path| GraderPart::take(&resolved(path)?, PROGRAM_BYTES, clock))
            .collect();
        Ok(Self {
            parts: parts?,
            manifest,
            manifest_file,
            program,
        })
    }
}

#[cfg(test)]
#[path = "suite_tests.rs"]
pub(super) mod tests;
