//! The system calls of the children, each by name: no library function, no allocation, no lock, the `errno` as the
//! error. What they are for is `warden`, `program` and `watch`.

use crate::raw::{Called, system_call};
use libc::{c_int, pid_t};
use std::ffi::CStr;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::AtomicU32;

/// A number as the kernel takes it.
fn number(value: c_int) -> usize {
    value as isize as usize
}

fn address<T>(of: *const T) -> usize {
    of.addr()
}

/// Ends this process without running anything of the host's.
pub(crate) fn exit(status: c_int) -> ! {
    loop {
        // SAFETY: takes no pointer.
        let _returns_never = unsafe { system_call(libc::SYS_exit_group, [number(status), 0, 0, 0, 0, 0]) };
    }
}

/// Closes descriptors `from` to `to`.
pub(crate) fn close_range(from: u32, to: u32) -> Called<()> {
    // SAFETY: takes no pointer; whatever owned those descriptors lives on in the host only.
    unsafe { system_call(libc::SYS_close_range, [from as usize, to as usize, 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: takes no pointer; the children's table of descriptors is their own.
    let _closed_anyway = unsafe { system_call(libc::SYS_close, [number(descriptor), 0, 0, 0, 0, 0]) };
}

/// A process control of one number.
pub(crate) fn control(option: c_int, value: usize) -> Called<()> {
    // SAFETY: used for options that take a number, or a string that is static.
    unsafe { system_call(libc::SYS_prctl, [number(option), value, 0, 0, 0, 0]) }.map(drop)
}

/// Names this process.
pub(crate) fn set_name(name: &'static CStr) {
    let _only_a_name = control(libc::PR_SET_NAME, address(name.as_ptr()));
}

pub(crate) fn new_session() -> Called<()> {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_setsid, [0; 6]) }.map(drop)
}

/// Makes this process the leader of a group of its own.
pub(crate) fn new_group() -> Called<()> {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_setpgid, [0; 6]) }.map(drop)
}

/// The default action for every signal. Those that cannot be set fail and may.
pub(crate) fn default_signals() {
    // The kernel's own structure: handler, flags, restorer where there is one, mask. All zero is the default action.
    let action = [0_usize; 4];
    for signal in 1..=64 {
        // SAFETY: the kernel reads one action of a live local; no old one is asked for.
        let _where_allowed = unsafe {
            system_call(
                libc::SYS_rt_sigaction,
                [signal, address(action.as_ptr()), 0, size_of::<u64>(), 0, 0],
            )
        };
    }
}

/// Blocks no signal.
pub(crate) fn unblock_signals() {
    let none = 0_u64;
    // SAFETY: the kernel reads one set of a live local; no old one is asked for.
    let _always = unsafe {
        system_call(
            libc::SYS_rt_sigprocmask,
            [
                number(libc::SIG_SETMASK),
                address(&raw const none),
                0,
                size_of::<u64>(),
                0,
                0,
            ],
        )
    };
}

/// A descriptor that is readable when a blocked `signal` has come.
pub(crate) fn signal_descriptor(signal: c_int) -> Called<RawFd> {
    let set = 1_u64 << (signal - 1);
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the kernel reads one set of a live local.
    unsafe {
        system_call(
            libc::SYS_signalfd4,
            [
                number(-1),
                address(&raw const set),
                size_of::<u64>(),
                number(flags),
                0,
                0,
            ],
        )
    }
    .map(|descriptor| descriptor as RawFd)
}

/// Opens a path beneath a directory, or an absolute one.
pub(crate) fn open(directory: RawFd, path: &CStr, flags: c_int) -> Called<RawFd> {
    // SAFETY: the path outlives the call.
    unsafe {
        system_call(
            libc::SYS_openat,
            [number(directory), address(path.as_ptr()), number(flags), 0, 0, 0],
        )
    }
    .map(|descriptor| descriptor as RawFd)
}

