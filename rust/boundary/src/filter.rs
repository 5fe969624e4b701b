//! The filter of system calls: it refuses what reaches past the namespaces, and nothing they already isolate.
//! Refused calls fail with `EPERM`, so that programs can go on; `clone3` and `openat2` fail with `ENOSYS`, since their flags lie in
//! memory that a filter cannot read and every C library then falls back to `clone`, whose flags it can.

use crate::Error;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_long};

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
const PERSONALITIES: [u64; 6] = [0, 0x0008, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];

/// Address families with a place in the boundary. Others (vsock, packet, kernel crypto, bluetooth, …) are either not
/// part of a network namespace or needed by no ordinary program.
const FAMILIES: [c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Compiles the program to install.
///
/// The kernel runs a new program once for every call number there is, of this architecture and of the one beside it, so
/// what counts is how few instructions lead to an answer. A foreign architecture is refused first; then a binary search
/// of our own finds the few calls that are not simply allowed. One linear chain of comparisons, as the compiler makes
/// it, costs more than all namespaces together. What looks at arguments is the compiler's, one program for each call.
pub(crate) fn program() -> Result<BpfProgram, Error> {
    build().map_err(|source| Error::Filter { source })
}

/// Calls whose flags or modes lie in memory, where no filter sees them. Programs take `ENOSYS` for an older kernel and use
/// the call that can be looked at.
const MISSING: [c_long; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Set-user-id and set-group-id: a file made so here would lend this user's rights to others on the host.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

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

/// What is done about a call that is not simply allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Return(u32),
    /// Goes on in the block that starts there, counted from the first block.
    Inspect(usize),
}

fn build() -> Result<BpfProgram, BackendError> {
    let errno = |errno: c_int| SeccompAction::Errno(errno.unsigned_abs());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;

    let refused = REFUSED
        .iter()
        .chain(REFUSED_HERE)
        .map(|call| (*call, errno(libc::EPERM)));
    let missing = MISSING.map(|call| (call, errno(libc::ENOSYS)));
    let mut answers: Vec<(u32, Answer)> = refused
        .chain(missing)
        .filter_map(|(call, action)| Some((u32::try_from(call).ok()?, Answer::Return(action.into()))))
        .collect();
    let mut blocks = BpfProgram::new();
    for (call, rules) in rules()? {
        let Ok(number) = u32::try_from(call) else { continue };
        answers.push((number, Answer::Inspect(blocks.len())));
        let block = SeccompFilter::new(
            [(call, rules)].into(),
            SeccompAction::Allow,
            errno(libc::EPERM),
            architecture,
        )?;
        blocks.extend(BpfProgram::try_from(block)?);
    }
    answers.sort_unstable_by_key(|(call, _)| *call);

    let mut program = vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, ARCHITECTURE_OFFSET),
        jump(libc::BPF_JEQ, audit_value(architecture), 1, 0),
        statement(libc::BPF_RET | libc::BPF_K, SeccompAction::KillProcess.into()),
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER_OFFSET),
    ];
    program.extend(without_x32());
    let searched = search(&answers);
    let end = searched.len();
    program.extend(
        searched
            .into_iter()
            .enumerate()
            .map(|(position, instruction)| match instruction {
                Searched::Done(instruction) => instruction,
                // Both lengths are far below what the field holds.
                Searched::Block(start) => statement(
                    libc::BPF_JMP | libc::BPF_JA,
                    u32::try_from(end - position - 1 + start).unwrap_or(u32::MAX),
                ),
            }),
    );
    program.extend(blocks);
    Ok(program)
}

/// Where the kernel puts the call's number and architecture for a filter.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;

/// The kernel's mark of an architecture (`AUDIT_ARCH_*`).
fn audit_value(architecture: TargetArch) -> u32 {
    match architecture {
        TargetArch::x86_64 => 0xc000_003e,
        TargetArch::aarch64 => 0xc000_00b7,
        TargetArch::riscv64 => 0xc000_00f3,
    }
}

/// An instruction of the search; how far away a block is, is known when the search is complete.
enum Searched {
    Done(sock_filter),
    Block(usize),
}

