//! A program that is called: started, signalled, waited for, and what came of it.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// How long anything may take before a test gives up; far above what a loaded machine needs.
const PATIENCE: Timespec = Timespec {
    tv_sec: 120,
    tv_nsec: 0,
};

/// One call of a program.
pub struct Call {
    command: Command,
    base: PathBuf,
    input: Vec<u8>,
}

impl Call {
    /// A call as it stands; `base` is what directories of the world count from.
    pub fn new(command: Command, base: PathBuf) -> Self {
        Self {
            command,
            base,
            input: Vec::new(),
        }
    }

    pub fn arguments<S: AsRef<std::ffi::OsStr>>(mut self, arguments: &[S]) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        self.command.envs(variables);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs in another directory of the world.
    pub fn inside(mut self, directory: &str) -> Self {
        self.command.current_dir(self.base.join(directory));
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self.command.stdin(Stdio::piped());
        self
    }

    pub fn stdout(mut self, stdout: Stdio) -> Self {
        self.command.stdout(stdout);
        self
    }

    pub fn start(mut self) -> Started {
        let mut child = self.command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            let input = std::mem::take(&mut self.input);
            // A program that refuses reads nothing; its closed end is no fault of the test.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        Started {
            child: Some(child),
            pid,
            descriptor,
        }
    }

    #[track_caller]
    pub fn run(self) -> Seen {
        self.start().wait()
    }

    /// Runs with a terminal of so many columns as its standard output, must succeed, and gives what the terminal got.
    #[track_caller]
    pub fn terminal(mut self, columns: u16) -> String {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 50,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(0o400)
            .open(name)
            .unwrap();
        self.command.stdout(Stdio::from(terminal));
        // By value: the program's own end is closed here once it runs, or the reading would never end.
        let started = self.start();
        let mut got = Vec::new();
        // The kernel says EIO once the last one who had the terminal open is gone.
        let _ = File::from(master).read_to_end(&mut got);
        let seen = started.wait();
        assert_eq!((seen.status, seen.stderr.as_str()), (0, ""));
        String::from_utf8(got).unwrap().replace("\r\n", "\n")
    }

    /// Runs and must succeed; what it printed, as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        self.run().json(0)
    }
}

/// A running program; killed with its whole tree if a test gives up.
pub struct Started {
    child: Option<Child>,
    pub pid: Pid,
    pub descriptor: OwnedFd,
}

impl Started {
    #[track_caller]
    pub fn wait(mut self) -> Seen {
        let child = self.child.take().unwrap();
        Seen::from(child.wait_with_output().unwrap())
    }

    /// Waits so long for its end; whether it came.
    pub fn ends_within(&self, time: Duration) -> bool {
        let time = Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        };
        rustix::event::poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], Some(&time)).unwrap() == 1
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::pidfd_send_signal(&self.descriptor, signal).unwrap();
    }

    /// The same to one that may have ended by itself.
    pub fn signal_if_alive(&self, signal: Signal) {
        let sent = rustix::process::pidfd_send_signal(&self.descriptor, signal);
        assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::SRCH)), "{sent:?}");
    }

    /// Every process below this one, each held by a descriptor, while this one is stopped.
    pub fn freeze(&self) -> Vec<OwnedFd> {
        self.signal_if_alive(Signal::STOP);
        let mut pending = vec![self.pid.as_raw_nonzero().get()];
        let mut held = Vec::new();
        while let Some(pid) = pending.pop() {
            let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
                continue;
            };
            for thread in threads.flatten() {
                // A thread may end while its file is read.
                let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                for child in children.split_whitespace().map(|child| child.parse().unwrap()) {
                    pending.push(child);
                    let child = Pid::from_raw(child).unwrap();
                    held.extend(rustix::process::pidfd_open(child, PidfdFlags::empty()));
                }
            }
        }
        held
    }
}

impl AsFd for Started {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program that somebody else started; killed if a test gives up.
pub struct Detached {
    descriptor: OwnedFd,
}

impl Detached {
    /// Holds the process with this number; nothing if it has ended already.
    pub fn hold(pid: &Value) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid.as_i64().unwrap()).unwrap()).unwrap();
        let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        Some(Self { descriptor })
    }

    #[track_caller]
    pub fn wait(self) {
        wait_readable(&self.descriptor, "a detached program did not end");
    }
}

impl AsFd for Detached {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.descriptor, Signal::KILL);
    }
}

/// Waits until a descriptor is readable, which a process's own is once it has ended.
#[track_caller]
pub fn wait_readable(descriptor: impl AsFd, what: &str) {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut polled, Some(&PATIENCE)).unwrap(), 1, "{what}");
}

/// A pipe with a name, through which a command says that it got somewhere.
pub struct Gate {
    pipe: File,
}

impl Gate {
    pub fn at(path: &Path) -> Self {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o666),
            0,
        )
        .unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        // Open for both, so that neither side waits for the other to open.
        let pipe = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(0o4000)
            .open(path)
            .unwrap();
        Self { pipe }
    }

    /// Lets the command go on that reads from here.
    pub fn open(&mut self) {
        self.pipe.write_all(b"go\n").unwrap();
    }

    /// Waits for a line from the command, which `running` must outlive.
    #[track_caller]
    pub fn wait(&mut self, running: &impl AsFd) {
        let mut polled = [
            PollFd::new(&self.pipe, PollFlags::IN),
            PollFd::new(running, PollFlags::IN),
        ];
        rustix::event::poll(&mut polled, Some(&PATIENCE)).unwrap();
        assert!(
            polled[0].revents().contains(PollFlags::IN),
            "the command never got there"
        );
        let mut line = [0; 64];
        assert_ne!(self.pipe.read(&mut line).unwrap(), 0);
    }
}

/// What came of a call.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// The exit status; 128 and the signal when one ended it.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Seen {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let status = output
            .status
            .code()
            .unwrap_or_else(|| 128 + output.status.signal().unwrap());
        Self {
            status,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Seen {
    /// The JSON document it printed, with the status it must have ended in and nothing said.
    #[track_caller]
    pub fn json(&self, status: i32) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (status, ""), "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// What it printed, by a command that must have succeeded.
    #[track_caller]
    pub fn printed(&self) -> &str {
        assert_eq!(self.status, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        &self.stdout
    }

    /// The code and message of the one error object it said, having printed nothing.
    #[track_caller]
    pub fn refused(&self, status: i32) -> (String, String) {
        assert_eq!((self.status, self.stdout.as_str()), (status, ""), "{}", self.stderr);
        let error: Value = serde_json::from_str(&self.stderr).unwrap();
        let (code, message) = match error.get("code") {
            // A refused grant: the message itself, its code, and which part refused.
            Some(code) => {
                let flat = [Some("error"), Some("code"), error.get("cause").map(|_| "cause")];
                let fields = flat.into_iter().flatten().count();
                assert_eq!(error.as_object().unwrap().len(), fields, "{error}");
                (code, &error["error"])
            }
            None => {
                let nested = &error["error"];
                assert_eq!(
                    error,
                    json!({ "error": { "code": nested["code"], "message": nested["message"] } })
                );
                (&nested["code"], &nested["message"])
            }
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (code, message) = (text(code), text(message));
        assert_eq!(self.stderr.lines().count(), 1);
        (code, message)
    }
}
