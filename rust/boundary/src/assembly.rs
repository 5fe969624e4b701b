//! From checked grants to the ordered acts that assemble a root, and the Landlock rules that say the same again.
//! Pure bookkeeping, but for what it makes in the private scratch; nothing is mounted here.

use crate::caches::Caches;
use crate::machine::{self, Appearance, Liveness};
use crate::paths::{Granted, Kind, Presence};
use crate::points::{Places, Points};
use crate::policy::{Mode, Network, Permission};
use crate::rights::{Right, Rights};
use crate::scratch::Entry;
use crate::step::{EMPTY_FILE, Step};
use crate::system::Recursive;
use crate::{Error, Private};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const WRITABLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Devices that harm nobody.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Links that programs expect in every root, where nothing can be granted.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Links that programs expect in every root, unless something beneath is granted.
const LINKS: [(&str, &str); 2] = [("/etc/mtab", "/proc/self/mounts"), ("/var/run", "/run")];

/// What is in every root, whatever is granted.
fn fixed_entries() -> BTreeMap<PathBuf, Entry> {
    let directories = ["/dev", "/dev/pts", "/dev/shm", "/etc", "/proc", "/run"];
    let directories = directories.map(|path| (PathBuf::from(path), Entry::Directory));
    let devices = DEVICES.map(|device| (Path::new("/dev").join(device), Entry::File(Vec::new())));
    let links = DEVICE_LINKS.map(|(path, content)| (PathBuf::from(path), Entry::Link(PathBuf::from(content))));
    directories.into_iter().chain(devices).chain(links).collect()
}

/// The first acts of every assembly in memory, which can be done before it is known what is granted.
pub(crate) fn beginning(memory: Option<u64>, nested: Permission) -> Result<Vec<Act>, Error> {
    let mut acts = Acts::default();
    acts.push(Step::Private, "keep mounts from the host");
    acts.memory_root(memory, &Places::beside(&[]), nested)?;
    Ok(acts.0)
}

/// One act and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) step: Step,
    pub(crate) words: String,
}

/// The acts in order, and every tree of the host that will be visible.
#[derive(Debug)]
pub(crate) struct Assembly {
    pub(crate) acts: Vec<Act>,
    pub(crate) visible: Vec<PathBuf>,
}

/// What an assembly is made of. The grants are ordered and in no conflict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ingredients<'a> {
    pub(crate) grants: &'a [Granted],
    pub(crate) sealed: &'a [PathBuf],
    pub(crate) places: &'a Places,
    pub(crate) private: &'a Private,
    pub(crate) network: &'a Network,
    pub(crate) caches: &'a Caches,
    /// Whether commands may make user namespaces, for which they write maps in `/proc`.
    pub(crate) nested: Permission,
    /// Bytes of shared memory, and of private places in memory; half of the machine's when absent.
    pub(crate) memory: Option<u64>,
}

