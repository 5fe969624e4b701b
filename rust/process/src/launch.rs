//! Clones a warden, and turns what it reports of a failed start into an error that names the act.
//! Holds the warden's pidfd: it is signalled and reaped by that alone, never by number.

use crate::channel::Channel;
use crate::prepared::{HostEnds, Prepared};
use crate::record::{FILE_EXISTS, Record, Stage};
use crate::system::{self, Blocked};
use crate::{Command, Error, Pid, warden};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Wardens that outlived the time to settle. Each is reaped by a later run, so that none stays a zombie.
static LATE: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// A warden that runs, and the host's ends of all that leads to it. Dropped, it takes its tree with it.
pub(crate) struct Launched {
    pub(crate) channel: Channel,
    pub(crate) warden: Pid,
    pub(crate) namespace: bool,
    process: Option<OwnedFd>,
}

/// Clones the warden of a command.
pub(crate) fn launch(command: &Command) -> Result<(Launched, HostEnds), Error> {
    reap_late();
    let (channel, theirs) = Channel::pair().map_err(Error::start("make the warden's socket"))?;
    let (prepared, ends) = Prepared::new(command, theirs)?;
    let namespace = prepared.has_pid_namespace();
    let (warden, process) = clone(&prepared).map_err(|source| Error::Clone {
        flags: prepared.flags,
        source,
    })?;
    Ok((
        Launched {
            channel,
            warden,
            namespace,
            process: Some(process),
        },
        ends,
    ))
}

fn clone(prepared: &Prepared<'_>) -> io::Result<(Pid, OwnedFd)> {
    // No exit signal: a host's own handler of SIGCHLD, a `wait` for any child, or ignored children cannot take it away.
    let flags = prepared.flags | libc::CLONE_PIDFD as u64;
    let mut process: RawFd = -1;
    let blocked = Blocked::all();
    // SAFETY: without CLONE_VM the child has its own copy of everything, this stack included, and does in it only what
    // `warden` may; the kernel writes the pidfd to a live local.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, &raw mut process, 0usize, 0usize) };
    if pid == 0 {
        // SAFETY: this is the child of the clone above, and every signal is blocked.
        unsafe { warden::live(prepared) }
    }
    let error = io::Error::last_os_error();
    drop(blocked);
    if pid < 0 {
        return Err(error);
    }
    let process = system::owned(process.into())?;
    Ok((Pid(pid as i32), process))
}

impl Launched {
    /// Readable once the warden has ended.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.process.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Reaps the warden if it has ended.
    pub(crate) fn reap(&mut self) -> bool {
        let ended = match &self.process {
            // An error means that there is no such child any more: it was reaped by someone who waits for all.
            Some(process) => system::reap(process).unwrap_or(true),
            None => true,
        };
        if ended {
            self.process = None;
        }
        ended
    }

    /// Kills the warden itself: only sensible where the kernel then ends its namespace.
    pub(crate) fn kill(&self) {
        if let Some(process) = &self.process {
            system::kill(process);
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // The close of the channel that follows makes a warden that still runs kill its tree.
        if let Some(process) = self.process.take() {
            LATE.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        }
    }
}

fn reap_late() {
    let mut late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
    late.retain(|process| matches!(system::reap(process), Ok(false)));
}

/// The error of a failed start.
pub(crate) fn failure(command: &Command, record: &Record) -> Error {
    let source = io::Error::from_raw_os_error(record.errno);
    let start = |act| Error::Start {
        act,
        source: io::Error::from_raw_os_error(record.errno),
    };
    let confinement = |source| Error::Confinement {
        act: command.confinement.act_name(record.act),
        number: record.act,
        source,
    };
    match record.stage() {
        Some(Stage::Session) => start("begin a session"),
        Some(Stage::Descriptors) => start("close the host's descriptors"),
        Some(Stage::Standard) => start("set the standard streams"),
        Some(Stage::Enter | Stage::Restrict) => confinement(source),
        Some(Stage::Guard) => start("guard the warden's memory and children"),
        Some(Stage::Signals) => start("watch for the command's end"),
        Some(Stage::Stack) => start("map a stack for the command's process"),
        Some(Stage::Fork) => start("make the command's process"),
        Some(Stage::Group) => start("make the command's process group"),
        Some(Stage::Limit) => {
            let bounds = command.limits.bounds();
            let limit = bounds.get(record.act as usize).map_or("resources", |bound| bound.name);
            Error::Limit { limit, source }
        }
        Some(Stage::Directory) => Error::Directory {
            directory: command.directory.clone().unwrap_or_default(),
            source,
        },
        Some(Stage::Execute) => execution(command.program.clone(), record.act == FILE_EXISTS, source),
        None => start("start the command"),
    }
}

fn execution(program: PathBuf, exists: bool, source: io::Error) -> Error {
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) if exists => Error::InterpreterNotFound { program },
        Some(libc::ENOENT | libc::ENOTDIR) => Error::NotFound { program },
        Some(libc::EACCES) => Error::NotExecutable { program, source },
        Some(libc::ENOEXEC) => Error::FormatUnknown { program },
        Some(libc::E2BIG) => Error::ArgumentsTooLarge { program },
        _ => Error::Execute { program, source },
    }
}
