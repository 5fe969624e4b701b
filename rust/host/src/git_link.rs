//! Where the repository of a workspace lies: told from the workspace's `.git` by reading a few small files, because starting
//! Git would cost more than the whole boundary. The files are untrusted. A pointer is believed only if what it points to
//! points back, so that no written `.git` can open a directory that is not a worktree's.

use crate::Error;
use coder_boundary::GitView;
use coder_workspace::LinkedPlace;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The longest pointer that is read, in bytes.
const POINTER_BYTES: u64 = 4096 + 16;
/// Where the host keeps the branches of its runs.
const BRANCH_PREFIX: &str = "refs/heads/microcoder/";

/// Where the repository of a checkout lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the checkout.
    Checkout(PathBuf),
    /// Elsewhere.
    Linked(LinkedPlace),
}

impl Place {
    /// How commands see it when they change nothing of a repository that lies elsewhere.
    pub(crate) fn view(&self) -> GitView {
        match self {
            Self::Checkout(git_dir) => GitView::Checkout {
                git_dir: git_dir.clone(),
            },
            Self::Linked(linked) => GitView::Linked {
                common: linked.common_directory.clone(),
                admin: linked.admin.clone(),
                quarantine: None,
            },
        }
    }

    /// The object stores that the repository's own borrows from. A quarantine shows them; without one commands are to read
    /// them where they are.
    ///
    /// # Errors
    /// [`Error::Workspace`] where one is no object store.
    pub(crate) fn borrowed(&self) -> Result<Vec<PathBuf>, Error> {
        let directory = match self {
            Self::Checkout(git_dir) => git_dir,
            Self::Linked(linked) => &linked.common_directory,
        };
        Ok(coder_workspace::borrowed_stores(&directory.join("objects"))?)
    }
}

/// The place of the checkout whose top is `workspace` (canonical); nothing where it is no checkout.
///
/// # Errors
/// [`Error::File`] when a pointer that is there cannot be read.
pub(crate) fn place(workspace: &Path) -> Result<Option<Place>, Error> {
    let link = workspace.join(".git");
    let Ok(status) = link.symlink_metadata() else {
        return Ok(None);
    };
    if status.is_dir() {
        return Ok(is_repository(&link).then_some(Place::Checkout(link)));
    }
    if !status.is_file() {
        return Ok(None);
    }
    Ok(linked(workspace, &link))
}

/// The same for any directory of a checkout, from the nearest one around it.
///
/// # Errors
/// As [`place`].
pub(crate) fn place_around(directory: &Path) -> Result<Option<Place>, Error> {
    for around in directory.ancestors() {
        if around.join(".git").symlink_metadata().is_ok() {
            return place(around);
        }
    }
    Ok(None)
}

fn linked(workspace: &Path, link: &Path) -> Option<Place> {
    let pointer = pointer(link)?;
    let named = pointer.strip_prefix("gitdir: ")?;
    let admin = workspace.join(named).canonicalize().ok()?;
    let common = admin
        .join(self::pointer(&admin.join("commondir"))?)
        .canonicalize()
        .ok()?;
    let back = self::pointer(&admin.join("gitdir"))?;
    let backed = admin.join(back).parent()?.canonicalize().ok()? == workspace;
    let placed = admin.parent()? == common.join("worktrees");
    let outside = !common.starts_with(workspace);
    (backed && placed && outside && is_repository(&common)).then(|| {
        Place::Linked(LinkedPlace {
            worktree: workspace.to_owned(),
            branch_directory: branch_directory(&admin, &common),
            common_directory: common,
            admin,
        })
    })
}

fn branch_directory(admin: &Path, common: &Path) -> Option<PathBuf> {
    own_branch(pointer(&admin.join("HEAD"))?.strip_prefix("ref: ")?, common)
}

/// `refs/heads/microcoder/<task>` for the branch `refs/heads/microcoder/<task>/<name>`, where it and its log are real
/// directories; any other branch shares its directory with branches that are not the run's.
pub(crate) fn own_branch(reference: &str, common: &Path) -> Option<PathBuf> {
    let (task, leaf) = reference.strip_prefix(BRANCH_PREFIX)?.split_once('/')?;
    let plain = !task.is_empty() && !leaf.is_empty() && !leaf.contains('/') && task != ".." && task != ".";
    let directory = PathBuf::from(format!("{BRANCH_PREFIX}{task}"));
    let real = |path: PathBuf| path.symlink_metadata().is_ok_and(|status| status.is_dir());
    (plain && real(common.join(&directory)) && real(common.join("logs").join(&directory))).then_some(directory)
}

fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && directory.join("objects").is_dir() && directory.join("refs").is_dir()
}

/// The first line of a small plain file.
fn pointer(path: &Path) -> Option<String> {
    // A pipe in its place would wait for a writer.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(path)
        .ok()?
        .take(POINTER_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    Some(text.lines().next()?.to_owned())
}

#[cfg(test)]
#[path = "git_link_tests.rs"]
mod tests;
