//! What may be granted, and the list of what is: existing paths, resolved through their links, none beneath another.
//! Knows the prohibitions and not the toolchains.

use super::described::Described;
use super::places::Places;
use super::view::HostView;
use coder_digest::BytePath;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// Which row of the toolchain table a read comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Xcode and the Command Line Tools.
    Xcode,
    /// Homebrew.
    Homebrew,
    /// rustup's toolchains.
    Rustup,
    /// Cargo's programs, registry and Git checkouts.
    Cargo,
    /// Node: nvm's versions and npm's cache.
    Node,
    /// Python: pyenv, uv and pip.
    Python,
    /// Go.
    Go,
    /// Bun.
    Bun,
    /// Deno.
    Deno,
    /// Nix.
    Nix,
    /// Places of Linux: `/opt` and the resolver's configuration.
    Linux,
    /// A directory on `PATH`.
    Path,
    /// The repository's common Git directory.
    Repository,
}

/// One readable path and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadEntry {
    /// Resolved and existing.
    #[serde(serialize_with = "path_bytes")]
    pub path: PathBuf,
    /// The row which names it; the first, if several do.
    pub source: Source,
}

fn path_bytes<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    BytePath::from(path).serialize(serializer)
}

/// Directories that many owners share. A tool in one of them is no reason to show the rest: `/run` has sockets, `/home`
/// other people's homes, `/tmp` everybody's files.
const SHARED: [&str; 27] = [
    "/",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/media",
    "/mnt",
    "/private",
    "/private/etc",
    "/private/tmp",
    "/private/var",
    "/private/var/folders",
    "/proc",
    "/root",
    "/run",
    "/run/user",
    "/srv",
    "/sys",
    "/tmp",
    "/var",
    "/var/lib",
    "/var/tmp",
];

/// Kernel file systems: a path in one of them names something else at every look.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// What is never granted. Every path is kept as it is written and as it resolves: a home may be a link, and either form
/// must be protected.
pub(super) struct Guard {
    homes: Vec<PathBuf>,
    cargo: Vec<PathBuf>,
    sealed: Vec<PathBuf>,
    git: Vec<PathBuf>,
}

impl Guard {
    pub(super) fn of(described: &Described, places: &Places, view: &dyn HostView) -> Self {
        Self {
            homes: both_forms(described.homes(), view),
            // It may hold credentials.toml; what is inside is granted by name.
            cargo: both_forms(places.cargo.as_deref().into_iter(), view),
            sealed: both_forms(described.sealed.iter().map(PathBuf::as_path), view),
            git: both_forms(described.git_directory.as_deref().into_iter(), view),
        }
    }

    /// Whether a resolved path may be granted.
    pub(super) fn admits(&self, path: &Path) -> bool {
        self.admits_around_git(path) && self.git.iter().all(|git| apart(git, path))
    }

    /// Whether the resolved common Git directory may be granted.
    fn admits_around_git(&self, path: &Path) -> bool {
        let holds = |inner: &PathBuf| inner.starts_with(path);
        path.is_absolute()
            && !SHARED.iter().any(|shared| path == Path::new(shared))
            && !KERNEL.iter().any(|kernel| path.starts_with(kernel))
            && !self.homes.iter().any(holds)
            && !self.cargo.iter().any(holds)
            && self.sealed.iter().all(|sealed| apart(sealed, path))
    }

    /// Whether a resolved path is a home directory or beneath one.
    pub(super) fn is_in_home(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| path.starts_with(home))
    }
}

fn apart(left: &Path, right: &Path) -> bool {
    !left.starts_with(right) && !right.starts_with(left)
}

fn both_forms<'a>(paths: impl Iterator<Item = &'a Path>, view: &dyn HostView) -> Vec<PathBuf> {
    let mut forms = Vec::new();
    for path in paths {
        forms.extend(view.canonicalise(path));
        forms.push(path.to_owned());
    }
    forms
}

/// Collects the reads.
pub(super) struct Reads<'a> {
    guard: &'a Guard,
    view: &'a dyn HostView,
    entries: Vec<ReadEntry>,
}

impl<'a> Reads<'a> {
    pub(super) fn new(guard: &'a Guard, view: &'a dyn HostView) -> Self {
        Self {
            guard,
            view,
            entries: Vec::new(),
        }
    }

    /// Where the paths are looked at.
    pub(super) fn view(&self) -> &'a dyn HostView {
        self.view
    }

    /// Adds what `path` resolves to, if it exists and may be granted.
    pub(super) fn add(&mut self, source: Source, path: impl AsRef<Path>) {
        let path = path.as_ref();
        if path.is_absolute()
            && let Some(path) = self.view.canonicalise(path)
            && self.guard.admits(&path)
        {
            self.entries.push(ReadEntry { path, source });
        }
    }

    /// The list, sorted. What must not be granted was left out one by one, before collapsing: had a wide entry swallowed
    /// a narrow one and then been dropped for holding the task store, the narrow one would be lost with it.
    pub(super) fn finish(mut self, git_directory: Option<&Path>) -> Vec<ReadEntry> {
        if let Some(path) = git_directory
            && let Some(path) = self.view.canonicalise(path)
            && self.guard.admits_around_git(&path)
        {
            let source = Source::Repository;
            self.entries.push(ReadEntry { path, source });
        }
        self.entries.sort_by(|left, right| left.path.cmp(&right.path));
        let mut kept: Vec<ReadEntry> = Vec::with_capacity(self.entries.len());
        for entry in self.entries {
            if !kept.last().is_some_and(|wider| entry.path.starts_with(&wider.path)) {
                kept.push(entry);
            }
        }
        kept
    }
}

/// Whether a resolved path is among the reads or beneath one.
pub(super) fn covers(reads: &[ReadEntry], path: &Path) -> bool {
    reads.iter().any(|entry| path.starts_with(&entry.path))
}
