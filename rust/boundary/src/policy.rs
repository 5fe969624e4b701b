//! What a command may touch, as plain data: nothing here is checked. [`Boundary::prepare`](crate::Boundary::prepare)
//! checks it and builds what acts.

use crate::{AllowList, Ground};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// How much a command is confined (specification, "Effects, credentials, and cancellation").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Every wall: the granted paths, the system's programs, no network unless the policy says so.
    #[default]
    Boundary,
    /// The same walls; the caller adds its developer tools to the reads, their variables to the environment, and the
    /// host's network.
    Toolchains,
    /// No wall: the owner's own access on the owner's own machine, recorded as such. Only the checkout that a linked
    /// worktree was made from is held.
    Full,
}

/// Whether a granted tree may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Read and execute.
    Read,
    /// Also create, change and remove.
    Write,
}

/// The tree the command works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// An absolute path. The command sees the tree at its real path, links resolved.
    pub path: PathBuf,
    /// Whether it may be changed.
    pub mode: Mode,
}

/// Which network a command sees.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Its own, connected to nothing.
    #[default]
    None,
    /// The host's.
    Host,
    /// Its own, with a gateway to the hosts of a list and to nothing else.
    Allow(AllowList),
}

/// Whether something that is refused by default is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It is not.
    #[default]
    Refused,
    /// It is, and recorded with what is enforced.
    Allowed,
}

/// How Git's own files are shown, so that Git works in the workspace and can be turned against nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitView {
    /// The workspace is a linked worktree: its repository lies elsewhere, and nothing of it is writable.
    Linked {
        /// The common Git directory (`git rev-parse --git-common-dir`). Readable as a whole.
        common: PathBuf,
        /// The worktree's own directory, `<common>/worktrees/<name>`.
        admin: PathBuf,
        /// What commands find in place of the repository's own files. Without it Git only reads.
        quarantine: Option<Quarantine>,
    },
    /// The workspace is an ordinary checkout that holds its own `.git` directory.
    Checkout {
        /// That directory. Writable but for the files that steer Git, as far as they exist.
        git_dir: PathBuf,
    },
}

/// A private copy of what Git changes in a linked worktree, shown in place of the original: so a command's Git works as
/// usual, and what it leaves can be looked at before any of it reaches the repository. In a read-only workspace, or
/// without one, it is shown read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    /// The directory that holds `objects`, shown as the object store; `admin`, shown as the worktree's own directory; and
    /// where there is a branch directory `references` and `logs`, shown as that and its counterpart in `logs/`.
    /// `objects/info/alternates` must name `real_objects`.
    pub directory: PathBuf,
    /// Where the real object store is shown, read-only: [`GIT_OBJECTS`](crate::GIT_OBJECTS), or with full access an
    /// existing directory of the host that holds nothing else.
    pub real_objects: PathBuf,
    /// The directory of the run's own branch beneath the common Git directory, as `refs/heads/microcoder/<task>`. It and
    /// its counterpart in `logs/` must exist. Without one only a detached `HEAD` can be committed on.
    pub branch_directory: Option<PathBuf>,
    /// Object stores that the repository's own borrows from: readable.
    pub borrowed: Vec<PathBuf>,
}

/// Upper bounds of a command. `None` leaves the host's own bound. Memory and processes are those of the whole tree where
/// this user may make control groups; what really bounds them is in [`Enforced`](crate::Enforced).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    /// Bytes of memory, of the tree or of one process; twice the size of `/dev/shm`. At least 16 MiB where a group counts
    /// them.
    pub memory_bytes: Option<u64>,
    /// Processes and threads in the boundary. Without a group the kernel does not hold root to it.
    pub processes: Option<u64>,
    /// Open descriptors of one process.
    pub open_files: Option<u64>,
    /// Bytes of one written file.
    pub file_bytes: Option<u64>,
    /// Seconds of processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of the private home and `/tmp` together.
    pub scratch_bytes: Option<u64>,
}

impl Resources {
    /// The bytes of each filesystem in memory: half of what may be used where nothing else is said, so that who fills one
    /// is told of a full disk, instead of being ended for want of memory.
    pub(crate) fn private_bytes(&self) -> Option<u64> {
        self.scratch_bytes.or(self.memory_bytes.map(|bytes| bytes / 2))
    }

    /// Whether a control group would count any of them.
    #[must_use]
    pub fn count_together(&self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some()
    }
}

/// A readable file that must be the very one the caller looked at, by device and inode: a command whose file was replaced
/// since does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactFile {
    /// The file, absolute.
    pub path: PathBuf,
    /// The device it was found on.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
}

/// A directory that commands read at its place in their home, and change for themselves alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The real directory, absolute.
    pub path: PathBuf,
    /// Where commands find it: below their home, without `.` and `..`.
    pub place: PathBuf,
    /// How many levels of it are directories that hold what is cached; of those that links can take the place of where
    /// the kernel stacks no layer over it. Without it such a cache begins empty.
    pub linked_depth: Option<u8>,
}

/// What a command may touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The tree the command works in.
    pub workspace: Option<Workspace>,
    /// Further trees or files that may be changed. Absolute.
    pub writes: Vec<PathBuf>,
    /// Further trees or files that may be read. Absolute.
    pub reads: Vec<PathBuf>,
    /// Further files that may be read, each only as the file it was.
    pub exact_reads: Vec<ExactFile>,
    /// Trees or files in a writable tree that must stay as they are, as the `.git` of a nested repository. Absolute; what
    /// is not there when a command starts is passed over.
    pub guarded: Vec<PathBuf>,
    /// Trees or files that must stay out of reach whatever else is granted. Absolute.
    pub sealed: Vec<PathBuf>,
    /// The person's package caches, readable and seemingly writable below the commands' home. Each must lie in a read.
    pub caches: Vec<Cache>,
    /// How Git's own files are shown.
    pub git: Option<GitView>,
    /// Which network.
    pub network: Network,
    /// How much is confined. With [`Access::Full`] only `workspace`, `git`, `directory`, `environment` and
    /// `resources` count.
    pub access: Access,
    /// Bounds of each process.
    pub resources: Resources,
    /// Variables added to those every command gets, or put in their place.
    pub environment: Vec<(OsString, OsString)>,
    /// Where commands start, absolute; the workspace when absent, else the private home.
    pub directory: Option<PathBuf>,
    /// `ptrace` and `process_vm_*`, which then reach the processes of the boundary and no other. Needs a process namespace.
    pub debugger: Permission,
    /// User namespaces made by commands, and the others with them; mounts stay as they are. Not for root, to whom the
    /// `/proc` that this takes would give the machine's settings.
    pub nested_namespaces: Permission,
    /// Which layers are to be had; every one unless less was found and is accepted.
    pub ground: Ground,
}
