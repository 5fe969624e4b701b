//! What this kernel offers, layer by layer, found by trying each in a process of its own. Reads no version number and
//! no setting, since those tell what should work. Nothing of a trial outlives it.

use crate::confinement::NAMESPACES;
use crate::filter::Profile;
use crate::fork::{self, Forked};
use crate::layers::Layer;
use crate::system::{self, Called, Descriptor, Handled};
use crate::{Error, filter};
use landlock::{ABI, Access, AccessFs, Scope};
use seccompiler::BpfProgram;
use serde::Serialize;
use std::fmt;
use std::io;

/// One layer that cannot be had, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Which.
    pub layer: Layer,
    /// The kernel's reason.
    pub reason: String,
    /// What to do, in one line.
    pub fix: &'static str,
}

impl Gap {
    fn new(layer: Layer, error: &io::Error) -> Self {
        Self {
            layer,
            reason: error.to_string(),
            fix: layer.fix(),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no {}: {}: {}", self.layer, self.reason, self.fix)
    }
}

/// What became of one layer's trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The kernel gave it.
    Available(Layer),
    /// It did not.
    Missing(Gap),
}

/// What this kernel offers to this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Every layer, in the order they are applied.
    pub findings: Vec<Finding>,
    /// The newest Landlock ABI; absent when there is none.
    pub landlock_abi: Option<u32>,
}

impl Capabilities {
    /// The first layer that is missing, in the order in which they are applied.
    #[must_use]
    pub fn first_gap(&self) -> Option<&Gap> {
        self.findings.iter().find_map(|finding| match finding {
            Finding::Missing(gap) => Some(gap),
            Finding::Available(_) => None,
        })
    }

    /// The gaps that keep commands from running in a boundary. A missing loopback interface does not, nor a missing
    /// scope while commands have a network of their own.
    pub fn obstacles(&self) -> impl Iterator<Item = &Gap> {
        self.findings.iter().filter_map(|finding| match finding {
            Finding::Missing(gap)
                if !matches!(gap.layer, Layer::Loopback | Layer::LandlockScope | Layer::SourceGuard) =>
            {
                Some(gap)
            }
            Finding::Missing(_) | Finding::Available(_) => None,
        })
    }
}

/// Puts words to a refusal of the kernel that came only when a command was started: which layer, and what to do.
/// `None` when the error has nothing to do with a layer, or names it already.
#[must_use]
pub fn explain(error: &coder_process::Error) -> Option<Gap> {
    match error {
        coder_process::Error::Namespaces { flags, source } => {
            // The first of those asked for together: the kernel does not say which it refused.
            let made = |(_, flag): &&(Layer, i32)| flags & u64::from(flag.unsigned_abs()) != 0;
            let (layer, _) = NAMESPACES.iter().find(made)?;
            Some(Gap::new(*layer, source))
        }
        _ => None,
    }
}

/// Tries every layer.
///
/// # Errors
/// [`Error::File`] when no process can be made to try in, [`Error::Filter`] when this architecture has no filter.
pub fn probe() -> Result<Capabilities, Error> {
    let trial = Trial::prepare()?;
    let mut records = trial.records(Users::Own)?;
    let is_user = |(index, _): &(u8, u8)| usize::from(*index) == Layer::UserNamespace as usize;
    if let Some(refused) = records.iter().copied().find(is_user).filter(|(_, errno)| *errno != 0) {
        // Half a user namespace would spoil the other trials, which root may pass without one.
        records = trial.records(Users::Host)?;
        records.insert(0, refused);
    }

    let findings = Layer::ALL.into_iter().map(|layer| {
        match records.iter().find(|(index, _)| usize::from(*index) == layer as usize) {
            Some((_, 0)) => Finding::Available(layer),
            Some((_, errno)) => Finding::Missing(Gap::new(layer, &io::Error::from_raw_os_error((*errno).into()))),
            None => Finding::Missing(Gap::new(
                layer,
                &io::Error::other("not tried, because an earlier layer failed"),
            )),
        }
    });
    Ok(Capabilities {
        findings: findings.collect(),
        landlock_abi: trial.abi.ok().map(i32::unsigned_abs),
    })
}

/// Whose users a trial has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Users {
    Own,
    Host,
}

