//! Linked worktrees for runs: made from a commit, recorded in a store before anything is made, and removed again with
//! all that belongs to them and nothing else. What has no record is somebody else's and is never touched. The user's
//! own checkout, its index and its configuration stay as they are.

use crate::git::{CHECKOUT_DEADLINE, Git, Session};
use crate::identity::{index_lock, named_directory};
use crate::remove::remove_tree;
use crate::retain::{make_private, replace_file, sync_parent};
use crate::{BranchName, CheckoutKind, CommitId, Error, Head, IndexLock, ReferenceFormat, Repository};
use coder_digest::{BytePath, Digest, json};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const RECORD_SCHEMA: &str = "openagents.coder.worktree.v1";

/// What a store knows of one worktree of its own, written before it is made and removed after it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorktreeRecord {
    schema: String,
    /// Where the worktree is, or was to be.
    pub directory: BytePath,
    /// The checkout it was made from.
    pub source: BytePath,
    /// The Git directory it shares with it.
    pub common_directory: BytePath,
    /// Its branch.
    pub branch: BranchName,
    /// The commit it began with.
    pub base: CommitId,
    /// Its entry in the Git directory, once that is made. Kept here because the run may write in its entry, and what
    /// it writes there must not decide what is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<BytePath>,
}

/// A worktree that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// What it is: a linked worktree on its branch.
    pub repository: Repository,
    /// Its branch.
    pub branch: BranchName,
    /// The commit it began with.
    pub base: CommitId,
    /// The directory of the branch's reference, which holds no other run's; it exists.
    pub references: PathBuf,
    /// The directory of the reference's log; it exists.
    pub logs: PathBuf,
}

/// What to do with a worktree's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchFate {
    /// Leave it with all its commits.
    Keep,
    /// Delete it. Commits that only it had are lost.
    Drop,
}

/// A recorded worktree, and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What the store knows.
    pub record: WorktreeRecord,
    /// What is there.
    pub remains: Remains,
}

/// What is left of a recorded worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    /// Both its directory and its entry in the repository.
    Whole,
    /// Its directory alone.
    DirectoryOnly,
    /// Its entry in the repository alone.
    EntryOnly,
    /// Neither: its making or its removal was interrupted.
    RecordOnly,
}

/// The worktrees one store has made.
#[derive(Debug, Clone)]
pub struct Worktrees {
    git: Git,
    records: PathBuf,
}

impl Worktrees {
    /// The worktrees recorded in `records`, a private directory that is made if it is missing.
    ///
    /// # Errors
    /// [`Error::UnsafeStore`], [`Error::Write`].
    pub fn open(git: Git, records: &Path) -> Result<Self, Error> {
        make_private(records)?;
        Ok(Self {
            git,
            records: records.to_owned(),
        })
    }

    /// Makes a worktree of `repository` at `directory`, which must not exist, on the new branch `branch` at the commit
    /// `at`. Keeps the sparse set of `repository`. No hook, filter or transport runs, so files under Git LFS stay
    /// pointers. What was made is removed again if any of it fails.
    ///
    /// # Errors
    /// [`Error::WorktreePlace`], [`Error::BranchExists`], [`Error::ReferenceFormat`], [`Error::MissingObjects`],
    /// [`Error::Write`] and the failures of Git.
    pub fn create(
        &self,
        repository: &Repository,
        directory: &Path,
        branch: &BranchName,
        at: &CommitId,
    ) -> Result<Worktree, Error> {
        if let ReferenceFormat::Other(format) = &repository.reference_format {
            return Err(Error::ReferenceFormat {
                path: repository.top.clone(),
                format: format.clone(),
            });
        }
        let directory = place(repository, directory)?;
        let session = self.git.session(&repository.top)?;
        session
            .call(["cat-file", "-e", &format!("{at}^{{commit}}")])
            .output()
            .map_err(|error| lacking(repository, at, error))?;
        let reference = branch.reference();
        let exists = session.call(["show-ref", "--verify", "--quiet", &reference]).ask()?;
        if exists.status == 0 {
            return Err(Error::BranchExists {
                branch: branch.to_string(),
            });
        }
        let record = WorktreeRecord {
            schema: RECORD_SCHEMA.to_owned(),
            directory: BytePath::from(directory.as_path()),
            source: BytePath::from(repository.top.as_path()),
            common_directory: BytePath::from(repository.common_directory.as_path()),
            branch: branch.clone(),
            base: at.clone(),
            entry: None,
        };
        self.keep(&record)?;
        self.fill(repository, &session, &record).map_err(|error| {
            // What failed is the thing to report; if the clearing fails too, the record stays and lists what is left.
            let _ = self.clear(&record, BranchFate::Drop);
            match error {
                Error::GitFailed { .. } => lacking(repository, at, error),
                other => other,
            }
        })
    }

