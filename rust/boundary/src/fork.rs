//! A child to try things in, and the pipe it reports through. For the probe only: commands are started by
//! `coder_process`.

use crate::system::{Called, Descriptor};
use std::ffi::{c_int, c_long};
use std::ptr;

fn errno() -> i32 {
    // SAFETY: the location of `errno` is always valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

fn checked(value: c_long) -> Called<c_int> {
    if value < 0 { Err(errno()) } else { Ok(value as c_int) }
}

/// Which side of a fork this is.
pub(crate) enum Forked {
    Child,
    Parent(libc::pid_t),
}

/// Makes a child. In a threaded program it may only make system calls from then on.
pub(crate) fn fork() -> Called<Forked> {
    // SAFETY: every caller's child makes system calls only and then leaves by `exit_now`.
    match checked(unsafe { libc::fork() }.into())? {
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent(child)),
    }
}

/// Leaves without running anything of the program.
pub(crate) fn exit_now() -> ! {
    // SAFETY: no exit handler runs, so nothing of the parent's is touched.
    unsafe { libc::_exit(0) }
}

/// Waits for one child and forgets how it ended.
pub(crate) fn wait_for(child: libc::pid_t) {
    // SAFETY: a null status is not written to.
    while unsafe { libc::waitpid(child, ptr::null_mut(), 0) } < 0 && errno() == libc::EINTR {}
}

/// Leaves some of the namespaces.
pub(crate) fn unshare(flags: c_int) -> Called<()> {
    // SAFETY: no pointer is passed.
    checked(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// A pipe: its reading end and its writing end.
pub(crate) fn pipe() -> Called<(Descriptor, Descriptor)> {
    let mut ends = [0; 2];
    // SAFETY: the array holds the two descriptors the call writes.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
    Ok((Descriptor(ends[0]), Descriptor(ends[1])))
}

/// Writes two bytes to a pipe, which takes so few at once or not at all.
pub(crate) fn write_record(pipe: &Descriptor, (first, second): (u8, u8)) {
    let record = [first, second];
    // SAFETY: the buffer outlives the call.
    unsafe { libc::write(pipe.raw(), record.as_ptr().cast(), record.len()) };
}

/// Reads the two bytes back; `None` at the end.
pub(crate) fn read_record(pipe: &Descriptor) -> Called<Option<(u8, u8)>> {
    let mut record = [0_u8; 2];
    loop {
        // SAFETY: the buffer outlives the call and its length is its own.
        let count = unsafe { libc::read(pipe.raw(), record.as_mut_ptr().cast(), record.len()) };
        match count {
            2 => return Ok(Some((record[0], record[1]))),
            count if count < 0 && errno() == libc::EINTR => {}
            count if count < 0 => return Err(errno()),
            _ => return Ok(None),
        }
    }
}
