//! Which repository a path is the top of: its directories, kind, commit and branch, and what is special about it.
//! A path that is no top level of its own checkout is refused, since Git would silently answer with the repository
//! around it. Nothing is written.

use crate::Error;
use crate::descriptor::FileTime;
use crate::git::{Git, Session, path_of};
use coder_digest::BytePath;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The full id of a commit: 40 hexadecimal digits in a SHA-1 repository, 64 in a SHA-256 one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct CommitId(String);

impl CommitId {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CommitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if matches!(text.len(), 40 | 64) && text.bytes().all(digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::CommitId { text: text.to_owned() })
        }
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for CommitId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Where HEAD stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// On a branch with commits.
    Branch {
        /// Its full name, `refs/heads/…`.
        reference: BytePath,
        /// Its commit.
        commit: CommitId,
    },
    /// On a branch without any commit yet.
    Unborn {
        /// Its full name.
        reference: BytePath,
    },
    /// On a commit, on no branch.
    Detached {
        /// The commit.
        commit: CommitId,
    },
}

impl Head {
    /// The commit, unless there is none yet.
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Branch { commit, .. } | Self::Detached { commit } => Some(commit),
            Self::Unborn { .. } => None,
        }
    }
}

/// Whether a checkout is the repository's own or one of its linked worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckoutKind {
    /// The repository's own checkout.
    Checkout,
    /// A linked worktree.
    Linked {
        /// Its administrative directory, inside the common Git directory.
        admin: PathBuf,
    },
}

/// The hash function that names the repository's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// 40 digits.
    Sha1,
    /// 64 digits.
    Sha256,
}

/// How the repository keeps its branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceFormat {
    /// A file for each, so that one directory of them can be granted alone.
    Files,
    /// Something else, by its name, such as `reftable`.
    Other(String),
}

/// A partial clone: objects it lacks have to come from a remote, which a run cannot reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialClone {
    /// The remote that promised the objects.
    pub remote: String,
    /// What was left out, such as `blob:none`.
    pub filter: Option<String>,
}

/// Whether only some paths are checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sparse {
    /// All are.
    Whole,
    /// Whole directories are listed.
    Cone,
    /// Patterns are listed.
    Patterns,
}

/// A checkout, as Git and the file system describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The canonical top level of the checkout.
    pub top: PathBuf,
    /// Its Git directory: for a linked worktree, the administrative one.
    pub git_directory: PathBuf,
    /// The Git directory shared by all worktrees of the repository.
    pub common_directory: PathBuf,
    /// What kind of checkout it is.
    pub kind: CheckoutKind,
    /// Where HEAD stands.
    pub head: Head,
    /// How objects are named.
    pub object_format: ObjectFormat,
    /// How branches are kept.
    pub reference_format: ReferenceFormat,
    /// Whether it lacks objects.
    pub partial: Option<PartialClone>,
    /// Whether it lacks files.
    pub sparse: Sparse,
}

/// A lock on the index: some Git is writing, or one was killed while it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexLock {
    /// The lock file.
    pub path: PathBuf,
    /// When it was made.
    pub modified: FileTime,
}

