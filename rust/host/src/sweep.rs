//! The private scratch directories of runs live in the store, one parent per task, so that what a killed host left can
//! be told from what a live one uses: by the owner's lock. Takes over what a killed host's commands committed, and removes
//! leftovers; never touches anything else.

use crate::quarantine::{FOLDER as GIT, Held};
use crate::{Error, git_link};
use coder_boundary::{Ground, Scratch};
use coder_digest::TaskId;
use coder_journal::Store;
use coder_workspace::{Git, Published, Quarantine, Reopened, Restored};
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

/// What was taken over of a run or a command whose host had ended before it could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Recovered {
    /// The run's task; a command of `microcoder exec` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskId>,
    pub(crate) git: Published,
}

impl Recovered {
    /// The same for people.
    pub(crate) fn words(&self) -> String {
        match &self.task {
            Some(task) => format!("What task {task} had committed was taken over."),
            None => "What a command without a task had committed was taken over.".to_owned(),
        }
    }
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

/// The same for one task whose run is proved gone, and says also what could not be taken over and where it stays. Nothing
/// where there was nothing to take over, or where somebody came to own the task meanwhile: an admission does the same.
pub(crate) fn one(store: &Store, task: &TaskId) -> Result<Option<Published>, Error> {
    let parent = store.path().join(FOLDER).join(task.as_str());
    let quarantine = parent.join(GIT);
    let Some(_unowned) = store.keep_unowned(task)? else {
        return Ok(None);
    };
    let git = Git::find();
    let taken = match &git {
        Ok(git) => leftovers(&parent, task, Some(git)).pop().map(|recovered| recovered.git),
        Err(_) => None,
    };
    if taken.is_none() && quarantine.exists() {
        let why = match git {
            Ok(_) => "it cannot be read, or something still holds it".to_owned(),
            Err(error) => Error::from(error).message(),
        };
        return Ok(Some(stays(&quarantine, &why)));
    }
    // Others may be in it, and keep it.
    let _ = std::fs::remove_dir(store.path().join(FOLDER));
    Ok(taken)
}

fn stays(quarantine: &Path, why: &str) -> Published {
    Published {
        restored: vec![Restored {
            name: "repository".to_owned(),
            reason: format!("{why}; what commands made stays in {}", quarantine.display()),
        }],
        ..Published::default()
    }
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
                task: Some(task.clone()),
                git,
            }));
        } else {
            let _ = Scratch::remove_leftover(&directory.path());
        }
    }
    let _ = std::fs::remove_dir(parent);
    recovered
}

/// Takes over what commands without a run left in this worktree when their hosts were killed.
pub(crate) fn commands(workspace: &Path) -> Result<Vec<Recovered>, Error> {
    let taken = git_link::place(workspace)?.map(|place| Held::recover_commands(&place, Ground::default()));
    let recovered = taken.unwrap_or_default().into_iter();
    Ok(recovered.map(|git| Recovered { task: None, git }).collect())
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
