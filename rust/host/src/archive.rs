//! Putting settled tasks away, by name or by age, so that they count for none of the store's bounds.

use crate::Error;
use crate::store_place::open_existing;
use coder_digest::{Clock, TaskId, Timestamp};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A task that was put away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// The task.
    pub task_id: TaskId,
    /// When.
    pub archived_at: Timestamp,
}

/// Puts the `named` tasks of the store at `path` away, and, with `older_than`, every finished or cancelled one whose last
/// record is at least so old. Stops at the first refusal; what was put away before it stays so.
///
/// # Errors
/// [`Error::NoStore`]; those of [`coder_journal::Store::archive`].
pub fn archive(
    path: &Path,
    clock: Arc<dyn Clock>,
    named: &[TaskId],
    older_than: Option<Duration>,
) -> Result<Vec<Archived>, Error> {
    let store = open_existing(path, Arc::clone(&clock))?;
    let mut tasks = named.to_vec();
    if let Some(age) = older_than {
        tasks.extend(store.settled_before(before(clock.now(), age))?);
    }
    let mut archived = Vec::with_capacity(tasks.len());
    for task_id in tasks {
        let archived_at = store.archive(&task_id)?;
        archived.push(Archived { task_id, archived_at });
    }
    Ok(archived)
}

/// The moment `age` before `now`; an age of nothing counts all up to now.
pub(crate) fn before(now: Timestamp, age: Duration) -> Timestamp {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_sub(age).saturating_add(1))
}
