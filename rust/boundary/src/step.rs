//! One act of assembling the root, and how the warden carries it out. Everything a step needs was made ready in the
//! host: here are only system calls. Paths without a leading slash lie in the new root, which is the current directory
//! from [`Step::Root`] on; paths with one lie in the host's root, which is there until [`Step::Pivot`].

use crate::layers::Layer;
use crate::paths::{Kind, Presence};
use crate::policy::Mode;
use crate::system::{self, Called, Descriptor, HERE, Overlay, Recursive};
use std::ffi::{CStr, CString};

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Writes one line to a file of this process in /proc.
    Map {
        file: &'static CStr,
        line: Vec<u8>,
    },
    /// Keeps mounts from travelling between this namespace and the host's.
    Private,
    /// Makes the prepared directory a mount and enters it.
    Root {
        at: CString,
    },
    Directory {
        path: CString,
    },
    EmptyFile {
        path: CString,
    },
    /// Makes an empty filesystem in memory to be the new root and enters it.
    MemoryRoot {
        options: CString,
    },
    /// Makes a private directory in the root's own filesystem.
    PrivateDirectory {
        path: CString,
        mode: libc::mode_t,
    },
    Link {
        content: CString,
        path: CString,
    },
    /// Makes a file that everybody can read.
    File {
        path: CString,
        content: Vec<u8>,
    },
    /// Makes a directory of the root's own filesystem writable where it stands, the root itself being read-only.
    Writable {
        at: CString,
    },
    /// Mounts a new filesystem.
    Filesystem {
        kind: &'static CStr,
        at: CString,
        flags: libc::c_ulong,
        options: CString,
    },
    /// Shows a path of the system or of the scratch, which no command can have changed.
    System {
        source: CString,
        at: CString,
    },
    /// Adds mount attributes.
    Attributes {
        at: CString,
        recursive: Recursive,
        attributes: u64,
    },
    /// Shows a granted path. Commands may have changed what lies there: links are refused, and so is another directory
    /// than the one that was granted.
    Show {
        source: CString,
        at: CString,
        attributes: u64,
        presence: Presence,
    },
    /// In the host's own root: a path as itself or in place of what is there, read-only with all beneath it or writable
    /// again. As for [`Step::Show`], links are refused.
    Hold {
        source: CString,
        at: CString,
        mode: Mode,
        presence: Presence,
    },
    /// Shows a layer over a directory in its place, where a plain directory is left for it: the place is the commands' own.
    Overlay {
        layers: Overlay,
        at: CString,
    },
    /// Takes a mount of our own away.
    Detach {
        at: CString,
    },
    /// Mounts something empty: over a sealed path, or where granted paths are to be shown inside the private /tmp.
    Empty {
        at: CString,
        kind: Kind,
        attributes: u64,
    },
    /// Makes the new root the root and lets the host's go.
    Pivot,
}

/// Where the host's root is covered while a new root in memory is filled. Nothing beneath it can be granted, nothing is
/// shown from it, and the id maps are written by then; a fresh /proc is mounted in the new root.
const COVERED: &CStr = c"/proc";

/// The empty file that stands where a sealed file was.
pub(crate) const EMPTY_FILE: &CStr = c"run/sealed";

impl Step {
    /// The layer that is missing when the kernel refuses this act whatever its paths; acts on granted paths have their
    /// own reasons.
    pub(crate) fn layer(&self) -> Option<Layer> {
        match self {
            Self::Map { .. } => Some(Layer::UserNamespace),
            Self::Private | Self::Root { .. } | Self::MemoryRoot { .. } | Self::Filesystem { .. } | Self::Pivot => {
                Some(Layer::AssembledRoot)
            }
            Self::Directory { .. }
            | Self::EmptyFile { .. }
            | Self::PrivateDirectory { .. }
            | Self::Link { .. }
            | Self::File { .. }
            | Self::Writable { .. }
            | Self::System { .. }
            | Self::Attributes { .. }
            | Self::Show { .. }
            | Self::Hold { .. }
            | Self::Overlay { .. }
            | Self::Detach { .. }
            | Self::Empty { .. } => None,
        }
    }

