//! The short way: a person names suites for one run, and that is their word for it. The manifests, the requirements and the
//! approvals that an operator writes by hand are made here, in a private directory beside the store; everything after that goes
//! through the same doors.

use super::grader::GraderFile;
use super::suite::{PROGRAM_BYTES, text};
use super::trust::TrustStore;
use crate::Error;
use crate::configuration::Access;
use crate::requirements::{CANDIDATE, PLAN_SCHEMA, SCHEMA};
use coder_digest::{Clock, Digest, Identifier, TaskId};
use serde_json::{Value, json};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// How long each suite, and all of them, may take.
const SECONDS: u64 = 3600;
/// How much each may print on each stream.
const OUTPUT_BYTES: u64 = 1024 * 1024;

/// Suites as they were named, and what follows from them. Nothing is written yet.
#[derive(Debug)]
pub(crate) struct NamedSuites {
    /// What the grant pins.
    pub(crate) requirements: Value,
    manifests: Vec<(PathBuf, String)>,
    place: PathBuf,
}

impl NamedSuites {
    /// Finds the suites and digests them; none for none. A run that reads this computer's toolchains has suites that do.
    pub(crate) fn find(suites: &[PathBuf], store: &Path, task: &TaskId, access: Access) -> Result<Option<Self>, Error> {
        if suites.is_empty() {
            return Ok(None);
        }
        let place = place(store).join(task.as_str());
        let (mut checks, mut lineage, mut manifests) = (Vec::new(), Vec::new(), Vec::new());
        for (index, suite) in suites.iter().enumerate() {
            let program = suite.canonicalize().map_err(Error::file("find the suite", suite))?;
            let file = GraderFile::open(&program, PROGRAM_BYTES)?;
            // Else it would be found out when the run is over and paid for.
            file.startable()?;
            let digest = file.digest();
            let program = text(&program)?;
            let id = id(suite, index);
            let manifest = json!({
                "v": 1,
                "slug": id,
                "name": "a suite named for one run",
                "transport": "subprocess",
                "detect": { "binary": program, "version": [program] },
                "needs": { "toolchains": access == Access::Toolchains },
            })
            .to_string();
            let path = place.join(format!("{id}.json"));
            checks.push(json!({
                "id": id,
                "manifest": text(&path)?,
                "manifest_digest": Digest::of(manifest.as_bytes()).hex(),
                "arguments": [CANDIDATE],
                "seconds": SECONDS,
                "output_bytes": OUTPUT_BYTES,
                "acceptance": { "kind": "suite", "suite_digest": digest, "input_digest": CANDIDATE },
            }));
            lineage.push(json!({ "check": id, "sources": ["a suite named beside the prompt"] }));
            manifests.push((path, manifest));
        }
        let ids: Vec<&Value> = checks.iter().filter_map(|check| check.get("id")).collect();
        let requirements = json!({
            "schema": SCHEMA,
            "version": 1,
            "requirements": [{ "id": "accepted", "statement": "Each named suite passes.", "checks": ids }],
            "plan": {
                "schema": PLAN_SCHEMA,
                "input_digest": CANDIDATE,
                "seconds": SECONDS,
                "allow_unrestricted_reads": true,
                "allow_network": true,
                "checks": checks,
            },
            "instruction_targets": [],
            "source_exclusions": [],
            "task_sources": ["the prompt"],
            "check_lineage": lineage,
            "knowledge": [],
        });
        Ok(Some(Self {
            requirements,
            manifests,
            place,
        }))
    }

    /// Where their approvals are, for this run alone.
    pub(crate) fn trust(&self) -> TrustStore {
        TrustStore::new(self.place.join("trust.json"))
    }

    /// Writes the manifests, and approves them.
    pub(crate) fn approve(&self, clock: &dyn Clock) -> Result<(), Error> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.place)
            .map_err(Error::file("create", &self.place))?;
        let trust = self.trust();
        for (path, manifest) in &self.manifests {
            std::fs::write(path, manifest).map_err(Error::file("write", path))?;
            trust.approve(path, clock)?;
        }
        Ok(())
    }

    /// Removes what was written, once the verdict stands or the run could not begin: the record holds all of it.
    pub(crate) fn remove(&self) {
        // What cannot be removed approves these very suites for this very run, and nothing else.
        let _ = std::fs::remove_dir_all(&self.place);
        let _ = self.place.parent().map(std::fs::remove_dir);
    }
}

/// Beside the store, since a suite and its manifest lie outside it.
fn place(store: &Path) -> PathBuf {
    let mut name = store.file_name().map(std::ffi::OsStr::to_owned).unwrap_or_default();
    name.push("-checks");
    store.with_file_name(name)
}

/// `judge.sh` where the file's name is an identifier; several of one name are told apart by their place in the list.
fn id(suite: &Path, index: usize) -> String {
    let name = suite.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let numbered = format!("{}-{name}", index + 1);
    match Identifier::new(numbered.as_str()) {
        Ok(_) => numbered,
        Err(_) => format!("{}-suite", index + 1),
    }
}