/// Makes `target` the same as `descriptor`, and lets it live on in the program.
pub(crate) fn hand_over(descriptor: RawFd, target: RawFd) -> Called<()> {
    let call = if descriptor == target {
        (libc::SYS_fcntl, [number(target), number(libc::F_SETFD), 0, 0, 0, 0])
    } else {
        (libc::SYS_dup3, [number(descriptor), number(target), 0, 0, 0, 0])
    };
    // SAFETY: takes no pointer.
    unsafe { system_call(call.0, call.1) }.map(drop)
}

/// Reads once.
pub(crate) fn read(descriptor: RawFd, buffer: &mut [u8]) -> Called<usize> {
    // SAFETY: the kernel writes at most the buffer's length.
    unsafe {
        system_call(
            libc::SYS_read,
            [number(descriptor), address(buffer.as_mut_ptr()), buffer.len(), 0, 0, 0],
        )
    }
}

/// Sends bytes on a socket, and raises no signal.
pub(crate) fn send(socket: RawFd, bytes: &[u8]) -> Called<()> {
    // SAFETY: the kernel reads the buffer, which outlives the call.
    unsafe {
        system_call(
            libc::SYS_sendto,
            [
                number(socket),
                address(bytes.as_ptr()),
                bytes.len(),
                number(libc::MSG_NOSIGNAL),
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// Receives one byte; `None` at the end or on an error.
pub(crate) fn receive_byte(socket: RawFd) -> Option<u8> {
    let mut byte = 0_u8;
    // SAFETY: the kernel writes one byte of a live local.
    let received = unsafe { system_call(libc::SYS_recvfrom, [number(socket), address(&raw mut byte), 1, 0, 0, 0]) };
    (received == Ok(1)).then_some(byte)
}

/// Waits until one is ready, for ever.
pub(crate) fn poll(descriptors: &mut [libc::pollfd]) {
    // SAFETY: the kernel reads and writes the slice; neither a time nor a mask is passed. An interruption is as good as
    // readiness, since callers look again.
    let _look_again = unsafe {
        system_call(
            libc::SYS_ppoll,
            [address(descriptors.as_mut_ptr()), descriptors.len(), 0, 0, 0, 0],
        )
    };
}

/// Sends a signal to a process, a group (negative) or all there are (-1).
pub(crate) fn kill(process: pid_t, signal: c_int) -> Called<()> {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_kill, [number(process), number(signal), 0, 0, 0, 0]) }.map(drop)
}

/// A child that has ended.
pub(crate) struct Reaped {
    pub(crate) process: pid_t,
    pub(crate) status: c_int,
    pub(crate) usage: libc::rusage,
}

/// Reaps a child of any kind; -1 stands for any, number 0 in the answer for none that has ended.
pub(crate) fn wait(process: pid_t, options: c_int) -> Called<Reaped> {
    let mut status = 0;
    // SAFETY: all zero is a valid structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the status and the usage, which live here.
    let reaped = unsafe {
        system_call(
            libc::SYS_wait4,
            [
                number(process),
                address(&raw mut status),
                number(options | libc::__WALL),
                address(&raw mut usage),
                0,
                0,
            ],
        )
    }?;
    Ok(Reaped {
        process: reaped as pid_t,
        status,
        usage,
    })
}

/// The most memory this process ever held, in KiB.
pub(crate) fn peak_kibibytes() -> u64 {
    // SAFETY: all zero is a valid structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one structure that lives here.
    let _always = unsafe {
        system_call(
            libc::SYS_getrusage,
            [number(libc::RUSAGE_SELF), address(&raw mut usage), 0, 0, 0, 0],
        )
    };
    usage.ru_maxrss.cast_unsigned()
}

/// This process as it sees itself.
pub(crate) fn own_number() -> pid_t {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_getpid, [0; 6]) }.map_or(0, |number| number as pid_t)
}

/// The parent as this process sees it; 0 if it cannot.
pub(crate) fn parent_number() -> pid_t {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_getppid, [0; 6]) }.map_or(0, |number| number as pid_t)
}

