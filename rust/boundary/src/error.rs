//! Why a boundary was refused. Each variant is one failed act with its path; a refusal never leaves a weaker boundary.
//! What fails while a command starts is an error of `coder_process`, worded by this crate's acts.

use crate::{Layer, Level};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// One refusal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path of the policy does not begin at the root.
    #[error("{role} `{}` is not absolute: give the whole path", path.display())]
    NotAbsolute {
        /// What the path was given as.
        role: &'static str,
        /// As given.
        path: PathBuf,
    },
    /// A path of the policy does not exist or cannot be resolved.
    #[error("resolve {role} `{}`", path.display())]
    Resolve {
        /// What the path was given as.
        role: &'static str,
        /// As given.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A granted path is a socket, pipe or device.
    #[error("{role} `{}` is neither a directory nor a regular file", path.display())]
    NotFileOrDirectory {
        /// What the path was given as.
        role: &'static str,
        /// Resolved.
        path: PathBuf,
    },
    /// The workspace or the directory of Git is not a directory.
    #[error("{role} `{}` is not a directory", path.display())]
    NotDirectory {
        /// What the path was given as.
        role: &'static str,
        /// Resolved.
        path: PathBuf,
    },
    /// A path that cannot be granted: it would undo the assembled root.
    #[error("{role} `{}` cannot be granted: name what is needed beneath it instead", path.display())]
    Reserved {
        /// What the path was given as.
        role: &'static str,
        /// Resolved.
        path: PathBuf,
    },
    /// A granted write and a sealed path meet, in either direction.
    #[error("{role} `{}` meets the sealed `{}`: they must be disjoint", path.display(), sealed.display())]
    MeetsSealed {
        /// What the path was given as.
        role: &'static str,
        /// Resolved.
        path: PathBuf,
        /// The sealed path, resolved.
        sealed: PathBuf,
    },
    /// The private scratch lies inside a granted write, where it would show.
    #[error("the scratch `{}` lies inside the granted `{}`: create it elsewhere", scratch.display(), granted.display())]
    ScratchInsideGrant {
        /// The scratch.
        scratch: PathBuf,
        /// The granted path, resolved.
        granted: PathBuf,
    },
    /// The parts of a Git view do not belong together.
    #[error("Git's `{}` does not lie in `{}`", path.display(), expected.display())]
    GitPlace {
        /// The path that is elsewhere.
        path: PathBuf,
        /// Where it must lie.
        expected: PathBuf,
    },
    /// A branch directory is not a plain path beneath `refs/heads/`.
    #[error("`{}` is no directory of branches: it must be a plain path beneath `refs/heads/`", path.display())]
    GitBranch {
        /// As given.
        path: PathBuf,
    },
    /// A file that steers Git is a symbolic link, which cannot be held in place.
    #[error(
        "Git's `{}` is a symbolic link and cannot be protected: replace it by what it points to, or use a linked \
         worktree", path.display()
    )]
    GitLink {
        /// The link.
        path: PathBuf,
    },
    /// A file that Git would obey does not exist, so that a command could make it.
    #[error("Git would obey `{}` if a command made it: create it empty", path.display())]
    GitUnguarded {
        /// The missing file.
        path: PathBuf,
    },
    /// The main working tree of a repository lies where its files do not say.
    #[error(
        "the checkout of the repository `{}` cannot be found, so full access to a worktree of it cannot be guarded: set \
         `core.worktree` in its configuration, or use access `toolchains`", path.display()
    )]
    SourceUnknown {
        /// The common Git directory.
        path: PathBuf,
    },
    /// A cache would be shown outside the commands' home.
    #[error("`{}` is no place below the home of commands: give a plain relative path", path.display())]
    CachePlace {
        /// As given.
        path: PathBuf,
    },
    /// A path or variable holds a NUL byte, which the kernel cannot take.
    #[error("{value:?} holds a NUL byte")]
    Nul {
        /// The value.
        value: OsString,
    },
    /// A path that a profile for macOS cannot name.
    #[error("`{}` cannot be written in a profile: it is not UTF-8 or holds a control character", path.display())]
    Unwritable {
        /// As given.
        path: PathBuf,
    },
    /// Commands would start where they can see nothing.
    #[error("the directory `{}` is not visible inside the boundary: grant it", path.display())]
    DirectoryHidden {
        /// Resolved.
        path: PathBuf,
    },
    /// A file of the scratch, or of the system that is shown inside, could not be handled.
    #[error("{act} `{}`", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The kernel does not give a layer.
    #[error("this kernel gives no {layer}: {}", layer.fix())]
    Layer {
        /// Which.
        layer: Layer,
        /// The kernel's reason.
        source: io::Error,
    },
    /// An entry of the list of hosts, or the word for a network, is none.
    #[error("network `{}`: {reason}", entry.escape_debug())]
    NetworkEntry {
        /// As given.
        entry: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The gateway to listed hosts could not be made.
    #[error("{act}")]
    Gateway {
        /// What was tried.
        act: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The machine gives less than is accepted.
    #[error(
        "the level `{least}` is required, and this machine gives {}: {gap}",
        level.map_or_else(|| "no level at all".to_owned(), |level| format!("`{level}`"))
    )]
    LevelTooLow {
        /// The least that is accepted.
        least: Level,
        /// What there is.
        level: Option<Level>,
        /// The first layer that is missing, why, and what to do.
        gap: String,
    },
    /// A path cannot be held without an assembled root.
    #[error(
        "{role} `{}` cannot be held in place at the level `{level}`: Landlock takes nothing away beneath what it \
         grants; grant less around it, or require `namespaces`", path.display()
    )]
    NeedsRoot {
        /// What the path was given as.
        role: &'static str,
        /// Resolved.
        path: PathBuf,
        /// What there is.
        level: Level,
    },
    /// Something was asked for that needs a layer this machine does not give.
    #[error("{asked} needs the layer {layer}, which is not to be had here: {}", layer.fix())]
    NeedsLayer {
        /// What was asked for.
        asked: &'static str,
        /// Which layer.
        layer: Layer,
    },
    /// Nested user namespaces were asked for by root.
    #[error(
        "nested user namespaces are not for root: the writable `/proc` they take would give root the machine's settings; \
         run as an ordinary user"
    )]
    NestedForRoot,
    /// The processes that wait for a command could not be started.
    #[error("start the processes of the boundary")]
    Early {
        /// Why.
        source: coder_process::Error,
    },
    /// The machine's architecture has no filter of system calls here.
    #[error("build the filter of system calls")]
    Filter {
        /// The compiler's reason.
        source: seccompiler::BackendError,
    },
}

