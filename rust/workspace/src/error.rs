//! Everything that can go wrong here, each variant one failed act with its path and source. `code` gives the stable
//! name a caller may match on; the message is for a person and says what to do where there is something to do.

use coder_digest::{BytePath, json};
use std::io;
use std::path::PathBuf;

/// A failed act on a workspace or its repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No Git program at any place where one is looked for.
    #[error("no git program at {places}; PATH is not searched, so install git at one of these")]
    GitMissing {
        /// Where it was looked for.
        places: String,
    },
    /// Git could not be run, or its end is not known.
    #[error("`git {act}` could not be run in `{}`", directory.display())]
    GitStart {
        /// The subcommand.
        act: String,
        /// Where.
        directory: PathBuf,
        /// Why.
        source: coder_process::Error,
    },
    /// Git did not end in its time.
    #[error("`git {act}` in `{}` did not end within {seconds} s and was stopped", directory.display())]
    GitDeadline {
        /// The subcommand.
        act: String,
        /// Where.
        directory: PathBuf,
        /// The time it had.
        seconds: u64,
    },
    /// Git answered with a failure.
    #[error("`git {act}` failed in `{}`: {message}", directory.display())]
    GitFailed {
        /// The subcommand.
        act: String,
        /// Where.
        directory: PathBuf,
        /// What it said, in one line.
        message: String,
    },
    /// Git's answer is not of the documented form, or larger than is kept.
    #[error("`git {act}` in `{}` gave an answer that cannot be used: {reason}", directory.display())]
    GitAnswer {
        /// The subcommand.
        act: String,
        /// Where.
        directory: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path is in no repository.
    #[error("`{}` is not a Git checkout; run `git init` there or name a checkout", path.display())]
    NotRepository {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path is inside a checkout, not its top.
    #[error("`{}` is not the top level of its checkout; name `{}` instead", path.display(), top.display())]
    NotTopLevel {
        /// The path asked for.
        path: PathBuf,
        /// The checkout it belongs to.
        top: PathBuf,
    },
    /// The repository has no files checked out.
    #[error("`{}` is a bare repository; name a checkout of it", path.display())]
    BareRepository {
        /// The path asked for.
        path: PathBuf,
    },
    /// `.git` is something no Git makes.
    #[error("`{}` is a {kind}; a checkout's `.git` is a directory or a plain file", path.display())]
    UnsafeGitLink {
        /// The `.git` path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// `.git` names an administrative directory that belongs to another worktree.
    #[error("`{}` says its repository is `{}`, which belongs to another worktree; run `git worktree repair`", path.display(), admin.display())]
    ForeignAdmin {
        /// The worktree.
        path: PathBuf,
        /// The administrative directory it names.
        admin: PathBuf,
    },
    /// Somebody else owns the repository and could have planted anything in it.
    #[error("`{}` belongs to user {owner}, not to user {user} who runs this; change its owner, or run as user {owner}", path.display())]
    ForeignOwner {
        /// The path with the wrong owner.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The effective user.
        user: u32,
    },
    /// A path cannot be resolved or looked at.
    #[error("`{}` cannot be looked at", path.display())]
    Resolve {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A branch name outside the grammar of runs.
    #[error("`{name}` cannot name a run's branch: {reason}")]
    BranchName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A commit name that is no full id.
    #[error("`{text}` is not a full commit id of 40 or 64 lower-case hexadecimal digits")]
    CommitId {
        /// The text.
        text: String,
    },
    /// The branch of the run exists already.
    #[error("the branch `{branch}` exists already; use another name or delete it")]
    BranchExists {
        /// The branch.
        branch: String,
    },
    /// Where the worktree should go cannot be used.
    #[error("a worktree cannot be made at `{}`: {reason}", path.display())]
    WorktreePlace {
        /// The path.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// Not a worktree this store made.
    #[error("`{}` is not a worktree recorded in this store; it is left alone", path.display())]
    NotOurWorktree {
        /// The path.
        path: PathBuf,
    },
    /// The files of the commit are not all on this machine.
    #[error("`{}` is a partial clone of `{remote}` and lacks objects of {commit}; fetch them first, for instance with `git -C {} checkout {commit}`: {message}", path.display(), path.display())]
    MissingObjects {
        /// The repository.
        path: PathBuf,
        /// The remote that has them.
        remote: String,
        /// The commit.
        commit: String,
        /// What Git said.
        message: String,
    },
    /// Branches of this repository cannot be granted one by one.
    #[error("`{}` keeps its branches as `{format}`; a run's branch can be granted alone only in the `files` format", path.display())]
    ReferenceFormat {
        /// The repository.
        path: PathBuf,
        /// The format.
        format: String,
    },
    /// The repository borrows objects from a directory that is no object store, or from too many.
    #[error("`{}` names `{}`, which cannot be shown to commands as an object store; remove the line, or run `git repack -a -d` there", store.display(), path.display())]
    BorrowedObjects {
        /// The list.
        store: PathBuf,
        /// The directory it names.
        path: PathBuf,
    },
    /// What commands left could not be read out of its quarantine.
    #[error("the new objects could not be read out of their quarantine: {reason}")]
    Export {
        /// Why.
        reason: String,
    },
    /// The root of a workspace cannot be opened.
    #[error("the workspace `{}` cannot be opened; it must be a directory without symbolic links in its path", path.display())]
    OpenRoot {
        /// The root.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A read cap out of range.
    #[error("a read cap of {bytes} bytes is outside 1 to 1048576")]
    ReadCap {
        /// The cap asked for.
        bytes: usize,
    },
    /// The machine gives no threads.
    #[error("no threads to observe the workspace with")]
    Threads {
        /// Why.
        source: io::Error,
    },
    /// Whoever asked for it does not want the observation any more.
    #[error("the observation of `{}` was given up", path.display())]
    Interrupted {
        /// The tree.
        path: PathBuf,
    },
    /// A comparison with part of a tree.
    #[error("the snapshot of `{root}` is incomplete, so nothing can be concluded from it: {fault}")]
    SnapshotIncomplete {
        /// What was observed.
        root: BytePath,
        /// The first fault.
        fault: String,
    },
    /// A comparison of different trees.
    #[error("snapshots of `{before}` and `{after}` cannot be compared")]
    SnapshotRoots {
        /// The root before.
        before: BytePath,
        /// The root after.
        after: BytePath,
    },
    /// The tree is not what the snapshot recorded.
    #[error("`{path}` changed after the snapshot was taken; something still writes there")]
    WorkspaceChanged {
        /// What changed, or the root when only the whole is known.
        path: BytePath,
    },
    /// A store directory others could write.
    #[error("`{}` must be a real directory without access for group or others (chmod 700)", path.display())]
    UnsafeStore {
        /// The directory.
        path: PathBuf,
    },
    /// A kept file that others could reach.
    #[error("`{}` must be a regular file without access for group or others (chmod 600)", path.display())]
    UnsafeFile {
        /// The file.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error("`{}` cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be removed.
    #[error("`{}` cannot be removed", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A kept file could not be read.
    #[error("`{}` cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Kept bytes that are not what was kept.
    #[error("`{}` does not have the digest it is named by; it was damaged or replaced", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A manifest or record that is no such thing.
    #[error("a kept record is not of its form")]
    Manifest {
        /// What is wrong.
        source: json::Error,
    },
    /// A manifest or record of another version.
    #[error("a kept record has a schema this version does not know")]
    ManifestSchema,
    /// A path of which nothing was kept.
    #[error("nothing of `{path}` was kept: {reason}")]
    NotRetained {
        /// The path.
        path: BytePath,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// The stable name of the failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::GitMissing { .. } => "git_missing",
            Self::GitStart { .. } => "git_start",
            Self::GitDeadline { .. } => "git_deadline",
            Self::GitFailed { .. } => "git_failed",
            Self::GitAnswer { .. } => "git_answer",
            Self::NotRepository { .. } => "not_repository",
            Self::NotTopLevel { .. } => "not_top_level",
            Self::BareRepository { .. } => "bare_repository",
            Self::UnsafeGitLink { .. } => "unsafe_git_link",
            Self::ForeignAdmin { .. } => "foreign_admin",
            Self::ForeignOwner { .. } => "foreign_owner",
            Self::Resolve { .. } => "resolve",
            Self::BranchName { .. } => "branch_name",
            Self::CommitId { .. } => "commit_id",
            Self::BranchExists { .. } => "branch_exists",
            Self::WorktreePlace { .. } => "worktree_place",
            Self::NotOurWorktree { .. } => "not_our_worktree",
            Self::MissingObjects { .. } => "missing_objects",
            Self::ReferenceFormat { .. } => "reference_format",
            Self::BorrowedObjects { .. } => "borrowed_objects",
            Self::Export { .. } => "git_export",
            Self::OpenRoot { .. } => "open_root",
            Self::ReadCap { .. } => "read_cap",
            Self::Threads { .. } => "threads",
            Self::Interrupted { .. } => "interrupted",
            Self::SnapshotIncomplete { .. } => "snapshot_incomplete",
            Self::SnapshotRoots { .. } => "snapshot_roots",
            Self::WorkspaceChanged { .. } => "workspace_changed",
            Self::UnsafeStore { .. } | Self::UnsafeFile { .. } => "unsafe_path",
            Self::Write { .. } => "write",
            Self::Remove { .. } => "remove",
            Self::Read { .. } => "read",
            Self::Damaged { .. } => "damaged",
            Self::Manifest { .. } => "record_form",
            Self::ManifestSchema => "unsupported_schema",
            Self::NotRetained { .. } => "not_retained",
        }
    }
}
