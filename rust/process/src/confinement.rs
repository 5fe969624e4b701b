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
/// The order is: the warden is cloned with user and process [`namespaces`](Self::namespaces); new session, default
/// signals, every descriptor closed but standard ones and [`kept_descriptors`](Self::kept_descriptors), the mount
/// namespace. Then at the same time [`enter`](Self::enter) in the warden, and in the command's process its group,
/// resource limits, the other namespaces and [`seclude`](Self::seclude). When both are done the command's process, now
/// in the root that `enter` made, goes to its directory and does [`restrict`](Self::restrict) and the program.
///
/// # Safety
///
/// `enter`, `seclude` and `restrict` run in the host's memory, beside its threads, each on a stack of 256 KiB. An
/// implementation must only make system calls through [`system_call`](crate::system_call), since the C library's
/// functions would write into a thread of the host, and must not allocate, free, lock, print, panic or unwind. It may
/// change the state of its process, and of memory nothing but its own stack. After `enter` the warden must still be able
/// to poll, receive and send on its socket, signal and wait for its descendants, and clone; after `seclude` the command's
/// process must still be able to wait, change its directory and execute.
pub unsafe trait Confinement: Send + Sync {
    /// The `CLONE_NEW*` flags of the namespaces the command gets; zero for none. Any other bit is refused.
    fn namespaces(&self) -> u64;

    /// Descriptors that stay open until the program replaces the command's process. Each must be above 2 and
    /// close-on-exec, and stay open in the host while a command starts.
    fn kept_descriptors(&self) -> &[RawFd];

    /// Runs in the warden: id maps, mounts, the new root. The bits name the layers applied.
    ///
    /// # Errors
    /// The first act that failed; the command is then not started.
    fn enter(&self) -> Result<u64, Failure>;

    /// The same in a warden that was started early, after the [`enter`](Self::enter) of the confinement it was started
    /// with: what that has not done. Without a part that can be done early: everything.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    fn resume(&self) -> Result<u64, Failure> {
        self.enter()
    }

    /// Runs in the command's process, in all of its namespaces but not yet in its root: what needs no root. The bits
    /// name the layers applied, and are added to those of [`enter`](Self::enter).
    ///
    /// # Errors
    /// The first act that failed; the command is then not started.
    fn seclude(&self) -> Result<u64, Failure>;

    /// Runs in the command's process, last before the program: what needs the root. The bits name the layers applied,
    /// and are added to the others.
    ///
    /// # Errors
    /// The first act that failed; the program is then not started.
    fn restrict(&self) -> Result<u64, Failure>;

    /// Asked in the host once the command's tree is gone: what of its bounds ran out, as bits that only the confinement
    /// understands, for [`Outcome::exhausted`](crate::Outcome::exhausted).
    fn exhausted(&self) -> u64 {
        0
    }

    /// Puts an act into words, as "mount /proc". Called in the host only.
    fn act_name(&self, act: u32) -> String;
}

/// No confinement: the command can touch what the host can.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unconfined;

// SAFETY: none of the three does anything.
unsafe impl Confinement for Unconfined {
    fn namespaces(&self) -> u64 {
        0
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &[]
    }

    fn enter(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn seclude(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn restrict(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn act_name(&self, act: u32) -> String {
        format!("act {act}")
    }
}
