//! What a checkout has that its commit does not: the user's own changes, which a run from HEAD will not see, and the
//! paths the repository ignores. Read from Git's machine formats; nothing is written, not even the index.

use crate::artifacts::IgnoredPaths;
use crate::git::Git;
use crate::{Error, Repository};
use coder_digest::BytePath;

/// What is not committed, each list in Git's order. A path may be both staged and modified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uncommitted {
    /// Different in the index from HEAD.
    pub staged: Vec<BytePath>,
    /// Different on disk from the index.
    pub modified: Vec<BytePath>,
    /// Left in conflict by a merge.
    pub conflicted: Vec<BytePath>,
    /// Unknown to Git and not ignored; a directory that is wholly so ends in `/`.
    pub untracked: Vec<BytePath>,
}

impl Uncommitted {
    /// Whether there is nothing, so that a run from HEAD sees all the user has.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl Repository {
    /// What the user has not committed. Submodules count by their commit alone: to look inside them, Git would run
    /// itself under each one's own configuration.
    ///
    /// # Errors
    /// The failures of Git, and [`Error::GitAnswer`] when its answer is not of the documented form.
    pub fn uncommitted(&self, git: &Git) -> Result<Uncommitted, Error> {
        let session = git.session(&self.top)?;
        let call = session.call([
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--no-renames",
        ]);
        parse(&call.output()?).ok_or_else(|| Error::GitAnswer {
            act: "status".to_owned(),
            directory: self.top.clone(),
            reason: "a line is not of porcelain version 2",
        })
    }

    /// The untracked paths the repository ignores, by its `.gitignore` files and `info/exclude`.
    ///
    /// # Errors
    /// The failures of Git.
    pub fn ignored_paths(&self, git: &Git) -> Result<IgnoredPaths, Error> {
        let session = git.session(&self.top)?;
        let call = session.call([
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ]);
        let answer = call.output()?;
        let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(BytePath::new).collect())
    }
}

fn parse(answer: &[u8]) -> Option<Uncommitted> {
    let mut found = Uncommitted::default();
    let mut records = answer.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        // The path is the last field and may hold spaces, so fields are counted from the left.
        let field = |index: usize| record.splitn(index + 1, |byte| *byte == b' ').nth(index);
        let path = |index| field(index).map(BytePath::new);
        match record.first()? {
            kind @ (b'1' | b'2') => {
                let renamed = *kind == b'2';
                let path = path(if renamed { 9 } else { 8 })?;
                let [index, worktree] = field_pair(field_exact(record, 1)?)?;
                if index != b'.' {
                    found.staged.push(path.clone());
                }
                if worktree != b'.' {
                    found.modified.push(path);
                }
                if renamed {
                    records.next()?;
                }
            }
            b'u' => found.conflicted.push(path(10)?),
            b'?' => found.untracked.push(path(1)?),
            b'!' | b'#' => {}
            _ => return None,
        }
    }
    Some(found)
}

fn field_exact(record: &[u8], index: usize) -> Option<&[u8]> {
    record.split(|byte| *byte == b' ').nth(index)
}

fn field_pair(field: &[u8]) -> Option<[u8; 2]> {
    field.try_into().ok()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
