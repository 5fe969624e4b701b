//! An ordinary checkout: its `.git` lies in the workspace and is the command's to use, but neither it nor what steers Git
//! in it, or in the repository of a submodule, can be changed, moved or replaced.

use super::{Shown, directory, present};
use crate::Error;
use crate::paths::{Granted, Kind};
use crate::policy::Mode;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What steers Git in a repository. `commondir` in a plain one would send Git elsewhere for its configuration;
/// `objects/info` holds `alternates`.
const GUARDS: [(&str, Kind); 7] = [
    ("config", Kind::File),
    ("config.worktree", Kind::File),
    ("commondir", Kind::File),
    ("hooks", Kind::Directory),
    ("info", Kind::Directory),
    ("worktrees", Kind::Directory),
    ("objects/info", Kind::Directory),
];

/// The names of what steers Git in a repository.
pub(crate) fn guarded_names() -> [&'static str; GUARDS.len()] {
    GUARDS.map(|(name, _)| name)
}

/// The most directories below `modules` that are held one by one; each costs some ten mounts in every command. Where there
/// are more, all of them are read-only.
const MODULE_DIRECTORIES: usize = 64;

/// The mounts of a checkout's own repository and those of its submodules.
pub(super) fn shown(git_dir: &Path, workspace: Option<&Granted>, mode: Mode) -> Result<Shown, Error> {
    let mut shown = Shown::default();
    let git = directory("Git directory", git_dir, mode)?;
    let expected = workspace.map(|workspace| workspace.path.join(".git"));
    if expected.as_ref() != Some(&git.path) {
        return Err(Error::GitPlace {
            path: git.path,
            expected: expected.unwrap_or_default(),
        });
    }
    if mode == Mode::Write {
        let path = git.path.clone();
        shown.grants.push(git);
        shown.repository(&path)?;
        shown.modules(&path)?;
    }
    Ok(shown)
}

impl Shown {
    fn repository(&mut self, git: &Path) -> Result<(), Error> {
        for (name, kind) in GUARDS {
            self.guard(git, name, kind)?;
        }
        refuse_worktree_config(git)
    }

    /// The repositories of submodules can be committed in as the checkout's own. Each of them, and each directory that
    /// leads to one, is a mount, which can be neither moved nor replaced.
    fn modules(&mut self, git: &Path) -> Result<(), Error> {
        let top = git.join("modules");
        if !present(&top, Kind::Directory)? {
            self.unguarded.push(top.clone());
            self.hold(top, None, Kind::Directory);
            return Ok(());
        }
        let Some(modules) = Modules::below(&top)? else {
            self.hold(top, None, Kind::Directory);
            return Ok(());
        };
        for path in modules.directories {
            self.grants
                .push(directory("Git directory of a submodule", &path, Mode::Write)?);
        }
        for path in modules.repositories {
            // Every repository lacks some of these names, and one made now is not told apart from a new repository
            // elsewhere in the workspace: only the checkout's own are worth a word.
            let told = self.unguarded.len();
            self.repository(&path)?;
            self.unguarded.truncate(told);
        }
        Ok(())
    }
}

/// What lies below `modules`: a submodule's name may hold slashes, and its repository submodules of its own.
#[derive(Default)]
struct Modules {
    directories: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
}

impl Modules {
    /// Nothing when there are too many.
    fn below(top: &Path) -> Result<Option<Self>, Error> {
        let mut found = Self::default();
        let mut pending = vec![top.to_path_buf()];
        while let Some(path) = pending.pop() {
            if found.directories.len() == MODULE_DIRECTORIES {
                return Ok(None);
            }
            found.directories.push(path.clone());
            if path.join("HEAD").symlink_metadata().is_ok() {
                let own = path.join("modules");
                if present(&own, Kind::Directory)? {
                    pending.push(own);
                }
                found.repositories.push(path);
                continue;
            }
            let unreadable = |source: io::Error| Error::Resolve {
                role: "Git directories of submodules",
                path: path.clone(),
                source,
            };
            for entry in fs::read_dir(&path).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let kind = entry.file_type().map_err(unreadable)?;
                if kind.is_symlink() {
                    return Err(Error::GitLink { path: entry.path() });
                }
                if kind.is_dir() {
                    pending.push(entry.path());
                }
            }
        }
        Ok(Some(found))
    }
}

/// With `extensions.worktreeConfig` Git obeys `config.worktree`, which a command could make if it is missing; without
/// it Git ignores that file. The mere word is enough to refuse: a false alarm costs an empty file.
fn refuse_worktree_config(git: &Path) -> Result<(), Error> {
    let config = git.join("config");
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
    let missing = git.join("config.worktree");
    if obeyed && !missing.exists() {
        return Err(Error::GitUnguarded { path: missing });
    }
    Ok(())
}
