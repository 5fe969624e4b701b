//! A command made ready for children that may not allocate: every string ends in NUL, every table is built, every
//! descriptor is open. Checks what can be checked before a process exists; starts nothing.

use crate::limits::Bound;
use crate::stack::Stacks;
use crate::{Command, Confinement, Error, Output, Stdin, system};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::{Arc, OnceLock};

const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Where a name without a slash is looked up when the command has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A table of strings as `execve` takes it: pointers into the strings, then a null one.
pub(crate) struct Table {
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Table {
    fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(ptr::null());
        Self {
            _strings: strings,
            pointers,
        }
    }

    pub(crate) fn pointer(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// What the children need from the first. They use it in the host's memory, so it stays where it is, and lives until
/// both have left.
pub(crate) struct Prepared {
    /// What secludes the command.
    pub(crate) confinement: Arc<dyn Confinement>,
    pub(crate) flags: u64,
    /// The descriptor that becomes 0, 1 and 2; itself if inherited.
    pub(crate) standard: [RawFd; 3],
    /// What the warden leaves open at first, ascending.
    pub(crate) kept: Vec<RawFd>,
    pub(crate) socket: RawFd,
    pub(crate) stacks: Stacks,
    pub(crate) start: Start,
    /// What to run. There from the first, or when the host says so.
    pub(crate) plan: OnceLock<Plan>,
}

/// When the children are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// When it is known what they will run.
    Told,
    /// Before.
    Early,
}

/// What to run and how, ready for the children. Under the same rules.
pub(crate) struct Plan {
    /// What roots and restricts the command.
    pub(crate) confinement: Arc<dyn Confinement>,
    /// Paths to try in turn.
    pub(crate) candidates: Vec<CString>,
    pub(crate) arguments: Table,
    pub(crate) environment: Table,
    pub(crate) directory: Option<CString>,
    pub(crate) bounds: Vec<Bound>,
}

// SAFETY: the tables point into strings of their own, which move with them; nothing here is bound to a thread.
unsafe impl Send for Plan {}
// SAFETY: nothing is changed through a shared plan.
unsafe impl Sync for Plan {}

/// The children's ends, to be closed in the host once the warden has its copies.
pub(crate) struct ChildEnds {
    _all: Vec<OwnedFd>,
}

/// The host's ends of the command's streams.
#[derive(Debug, Default)]
pub(crate) struct HostEnds {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

impl Plan {
    /// Checks what can be checked of a command before a process exists.
    pub(crate) fn new(command: &Command) -> Result<Self, Error> {
        let directory = command
            .directory
            .as_ref()
            .map(|path| terminated("directory", path.as_os_str()))
            .transpose()?;
        Ok(Self {
            confinement: command.confinement.clone(),
            candidates: candidates(command)?,
            arguments: Table::new(argument_strings(command)?),
            environment: Table::new(environment_strings(command)?),
            directory,
            bounds: command.limits.bounds(),
        })
    }
}

impl Prepared {
    /// Checks the command and opens its streams. `socket` is the warden's end of the channel.
    pub(crate) fn new(command: &Command, socket: OwnedFd) -> Result<(Self, HostEnds, ChildEnds), Error> {
        checked_namespaces(command.confinement.as_ref())?;
        let plan = Plan::new(command)?;
        let mut ends = Vec::new();
        let mut host = HostEnds::default();
        let standard = [
            open_input(&command.stdin, &mut ends, &mut host.stdin)?,
            open_output(command.stdout, 1, &mut ends, &mut host.stdout)?,
            open_output(command.stderr, 2, &mut ends, &mut host.stderr)?,
        ];
        let mut prepared = Self::with_streams(command.confinement.clone(), standard, Start::Told, &socket)?;
        prepared.plan = OnceLock::from(plan);
        ends.push(socket);
        Ok((prepared, host, ChildEnds { _all: ends }))
    }

    /// What is needed from the first by children that inherit the host's streams, and will be told what to run.
    pub(crate) fn early(confinement: Arc<dyn Confinement>, socket: OwnedFd) -> Result<(Self, ChildEnds), Error> {
        checked_namespaces(confinement.as_ref())?;
        let prepared = Self::with_streams(confinement, [0, 1, 2], Start::Early, &socket)?;
        Ok((prepared, ChildEnds { _all: vec![socket] }))
    }

    fn with_streams(
        confinement: Arc<dyn Confinement>,
        standard: [RawFd; 3],
        start: Start,
        socket: &OwnedFd,
    ) -> Result<Self, Error> {
        let socket = socket.as_raw_fd();
        let mut kept = vec![0, 1, 2, socket];
        kept.extend(standard);
        for &descriptor in confinement.kept_descriptors() {
            let closes = system::descriptor_flags(descriptor).is_ok_and(|flags| flags & libc::FD_CLOEXEC != 0);
            if descriptor < 3 || !closes {
                return Err(Error::KeptDescriptor { descriptor });
            }
            kept.push(descriptor);
        }
        kept.sort_unstable();
        kept.dedup();
        Ok(Self {
            flags: confinement.namespaces(),
            confinement,
            standard,
            kept,
            socket,
            stacks: Stacks::new().map_err(Error::start("map the stacks of the warden and the command"))?,
            start,
            plan: OnceLock::new(),
        })
    }

