//! The name of a process that holds a command, good after a crash of the host, a reuse of its number and a restart of the
//! machine: number, start time, boot, and the pid namespace in which the number means it. Written down before the command
//! starts, it later proves that the command's whole tree is gone, or says that this is not known.
//!
//! It proves only what the kernel does: where the holder is pid 1 of its own namespace, it becomes a zombie only after
//! every process of that namespace was killed and reaped.

use crate::{Error, Pid, system};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const NAMESPACE: &str = "/proc/self/ns/pid";
/// The start time in `/proc/PID/stat`, counted from after the parenthesised name.
const START_FIELD: usize = 19;

/// A process by a name that nothing else will ever bear.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Its number in `namespace`.
    pub process: i32,
    /// When it started, in clock ticks since the machine did.
    pub start_ticks: u64,
    /// The machine's start, by the kernel's own name for it.
    pub boot: String,
    /// The inode of the pid namespace that numbered it.
    pub namespace: u64,
}

/// How it is known that a holder is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gone {
    /// The machine was started anew since.
    Restarted,
    /// The process ended.
    Ended,
}

/// Whether a holder is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is.
    Gone(Gone),
    /// It runs.
    Alive,
    /// It cannot be looked for from here.
    Unknown(String),
}

impl Holder {
    /// Names a child of this process that was not reaped yet.
    ///
    /// # Errors
    /// [`Error::Name`] where `/proc` does not show it.
    pub fn of(process: Pid) -> Result<Self, Error> {
        let named = || -> io::Result<Self> {
            Ok(Self {
                process: process.0,
                start_ticks: start_ticks(process.0)?.ok_or(io::ErrorKind::NotFound)?,
                boot: boot()?,
                namespace: namespace()?,
            })
        };
        named().map_err(|source| Error::Name {
            process: process.0,
            source,
        })
    }

    /// Whether it is gone, waiting up to `patience` for its end: a holder whose host has just died needs a moment.
    #[must_use]
    pub fn standing(&self, patience: Duration) -> Standing {
        self.look(patience)
            .unwrap_or_else(|error| Standing::Unknown(error.to_string()))
    }

    fn look(&self, patience: Duration) -> io::Result<Standing> {
        if boot()? != self.boot {
            return Ok(Standing::Gone(Gone::Restarted));
        }
        if namespace()? != self.namespace {
            return Ok(Standing::Unknown(
                "it was numbered in another pid namespace than this".to_owned(),
            ));
        }
        // Held first and compared after: what is compared is then what is waited for.
        let Some(held) = system::hold(self.process)? else {
            return Ok(Standing::Gone(Gone::Ended));
        };
        if start_ticks(self.process)? != Some(self.start_ticks) {
            return Ok(Standing::Gone(Gone::Ended));
        }
        Ok(match system::ends_within(&held, patience)? {
            true => Standing::Gone(Gone::Ended),
            false => Standing::Alive,
        })
    }
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string(BOOT)?.trim().to_owned())
}

fn namespace() -> io::Result<u64> {
    Ok(fs::metadata(NAMESPACE)?.ino())
}

/// When a process started; `None` if there is none of this number.
fn start_ticks(process: i32) -> io::Result<Option<u64>> {
    let line = match fs::read(format!("/proc/{process}/stat")) {
        Ok(line) => line,
        // The second is what a process answers that ends while it is read.
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // The name may hold anything, parentheses and spaces included; what follows the last one is plain.
    let after_name = line
        .iter()
        .rposition(|byte| *byte == b')')
        .and_then(|at| line.get(at + 1..));
    let field = after_name
        .and_then(|rest| std::str::from_utf8(rest).ok())
        .and_then(|rest| rest.split_ascii_whitespace().nth(START_FIELD))
        .and_then(|field| field.parse().ok());
    match field {
        Some(ticks) => Ok(Some(ticks)),
        None => Err(io::Error::other("its line in /proc has another form")),
    }
}

#[cfg(test)]
#[path = "holder_tests.rs"]
mod tests;