/// Orders the acts, and adds the rules to `rights`.
pub(crate) fn assemble(ingredients: Ingredients<'_>, rights: &mut Rights) -> Result<Assembly, Error> {
    let Ingredients {
        grants,
        sealed,
        places,
        private,
        network,
        caches,
        nested,
        memory,
    } = ingredients;
    // For several commands a copy is made once; for one it costs as much as a mount, and its end twice as much.
    let liveness = match private {
        Private::Directory(_) => Liveness::Prepared,
        Private::Memory => Liveness::Live,
    };
    let mut parts = machine::parts(network, liveness)?;
    parts.retain(|part| {
        let source = match &part.appearance {
            Appearance::Mounted { source, .. } => source.as_path(),
            Appearance::Link(_) | Appearance::Directory | Appearance::Copied(_) => part.path.as_path(),
        };
        !sealed
            .iter()
            .any(|sealed| part.path.starts_with(sealed) || source.starts_with(sealed))
    });

    let mut builder = Points::new(grants, places);
    for (path, entry) in fixed_entries() {
        builder.entry(&path, entry);
    }
    for (path, content) in LINKS {
        builder.entry(Path::new(path), Entry::Link(PathBuf::from(content)));
    }
    builder.entry(Path::new("/var/tmp"), Entry::Link(places.temporary.clone()));
    builder.directory(&places.home);
    builder.directory(&places.temporary);
    if !sealed.is_empty() {
        let path = Path::new("/").join(std::ffi::OsStr::from_bytes(EMPTY_FILE.to_bytes()));
        builder.entry(&path, Entry::File(Vec::new()));
    }
    let mut mounted = Vec::new();
    for part in parts {
        match part.appearance {
            Appearance::Link(content) => builder.entry(&part.path, Entry::Link(content)),
            Appearance::Directory => builder.directory(&part.path),
            Appearance::Copied(bytes) => builder.entry(&part.path, Entry::File(bytes)),
            Appearance::Mounted { source, directory } => {
                let entry = if directory {
                    Entry::Directory
                } else {
                    Entry::File(Vec::new())
                };
                builder.entry(&part.path, entry);
                if directory {
                    builder.visible.push(part.path.clone());
                }
                mounted.push((source, part.path));
            }
        }
    }
    for granted in grants {
        builder.point(granted, private)?;
    }
    for (path, entry) in caches.entries(private) {
        builder.private_entry(&path, entry, private)?;
    }

    let mut acts = Acts::default();
    acts.push(Step::Private, "keep mounts from the host");
    match private {
        Private::Directory(scratch) => {
            scratch.fill_root(&builder.entries)?;
            let at = absolute(scratch.root())?;
            acts.push(Step::Root { at }, "mount the prepared root");
            acts.process_files(nested)?;
        }
        Private::Memory => {
            acts.memory_root(memory, places, nested)?;
            let fixed = fixed_entries();
            let mut entries = std::mem::take(&mut builder.entries);
            entries.retain(|path, entry| fixed.get(path) != Some(entry));
            acts.entries(entries, places)?;
        }
    }
    for (source, path) in mounted {
        let words = format!("show {}", path.display());
        // The rule of /etc holds what is mounted in it.
        if !path.starts_with("/etc") {
            rights.allow(absolute(&path)?, Right::Execute);
        }
        acts.push(
            Step::System {
                source: absolute(&source)?,
                at: inside(&path)?,
            },
            words,
        );
    }
    acts.attributes("/", libc::MOUNT_ATTR_NODEV)?;
    for device in DEVICES {
        let path = Path::new("/dev").join(device);
        let words = format!("show {}", path.display());
        acts.push(
            Step::System {
                source: absolute(&path)?,
                at: inside(&path)?,
            },
            words,
        );
    }
    // Once for all that was mounted until now; what comes later may be written to.
    acts.attributes("/", libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID)?;
    let pts_flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    acts.filesystem(
        c"devpts",
        "/dev/pts",
        pts_flags,
        "newinstance,ptmxmode=0666,mode=0620".to_owned(),
    )?;
    let size = memory.map_or_else(|| "mode=1777".to_owned(), |bytes| format!("mode=1777,size={bytes}"));
    acts.filesystem(c"tmpfs", "/dev/shm", pts_flags | libc::MS_NODEV, size)?;
    for at in [&places.temporary, &places.home] {
        let words = format!("show {}", at.display());
        match private {
            Private::Directory(scratch) => {
                let source = if *at == places.home {
                    scratch.home()
                } else {
                    scratch.temporary()
                };
                acts.push(
                    Step::System {
                        source: absolute(&source)?,
                        at: inside(at)?,
                    },
                    words.clone(),
                );
                let attributes = Step::Attributes {
                    at: inside(at)?,
                    recursive: Recursive::No,
                    attributes: WRITABLE,
                };
                acts.push(attributes, words);
            }
            Private::Memory => acts.push(Step::Writable { at: inside(at)? }, words),
        }
        rights.allow(absolute(at)?, Right::Change);
    }
    for (island, points) in &builder.islands {
        let words = format!("make room at {}", island.display());
        let empty = Step::Empty {
            at: inside(island)?,
            kind: Kind::Directory,
            attributes: WRITABLE,
        };
        acts.push(empty, words.clone());
        for (path, kind) in points {
            let path = inside(path)?;
            acts.push(
                match kind {
                    Kind::Directory => Step::Directory { path },
                    Kind::File => Step::EmptyFile { path },
                },
                words.clone(),
            );
        }
        let attributes = Step::Attributes {
            at: inside(island)?,
            recursive: Recursive::No,
            attributes: READ_ONLY,
        };
        acts.push(attributes, words);
    }
    for granted in grants {
        let (attributes, right) = match (granted.mode, granted.kind) {
            (Mode::Read, Kind::Directory) => (READ_ONLY, Right::Execute),
            (Mode::Read, Kind::File) => (READ_ONLY, Right::ExecuteFile),
            (Mode::Write, Kind::Directory) => (WRITABLE, Right::Change),
            (Mode::Write, Kind::File) => (WRITABLE, Right::ChangeFile),
        };
        // What is held in place lies in a granted tree already, and Landlock cannot take away what it gave above.
        if granted.presence != Presence::Optional {
            rights.allow(absolute(&granted.path)?, right);
        }
        acts.show(granted.source(), &granted.path, attributes, granted.presence)?;
    }
    for sealed in sealed
        .iter()
        .filter(|sealed| builder.visible.iter().any(|tree| sealed.starts_with(tree)))
    {
        let kind = if sealed.is_dir() { Kind::Directory } else { Kind::File };
        let attributes = READ_ONLY | libc::MOUNT_ATTR_NOEXEC;
        acts.push(
            Step::Empty {
                at: inside(sealed)?,
                kind,
                attributes,
            },
            format!("cover {}", sealed.display()),
        );
    }
    acts.0.extend(caches.acts(private, memory)?);
    if nested == Permission::Allowed {
        acts.push(
            Step::Writable {
                at: inside(Path::new("/proc"))?,
            },
            "let the maps of user namespaces be written",
        );
    }
    acts.push(Step::Pivot, "let the host's root go");

    rights.allow(c"/".to_owned(), Right::List);
    rights.allow(c"/etc".to_owned(), Right::Read);
    let processes = match nested {
        Permission::Refused => Right::Read,
        Permission::Allowed => Right::ReadAndWrite,
    };
    rights.allow(c"/proc".to_owned(), processes);
    rights.allow(c"/run".to_owned(), Right::Read);
    rights.allow(c"/dev".to_owned(), Right::Devices);
    rights.allow(c"/dev/shm".to_owned(), Right::Change);
    Ok(Assembly {
        acts: acts.0,
        visible: builder.visible,
    })
}

