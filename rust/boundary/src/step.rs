//! One act of assembling the root, and how the warden carries it out. Everything a step needs was made ready in the
//! host: here are only system calls. Paths without a leading slash lie in the new root, which is the current directory
//! from [`Step::Root`] on; paths with one lie in the host's root, which is there until [`Step::Pivot`].

use crate::layers::Layer;
use crate::paths::{Kind, Presence};
use crate::system::{self, Called, HERE, Recursive};
use std::ffi::{CStr, CString};

/// One act.
#[derive(Debug)]
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
    /// Mounts something empty: over a sealed path, or where granted paths are to be shown inside the private /tmp.
    Empty {
        at: CString,
        kind: Kind,
        attributes: u64,
    },
    /// Makes the new root the root and lets the host's go.
    Pivot,
    /// Brings the loopback interface up.
    Loopback,
    /// Keeps the memory of the warden, a copy of the host's, from being read through /proc.
    Undumpable,
}

/// The empty file that stands where a sealed file was.
pub(crate) const EMPTY_FILE: &CStr = c"run/sealed";

impl Step {
    /// The layer that is missing when the kernel refuses this act whatever its paths; acts on granted paths have their
    /// own reasons.
    pub(crate) fn layer(&self) -> Option<Layer> {
        match self {
            Self::Map { .. } => Some(Layer::UserNamespace),
            Self::Private | Self::Root { .. } | Self::Filesystem { .. } | Self::Pivot => Some(Layer::AssembledRoot),
            Self::Loopback => Some(Layer::Loopback),
            Self::Directory { .. }
            | Self::EmptyFile { .. }
            | Self::System { .. }
            | Self::Attributes { .. }
            | Self::Show { .. }
            | Self::Empty { .. }
            | Self::Undumpable => None,
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
            Self::Empty { at, kind, attributes } => empty(at, *kind, *attributes),
            Self::Pivot => system::pivot_here(),
            Self::Loopback => system::loopback_up(),
            Self::Undumpable => system::control(libc::PR_SET_DUMPABLE, 0, 0).map(drop),
        }
    }
}

fn show(source: &CStr, at: &CStr, attributes: u64, presence: Presence) -> Called<()> {
    let found = match system::open_reference(HERE, source) {
        Err(libc::ENOENT) if presence == Presence::Optional => return Ok(()),
        found => found?,
    };
    if let Presence::Same(device, inode) = presence
        && system::identity(&found)? != (device, inode)
    {
        return Err(libc::ESTALE);
    }
    let target = system::open_reference(HERE, at)?;
    let tree = system::clone_tree(&found)?;
    system::set_attributes(tree.raw(), c"", Recursive::Yes, attributes)?;
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