impl Repository {
    /// Identifies the checkout whose top level is `path`.
    ///
    /// # Errors
    /// [`Error::NotRepository`], [`Error::NotTopLevel`] naming the top, [`Error::BareRepository`],
    /// [`Error::UnsafeGitLink`], [`Error::ForeignAdmin`], [`Error::ForeignOwner`], [`Error::Resolve`], and the failures
    /// of Git itself.
    pub fn identify(git: &Git, path: &Path) -> Result<Self, Error> {
        let resolve = |path: &Path, source| Error::Resolve {
            path: path.to_owned(),
            source,
        };
        let top = path.canonicalize().map_err(|source| resolve(path, source))?;
        let status = top.metadata().map_err(|source| resolve(&top, source))?;
        let link = top.join(".git");
        let link_status = match link.symlink_metadata() {
            Ok(status) => status,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(no_git_link(git, top));
            }
            Err(source) => return Err(resolve(&link, source)),
        };
        check_owner(&top, &status)?;
        check_owner(&link, &link_status)?;
        if !link_status.is_dir() {
            let kind = crate::read::kind_word(rustix::fs::FileType::from_raw_mode(link_status.mode()));
            if !link_status.is_file() {
                return Err(Error::UnsafeGitLink { path: link, kind });
            }
            let named = named_directory(&link, "gitdir: ").ok_or(Error::NotRepository { path: top.clone() })?;
            // A missing directory is Git's to report.
            if let Ok(status) = named.metadata() {
                check_owner(&named, &status)?;
            }
        }
        let session = git.session(&top)?;
        let [found, git_directory, common_directory, format] = directories(&session, &top)?;
        let (found, git_directory, common_directory) =
            (path_of(&found), path_of(&git_directory), path_of(&common_directory));
        let found = found.canonicalize().map_err(|source| resolve(&found, source))?;
        if found != top {
            return Err(Error::NotTopLevel { path: top, top: found });
        }
        for directory in [&git_directory, &common_directory] {
            let status = directory.metadata().map_err(|source| resolve(directory, source))?;
            check_owner(directory, &status)?;
        }
        let kind = kind(&top, &git_directory, &common_directory)?;
        Ok(Self {
            head: head(&session, &top)?,
            object_format: match format.as_slice() {
                b"sha256" => ObjectFormat::Sha256,
                _ => ObjectFormat::Sha1,
            },
            reference_format: reference_format(session.setting("extensions.refstorage")),
            partial: partial(&session),
            sparse: sparse(&session),
            top,
            git_directory,
            common_directory,
            kind,
        })
    }

    /// The lock on this checkout's index, if there is one. Whether its maker still lives the file does not say.
    ///
    /// # Errors
    /// [`Error::Resolve`] when that cannot be told.
    pub fn index_lock(&self) -> Result<Option<IndexLock>, Error> {
        index_lock(&self.git_directory)
    }
}

