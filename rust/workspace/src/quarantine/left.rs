//! What commands made of a quarantine: HEAD, branches, index. Its files are hostile: each is opened through no link, read
//! without waiting and up to a bound, and means something only if it is of the one form Git writes. Checks no object.

use super::{Quarantine, REFERENCE_BYTES, own_branch, read_fault, write_fault};
use crate::descriptor::{open_file, open_root};
use crate::{BranchName, CommitId, Error};
use coder_digest::Digest;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The largest index that is taken over, in bytes; some two million paths.
const INDEX_BYTES: u64 = 256 * 1024 * 1024;
/// The most shared parts of indexes; Git removes old ones.
const SHARED: usize = 8;
/// The most branches of one run.
const BRANCHES: usize = 64;

/// What Git leaves of an operation that is not finished. None of it is taken over: a list of steps may name programs,
/// which the next `git rebase --continue` would start.
const UNFINISHED: [&str; 7] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_START",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// Where HEAD was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadLeft {
    /// Where it was.
    Same,
    /// On this branch, by its full name.
    Branch(String),
    /// On this commit.
    Detached(CommitId),
    /// Git would not understand it.
    Unusable,
}

/// What was left of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexLeft {
    /// The same.
    Same,
    /// Another one, of which this is a copy that no command can reach.
    Changed(PathBuf),
    /// Nothing that could be copied.
    Unusable(String),
}

/// Everything that was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// HEAD.
    pub head: HeadLeft,
    /// The branches of the run's own directory that are new or elsewhere now.
    pub references: BTreeMap<BranchName, CommitId>,
    /// The index.
    pub index: IndexLeft,
    /// Operations that were begun and not finished.
    pub unfinished: Vec<&'static str>,
}

impl Left {
    /// Whether nothing was changed.
    pub fn is_nothing(&self) -> bool {
        self.head == HeadLeft::Same && self.references.is_empty() && self.index == IndexLeft::Same
    }
}

impl Quarantine {
    /// Reads what commands left.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Write`] when the copy of the index cannot be made.
    pub fn left(&self) -> Result<Left, Error> {
        let admin = self.directory.join("admin");
        for name in ["admin", "references", "objects"] {
            // Each was mounted on in every command, and so is still ours; but commands may have taken our right to
            // enter it. One that is not there is none of this repository's.
            let _ = rustix::fs::chmod(self.directory.join(name), Mode::RWXU);
        }
        let mut references = BTreeMap::new();
        if let Some(branches) = &self.record.branch_directory {
            references = self::references(&self.directory.join("references"), branches.as_path())?;
            references.retain(|name, commit| self.record.references.get(name) != Some(&*commit));
        }
        Ok(Left {
            head: self.head_left(&admin)?,
            references,
            index: self.index_left(&admin)?,
            unfinished: UNFINISHED
                .into_iter()
                .filter(|name| admin.join(name).symlink_metadata().is_ok())
                .collect(),
        })
    }

    fn head_left(&self, admin: &Path) -> Result<HeadLeft, Error> {
        let Some(text) = small(admin, "HEAD")? else {
            return Ok(HeadLeft::Unusable);
        };
        if text == self.record.head {
            return Ok(HeadLeft::Same);
        }
        Ok(match (text.strip_prefix("ref: "), text.parse()) {
            (Some(name), _) if name.starts_with("refs/heads/") && !name.contains("..") => {
                HeadLeft::Branch(name.to_owned())
            }
            (None, Ok(commit)) => HeadLeft::Detached(commit),
            (Some(_), _) | (None, Err(_)) => HeadLeft::Unusable,
        })
    }

