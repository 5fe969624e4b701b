//! How a run ended and what is known of it, as plain values; and what an observer hears while it goes on.

use crate::{Captured, Reason};
use std::fmt;
use std::time::Duration;

/// A process as the host numbers it. For records and for people: nothing here is ever signalled by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(pub i32);

impl fmt::Display for Pid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// One of the command's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// What an observer hears, in this order: who holds the command, one start, then pieces of output as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The warden exists, and the command's program does not: that starts only once the observer has returned, so whatever
    /// it writes down is there before. Stopped here, the command never starts: [`Error::Withheld`](crate::Error::Withheld).
    Holding {
        /// The process that will hold the command; name it with [`Holder`](crate::Holder).
        warden: Pid,
        /// Whether its end is the end of all it holds, as in a pid namespace.
        contains: bool,
    },
    /// The program runs.
    Started {
        /// The process that watches over it.
        warden: Pid,
        /// The program's own process; the warden's number where the kernel gave no other.
        command: Pid,
        /// The layers that the confinement says it applied.
        layers: u64,
    },
    /// Bytes of a captured stream. After the end of an output limit no more of standard output is shown.
    Output {
        /// Which.
        stream: Stream,
        /// Where in the stream the bytes begin.
        offset: u64,
        /// At most 64 KiB.
        bytes: &'a [u8],
    },
}

/// What an observer wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the command; the outcome is [`Ending::Stopped`].
    Stop,
}

/// How the command's own process really died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Death {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// Nobody saw it: the warden was lost, or the process outlived the time to settle.
    Unknown,
}

/// Why the run is over. The last four are only said when a signal was sent for that reason before the end; a command
/// that ended by itself first is `Exited` or `Signalled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal that this crate did not send.
    Signalled(i32),
    /// The warden was ended by someone else, so nobody saw the end.
    Unknown,
    /// Its deadline passed.
    DeadlineExceeded {
        /// How it died.
        death: Death,
    },
    /// Its [`Cancel`](crate::Cancel) was turned on.
    Cancelled {
        /// Why.
        reason: Reason,
        /// How it died.
        death: Death,
    },
    /// It printed as much to standard output as it was allowed.
    OutputLimit {
        /// How it died.
        death: Death,
    },
    /// The observer asked for it.
    Stopped {
        /// How it died.
        death: Death,
    },
}

/// The last signal sent to end the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StopSignal {
    /// None: it ended by itself.
    None,
    /// `SIGTERM`, to its process group.
    Terminate,
    /// `SIGKILL`, to all of its tree.
    Kill,
}

/// Whether every process of the command is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tree {
    /// Yes, and how that is known.
    Clear(Proof),
    /// Not known. Something may be left.
    Unknown,
}

/// How it is known that a tree is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    /// The pid 1 of its own pid namespace was reaped, which the kernel allows only after all others.
    Namespace,
    /// Its subreaper killed and reaped until it had no child.
    Reaped,
}

/// The most memory that one process of the command held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeakMemory {
    /// This many bytes.
    Exactly(u64),
    /// No more than this: the kernel counts what the process held before the program replaced it, which was more.
    AtMost(u64),
}

/// What the command used, with the descendants it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The largest resident set of any one process.
    pub peak_memory: PeakMemory,
    /// Processor time in user and kernel mode.
    pub cpu: Duration,
}

/// All that is known of a finished run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why it is over.
    pub ending: Ending,
    /// The last signal that was sent to end it.
    pub stop_signal: StopSignal,
    /// Whether anything is left.
    pub tree: Tree,
    /// What is kept of standard output.
    pub stdout: Captured,
    /// What is kept of standard error.
    pub stderr: Captured,
    /// From the call to the end.
    pub elapsed: Duration,
    /// `None` if nobody saw the end.
    pub usage: Option<Usage>,
    /// The layers that the confinement says it applied.
    pub layers: u64,
    /// What of its bounds ran out, as the confinement says.
    pub exhausted: u64,
}

impl Outcome {
    /// Whether the command ended by itself with status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.ending == Ending::Exited(0)
    }
}
