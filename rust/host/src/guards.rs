//! What somebody's Git would obey later, compared before and after commands: names that were not there, and, where the
//! kernel gives nothing to hold them in place, the content of those that were. Holds nothing itself.

use coder_boundary::Boundary;
use coder_digest::Digest;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The most files of one directory that are compared; hooks are few.
const FILES: usize = 512;

/// As it was before commands ran.
pub(crate) struct Absent {
    names: Vec<PathBuf>,
    unheld: Vec<(PathBuf, Content)>,
}

/// What lies at a path and beneath it: each name with a digest of what it is.
type Content = BTreeMap<PathBuf, Digest>;

impl Absent {
    /// As it is before commands run.
    pub(crate) fn in_view(boundary: &Boundary) -> Self {
        let absent = |path: &&PathBuf| path.symlink_metadata().is_err();
        let content = |path: &PathBuf| (path.clone(), content(path));
        Self {
            names: boundary.unguarded().iter().filter(absent).cloned().collect(),
            unheld: boundary.unheld().iter().map(content).collect(),
        }
    }

    /// Those that are there now, and those that are not what they were.
    pub(crate) fn appeared(self) -> Vec<PathBuf> {
        let mut names = self.names;
        names.retain(|path| path.symlink_metadata().is_ok());
        for (path, before) in self.unheld {
            if !names.contains(&path) && content(&path) != before {
                names.push(path);
            }
        }
        names
    }
}

fn content(path: &Path) -> Content {
    let mut content = Content::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if content.len() == FILES {
            break;
        }
        let Ok(status) = path.symlink_metadata() else { continue };
        let what = if status.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .into_iter()
                    .flatten()
                    .filter_map(|entry| Some(entry.ok()?.path())),
            );
            Digest::of(b"directory")
        } else if status.is_symlink() {
            let target = fs::read_link(&path).unwrap_or_default();
            Digest::of(&[b"link ", target.as_os_str().as_bytes()].concat())
        } else if status.is_file() {
            // What cannot be read now could not be read before either, or has changed.
            fs::File::open(&path)
                .ok()
                .and_then(|file| Digest::of_reader(file).ok())
                .map_or_else(|| Digest::of(b"unreadable"), |(digest, _)| digest)
        } else {
            Digest::of(b"special")
        };
        content.insert(path, what);
    }
    content
}

#[cfg(test)]
#[path = "guards_tests.rs"]
mod tests;
