//! Where leftovers lie, kind by kind, and the reason each may go. What is named is for `named`.

use super::{Leftover, Work, named};
use crate::Error;
use crate::quarantine::{COMMAND, FOLDER as QUARANTINE, is_ours};
use crate::sweep::FOLDER as SCRATCH;
use coder_boundary::Scratch;
use coder_digest::{Digest, TaskId, Timestamp};
use coder_journal::Status;
use coder_workspace::{Quarantine, Reopened};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BLOBS: &str = "blobs";
const LAUNCHES: &str = "launch";
/// An unfinished file whose name does not say who writes it may be in the middle of being written for so long.
const UNSIGNED_AGE: Duration = Duration::from_secs(3600);

/// Where the bytes of `digest` are kept.
pub(super) fn blob(root: &Path, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    let (first, rest) = hex.split_at(2);
    root.join(BLOBS).join(first).join(rest)
}

/// Where the manifest of `digest` is kept.
pub(super) fn manifest(root: &Path, digest: &Digest) -> PathBuf {
    root.join(format!("manifest-{}.json", digest.hex()))
}

/// The digest in a manifest's name.
pub(super) fn manifest_digest(name: &[u8]) -> Option<Digest> {
    let hex = name.strip_prefix(b"manifest-")?.strip_suffix(b".json")?;
    digest(std::str::from_utf8(hex).ok()?)
}

/// Only the spelling that is written: two names for one digest would make one of them seem unnamed.
fn digest(hex: &str) -> Option<Digest> {
    let digest: Digest = hex.parse().ok()?;
    (digest.hex() == hex).then_some(digest)
}

