//! The prepared boundary as `coder_process` carries it out: what the warden is cloned with, what it does before the
//! command exists, and what the command's process does last. System calls only from [`enter`](Confinement::enter) on.

use crate::Private;
use crate::assembly::Act;
use crate::exhausted::Exhausted;
use crate::filter::Profile;
use crate::ground::Ground;
use crate::group::{Leaf, Spent};
use crate::layers::{Layer, LayerSet};
use crate::network;
use crate::quota::Meter;
use crate::rights::Rights;
use crate::step::Step;
use crate::system::{self, Called, Descriptor};
use coder_process::{Confinement, Failure};
use seccompiler::BpfProgram;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Everything the children need, and the private places, which must outlive them.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) seclusion: Seclusion,
    pub(crate) acts: Vec<Act>,
    pub(crate) files: Files,
    pub(crate) private: Private,
    /// What stays open in the children for the restrictions: the ruleset.
    pub(crate) kept: Vec<RawFd>,
}

/// How Landlock comes to hold the files.
#[derive(Debug)]
pub(crate) enum Files {
    /// By rules on the files of the assembled root, which exist only in the child.
    Assembled(Rights),
    /// By a ruleset on the host's own files.
    Host { ruleset: Descriptor, rights: Rights },
    /// Not at all.
    Unheld,
}

impl Files {
    pub(crate) fn scope(&self) -> Scope {
        match self {
            Self::Assembled(rights) | Self::Host { rights, .. } => rights.scope(),
            Self::Unheld => Scope::Host,
        }
    }

    /// The rules, where there are any.
    pub(crate) fn rights(&self) -> Option<&Rights> {
        match self {
            Self::Assembled(rights) | Self::Host { rights, .. } => Some(rights),
            Self::Unheld => None,
        }
    }

    /// What the child needs open.
    pub(crate) fn kept(&self) -> Vec<RawFd> {
        match self {
            Self::Host { ruleset, .. } => vec![ruleset.raw()],
            Self::Assembled(_) | Self::Unheld => Vec::new(),
        }
    }
}

/// Whether Landlock also holds signals and abstract sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Own,
    Host,
}

/// What holds a command whatever it is granted, so that it can be begun before that is known.
#[derive(Debug)]
pub(crate) struct Seclusion {
    pub(crate) namespaces: LayerSet,
    /// The first acts, where they are the same whatever is granted.
    pub(crate) beginning: Vec<Act>,
    pub(crate) filter: BpfProgram,
    /// What is to be had here; the rest is left out.
    pub(crate) ground: Ground,
    /// What the filter was built for.
    pub(crate) profile: Profile,
}

/// The acts of the command's own process, after those of the list. All but the last need no root, and are done while it
/// is assembled; none of them refuses what comes after it.
const RESTRICTIONS: [(Layer, &str); 5] = [
    (Layer::Loopback, "bring the loopback interface up"),
    (Layer::NoNewPrivileges, "give up new privileges"),
    (Layer::Capabilities, "drop every capability"),
    (Layer::SystemCalls, "filter system calls"),
    (Layer::Landlock, "restrict files with Landlock"),
];

const FIRST_RESTRICTION: u32 = 1 << 16;

/// The act of a command that has a gateway.
const GATEWAY: u32 = FIRST_RESTRICTION - 1;

/// The act of a command that has a control group.
const GROUP: u32 = FIRST_RESTRICTION - 2;

/// Each namespace and its flag; of several that are refused together, the first is the one a person looks for.
pub(crate) const NAMESPACES: [(Layer, i32); 6] = [
    (Layer::UserNamespace, libc::CLONE_NEWUSER),
    (Layer::MountNamespace, libc::CLONE_NEWNS),
    (Layer::ProcessNamespace, libc::CLONE_NEWPID),
    (Layer::NetworkNamespace, libc::CLONE_NEWNET),
    (Layer::IpcNamespace, libc::CLONE_NEWIPC),
    (Layer::HostNameNamespace, libc::CLONE_NEWUTS),
];

