//! A private copy of what Git changes in a linked worktree: a store for new objects, the worktree's own directory, the
//! directory of the run's branch. Commands find it in place of the original, and only what is checked afterwards reaches
//! the repository. Here it is made, recorded and removed; `left` reads what commands made of it, `import` and `publish`
//! take it over. Nothing here confines anything: who shows it to commands is the boundary's.

mod borrowed;
mod import;
mod left;
mod note;
mod publish;

pub use borrowed::stores as borrowed_stores;
pub use import::{Exported, Selection};
pub use left::{HeadLeft, IndexLeft, Left};
pub use note::{Found as FoundNote, Note};
pub use publish::{Moved, Published, Restored};

use crate::patch::quoted;
use crate::remove::remove_tree;
use crate::retain::replace_file;
use crate::{BranchName, CommitId, Error};
use coder_digest::{BytePath, Digest, json};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Written last and removed first: without it there is nothing to take over.
const RECORD: &str = "record.json";
const RECORD_SCHEMA: &str = "openagents.coder.git-quarantine.v1";
/// The most entries of a worktree's own directory that are copied; Git makes a dozen.
const ENTRIES: usize = 4096;
/// The longest file that holds one reference, in bytes.
const REFERENCE_BYTES: u64 = 4096;

/// The parts of a linked worktree's repository, as plain data: nothing here was asked of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedPlace {
    /// The top of the worktree.
    pub worktree: PathBuf,
    /// The Git directory it shares with the repository's other worktrees.
    pub common_directory: PathBuf,
    /// Its own directory there.
    pub admin: PathBuf,
    /// The directory of the run's own branch below the common one, as `refs/heads/microcoder/<task>`.
    pub branch_directory: Option<PathBuf>,
}

/// Where everything stood when the quarantine was made. On disk before the first command can see it, so that whoever
/// finds it after a crash knows what to compare with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    schema: String,
    pub(crate) worktree: BytePath,
    pub(crate) common_directory: BytePath,
    pub(crate) admin: BytePath,
    pub(crate) branch_directory: Option<BytePath>,
    /// The text of HEAD without its line break.
    pub(crate) head: String,
    /// The commit HEAD led to.
    pub(crate) base: Option<CommitId>,
    /// The branches in the run's own directory.
    pub(crate) references: BTreeMap<BranchName, CommitId>,
    /// Of the index, if there was one.
    pub(crate) index: Option<Digest>,
}

impl Record {
    fn of(place: &LinkedPlace) -> Result<Self, Error> {
        let head = first_line(&place.admin.join("HEAD"))?;
        let base = resolve(place, &head, 0)?;
        let mut references = BTreeMap::new();
        if let Some(branches) = &place.branch_directory {
            references = left::references(&place.common_directory.join(branches), branches)?;
            if let Some((name, commit)) = own_head(&head, branches).zip(base.clone()) {
                // A branch that is packed away has no file.
                references.entry(name).or_insert(commit);
            }
        }
        Ok(Self {
            schema: RECORD_SCHEMA.to_owned(),
            worktree: BytePath::from(place.worktree.as_path()),
            common_directory: BytePath::from(place.common_directory.as_path()),
            admin: BytePath::from(place.admin.as_path()),
            branch_directory: place.branch_directory.as_deref().map(BytePath::from),
            index: left::digest_of(&place.admin.join("index"))?,
            head,
            base,
            references,
        })
    }
}

/// A quarantine on disk, locked for as long as this value lives.
#[derive(Debug)]
pub struct Quarantine {
    directory: PathBuf,
    record: Record,
    borrowed: Vec<PathBuf>,
    _lock: File,
}

