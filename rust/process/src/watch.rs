//! The warden while the program runs: waits for its end, a request or the host's death, then ends everything and proves
//! it. Under the same rules as `warden`.

use crate::record::{KILL, Kind, Record, TERMINATE};
use crate::warden::{errno, send};
use libc::{c_int, pid_t};
use std::os::fd::RawFd;

/// Bytes of the list of children read at once.
const LISTED: usize = 1024;

/// The warden while the program runs.
pub(crate) struct Watch {
    /// The warden's end of the channel.
    pub(crate) socket: RawFd,
    /// Readable when a child has ended.
    pub(crate) signals: RawFd,
    /// `/proc`, or -1.
    pub(crate) processes: RawFd,
    /// Its process, as the warden sees it; also its group.
    pub(crate) command: pid_t,
    /// Whether this process is pid 1 of its own namespace.
    pub(crate) namespace: bool,
    /// Peak memory of this process before the command, in KiB.
    pub(crate) floor: u64,
    /// The last signal sent to the command.
    pub(crate) sent: c_int,
    /// Whether it was not yet reaped.
    pub(crate) alive: bool,
    /// The command's end, until the host was told.
    pub(crate) untold: Option<Record>,
}

/// What waiting for children came to.
#[derive(PartialEq, Eq)]
enum Children {
    Left,
    None,
}

impl Watch {
    /// Waits for the command, a request or the host's death; then ends everything.
    ///
    /// # Safety
    /// Only in the warden: it reaps every child of its process, and kills all it finds.
    pub(crate) unsafe fn wait(mut self) {
        // SAFETY: plain system calls on our own descriptors and children.
        unsafe {
            while self.alive {
                let mut ready = [
                    libc::pollfd {
                        fd: self.signals,
                        events: libc::POLLIN,
                        revents: 0,
                    },
                    libc::pollfd {
                        fd: self.socket,
                        events: libc::POLLIN,
                        revents: 0,
                    },
                ];
                libc::poll(ready.as_mut_ptr(), 2, -1);
                let [signals, socket] = ready;
                if signals.revents != 0 {
                    let mut information: libc::signalfd_siginfo = std::mem::zeroed();
                    libc::read(
                        self.signals,
                        (&raw mut information).cast(),
                        size_of::<libc::signalfd_siginfo>(),
                    );
                }
                // Before a signal is sent, so that a command that ended by itself is not called stopped.
                self.reap(libc::WNOHANG);
                if !self.alive || socket.revents == 0 {
                    continue;
                }
                let mut request = KILL;
                let received = libc::recv(self.socket, (&raw mut request).cast(), 1, 0);
                if received == 1 && request == TERMINATE {
                    self.sent = libc::SIGTERM;
                    libc::kill(self.command.wrapping_neg(), libc::SIGTERM);
                    // A stopped process would not hear it.
                    libc::kill(self.command.wrapping_neg(), libc::SIGCONT);
                } else {
                    self.sent = libc::SIGKILL;
                    break;
                }
            }
            let clear = self.end() == Children::None;
            match self.untold.take() {
                // The usual case, told in one record: each wakes the host.
                Some(mut record) => {
                    record.clear = clear.into();
                    send(self.socket, &record);
                }
                None if clear => send(self.socket, &Record::new(Kind::Clear)),
                None => {}
            }
        }
    }

    /// Kills and reaps until nothing is left, or nothing more can be found.
    unsafe fn end(&mut self) -> Children {
        // SAFETY: `kill(-1)` is sent only as pid 1 of our own namespace, where it reaches our descendants alone.
        unsafe {
            loop {
                if self.reap(libc::WNOHANG) == Children::None {
                    return Children::None;
                }
                let found = if self.namespace {
                    libc::kill(-1, libc::SIGKILL) == 0
                } else {
                    self.kill_children()
                };
                if !found {
                    return Children::Left;
                }
                // What follows may take long, and the host's patience begins with the command's end.
                if let Some(record) = self.untold.take() {
                    send(self.socket, &record);
                }
                // One end at least is coming; whoever loses its parent by it becomes our child first.
                self.reap_one(0);
            }
        }
    }

    /// Kills every child of this process once, and says whether there is one. Only unreaped children are named, so no
    /// number can have passed to a stranger.
    unsafe fn kill_children(&self) -> bool {
        // SAFETY: plain system calls; the list names children that only we can reap.
        unsafe {
            let path = c"thread-self/children";
            let list = libc::openat(self.processes, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if list < 0 {
                return false;
            }
            let mut found = false;
            let mut number: pid_t = 0;
            let mut buffer = [0u8; LISTED];
            loop {
                let count = libc::read(list, buffer.as_mut_ptr().cast(), buffer.len());
                let Ok(count) = usize::try_from(count) else { break };
                if count == 0 {
                    break;
                }
                for &byte in buffer.iter().take(count) {
                    if byte.is_ascii_digit() {
                        let digit = pid_t::from(byte.wrapping_sub(b'0'));
                        number = number.wrapping_mul(10).wrapping_add(digit);
                    } else if number > 0 {
                        found = true;
                        libc::kill(number, libc::SIGKILL);
                        number = 0;
                    }
                }
            }
            libc::close(list);
            found
        }
    }

    /// Reaps all that can be reaped.
    unsafe fn reap(&mut self, options: c_int) -> Children {
        loop {
            // SAFETY: as `reap_one`.
            match unsafe { self.reap_one(options) } {
                Some(0) => return Children::Left,
                Some(_) => {}
                None => return Children::None,
            }
        }
    }

    /// Reaps one child: its number, 0 if none has ended, `None` if there is none. Notes the command's
    /// end.
    unsafe fn reap_one(&mut self, options: c_int) -> Option<pid_t> {
        // SAFETY: the kernel writes the status and usage, which live here; every child is ours to reap.
        unsafe {
            let mut status = 0;
            let mut usage: libc::rusage = std::mem::zeroed();
            let reaped = libc::wait4(-1, &raw mut status, options | libc::__WALL, &raw mut usage);
            if reaped < 0 {
                return if errno() == libc::EINTR { Some(0) } else { None };
            }
            if reaped == self.command && self.alive {
                self.alive = false;
                let mut record = Record::new(Kind::Ended);
                record.status = status;
                record.signal = self.sent;
                record.peak_kibibytes = usage.ru_maxrss.cast_unsigned();
                record.floor_kibibytes = self.floor;
                record.cpu_microseconds = microseconds(usage.ru_utime).wrapping_add(microseconds(usage.ru_stime));
                self.untold = Some(record);
            }
            Some(reaped)
        }
    }
}

fn microseconds(time: libc::timeval) -> u64 {
    time.tv_sec
        .cast_unsigned()
        .wrapping_mul(1_000_000)
        .wrapping_add(time.tv_usec.cast_unsigned())
}
