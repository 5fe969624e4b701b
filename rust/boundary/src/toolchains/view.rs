//! How the derivation looks at a host: a trait small enough to be described in a test, and the real file system behind
//! it. Looks only; a path that cannot be looked at is as good as absent, since what is unknown is not granted.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The most bytes of a small text file that are read.
const TEXT_BYTES: u64 = 4096;

/// A host's files, as far as the derivation asks.
pub trait HostView {
    /// The path with every link resolved; `None` if it does not exist.
    fn canonicalise(&self, path: &Path) -> Option<PathBuf>;
    /// Whether it is, or leads to, a directory.
    fn is_directory(&self, path: &Path) -> bool;
    /// Where a link points; `None` if it is no link.
    fn read_link(&self, path: &Path) -> Option<PathBuf>;
    /// The names in a directory, sorted; none if it is no directory.
    fn list_directory(&self, path: &Path) -> Vec<OsString>;
    /// The first 4096 bytes of a regular file, if they are UTF-8.
    fn read_text(&self, path: &Path) -> Option<String>;
}

/// This computer.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealHost;

impl HostView for RealHost {
    fn canonicalise(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(path).ok()
    }

    fn is_directory(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        fs::read_link(path).ok()
    }

    fn list_directory(&self, path: &Path) -> Vec<OsString> {
        let Ok(entries) = fs::read_dir(path) else {
            return Vec::new();
        };
        let mut names: Vec<OsString> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        names.sort();
        names
    }

    fn read_text(&self, path: &Path) -> Option<String> {
        // Non-blocking, or a pipe in the file's place would wait for a writer for ever.
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut text = String::new();
        file.take(TEXT_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    }
}
