//! The operator's word that a suite may run: a private file outside every checkout, with one record for each approved manifest,
//! which names exact bytes. It is read again at each decision and fails closed: what cannot be read, or does not match to the
//! byte, approves nothing. Approving shows what is approved; nothing here runs it.

mod file;

use super::grader::GraderPart;
use super::suite::{Found, Suite, text};
use crate::confine::Environment;
use crate::{Error, git_link};
use coder_digest::{Clock, Digest, Identifier, bare};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Names the store's file.
const VARIABLE: &str = "CODER_CAPABILITY_TRUST";
/// Where it is otherwise, below the home directory.
const PLACE: &str = ".openagents/capability-trust.json";

/// One file that a manifest names beside its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// As the manifest writes it.
    pub word: String,
    /// Where that leads.
    pub path: String,
    /// Of its bytes; of a directory, as a snapshot of all in it.
    #[serde(with = "bare")]
    pub digest: Digest,
}

/// One approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The manifest's slug.
    pub slug: Identifier,
    /// The digest of the manifest's bytes.
    #[serde(with = "bare")]
    pub manifest: Digest,
    /// The program, by its canonical path.
    pub adapter: String,
    /// The digest of its bytes.
    #[serde(with = "bare")]
    pub adapter_digest: Digest,
    /// Everything else it names.
    #[serde(default)]
    pub pinned: Vec<Pinned>,
    /// What other hosts may let it write. A check grants none of it.
    #[serde(default)]
    pub writable: Vec<String>,
}

/// What [`TrustStore::approve`] did or would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Approved {
    /// The manifest's file, canonical.
    pub manifest_path: PathBuf,
    /// The manifest's name for people.
    pub name: String,
    /// What it may use when it runs.
    pub needs: super::Needs,
    /// The record.
    pub approval: Approval,
    /// Earlier approvals of the slug, which it replaces.
    pub replaced: Vec<Approval>,
    /// The store's file.
    pub store: PathBuf,
}

/// Where the approvals are.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

