//! The seam through which a boundary confines a command: what the warden is cloned with, what it does before it starts
//! the command, and what the command's own process does last before it becomes the program.
//! Nothing here confines anything; [`Unconfined`] is the explicit absence.

use std::os::fd::RawFd;

/// One failed act of a confinement: which, and the kernel's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// A number that [`Confinement::act_name`] puts into words.
    pub act: u32,
    /// The `errno` of the failed call.
    pub errno: i32,
}

/// What confines a command. Prepared whole in the host, carried out in the children.
///
/// The order is: clone with [`clone_flags`](Self::clone_flags); new session, default signals, every descriptor closed
/// but standard ones and [`kept_descriptors`](Self::kept_descriptors); [`enter`](Self::enter) in the warden; then in
/// the command's process its group, resource limits and directory, and at last [`restrict`](Self::restrict) and the
/// program.
///
/// # Safety
///
/// `enter` and `restrict` run after a clone of a program that may have other threads, whose locks are then held for
/// ever. An implementation must only make async-signal-safe calls (plain system calls), and must not allocate, free,
/// lock, print, panic or unwind. `restrict` moreover runs in memory it shares with the warden, which is suspended
/// meanwhile, on a stack of 256 KiB: it may change the state of its process, not of its memory. After `enter` the warden
/// must still be able to poll, receive and send on its socket, signal and wait for its descendants, and clone.
pub unsafe trait Confinement: Send + Sync {
    /// The `CLONE_NEW*` flags the warden is cloned with; zero for none. Any other bit is refused.
    fn clone_flags(&self) -> u64;

    /// Descriptors that stay open until the program replaces the command's process. Each must be above 2 and
    /// close-on-exec, and stay open in the host while a command starts.
    fn kept_descriptors(&self) -> &[RawFd];

    /// Runs in the warden before the command exists: id maps, mounts, the new root. The bits name the layers applied.
    ///
    /// # Errors
    /// The first act that failed; the command is then not started.
    fn enter(&self) -> Result<u64, Failure>;

    /// Runs in the command's process, last before the program: capabilities, Landlock, seccomp. The bits name the
    /// layers applied, and are added to those of [`enter`](Self::enter).
    ///
    /// # Errors
    /// The first act that failed; the program is then not started.
    fn restrict(&self) -> Result<u64, Failure>;

    /// Puts an act into words, as "mount /proc". Called in the host only.
    fn act_name(&self, act: u32) -> String;
}

/// No confinement: the command can touch what the host can.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unconfined;

// SAFETY: neither `enter` nor `restrict` does anything.
unsafe impl Confinement for Unconfined {
    fn clone_flags(&self) -> u64 {
        0
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &[]
    }

    fn enter(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn restrict(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn act_name(&self, act: u32) -> String {
        format!("act {act}")
    }
}
