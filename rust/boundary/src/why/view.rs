//! The root that a list of steps makes, as far as a question needs it: which mount stands where, and what lies in it.
//! Follows links as the kernel would inside. Looks at the host's files, and changes nothing.

use crate::paths::{Kind, Presence};
use crate::policy::Mode;
use crate::step::Step;
use crate::system::Recursive;
use rustix::fs::StatVfsMountFlags;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const LINKS: u32 = 40;

/// Where the content of a mount comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    /// A path of the host.
    Host(PathBuf),
    /// The root's own filesystem, or a small one of ours.
    Made,
    /// The kernel's: processes, terminals, memory.
    Kernel,
    /// Nothing, in place of something sealed.
    Empty(Kind),
}

/// Whose a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    System,
    Own,
    Covered,
}

#[derive(Debug, Clone)]
struct Mount {
    at: PathBuf,
    content: Content,
    origin: Origin,
    read_only: bool,
    no_execution: bool,
}

/// What is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File,
    Nothing,
}

/// What the mode of a file lets this user do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permitted {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) execute: bool,
}

impl Permitted {
    const ALL: Self = Self {
        read: true,
        write: true,
        execute: true,
    };
    const NONE: Self = Self {
        read: false,
        write: false,
        execute: false,
    };
}

/// What a command sees at a path.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Where it led, links followed.
    pub(crate) path: PathBuf,
    /// The mount it lies in.
    pub(crate) mounted: PathBuf,
    pub(crate) origin: Origin,
    pub(crate) node: Node,
    pub(crate) read_only: bool,
    pub(crate) no_execution: bool,
    /// Of the file; of the directory it would lie in where there is none.
    pub(crate) permitted: Permitted,
    /// Where nothing is: whether the directory it would lie in is there.
    pub(crate) in_directory: bool,
    /// Nothing is there, but something is on the host.
    pub(crate) hidden: bool,
}

/// One entry of a directory.
enum Entry {
    Directory(Permitted),
    File(Permitted),
    Link(PathBuf),
    Nothing,
}

pub(crate) struct View {
    mounts: Vec<Mount>,
    made: BTreeMap<PathBuf, Made>,
}

enum Made {
    Directory,
    File,
    Link(PathBuf),
}

impl View {
    /// The host's own root.
    pub(crate) fn of_the_host() -> Self {
        Self {
            mounts: vec![Mount {
                at: PathBuf::from("/"),
                content: Content::Host(PathBuf::from("/")),
                origin: Origin::System,
                read_only: false,
                no_execution: false,
            }],
            made: BTreeMap::new(),
        }
    }