impl TrustStore {
    /// The store in the file at `path`, absolute; it need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The store that the environment names, else the one in the home directory.
    ///
    /// # Errors
    /// [`Error::Trust`] where neither names an absolute path.
    pub fn of(environment: &Environment<'_>) -> Result<Self, Error> {
        let named = environment(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        let home = || environment("HOME").filter(|home| !home.is_empty());
        let path = named.or_else(|| home().map(|home| Path::new(&home).join(PLACE)));
        match path {
            Some(path) if path.is_absolute() => Ok(Self { path }),
            Some(path) => Err(fault(&path, "an absolute path is needed")),
            None => Err(fault(Path::new(PLACE), format!("neither {VARIABLE} nor HOME is set"))),
        }
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All approvals, in the order they were given; none where there is no file.
    ///
    /// # Errors
    /// [`Error::Trust`] for a file that is not private, or not of the closed shape.
    pub fn list(&self) -> Result<Vec<Approval>, Error> {
        file::read(&self.path)
    }

    /// What approving the manifest at `manifest` would record. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Manifest`] for a manifest that cannot be used, [`Error::File`] for a file it names that cannot be read or a
    /// program that cannot be started, and [`Error::Trust`] where the store lies in the manifest's own repository.
    pub fn examine(&self, manifest: &Path, clock: &dyn Clock) -> Result<Approved, Error> {
        let found = Found::at(manifest, clock)?;
        self.outside_repository(found.manifest_file.path())?;
        found.program.startable()?;
        let approval = Approval {
            slug: found.manifest.slug.clone(),
            manifest: found.manifest_file.digest(),
            adapter: text(found.program.path())?,
            adapter_digest: found.program.digest(),
            pinned: pinned(&found.parts)?,
            writable: Vec::new(),
        };
        let replaced = self.list()?.into_iter().filter(|earlier| earlier.slug == approval.slug);
        Ok(Approved {
            replaced: replaced.collect(),
            manifest_path: found.manifest_file.path().to_owned(),
            name: found.manifest.name,
            needs: found.manifest.needs,
            approval,
            store: self.path.clone(),
        })
    }

    /// Approves the manifest at `manifest`, in place of earlier approvals of its slug.
    ///
    /// # Errors
    /// As [`TrustStore::examine`]; [`Error::File`] when the store cannot be written.
    pub fn approve(&self, manifest: &Path, clock: &dyn Clock) -> Result<Approved, Error> {
        let approved = self.examine(manifest, clock)?;
        let record = approved.approval.clone();
        file::change(&self.path, |records| {
            records.retain(|earlier| earlier.slug != record.slug);
            records.push(record);
        })?;
        Ok(approved)
    }

    /// Takes every approval of `slug` back and returns them.
    ///
    /// # Errors
    /// [`Error::NotApproved`] where there is none; [`Error::File`] when the store cannot be written.
    pub fn revoke(&self, slug: &Identifier) -> Result<Vec<Approval>, Error> {
        if !self.list()?.iter().any(|record| record.slug == *slug) {
            return Err(self.not_approved(slug, "there is no approval of it"));
        }
        let mut revoked = Vec::new();
        file::change(&self.path, |records| {
            revoked = records.extract_if(.., |record| record.slug == *slug).collect();
        })?;
        Ok(revoked)
    }

    /// The approval under which `suite` may judge `workspace`, read from the file now.
    pub(super) fn decide(&self, suite: &Suite, workspace: &Path) -> Result<Approval, Error> {
        let slug = &suite.manifest.slug;
        let record = self
            .list()?
            .into_iter()
            .find(|record| record.manifest == suite.frozen.manifest_digest && record.slug == *slug);
        let record = record.ok_or_else(|| {
            let command = "coder capability approve --manifest";
            let reason = format!("run `{command} {}` if you trust it", suite.frozen.manifest);
            self.not_approved(slug, &reason)
        })?;
        let place = self.path.canonicalize().map_err(Error::file("find", &self.path))?;
        if place.starts_with(workspace) {
            return Err(fault(
                &self.path,
                "it lies in the workspace it would approve suites for",
            ));
        }
        self.outside_repository(suite.manifest_file.path())?;
        if record.adapter != suite.frozen.program || record.adapter_digest != suite.frozen.program_digest {
            return Err(self.not_approved(slug, "its program is not the one approved"));
        }
        if record.pinned != pinned(&suite.parts)? {
            return Err(self.not_approved(slug, "the files it names are not those approved"));
        }
        Ok(record)
    }

    fn not_approved(&self, slug: &Identifier, reason: &str) -> Error {
        Error::NotApproved {
            slug: slug.clone(),
            store: self.path.clone(),
            reason: reason.to_owned(),
        }
    }

    /// A store in the manifest's repository would be that repository's word for itself, in whichever of its worktrees.
    fn outside_repository(&self, manifest: &Path) -> Result<(), Error> {
        // The nearest part of it that exists: before the first approval there may be none of it.
        let exists = self.path.ancestors().find_map(|part| part.canonicalize().ok());
        let place = exists.unwrap_or_else(|| self.path.clone());
        for top in manifest.ancestors().skip(1) {
            if top.join(".git").symlink_metadata().is_err() {
                continue;
            }
            let main = match git_link::place(top)? {
                Some(git_link::Place::Linked(linked)) => linked.common_directory.parent().map(Path::to_owned),
                Some(git_link::Place::Checkout(_)) | None => None,
            };
            if place.starts_with(top) || main.is_some_and(|main| place.starts_with(main)) {
                return Err(fault(&self.path, "it lies in the repository of the manifest"));
            }
        }
        Ok(())
    }
}

fn pinned(parts: &[GraderPart]) -> Result<Vec<Pinned>, Error> {
    let of = |part: &GraderPart| {
        let path = text(part.path())?;
        Ok(Pinned {
            // Only canonical absolute words are taken, so the word is the path.
            word: path.clone(),
            path,
            digest: part.digest(),
        })
    };
    parts.iter().map(of).collect()
}

fn fault(path: &Path, reason: impl Into<String>) -> Error {
    Error::Trust {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
