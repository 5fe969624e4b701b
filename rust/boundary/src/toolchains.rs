//! The developer toolchains a command may read under the access mode `toolchains`: derived from this computer's `PATH`,
//! its toolchain variables and the known places, as the specification's toolchain table says.
//!
//! The derivation is path logic over a [`HostView`], so the rows of macOS are tested on Linux from a described host. It
//! starts no program, grants no write, and enforces nothing: the boundary does, with what this returns.

mod caches;
mod described;
mod nvm;
mod places;
mod reads;
mod rows;
mod search_path;
mod view;

pub use caches::CacheEntry;
pub use described::{Described, System, Variable};
pub use reads::{ReadEntry, Source};
pub use view::{HostView, RealHost};

use coder_digest::BytePath;
use places::Places;
use reads::{Guard, Reads};
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use std::ffi::OsString;
use std::path::PathBuf;

/// What was derived. Serialised, it is the admission record's `toolchains`: the variables by name only, since a value is
/// already among the reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Toolchains {
    /// What commands may read besides the system directories: existing, resolved, sorted, none beneath another.
    pub reads: Vec<ReadEntry>,
    /// The commands' `PATH` in order: resolved directories, each readable, each once.
    pub path: Vec<PathBuf>,
    /// Variables that lead tools from the scratch home to the real installations.
    pub environment: Vec<(String, PathBuf)>,
    /// The package caches among the reads, which commands get with a private layer over them.
    pub caches: Vec<CacheEntry>,
    /// Directories on `PATH` with more linked entries than the 512 that are followed; tools behind the rest are absent.
    pub unfollowed: Vec<PathBuf>,
}

impl Toolchains {
    /// `path` as the variable's value. No directory in it holds a colon.
    pub fn path_variable(&self) -> OsString {
        let mut value = OsString::new();
        for (index, directory) in self.path.iter().enumerate() {
            if index > 0 {
                value.push(":");
            }
            value.push(directory);
        }
        value
    }
}

impl Serialize for Toolchains {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = |paths: &[PathBuf]| -> Vec<BytePath> { paths.iter().map(|path| path.as_path().into()).collect() };
        let names: Vec<&str> = self.environment.iter().map(|(name, _)| name.as_str()).collect();
        let mut record = serializer.serialize_struct("Toolchains", 4)?;
        record.serialize_field("reads", &self.reads)?;
        record.serialize_field("path", &bytes(&self.path))?;
        record.serialize_field("environment", &names)?;
        record.serialize_field("unfollowed", &bytes(&self.unfollowed))?;
        record.end()
    }
}

/// Derives the readable toolchains, the commands' `PATH` and the variables that go with them.
///
/// It cannot fail: what does not exist, cannot be looked at or must not be granted is left out. Never granted are the
/// root, a directory that many owners share, a home directory or an ancestor of one, the cargo root (it may hold
/// `credentials.toml`), and what holds or lies in a sealed path.
pub fn derive(described: &Described, view: &dyn HostView) -> Toolchains {
    let places = Places::of(described);
    let guard = Guard::of(described, &places, view);
    let mut reads = Reads::new(&guard, view);
    rows::add(described, &places, &mut reads);
    let unfollowed = search_path::add(&described.path, &guard, view, &mut reads);
    let reads = reads.finish(described.git_directory.as_deref());
    let path = search_path::readable(described, &places, &reads, view);
    let environment = environment(described, &places, &reads, view);
    let caches = caches::find(described, &places, &reads, view);
    Toolchains {
        reads,
        caches,
        path,
        environment,
        unfollowed,
    }
}

fn environment(
    described: &Described,
    places: &Places,
    reads: &[ReadEntry],
    view: &dyn HostView,
) -> Vec<(String, PathBuf)> {
    let installations = [
        ("RUSTUP_HOME", places.rustup.clone()),
        ("PYENV_ROOT", places.pyenv.clone()),
        ("UV_PYTHON_INSTALL_DIR", places.in_home(".local/share/uv/python")),
    ];
    let mut variables: Vec<(String, PathBuf)> = installations
        .into_iter()
        .filter_map(|(name, path)| {
            let resolved = view.canonicalise(&path?)?;
            reads::covers(reads, &resolved).then(|| (name.to_owned(), resolved))
        })
        .collect();
    if let (System::MacOs, Some(scratch)) = (described.system, &described.scratch) {
        // xcrun otherwise writes its lookup cache into the user's temporary directory, which is not writable.
        variables.push(("xcrun_db".to_owned(), scratch.join("xcrun_db")));
    }
    variables
}

#[cfg(test)]
#[path = "toolchains_tests.rs"]
mod tests;