/// The newest capability the kernel can name is below this; dropping one it does not know ends the loop earlier.
const CAPABILITIES: libc::c_ulong = 64;

/// User id 0 gets nothing at exec, changing user ids restores nothing, nothing is kept or raised; and all of it for
/// good.
const SECURE_BITS: libc::c_int = libc::SECBIT_NOROOT
    | libc::SECBIT_NOROOT_LOCKED
    | libc::SECBIT_NO_SETUID_FIXUP
    | libc::SECBIT_NO_SETUID_FIXUP_LOCKED
    | libc::SECBIT_KEEP_CAPS_LOCKED
    | libc::SECBIT_NO_CAP_AMBIENT_RAISE
    | libc::SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

impl Seclusion {
    /// Does one of [`RESTRICTIONS`] by `act` where it is to be had, and says which layers hold.
    fn apply(&self, layer: Layer, act: impl FnOnce() -> Called<LayerSet>) -> Result<LayerSet, Failure> {
        if !self.ground.gives(layer) {
            return Ok(LayerSet::EMPTY);
        }
        act().map_err(|errno| Failure {
            act: restriction_number(layer),
            errno,
        })
    }

    fn clone_flags(&self) -> u64 {
        let wanted = NAMESPACES.iter().filter(|(layer, _)| self.namespaces.contains(*layer));
        wanted.fold(0, |flags, (_, flag)| flags | u64::from(flag.unsigned_abs()))
    }

    /// All that needs no root. `connect` comes after the loopback interface and before the powers go.
    fn seclude(&self, connect: impl FnOnce() -> Result<LayerSet, Failure>) -> Result<u64, Failure> {
        let done = |layer: Layer, called: Called<()>| called.map(|()| LayerSet::EMPTY.with(layer));
        let loopback = self.apply(Layer::Loopback, || {
            if !self.namespaces.contains(Layer::NetworkNamespace) {
                return Ok(LayerSet::EMPTY);
            }
            // Some machines give a network namespace but no right to configure it (report 1).
            Ok(done(Layer::Loopback, system::loopback_up()).unwrap_or(LayerSet::EMPTY))
        })?;
        let gateway = connect()?;
        let privileges = self.apply(Layer::NoNewPrivileges, || {
            done(Layer::NoNewPrivileges, system::control(libc::PR_SET_NO_NEW_PRIVS, 1, 0))
        })?;
        let capabilities = self.apply(Layer::Capabilities, || {
            done(Layer::Capabilities, drop_capabilities_but(0))
        })?;
        let calls = self.apply(Layer::SystemCalls, || {
            done(Layer::SystemCalls, system::install_filter(&self.filter))
        })?;
        let all = [loopback, gateway, privileges, capabilities, calls];
        Ok(all.iter().fold(0, |bits, layers| bits | layers.bits()))
    }
}

impl Prepared {
    /// Whether an early warden, which has the usual filter on all of the ground, has begun as this would.
    pub(crate) fn begins_with(&self, beginning: &[Act]) -> bool {
        (self.seclusion.ground, self.seclusion.profile) == (Ground::default(), Profile::default())
            && self.seclusion.beginning == beginning
            && self.acts.starts_with(beginning)
    }

    fn enter_from(&self, first: usize) -> Result<u64, Failure> {
        let mut applied = self.seclusion.namespaces;
        for (act, number) in self.acts.iter().zip(0..).skip(first) {
            match act.step.perform() {
                Ok(()) if matches!(act.step, Step::Pivot) => applied = applied.with(Layer::AssembledRoot),
                Ok(()) => {}
                Err(errno) => return Err(Failure { act: number, errno }),
            }
        }
        Ok(applied.bits())
    }
}

