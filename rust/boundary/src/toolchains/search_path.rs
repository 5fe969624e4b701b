//! `PATH`, twice: what its directories make readable, and the `PATH` that commands get. An entry is whatever the person's
//! shell had, so it is taken as hostile: relative, empty, missing, the home directory, a link to anywhere, not UTF-8.

use super::described::{Described, System};
use super::nvm;
use super::places::Places;
use super::reads::{Guard, ReadEntry, Reads, Source, covers};
use super::view::HostView;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Linked entries of one directory that are followed, at most.
pub(super) const MAXIMUM_LINKS: usize = 512;

/// What the boundary shows on each system whatever the toolchains are, as far as programs live there.
fn system_reads(system: System) -> &'static [&'static str] {
    match system {
        System::Linux => &["/usr", "/bin", "/sbin", "/nix/store", "/run/current-system"],
        System::MacOs => &["/usr/bin", "/usr/sbin", "/bin", "/sbin"],
    }
}

fn system_path(system: System) -> &'static [&'static str] {
    match system {
        System::Linux => &["/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"],
        System::MacOs => &["/usr/bin", "/bin", "/usr/sbin", "/sbin"],
    }
}

fn homebrew(system: System) -> &'static [&'static str] {
    match system {
        System::Linux => &["/home/linuxbrew/.linuxbrew/bin", "/home/linuxbrew/.linuxbrew/sbin"],
        System::MacOs => &["/opt/homebrew/bin", "/opt/homebrew/sbin", "/usr/local/bin"],
    }
}

/// Adds the row of every directory on `PATH`; returns those with more than [`MAXIMUM_LINKS`] linked entries.
///
/// The resolved path decides: a link in the home directory to `/opt/tool/bin` is a tool outside it, and a link outside
/// that leads into the home directory is inside.
pub(super) fn add(path: &OsStr, guard: &Guard, view: &dyn HostView, reads: &mut Reads<'_>) -> Vec<PathBuf> {
    let mut unfollowed = Vec::new();
    let mut seen = BTreeSet::new();
    for directory in std::env::split_paths(path).filter_map(|entry| resolved_directory(&entry, view)) {
        if !seen.insert(directory.clone()) {
            continue;
        }
        match prefix(&directory, guard) {
            Some(prefix) => reads.add(Source::Path, prefix),
            None if guard.admits(&directory) => {
                reads.add(Source::Path, &directory);
                if !follow_links(&directory, view, reads) {
                    unfollowed.push(directory);
                }
            }
            None => {}
        }
    }
    unfollowed
}

/// An absolute path that resolves to a directory.
fn resolved_directory(path: &Path, view: &dyn HostView) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    view.canonicalise(path).filter(|resolved| view.is_directory(resolved))
}

/// `/usr/local` for `/usr/local/bin`, where that may be granted whole.
fn prefix<'a>(directory: &'a Path, guard: &Guard) -> Option<&'a Path> {
    let programs = directory
        .file_name()
        .is_some_and(|name| name == "bin" || name == "sbin");
    let prefix = directory.parent()?;
    let hidden = prefix
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    (programs && !hidden && !guard.is_in_home(directory) && guard.admits(prefix)).then_some(prefix)
}

/// Adds the directories that linked programs resolve into; whether all were followed.
fn follow_links(directory: &Path, view: &dyn HostView, reads: &mut Reads<'_>) -> bool {
    let mut followed = 0;
    for name in view.list_directory(directory) {
        let link = directory.join(name);
        if view.read_link(&link).is_none() {
            continue;
        }
        if followed == MAXIMUM_LINKS {
            return false;
        }
        followed += 1;
        // A link to a directory is not a program, and its parent could be anything.
        if let Some(target) = view.canonicalise(&link)
            && !view.is_directory(&target)
            && let Some(parent) = target.parent()
        {
            reads.add(Source::Path, parent);
        }
    }
    true
}

/// The commands' `PATH`: the person's, then known tool directories it lacks, then the system's; of these, what is a
/// directory that the boundary can read, resolved and once.
pub(super) fn readable(
    described: &Described,
    places: &Places,
    reads: &[ReadEntry],
    view: &dyn HostView,
) -> Vec<PathBuf> {
    let system = system_path(described.system).iter().map(PathBuf::from);
    let candidates = std::env::split_paths(&described.path)
        .chain(known(described, places, view))
        .chain(system);
    let mut path: Vec<PathBuf> = Vec::new();
    for directory in candidates.filter_map(|candidate| resolved_directory(&candidate, view)) {
        let system = system_reads(described.system);
        let shown = system.iter().any(|root| directory.starts_with(root)) || covers(reads, &directory);
        // A colon would make two entries of one, and the second whatever its owner likes.
        let one_entry = !directory.as_os_str().as_encoded_bytes().contains(&b':');
        if shown && one_entry && !path.contains(&directory) {
            path.push(directory);
        }
    }
    path
}

/// The known tool directories, in their order.
fn known(described: &Described, places: &Places, view: &dyn HostView) -> Vec<PathBuf> {
    let below = |root: &Option<PathBuf>, name: &str| root.as_ref().map(|root| root.join(name));
    let mut known: Vec<PathBuf> = [
        below(&places.cargo, "bin"),
        below(&places.pyenv, "shims"),
        places.nvm.as_ref().and_then(|nvm| nvm::default_programs(nvm, view)),
        below(&places.bun, "bin"),
        below(&places.deno, "bin"),
    ]
    .into_iter()
    .flatten()
    .collect();
    known.extend(places.go.iter().map(|path| path.join("bin")));
    known.extend(places.in_home(".local/bin"));
    known.extend(homebrew(described.system).iter().map(PathBuf::from));
    known
}
