//! The capability manifest of a suite (version 1): which program it is, and what it needs. Closed, since a field that is not
//! understood may be a demand that is not met. Here only what a manifest says; whether it may run is `trust`'s.

use super::grader::GraderFile;
use crate::Error;
use coder_digest::{Identifier, check_line, json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
const SUBPROCESS: &str = "subprocess";
/// The longest manifest, in bytes.
const BYTES: u64 = 64 * 1024;
/// The most words of one kind.
const WORDS: usize = 128;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestText {
    v: u32,
    slug: Identifier,
    #[serde(default)]
    name: String,
    #[serde(default, rename = "summary")]
    _summary: String,
    transport: String,
    detect: DetectText,
    #[serde(default)]
    enforces: Vec<String>,
    #[serde(default)]
    cannot_enforce: Vec<String>,
    #[serde(default, rename = "sees_repository")]
    _sees_repository: bool,
    #[serde(default, rename = "concurrent_max")]
    _concurrent_max: Option<u32>,
    #[serde(default, rename = "cost")]
    _cost: String,
    #[serde(default, rename = "isolation")]
    _isolation: Vec<String>,
    #[serde(default)]
    invoke: Vec<String>,
    #[serde(default)]
    invoke_writing: Vec<String>,
    #[serde(default)]
    workspace_probe: Option<ProbeText>,
    #[serde(default, rename = "refuses")]
    _refuses: Vec<serde_json::Value>,
    #[serde(default)]
    needs: NeedsText,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectText {
    binary: String,
    version: Vec<String>,
    #[serde(default)]
    probe: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProbeText {
    argv: Vec<String>,
    #[serde(default, rename = "accepts")]
    _accepts: Vec<String>,
    #[serde(default, rename = "note")]
    _note: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeedsText {
    #[serde(default)]
    toolchains: bool,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    programs: Vec<String>,
    #[serde(default)]
    reads: Vec<String>,
}

/// What a suite needs beyond the candidate, itself and the system's programs. Everything not asked for is withheld.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// This computer's compilers and package caches, read-only.
    pub toolchains: bool,
    /// The host's network.
    pub network: bool,
    /// Programs that must be on the suite's `PATH`: without one the check is unavailable, and not failed.
    pub programs: Vec<String>,
    /// Files and directories it reads, absolute. Their content is part of what is approved.
    pub reads: Vec<PathBuf>,
}

/// A checked manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The name it is approved and revoked by.
    pub slug: Identifier,
    /// A name for people; may be empty.
    pub name: String,
    /// The program, absolute.
    pub program: PathBuf,
    /// What it needs.
    pub needs: Needs,
    /// Every other absolute path that the manifest names in a command line; nothing need be there.
    pub named: Vec<PathBuf>,
}

impl Manifest {
    /// Opens and reads the manifest at `path`, a canonical name.
    pub(super) fn open(path: &Path) -> Result<(Self, GraderFile), Error> {
        let file = GraderFile::open(path, BYTES)?;
        let manifest = Self::parse(path, &file.bytes()?)?;
        Ok((manifest, file))
    }

    /// Reads a manifest from its bytes; `path` is for the messages.
    ///
    /// # Errors
    /// [`Error::Manifest`] naming the first thing wrong.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let fault = |reason: String| Error::Manifest {
            path: path.to_owned(),
            reason,
        };
        let written: ManifestText =
            json::parse_as(bytes, json::Limit(BYTES as usize)).map_err(|error| fault(error.to_string()))?;
        written.check().map_err(fault)
    }
}

impl ManifestText {
    fn check(self) -> Result<Manifest, String> {
        if self.v != VERSION {
            return Err(format!("`v` is {}, and {VERSION} is read here", self.v));
        }
        if self.transport != SUBPROCESS {
            return Err(format!(
                "`transport` must be `{SUBPROCESS}`: a check runs on this machine"
            ));
        }
        if !self.name.is_empty() {
            check_line("name", &self.name, 256).map_err(|error| error.to_string())?;
        }
        let program = absolute("detect.binary", &self.detect.binary)?;
        let both: BTreeSet<&String> = self.enforces.iter().collect();
        if let Some(bound) = self.cannot_enforce.iter().find(|bound| both.contains(bound)) {
            return Err(format!("`{bound}` is both in `enforces` and in `cannot_enforce`"));
        }
        let probe = self.workspace_probe.as_ref().map(|probe| &probe.argv);
        let lines = [
            ("detect.version", Some(&self.detect.version)),
            ("detect.probe", self.detect.probe.as_ref()),
            ("workspace_probe.argv", probe),
            ("invoke", Some(&self.invoke).filter(|line| !line.is_empty())),
            (
                "invoke_writing",
                Some(&self.invoke_writing).filter(|line| !line.is_empty()),
            ),
        ];
        let mut named = BTreeSet::new();
        for (field, line) in lines {
            let Some(line) = line else { continue };
            let [head, words @ ..] = line.as_slice() else {
                return Err(format!("`{field}` is empty"));
            };
            if *head != self.detect.binary {
                return Err(format!("`{field}` begins with another program than `detect.binary`"));
            }
            if words.len() > WORDS {
                return Err(format!("`{field}` has more than {WORDS} words"));
            }
            named.extend(words.iter().map(PathBuf::from).filter(|word| word.is_absolute()));
        }
        let needs = self.needs.check()?;
        named.retain(|path| !needs.reads.contains(path) && *path != program);
        Ok(Manifest {
            slug: self.slug,
            name: self.name,
            program,
            needs,
            named: named.into_iter().collect(),
        })
    }
}

impl NeedsText {
    fn check(self) -> Result<Needs, String> {
        if self.programs.len() > WORDS || self.reads.len() > WORDS {
            return Err(format!("`needs` lists more than {WORDS} of one kind"));
        }
        let plain = |name: &&String| name.is_empty() || name.contains(['/', '\0']);
        if let Some(name) = self.programs.iter().find(plain) {
            return Err(format!("`needs.programs`: `{name}` is no name of a program"));
        }
        let reads: Result<Vec<PathBuf>, String> = self.reads.iter().map(|path| absolute("needs.reads", path)).collect();
        Ok(Needs {
            toolchains: self.toolchains,
            network: self.network,
            programs: self.programs,
            reads: reads?,
        })
    }
}

fn absolute(field: &'static str, text: &str) -> Result<PathBuf, String> {
    crate::grant::absolute_path(field, text)
        .map_err(|_| format!("`{field}` must be an absolute path of at most 4096 bytes without `.` or `..`"))
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