fn restriction_number(layer: Layer) -> u32 {
    let place = RESTRICTIONS
        .iter()
        .zip(FIRST_RESTRICTION..)
        .find(|((one, _), _)| *one == layer);
    place.map_or(FIRST_RESTRICTION, |(_, number)| number)
}

/// The words of an act of the command's own process, with what to do where the kernel refuses it.
fn restriction_words(act: u32) -> Option<String> {
    let (layer, words) = RESTRICTIONS.get(act.checked_sub(FIRST_RESTRICTION)? as usize)?;
    Some(format!("{words} ({layer}: {})", layer.fix()))
}

/// Gives up every capability but these, by their bits, and with none kept what user id 0 would get at exec.
pub(crate) fn drop_capabilities_but(kept: u64) -> Called<()> {
    match drop_bounding_set_but(kept) {
        Ok(()) if kept == 0 => {
            system::control(libc::PR_SET_SECUREBITS, SECURE_BITS as libc::c_ulong, 0)?;
        }
        Ok(()) => {}
        // Outside a user namespace of its own an ordinary user has no right to bind itself so. It has no capability
        // either, and without new privileges no program and no user id brings one.
        Err(libc::EPERM) if kept == 0 => {}
        Err(errno) => return Err(errno),
    }
    system::control(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)?;
    system::keep_capabilities(kept)
}

