//! With which rights of its own a guarded command goes on. An ordinary user has none and needs a user namespace to mount
//! in. Root can mount without one, and keeps what its work on files needs; what could undo a mount goes.

use crate::Error;
use crate::layers::{Layer, LayerSet};
use std::fs;

/// The capabilities that root keeps, by number: to own and change any file, to become another user, to signal, to bind
/// low ports, to change the root directory. Not among them are administration and mounting, opening files by handle
/// (`CAP_DAC_READ_SEARCH`), tracing, making devices and raw access to them, each of which leads around a mount.
const FILES_AND_USERS: [u32; 13] = [
    0,  // CAP_CHOWN
    1,  // CAP_DAC_OVERRIDE
    3,  // CAP_FOWNER
    4,  // CAP_FSETID
    5,  // CAP_KILL
    6,  // CAP_SETGID
    7,  // CAP_SETUID
    8,  // CAP_SETPCAP
    10, // CAP_NET_BIND_SERVICE
    13, // CAP_NET_RAW
    18, // CAP_SYS_CHROOT
    29, // CAP_AUDIT_WRITE
    31, // CAP_SETFCAP
];
/// What making the guard without a user namespace needs: `CAP_SYS_ADMIN` to mount, `CAP_SETPCAP` to give it up for good.
const NEEDED: u64 = 1 << 21 | 1 << 8;
/// Through these root would have the kernel run programs outside.
const KERNEL_SETTINGS: [&str; 2] = ["/proc/sys", "/sys"];

/// The rights of a guarded command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Powers {
    /// None: this user's own, in a user namespace.
    None,
    /// Root's, without a user namespace: these capabilities.
    Kept(u64),
}

impl Powers {
    /// What this process can leave to its commands.
    pub(super) fn of_this_process() -> Result<Self, Error> {
        let path = "/proc/self/status";
        let status = fs::read_to_string(path).map_err(Error::file("read", path))?;
        Ok(Self::of(rustix::process::geteuid().is_root(), effective(&status)))
    }

    fn of(root: bool, effective: u64) -> Self {
        if root && effective & NEEDED == NEEDED {
            let kept = FILES_AND_USERS.iter().fold(0, |kept, number| kept | 1 << number);
            Self::Kept(kept & effective)
        } else {
            Self::None
        }
    }

    pub(super) fn kept(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Kept(kept) => kept,
        }
    }

    pub(super) fn are_none(self) -> bool {
        self.kept() == 0
    }

    /// A process namespace in any case: through a process outside its own mounts could be reached.
    pub(super) fn namespaces(self) -> LayerSet {
        let namespaces = LayerSet::EMPTY
            .with(Layer::MountNamespace)
            .with(Layer::ProcessNamespace);
        match self {
            Self::None => namespaces.with(Layer::UserNamespace),
            Self::Kept(_) => namespaces,
        }
    }

    /// Directories of the kernel that only root could write to.
    pub(super) fn kernel_settings(self) -> impl Iterator<Item = &'static str> {
        let root = rustix::process::geteuid().is_root();
        KERNEL_SETTINGS.into_iter().filter(move |_| root)
    }
}

fn effective(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "powers_tests.rs"]
mod tests;