/// The lock on the index in this Git directory.
pub(crate) fn index_lock(git_directory: &Path) -> Result<Option<IndexLock>, Error> {
    let path = git_directory.join("index.lock");
    match path.symlink_metadata() {
        Ok(status) => Ok(Some(IndexLock {
            modified: FileTime(status.mtime(), u32::try_from(status.mtime_nsec()).unwrap_or_default()),
            path,
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Resolve { path, source }),
    }
}

/// Says what a path without `.git` is instead of a checkout.
fn no_git_link(git: &Git, top: PathBuf) -> Error {
    let bare = ["HEAD", "objects", "refs"].iter().all(|name| top.join(name).exists());
    if bare {
        return Error::BareRepository { path: top };
    }
    let around = git
        .session(&top)
        .and_then(|session| session.call(["rev-parse", "--show-toplevel"]).output());
    match around {
        Ok(answer) => Error::NotTopLevel {
            path: top,
            top: path_of(answer.strip_suffix(b"\n").unwrap_or(&answer)),
        },
        Err(error @ (Error::GitStart { .. } | Error::GitDeadline { .. })) => error,
        Err(_) => Error::NotRepository { path: top },
    }
}

/// Refuses what another user owns: they could change what is read between two looks, and plant configuration.
fn check_owner(path: &Path, status: &Metadata) -> Result<(), Error> {
    let user = rustix::process::geteuid().as_raw();
    if status.uid() == user {
        Ok(())
    } else {
        Err(Error::ForeignOwner {
            path: path.to_owned(),
            owner: status.uid(),
            user,
        })
    }
}

/// The directory a one-line file such as `.git` names, made absolute.
pub(crate) fn named_directory(file: &Path, prefix: &str) -> Option<PathBuf> {
    /// Longer than any path the kernel takes.
    const LIMIT: u64 = 16 * 1024;
    let length = file.metadata().ok()?.len();
    let content = (length <= LIMIT).then(|| std::fs::read(file).ok()).flatten()?;
    let line = content.strip_prefix(prefix.as_bytes())?;
    let name = line.strip_suffix(b"\n").unwrap_or(line);
    (!name.is_empty()).then(|| file.parent().unwrap_or(Path::new("/")).join(path_of(name)))
}

/// Top level, Git directory, common Git directory and object format.
fn directories(session: &Session, top: &Path) -> Result<[Vec<u8>; 4], Error> {
    let wanted = [
        "--show-toplevel",
        "--git-dir",
        "--git-common-dir",
        "--show-object-format",
    ];
    let answer = session
        .call(["rev-parse", "--path-format=absolute"].iter().chain(&wanted))
        // A `.git` that is no repository must not be answered for by the repository around it.
        .variable("GIT_CEILING_DIRECTORIES", top.parent().unwrap_or(top))
        .ask()?;
    if answer.status != 0 {
        return Err(if answer.message.contains("not a git repository") {
            Error::NotRepository { path: top.to_owned() }
        } else if answer.message.contains("must be run in a work tree") {
            Error::BareRepository { path: top.to_owned() }
        } else {
            Error::GitFailed {
                act: "rev-parse".to_owned(),
                directory: top.to_owned(),
                message: answer.message,
            }
        });
    }
    let text = answer.output.strip_suffix(b"\n").unwrap_or(&answer.output);
    let lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    <[Vec<u8>; 4]>::try_from(lines).map_err(|_| Error::GitAnswer {
        act: "rev-parse".to_owned(),
        directory: top.to_owned(),
        reason: "a path of the repository holds a line break",
    })
}

fn kind(top: &Path, git_directory: &Path, common_directory: &Path) -> Result<CheckoutKind, Error> {
    let foreign = || {
        Err(Error::ForeignAdmin {
            path: top.to_owned(),
            admin: git_directory.to_owned(),
        })
    };
    if git_directory == common_directory {
        // A pointer may name a Git directory kept apart, but not the one inside another checkout, whose index and HEAD
        // it would take over. Compared by name, since one kept apart says nothing of its checkout.
        let inside = git_directory.file_name() == Some(".git".as_ref());
        return if inside && git_directory.parent() != Some(top) {
            foreign()
        } else {
            Ok(CheckoutKind::Checkout)
        };
    }
    // The administrative directory names its worktree in turn. One that names another worktree would lend this one
    // its HEAD and index.
    let back = named_directory(&git_directory.join("gitdir"), "");
    let back = back.and_then(|link| Some(link.parent()?.canonicalize().ok()?.join(link.file_name()?)));
    if back.as_deref() == Some(&top.join(".git")) {
        Ok(CheckoutKind::Linked {
            admin: git_directory.to_owned(),
        })
    } else {
        foreign()
    }
}

fn head(session: &Session, top: &Path) -> Result<Head, Error> {
    let answer = |reason| Error::GitAnswer {
        act: "rev-parse".to_owned(),
        directory: top.to_owned(),
        reason,
    };
    let line = |output: &[u8]| output.strip_suffix(b"\n").unwrap_or(output).to_vec();
    let symbolic = session.call(["symbolic-ref", "-q", "HEAD"]).ask()?;
    let resolved = session.call(["rev-parse", "--verify", "-q", "HEAD^{commit}"]).ask()?;
    let commit = match resolved.status {
        0 => {
            let text = line(&resolved.output);
            let text = std::str::from_utf8(&text).map_err(|_| answer("HEAD is no commit id"))?;
            Some(text.parse::<CommitId>()?)
        }
        _ => None,
    };
    match (symbolic.status, commit) {
        (0, Some(commit)) => Ok(Head::Branch {
            reference: BytePath::new(line(&symbolic.output)),
            commit,
        }),
        (0, None) => Ok(Head::Unborn {
            reference: BytePath::new(line(&symbolic.output)),
        }),
        (_, Some(commit)) => Ok(Head::Detached { commit }),
        (_, None) => Err(answer("HEAD names no commit of this repository")),
    }
}

fn reference_format(setting: Option<&[u8]>) -> ReferenceFormat {
    match setting {
        None | Some(b"files") => ReferenceFormat::Files,
        Some(other) => ReferenceFormat::Other(coder_digest::display_bytes(other)),
    }
}

pub(crate) fn partial(session: &Session) -> Option<PartialClone> {
    let promisor = session.settings().iter().find_map(|(key, value)| {
        let remote = key.strip_prefix(b"remote.")?.strip_suffix(b".promisor")?;
        (value.as_slice() != b"false").then(|| remote.to_vec())
    });
    let remote = promisor.or_else(|| session.setting("extensions.partialclone").map(<[u8]>::to_vec))?;
    let mut key = b"remote.".to_vec();
    key.extend_from_slice(&remote);
    key.extend_from_slice(b".partialclonefilter");
    let filter = session.settings().iter().rev().find(|(name, _)| *name == key);
    Some(PartialClone {
        remote: coder_digest::display_bytes(&remote),
        filter: filter.map(|(_, value)| coder_digest::display_bytes(value)),
    })
}

fn sparse(session: &Session) -> Sparse {
    let on =
        |key| matches!(session.setting(key), Some(value) if !matches!(value, b"false" | b"0" | b"no" | b"off" | b""));
    match (on("core.sparsecheckout"), on("core.sparsecheckoutcone")) {
        (false, _) => Sparse::Whole,
        (true, true) => Sparse::Cone,
        (true, false) => Sparse::Patterns,
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