/// What a directory has, by name; nothing where there is no real directory.
fn entries(directory: &Path) -> Result<Vec<(OsString, Metadata)>, Error> {
    match directory.symlink_metadata() {
        Ok(status) if status.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("inspect", directory)(error)),
    }
    let mut found = Vec::new();
    for entry in directory.read_dir().map_err(Error::file("list", directory))? {
        let entry = entry.map_err(Error::file("list", directory))?;
        match entry.metadata() {
            Ok(status) => found.push((entry.file_name(), status)),
            // Finished or removed since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file("inspect", &entry.path())(error)),
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(found)
}

impl Work {
    /// Manifests before the bytes they name, so that a kill in between leaves no manifest without its files. Called while no
    /// run is between keeping something and recording what names it.
    pub(super) fn retained(&mut self) -> Result<(), Error> {
        let named = named::everything(&self.store)?;
        let runs_since = self.runs_since()?;
        for (name, status) in entries(self.root())? {
            let path = Path::new(&name);
            if is_unfinished(&name, &status) {
                self.unfinished(path, &status);
            } else if let Some(digest) = manifest_digest(name.as_encoded_bytes()) {
                self.kept(Leftover::Manifest, path, &digest, &status, &named, runs_since);
            }
        }
        for (directory, _) in entries(&self.root().join(BLOBS))? {
            let below = Path::new(BLOBS).join(&directory);
            for (name, status) in entries(&self.root().join(&below))? {
                let path = below.join(&name);
                let hex = directory
                    .to_str()
                    .zip(name.to_str())
                    .map(|(first, rest)| format!("{first}{rest}"));
                if is_unfinished(&name, &status) {
                    self.unfinished(&path, &status);
                } else if let Some(digest) = hex.as_deref().and_then(digest) {
                    self.kept(Leftover::Blob, &path, &digest, &status, &named, runs_since);
                }
            }
        }
        for (name, status) in entries(&self.root().join(LAUNCHES))? {
            if is_unfinished(&name, &status) {
                self.unfinished(&Path::new(LAUNCHES).join(&name), &status);
            }
        }
        Ok(())
    }

    fn kept(
        &mut self,
        kind: Leftover,
        path: &Path,
        digest: &Digest,
        status: &Metadata,
        named: &HashSet<Digest>,
        runs_since: Option<Timestamp>,
    ) {
        if !status.is_file() || named.contains(digest) || !self.is_older(status, self.older_than) {
            return;
        }
        if runs_since.is_some_and(|since| super::touched(status) >= since.0) {
            self.leave(path, "a run that is under way may have kept it");
            return;
        }
        let seen = super::touched(status);
        self.clear(kind, path, status.len(), |path| {
            // Whoever keeps the same bytes again says so by the file's time, perhaps since it was listed.
            match path.symlink_metadata() {
                Ok(status) if super::touched(&status) == seen => {
                    std::fs::remove_file(path).map_err(|error| error.to_string())
                }
                Ok(_) => Err("it came to be used again".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        });
    }

    fn unfinished(&mut self, path: &Path, status: &Metadata) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let writer = writer(name);
        let least = match writer {
            Some(_) => self.older_than,
            None => self.older_than.max(UNSIGNED_AGE),
        };
        if !self.is_older(status, least) {
            return;
        }
        // A number that was given to another process meanwhile keeps the file until that one ends.
        match writer {
            Some(process) if Path::new("/proc").join(process.to_string()).exists() => {
                self.leave(path, format!("process {process}, which made it, may still write it"));
            }
            Some(_) | None => self.clear_file(Leftover::Temporary, path, status.len()),
        }
    }

    /// Each while its task is kept from being owned: an owner that comes just now must not lose what it makes.
    pub(super) fn scratch(&mut self) -> Result<(), Error> {
        for (name, _) in entries(&self.root().join(SCRATCH))? {
            let Some(task) = name.to_str().and_then(|name| TaskId::new(name).ok()) else {
                continue;
            };
            let parent = Path::new(SCRATCH).join(&name);
            let Some(_unowned) = self.store.keep_unowned(&task)? else {
                continue;
            };
            for (directory, status) in entries(&self.root().join(&parent))? {
                if status.is_dir() && self.is_older(&status, self.older_than) {
                    let path = parent.join(&directory);
                    if directory == QUARANTINE && holds_commits(&self.root().join(&path)) {
                        self.leave(
                            &path,
                            "it may hold what a killed run committed, which the next run takes over",
                        );
                        continue;
                    }
                    let bytes = bytes_below(&self.root().join(&path));
                    self.clear(Leftover::Scratch, &path, bytes, |path| {
                        Scratch::remove_leftover(path).map_err(|error| Error::from(error).message())
                    });
                }
            }
            if self.done.sweep == super::Sweep::Remove {
                // Whatever is still in it keeps it.
                let _ = std::fs::remove_dir(self.root().join(&parent));
            }
        }
        Ok(())
    }

    /// What killed commands without a run left in `place`. What may hold a commit stays: the next command in its worktree, or
    /// the next run, takes it over.
    pub(super) fn commands(&mut self, place: &Path) {
        // A place that cannot be listed has nothing of ours.
        for (name, status) in entries(place).unwrap_or_default() {
            let own = place.join(&name);
            if !name.as_encoded_bytes().starts_with(COMMAND.as_bytes()) || !is_ours(&own) {
                continue;
            }
            let directory = own.join(QUARANTINE);
            let least = match Quarantine::reopen(&directory) {
                Ok(Reopened::WorktreeGone) => self.older_than,
                // One that is just being made looks the same.
                Ok(Reopened::Unfinished) => self.older_than.max(UNSIGNED_AGE),
                Ok(Reopened::InUse) => continue,
                Ok(Reopened::Left(found)) => {
                    let tree = found.place().worktree;
                    let reason = format!(
                        "it may hold what a killed command committed, which the next one in {} takes over",
                        tree.display()
                    );
                    self.leave(&own, reason);
                    continue;
                }
                Err(error) => {
                    self.leave(&own, Error::from(error).message());
                    continue;
                }
            };
            if self.is_older(&status, least) {
                let bytes = bytes_below(&own);
                self.clear(Leftover::Command, &own, bytes, |own| {
                    Quarantine::remove_at(own).map_err(|error| Error::from(error).message())
                });
            }
        }
    }

    pub(super) fn locks(&mut self) -> Result<(), Error> {
        for task in self.store.unused_locks()? {
            let path = PathBuf::from(format!("owner-{task}.lock"));
            let Ok(status) = self.root().join(&path).symlink_metadata() else {
                continue;
            };
            if !self.is_older(&status, self.older_than) {
                continue;
            }
            let Some(unowned) = self.store.keep_unowned(&task)? else {
                continue;
            };
            self.clear(Leftover::Lock, &path, status.len(), |_| {
                match unowned.remove_unused_lock() {
                    Ok(true) => Ok(()),
                    Ok(false) => Err("it came to be used".to_owned()),
                    Err(error) => Err(Error::from(error).message()),
                }
            });
        }
        Ok(())
    }

    /// What a launch left stays as long as a task that it may belong to is not finished.
    pub(super) fn launches(&mut self) -> Result<(), Error> {
        let tasks = self.store.list_all()?;
        for (name, status) in entries(&self.root().join(LAUNCHES))? {
            let Some(text) = name.to_str() else { continue };
            if is_unfinished(&name, &status) || !status.is_file() || !self.is_older(&status, self.older_than) {
                continue;
            }
            let open = tasks.iter().find(|task| {
                is_launch_of(text, task.task_id.as_str())
                    && !matches!(task.status, Status::Finished | Status::Cancelled)
            });
            if open.is_none() {
                self.clear_file(Leftover::Launch, &Path::new(LAUNCHES).join(&name), status.len());
            }
        }
        Ok(())
    }
}

/// Whether a quarantine of Git may hold something of a worktree that is still there.
fn holds_commits(directory: &Path) -> bool {
    !matches!(
        Quarantine::reopen(directory),
        Ok(Reopened::Unfinished | Reopened::WorktreeGone)
    )
}

/// Readers never take a name with a leading dot for a record; writers use one until a file is whole.
fn is_unfinished(name: &OsString, status: &Metadata) -> bool {
    name.as_encoded_bytes().starts_with(b".") && status.is_file()
}

/// The process that a name like `.NAME.PROCESS-NUMBER` is of.
fn writer(name: &str) -> Option<u32> {
    let (process, number) = name.rsplit_once('.')?.1.split_once('-')?;
    number.parse::<u64>().ok()?;
    process.parse().ok()
}

/// `TASK.…` of a run in the foreground, `launch-TASK-…` or `KIND-launch-TASK-…` of a detached one. A task's name may contain
/// what follows another's, so a file may seem to be of several; each of them then keeps it.
fn is_launch_of(file: &str, task: &str) -> bool {
    let after = |rest: &str, next: char| rest.strip_prefix(task).is_some_and(|rest| rest.starts_with(next));
    let detached = file.find("launch-").and_then(|at| file.get(at + "launch-".len()..));
    after(file, '.') || detached.is_some_and(|rest| after(rest, '-'))
}

/// The bytes of all files of a tree, as far as it can be read.
fn bytes_below(directory: &Path) -> u64 {
    let mut pending = vec![directory.to_owned()];
    let mut bytes = 0;
    while let Some(directory) = pending.pop() {
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(status) if status.is_dir() => pending.push(entry.path()),
                Ok(status) if status.is_file() => bytes += status.len(),
                Ok(_) | Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
#[path = "leftovers_tests.rs"]
mod tests;
