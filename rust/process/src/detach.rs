//! Starts this very program once more, to live on by itself: in a session of its own, with an environment of its own and
//! no input. It is not supervised: what supervises a run is the program started here.

#![expect(clippy::disallowed_methods, reason = "this is the crate that starts programs")]

use crate::{Error, Pid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The running program itself, whatever its path names by now: after an update that is another program.
const ITSELF: &str = "/proc/self/exe";

/// A start of this program that outlives the process that makes it.
#[derive(Debug)]
pub struct Detached<'a> {
    /// What it is called, its first argument.
    pub name: OsString,
    /// Its further arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory it starts in.
    pub directory: PathBuf,
    /// Where both of its outputs go.
    pub output: &'a File,
    /// Stays open in it under whatever number, for as long as it lives; a lock, say.
    pub held: Option<BorrowedFd<'a>>,
}

impl Detached<'_> {
    /// Starts it and returns its number. It is this process's child until this process ends.
    ///
    /// # Errors
    /// [`Error::Start`] with the act that failed; nothing runs then.
    pub fn start(self) -> Result<Pid, Error> {
        let output = || self.output.try_clone().map_err(Error::start("share the output file"));
        let held = self.held.map(|held| held.as_raw_fd());
        let mut command = Command::new(Path::new(ITSELF));
        command
            .arg0::<&OsStr>(&self.name)
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(output()?)
            .stderr(output()?);
        // SAFETY: both calls are async-signal-safe and take no pointer; nothing else is done between fork and exec.
        unsafe {
            command.pre_exec(move || {
                if libc::setsid() < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                match held {
                    Some(held) if libc::fcntl(held, libc::F_SETFD, 0) < 0 => Err(std::io::Error::last_os_error()),
                    Some(_) | None => Ok(()),
                }
            });
        }
        let child = command.spawn().map_err(Error::start("start this program anew"))?;
        Ok(Pid(child.id().cast_signed()))
    }
}