    /// The root that the steps make. Without any that makes one it is the host's.
    pub(crate) fn new<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut view = Self::of_the_host();
        for step in steps {
            view.take(step);
        }
        view
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Map { .. } | Step::Private | Step::Pivot => {}
            Step::Root { at } => self.root(Content::Host(outside(at))),
            Step::MemoryRoot { .. } => self.root(Content::Made),
            Step::Directory { path } | Step::PrivateDirectory { path, .. } => self.make(path, Made::Directory),
            Step::EmptyFile { path } | Step::File { path, .. } => self.make(path, Made::File),
            Step::Link { content, path } => self.make(path, Made::Link(outside(content))),
            Step::Writable { at } => self.mount(at, Content::Made, Origin::Own, 0),
            Step::Filesystem { at, flags, .. } => {
                let read_only = flags & libc::MS_RDONLY != 0;
                let attributes = if read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
                self.mount(at, Content::Kernel, Origin::Own, attributes);
            }
            // A second mount of a place of the root itself.
            Step::System { source, at } if !source.to_bytes().starts_with(b"/") => {
                self.mount(at, Content::Made, Origin::Own, 0);
            }
            Step::System { source, at } => self.mount(at, Content::Host(outside(source)), Origin::System, 0),
            Step::Attributes {
                at,
                recursive,
                attributes,
            } => self.attributes(&inside(at), *recursive, *attributes),
            Step::Show {
                source,
                at,
                attributes,
                presence,
            } => {
                let source = outside(source);
                if *presence != Presence::Optional || source.symlink_metadata().is_ok() {
                    self.mount(at, Content::Host(source), Origin::Own, *attributes);
                }
            }
            Step::Hold {
                source,
                at,
                mode,
                presence,
            } => {
                let source = outside(source);
                let attributes = match mode {
                    Mode::Read => libc::MOUNT_ATTR_RDONLY,
                    Mode::Write => 0,
                };
                if *presence != Presence::Optional || source.symlink_metadata().is_ok() {
                    self.mount(at, Content::Host(source), Origin::Own, attributes);
                }
            }
            // What commands have put into the layer is not known here.
            Step::Overlay { layers, at } => {
                self.mount(at, Content::Host(inside(&layers.lower)), Origin::Own, 0);
            }
            Step::Detach { at } => {
                let at = inside(at);
                self.mounts.retain(|mount| mount.at != at);
            }
            Step::Empty { at, kind, attributes } => {
                // Room for further mounts is made the same way, and what is made in it follows.
                let origin = if attributes & libc::MOUNT_ATTR_RDONLY == 0 {
                    Origin::Own
                } else {
                    Origin::Covered
                };
                self.mount(at, Content::Empty(*kind), origin, *attributes);
            }
        }
    }

    fn root(&mut self, content: Content) {
        self.mounts = vec![Mount {
            at: PathBuf::from("/"),
            content,
            origin: Origin::Own,
            read_only: false,
            no_execution: false,
        }];
    }

    fn make(&mut self, path: &CStr, made: Made) {
        self.made.insert(inside(path), made);
    }

    fn mount(&mut self, at: &CStr, content: Content, origin: Origin, attributes: u64) {
        self.mounts.push(Mount {
            at: inside(at),
            content,
            origin,
            read_only: attributes & libc::MOUNT_ATTR_RDONLY != 0,
            no_execution: attributes & libc::MOUNT_ATTR_NOEXEC != 0,
        });
    }

    fn attributes(&mut self, at: &Path, recursive: Recursive, attributes: u64) {
        let Some(top) = self.top(at) else { return };
        for (place, mount) in self.mounts.iter_mut().enumerate() {
            let meant = match recursive {
                Recursive::No => place == top,
                Recursive::Yes => mount.at.starts_with(at),
            };
            if meant {
                mount.read_only |= attributes & libc::MOUNT_ATTR_RDONLY != 0;
                mount.no_execution |= attributes & libc::MOUNT_ATTR_NOEXEC != 0;
            }
        }
    }

    /// The mount that a path lies in: the innermost that no later one covers.
    fn top(&self, path: &Path) -> Option<usize> {
        let covered = |place: usize, mount: &Mount| {
            let later = self.mounts.iter().skip(place + 1);
            let mut later = later.filter(|later| path.starts_with(&later.at));
            later.any(|later| mount.at.starts_with(&later.at))
        };
        let mut open = self.mounts.iter().enumerate();
        let mut best: Option<(usize, &Mount)> = None;
        for (place, mount) in &mut open {
            let deeper = best.is_none_or(|(_, best)| mount.at.starts_with(&best.at));
            if path.starts_with(&mount.at) && deeper && !covered(place, mount) {
                best = Some((place, mount));
            }
        }
        best.map(|(place, _)| place)
    }

    /// What is at a path.
    pub(crate) fn look(&self, path: &Path) -> Seen {
        let mut links = 0;
        let mut here = PathBuf::from("/");
        let mut reached = Permitted::ALL;
        let mut ahead: Vec<OsString> = parts(path);
        ahead.reverse();
        while let Some(part) = ahead.pop() {
            if part == ".." {
                here.pop();
                continue;
            }
            if !reached.execute {
                return self.nothing(here.join(part), Permitted::NONE, false);
            }
            let next = here.join(&part);
            match self.entry(&next) {
                Entry::Directory(permitted) => (here, reached) = (next, permitted),
                Entry::File(permitted) if ahead.is_empty() => return self.seen(next, Node::File, permitted),
                Entry::File(_) => return self.nothing(next, Permitted::NONE, false),
                Entry::Link(content) => {
                    links += 1;
                    if links > LINKS {
                        return self.nothing(next, Permitted::NONE, false);
                    }
                    if content.is_absolute() {
                        (here, reached) = (PathBuf::from("/"), Permitted::ALL);
                    }
                    ahead.extend(parts(&content).into_iter().rev());
                }
                Entry::Nothing => {
                    let last = ahead.is_empty();
                    let rest: PathBuf = ahead.iter().rev().collect();
                    let whole = if last { next } else { next.join(rest) };
                    return self.nothing(whole, reached, last);
                }
            }
        }
        self.seen(here, Node::Directory, reached)
    }

    fn entry(&self, path: &Path) -> Entry {
        let Some(mount) = self.top(path).and_then(|place| self.mounts.get(place)) else {
            return Entry::Nothing;
        };
        let rest = path.strip_prefix(&mount.at).unwrap_or(Path::new(""));
        match &mount.content {
            Content::Host(source) => entry_of_the_host(&if rest == Path::new("") {
                source.clone()
            } else {
                source.join(rest)
            }),
            Content::Empty(Kind::File) => Entry::File(Permitted {
                write: false,
                execute: false,
                ..Permitted::ALL
            }),
            Content::Empty(Kind::Directory) | Content::Made if rest == Path::new("") => {
                Entry::Directory(Permitted::ALL)
            }
            Content::Empty(Kind::Directory) | Content::Made => match self.made.get(path) {
                Some(Made::Directory) => Entry::Directory(Permitted::ALL),
                Some(Made::File) => Entry::File(Permitted {
                    write: false,
                    execute: false,
                    ..Permitted::ALL
                }),
                Some(Made::Link(content)) => Entry::Link(content.clone()),
                None => Entry::Nothing,
            },
            Content::Kernel if rest == Path::new("") => Entry::Directory(Permitted::ALL),
            // The processes' own files are like the host's; whose they are is known inside only.
            Content::Kernel if mount.read_only => entry_of_the_host(path),
            Content::Kernel => Entry::Nothing,
        }
    }

    fn seen(&self, path: PathBuf, node: Node, permitted: Permitted) -> Seen {
        let mount = self.top(&path).and_then(|place| self.mounts.get(place));
        let of_the_host = mount.and_then(|mount| match &mount.content {
            Content::Host(source) => {
                let rest = path.strip_prefix(&mount.at).unwrap_or(Path::new(""));
                Some(if rest == Path::new("") {
                    source.clone()
                } else {
                    source.join(rest)
                })
            }
            Content::Made | Content::Kernel | Content::Empty(_) => None,
        });
        // What is sent to a device is no change of the filesystem it has its name in.
        let device = of_the_host.as_ref().is_some_and(|path| is_device(path));
        let held = of_the_host.is_some_and(|path| {
            rustix::fs::statvfs(&path).is_ok_and(|status| status.f_flag.contains(StatVfsMountFlags::RDONLY))
        });
        Seen {
            mounted: mount.map_or_else(|| PathBuf::from("/"), |mount| mount.at.clone()),
            origin: mount.map_or(Origin::Own, |mount| mount.origin),
            read_only: !device && (held || mount.is_none_or(|mount| mount.read_only)),
            no_execution: mount.is_some_and(|mount| mount.no_execution),
            in_directory: false,
            hidden: false,
            path,
            node,
            permitted,
        }
    }

    fn nothing(&self, path: PathBuf, permitted: Permitted, in_directory: bool) -> Seen {
        Seen {
            hidden: path.symlink_metadata().is_ok(),
            in_directory,
            ..self.seen(path, Node::Nothing, permitted)
        }
    }
}

