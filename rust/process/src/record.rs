//! The fixed-size records that a warden sends its host, and the single bytes the host sends back.
//! Both ends are the same program image, so the layout needs no version.

use std::mem::MaybeUninit;

/// Asks the warden to send `SIGTERM` to the command's process group.
pub(crate) const TERMINATE: u8 = b'T';
/// Lets the warden start the command, once its host has noted who will hold it.
pub(crate) const GO: u8 = b'G';
/// Asks the warden to kill everything.
pub(crate) const KILL: u8 = b'K';

/// Tells a warden that was started early that its plan is there.
pub(crate) const PLANNED: u8 = b'P';

/// A step of starting that can fail, as the children name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Stage {
    Session = 1,
    Namespaces,
    Descriptors,
    Standard,
    Enter,
    Guard,
    Signals,
    Plan,
    Release,
    Fork,
    Group,
    Limit,
    Directory,
    Restrict,
    Execute,
}

impl Stage {
    const ALL: [Self; 15] = [
        Self::Session,
        Self::Namespaces,
        Self::Descriptors,
        Self::Standard,
        Self::Enter,
        Self::Guard,
        Self::Signals,
        Self::Plan,
        Self::Release,
        Self::Fork,
        Self::Group,
        Self::Limit,
        Self::Directory,
        Self::Restrict,
        Self::Execute,
    ];
}

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// Sent by the command's own process in a pid namespace, so that the kernel adds its number as the host sees it.
    Here = 1,
    /// A stage failed: `stage`, `act`, `errno`.
    Failed,
    /// The program runs: `layers`, and `process` as the warden sees it.
    Started,
    /// The command's process was reaped: `status`, `signal`, memory and times; and whether `clear`.
    Ended,
    /// No descendant is left. Only sent if that was not so when the command's process was reaped.
    Clear,
}

/// One record. Which fields mean something, its kind says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) kind: u32,
    pub(crate) stage: u32,
    pub(crate) act: u32,
    pub(crate) errno: i32,
    pub(crate) status: i32,
    pub(crate) signal: i32,
    pub(crate) process: i32,
    pub(crate) clear: u32,
    pub(crate) layers: u64,
    pub(crate) peak_kibibytes: u64,
    pub(crate) floor_kibibytes: u64,
    pub(crate) cpu_microseconds: u64,
}

impl Record {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind: kind as u32,
            ..Self::default()
        }
    }

    /// The record as it is sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: a plain structure without padding, read while it is borrowed.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.kind == kind as u32
    }

    /// The stage that failed.
    pub(crate) fn stage(&self) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| *stage as u32 == self.stage)
    }
}

/// A failed execution of a file that is there: the act says so, since the kernel's errno cannot.
pub(crate) const FILE_EXISTS: u32 = 1;

/// Room for the control message that carries the sender's number.
#[repr(C, align(8))]
pub(crate) struct CredentialRoom(pub(crate) [MaybeUninit<u8>; 64]);
