//! The filter of system calls: it refuses what reaches past the namespaces, and nothing they already isolate. Where the
//! kernel gives no namespace for something, the filter stands in for it as far as a filter can.
//! Refused calls fail with `EPERM`, so that programs can go on; `clone3` and `openat2` fail with `ENOSYS`, since their flags lie in
//! memory that a filter cannot read and every C library then falls back to `clone`, whose flags it can.

mod assembler;

use self::assembler::Answer::{Allow, Missing, Refuse};
use self::assembler::Line::{Load, Otherwise, Unless, When};
use self::assembler::Test::{AnyBit, Equal};
use self::assembler::{Assembler, Goal, Line};
use crate::Error;
use crate::policy::Permission;
use seccompiler::{BackendError, BpfProgram, TargetArch};
use std::ffi::{c_int, c_long};

/// Who holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum By {
    /// A namespace: the filter has no part in it.
    #[default]
    Namespace,
    /// The filter, for want of a namespace: it refuses the whole of it.
    Filter,
}

/// What the filter is for in one boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    /// Sockets of the internet families.
    pub(crate) internet: By,
    /// Unix sockets, which lead to whatever listens in the host's root; pairs of them are harmless.
    pub(crate) unix_sockets: By,
    /// System V IPC and message queues.
    pub(crate) ipc: By,
    /// Signals to everybody at once, and other processes' limits. A filter cannot tell whose a process is, so signals to a
    /// single one are Landlock's matter.
    pub(crate) processes: By,
    /// Looking into and steering processes of the same boundary.
    pub(crate) debugger: Permission,
    /// User namespaces and what comes with them.
    pub(crate) nested_namespaces: Permission,
}

/// What a debugger needs.
const DEBUGGER: [c_long; 3] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
];

/// System V IPC and POSIX message queues, with the calls that need only a number somebody else has found.
const IPC: [c_long; 15] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// Calls refused whatever their arguments.
const REFUSED: &[c_long] = &[
    // Asynchronous calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes' memory, registers and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keyrings belong to the user, not to a namespace.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Large parts of the kernel behind one call.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // The walls themselves.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    // Files by number, past every directory.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
];

/// Calls of the x86 alone: ports, segments, obsolete ways in.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// `open_tree_attr` of Linux 6.15, the same number on every architecture; not yet a name of the C library's bindings.
const OPEN_TREE_ATTR: c_long = 467;