#[derive(Default)]
struct Acts(Vec<Act>);

impl Acts {
    fn push(&mut self, step: Step, words: impl Into<String>) {
        self.0.push(Act {
            step,
            words: words.into(),
        });
    }

    /// Makes a root in memory with what is in every one.
    fn memory_root(&mut self, memory: Option<u64>, places: &Places, nested: Permission) -> Result<(), Error> {
        let size = memory.map_or_else(String::new, |bytes| format!(",size={bytes}"));
        let options = absolute(Path::new(&format!("mode=0755{size}")))?;
        self.push(Step::MemoryRoot { options }, "make a root in memory");
        self.entries(fixed_entries(), places)?;
        self.process_files(nested)
    }

    fn process_files(&mut self, nested: Permission) -> Result<(), Error> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let flags = match nested {
            // Read-only as a whole: to root outside, /proc/sys and its like would be writable inside.
            Permission::Refused => flags | libc::MS_RDONLY,
            // To an ordinary user they are not.
            Permission::Allowed => flags,
        };
        // Without the warden, whose command line is the host's: a command may see what it could look into, which is its own
        // processes.
        self.filesystem(c"proc", "/proc", flags, "hidepid=ptraceable".to_owned())
    }

    /// Makes the root's own files. The map's order puts a directory before what lies in it.
    fn entries(&mut self, entries: BTreeMap<PathBuf, Entry>, places: &Places) -> Result<(), Error> {
        for (path, entry) in entries {
            let words = format!("make {}", path.display());
            let at = inside(&path)?;
            let step = match entry {
                Entry::Directory if path == places.temporary => Step::PrivateDirectory { path: at, mode: 0o1777 },
                Entry::Directory if path == places.home => Step::PrivateDirectory { path: at, mode: 0o700 },
                Entry::Directory => Step::Directory { path: at },
                Entry::Link(content) => Step::Link {
                    content: absolute(&content)?,
                    path: at,
                },
                Entry::File(content) => Step::File { path: at, content },
            };
            self.push(step, words);
        }
        Ok(())
    }

    fn filesystem(&mut self, kind: &'static CStr, at: &str, flags: u64, options: String) -> Result<(), Error> {
        let options = absolute(Path::new(&options))?;
        let step = Step::Filesystem {
            kind,
            at: inside(Path::new(at))?,
            flags,
            options,
        };
        self.push(step, format!("mount {at}"));
        Ok(())
    }

    fn attributes(&mut self, at: &str, attributes: u64) -> Result<(), Error> {
        let step = Step::Attributes {
            at: inside(Path::new(at))?,
            recursive: Recursive::Yes,
            attributes,
        };
        self.push(step, "make what is shown read-only");
        Ok(())
    }

    fn show(&mut self, source: &Path, at: &Path, attributes: u64, presence: Presence) -> Result<(), Error> {
        let step = Step::Show {
            source: absolute(source)?,
            at: inside(at)?,
            attributes,
            presence,
        };
        self.push(step, format!("show {}", at.display()));
        Ok(())
    }
}

fn absolute(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Nul { value: path.into() })
}

/// A path of the new root while that is the current directory.
fn inside(path: &Path) -> Result<CString, Error> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    absolute(if relative.as_os_str().is_empty() {
        Path::new(".")
    } else {
        relative
    })
}