    fn keep(&self, record: &WorktreeRecord) -> Result<(), Error> {
        let bytes = json::canonical_of(record).map_err(|source| Error::Manifest { source })?;
        replace_file(&self.record_path(record.directory.as_path()), bytes.as_bytes())
    }

    fn fill(&self, repository: &Repository, session: &Session, record: &WorktreeRecord) -> Result<Worktree, Error> {
        let directory = record.directory.as_path();
        let common = &repository.common_directory;
        let references = common.join(record.branch.reference_directory());
        let logs = common.join("logs").join(record.branch.reference_directory());
        for path in [&references, &logs] {
            std::fs::create_dir_all(path).map_err(|source| Error::Write {
                path: path.clone(),
                source,
            })?;
        }
        // Without files at first: configuration that is included only for this worktree is known only once it exists,
        // and its filters must be overridden before the first file is written.
        let mut arguments: Vec<&std::ffi::OsStr> = Vec::new();
        for word in ["worktree", "add", "--quiet", "--no-checkout", "--no-track", "-b"] {
            arguments.push(word.as_ref());
        }
        arguments.extend([
            record.branch.as_str().as_ref(),
            "--".as_ref(),
            directory.as_os_str(),
            record.base.as_str().as_ref(),
        ]);
        session.call(arguments).output()?;
        let inside = self.git.session(directory)?;
        inside
            .call(["read-tree", "-m", "-u", record.base.as_str()])
            .deadline(CHECKOUT_DEADLINE)
            .output()?;
        let made = Repository::identify(&self.git, directory)?;
        // Git obeys this file where the repository says so. One that is there, and empty, can be held in place.
        let configuration = made.git_directory.join("config.worktree");
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&configuration)
            .map_err(|source| Error::Write {
                path: configuration,
                source,
            })?;
        let expected = Head::Branch {
            reference: BytePath::from(record.branch.reference().as_str()),
            commit: record.base.clone(),
        };
        let admin = match &made.kind {
            CheckoutKind::Linked { admin } if made.head == expected => admin,
            CheckoutKind::Linked { .. } | CheckoutKind::Checkout => {
                return Err(Error::GitAnswer {
                    act: "worktree".to_owned(),
                    directory: directory.to_owned(),
                    reason: "the worktree it made is not on its branch and commit",
                });
            }
        };
        self.keep(&WorktreeRecord {
            entry: Some(BytePath::from(admin.as_path())),
            ..record.clone()
        })?;
        Ok(Worktree {
            repository: made,
            branch: record.branch.clone(),
            base: record.base.clone(),
            references,
            logs,
        })
    }

    /// Removes the worktree at `directory`: its files, its entry in the repository, with [`BranchFate::Drop`] its
    /// branch, and last its record. Can be repeated after an interruption. The caller makes sure that nothing runs
    /// there any more.
    ///
    /// # Errors
    /// [`Error::NotOurWorktree`] without a record; [`Error::Remove`]; Git's refusal to delete a branch that another
    /// worktree has checked out.
    pub fn remove(&self, directory: &Path, fate: BranchFate) -> Result<(), Error> {
        let record = self.record(directory)?;
        self.clear(&record, fate)
    }

    fn clear(&self, record: &WorktreeRecord, fate: BranchFate) -> Result<(), Error> {
        let directory = record.directory.as_path();
        remove_tree(directory)?;
        if let Some(admin) = admin_of(record) {
            remove_tree(&admin)?;
            // As Git does: the directory of entries goes with its last one, and is left when there are others.
            if let Some(entries) = admin.parent() {
                let _ = std::fs::remove_dir(entries);
            }
        }
        let common = record.common_directory.as_path();
        if fate == BranchFate::Drop && common.is_dir() {
            let session = self.git.session(common)?;
            let reference = record.branch.reference();
            if session
                .call(["show-ref", "--verify", "--quiet", &reference])
                .ask()?
                .status
                == 0
            {
                session
                    .call(["branch", "--quiet", "-D", "--", record.branch.as_str()])
                    .output()?;
            }
            let run = record.branch.reference_directory();
            for path in [common.join(&run), common.join("logs").join(&run)] {
                // Git may have tidied them away itself; another branch of the run keeps them.
                let _ = std::fs::remove_dir(path);
            }
        }
        let path = self.record_path(directory);
        std::fs::remove_file(&path)
            .and_then(|()| sync_parent(&path))
            .map_err(|source| Error::Remove { path, source })
    }

    /// The record of the worktree at `directory`.
    ///
    /// # Errors
    /// [`Error::NotOurWorktree`] without one, [`Error::Read`], [`Error::Manifest`].
    pub fn record(&self, directory: &Path) -> Result<WorktreeRecord, Error> {
        let directory = settled(directory);
        let path = self.record_path(&directory);
        match read_record(&path)? {
            Some(record) if record.directory.as_path() == directory => Ok(record),
            _ => Err(Error::NotOurWorktree { path: directory }),
        }
    }

    /// Every recorded worktree and what is left of it, sorted by directory.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Manifest`].
    pub fn list(&self) -> Result<Vec<Recorded>, Error> {
        let fault = |source| Error::Read {
            path: self.records.clone(),
            source,
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.records).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name();
            if !name.as_bytes().starts_with(b"worktree-") {
                continue;
            }
            if let Some(record) = read_record(&entry.path())? {
                let remains = match (record.directory.as_path().is_dir(), admin_of(&record).is_some()) {
                    (true, true) => Remains::Whole,
                    (true, false) => Remains::DirectoryOnly,
                    (false, true) => Remains::EntryOnly,
                    (false, false) => Remains::RecordOnly,
                };
                found.push(Recorded { record, remains });
            }
        }
        found.sort_by(|one, other| one.record.directory.cmp(&other.record.directory));
        Ok(found)
    }

    /// Removes the lock that a killed Git left on the index of the worktree at `directory`, and says which it was.
    /// Only for our own worktrees, and only once the caller has proved that every process of the run is gone: the
    /// lock does not name its maker.
    ///
    /// # Errors
    /// [`Error::NotOurWorktree`], [`Error::Resolve`], [`Error::Remove`].
    pub fn remove_index_lock(&self, directory: &Path) -> Result<Option<IndexLock>, Error> {
        let record = self.record(directory)?;
        // Where the record says, and not where the worktree's `.git` points now: that may be the user's own index.
        let Some(admin) = admin_of(&record) else {
            return Ok(None);
        };
        let lock = index_lock(&admin)?;
        if let Some(lock) = &lock {
            std::fs::remove_file(&lock.path).map_err(|source| Error::Remove {
                path: lock.path.clone(),
                source,
            })?;
        }
        Ok(lock)
    }

    fn record_path(&self, directory: &Path) -> PathBuf {
        let name = Digest::of(directory.as_os_str().as_bytes()).hex();
        self.records.join(format!("worktree-{name}.json"))
    }
}

