//! Which of Git's own files a command sees, and which it may change. Git obeys several files when somebody else runs it
//! later (configuration, hooks, pointers to other directories); those are held in place by a mount of their own.
//! Nothing here runs Git.

use crate::Error;
use crate::paths::{Granted, Kind, Presence, grant};
use crate::policy::{GitView, Mode, Workspace};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The mounts of a view, and the names that a command could make because they do not exist yet.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) grants: Vec<Granted>,
    pub(crate) unguarded: Vec<PathBuf>,
}

/// What steers Git in the `.git` of an ordinary checkout. `commondir` in a plain `.git` would send Git elsewhere for its
/// configuration; `objects/info` holds `alternates`.
const CHECKOUT_GUARDS: [(&str, Kind); 8] = [
    ("config", Kind::File),
    ("config.worktree", Kind::File),
    ("commondir", Kind::File),
    ("hooks", Kind::Directory),
    ("info", Kind::Directory),
    ("modules", Kind::Directory),
    ("worktrees", Kind::Directory),
    ("objects/info", Kind::Directory),
];

/// The same in the directory of a linked worktree.
const ADMIN_GUARDS: [(&str, Kind); 4] = [
    ("commondir", Kind::File),
    ("gitdir", Kind::File),
    ("config.worktree", Kind::File),
    ("modules", Kind::Directory),
];

/// Turns a view into mounts. In a read-only workspace everything of Git's is read-only too.
pub(crate) fn shown(view: &GitView, workspace: Option<&Workspace>, checked: &[Granted]) -> Result<Shown, Error> {
    let mode = workspace.map_or(Mode::Read, |workspace| workspace.mode);
    let workspace = checked.first().filter(|granted| granted.role == "workspace");
    let mut shown = Shown::default();
    match view {
        GitView::Linked {
            common,
            admin,
            branch_directory,
        } => {
            let common = directory("common Git directory", common, Mode::Read)?;
            let admin = directory("worktree Git directory", admin, mode)?;
            if admin.path.parent() != Some(&common.path.join("worktrees")) {
                return Err(Error::GitPlace {
                    path: admin.path,
                    expected: common.path.join("worktrees"),
                });
            }
            let common_path = common.path.clone();
            shown.grants.push(common);
            if mode == Mode::Write {
                shown.grants.push(directory(
                    "Git object store",
                    &common_path.join("objects"),
                    Mode::Write,
                )?);
                shown.guard(&common_path.join("objects"), "info", Kind::Directory)?;
                if let Some(branch) = branch_directory {
                    check_branch_directory(branch)?;
                    for path in [common_path.join(branch), common_path.join("logs").join(branch)] {
                        let granted = directory("branch directory", &path, Mode::Write)?;
                        if granted.path != path {
                            return Err(Error::GitLink { path });
                        }
                        shown.grants.push(granted);
                    }
                }
                let admin_path = admin.path.clone();
                shown.grants.push(admin);
                for (name, kind) in ADMIN_GUARDS {
                    shown.guard(&admin_path, name, kind)?;
                }
                refuse_worktree_config(&common_path, &admin_path)?;
            }
            if let Some(workspace) = workspace.filter(|_| mode == Mode::Write) {
                shown.guard(&workspace.path, ".git", Kind::File)?;
            }
        }
        GitView::Checkout { git_dir } => {
            let git = directory("Git directory", git_dir, mode)?;
            let expected = workspace.map(|workspace| workspace.path.join(".git"));
            if expected.as_ref() != Some(&git.path) {
                return Err(Error::GitPlace {
                    path: git.path,
                    expected: expected.unwrap_or_default(),
                });
            }
            let git_path = git.path.clone();
            if mode == Mode::Write {
                shown.grants.push(git);
                for (name, kind) in CHECKOUT_GUARDS {
                    shown.guard(&git_path, name, kind)?;
                }
                refuse_worktree_config(&git_path, &git_path)?;
            }
        }
    }
    Ok(shown)
}

impl Shown {
    /// Holds one name in place, read-only, and notes it when it is not there.
    fn guard(&mut self, directory: &Path, name: &str, kind: Kind) -> Result<(), Error> {
        let path = directory.join(name);
        match fs::symlink_metadata(&path) {
            Ok(status) if status.is_symlink() => return Err(Error::GitLink { path }),
            Ok(status) if status.is_dir() != (kind == Kind::Directory) => {
                return Err(match kind {
                    Kind::Directory => Error::NotDirectory { role: "Git's", path },
                    Kind::File => Error::NotFileOrDirectory { role: "Git's", path },
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.unguarded.push(path.clone()),
            Err(source) => {
                return Err(Error::Resolve {
                    role: "Git's",
                    path,
                    source,
                });
            }
        }
        // Git replaces its own files by renaming, so the inode of a guard may change between two commands.
        let presence = Presence::Optional;
        self.grants.push(Granted {
            role: "Git guard",
            path,
            kind,
            mode: Mode::Read,
            presence,
        });
        Ok(())
    }
}

fn directory(role: &'static str, path: &Path, mode: Mode) -> Result<Granted, Error> {
    let granted = grant(role, path, mode)?;
    match granted.kind {
        Kind::Directory => Ok(granted),
        Kind::File => Err(Error::NotDirectory {
            role,
            path: granted.path,
        }),
    }
}

fn check_branch_directory(branch: &Path) -> Result<(), Error> {
    let plain = branch
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    // `refs/heads` itself would be every branch of the repository.
    if plain && branch.starts_with("refs/heads") && branch.components().count() > 2 {
        Ok(())
    } else {
        Err(Error::GitBranch {
            path: branch.to_path_buf(),
        })
    }
}

/// With `extensions.worktreeConfig` Git obeys `config.worktree`, which a command could make if it is missing; without
/// it Git ignores that file. The mere word is enough to refuse: a false alarm costs an empty file.
fn refuse_worktree_config(common: &Path, directory: &Path) -> Result<(), Error> {
    let config = common.join("config");
    let content = match fs::read(&config) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(Error::Resolve {
                role: "Git configuration",
                path: config,
                source,
            });
        }
    };
    let word = b"worktreeconfig";
    let obeyed = content
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word));
    let missing = directory.join("config.worktree");
    if obeyed && !missing.exists() {
        return Err(Error::GitUnguarded { path: missing });
    }
    Ok(())
}