    pub(crate) fn has_pid_namespace(&self) -> bool {
        self.flags & libc::CLONE_NEWPID as u64 != 0
    }
}

fn checked_namespaces(confinement: &dyn Confinement) -> Result<(), Error> {
    let flags = confinement.namespaces();
    if flags & !NAMESPACES == 0 {
        Ok(())
    } else {
        Err(Error::CloneFlags { flags })
    }
}

/// Whether the command's streams are the host's own three, so that children started early have them already.
pub(crate) fn inherits_all(command: &Command) -> bool {
    let inherits = command.stdin == Stdin::Inherit
        && [command.stdout, command.stderr]
            .iter()
            .all(|output| *output == Output::Inherit);
    inherits && (0..3).all(|descriptor| system::descriptor_flags(descriptor).is_ok())
}

fn open_null(ends: &mut Vec<OwnedFd>) -> Result<RawFd, Error> {
    let null = system::null().map_err(Error::start("open /dev/null"))?;
    let raw = null.as_raw_fd();
    ends.push(null);
    Ok(raw)
}

/// The host's own stream, or nothing if the host has none.
fn inherit(descriptor: RawFd, ends: &mut Vec<OwnedFd>) -> Result<RawFd, Error> {
    if system::descriptor_flags(descriptor).is_ok() {
        Ok(descriptor)
    } else {
        open_null(ends)
    }
}

fn open_input(stdin: &Stdin, ends: &mut Vec<OwnedFd>, host: &mut Option<OwnedFd>) -> Result<RawFd, Error> {
    match stdin {
        Stdin::Null => open_null(ends),
        Stdin::Inherit => inherit(0, ends),
        Stdin::Bytes(_) => {
            let (read, write) = nonblocking_pipe(HostSide::Write)?;
            let raw = read.as_raw_fd();
            ends.push(read);
            *host = Some(write);
            Ok(raw)
        }
    }
}

fn open_output(
    output: Output,
    own: RawFd,
    ends: &mut Vec<OwnedFd>,
    host: &mut Option<OwnedFd>,
) -> Result<RawFd, Error> {
    match output {
        Output::Null => open_null(ends),
        Output::Inherit => inherit(own, ends),
        Output::Capture(_) => {
            let (read, write) = nonblocking_pipe(HostSide::Read)?;
            let raw = write.as_raw_fd();
            ends.push(write);
            *host = Some(read);
            Ok(raw)
        }
    }
}

enum HostSide {
    Read,
    Write,
}

fn nonblocking_pipe(side: HostSide) -> Result<(OwnedFd, OwnedFd), Error> {
    let open = || -> io::Result<_> {
        let (read, write) = system::pipe()?;
        system::set_nonblocking(match side {
            HostSide::Read => &read,
            HostSide::Write => &write,
        })?;
        Ok((read, write))
    };
    open().map_err(Error::start("make a pipe for a stream"))
}

fn terminated(what: &'static str, value: &OsStr) -> Result<CString, Error> {
    CString::new(value.as_bytes()).map_err(|_| Error::Nul {
        what,
        value: value.to_owned(),
    })
}

fn candidates(command: &Command) -> Result<Vec<CString>, Error> {
    let program = command.program.as_os_str();
    if program.is_empty() {
        return Err(Error::NotFound {
            program: command.program.clone(),
        });
    }
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![terminated("program", program)?]);
    }
    let path = command.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value.as_os_str());
    path.as_bytes()
        .split(|&byte| byte == b':')
        // An empty or relative entry would search the working directory, which the command's author may not own.
        .filter(|entry| entry.starts_with(b"/"))
        .map(|entry| {
            terminated(
                "program",
                OsStr::from_bytes(&[entry, b"/", program.as_bytes()].concat()),
            )
        })
        .collect()
}

fn argument_strings(command: &Command) -> Result<Vec<CString>, Error> {
    let mut strings = vec![terminated("program", command.program.as_os_str())?];
    for argument in &command.arguments {
        strings.push(terminated("argument", argument)?);
    }
    Ok(strings)
}

fn environment_strings(command: &Command) -> Result<Vec<CString>, Error> {
    let mut strings = Vec::with_capacity(command.environment.len());
    for (name, value) in &command.environment {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(Error::VariableName { name: name.clone() });
        }
        let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
        // Never shows the value, which may be a secret.
        strings.push(CString::new(entry).map_err(|_| Error::Nul {
            what: "variable",
            value: name.clone(),
        })?);
    }
    Ok(strings)
}
