//! Clones a warden, and turns what it reports of a failed start into an error that names the act.
//! Holds the warden's pidfd: it is signalled and reaped by that alone, never by number.

use crate::channel::Channel;
use crate::prepared::{ChildEnds, HostEnds, Plan, Prepared};
use crate::raw::{self, Told};
use crate::record::{FILE_EXISTS, PLANNED, Record, Stage};
use crate::system::{self, Blocked};
use crate::{Command, Confinement, Error, Pid, warden};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Wardens that outlived the time to settle. Each is reaped by a later run, so that none stays a zombie.
static LATE: Mutex<Vec<Warden>> = Mutex::new(Vec::new());

/// The warden's pidfd, and what it uses of the host's memory: given back together, when the warden is reaped.
struct Warden {
    process: OwnedFd,
    used: Box<Prepared>,
}

/// A warden that runs, and the host's ends of all that leads to it. Dropped, it takes its tree with it.
pub(crate) struct Launched {
    pub(crate) channel: Channel,
    pub(crate) warden: Pid,
    pub(crate) namespace: bool,
    process: Option<Warden>,
}

/// Clones the warden of a command.
pub(crate) fn launch(command: &Command) -> Result<(Launched, HostEnds), Error> {
    reap_late();
    let (channel, theirs) = pair()?;
    let (prepared, ends, childrens) = Prepared::new(command, theirs)?;
    Ok((cloned(channel, prepared, childrens)?, ends))
}

/// Clones a warden that waits for its plan.
pub(crate) fn launch_early(confinement: Arc<dyn Confinement>) -> Result<Launched, Error> {
    reap_late();
    let (channel, theirs) = pair()?;
    let (prepared, childrens) = Prepared::early(confinement, theirs)?;
    cloned(channel, prepared, childrens)
}

fn pair() -> Result<(Channel, OwnedFd), Error> {
    Channel::pair().map_err(Error::start("make the warden's socket"))
}

fn cloned(channel: Channel, prepared: Prepared, childrens: ChildEnds) -> Result<Launched, Error> {
    let prepared = Box::new(prepared);
    let namespace = prepared.has_pid_namespace();
    let flags = prepared.flags & CLONED;
    let (warden, process) = clone(&prepared, flags).map_err(|source| Error::Namespaces { flags, source })?;
    drop(childrens);
    Ok(Launched {
        channel,
        warden,
        namespace,
        process: Some(Warden {
            process,
            used: prepared,
        }),
    })
}

/// The namespaces that the warden is cloned with; the others are made by the children.
const CLONED: u64 = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID) as u64;

fn clone(prepared: &Prepared, flags: u64) -> io::Result<(Pid, OwnedFd)> {
    // No exit signal: a host's own handler of SIGCHLD, a `wait` for any child, or ignored children cannot take it away.
    let flags = flags | (libc::CLONE_VM | libc::CLONE_PIDFD) as u64;
    let mut process: RawFd = -1;
    let told = Told {
        descriptor: &raw mut process,
        left: ptr::null_mut(),
    };
    let argument = ptr::from_ref(prepared).cast_mut().cast();
    let blocked = Blocked::all();
    // SAFETY: the stack is the warden's alone, and lives as `prepared` does: until the warden is reaped. Every signal is
    // blocked, so that no handler of the host runs in the child.
    let pid = unsafe { raw::clone(flags, prepared.stacks.warden(), told, warden::live, argument) };
    drop(blocked);
    let pid = pid.map_err(io::Error::from_raw_os_error)?;
    let process = system::owned(process.into())?;
    Ok((Pid(pid), process))
}

impl Launched {
    /// The namespaces of the warden and the command.
    pub(crate) fn namespaces(&self) -> u64 {
        self.process.as_ref().map_or(0, |warden| warden.used.flags)
    }

    /// Tells a warden that was cloned early what to run.
    pub(crate) fn tell(&self, plan: Plan) {
        if let Some(warden) = &self.process {
            // Told once, by whoever owns the early warden.
            let _first = warden.used.plan.set(plan);
            self.channel.request(PLANNED);
        }
    }

    /// Closes the channel and waits until the warden is gone, at most `patience`.
    pub(crate) fn abandon(mut self, patience: Duration) {
        self.channel.close();
        let mut watched = [libc::pollfd {
            fd: self.descriptor(),
            events: libc::POLLIN,
            revents: 0,
        }];
        // What is not gone by then is reaped by a later run.
        let _gone = system::poll(&mut watched, Some(patience));
        self.reap();
    }

    /// Readable once the warden has ended.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.process.as_ref().map_or(-1, |warden| warden.process.as_raw_fd())
    }

    /// Reaps the warden if it has ended.
    pub(crate) fn reap(&mut self) -> bool {
        let ended = match &self.process {
            // An error means that there is no such child any more: it was reaped by someone who waits for all.
            Some(warden) => system::reap(&warden.process).unwrap_or(true),
            None => true,
        };
        if ended {
            self.process = None;
        }
        ended
    }

    /// Kills the warden itself: only sensible where the kernel then ends its namespace.
    pub(crate) fn kill(&self) {
        if let Some(warden) = &self.process {
            system::kill(&warden.process);
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // The close of the channel that follows makes a warden that still runs kill its tree.
        if let Some(warden) = self.process.take() {
            LATE.lock().unwrap_or_else(PoisonError::into_inner).push(warden);
        }
    }
}

fn reap_late() {
    let mut late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
    late.retain(|warden| matches!(system::reap(&warden.process), Ok(false)));
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
        Some(Stage::Namespaces) => Error::Namespaces {
            flags: record.act.into(),
            source,
        },
        Some(Stage::Guard) => start("have the warden adopt orphans"),
        Some(Stage::Release) => start("let the command start"),
        Some(Stage::Plan) => start("tell the warden what to run"),
        Some(Stage::Signals) => start("watch for the command's end"),
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
