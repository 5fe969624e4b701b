//! What every command sees of the machine without a grant: the system's programs and libraries, and the part of `/etc`
//! that ordinary programs read and that everybody may read. Looked up once, when a boundary is prepared.

use crate::Error;
use crate::policy::Network;
use rustix::fs::{OFlags, RawDir};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How one path of the machine appears inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Appearance {
    /// The directory or file itself, read-only.
    Mounted { source: PathBuf, directory: bool },
    /// A symbolic link with this content.
    Link(PathBuf),
    /// A directory, whose entries appear by themselves.
    Directory,
    /// A file with these bytes. A copy is made once, a mount for every command.
    Copied(Vec<u8>),
}

/// One path of the machine and how it appears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    pub(crate) appearance: Appearance,
}

/// Programs, libraries and what NixOS has in their place.
const PROGRAMS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/run/current-system",
];

/// What ordinary programs read in `/etc`; what only interactive or the administrator's tools do is
/// left out, since each name costs at every start. A trailing `*` stands for any ending. Directories are named in full only where
/// nothing in them is for the owner alone, and are mounted without a look inside: root sees what root owns, so `pki` as a
/// whole would show private keys. Those a pattern finds are looked through, since nobody knows them beforehand.
const ETC: [&str; 39] = [
    "alternatives",
    "bash.bashrc",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gitattributes",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d*",
    "protocols",
    "python3*",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "static",
    "terminfo",
    "timezone",
];

/// What only a command with some network needs: where packages come from.
const ETC_FOR_PACKAGES: [&str; 2] = ["npmrc", "pip.conf"];

/// What only a command with the host's network needs: where to ask for names.
const ETC_FOR_NAMES: [&str; 2] = ["resolv.conf", "static/resolv.conf"];

/// Bytes of a directory's list read at once.
const LISTED: usize = 8 * 1024;

/// Above these a file or directory is mounted instead of copied: a mount costs as much as a few pages.
const COPY_BYTES: u64 = 16 * 1024;
const COPY_ENTRIES: usize = 32;

/// Everything of the machine that a command sees, its small files as `liveness` says.
pub(crate) fn parts(network: &Network, liveness: Liveness) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    for path in PROGRAMS {
        let path = PathBuf::from(path);
        match fs::symlink_metadata(&path) {
            Ok(status) if status.is_symlink() => {
                let content = fs::read_link(&path).map_err(Error::file("read the link", &path))?;
                parts.push(Part {
                    path,
                    appearance: Appearance::Link(content),
                });
            }
            Ok(status) if status.is_dir() => {
                parts.push(Part {
                    path: path.clone(),
                    appearance: Appearance::Mounted {
                        source: path,
                        directory: true,
                    },
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(Error::File {
                    act: "look at",
                    path,
                    source,
                });
            }
        }
    }
    let etc = Path::new("/etc");
    let names = names(etc, &ETC).map_err(Error::file("list", etc))?;
    let (packages, servers): (&[&str], &[&str]) = match network {
        Network::None => (&[], &[]),
        Network::Allow(_) => (&ETC_FOR_PACKAGES, &[]),
        Network::Host => (&ETC_FOR_PACKAGES, &ETC_FOR_NAMES),
    };
    let for_network = packages.iter().chain(servers);
    let for_network = for_network.map(|path| (PathBuf::from(path), Known::ByName, Liveness::Live));
    let wanted = wanted(&ETC, &names).into_iter();
    let wanted = wanted.map(|(path, known)| (path, known, liveness));
    for (path, known, liveness) in wanted.chain(for_network) {
        show(&etc.join(path), known, liveness, &mut parts)?;
    }
    Ok(parts)
}

/// Whether a small file is shown as it was when the boundary was prepared, by a copy, or as it is, by a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    Prepared,
    Live,
}

/// Whether a path stands in the table itself or was found by a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    ByName,
    ByPattern,
}