fn drop_bounding_set_but(kept: u64) -> Called<()> {
    for capability in (0..CAPABILITIES).filter(|capability| kept & (1 << capability) == 0) {
        match system::control(libc::PR_CAPBSET_DROP, capability, 0) {
            Ok(_) => {}
            // The first number the kernel has no capability for.
            Err(libc::EINVAL) if capability > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

// SAFETY: all three make system calls through `coder_process` on memory prepared in the host. They neither allocate nor
// free, take no lock, cannot panic, and write to no memory but their own stack.
unsafe impl Confinement for Prepared {
    fn namespaces(&self) -> u64 {
        self.seclusion.clone_flags()
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &self.kept
    }

    fn enter(&self) -> Result<u64, Failure> {
        self.enter_from(0)
    }

    fn resume(&self) -> Result<u64, Failure> {
        self.enter_from(self.seclusion.beginning.len())
    }

    fn seclude(&self) -> Result<u64, Failure> {
        self.seclusion.seclude(unconnected)
    }

    fn restrict(&self) -> Result<u64, Failure> {
        // Its rules name files of the root.
        let applied = self.seclusion.apply(Layer::Landlock, || {
            match &self.files {
                Files::Assembled(rights) => rights.restrict()?,
                Files::Host { ruleset, .. } => system::landlock_restrict(ruleset)?,
                Files::Unheld => return Ok(LayerSet::EMPTY),
            }
            let applied = LayerSet::EMPTY.with(Layer::Landlock);
            Ok(match self.files.scope() {
                Scope::Own => applied.with(Layer::LandlockScope),
                Scope::Host => applied,
            })
        })?;
        Ok(applied.bits())
    }

    fn act_name(&self, act: u32) -> String {
        let of_the_list = self.acts.get(act as usize).map(|act| match act.step.layer() {
            Some(layer) => format!("{} ({layer}: {})", act.words, layer.fix()),
            None => act.words.clone(),
        });
        of_the_list
            .or_else(|| restriction_words(act))
            .unwrap_or_else(|| format!("act {act} of the boundary"))
    }
}

/// No gateway.
fn unconnected() -> Result<LayerSet, Failure> {
    Ok(LayerSet::EMPTY)
}

/// A prepared confinement with what only one command has: a gateway, a control group.
pub(crate) struct Single {
    prepared: Arc<Prepared>,
    /// Kept open in the host until the command has started.
    gateway: Option<Arc<OwnedFd>>,
    group: Option<Joined>,
    quota: Option<Arc<Meter>>,
    kept: Vec<RawFd>,
}

/// A command's control group, or why there is none. It was planned, so that without it the command does not start.
pub(crate) enum Joined {
    Leaf { leaf: Leaf, processes: Vec<RawFd> },
    Failed(i32),
}

impl Single {
    pub(crate) fn new(
        prepared: Arc<Prepared>,
        gateway: Option<Arc<OwnedFd>>,
        group: Option<io::Result<Leaf>>,
        quota: Option<Arc<Meter>>,
    ) -> Self {
        let group = group.map(|leaf| match leaf {
            Ok(leaf) => Joined::Leaf {
                processes: leaf.descriptors(),
                leaf,
            },
            Err(error) => Joined::Failed(error.raw_os_error().unwrap_or(libc::EIO)),
        });
        let mut kept = prepared.kept.clone();
        kept.extend(gateway.iter().map(AsRawFd::as_raw_fd));
        if let Some(Joined::Leaf { processes, .. }) = &group {
            kept.extend(processes);
        }
        Self {
            prepared,
            gateway,
            group,
            quota,
            kept,
        }
    }
}

// SAFETY: as above; making and handing over the listener, and joining a group, are system calls on the stack, too.
unsafe impl Confinement for Single {
    fn namespaces(&self) -> u64 {
        self.prepared.namespaces()
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &self.kept
    }

    fn enter(&self) -> Result<u64, Failure> {
        self.prepared.enter()
    }

    fn seclude(&self) -> Result<u64, Failure> {
        let Some(way_out) = &self.gateway else {
            return self.prepared.seclude();
        };
        self.prepared.seclusion.seclude(|| {
            system::hand_over_listener(way_out.as_raw_fd(), network::PORT)
                .map(|()| LayerSet::EMPTY.with_gateway())
                .map_err(|errno| Failure { act: GATEWAY, errno })
        })
    }

    fn restrict(&self) -> Result<u64, Failure> {
        let layers = self.prepared.restrict()?;
        let failed = |errno| Failure { act: GROUP, errno };
        // Last of all. While it shares the host's memory, a process in the group whose memory runs out would take the
        // host with it; so the group's bound is never as small as what becoming the program takes.
        match &self.group {
            Some(Joined::Leaf { processes, .. }) => {
                for processes in processes {
                    system::write_whole(*processes, b"0").map_err(failed)?;
                }
            }
            Some(Joined::Failed(errno)) => return Err(failed(*errno)),
            None => {}
        }
        Ok(layers)
    }

    fn exhausted(&self) -> u64 {
        let spent = match &self.group {
            Some(Joined::Leaf { leaf, .. }) => leaf.spent(),
            Some(Joined::Failed(_)) | None => Spent::default(),
        };
        let over = self.quota.as_ref().is_some_and(|quota| quota.is_over());
        Exhausted::bits(spent, over)
    }

    fn act_name(&self, act: u32) -> String {
        match act {
            GATEWAY => {
                "open the gateway to the listed hosts on the loopback interface of the command's own network (let \
                        this program configure its network namespace, or use `none` or `host`)"
                    .to_owned()
            }
            GROUP => "join the control group that bounds the command's memory and processes".to_owned(),
            act => self.prepared.act_name(act),
        }
    }
}

// SAFETY: as above; the root and what needs it are another confinement's.
unsafe impl Confinement for Seclusion {
    fn namespaces(&self) -> u64 {
        self.clone_flags()
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &[]
    }

    fn enter(&self) -> Result<u64, Failure> {
        for (act, number) in self.beginning.iter().zip(0..) {
            act.step.perform().map_err(|errno| Failure { act: number, errno })?;
        }
        Ok(0)
    }

    fn seclude(&self) -> Result<u64, Failure> {
        Self::seclude(self, unconnected)
    }

    fn restrict(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn act_name(&self, act: u32) -> String {
        restriction_words(act).unwrap_or_else(|| format!("act {act} of the boundary"))
    }
}
