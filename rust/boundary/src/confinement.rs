//! The prepared boundary as `coder_process` carries it out: what the warden is cloned with, what it does before the
//! command exists, and what the command's process does last. Async-signal-safe from [`enter`](Confinement::enter) on.

use crate::Private;
use crate::assembly::Act;
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
    pub(crate) namespaces: LayerSet,
    pub(crate) acts: Vec<Act>,
    pub(crate) rights: Rights,
    pub(crate) filter: BpfProgram,
    /// Layers left out, so that a test can see what each of them stops. Exists in tests only.
    #[cfg(test)]
    pub(crate) without: LayerSet,
    pub(crate) private: Private,
}

/// The acts of the command's own process, after those of the list.
const RESTRICTIONS: [(Layer, &str); 4] = [
    (Layer::NoNewPrivileges, "give up new privileges"),
    (Layer::Capabilities, "drop every capability"),
    (Layer::Landlock, "restrict files with Landlock"),
    (Layer::SystemCalls, "filter system calls"),
];

const FIRST_RESTRICTION: u32 = 1 << 16;

/// Each namespace and its clone flag.
const NAMESPACES: [(Layer, i32); 6] = [
    (Layer::UserNamespace, libc::CLONE_NEWUSER),
    (Layer::MountNamespace, libc::CLONE_NEWNS),
    (Layer::ProcessNamespace, libc::CLONE_NEWPID),
    (Layer::IpcNamespace, libc::CLONE_NEWIPC),
    (Layer::HostNameNamespace, libc::CLONE_NEWUTS),
    (Layer::NetworkNamespace, libc::CLONE_NEWNET),
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

impl Prepared {
    #[cfg(test)]
    fn leaves_out(&self, layer: Layer) -> bool {
        self.without.contains(layer)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "in tests it asks the field that only exists there")]
    fn leaves_out(&self, _layer: Layer) -> bool {
        false
    }

    fn restriction(&self, layer: Layer) -> Called<LayerSet> {
        let applied = LayerSet::EMPTY.with(layer);
        match layer {
            Layer::NoNewPrivileges => system::control(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map(|_| applied),
            Layer::Capabilities => drop_capabilities().map(|()| applied),
            Layer::Landlock => {
                self.rights.restrict()?;
                Ok(if self.rights.scoped() {
                    applied.with(Layer::LandlockScope)
                } else {
                    applied
                })
            }
            Layer::SystemCalls => system::install_filter(&self.filter).map(|()| applied),
            Layer::UserNamespace
            | Layer::MountNamespace
            | Layer::ProcessNamespace
            | Layer::IpcNamespace
            | Layer::HostNameNamespace
            | Layer::NetworkNamespace
            | Layer::Loopback
            | Layer::AssembledRoot
            | Layer::LandlockScope => Ok(LayerSet::EMPTY),
        }
    }
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

// SAFETY: `enter` and `restrict` make plain system calls on memory prepared in the host. They neither allocate nor
// free, take no lock and cannot panic; `restrict` writes to no memory but its own stack.
unsafe impl Confinement for Prepared {
    fn clone_flags(&self) -> u64 {
        let wanted = NAMESPACES.iter().filter(|(layer, _)| self.namespaces.contains(*layer));
        wanted.fold(0, |flags, (_, flag)| flags | u64::from(flag.unsigned_abs()))
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &[]
    }

    fn enter(&self) -> Result<u64, Failure> {
        let mut applied = self.namespaces;
        for (act, number) in self.acts.iter().zip(0..) {
            match act.step.perform() {
                Ok(()) if matches!(act.step, Step::Pivot) => applied = applied.with(Layer::AssembledRoot),
                Ok(()) if matches!(act.step, Step::Loopback) => applied = applied.with(Layer::Loopback),
                Ok(()) => {}
                // Some machines give a network namespace but no right to configure it (report 1).
                Err(_) if matches!(act.step, Step::Loopback) => {}
                Err(errno) => return Err(Failure { act: number, errno }),
            }
        }
        Ok(applied.bits())
    }

    fn restrict(&self) -> Result<u64, Failure> {
        let mut applied = LayerSet::EMPTY;
        for ((layer, _), number) in RESTRICTIONS.iter().zip(FIRST_RESTRICTION..) {
            if self.leaves_out(*layer) {
                continue;
            }
            let more = self
                .restriction(*layer)
                .map_err(|errno| Failure { act: number, errno })?;
            applied = LayerSet::from_bits(applied.bits() | more.bits());
        }
        Ok(applied.bits())
    }

    fn act_name(&self, act: u32) -> String {
        let layer_and_words = match act.checked_sub(FIRST_RESTRICTION) {
            None => self
                .acts
                .get(act as usize)
                .map(|act| (act.step.layer(), act.words.as_str())),
            Some(restriction) => RESTRICTIONS
                .get(restriction as usize)
                .map(|(layer, words)| (Some(*layer), *words)),
        };
        match layer_and_words {
            Some((Some(layer), words)) => format!("{words} ({layer}: {})", layer.fix()),
            Some((None, words)) => words.to_owned(),
            None => format!("act {act} of the boundary"),
        }
    }
}
