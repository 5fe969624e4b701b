//! Which task has which tree (facts 2.6): a task that runs, may still run, or is being checked keeps every tree that equals,
//! contains or lies inside its own from the others of this store. Writers outside the store are not fenced by this.

use crate::Error;
use crate::store::Store;
use crate::task::Task;
use coder_digest::TaskId;
use rusqlite::Transaction;
use std::path::{Path, PathBuf};

/// Refuses `task` its tree where another task holds it, or where it would hold the store itself. Called inside the
/// transaction that records the reservation, so two tasks cannot both find the tree free.
pub(crate) fn check(store: &Store, transaction: &Transaction<'_>, task: &Task) -> Result<(), Error> {
    let tree = task.intent.tree();
    if overlap(tree, store.path()) {
        return Err(Error::UnsafePath {
            path: store.path().to_owned(),
            reason: "the store and the workspace must not contain each other",
        });
    }
    let holders: Vec<(String, String)> = store.query(transaction, "look for reserved trees", |connection| {
        connection
            .prepare_cached("SELECT task_id, tree FROM tasks WHERE reserved = 1 AND task_id <> ?1")?
            .query_map([task.task_id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    })?;
    for (holder, held) in holders {
        if overlap(tree, Path::new(&held)) {
            let holder: TaskId = holder
                .parse()
                .map_err(|_| store.corrupt("the name of a task cannot be read"))?;
            return Err(Error::WorkspaceBusy {
                task: task.task_id.clone(),
                holder,
                tree: PathBuf::from(held),
            });
        }
    }
    Ok(())
}

/// By whole components, so `/a/bc` is not inside `/a/b`.
fn overlap(left: &Path, right: &Path) -> bool {
    left.starts_with(right) || right.starts_with(left)
}
