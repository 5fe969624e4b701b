//! By which other names the machine's mounts lead to a tree, and what else leads around a mount: other places of /proc,
//! and the disks themselves. Reads the mount table and /dev; changes nothing.

use crate::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The mount table of this process.
const TABLE: &str = "/proc/self/mountinfo";
/// How deep /dev is searched for disks.
const DEVICE_DEPTH: usize = 3;
/// The major number of SCSI's generic devices, which write to a disk past its block device.
const GENERIC_SCSI: u32 = 21;

/// One mount: where it is, which filesystem, and which directory of that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    device: String,
    root: PathBuf,
    at: PathBuf,
    kind: String,
}

/// The machine's mounts, as they are before the guard.
#[derive(Debug)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(super) fn read() -> Result<Self, Error> {
        let table = fs::read(TABLE).map_err(Error::file("read", TABLE))?;
        Ok(Self::parse(&table))
    }

    fn parse(table: &[u8]) -> Self {
        Self(table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect())
    }

    /// Other paths at which the tree at `path`, or a part of it, can be reached.
    pub(super) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        // Of several mounts at one place the last covers the others.
        let holding = self.0.iter().rev().filter(|mount| path.starts_with(&mount.at));
        let Some(own) = holding.max_by_key(|mount| mount.at.components().count()) else {
            return Vec::new();
        };
        let Ok(below) = path.strip_prefix(&own.at) else {
            return Vec::new();
        };
        let inside = join(&own.root, below);
        let of_the_same = self.0.iter().filter(|mount| mount.device == own.device);
        let mut aliases: Vec<PathBuf> = of_the_same
            .filter_map(|mount| match inside.strip_prefix(&mount.root) {
                Ok(rest) => Some(join(&mount.at, rest)),
                // A part of the tree is mounted elsewhere.
                Err(_) => mount.root.starts_with(&inside).then(|| mount.at.clone()),
            })
            .filter(|alias| !alias.starts_with(path))
            // Covered by another mount, or never there.
            .filter(|alias| alias.canonicalize().is_ok_and(|resolved| resolved == *alias))
            .collect();
        aliases.sort();
        aliases.dedup();
        aliases
    }

    /// Where process files are, /proc first.
    pub(super) fn process_files(&self) -> Vec<PathBuf> {
        let mut places = vec![PathBuf::from("/proc")];
        let whole = |mount: &&Mount| mount.kind == "proc" && mount.root == Path::new("/");
        let others = self.0.iter().filter(whole).map(|mount| &mount.at);
        for other in others {
            if !other.starts_with("/proc") && other.is_dir() && !places.contains(other) {
                places.push(other.clone());
            }
        }
        places
    }
}

/// Without the trailing slash that joining nothing leaves.
fn join(directory: &Path, below: &Path) -> PathBuf {
    directory.join(below).components().collect()
}

impl Mount {
    /// `36 35 98:0 /root /at options… - type source options`
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let text = |field: &[u8]| String::from_utf8(field.to_vec()).ok();
        let device = text(fields.nth(2)?)?;
        let root = unescaped(fields.next()?);
        let at = unescaped(fields.next()?);
        fields.find(|field| *field == b"-")?;
        let kind = text(fields.next()?)?;
        Some(Self { device, root, at, kind })
    }
}

/// Spaces, tabs, line breaks and backslashes are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Whether the machine itself shows this path read-only.
pub(super) fn is_read_only(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|status| status.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// Devices through which this user could write to a disk past every mount.
pub(super) fn disks() -> Vec<PathBuf> {
    let mut disks = Vec::new();
    let mut pending = vec![(PathBuf::from("/dev"), 0)];
    while let Some((directory, depth)) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < DEVICE_DEPTH {
                pending.push((path, depth + 1));
            } else if (kind.is_block_device() || kind.is_char_device() && is_generic_scsi(&path)) && is_writable(&path)
            {
                disks.push(path);
            }
        }
    }
    disks.sort();
    disks
}

fn is_generic_scsi(path: &Path) -> bool {
    let number = path.symlink_metadata().map_or(0, |status| status.rdev());
    rustix::fs::major(number) == GENERIC_SCSI
}

fn is_writable(path: &Path) -> bool {
    let flags = rustix::fs::AtFlags::EACCESS;
    rustix::fs::accessat(rustix::fs::CWD, path, rustix::fs::Access::WRITE_OK, flags).is_ok()
}

#[cfg(test)]
#[path = "mounts_tests.rs"]
mod tests;
