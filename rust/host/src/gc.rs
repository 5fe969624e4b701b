//! Clears away what nothing in a store names: kept bytes of runs that never recorded a result, temporary files of writers
//! that were killed, scratch and unused locks of dead owners, launch diagnostics of finished tasks. Careful rather than
//! complete: whatever looks like a digest anywhere in the store counts as naming it, and files it does not know stay. Each
//! removal stands alone, so a kill in between leaves a store that is as good, and the next time goes on.

mod leftovers;
mod named;

use crate::Error;
use crate::confine::Environment;
use crate::exec::temporary_places;
use crate::retention_lock::RetentionLock;
use crate::store_place::open_existing;
use coder_digest::{Clock, Timestamp};
use coder_journal::{Content, Event, Liveness, Store};
use serde::Serialize;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long runs that are just ending are waited for.
const WAIT: Duration = Duration::from_secs(5);

/// Whether anything is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// It is.
    Remove,
    /// It is only said what would be.
    DryRun,
}

/// What kind of thing is left over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// A manifest that no task and no trace names.
    Manifest,
    /// Bytes that nothing names.
    Blob,
    /// A file that its writer never finished.
    Temporary,
    /// The private directory of a run whose owner is gone.
    Scratch,
    /// A lock that was never used.
    Lock,
    /// The private Git of a command without a run, whose host was killed and whose worktree is gone.
    Command,
    /// The grant or the diagnostic of a finished task's launch; the journal has the grant's exact text.
    Launch,
}

/// One thing that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleared {
    /// Its kind.
    pub kind: Leftover,
    /// Where it was, from the store; what lies outside of it by its whole path.
    pub path: PathBuf,
    /// How many bytes its files had.
    pub bytes: u64,
}

/// One thing that stays although nothing names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Where it is, from the store; what lies outside of it by its whole path.
    pub path: PathBuf,
    /// Why it stays.
    pub reason: String,
}

/// What was cleared away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gc {
    /// Whether it was removed or only looked for.
    pub sweep: Sweep,
    /// What, sorted by kind and path.
    pub cleared: Vec<Cleared>,
    /// The bytes of all of it.
    pub bytes: u64,
    /// What could not be removed, or may still be in use.
    pub left: Vec<Left>,
}

/// Clears away what nothing in the store at `path` names and nobody touched for `older_than`, and in the places for temporary
/// files what killed commands without a run left.
///
/// # Errors
/// [`Error::NoStore`]; the journal's own errors; what keeps the store from being read whole, since then nothing is known to be
/// unnamed. What cannot be removed is no error and listed.
pub fn gc(
    path: &Path,
    clock: Arc<dyn Clock>,
    sweep: Sweep,
    older_than: Duration,
    environment: &Environment<'_>,
) -> Result<Gc, Error> {
    let store = open_existing(path, Arc::clone(&clock))?;
    let mut work = clear_up(store, clock.as_ref(), sweep, older_than, WAIT)?;
    for place in temporary_places(environment) {
        work.commands(&place);
    }
    Ok(work.sorted())
}

fn clear_up(
    store: Store,
    clock: &dyn Clock,
    sweep: Sweep,
    older_than: Duration,
    wait: Duration,
) -> Result<Work, Error> {
    let mut work = Work {
        now: clock.now(),
        older_than,
        done: Gc {
            sweep,
            cleared: Vec::new(),
            bytes: 0,
            left: Vec::new(),
        },
        store,
    };
    match RetentionLock::exclude(work.store.path(), wait)? {
        Some(_lock) => work.retained()?,
        None => work.leave(Path::new("blobs"), "a run is ending; clear up again later"),
    }
    work.scratch()?;
    work.locks()?;
    work.launches()?;
    Ok(work)
}

/// A clearing up that is under way.
struct Work {
    store: Store,
    now: Timestamp,
    older_than: Duration,
    done: Gc,
}

impl Work {
    fn sorted(mut self) -> Gc {
        let Gc { cleared, bytes, .. } = &mut self.done;
        cleared.sort_by(|left, right| (left.kind, &left.path).cmp(&(right.kind, &right.path)));
        *bytes = cleared.iter().map(|cleared| cleared.bytes).sum();
        self.done
    }

    fn root(&self) -> &Path {
        self.store.path()
    }

    fn leave(&mut self, path: &Path, reason: impl Into<String>) {
        self.done.left.push(Left {
            path: path.to_owned(),
            reason: reason.into(),
        });
    }

    /// Whether nobody touched a file for `age`. A clock that went back makes files look young, and they stay.
    fn is_older(&self, status: &Metadata, age: Duration) -> bool {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        touched(status) <= self.now.0.saturating_sub(age)
    }

    /// Removes one thing, or says that it would be; `path` counts from the store.
    fn clear(&mut self, kind: Leftover, path: &Path, bytes: u64, remove: impl FnOnce(&Path) -> Result<(), String>) {
        let removed = match self.done.sweep {
            Sweep::DryRun => Ok(()),
            Sweep::Remove => remove(&self.root().join(path)),
        };
        match removed {
            Ok(()) => self.done.cleared.push(Cleared {
                kind,
                path: path.to_owned(),
                bytes,
            }),
            Err(reason) => self.leave(path, reason),
        }
    }

    fn clear_file(&mut self, kind: Leftover, path: &Path, bytes: u64) {
        self.clear(kind, path, bytes, |path| {
            std::fs::remove_file(path).map_err(|error| error.to_string())
        });
    }

    /// The moment since which runs that live now may have kept something that nothing names yet.
    fn runs_since(&self) -> Result<Option<Timestamp>, Error> {
        let mut since = None;
        for summary in self.store.list_all()? {
            if self.store.liveness(&summary.task_id)? == Liveness::Free {
                continue;
            }
            let history = self.store.history(&summary.task_id)?;
            let admitted = history.iter().rev().find(|record| {
                matches!(
                    &record.content,
                    Content::Event {
                        event: Event::Admitted { .. },
                        ..
                    }
                )
            });
            let begun = admitted.or(history.last()).map(|record| record.at);
            since = match (since, begun) {
                (Some(since), Some(begun)) => Some(std::cmp::min::<Timestamp>(since, begun)),
                (since, begun) => since.or(begun),
            };
        }
        Ok(since)
    }
}

/// When a file was last changed in any way, in milliseconds.
fn touched(status: &Metadata) -> i64 {
    let milliseconds =
        |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000);
    milliseconds(status.mtime(), status.mtime_nsec())
}

#[cfg(test)]
#[path = "gc_tests.rs"]
mod tests;
