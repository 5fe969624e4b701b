//! The private scratch directories of runs live in the store, one parent per task, so that what a killed host left can
//! be told from what a live one uses: by the owner's lock. Takes over what a killed host's commands committed, and removes
//! leftovers; never touches anything else.

use crate::Error;
use crate::quarantine::{FOLDER as GIT, Held};
use coder_boundary::Scratch;
use coder_digest::TaskId;
use coder_journal::Store;
use coder_workspace::{Git, Published, Quarantine, Reopened};
use serde::Serialize;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Where in the store the scratch of all runs is.
pub(crate) const FOLDER: &str = "scratch";
/// How often a folder that others remove is made again.
const TRIES: u32 = 16;

/// The parent for the scratch of one task's run. Removed when dropped, once what was made in it is gone.
#[derive(Debug)]
pub(crate) struct ScratchPlace {
    parent: PathBuf,
}

impl ScratchPlace {
    /// Makes the parent for `task`, whose owner this process is.
    pub(crate) fn create(store: &Path, task: &TaskId) -> Result<Self, Error> {
        let parent = store.join(FOLDER).join(task.as_str());
        let make = || DirBuilder::new().recursive(true).mode(0o700).create(&parent);
        let mut made = make();
        for _ in 0..TRIES {
            // Another run that ended just now may have removed the empty folder in between.
            match made {
                Err(error) if error.kind() == io::ErrorKind::NotFound => made = make(),
                Ok(()) | Err(_) => break,
            }
        }
        made.map_err(Error::file("create", &parent))?;
        Ok(Self { parent })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.parent
    }
}

impl Drop for ScratchPlace {
    fn drop(&mut self) {
        // Not empty means that something is still in use or could not be removed; the next sweep looks again.
        let _ = std::fs::remove_dir(&self.parent);
        let _ = self.parent.parent().map(std::fs::remove_dir);
    }
}

/// What was taken over of a run whose host had ended before it could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Recovered {
    pub(crate) task: TaskId,
    pub(crate) git: Published,
}

/// Removes the scratch of every task whose owner is gone, but for what its commands committed. Best effort: what cannot be
/// removed stays for the next time.
pub(crate) fn scratch(store: &Store) {
    all(store, None);
}

/// The same, and takes over what was committed.
pub(crate) fn recover(store: &Store, git: &Git) -> Vec<Recovered> {
    all(store, Some(git))
}

fn all(store: &Store, git: Option<&Git>) -> Vec<Recovered> {
    let mut recovered = Vec::new();
    let Ok(parents) = std::fs::read_dir(store.path().join(FOLDER)) else {
        return recovered;
    };
    for parent in parents.filter_map(io::Result::ok) {
        let task = parent.file_name().to_str().and_then(|name| TaskId::new(name).ok());
        let Some(task) = task else { continue };
        // Kept from being owned meanwhile: an owner that comes just now must not lose what it makes. The task being admitted
        // is owned by this process, so its own parent is never swept here.
        let (Ok(_), Ok(Some(_unowned))) = (store.show(&task), store.keep_unowned(&task)) else {
            continue;
        };
        recovered.extend(leftovers(&parent.path(), &task, git));
    }
    recovered
}

/// The same for a task that this process owns and that has no place yet: an earlier admission of it was interrupted.
pub(crate) fn own(store: &Store, task: &TaskId, git: &Git) -> Vec<Recovered> {
    leftovers(&store.path().join(FOLDER).join(task.as_str()), task, Some(git))
}

fn leftovers(parent: &Path, task: &TaskId, git: Option<&Git>) -> Vec<Recovered> {
    let mut recovered = Vec::new();
    let Ok(directories) = std::fs::read_dir(parent) else {
        return recovered;
    };
    for directory in directories.filter_map(io::Result::ok) {
        if directory.file_name() == GIT {
            let published = git.and_then(|git| quarantine(&directory.path(), git));
            recovered.extend(published.map(|git| Recovered {
                task: task.clone(),
                git,
            }));
        } else {
            let _ = Scratch::remove_leftover(&directory.path());
        }
    }
    let _ = std::fs::remove_dir(parent);
    recovered
}

/// Nothing where there was nothing to take over, or where it must wait for another sweep.
fn quarantine(directory: &Path, git: &Git) -> Option<Published> {
    match Quarantine::reopen(directory) {
        Ok(Reopened::Left(quarantine)) => {
            let published = Held::found(*quarantine).publish(git);
            (published != Published::default()).then_some(published)
        }
        Ok(Reopened::Unfinished | Reopened::WorktreeGone) => {
            let _ = Quarantine::remove_at(directory);
            None
        }
        Ok(Reopened::InUse) | Err(_) => None,
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