/// The names in a directory that a pattern of the table stands for, in order.
fn names(directory: &Path, table: &[&str]) -> io::Result<Vec<OsString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(directory, flags, rustix::fs::Mode::empty())?;
    let mut room = [MaybeUninit::uninit(); LISTED];
    let mut listed = RawDir::new(open, &mut room);
    let mut names = Vec::new();
    // Most names of the directory are of no concern: none but the found ones are kept.
    while let Some(entry) = listed.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if table.iter().any(|pattern| stands_for(pattern, name)) {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn stands_for(pattern: &str, name: &[u8]) -> bool {
    let start = pattern.strip_suffix('*');
    start.is_some_and(|start| name.starts_with(start.as_bytes()))
}

/// The table with each pattern replaced by the names it stands for.
fn wanted(table: &[&str], names: &[OsString]) -> Vec<(PathBuf, Known)> {
    let mut wanted = Vec::with_capacity(table.len() + names.len());
    for pattern in table {
        if pattern.ends_with('*') {
            let found = names.iter().filter(|name| stands_for(pattern, name.as_bytes()));
            wanted.extend(found.map(|name| (PathBuf::from(name), Known::ByPattern)));
        } else {
            wanted.push((PathBuf::from(pattern), Known::ByName));
        }
    }
    wanted
}

/// Adds how one path appears: nothing when it is missing, or not for everybody to read.
fn show(path: &Path, known: Known, liveness: Liveness, parts: &mut Vec<Part>) -> Result<(), Error> {
    let Some(mut status) = look(path)? else { return Ok(()) };
    let mut resolved = path.to_path_buf();
    if status.is_symlink() {
        match fs::canonicalize(path) {
            Ok(target) if PROGRAMS.iter().any(|tree| target.starts_with(tree)) => {
                parts.push(Part {
                    path: resolved,
                    appearance: Appearance::Link(target),
                });
                return Ok(());
            }
            Ok(target) => {
                let Some(found) = look(&target)? else { return Ok(()) };
                (status, resolved) = (found, target);
            }
            // A dangling link is as good as nothing.
            Err(_) => return Ok(()),
        }
    }
    if !readable_by_everybody(&status) {
        return Ok(());
    }
    let mut add = |appearance| {
        parts.push(Part {
            path: path.to_path_buf(),
            appearance,
        })
    };
    if status.is_dir() {
        let mut copied = Vec::new();
        // One mount shows as much as many copies, and costs as much as one.
        if known == Known::ByName || better_mounted(&resolved, &mut { COPY_ENTRIES }).unwrap_or(false) {
            add(Appearance::Mounted {
                source: resolved,
                directory: true,
            });
        } else if copy_directory(&resolved, path, &mut copied).unwrap_or(false) {
            parts.extend(copied);
        } else {
            add(Appearance::Mounted {
                source: resolved,
                directory: true,
            });
        }
    } else if status.is_file() {
        if liveness == Liveness::Live || status.len() > COPY_BYTES {
            add(Appearance::Mounted {
                source: resolved,
                directory: false,
            });
        } else {
            let file = fs::File::from(open(&resolved).map_err(|errno| Error::file("open", &resolved)(errno.into()))?);
            let status = file.metadata().map_err(Error::file("look at", &resolved))?;
            if status.is_file() && readable_by_everybody(&status) {
                add(Appearance::Copied(
                    read(file, &status).map_err(Error::file("read", &resolved))?,
                ));
            }
        }
    }
    Ok(())
}

/// What stands at a path; nothing where this user may not look, since then not everybody may.
fn look(path: &Path) -> Result<Option<Metadata>, Error> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match fs::symlink_metadata(path) {
        Ok(status) => Ok(Some(status)),
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied | NotADirectory) => Ok(None),
        Err(error) => Err(Error::file("look at", path)(error)),
    }
}

/// Opens what is there, but no link and nothing to wait for.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, rustix::fs::Mode::empty())
}

/// Whether a directory is better mounted than copied: it is large, or everything in it is for everybody to read. What is
/// large is known by its count alone, without a look at each entry.
fn better_mounted(directory: &Path, left: &mut usize) -> io::Result<bool> {
    let entries = entries(directory)?;
    *left = match left.checked_sub(entries.len()) {
        Some(left) => left,
        None => return Ok(true),
    };
    for entry in entries {
        let kind = entry.file_type()?;
        let plain = kind.is_symlink()
            || ((kind.is_file() || kind.is_dir()) && readable_by_everybody(&entry.metadata()?))
                && (!kind.is_dir() || better_mounted(&entry.path(), left)?);
        if !plain {
            return Ok(false);
        }
    }
    Ok(true)
}

fn entries(directory: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(directory)?.collect()
}

/// Copies a small directory; says whether it was small. What is not for everybody is left out.
fn copy_directory(source: &Path, shown: &Path, copied: &mut Vec<Part>) -> io::Result<bool> {
    copied.push(Part {
        path: shown.to_path_buf(),
        appearance: Appearance::Directory,
    });
    let entries = entries(source)?;
    if copied.len() + entries.len() > COPY_ENTRIES + 1 {
        return Ok(false);
    }
    for entry in entries {
        let path = entry.path();
        let status = fs::symlink_metadata(&path)?;
        if status.is_file() && status.len() > COPY_BYTES {
            return Ok(false);
        }
        let shown = shown.join(entry.file_name());
        if status.is_symlink() {
            copied.push(Part {
                path: shown,
                appearance: Appearance::Link(fs::read_link(&path)?),
            });
        } else if !readable_by_everybody(&status) {
            continue;
        } else if status.is_dir() {
            if !copy_directory(&path, &shown, copied)? {
                return Ok(false);
            }
        } else if status.is_file() {
            copied.push(Part {
                path: shown,
                appearance: Appearance::Copied(read(fs::File::open(&path)?, &status)?),
            });
        }
    }
    Ok(true)
}

/// Reads a file; one that grows meanwhile is cut where it was when looked at.
fn read(file: fs::File, status: &Metadata) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(status.len()).unwrap_or(0).saturating_add(1));
    file.take(status.len()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn readable_by_everybody(status: &Metadata) -> bool {
    let needed = if status.is_dir() { 0o005 } else { 0o004 };
    status.permissions().mode() & needed == needed
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
