//! The stacks of a warden and of its command's process, which share the host's memory. Each ends in a page that nobody
//! may touch, so that a stack too small is an end by signal and never a change of the host's memory.

use std::ffi::c_void;
use std::io;
use std::ptr;

/// Bytes of each stack.
const SIZE: usize = 256 << 10;
/// Bytes below each that nobody may touch; the largest page there is.
const GUARD: usize = 64 << 10;

/// Two stacks, given back when dropped.
#[derive(Debug)]
pub(crate) struct Stacks {
    base: *mut c_void,
}

// SAFETY: plain memory that belongs to this value alone, whatever thread holds it.
unsafe impl Send for Stacks {}

impl Stacks {
    const ALL: usize = 2 * (GUARD + SIZE);

    /// Maps both. Nothing of them takes memory until it is used.
    pub(crate) fn new() -> io::Result<Self> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, at a place of the kernel's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), Self::ALL, libc::PROT_NONE, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stacks = Self { base };
        for end in [stacks.warden(), stacks.command()] {
            // SAFETY: the page-aligned part of our own mapping that lies above a guard.
            let allowed = unsafe { libc::mprotect(end.byte_sub(SIZE), SIZE, libc::PROT_READ | libc::PROT_WRITE) };
            if allowed < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(stacks)
    }

    /// The upper end of the warden's.
    pub(crate) fn warden(&self) -> *mut c_void {
        self.base.wrapping_byte_add(GUARD + SIZE)
    }

    /// The upper end of the command's.
    pub(crate) fn command(&self) -> *mut c_void {
        self.base.wrapping_byte_add(Self::ALL)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: our own mapping; whoever drops this knows that both children have left it.
        unsafe { libc::munmap(self.base, Self::ALL) };
    }
}