impl Quarantine {
    /// Makes one at `directory`, which must not exist. `shown_objects` is where commands will find the repository's own
    /// object store. Nothing where the repository keeps its branches in another way than as files.
    ///
    /// # Errors
    /// [`Error::Write`] when it cannot be made, [`Error::Read`] when the original cannot be read,
    /// [`Error::BorrowedObjects`] when the repository borrows objects from what is no object store.
    pub fn create(directory: &Path, place: &LinkedPlace, shown_objects: &Path) -> Result<Option<Self>, Error> {
        if place.common_directory.join("reftable").is_dir() {
            return Ok(None);
        }
        let record = Record::of(place)?;
        let borrowed = borrowed::stores(&place.common_directory.join("objects"))?;
        make_directory(directory)?;
        let lock = lock(directory)?.ok_or_else(|| write_fault(directory)(io::ErrorKind::WouldBlock.into()))?;
        for name in ["objects", "objects/info", "objects/pack"] {
            make_directory(&directory.join(name))?;
        }
        let alternates = directory.join("objects/info/alternates");
        let mut lines = Vec::new();
        for store in std::iter::once(shown_objects).chain(borrowed.iter().map(PathBuf::as_path)) {
            lines.extend(quoted(store));
            lines.push(b'\n');
        }
        std::fs::write(&alternates, lines).map_err(write_fault(&alternates))?;
        copy_directory(&place.admin, &directory.join("admin"))?;
        if place.admin.join("modules").is_dir() {
            make_directory(&directory.join("admin/modules"))?;
        }
        if let Some(branches) = &place.branch_directory {
            let common = &place.common_directory;
            copy_directory(&common.join(branches), &directory.join("references"))?;
            copy_directory(&common.join("logs").join(branches), &directory.join("logs"))?;
        }
        let quarantine = Self {
            directory: directory.to_owned(),
            record,
            borrowed,
            _lock: lock,
        };
        quarantine.keep()?;
        Ok(Some(quarantine))
    }

    /// The one that an ended host left at `directory`. Nothing while another host holds it, and nothing where its making
    /// was interrupted: no command has seen it then.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Manifest`], [`Error::ManifestSchema`].
    pub fn reopen(directory: &Path) -> Result<Reopened, Error> {
        // A mere look leaves nothing behind.
        if !directory.join("lock").exists() {
            return Ok(Reopened::Unfinished);
        }
        let Some(lock) = lock(directory)? else {
            return Ok(Reopened::InUse);
        };
        let path = directory.join(RECORD);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Reopened::Unfinished),
            Err(source) => return Err(Error::Read { path, source }),
        };
        let record: Record =
            json::parse_as(&bytes, json::Limit::COMMAND).map_err(|source| Error::Manifest { source })?;
        if record.schema != RECORD_SCHEMA {
            return Err(Error::ManifestSchema);
        }
        if !record.admin.as_path().is_dir() {
            return Ok(Reopened::WorktreeGone);
        }
        let borrowed = borrowed::stores(&record.common_directory.as_path().join("objects"))?;
        Ok(Reopened::Left(Box::new(Self {
            directory: directory.to_owned(),
            record,
            borrowed,
            _lock: lock,
        })))
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The worktree it stands for.
    pub fn place(&self) -> LinkedPlace {
        LinkedPlace {
            worktree: self.record.worktree.as_path().to_owned(),
            common_directory: self.record.common_directory.as_path().to_owned(),
            admin: self.record.admin.as_path().to_owned(),
            branch_directory: self
                .record
                .branch_directory
                .as_ref()
                .map(|path| path.as_path().to_owned()),
        }
    }

    /// The object stores that the repository's own borrows from, all of them, in the order Git looks.
    pub fn borrowed(&self) -> &[PathBuf] {
        &self.borrowed
    }

    /// Begins anew: what the repository holds now is what later commands are compared with. What they see stays.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Write`].
    pub fn renew(&mut self) -> Result<(), Error> {
        self.record = Record::of(&self.place())?;
        self.keep()
    }

    /// Removes what lies at `directory`, whatever commands made of it. An interruption leaves what is
    /// [`Unfinished`](Reopened::Unfinished).
    ///
    /// # Errors
    /// [`Error::Remove`].
    pub fn remove_at(directory: &Path) -> Result<(), Error> {
        // Half of one would be taken for one in which commands had removed the rest.
        let record = directory.join(RECORD);
        if let Err(source) = std::fs::remove_file(&record)
            && source.kind() != io::ErrorKind::NotFound
        {
            return Err(Error::Remove { path: record, source });
        }
        remove_tree(directory)
    }

    fn keep(&self) -> Result<(), Error> {
        let bytes = json::canonical_of(&self.record).map_err(|source| Error::Manifest { source })?;
        replace_file(&self.directory.join(RECORD), bytes.as_bytes())
    }
}

