//! The private scratch directories of runs live in the store, one parent per task, so that what a killed host left can
//! be told from what a live one uses: by the owner's lock. Removes leftovers; never touches anything else.

use crate::Error;
use coder_boundary::Scratch;
use coder_digest::TaskId;
use coder_journal::{Liveness, Store};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

const FOLDER: &str = "scratch";

/// The parent for the scratch of a run of `task`, made if it is missing.
pub(crate) fn scratch_parent(store: &Path, task: &TaskId) -> Result<PathBuf, Error> {
    let parent = store.join(FOLDER).join(task.as_str());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&parent)
        .map_err(Error::file("create", &parent))?;
    Ok(parent)
}

/// Removes the task's scratch parent once its scratch is gone.
pub(crate) fn scratch_done(store: &Path, task: &TaskId) {
    // Not empty means that something is still in use or could not be removed; the next sweep looks again.
    let _ = std::fs::remove_dir(store.join(FOLDER).join(task.as_str()));
    let _ = std::fs::remove_dir(store.join(FOLDER));
}

/// Removes the scratch of every task whose owner is gone. Best effort: what cannot be removed stays for the next time.
pub(crate) fn scratch(store: &Store) {
    let Ok(parents) = std::fs::read_dir(store.path().join(FOLDER)) else {
        return;
    };
    for parent in parents.filter_map(io::Result::ok) {
        let task = parent.file_name().to_str().and_then(|name| TaskId::new(name).ok());
        let Some(task) = task else { continue };
        // The task being admitted is owned by this process, so its own parent is never swept here.
        if !matches!(store.liveness(&task), Ok(Liveness::Free)) {
            continue;
        }
        let Ok(directories) = std::fs::read_dir(parent.path()) else {
            continue;
        };
        for directory in directories.filter_map(io::Result::ok) {
            let _ = Scratch::remove_leftover(&directory.path());
        }
        let _ = std::fs::remove_dir(parent.path());
    }
}