    /// Carries the act out. Async-signal-safe.
    pub(crate) fn perform(&self) -> Called<()> {
        match self {
            Self::Map { file, line } => system::write_file(file, line),
            Self::Private => system::mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE, None),
            Self::Root { at } => {
                system::mount(Some(at), at, None, libc::MS_BIND, None)?;
                system::change_directory(at)
            }
            Self::Directory { path } => system::make_directory(path, 0o755),
            Self::EmptyFile { path } => system::make_file(path, 0o444),
            Self::MemoryRoot { options } => {
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                system::mount(Some(c"root"), COVERED, Some(c"tmpfs"), flags, Some(options))?;
                system::change_directory(COVERED)
            }
            Self::PrivateDirectory { path, mode } => {
                system::make_directory(path, *mode)?;
                // The host's file creation mask held back some of it.
                system::change_mode(path, *mode)
            }
            Self::Link { content, path } => system::make_link(content, path),
            Self::File { path, content } => system::create_file(path, content, 0o444),
            Self::Writable { at } => writable(at),
            Self::Filesystem {
                kind,
                at,
                flags,
                options,
            } => system::mount(Some(kind), at, Some(kind), *flags, Some(options)),
            Self::System { source, at } => system::mount(Some(source), at, None, libc::MS_BIND | libc::MS_REC, None),
            Self::Attributes {
                at,
                recursive,
                attributes,
            } => system::set_attributes(HERE, at, *recursive, *attributes),
            Self::Show {
                source,
                at,
                attributes,
                presence,
            } => show(source, at, *attributes, *presence),
            Self::Hold {
                source,
                at,
                mode,
                presence,
            } => hold(source, at, *mode, *presence),
            Self::Overlay { layers, at } => overlay(layers, at),
            Self::Detach { at } => system::detach(at),
            Self::Empty { at, kind, attributes } => empty(at, *kind, *attributes),
            Self::Pivot => system::pivot_here(),
        }
    }
}

fn show(source: &CStr, at: &CStr, attributes: u64, presence: Presence) -> Called<()> {
    let Some(found) = present(source, presence)? else {
        return Ok(());
    };
    let target = system::open_reference(HERE, at)?;
    let tree = system::clone_tree(&found)?;
    system::set_attributes(tree.raw(), c"", Recursive::Yes, attributes)?;
    system::attach(&tree, &target)
}

fn present(source: &CStr, presence: Presence) -> Called<Option<Descriptor>> {
    let found = match system::open_reference(HERE, source) {
        Err(libc::ENOENT) if presence == Presence::Optional => return Ok(None),
        found => found?,
    };
    if let Presence::Same(device, inode) = presence
        && system::identity(&found)? != (device, inode)
    {
        return Err(libc::ESTALE);
    }
    Ok(Some(found))
}

fn hold(source: &CStr, at: &CStr, mode: Mode, presence: Presence) -> Called<()> {
    let Some(found) = present(source, presence)? else {
        return Ok(());
    };
    let target = match system::open_reference(HERE, at) {
        Err(libc::ENOENT) if presence == Presence::Optional => return Ok(()),
        target => target?,
    };
    let tree = system::clone_tree(&found)?;
    match mode {
        Mode::Read => system::set_attributes(tree.raw(), c"", Recursive::Yes, libc::MOUNT_ATTR_RDONLY)?,
        Mode::Write => system::set_writable(&tree)?,
    }
    system::attach(&tree, &target)
}

fn overlay(layers: &Overlay, at: &CStr) -> Called<()> {
    let target = match system::open_directory(at) {
        // A command removed or replaced it: it does without.
        Err(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => return Ok(()),
        target => target?,
    };
    system::attach(&system::new_overlay(layers)?, &target)
}

/// A second mount of the directory, over itself. The first keeps its attributes, and with it every name outside: a
/// command reaches this mount's own names only, exactly as if another filesystem stood here.
fn writable(at: &CStr) -> Called<()> {
    let target = system::open_reference(HERE, at)?;
    let tree = system::clone_tree(&target)?;
    system::set_writable(&tree)?;
    system::attach(&tree, &target)
}

fn empty(at: &CStr, kind: Kind, attributes: u64) -> Called<()> {
    let target = system::open_reference(HERE, at)?;
    let empty = match kind {
        Kind::Directory => system::new_tmpfs(attributes)?,
        Kind::File => {
            let tree = system::clone_tree(&system::open_reference(HERE, EMPTY_FILE)?)?;
            system::set_attributes(tree.raw(), c"", Recursive::No, attributes)?;
            tree
        }
    };
    system::attach(&empty, &target)
}