/// Flags of `clone` and `unshare` that make a namespace.
const NAMESPACES: [c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Execution domains that ordinary programs ask for, the last being the question which one is in force.
const PERSONALITIES: [u32; 6] = [0, 0x0008, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];

/// Address families with a place in the boundary. Others (vsock, packet, kernel crypto, bluetooth, …) are either not
/// part of a network namespace or needed by no ordinary program; netlink has one, for routes alone.
const FAMILIES: [c_int; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Builds the program to install.
///
/// The kernel translates a program into the machine's own code when it is installed, at a cost for each instruction, and
/// runs it once for every call number there is. So it is small, and few instructions lead to an answer: a foreign
/// architecture is refused first, then a binary search finds the few calls that are not simply allowed. A general
/// compiler's program, one linear chain of whole comparisons, costs as much as a namespace.
pub(crate) fn program(profile: Profile) -> Result<BpfProgram, Error> {
    build(profile).map_err(|source| Error::Filter { source })
}

/// Calls whose flags or modes lie in memory, where no filter sees them. Programs take `ENOSYS` for an older kernel and use
/// the call that can be looked at.
const MISSING: [c_long; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Set-user-id and set-group-id: a file made so here would lend this user's rights to others on the host.
const SET_ID: u32 = 0o6000;

/// The calls that set a mode, and which argument it is.
const MODE_CALLS: [(c_long, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "x86_64")]
const MODE_CALLS_HERE: [(c_long, u8); 3] = [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const MODE_CALLS_HERE: [(c_long, u8); 0] = [];

/// The calls that set a mode where their flags say that they create a file: the arguments of flags and mode.
const OPENING: (c_long, u8, u8) = (libc::SYS_openat, 2, 3);
#[cfg(target_arch = "x86_64")]
const OPENING_HERE: Option<(c_long, u8, u8)> = Some((libc::SYS_open, 1, 2));
#[cfg(not(target_arch = "x86_64"))]
const OPENING_HERE: Option<(c_long, u8, u8)> = None;

/// The calls refused whatever their arguments.
fn refused(profile: Profile) -> impl Iterator<Item = c_long> {
    let allowed = move |call: &c_long| profile.debugger == Permission::Allowed && DEBUGGER.contains(call);
    let ipc: &[c_long] = match profile.ipc {
        By::Namespace => &[],
        By::Filter => &IPC,
    };
    let always = REFUSED
        .iter()
        .chain(REFUSED_HERE)
        .copied()
        .filter(move |call| !allowed(call));
    let socket = without_sockets(profile).then_some(libc::SYS_socket);
    always.chain(ipc.iter().copied()).chain(socket)
}

fn without_sockets(profile: Profile) -> bool {
    FAMILIES.iter().all(|family| held(profile, *family) == By::Filter)
}

fn build(profile: Profile) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = refused(profile).map(|call| (call, Goal::Answer(Refuse)));
    let missing = MISSING.map(|call| (call, Goal::Answer(Missing)));
    let mut assembler = Assembler::default();
    let inspected: Vec<_> = rules(profile)
        .into_iter()
        .map(|(call, lines)| (call, Goal::Block(assembler.block(lines))))
        .collect();
    let mut goals: Vec<(u32, Goal)> = refused
        .chain(missing)
        .chain(inspected)
        .filter_map(|(call, goal)| Some((u32::try_from(call).ok()?, goal)))
        .collect();
    goals.sort_unstable_by_key(|(call, _)| *call);
    assembler.assemble(architecture, &goals)
}

/// The calls that are looked at, and what about their arguments.
fn rules(profile: Profile) -> Vec<(c_long, Vec<Line>)> {
    let bits = |flags: &[c_int]| flags.iter().fold(0, |all, flag| all | flag.unsigned_abs());
    let making = bits(&NAMESPACES);
    // CLONE_NEWTIME shares its bit with clone's exit signal and exists for unshare alone.
    let leaving = making | libc::CLONE_NEWTIME.unsigned_abs();
    let mut rules = Vec::new();
    match profile.nested_namespaces {
        Permission::Refused => {
            for (call, flags) in [(libc::SYS_clone, making), (libc::SYS_unshare, leaving)] {
                rules.push((call, vec![Load(0), When(AnyBit(flags), Refuse), Otherwise(Allow)]));
            }
        }
        Permission::Allowed => {}
    }
    match profile.processes {
        By::Namespace => {}
        By::Filter => {
            let everybody = u32::MAX;
            rules.push((
                libc::SYS_kill,
                vec![Load(0), When(Equal(everybody), Refuse), Otherwise(Allow)],
            ));
            rules.push((
                libc::SYS_prlimit64,
                vec![Load(0), Unless(Equal(0), Refuse), Otherwise(Allow)],
            ));
        }
    }

    // Both push input into a terminal, for the shell outside to run.
    let injecting = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| When(Equal(request as u32), Refuse));
    rules.push((libc::SYS_ioctl, lines(Load(1), injecting, [Otherwise(Allow)])));

    let usual = PERSONALITIES.map(|domain| When(Equal(domain), Allow));
    rules.push((libc::SYS_personality, lines(Load(0), usual, [Otherwise(Refuse)])));

    if !without_sockets(profile) {
        rules.push((libc::SYS_socket, sockets(profile)));
    }
    let netlink = When(Equal(libc::AF_NETLINK.unsigned_abs()), Allow);
    let listed = FAMILIES.map(family);
    rules.push((
        libc::SYS_socketpair,
        lines(Load(0), listed, [netlink, Otherwise(Refuse)]),
    ));

    for (call, mode) in MODE_CALLS.into_iter().chain(MODE_CALLS_HERE) {
        rules.push((call, vec![Load(mode), When(AnyBit(SET_ID), Refuse), Otherwise(Allow)]));
    }
    for (call, flags, mode) in std::iter::once(OPENING).chain(OPENING_HERE) {
        // Without one of these the mode is whatever was in the register. O_TMPFILE holds the bit of O_DIRECTORY, too.
        let creating = bits(&[libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY]);
        let lending = [
            Load(flags),
            Unless(AnyBit(creating), Allow),
            Load(mode),
            When(AnyBit(SET_ID), Refuse),
            Otherwise(Allow),
        ];
        rules.push((call, lending.into()));
    }
    rules
}

fn family(family: c_int) -> Line {
    When(Equal(family.unsigned_abs()), Allow)
}

/// The families a socket may be of, which lead nowhere but where the boundary reaches.
fn sockets(profile: Profile) -> Vec<Line> {
    let mut lines = vec![Load(0)];
    lines.extend(
        FAMILIES
            .into_iter()
            .filter(|family| held(profile, *family) == By::Namespace)
            .map(family),
    );
    if profile.internet == By::Namespace {
        lines.extend([
            Unless(Equal(libc::AF_NETLINK.unsigned_abs()), Refuse),
            Load(2),
            When(Equal(libc::NETLINK_ROUTE.unsigned_abs()), Allow),
        ]);
    }
    lines.push(Otherwise(Refuse));
    lines
}

fn held(profile: Profile, family: c_int) -> By {
    if family == libc::AF_UNIX {
        profile.unix_sockets
    } else {
        profile.internet
    }
}

fn lines<const N: usize, const M: usize>(first: Line, middle: [Line; N], last: [Line; M]) -> Vec<Line> {
    std::iter::once(first).chain(middle).chain(last).collect()
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
