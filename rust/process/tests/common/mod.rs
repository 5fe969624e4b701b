//! What the whole-crate tests share: a shell, a confinement that only makes namespaces, an eye on a foreign process, and
//! a way to run a test's body in a host of its own.
#![allow(dead_code, reason = "each test file uses its own part")]

use coder_process::*;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub fn shell(script: &str) -> Command {
    Command::new("/bin/sh").arguments(["-c", script]).variable("PATH", PATH)
}

pub fn unwatched(_: Event<'_>) -> Flow {
    Flow::Continue
}

/// Makes namespaces and answers as told.
pub struct Scripted {
    pub flags: u64,
    pub kept: Vec<RawFd>,
    pub enter: Result<u64, Failure>,
    pub seclude: Result<u64, Failure>,
    pub restrict: Result<u64, Failure>,
}

impl Scripted {
    pub fn new(flags: i32) -> Self {
        Self {
            flags: flags as u64,
            kept: Vec::new(),
            enter: Ok(0),
            seclude: Ok(0),
            restrict: Ok(0),
        }
    }
}

// SAFETY: each act only copies a plain value.
unsafe impl Confinement for Scripted {
    fn namespaces(&self) -> u64 {
        self.flags
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &self.kept
    }

    fn enter(&self) -> Result<u64, Failure> {
        self.enter
    }

    fn seclude(&self) -> Result<u64, Failure> {
        self.seclude
    }

    fn restrict(&self) -> Result<u64, Failure> {
        self.restrict
    }

    fn act_name(&self, act: u32) -> String {
        format!("scripted act {act}")
    }
}

/// No namespace, or a pid namespace that an ordinary user can make too.
pub fn confinement(namespace: bool) -> Arc<dyn Confinement> {
    if namespace {
        Arc::new(Scripted::new(libc::CLONE_NEWUSER | libc::CLONE_NEWPID))
    } else {
        Arc::new(Unconfined)
    }
}

pub fn proof(namespace: bool) -> Tree {
    Tree::Clear(if namespace { Proof::Namespace } else { Proof::Reaped })
}

/// An eye on a process that is not ours: tells its end without a race.
pub struct Watched(OwnedFd);

impl Watched {
    pub fn open(pid: i32) -> Self {
        Self::find(pid).unwrap_or_else(|| panic!("process {pid}: {}", std::io::Error::last_os_error()))
    }

    /// Nothing if there is no such process any more.
    pub fn find(pid: i32) -> Option<Self> {
        // SAFETY: takes no pointer; the result is a new descriptor.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        // SAFETY: just made, no other owner.
        (descriptor >= 0).then(|| Self(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }))
    }

    /// Whether it has ended, waiting for that at most so long.
    pub fn ended_within(&self, milliseconds: i32) -> bool {
        let mut watched = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live structure.
        unsafe { libc::poll(&raw mut watched, 1, milliseconds) == 1 }
    }
}

pub fn signal(pid: Pid, signal: i32) {
    // SAFETY: takes no pointer.
    let result = unsafe { libc::kill(pid.0, signal) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// A host of its own: this test program again, with one test alone, told by a variable to do the other half.
pub struct Host {
    pub child: std::process::Child,
    lines: BufReader<std::process::ChildStdout>,
}

const PART: &str = "CODER_PROCESS_TEST_PART";

impl Host {
    #[expect(
        clippy::disallowed_methods,
        reason = "the host itself must be a plain child, to be killed as such"
    )]
    pub fn start(test: &str, part: &str) -> Self {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The rest of its next line that begins with the word.
    pub fn line(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(
                self.lines.read_line(&mut line).unwrap(),
                0,
                "the host ended before it said {word}"
            );
            // The test runner begins the line with the test's name.
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    pub fn finish(mut self) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

/// In a host of its own: which part it is to do.
pub fn part() -> String {
    std::env::var(PART).expect("run by another test")
}