    fn index_left(&self, admin: &Path) -> Result<IndexLeft, Error> {
        let file = match plain(admin, "index")? {
            Found::File(file) => file,
            Found::Nothing if self.record.index.is_none() => return Ok(IndexLeft::Same),
            Found::Nothing => return Ok(IndexLeft::Unusable("it was removed".to_owned())),
            Found::Other => return Ok(IndexLeft::Unusable("it is no plain file".to_owned())),
        };
        let copy = self.directory.join("index");
        let mut target = File::create(&copy).map_err(write_fault(&copy))?;
        let copied = io::copy(&mut file.take(INDEX_BYTES + 1), &mut target).map_err(write_fault(&copy))?;
        if copied > INDEX_BYTES {
            return Ok(IndexLeft::Unusable(format!("it is larger than {INDEX_BYTES} bytes")));
        }
        if digest_of(&copy)? == self.record.index {
            return Ok(IndexLeft::Same);
        }
        for name in shared(admin)? {
            if let Found::File(file) = plain(admin, &name)? {
                let copy = self.directory.join(name);
                let mut target = File::create(&copy).map_err(write_fault(&copy))?;
                io::copy(&mut file.take(INDEX_BYTES), &mut target).map_err(write_fault(&copy))?;
            }
        }
        Ok(IndexLeft::Changed(copy))
    }
}

/// The branches in a directory of references. What is no reference of a name that a run's branch may have is left out.
pub(super) fn references(directory: &Path, branches: &Path) -> Result<BTreeMap<BranchName, CommitId>, Error> {
    let mut found = BTreeMap::new();
    let listed = std::fs::read_dir(directory).map_err(read_fault(directory))?;
    for entry in listed.take(2 * BRANCHES) {
        let entry = entry.map_err(read_fault(directory))?;
        let name = entry.file_name();
        let Some(branch) = name.to_str().and_then(|leaf| own_branch(branches, leaf)) else {
            continue;
        };
        let text = small(directory, name.to_str().unwrap_or_default())?;
        if let Some(commit) = text.and_then(|text| text.parse().ok())
            && found.len() < BRANCHES
        {
            found.insert(branch, commit);
        }
    }
    Ok(found)
}

/// The names of the parts that an index may refer to (`core.splitIndex`); Git looks for them beside it.
pub(super) fn shared(directory: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(read_fault(directory))? {
        let name = entry.map_err(read_fault(directory))?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix("sharedindex."));
        if digits.is_some_and(|digits| digits.parse::<CommitId>().is_ok()) && names.len() < SHARED {
            names.extend(name.into_string().ok());
        }
    }
    Ok(names)
}

/// The digest of a file, if it is there.
pub(super) fn digest_of(path: &Path) -> Result<Option<Digest>, Error> {
    match File::open(path) {
        Ok(file) => Digest::of_reader(file)
            .map(|(digest, _)| Some(digest))
            .map_err(read_fault(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(read_fault(path)(source)),
    }
}

enum Found {
    File(File),
    Nothing,
    Other,
}

/// Opens a plain file of a directory that commands could write in.
fn plain(directory: &Path, name: &str) -> Result<Found, Error> {
    let path = directory.join(name);
    let parent = open_root(directory).map_err(|errno| read_fault(directory)(errno.into()))?;
    let opened = match open_file(&parent, name.as_bytes()) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        Err(Errno::LOOP | Errno::NXIO | Errno::ACCESS) => return Ok(Found::Other),
        Err(errno) => return Err(read_fault(&path)(errno.into())),
    };
    let status = rustix::fs::fstat(&opened).map_err(|errno| read_fault(&path)(errno.into()))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Ok(Found::Other);
    }
    rustix::fs::fcntl_setfl(&opened, OFlags::empty()).map_err(|errno| read_fault(&path)(errno.into()))?;
    Ok(Found::File(File::from(opened)))
}

/// The single line of a small plain file; nothing when it is anything else.
fn small(directory: &Path, name: &str) -> Result<Option<String>, Error> {
    let Found::File(file) = plain(directory, name)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(REFERENCE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(read_fault(&directory.join(name)))?;
    let text = String::from_utf8(bytes).ok();
    Ok(text
        .map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned())
        .filter(|text| !text.contains(|character: char| character.is_control())))
}