/// What was found of a quarantine.
#[derive(Debug)]
pub enum Reopened {
    /// All of it.
    Left(Box<Quarantine>),
    /// Another host uses it.
    InUse,
    /// It was never finished; remove it.
    Unfinished,
    /// Its worktree is no more; remove it.
    WorktreeGone,
}

/// The run's own branch, if that is where the text of HEAD leads.
pub(crate) fn own_head(head: &str, branches: &Path) -> Option<BranchName> {
    let reference = head.strip_prefix("ref: ")?;
    let leaf = reference.strip_prefix(branches.to_str()?)?.strip_prefix('/')?;
    own_branch(branches, leaf)
}

/// The branch of one name in the run's own directory.
pub(crate) fn own_branch(branches: &Path, leaf: &str) -> Option<BranchName> {
    let directory = branches.to_str()?.strip_prefix("refs/heads/")?;
    BranchName::new(format!("{directory}/{leaf}")).ok()
}

/// The commit that a HEAD leads to, by the files alone.
fn resolve(place: &LinkedPlace, head: &str, depth: u8) -> Result<Option<CommitId>, Error> {
    /// As deep as Git follows.
    const DEPTH: u8 = 5;
    let Some(name) = head.strip_prefix("ref: ") else {
        return Ok(head.parse().ok());
    };
    let plain = Path::new(name)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain || depth == DEPTH {
        return Ok(None);
    }
    match first_line(&place.common_directory.join(name)) {
        Ok(line) => resolve(place, &line, depth + 1),
        Err(Error::Read { .. }) => packed(&place.common_directory.join("packed-refs"), name),
        Err(error) => Err(error),
    }
}

fn packed(path: &Path, name: &str) -> Result<Option<CommitId>, Error> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(read_fault(path)(source)),
    };
    for line in io::BufReader::new(file).split(b'\n') {
        let line = line.map_err(read_fault(path))?;
        let line = std::str::from_utf8(&line).unwrap_or_default();
        if let Some((id, found)) = line.split_once(' ')
            && found == name
        {
            return Ok(id.parse().ok());
        }
    }
    Ok(None)
}

fn first_line(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(REFERENCE_BYTES).read_to_string(&mut text))
        .map_err(read_fault(path))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Copies the plain files of one of Git's own directories. Locks are left out, since their makers do not work in the
/// copy, and so are the repositories of submodules.
fn copy_directory(from: &Path, to: &Path) -> Result<(), Error> {
    let mut pending = vec![(from.to_owned(), to.to_owned())];
    let mut left = ENTRIES;
    let mut top = true;
    while let Some((from, to)) = pending.pop() {
        make_directory(&to)?;
        for entry in std::fs::read_dir(&from).map_err(read_fault(&from))? {
            let entry = entry.map_err(read_fault(&from))?;
            let kind = entry.file_type().map_err(read_fault(&from))?;
            let (source, name) = (entry.path(), entry.file_name());
            left = left
                .checked_sub(1)
                .ok_or_else(|| read_fault(&from)(io::Error::other("it holds more entries than Git makes")))?;
            let target = to.join(&name);
            if kind.is_dir() {
                if !(top && name == "modules") {
                    pending.push((source, target));
                }
            } else if top && name.as_encoded_bytes().starts_with(note::PREFIX.as_bytes()) {
                // The host's own; it names a place of the host.
            } else if kind.is_file() && source.extension().is_none_or(|extension| extension != "lock") {
                copy_file(&source, &target)?;
            }
        }
        top = false;
    }
    Ok(())
}

/// Copies the content alone: a mode without rights would keep commands from their own file.
fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    let mut source = match File::open(from) {
        Ok(source) => source,
        // Gone since it was listed: somebody else's Git works in the worktree.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(read_fault(from)(error)),
    };
    let mut target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(to)
        .map_err(write_fault(to))?;
    io::copy(&mut source, &mut target).map(drop).map_err(write_fault(to))
}

/// Takes the lock; nothing when another host has it.
fn lock(directory: &Path) -> Result<Option<File>, Error> {
    let path = directory.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(write_fault(&path))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(write_fault(&path)(errno.into())),
    }
}

fn make_directory(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path).map_err(write_fault(path))
}

pub(crate) fn write_fault(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Write { path, source }
}

pub(crate) fn read_fault(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Read { path, source }
}

#[cfg(test)]
#[path = "quarantine_tests.rs"]
mod tests;
