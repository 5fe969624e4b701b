//! A command made ready for children that may not allocate: every string ends in NUL, every table is built, every
//! descriptor is open. Checks what can be checked before a process exists; starts nothing.

use crate::limits::Bound;
use crate::{Command, Confinement, Error, Output, Stdin, system};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

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

/// Everything the children need.
pub(crate) struct Prepared<'a> {
    pub(crate) confinement: &'a dyn Confinement,
    pub(crate) flags: u64,
    /// Paths to try in turn.
    pub(crate) candidates: Vec<CString>,
    pub(crate) arguments: Table,
    pub(crate) environment: Table,
    pub(crate) directory: Option<CString>,
    pub(crate) bounds: Vec<Bound>,
    /// The descriptor that becomes 0, 1 and 2; itself if inherited.
    pub(crate) standard: [RawFd; 3],
    /// What the warden leaves open at first, ascending.
    pub(crate) kept: Vec<RawFd>,
    pub(crate) socket: RawFd,
    /// The children's ends, closed in the host once the warden has its copies.
    pub(crate) _ends: Vec<OwnedFd>,
}

/// The host's ends of the command's streams.
#[derive(Debug, Default)]
pub(crate) struct HostEnds {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

impl<'a> Prepared<'a> {
    /// Checks the command and opens its streams. `socket` is the warden's end of the channel.
    pub(crate) fn new(command: &'a Command, socket: OwnedFd) -> Result<(Self, HostEnds), Error> {
        let confinement = command.confinement.as_ref();
        let flags = confinement.clone_flags();
        if flags & !NAMESPACES != 0 {
            return Err(Error::CloneFlags { flags });
        }
        let candidates = candidates(command)?;
        let arguments = Table::new(argument_strings(command)?);
        let environment = Table::new(environment_strings(command)?);
        let directory = command
            .directory
            .as_ref()
            .map(|path| terminated("directory", path.as_os_str()))
            .transpose()?;

        let mut ends = vec![socket];
        let socket = ends[0].as_raw_fd();
        let mut host = HostEnds::default();
        let standard = [
            open_input(&command.stdin, &mut ends, &mut host.stdin)?,
            open_output(command.stdout, 1, &mut ends, &mut host.stdout)?,
            open_output(command.stderr, 2, &mut ends, &mut host.stderr)?,
        ];
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
        let bounds = command.limits.bounds();
        let prepared = Self {
            confinement,
            flags,
            candidates,
            arguments,
            environment,
            directory,
            bounds,
            standard,
            kept,
            socket,
            _ends: ends,
        };
        Ok((prepared, host))
    }

    pub(crate) fn has_pid_namespace(&self) -> bool {
        self.flags & libc::CLONE_NEWPID as u64 != 0
    }
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
