//! Which trees belong to the repository of a linked worktree: the common Git directory, the main working tree and the
//! other worktrees. Read from a few small files; Git is not started. A main working tree that exists and cannot be found
//! refuses, because what is not known cannot be held.

use crate::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Everything of the repository but `workspace`, resolved.
pub(super) fn around(common: &Path, workspace: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut trees = vec![common.to_owned()];
    trees.extend(main_tree(common)?);
    trees.extend(worktrees(common));
    trees.retain(|tree| tree != workspace);
    trees.sort();
    trees.dedup();
    Ok(trees)
}

/// Where the main working tree is; nothing for a bare repository.
fn main_tree(common: &Path) -> Result<Option<PathBuf>, Error> {
    let settings = Settings::read(common)?;
    if let Some(named) = settings.worktree {
        return existing(&common.join(named));
    }
    if settings.bare {
        return Ok(None);
    }
    let parent = common
        .parent()
        .filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    match parent {
        Some(parent) => existing(parent),
        None => Err(Error::SourceUnknown {
            path: common.to_owned(),
        }),
    }
}

/// A tree that was removed needs no guard.
fn existing(path: &Path) -> Result<Option<PathBuf>, Error> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(Some(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Resolve {
            role: "main working tree",
            path: path.to_owned(),
            source,
        }),
    }
}

/// The linked worktrees that exist. One whose directory is gone, or whose pointer nobody can read, is none.
fn worktrees(common: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(common.join("worktrees")) else {
        return Vec::new();
    };
    let tree = |admin: PathBuf| {
        let pointer = fs::read_to_string(admin.join("gitdir")).ok()?;
        let link = admin.join(pointer.lines().next()?);
        let tree = fs::canonicalize(link.parent()?).ok()?;
        tree.is_dir().then_some(tree)
    };
    let entries = entries.filter_map(Result::ok);
    entries.filter_map(|entry| tree(entry.path())).collect()
}

/// The settings that say where the main working tree is.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    bare: bool,
    worktree: Option<PathBuf>,
}

impl Settings {
    fn read(common: &Path) -> Result<Self, Error> {
        let mut settings = Self::default();
        for name in ["config", "config.worktree"] {
            let path = common.join(name);
            match fs::read(&path) {
                Ok(content) => settings.take(&content),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::Resolve {
                        role: "Git configuration",
                        path,
                        source,
                    });
                }
            }
        }
        Ok(settings)
    }

    /// The last value of a name counts, as for Git.
    fn take(&mut self, text: &[u8]) {
        let mut in_core = false;
        for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            let section = line.strip_prefix(b"[").and_then(|line| parted(line, b']'));
            let line = section.map_or(line, |(_, rest)| rest);
            if let Some((section, _)) = section {
                in_core = section.eq_ignore_ascii_case(b"core");
            }
            let (name, value) = parted(line, b'=').unwrap_or((line, b"true"));
            if in_core && name.eq_ignore_ascii_case(b"bare") {
                let yes: [&[u8]; 4] = [b"true", b"yes", b"on", b"1"];
                self.bare = yes.iter().any(|word| value.eq_ignore_ascii_case(word));
            } else if in_core && name.eq_ignore_ascii_case(b"worktree") {
                self.worktree = Some(PathBuf::from(OsString::from_vec(unquoted(value))));
            }
        }
    }
}

/// What is before and after the first of these bytes, without the spaces around.
fn parted(line: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = line.iter().position(|byte| *byte == at)?;
    let (before, after) = line.split_at(place);
    Some((before.trim_ascii(), after.get(1..)?.trim_ascii()))
}

fn unquoted(value: &[u8]) -> Vec<u8> {
    let inner = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    let Some(inner) = inner else { return value.to_vec() };
    let mut escaped = false;
    let plain = inner.iter().filter(|byte| {
        escaped = !escaped && **byte == b'\\';
        !escaped
    });
    plain.copied().collect()
}

#[cfg(test)]
#[path = "checkouts_tests.rs"]
mod tests;
