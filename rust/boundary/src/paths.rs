//! From a policy's paths to checked ones: absolute, existing, resolved, in no conflict with each other.
//! Lexical rules only, on resolved paths; that the same things are still there when a command starts is checked then.

use crate::policy::Mode;
use crate::{Error, Policy};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a granted path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Directory,
    File,
}

/// Whether a granted path must be there when a command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The very file or directory seen when the boundary was prepared, by device and inode.
    Same(u64, u64),
    /// Something of the same name.
    Required,
    /// Mounted when it is there: a file that a program other than a command may make or replace meanwhile.
    Optional,
}

/// One tree or file shown at its real path, or in place of what is really there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) role: &'static str,
    pub(crate) path: PathBuf,
    /// Where it lies on the host, when that is not the path it is shown at.
    pub(crate) source: Option<PathBuf>,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) presence: Presence,
}

/// Places that are ours inside, or that would bring back what the assembled root leaves out.
const RESERVED_TREES: [&str; 3] = ["/proc", "/dev", "/sys"];
const RESERVED_EXACTLY: [&str; 4] = ["/", "/etc", "/run", "/nix"];

/// Resolves one path of the policy.
pub(crate) fn resolve(role: &'static str, path: &Path) -> Result<PathBuf, Error> {
    if !path.is_absolute() {
        return Err(Error::NotAbsolute {
            role,
            path: path.to_path_buf(),
        });
    }
    fs::canonicalize(path).map_err(|source| Error::Resolve {
        role,
        path: path.to_path_buf(),
        source,
    })
}

/// Resolves and checks one granted path.
pub(crate) fn grant(role: &'static str, path: &Path, mode: Mode) -> Result<Granted, Error> {
    let path = resolve(role, path)?;
    let reserved = RESERVED_EXACTLY.iter().any(|exact| path == Path::new(exact))
        || RESERVED_TREES.iter().any(|tree| path.starts_with(tree));
    if reserved {
        return Err(Error::Reserved { role, path });
    }
    let status = fs::metadata(&path).map_err(|source| Error::Resolve {
        role,
        path: path.clone(),
        source,
    })?;
    let kind = if status.is_dir() {
        Kind::Directory
    } else if status.is_file() {
        Kind::File
    } else {
        return Err(Error::NotFileOrDirectory { role, path });
    };
    let presence = match kind {
        Kind::Directory => Presence::Same(status.dev(), status.ino()),
        // Editors and Git replace a file by renaming another over it, so its inode says little.
        Kind::File => Presence::Required,
    };
    Ok(Granted {
        role,
        path,
        source: None,
        kind,
        mode,
        presence,
    })
}

/// The workspace, writes and reads of a policy, checked one by one.
pub(crate) fn grants(policy: &Policy) -> Result<Vec<Granted>, Error> {
    let mut grants = Vec::new();
    if let Some(workspace) = &policy.workspace {
        let granted = grant("workspace", &workspace.path, workspace.mode)?;
        if granted.kind != Kind::Directory {
            return Err(Error::NotDirectory {
                role: granted.role,
                path: granted.path,
            });
        }
        grants.push(granted);
    }
    for path in &policy.writes {
        grants.push(grant("write", path, Mode::Write)?);
    }
    // Before the other reads, so that of two grants for one path the stricter stays.
    for file in &policy.exact_reads {
        let mut granted = grant("exact read", &file.path, Mode::Read)?;
        granted.presence = Presence::Same(file.device, file.inode);
        grants.push(granted);
    }
    for path in &policy.guarded {
        // A link is not what it leads to, and a command could have put either there since.
        let missing = fs::symlink_metadata(path).is_ok_and(|status| status.is_symlink()) || !path.exists();
        if !missing {
            let mut granted = grant("guarded", path, Mode::Read)?;
            granted.presence = Presence::Optional;
            grants.push(granted);
        }
    }
    for path in &policy.reads {
        grants.push(grant("read", path, Mode::Read)?);
    }
    Ok(grants)
}

/// Resolves the sealed paths and refuses every grant they conflict with. A sealed path may lie inside a read, where it
/// will be covered; it may not contain one, and it may not meet a write at all.
pub(crate) fn sealed(policy: &Policy, grants: &[Granted]) -> Result<Vec<PathBuf>, Error> {
    let mut all = Vec::new();
    for path in &policy.sealed {
        let sealed = resolve("sealed path", path)?;
        for granted in grants {
            let inside_sealed = granted.path.starts_with(&sealed);
            let around_sealed = sealed.starts_with(&granted.path) && granted.mode == Mode::Write;
            if inside_sealed || around_sealed {
                return Err(Error::MeetsSealed {
                    role: granted.role,
                    path: granted.path.clone(),
                    sealed,
                });
            }
        }
        all.push(sealed);
    }
    Ok(all)
}

impl Granted {
    /// Shows it at another path than its own.
    pub(crate) fn shown_at(self, path: PathBuf) -> Self {
        Self {
            source: Some(self.path),
            path,
            ..self
        }
    }

    /// Where it lies on the host.
    pub(crate) fn source(&self) -> &Path {
        self.source.as_deref().unwrap_or(&self.path)
    }
}

/// Orders grants so that an outer one is mounted before an inner one, and keeps one for each path: a write over a read,
/// what holds a file in place over both, and what stands in place of something else over all.
pub(crate) fn ordered(grants: Vec<Granted>) -> Vec<Granted> {
    let strength = |granted: &Granted| match (granted.presence, granted.mode) {
        _ if granted.source.is_some() => 3,
        (Presence::Optional, _) => 2,
        (_, Mode::Write) => 1,
        (_, Mode::Read) => 0,
    };
    let mut kept: Vec<Granted> = Vec::with_capacity(grants.len());
    for granted in grants {
        match kept.iter_mut().find(|earlier| earlier.path == granted.path) {
            Some(earlier) if strength(earlier) >= strength(&granted) => {}
            Some(earlier) => *earlier = granted,
            None => kept.push(granted),
        }
    }
    kept.sort_by_key(|granted| granted.path.components().count());
    kept
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