fn read_record(path: &Path) -> Result<Option<WorktreeRecord>, Error> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(Error::Read {
                path: path.to_owned(),
                source,
            });
        }
    };
    let record: WorktreeRecord =
        json::parse_as(&bytes, json::Limit::COMMAND).map_err(|source| Error::Manifest { source })?;
    if record.schema == RECORD_SCHEMA {
        Ok(Some(record))
    } else {
        Err(Error::ManifestSchema)
    }
}

/// The path with its parent resolved: as it was recorded, whether or not the directory itself is still there.
fn settled(directory: &Path) -> PathBuf {
    let parent = directory.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, directory.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => directory.to_owned(),
    }
}

/// Checks where a worktree is to be made and resolves it.
fn place(repository: &Repository, directory: &Path) -> Result<PathBuf, Error> {
    let refuse = |reason| {
        Err(Error::WorktreePlace {
            path: directory.to_owned(),
            reason,
        })
    };
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
        return refuse("it names no directory");
    };
    let Ok(parent) = parent.canonicalize() else {
        return refuse("its parent directory does not exist");
    };
    let resolved = parent.join(name);
    if resolved.as_os_str().as_bytes().contains(&b'\n') {
        return refuse("Git cannot record a path with a line break");
    }
    if resolved.symlink_metadata().is_ok() {
        return refuse("something is there already");
    }
    for own in [&repository.top, &repository.git_directory, &repository.common_directory] {
        if resolved.starts_with(own) {
            return refuse("it lies inside the repository, where nothing of ours is ever put");
        }
    }
    Ok(resolved)
}

/// The repository's entry for a recorded worktree, if it is there: the one recorded, or when its making was interrupted
/// before that, the one that names its directory.
fn admin_of(record: &WorktreeRecord) -> Option<PathBuf> {
    if let Some(entry) = &record.entry {
        let entry = entry.as_path();
        return entry.is_dir().then(|| entry.to_owned());
    }
    let link = record.directory.as_path().join(".git");
    let entries = std::fs::read_dir(record.common_directory.as_path().join("worktrees")).ok()?;
    entries.filter_map(|entry| Some(entry.ok()?.path())).find(|admin| {
        match named_directory(&admin.join("gitdir"), "") {
            Some(named) => named == link || settled_link(&named) == link,
            None => false,
        }
    })
}

fn settled_link(link: &Path) -> PathBuf {
    match (link.parent(), link.file_name()) {
        (Some(directory), Some(name)) => settled(directory).join(name),
        _ => link.to_owned(),
    }
}

/// In a partial clone a failure most often means that an object is not there, and Git may not fetch it for us.
fn lacking(repository: &Repository, commit: &CommitId, error: Error) -> Error {
    match (&repository.partial, error) {
        (Some(partial), Error::GitFailed { message, .. }) => Error::MissingObjects {
            path: repository.top.clone(),
            remote: partial.remote.clone(),
            commit: commit.to_string(),
            message,
        },
        (_, error) => error,
    }
}

#[cfg(test)]
#[path = "worktree_tests.rs"]
mod tests;
