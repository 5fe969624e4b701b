//! System calls as the children make them: straight to the kernel, the `errno` in the result.
//!
//! The C library's functions write `errno`, and its cancellation points more, into the calling thread's own storage.
//! A child that shares the host's memory has no such storage of its own: it would write into that of the thread that
//! started it, which runs on meanwhile. Nothing here knows what a call does.

use std::arch::asm;
use std::ffi::{c_int, c_long, c_void};

/// What a system call gives: its value, or the `errno`.
pub type Called<T> = Result<T, c_int>;

/// Makes a system call with up to six arguments; those it does not take are ignored. Async-signal-safe, and touches no
/// storage of the thread.
///
/// # Errors
/// The kernel's `errno`.
///
/// # Safety
/// As the call itself: pointers among the arguments must be what it expects, for as long as it uses them.
pub unsafe fn system_call(number: c_long, arguments: [usize; 6]) -> Called<usize> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let value: isize;
    // SAFETY: the kernel's convention of this architecture; what the call does with its arguments is the caller's
    // promise. Memory counts as changed, since the block is not marked otherwise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "syscall",
            inlateout("rax") number as isize => value,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first as isize => value,
            in("x1") second, in("x2") third, in("x3") fourth, in("x4") fifth, in("x5") sixth,
            options(nostack),
        );
    }
    answer(value)
}

/// What a child of [`clone`] runs first and never returns from.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void) -> !;

/// Where the kernel leaves what it says about a new child.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    /// Gets the pidfd (`CLONE_PIDFD`).
    pub(crate) descriptor: *mut c_int,
    /// Is zeroed, with a wake, when the child runs a program or ends (`CLONE_CHILD_CLEARTID`).
    pub(crate) left: *mut u32,
}

/// Makes a child that runs `entry` on a stack of its own, usually in the same memory; gives its number.
///
/// # Safety
/// `stack` is the upper end of memory that is the child's alone until it runs a program or ends, and a multiple of 16.
/// With `CLONE_VM` all that `entry` uses must live as long, and it may make system calls through this module only.
pub(crate) unsafe fn clone(
    flags: u64,
    stack: *mut c_void,
    told: Told,
    entry: Entry,
    argument: *mut c_void,
) -> Called<c_int> {
    let value: isize;
    // SAFETY: the child comes out of the call with every register as here but the stack's, on which nothing lies; it
    // leaves into `entry` at once and never comes back. In the parent this is a plain call.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => value,
            in("rdi") flags, in("rsi") stack, in("rdx") told.descriptor, in("r10") told.left, in("r8") 0usize,
            in("r12") entry, in("r13") argument,
            lateout("rcx") _, lateout("r11") _,
        );
        // The fourth and fifth arguments are the other way round here.
        #[cfg(target_arch = "aarch64")]
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x21",
            "blr x20",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone,
            inlateout("x0") flags as isize => value,
            in("x1") stack, in("x2") told.descriptor, in("x3") 0usize, in("x4") told.left,
            in("x20") entry, in("x21") argument,
        );
    }
    answer(value).map(|child| child as c_int)
}

/// The kernel's last page of numbers are errors.
fn answer(value: isize) -> Called<usize> {
    const LARGEST_ERROR: isize = 4095;
    if (-LARGEST_ERROR..0).contains(&value) {
        Err(value.wrapping_neg() as c_int)
    } else {
        Ok(value.cast_unsigned())
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("coder-process makes its system calls itself, and knows how on x86_64 and aarch64 only");
