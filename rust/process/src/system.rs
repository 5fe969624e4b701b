//! System calls of the host's side, each given a safe face. The children's side is in `warden`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

/// Turns the kernel's -1 into its error.
fn checked(result: i64) -> io::Result<i64> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Takes a descriptor that the kernel has just made for us.
pub(crate) fn owned(result: i64) -> io::Result<OwnedFd> {
    let descriptor = checked(result)? as RawFd;
    // SAFETY: the caller passes what a call just returned as a new descriptor, so nobody else owns it.
    above_standard(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Moves a descriptor out of 0 to 2, where a host without standard streams would get it and the child's would then
/// overwrite it.
fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    // SAFETY: duplicates a descriptor we own; the result is new.
    let moved = checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) }.into())?;
    // SAFETY: `moved` was just made and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(moved as RawFd) })
}

/// A counter that wakes pollers.
pub(crate) fn event() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }.into())
}

/// Makes an event descriptor readable. Async-signal-safe, keeps `errno`.
pub(crate) fn signal_event(descriptor: RawFd) {
    let one = 1u64;
    // SAFETY: writes eight bytes of a live local; the errno location is this thread's.
    unsafe {
        let kept = *libc::__errno_location();
        let _full_is_readable_too = libc::write(descriptor, (&raw const one).cast(), 8);
        *libc::__errno_location() = kept;
    }
}

/// A pipe, read end first. Both ends close on exec.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel fills an array of two.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
    both(ends)
}

/// The pair of sockets between a host and its warden: keeps records apart, and tells the first end who sent.
pub(crate) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel fills an array of two.
    checked(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) }.into())?;
    let pair = both(ends)?;
    let on: libc::c_int = 1;
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads one c_int.
    let result = unsafe {
        libc::setsockopt(
            pair.0.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PASSCRED,
            (&raw const on).cast(),
            size,
        )
    };
    checked(result.into())?;
    Ok(pair)
}

fn both(ends: [RawFd; 2]) -> io::Result<(OwnedFd, OwnedFd)> {
    // SAFETY: both were just made by the kernel and have no other owner. Owned before either is moved, so that a failed
    // move leaks none.
    let (first, second) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
    Ok((above_standard(first)?, above_standard(second)?))
}

/// `/dev/null`, for reading and writing.
pub(crate) fn null() -> io::Result<OwnedFd> {
    // SAFETY: the path is a literal that ends in NUL.
    owned(unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) }.into())
}

/// The flags of a descriptor, an error if it is not open.
pub(crate) fn descriptor_flags(descriptor: RawFd) -> io::Result<i32> {
    // SAFETY: takes no pointer.
    Ok(checked(unsafe { libc::fcntl(descriptor, libc::F_GETFD) }.into())? as i32)
}

/// Makes reads and writes of this end return instead of waiting.
pub(crate) fn set_nonblocking(descriptor: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no pointer.
    let flags = checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL) }.into())? as i32;
    // SAFETY: takes no pointer.
    checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) }.into())?;
    Ok(())
}

/// How many bytes a pipe holds now.
pub(crate) fn readable_bytes(descriptor: &OwnedFd) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one c_int.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::FIONREAD, &raw mut count) };
    if result == 0 {
        usize::try_from(count).unwrap_or(0)
    } else {
        0
    }
}

/// Reads once. Zero is the end.
pub(crate) fn read(descriptor: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the buffer's length.
    let result = unsafe { libc::read(descriptor.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    Ok(checked(result as i64)? as usize)
}

/// Writes once.
pub(crate) fn write(descriptor: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the kernel reads at most the slice's length.
    let result = unsafe { libc::write(descriptor.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    Ok(checked(result as i64)? as usize)
}

/// Waits until a descriptor is ready or the time is over; an interruption counts as ready, since callers look again.
pub(crate) fn poll(descriptors: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the kernel reads and writes the slice and reads the time, both live here; no signal mask is passed.
    let result = unsafe {
        libc::ppoll(
            descriptors.as_mut_ptr(),
            descriptors.len() as libc::nfds_t,
            time,
            ptr::null(),
        )
    };
    match checked(result.into()) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Reaps a child by its pidfd if it has ended.
pub(crate) fn reap(process: &OwnedFd) -> io::Result<bool> {
    let descriptor = process.as_raw_fd() as libc::id_t;
    let options = libc::WEXITED | libc::WNOHANG | libc::__WALL;
    // SAFETY: all zero is a valid siginfo.
    let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one siginfo; only the named child is waited for.
    let result = unsafe { libc::waitid(libc::P_PIDFD, descriptor, &raw mut information, options) };
    checked(result.into())?;
    // SAFETY: the kernel has filled the child's fields, or left them zero if it has not ended.
    Ok(unsafe { information.si_pid() } != 0)
}

/// Holds a process of any parent by its number, so that the number cannot pass on; `None` if there is no such process.
pub(crate) fn hold(process: i32) -> io::Result<Option<OwnedFd>> {
    // SAFETY: takes no pointer.
    match owned(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) }) {
        Ok(held) => Ok(Some(held)),
        // The second: the number is a thread's now, and only a process that is gone can have left it to one.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EINVAL | libc::ENOENT)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a held process has ended, or ends within the time.
pub(crate) fn ends_within(held: &OwnedFd, patience: Duration) -> io::Result<bool> {
    let until = std::time::Instant::now().checked_add(patience);
    loop {
        let left = until.map(|until| until.saturating_duration_since(std::time::Instant::now()));
        let mut watched = [libc::pollfd {
            fd: held.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        }];
        poll(&mut watched, left)?;
        let [watched] = watched;
        if watched.revents != 0 {
            return Ok(true);
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
    }
}

/// Kills a process by its pidfd.
pub(crate) fn kill(process: &OwnedFd) {
    // SAFETY: no pointer but a null one; a process that is gone is an error we need not know.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGKILL,
            ptr::null::<libc::siginfo_t>(),
            0,
        );
    }
}

/// While it lives, a set of signals is held back from this thread.
pub(crate) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    /// Holds every signal back, so that no handler of the host runs in a child.
    pub(crate) fn all() -> Self {
        let mut set = empty_set();
        // SAFETY: fills a live set.
        unsafe { libc::sigfillset(&raw mut set) };
        Self::set(&set)
    }

    /// Holds `SIGPIPE` back: a host that has not ignored it would die of a command that closes its input.
    pub(crate) fn broken_pipe() -> Self {
        Self::set(&broken_pipe_set())
    }

    fn set(set: &libc::sigset_t) -> Self {
        let mut before = empty_set();
        // SAFETY: both sets live here.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, &raw mut before) };
        Self { before }
    }

    /// Takes back the `SIGPIPE` that a failed write has just raised, unless the host had it blocked itself.
    pub(crate) fn discard_broken_pipe(&self) {
        // SAFETY: all sets and the time live here; no information is asked for.
        unsafe {
            if libc::sigismember(&raw const self.before, libc::SIGPIPE) == 0 {
                let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(&broken_pipe_set(), ptr::null_mut(), &raw const at_once);
            }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set lives here; no old one is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}

fn broken_pipe_set() -> libc::sigset_t {
    let mut set = empty_set();
    // SAFETY: adds a valid signal to a live set.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
    set
}

fn empty_set() -> libc::sigset_t {
    // SAFETY: all zero is a valid set; emptied in the library's own way besides.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        set
    }
}
