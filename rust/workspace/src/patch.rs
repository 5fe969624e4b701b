//! The candidate as one unified diff against its base commit, to show and to take over. Made from the snapshot's list
//! of changes through an index and an object store of its own, so that neither the user's repository nor what the run
//! did to its index has a say in it. Applies nothing.

use crate::artifacts::IgnoredPaths;
use crate::changes::Change;
use crate::git::{CHECKOUT_DEADLINE, Git};
use crate::snapshot::{Kind, Snapshot, by_component};
use crate::{CommitId, Error, Repository};
use coder_digest::BytePath;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The largest file that is in a patch, and all files together, in bytes. Git reads and packs each of them whole, which took
/// minutes for what an agent had left of gigabytes, also after a stop.
const FILE_BYTES: u64 = 64 * 1024 * 1024;
const ALL_BYTES: u64 = 256 * 1024 * 1024;

/// What to make a patch of.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The checkout the run worked in.
    pub repository: &'a Repository,
    /// The commit to compare with.
    pub base: &'a CommitId,
    /// The tree as it is now.
    pub after: &'a Snapshot,
    /// What changed in it.
    pub changes: &'a [Change],
    /// Paths to leave out.
    pub ignored: &'a IgnoredPaths,
}

/// A unified diff with binary content included, as `git apply` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The text.
    pub bytes: Vec<u8>,
    /// Whether it is all there.
    pub extent: Extent,
    /// Changed paths that are not in it: ignored by the repository, inside a nested repository, no file or link, or a file
    /// over 64 MiB or past 256 MiB of all.
    pub left_out: Vec<BytePath>,
}

/// Whether something is all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// It is.
    Whole,
    /// Only its beginning: to be shown, not applied.
    Cut,
}

/// Makes the patch, keeping at most `limit` bytes of it. `scratch` is an empty directory to work in, which the caller
/// removes.
///
/// # Errors
/// [`Error::Write`] in the scratch directory, and the failures of Git.
pub fn candidate_patch(git: &Git, candidate: &Candidate<'_>, scratch: &Path, limit: usize) -> Result<Patch, Error> {
    let session = git.session(&candidate.repository.top)?;
    let (index, objects) = (scratch.join("index"), scratch.join("objects"));
    let information = objects.join("info");
    let write = |path: &Path, source| Error::Write {
        path: path.to_owned(),
        source,
    };
    std::fs::create_dir_all(&information).map_err(|source| write(&information, source))?;
    let alternates = information.join("alternates");
    let mut line = quoted(&candidate.repository.common_directory.join("objects"));
    line.push(b'\n');
    std::fs::write(&alternates, line).map_err(|source| write(&alternates, source))?;
    let call = |arguments: &[&str]| {
        session
            .call(arguments)
            .variable("GIT_INDEX_FILE", &index)
            .variable("GIT_OBJECT_DIRECTORY", &objects)
            .deadline(CHECKOUT_DEADLINE)
    };
    let base = candidate.base.as_str();
    let paths = Paths::of(candidate);
    call(&["read-tree", base]).output()?;
    call(&["update-index", "-z", "--index-info"])
        .input(paths.removals(base.len()))
        .output()?;
    call(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"])
        .input(paths.present())
        .output()?;
    let answer = call(&[
        "diff-index",
        "--cached",
        "--patch",
        "--binary",
        "--full-index",
        "--find-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--submodule=short",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        base,
    ])
    .limit(limit)
    .ask()?;
    if answer.status != 0 {
        return Err(Error::GitFailed {
            act: "diff-index".to_owned(),
            directory: candidate.repository.top.clone(),
            message: answer.message,
        });
    }
    Ok(Patch {
        bytes: answer.output,
        extent: if answer.cut { Extent::Cut } else { Extent::Whole },
        left_out: paths.left_out,
    })
}

#[derive(Default)]
struct Paths {
    present: BTreeSet<BytePath>,
    gone: BTreeSet<BytePath>,
    left_out: Vec<BytePath>,
}

impl Paths {
    fn of(candidate: &Candidate<'_>) -> Self {
        let mut paths = Self::default();
        let nested: IgnoredPaths = candidate.after.nested_repositories().into_iter().collect();
        let mut left = ALL_BYTES;
        let mut come = |path: &BytePath| {
            let shown = !candidate.ignored.contains(path) && !nested.contains(path) && !is_git_link(path);
            let kind = candidate.after.entry(path.as_bytes()).map(|entry| &entry.kind);
            let shown = match kind {
                Some(Kind::File { length, .. }) if shown && *length <= FILE_BYTES.min(left) => {
                    left -= length;
                    true
                }
                Some(Kind::File { .. }) => false,
                Some(Kind::Symlink { .. } | Kind::Directory | Kind::Other { .. }) | None => shown,
            };
            match kind {
                Some(Kind::File { .. } | Kind::Symlink { .. }) if shown => {
                    paths.present.insert(path.clone());
                }
                // A directory is in Git only by what it holds, and that has changes of its own.
                Some(Kind::Directory) | None => {}
                Some(Kind::File { .. } | Kind::Symlink { .. } | Kind::Other { .. }) => {
                    paths.left_out.push(path.clone());
                }
            }
        };
        for change in candidate.changes {
            match change {
                Change::Created { path } | Change::Modified { path, .. } => come(path),
                Change::Removed { path } => {
                    paths.gone.insert(path.clone());
                }
                Change::Retyped { path } => {
                    come(path);
                    paths.gone.insert(path.clone());
                }
                Change::Renamed { from, to, .. } => {
                    come(to);
                    paths.gone.insert(from.clone());
                }
            }
        }
        paths
            .left_out
            .sort_by(|one, other| by_component(one.as_bytes(), other.as_bytes()));
        paths
    }

    /// In the form of `update-index --index-info`: mode 0 takes a path out, and one the index lacks is no fault.
    fn removals(&self, digits: usize) -> Vec<u8> {
        let mut input = Vec::new();
        for path in &self.gone {
            input.extend_from_slice(b"0 ");
            input.resize(input.len() + digits, b'0');
            input.push(b'\t');
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        input
    }

    fn present(&self) -> Vec<u8> {
        let mut input = Vec::new();
        for path in &self.present {
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        input
    }
}

/// Git keeps no path with a `.git` component and refuses the whole list for one.
fn is_git_link(path: &BytePath) -> bool {
    path.as_bytes()
        .split(|byte| *byte == b'/')
        .any(|component| component.eq_ignore_ascii_case(b".git"))
}

/// A path as a line of `objects/info/alternates`: in quotes with escapes, so that any byte can stand in it.
pub(crate) fn quoted(path: &Path) -> Vec<u8> {
    let mut line = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            0x20..=0x7e => line.push(*byte),
            other => line.extend_from_slice(format!("\\{other:03o}").as_bytes()),
        }
    }
    line.push(b'"');
    line
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
