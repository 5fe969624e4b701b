//! The Landlock rules: the same grants as the mounts, held by another part of the kernel.
//! The rules are numbers and paths inside the assembled root, made ready in the host. The ruleset itself is made in the
//! child, because a rule belongs to a file, and the files of a fresh /proc, /dev or shared memory exist only there.

use crate::confinement::Scope;
use crate::filter::{By, Profile};
use crate::system::{self, Called, Descriptor, Handled};
use crate::{Error, Ground, Layer};
use landlock::{ABI, Access, AccessFs, AccessNet, BitFlags};
use std::ffi::{CString, OsStr};
use std::io;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// What a rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// List names, here and beneath.
    List,
    /// Read files and list directories.
    Read,
    /// Also execute.
    Execute,
    /// Read, write and control devices.
    Devices,
    /// Everything.
    Change,
    /// Read and execute one file.
    ExecuteFile,
    /// Everything one file can have done to it.
    ChangeFile,
    /// Read, write and control one device.
    Device,
    /// Also write to files that are there: the maps of a user namespace, in /proc.
    ReadAndWrite,
}

/// One rule, ready for the kernel.
#[derive(Debug)]
pub(crate) struct Rule {
    path: CString,
    access: u64,
    /// The very file that it must be, by device and inode.
    same: Option<(u64, u64)>,
}

/// The rules, and how much of Landlock the kernel has.
#[derive(Debug)]
pub(crate) struct Rights {
    abi: ABI,
    handled: Handled,
    handled_size: usize,
    rules: Vec<Rule>,
}

impl Rights {
    /// Asks the kernel what it has. On ground without Landlock there are rules that hold nothing.
    ///
    /// A Landlock that cannot be had is a refusal, never a weaker boundary (report 3).
    pub(crate) fn new(ground: Ground, profile: Profile) -> Result<Self, Error> {
        let refused = |errno| Error::Layer {
            layer: Layer::Landlock,
            source: io::Error::from_raw_os_error(errno),
        };
        let abi = if ground.gives(Layer::Landlock) {
            ABI::from(system::landlock_abi().map_err(refused)?)
        } else {
            ABI::Unsupported
        };
        if abi == ABI::Unsupported && ground.gives(Layer::Landlock) {
            return Err(refused(libc::ENOSYS));
        }
        let handled = Handled {
            filesystem: AccessFs::from_all(abi).bits(),
            // Where there is a namespace the network is its matter; a second list of ports would only break local servers.
            network: match profile.internet {
                By::Namespace => 0,
                By::Filter => AccessNet::from_all(abi).bits(),
            },
            scoped: if ground.gives(Layer::LandlockScope) {
                landlock::Scope::from_all(abi).bits()
            } else {
                0
            },
        };
        let handled_size = match (handled.network, handled.scoped) {
            (0, 0) => size_of::<u64>(),
            (_, 0) => 2 * size_of::<u64>(),
            (_, _) => size_of::<Handled>(),
        };
        Ok(Self {
            abi,
            handled,
            handled_size,
            rules: Vec::new(),
        })
    }

    /// The number of the ABI in force, as the kernel counts.
    pub(crate) fn abi(&self) -> u32 {
        self.abi as u32
    }

    /// Whether abstract sockets and signals can be held inside.
    pub(crate) fn scope(&self) -> Scope {
        if self.handled.scoped == 0 {
            Scope::Host
        } else {
            Scope::Own
        }
    }

    /// Allows something at and beneath a path of the assembled root.
    pub(crate) fn allow(&mut self, path: CString, right: Right) {
        self.allow_same(path, right, None);
    }

    /// The same for the very file that was looked at, by device and inode.
    pub(crate) fn allow_same(&mut self, path: CString, right: Right, same: Option<(u64, u64)>) {
        let all = AccessFs::from_all(self.abi);
        let read = BitFlags::from(AccessFs::ReadFile) | AccessFs::ReadDir;
        let devices = read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        let access = match right {
            Right::List => AccessFs::ReadDir.into(),
            Right::Read => read,
            Right::Execute => read | AccessFs::Execute,
            Right::Devices => devices,
            Right::Change => all,
            Right::ExecuteFile => AccessFs::ReadFile | AccessFs::Execute,
            Right::ChangeFile => AccessFs::from_file(self.abi),
            Right::Device => devices & AccessFs::from_file(self.abi),
            Right::ReadAndWrite => read | AccessFs::WriteFile | AccessFs::Truncate,
        };
        // A right the kernel does not know yet is not handled, hence not refused either.
        self.rules.push(Rule {
            path,
            access: (access & all).bits(),
            same,
        });
    }

    /// What the rules allow at a path of the assembled root.
    pub(crate) fn at(&self, path: &Path) -> BitFlags<AccessFs> {
        let meant = |rule: &&Rule| path.starts_with(OsStr::from_bytes(rule.path.to_bytes()));
        let bits = self.rules.iter().filter(meant).fold(0, |bits, rule| bits | rule.access);
        BitFlags::from_bits_truncate(bits)
    }

    /// Puts the calling process under the rules. Async-signal-safe.
    pub(crate) fn restrict(&self) -> Called<()> {
        system::landlock_restrict(&self.ruleset()?)
    }

    /// Makes the ruleset of the files that are there now. Async-signal-safe.
    pub(crate) fn ruleset(&self) -> Called<Descriptor> {
        let ruleset = system::landlock_create(&self.handled, self.handled_size)?;
        for rule in &self.rules {
            match system::open_inside(&rule.path) {
                Ok(path) => {
                    if let Some(same) = rule.same
                        && system::identity(&path)? != same
                    {
                        return Err(libc::ESTALE);
                    }
                    system::landlock_allow(&ruleset, &path, rule.access)?;
                }
                // What is not there needs no rule: without one it stays refused.
                Err(libc::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(ruleset)
    }
}
