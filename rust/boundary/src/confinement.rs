//! The prepared boundary as `coder_process` carries it out: what the warden is cloned with, what it does before the
//! command exists, and what the command's process does last. System calls only from [`enter`](Confinement::enter) on.

use crate::Private;
use crate::assembly::Act;
use crate::ground::Ground;
use crate::layers::{Layer, LayerSet};
use crate::rights::Rights;
use crate::step::Step;
use crate::system::{self, Called};
use coder_process::{Confinement, Failure};
use seccompiler::BpfProgram;
use std::os::fd::RawFd;

/// Everything the children need, and the private places, which must outlive them.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) seclusion: Seclusion,
    pub(crate) acts: Vec<Act>,
    pub(crate) rights: Rights,
    pub(crate) private: Private,
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

    /// All that needs no root.
    fn seclude(&self) -> Result<u64, Failure> {
        let done = |layer: Layer, called: Called<()>| called.map(|()| LayerSet::EMPTY.with(layer));
        let loopback = self.apply(Layer::Loopback, || {
            if !self.namespaces.contains(Layer::NetworkNamespace) {
                return Ok(LayerSet::EMPTY);
            }
            // Some machines give a network namespace but no right to configure it (report 1).
            Ok(done(Layer::Loopback, system::loopback_up()).unwrap_or(LayerSet::EMPTY))
        })?;
        let privileges = self.apply(Layer::NoNewPrivileges, || {
            done(Layer::NoNewPrivileges, system::control(libc::PR_SET_NO_NEW_PRIVS, 1, 0))
        })?;
        let capabilities = self.apply(Layer::Capabilities, || done(Layer::Capabilities, drop_capabilities()))?;
        let calls = self.apply(Layer::SystemCalls, || {
            done(Layer::SystemCalls, system::install_filter(&self.filter))
        })?;
        let all = [loopback, privileges, capabilities, calls];
        Ok(all.iter().fold(0, |bits, layers| bits | layers.bits()))
    }
}

impl Prepared {
    /// Whether an early warden has begun as this would.
    pub(crate) fn begins_with(&self, beginning: &[Act]) -> bool {
        self.seclusion.ground == Ground::default()
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

fn drop_capabilities() -> Called<()> {
    for capability in 0..CAPABILITIES {
        match system::control(libc::PR_CAPBSET_DROP, capability, 0) {
            Ok(_) => {}
            // The first number the kernel has no capability for.
            Err(libc::EINVAL) if capability > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    system::control(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)?;
    system::control(libc::PR_SET_SECUREBITS, SECURE_BITS as libc::c_ulong, 0)?;
    system::clear_capabilities()
}

// SAFETY: all three make system calls through `coder_process` on memory prepared in the host. They neither allocate nor
// free, take no lock, cannot panic, and write to no memory but their own stack.
unsafe impl Confinement for Prepared {
    fn namespaces(&self) -> u64 {
        self.seclusion.clone_flags()
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &[]
    }

    fn enter(&self) -> Result<u64, Failure> {
        self.enter_from(0)
    }

    fn resume(&self) -> Result<u64, Failure> {
        self.enter_from(self.seclusion.beginning.len())
    }

    fn seclude(&self) -> Result<u64, Failure> {
        self.seclusion.seclude()
    }

    fn restrict(&self) -> Result<u64, Failure> {
        // Its rules name files of the root.
        let applied = self.seclusion.apply(Layer::Landlock, || {
            self.rights.restrict()?;
            let applied = LayerSet::EMPTY.with(Layer::Landlock);
            Ok(if self.rights.scoped() {
                applied.with(Layer::LandlockScope)
            } else {
                applied
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
        Self::seclude(self)
    }

    fn restrict(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn act_name(&self, act: u32) -> String {
        restriction_words(act).unwrap_or_else(|| format!("act {act} of the boundary"))
    }
}