impl Error {
    /// A stable name for records and for other languages.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAbsolute { .. } => "path_not_absolute",
            Self::Resolve { .. } => "path_unusable",
            Self::NotFileOrDirectory { .. } => "not_file_or_directory",
            Self::NotDirectory { .. } => "not_directory",
            Self::Reserved { .. } => "path_reserved",
            Self::MeetsSealed { .. } => "grant_meets_sealed",
            Self::ScratchInsideGrant { .. } => "scratch_inside_grant",
            Self::GitPlace { .. } => "git_place_mismatch",
            Self::GitBranch { .. } => "git_branch_invalid",
            Self::GitLink { .. } => "git_link_unprotectable",
            Self::GitUnguarded { .. } => "git_unguarded",
            Self::SourceUnknown { .. } => "source_unknown",
            Self::CachePlace { .. } => "cache_place",
            Self::Nul { .. } => "nul_byte",
            Self::Unwritable { .. } => "path_unwritable",
            Self::DirectoryHidden { .. } => "directory_hidden",
            Self::File { .. } => "file_failed",
            Self::Layer { .. } => "layer_unavailable",
            Self::NetworkEntry { .. } => "network_entry_invalid",
            Self::Gateway { .. } => "gateway_failed",
            Self::LevelTooLow { .. } => "level_too_low",
            Self::NeedsRoot { .. } => "needs_assembled_root",
            Self::NeedsLayer { .. } => "needs_layer",
            Self::NestedForRoot => "nested_for_root",
            Self::Early { .. } => "early_failed",
            Self::Filter { .. } => "filter_failed",
        }
    }

    pub(crate) fn file(act: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { act, path, source }
    }
}
