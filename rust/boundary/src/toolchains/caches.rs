//! Which of the readable places are package caches, and where each tool looks for its own below a home directory. Shown
//! there with a private layer over it, a cache can be read and seemingly written; the real one is not.

use super::described::{Described, System, Variable};
use super::places::Places;
use super::reads::{ReadEntry, covers};
use super::view::HostView;
use coder_digest::BytePath;
use serde::{Serialize, Serializer};
use std::path::PathBuf;

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheEntry {
    /// The tool whose it is.
    pub tool: &'static str,
    /// The real directory: existing, resolved, among the reads.
    #[serde(serialize_with = "path_bytes")]
    pub path: PathBuf,
    /// Where the tool looks for it below a home, when no variable says otherwise.
    #[serde(serialize_with = "path_bytes")]
    pub place: PathBuf,
    /// How deep it consists of directories that hold what is cached, where links can take its place.
    #[serde(skip)]
    pub linked_depth: Option<u8>,
}

fn path_bytes<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    BytePath::from(path).serialize(serializer)
}

/// The caches among the reads.
pub(super) fn find(
    described: &Described,
    places: &Places,
    reads: &[ReadEntry],
    view: &dyn HostView,
) -> Vec<CacheEntry> {
    let below = |root: &Option<PathBuf>, name: &str| root.as_ref().map(|root| root.join(name));
    let system = |linux: &'static str, mac: &'static str| match described.system {
        System::Linux => linux,
        System::MacOs => mac,
    };
    let (pip, deno) = (
        system(".cache/pip", "Library/Caches/pip"),
        system(".cache/deno", "Library/Caches/deno"),
    );
    let deno_directory = described.variable(Variable::DenoDir).or_else(|| places.in_home(deno));
    let table: [(&str, Option<PathBuf>, &str, Option<u8>); 8] = [
        ("cargo", below(&places.cargo, "registry"), ".cargo/registry", Some(2)),
        ("cargo", below(&places.cargo, "git"), ".cargo/git", Some(2)),
        ("npm", places.in_home(".npm/_cacache"), ".npm/_cacache", None),
        ("pip", places.in_home(pip), pip, None),
        ("uv", places.in_home(".cache/uv"), ".cache/uv", None),
        (
            "go",
            places.go.first().map(|path| path.join("pkg/mod")),
            "go/pkg/mod",
            None,
        ),
        ("bun", below(&places.bun, "install/cache"), ".bun/install/cache", None),
        ("deno", deno_directory, deno, None),
    ];
    let entry = |(tool, path, place, linked_depth): (&'static str, Option<PathBuf>, &str, Option<u8>)| {
        let path = view.canonicalise(&path?)?;
        (view.is_directory(&path) && covers(reads, &path)).then(|| CacheEntry {
            tool,
            path,
            place: PathBuf::from(place),
            linked_depth,
        })
    };
    table.into_iter().filter_map(entry).collect()
}