/// The names on a path, with those that lead back.
fn parts(path: &Path) -> Vec<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    named.collect()
}

fn is_device(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|status| status.file_type().is_char_device())
}

fn entry_of_the_host(path: &Path) -> Entry {
    match fs::symlink_metadata(path) {
        Ok(status) if status.is_symlink() => fs::read_link(path).map_or(Entry::Nothing, Entry::Link),
        Ok(status) if status.is_dir() => Entry::Directory(permitted(&status)),
        Ok(status) => Entry::File(permitted(&status)),
        Err(_) => Entry::Nothing,
    }
}

/// Inside, nobody has a capability: even to user id 0 a file's mode is what it says.
fn permitted(status: &Metadata) -> Permitted {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let bits = if status.uid() == user {
        status.mode() >> 6
    } else if status.gid() == group || is_of_group(status.gid()) {
        status.mode() >> 3
    } else {
        status.mode()
    };
    Permitted {
        read: bits & 4 != 0,
        write: bits & 2 != 0,
        execute: bits & 1 != 0,
    }
}

fn is_of_group(group: u32) -> bool {
    rustix::process::getgroups().is_ok_and(|groups| groups.iter().any(|own| own.as_raw() == group))
}

/// A path of the host, or the content of a link.
fn outside(path: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

/// A path of the new root, which steps write without its leading slash.
fn inside(path: &CStr) -> PathBuf {
    let relative = OsStr::from_bytes(path.to_bytes());
    let joined = Path::new("/").join(relative);
    joined.components().filter(|part| *part != Component::CurDir).collect()
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