/// Leaves some namespaces, or what else `unshare` parts from.
pub(crate) fn unshare(flags: u64) -> Called<()> {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_unshare, [flags as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Joins the namespaces of the process behind a pidfd.
pub(crate) fn join_namespaces(process: RawFd, flags: u64) -> Called<()> {
    // SAFETY: takes no pointer.
    unsafe { system_call(libc::SYS_setns, [number(process), flags as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Enters a directory.
pub(crate) fn change_directory(path: &CStr) -> Called<()> {
    // SAFETY: the path outlives the call.
    unsafe { system_call(libc::SYS_chdir, [address(path.as_ptr()), 0, 0, 0, 0, 0]) }.map(drop)
}

/// Whether there is anything at a path.
pub(crate) fn exists(path: &CStr) -> bool {
    let here = number(libc::AT_FDCWD);
    let wanted = number(libc::F_OK);
    // SAFETY: the path outlives the call.
    unsafe { system_call(libc::SYS_faccessat, [here, address(path.as_ptr()), wanted, 0, 0, 0]) }.is_ok()
}

/// Sets one limit of this process, and no soft or hard one above the hard one in force.
pub(crate) fn lower_limit(resource: u32, soft: u64, hard: u64) -> Called<()> {
    let limit = |new: *const libc::rlimit64, old: *mut libc::rlimit64| {
        // SAFETY: each pointer is null or one to a limit that lives below.
        unsafe {
            system_call(
                libc::SYS_prlimit64,
                [0, resource as usize, address(new), address(old), 0, 0],
            )
        }
    };
    let mut present = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    limit(ptr::null(), &raw mut present)?;
    // Above the hard limit is not ours to give; the hard limit is the stricter of the two.
    let wanted = libc::rlimit64 {
        rlim_cur: soft.min(present.rlim_max),
        rlim_max: hard.min(present.rlim_max),
    };
    limit(&raw const wanted, ptr::null_mut()).map(drop)
}

/// Becomes a program, or says why not.
///
/// # Safety
/// Both tables are as `execve` takes them.
pub(crate) unsafe fn execute(
    program: &CStr,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
) -> c_int {
    let arguments = [
        address(program.as_ptr()),
        address(arguments),
        address(environment),
        0,
        0,
        0,
    ];
    // SAFETY: the caller's promise; the path outlives the call.
    unsafe { system_call(libc::SYS_execve, arguments) }.err().unwrap_or(0)
}

/// Does nothing for some nanoseconds, less than a second of them.
pub(crate) fn pause(nanoseconds: i64) {
    let span = [0_i64, nanoseconds];
    // SAFETY: the kernel reads one time of a live local, seconds and nanoseconds of 64 bits each; what would be left is
    // not asked for.
    let _may_be_short = unsafe { system_call(libc::SYS_nanosleep, [address(span.as_ptr()), 0, 0, 0, 0, 0]) };
}

/// How long [`wait_while`] waits at most, in nanoseconds.
const PATIENCE: i64 = 20_000_000;

/// Waits while a word is `value`, but no longer than 20 ms, and sometimes for nothing: callers look again, also at what
/// no word tells. The word may be changed by another process in the same memory, or by the kernel.
pub(crate) fn wait_while(word: &AtomicU32, value: u32) {
    let span = [0_i64, PATIENCE];
    // SAFETY: the kernel reads the word and one time, both live during the call. Not the private form: the kernel wakes
    // those who wait for a child's end by the other.
    let _look_again = unsafe {
        system_call(
            libc::SYS_futex,
            [
                address(word.as_ptr()),
                number(libc::FUTEX_WAIT),
                value as usize,
                address(span.as_ptr()),
                0,
                0,
            ],
        )
    };
}

/// Wakes who waits for a word to change.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the kernel uses the word's address only.
    let _nobody_may_wait = unsafe {
        system_call(
            libc::SYS_futex,
            [address(word.as_ptr()), number(libc::FUTEX_WAKE), 1, 0, 0, 0],
        )
    };
}
