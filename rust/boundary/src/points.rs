//! Where inside the new root things are shown: the private places, and the mount points that must be made, none of them
//! in a granted tree.

use crate::paths::{Granted, Kind};
use crate::scratch::Entry;
use crate::{Error, Private};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The places inside that are private to the boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) home: PathBuf,
    pub(crate) temporary: PathBuf,
}

impl Places {
    /// The usual names, unless a granted tree is or holds one of them: nothing of ours may appear in the user's tree.
    pub(crate) fn beside(grants: &[Granted]) -> Self {
        let free = |usual: &str, other: &str| {
            let taken = grants.iter().any(|granted| Path::new(usual).starts_with(&granted.path));
            PathBuf::from(if taken { other } else { usual })
        };
        Self {
            home: free("/home/agent", "/run/agent/home"),
            temporary: free("/tmp", "/run/agent/tmp"),
        }
    }

    /// The same with a home that also holds no granted tree, so that all of it is the commands' own.
    pub(crate) fn with_whole_home(self, grants: &[Granted]) -> Self {
        match grants.iter().any(|granted| granted.path.starts_with(&self.home)) {
            true => Self {
                home: PathBuf::from("/run/agent/home"),
                ..self
            },
            false => self,
        }
    }

    /// Whether a path is a directory that commands will find in one of the places.
    pub(crate) fn hold_directory(&self, path: &Path, private: &Private) -> bool {
        let Some(scratch) = private.scratch() else {
            return path == self.temporary || path == self.home;
        };
        let places = [(&self.temporary, scratch.temporary()), (&self.home, scratch.home())];
        places
            .into_iter()
            .find_map(|(place, on_host)| path.strip_prefix(place).ok().map(|rest| on_host.join(rest)))
            .is_some_and(|path| path.is_dir())
    }
}

/// Works out which mount points must be made, and where.
pub(crate) struct Points<'a> {
    grants: &'a [Granted],
    places: &'a Places,
    pub(crate) entries: BTreeMap<PathBuf, Entry>,
    /// Small filesystems inside the private places, each with the mount points it holds.
    pub(crate) islands: BTreeMap<PathBuf, BTreeSet<(PathBuf, Kind)>>,
    pub(crate) visible: Vec<PathBuf>,
}

impl<'a> Points<'a> {
    pub(crate) fn new(grants: &'a [Granted], places: &'a Places) -> Self {
        Self {
            grants,
            places,
            entries: BTreeMap::new(),
            islands: BTreeMap::new(),
            visible: Vec::new(),
        }
    }

    pub(crate) fn directory(&mut self, path: &Path) {
        self.entry(path, Entry::Directory);
    }

    /// Puts something into the root's own filesystem, and the directories above it. What is there first stays.
    pub(crate) fn entry(&mut self, path: &Path, entry: Entry) {
        // A link on the way to a granted path would lead its mount elsewhere.
        if matches!(entry, Entry::Link(_)) && self.grants.iter().any(|granted| granted.path.starts_with(path)) {
            return;
        }
        for above in path.ancestors().skip(1).filter(|above| *above != Path::new("/")) {
            self.entries.entry(above.to_path_buf()).or_insert(Entry::Directory);
        }
        self.entries.entry(path.to_path_buf()).or_insert(entry);
    }

    /// Puts something below the private home, where that is a directory of the host into it. What is there first stays.
    pub(crate) fn private_entry(&mut self, path: &Path, entry: Entry, private: &Private) -> Result<(), Error> {
        let below = path.strip_prefix(&self.places.home).ok();
        let (Some(scratch), Some(below)) = (private.scratch(), below) else {
            self.entry(path, entry);
            return Ok(());
        };
        let path = scratch.home().join(below);
        let above = path.parent().unwrap_or(&path);
        fs::create_dir_all(above).map_err(Error::file("create", above))?;
        match entry {
            Entry::Directory => fs::create_dir_all(&path).map_err(Error::file("create", path)),
            Entry::Link(target) => {
                std::os::unix::fs::symlink(target, &path).map_err(Error::file("create the link", path))
            }
            Entry::File(content) => fs::write(&path, content).map_err(Error::file("write", path)),
        }
    }

    /// Makes sure that there is something to mount a granted path on. Never in a granted tree: what is granted inside
    /// another granted tree is there already.
    pub(crate) fn point(&mut self, granted: &Granted, private: &Private) -> Result<(), Error> {
        let scratch = private.scratch();
        let places = [
            (&self.places.temporary, scratch.map(crate::Scratch::temporary)),
            (&self.places.home, scratch.map(crate::Scratch::home)),
        ];
        let inside = places.into_iter().find_map(|(place, on_host)| {
            granted
                .path
                .strip_prefix(place)
                .ok()
                .map(|rest| (place.clone(), on_host, rest.to_path_buf()))
        });
        let in_shown = self.visible.iter().any(|tree| granted.path.starts_with(tree));
        match inside {
            _ if in_shown => {}
            Some((place, on_host, rest)) => self.point_in_private(granted.kind, &place, on_host.as_deref(), &rest)?,
            None => {
                let entry = match granted.kind {
                    Kind::Directory => Entry::Directory,
                    Kind::File => Entry::File(Vec::new()),
                };
                self.entry(&granted.path, entry);
            }
        }
        if granted.kind == Kind::Directory {
            self.visible.push(granted.path.clone());
        }
        Ok(())
    }

    /// A mount point inside the private /tmp or home, which commands may change: only its first component lies there,
    /// and being mounted on in every command it can neither be renamed nor replaced.
    fn point_in_private(&mut self, kind: Kind, place: &Path, on_host: Option<&Path>, rest: &Path) -> Result<(), Error> {
        let mut components = rest.components();
        let Some(first) = components.next() else { return Ok(()) };
        let island = place.join(first);
        let deeper = components.as_path();
        let first_kind = if deeper.as_os_str().is_empty() {
            kind
        } else {
            Kind::Directory
        };
        match (on_host.map(|on_host| on_host.join(first)), first_kind) {
            (Some(on_host), Kind::File) => {
                fs::write(&on_host, b"").map_err(Error::file("make the mount point", on_host))?
            }
            (Some(on_host), Kind::Directory) => {
                fs::create_dir_all(&on_host).map_err(Error::file("make the mount point", on_host))?;
            }
            (None, Kind::File) => self.entry(&island, Entry::File(Vec::new())),
            (None, Kind::Directory) => self.directory(&island),
        }
        if !deeper.as_os_str().is_empty() {
            let points = self.islands.entry(island.clone()).or_default();
            let mut above = island;
            let mut components = deeper.components().peekable();
            while let Some(component) = components.next() {
                above.push(component);
                let kind = if components.peek().is_some() {
                    Kind::Directory
                } else {
                    kind
                };
                points.insert((above.clone(), kind));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "points_tests.rs"]
mod tests;
