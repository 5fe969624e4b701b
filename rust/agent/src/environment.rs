//! The world as the loop sees it: run a script, look at a file, hear the user, be told to stop. The host implements
//! [`Env`]; what a command may touch, how it is bounded and recorded is the host's affair.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why the host could not go on: an intent or an observation was not retained, a read failed, a served model was another
/// one. It ends the run, and its text is the reason that the ending carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostFault(pub String);

impl fmt::Display for HostFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What the host keeps of one output stream: its beginning and its end, and how much lay between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// How many bytes between `head` and `tail` were not kept.
    pub dropped: u64,
    /// The last bytes; they do not overlap `head`.
    pub tail: Vec<u8>,
}

impl Captured {
    /// A stream that was kept whole.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            head: bytes.into(),
            dropped: 0,
            tail: Vec::new(),
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum RanEnd {
    /// It exited with this status.
    Exited(i32),
    /// A signal that the host did not send ended it.
    Signalled(i32),
    /// Its time was over and the host ended it.
    TimedOut,
    /// The host ended it because the run was stopped.
    Stopped,
    /// The host refused to start it, or it could not be started.
    NotStarted,
    /// The host does not know.
    Unknown,
}

impl RanEnd {
    /// Exit status 0 within the time.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl fmt::Display for RanEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(formatter, "exit {status}"),
            Self::Signalled(signal) => write!(formatter, "ended by signal {signal}"),
            Self::TimedOut => formatter.write_str("timed out"),
            Self::Stopped => formatter.write_str("stopped"),
            Self::NotStarted => formatter.write_str("not started"),
            Self::Unknown => formatter.write_str("end unknown"),
        }
    }
}

/// One command that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub end: RanEnd,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What the host has to tell the model about this command (a denied path, a refused start), else `None`.
    pub note: Option<String>,
    /// Set when the host cannot go on; the loop then ends.
    pub fault: Option<HostFault>,
}

/// What a look at one file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Viewed {
    /// Its bytes, from the beginning.
    File {
        /// What was read; the loop shows at most [`crate::VIEW_FILE_CHARACTERS`] characters of it.
        bytes: Vec<u8>,
        /// Its whole size, when larger than what was read.
        total_bytes: Option<u64>,
    },
    /// There is no such file.
    Absent,
    /// The host does not read it; the text says why.
    Refused(String),
    /// The read failed after it was dispatched; the loop ends.
    Fault(HostFault),
}

/// Where the agent works.
pub trait Env {
    /// What commands may touch and what they find, for the model: the boundary's limits in the host's own words. The same
    /// for the whole run; a changed text restarts the prompt.
    fn description(&self) -> &str;

    /// Whether the run was told to stop. Asked before every effect.
    fn stopped(&mut self) -> bool;

    /// Messages of the user that were not yet handed over, oldest first. Each is handed over once.
    fn messages(&mut self) -> Vec<String>;

    /// Runs one bash script in the working directory and waits for its end.
    fn run(&mut self, script: &str) -> Ran;

    /// Reads one file; `path` is as the model wrote it, relative to the working directory or absolute.
    fn view(&mut self, path: &str) -> Viewed;
}
