//! Which of Git's own files a command sees, and which it may change. Git obeys several files when somebody else runs it
//! later (configuration, hooks, pointers to other directories); in an ordinary checkout those are held in place by a
//! mount of their own, and of a linked worktree's repository nothing is writable at all. Nothing here runs Git.

mod checkout;
mod linked;

pub(crate) use checkout::guarded_names;

use crate::Error;
use crate::paths::{Granted, Kind, Presence, grant};
use crate::policy::{GitView, Mode, Workspace};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where commands find the real object store of a linked worktree's repository, read-only, while the quarantine stands in
/// its place. Not with full access, where nothing can be added to the host's root.
pub const GIT_OBJECTS: &str = "/run/agent/git-objects";

/// The mounts of a view, and the names that a command could make because they do not exist yet.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) grants: Vec<Granted>,
    pub(crate) unguarded: Vec<PathBuf>,
    /// Paths inside that something empty is put over.
    pub(crate) covered: Vec<PathBuf>,
}

/// Turns a view into mounts. In a read-only workspace everything of Git's is read-only too.
pub(crate) fn shown(view: &GitView, workspace: Option<&Workspace>, checked: &[Granted]) -> Result<Shown, Error> {
    let mode = workspace.map_or(Mode::Read, |workspace| workspace.mode);
    let workspace = checked.first().filter(|granted| granted.role == "workspace");
    match view {
        GitView::Linked {
            common,
            admin,
            quarantine,
        } => linked::Linked {
            common,
            admin,
            quarantine: quarantine.as_ref(),
        }
        .shown(workspace, mode),
        GitView::Checkout { git_dir } => checkout::shown(git_dir, workspace, mode),
    }
}

impl Shown {
    /// Holds one name in place, read-only, and notes it when it is not there.
    fn guard(&mut self, directory: &Path, name: &str, kind: Kind) -> Result<(), Error> {
        let path = directory.join(name);
        if !present(&path, kind)? {
            self.unguarded.push(path.clone());
        }
        self.hold(path, None, kind);
        Ok(())
    }

    fn hold(&mut self, path: PathBuf, source: Option<PathBuf>, kind: Kind) {
        // Git replaces its own files by renaming, so the inode of a guard may change between two commands.
        let presence = Presence::Optional;
        self.grants.push(Granted {
            role: "Git guard",
            path,
            source,
            kind,
            mode: Mode::Read,
            presence,
        });
    }
}

/// Whether a name that steers Git is there, which must then be what Git expects.
fn present(path: &Path, kind: Kind) -> Result<bool, Error> {
    let path = path.to_path_buf();
    match fs::symlink_metadata(&path) {
        Ok(status) if status.is_symlink() => Err(Error::GitLink { path }),
        Ok(status) if status.is_dir() != (kind == Kind::Directory) => Err(match kind {
            Kind::Directory => Error::NotDirectory { role: "Git's", path },
            Kind::File => Error::NotFileOrDirectory { role: "Git's", path },
        }),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::Resolve {
            role: "Git's",
            path,
            source,
        }),
    }
}

fn directory(role: &'static str, path: &Path, mode: Mode) -> Result<Granted, Error> {
    let granted = grant(role, path, mode)?;
    match granted.kind {
        Kind::Directory => Ok(granted),
        Kind::File => Err(Error::NotDirectory {
            role,
            path: granted.path,
        }),
    }
}