/// Searches sorted call numbers and gives the answer of the one that is equal, or allows the call.
fn search(answers: &[(u32, Answer)]) -> Vec<Searched> {
    const LEAF: usize = 3;
    let mut program = Vec::new();
    let (below, from_middle) = answers.split_at(answers.len() / 2);
    if let Some((middle, _)) = from_middle.first()
        && answers.len() > LEAF
    {
        let below = search(below);
        let skipped = u8::try_from(below.len()).unwrap_or(u8::MAX);
        program.push(Searched::Done(jump(libc::BPF_JGE, *middle, skipped, 0)));
        program.extend(below);
        program.extend(search(from_middle));
    } else {
        for (call, answer) in answers {
            program.push(Searched::Done(jump(libc::BPF_JEQ, *call, 0, 1)));
            program.push(match answer {
                Answer::Return(answer) => Searched::Done(statement(libc::BPF_RET | libc::BPF_K, *answer)),
                Answer::Inspect(start) => Searched::Block(*start),
            });
        }
        let allow = statement(libc::BPF_RET | libc::BPF_K, SeccompAction::Allow.into());
        program.push(Searched::Done(allow));
    }
    program
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

fn jump(comparison: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter {
        code: (libc::BPF_JMP | comparison | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    }
}

/// The calls that are refused by their arguments.
fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules = BTreeMap::new();

    let mut making = Vec::new();
    for flag in NAMESPACES {
        let bit = u64::from(flag.unsigned_abs());
        making.push(rule([equal_in(0, bit)?])?);
    }
    rules.insert(libc::SYS_clone, making.clone());
    // CLONE_NEWTIME shares its bit with clone's exit signal and exists for unshare alone.
    making.push(rule([equal_in(0, u64::from(libc::CLONE_NEWTIME.unsigned_abs()))?])?);
    rules.insert(libc::SYS_unshare, making);

    // Both push input into a terminal, for the shell outside to run.
    let injecting = [libc::TIOCSTI, libc::TIOCLINUX];
    let injecting = injecting
        .into_iter()
        .map(|request| rule([equal(1, request)?]))
        .collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_ioctl, injecting);

    let odd = PERSONALITIES
        .into_iter()
        .map(|domain| unequal(0, domain))
        .collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_personality, vec![SeccompRule::new(odd)?]);

    let mut foreign = Vec::new();
    for family in FAMILIES {
        foreign.push(unequal(0, u64::from(family.unsigned_abs()))?);
    }
    let foreign = SeccompRule::new(foreign)?;
    let netlink = rule([
        equal(0, u64::from(libc::AF_NETLINK.unsigned_abs()))?,
        unequal(2, u64::from(libc::NETLINK_ROUTE.unsigned_abs()))?,
    ])?;
    rules.insert(libc::SYS_socket, vec![foreign.clone(), netlink]);
    rules.insert(libc::SYS_socketpair, vec![foreign]);

    for (call, mode) in MODE_CALLS.into_iter().chain(MODE_CALLS_HERE) {
        let lending = SET_ID.map(|bit| rule([equal_in(mode, bit)?]));
        rules.insert(call, lending.into_iter().collect::<Result<_, _>>()?);
    }
    for (call, flags, mode) in std::iter::once(OPENING).chain(OPENING_HERE) {
        // Without O_CREAT the mode is whatever was in the register. O_TMPFILE creates, too.
        let mut lending = Vec::new();
        for creating in [libc::O_CREAT, libc::O_TMPFILE] {
            for bit in SET_ID {
                lending.push(rule([
                    equal_in(flags, u64::from(creating.unsigned_abs()))?,
                    equal_in(mode, bit)?,
                ])?);
            }
        }
        rules.insert(call, lending);
    }
    Ok(rules)
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

// All compared arguments are 32 bits wide in the kernel, which ignores the upper half; so must the filter.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn unequal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn equal_in(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(bits), bits)
}

/// Instructions that answer `ENOSYS` to the x32 numbers, which reach the same calls under the same architecture mark
/// and so would pass a filter that compares plain numbers.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> Vec<sock_filter> {
    const X32_BIT: u32 = 0x4000_0000;
    let refuse = u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    vec![
        jump(libc::BPF_JGE, X32_BIT, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, refuse),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn without_x32() -> Vec<sock_filter> {
    Vec::new()
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