/// What the trial needs, made ready before it.
struct Trial {
    maps: [(&'static std::ffi::CStr, Vec<u8>); 3],
    filter: BpfProgram,
    abi: Called<i32>,
    handled: Handled,
}

impl Trial {
    fn prepare() -> Result<Self, Error> {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let abi = system::landlock_abi();
        let known = ABI::from(abi.unwrap_or(0));
        Ok(Self {
            maps: [
                (c"/proc/self/setgroups", b"deny".to_vec()),
                (c"/proc/self/gid_map", format!("{group} {group} 1\n").into_bytes()),
                (c"/proc/self/uid_map", format!("{user} {user} 1\n").into_bytes()),
            ],
            filter: filter::program(Profile::default())?,
            abi,
            handled: Handled {
                filesystem: AccessFs::from_all(known).bits(),
                network: 0,
                scoped: Scope::from_all(known).bits(),
            },
        })
    }

    /// Tries everything in a process of its own, and what each trial came to.
    fn records(&self, users: Users) -> Result<Vec<(u8, u8)>, Error> {
        let failed = |act| {
            move |errno| Error::File {
                act,
                path: "probe".into(),
                source: io::Error::from_raw_os_error(errno),
            }
        };
        let (reading, writing) = fork::pipe().map_err(failed("make a pipe for the"))?;
        let child = match fork::fork().map_err(failed("make a process for the"))? {
            Forked::Child => {
                self.run(users, &writing);
                fork::exit_now()
            }
            Forked::Parent(child) => child,
        };
        drop(writing);
        let mut records = Vec::new();
        while let Ok(Some(record)) = fork::read_record(&reading) {
            records.push(record);
        }
        fork::wait_for(child);
        Ok(records)
    }

    /// Runs in the child: system calls only.
    fn run(&self, users: Users, report: &Descriptor) {
        let tell = |layer: Layer, tried: Called<()>| {
            let errno = tried.err().map_or(0, |errno| u8::try_from(errno).unwrap_or(u8::MAX));
            fork::write_record(report, (layer as u8, errno));
        };
        if users == Users::Own {
            let made = self.user_namespace();
            tell(Layer::UserNamespace, made);
            if made.is_err() {
                return;
            }
        }
        tell(
            Layer::MountNamespace,
            fork::unshare(libc::CLONE_NEWNS)
                .and_then(|()| system::mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)),
        );
        tell(Layer::IpcNamespace, fork::unshare(libc::CLONE_NEWIPC));
        tell(Layer::HostNameNamespace, fork::unshare(libc::CLONE_NEWUTS));
        tell(Layer::NetworkNamespace, fork::unshare(libc::CLONE_NEWNET));
        tell(Layer::Loopback, system::loopback_up());
        // The next child is the first process of the new namespace.
        match fork::unshare(libc::CLONE_NEWPID).and_then(|()| fork::fork()) {
            Err(errno) => {
                tell(Layer::ProcessNamespace, Err(errno));
                tell(Layer::AssembledRoot, Err(errno));
                tell(Layer::SourceGuard, Err(errno));
                self.restrictions(&tell);
            }
            Ok(Forked::Parent(child)) => fork::wait_for(child),
            Ok(Forked::Child) => {
                tell(Layer::ProcessNamespace, Ok(()));
                let root = assembled_root();
                tell(Layer::AssembledRoot, root);
                // It is made of the same acts.
                tell(Layer::SourceGuard, root);
                self.restrictions(&tell);
            }
        }
    }

    fn restrictions(&self, tell: &impl Fn(Layer, Called<()>)) {
        tell(Layer::NoNewPrivileges, system::control(libc::PR_SET_NO_NEW_PRIVS, 1, 0));
        tell(
            Layer::Capabilities,
            system::control(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)
                .and_then(|()| system::keep_capabilities(0)),
        );
        tell(Layer::Landlock, self.landlock());
        let scope = if self.handled.scoped == 0 {
            Err(libc::EOPNOTSUPP)
        } else {
            self.abi.map(drop)
        };
        tell(Layer::LandlockScope, scope);
        tell(Layer::SystemCalls, system::install_filter(&self.filter));
    }

    fn user_namespace(&self) -> Called<()> {
        fork::unshare(libc::CLONE_NEWUSER)?;
        self.maps
            .iter()
            .try_for_each(|(file, line)| system::write_file(file, line))
    }

    fn landlock(&self) -> Called<()> {
        self.abi?;
        let size = if self.handled.scoped == 0 {
            size_of::<u64>()
        } else {
            size_of::<Handled>()
        };
        system::landlock_restrict(&system::landlock_create(&self.handled, size)?)
    }
}

/// The mounts that machines forbid: a filesystem in memory, a fresh /proc, and attributes set on a tree.
fn assembled_root() -> Called<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let read_only = flags | libc::MS_RDONLY;
    system::mount(Some(c"proc"), c"/proc", Some(c"proc"), read_only, None)?;
    let tree = system::clone_tree(&system::open_reference(system::HERE, c"/")?)?;
    system::set_attributes(tree.raw(), c"", system::Recursive::Yes, libc::MOUNT_ATTR_RDONLY)?;
    system::mount(Some(c"tmpfs"), c"/", Some(c"tmpfs"), flags, None)
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
