//! A boundary in the host's own root, for machines without namespaces: the Landlock rules on the host's paths. They are
//! made once in the host, of the very files that were checked; the private places are directories of the host.
//! What only a mount can do (hold a name in place, cover a path) is refused here, or told to whoever looks afterwards.

use crate::machine::{self, Appearance, Liveness};
use crate::paths::{Granted, Kind, Presence};
use crate::points::Places;
use crate::policy::{Mode, Network};
use crate::rights::{Right, Rights};
use crate::system::Descriptor;
use crate::{Error, Layer, Level, Scratch};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Devices that harm nobody. No terminal: those of the host are there, and other people's among them.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The private places as the host has them.
pub(crate) fn places(scratch: &Scratch) -> Places {
    Places {
        home: scratch.home(),
        temporary: scratch.temporary(),
    }
}

/// What a boundary in the host's root is made of. The grants are ordered and in no conflict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain<'a> {
    pub(crate) grants: &'a [Granted],
    pub(crate) sealed: &'a [PathBuf],
    pub(crate) places: &'a Places,
    pub(crate) network: &'a Network,
}

/// The trees that can be read, and those names that Git obeys and that no rule can hold.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) visible: Vec<PathBuf>,
    pub(crate) unheld: Vec<PathBuf>,
}

impl Plain<'_> {
    /// Adds the rules to `rights`, and makes the ruleset of them.
    pub(crate) fn ruleset(self, rights: &mut Rights) -> Result<(Descriptor, Open), Error> {
        let mut visible = Vec::new();
        for part in machine::parts(self.network, Liveness::Prepared)? {
            let right = match part.appearance {
                // It leads to what is allowed by itself.
                Appearance::Link(_) => continue,
                Appearance::Mounted { directory: true, .. } => {
                    visible.push(part.path.clone());
                    Right::Execute
                }
                Appearance::Mounted { directory: false, .. } | Appearance::Copied(_) => Right::ExecuteFile,
                // Its entries are allowed by themselves.
                Appearance::Directory => Right::List,
            };
            rights.allow(terminated(&part.path)?, right);
        }
        for device in DEVICES {
            rights.allow(terminated(&Path::new("/dev").join(device))?, Right::Device);
        }
        // Of others it shows what everybody may read; Landlock keeps a command from the rest.
        rights.allow(c"/proc".to_owned(), Right::Read);
        for place in [&self.places.home, &self.places.temporary] {
            rights.allow(terminated(place)?, Right::Change);
        }
        let mut unheld = Vec::new();
        for granted in self.grants {
            match granted.presence {
                Presence::Optional => unheld.push(granted.path.clone()),
                Presence::Same(device, inode) => self.allow(granted, Some((device, inode)), rights)?,
                Presence::Required => self.allow(granted, None, rights)?,
            }
            if granted.kind == Kind::Directory {
                visible.push(granted.path.clone());
            }
        }
        if let Some(sealed) = self
            .sealed
            .iter()
            .find(|sealed| visible.iter().any(|tree| sealed.starts_with(tree)))
        {
            return Err(needs_root("sealed path", sealed));
        }
        let ruleset = rights.ruleset().map_err(|errno| Error::Layer {
            layer: Layer::Landlock,
            source: io::Error::from_raw_os_error(errno),
        })?;
        Ok((ruleset, Open { visible, unheld }))
    }

    fn allow(self, granted: &Granted, same: Option<(u64, u64)>, rights: &mut Rights) -> Result<(), Error> {
        if granted.source.is_some() {
            return Err(needs_root(granted.role, &granted.path));
        }
        // Rules only add up: what is written around it would be written in it.
        let around = |other: &Granted| other.mode == Mode::Write && granted.path.starts_with(&other.path);
        if granted.mode == Mode::Read && self.grants.iter().any(around) {
            return Err(needs_root(granted.role, &granted.path));
        }
        let right = match (granted.mode, granted.kind) {
            (Mode::Read, Kind::Directory) => Right::Execute,
            (Mode::Read, Kind::File) => Right::ExecuteFile,
            (Mode::Write, Kind::Directory) => Right::Change,
            (Mode::Write, Kind::File) => Right::ChangeFile,
        };
        rights.allow_same(terminated(&granted.path)?, right, same);
        Ok(())
    }
}

/// Without Landlock nothing holds a file: the names that Git obeys are all that is left to look at afterwards.
pub(crate) fn unheld(grants: &[Granted]) -> Vec<PathBuf> {
    let optional = grants.iter().filter(|granted| granted.presence == Presence::Optional);
    optional.map(|granted| granted.path.clone()).collect()
}

fn needs_root(role: &'static str, path: &Path) -> Error {
    Error::NeedsRoot {
        role,
        path: path.to_path_buf(),
        level: Level::Landlock,
    }
}

fn terminated(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Nul { value: path.into() })
}
