//! The warden while the program runs: waits for its end, a request or the host's death, then ends everything and proves
//! it. Under the same rules as `warden`.

use crate::calls;
use crate::record::{Kind, Record, TERMINATE};
use crate::warden::send;
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
    /// Peak memory that the command began with, the host's, in KiB.
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
        while self.alive {
            let on = |fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            };
            let mut ready = [on(self.signals), on(self.socket)];
            calls::poll(&mut ready);
            let [signals, socket] = ready;
            if signals.revents != 0 {
                let mut information = [0_u8; size_of::<libc::signalfd_siginfo>()];
                // What came is looked for below.
                let _any = calls::read(self.signals, &mut information);
            }
            // Before a signal is sent, so that a command that ended by itself is not called stopped.
            self.reap(libc::WNOHANG);
            if !self.alive || socket.revents == 0 {
                continue;
            }
            if calls::receive_byte(self.socket) == Some(TERMINATE) {
                self.sent = libc::SIGTERM;
                let group = self.command.wrapping_neg();
                let _may_be_gone = calls::kill(group, libc::SIGTERM);
                // A stopped process would not hear it.
                let _may_be_gone = calls::kill(group, libc::SIGCONT);
            } else {
                // The request to kill, or the end of the host.
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

    /// Kills and reaps until nothing is left, or nothing more can be found.
    fn end(&mut self) -> Children {
        loop {
            if self.reap(libc::WNOHANG) == Children::None {
                return Children::None;
            }
            // To all only as pid 1 of our own namespace, where it reaches our descendants alone.
            let found = if self.namespace {
                calls::kill(-1, libc::SIGKILL).is_ok()
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

    /// Kills every child of this process once, and says whether there is one. Only unreaped children are named, so no
    /// number can have passed to a stranger.
    fn kill_children(&self) -> bool {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let Ok(list) = calls::open(self.processes, c"thread-self/children", flags) else {
            return false;
        };
        let mut found = false;
        let mut number: pid_t = 0;
        let mut buffer = [0_u8; LISTED];
        while let Ok(count) = calls::read(list, &mut buffer)
            && count > 0
        {
            for &byte in buffer.iter().take(count) {
                if byte.is_ascii_digit() {
                    let digit = pid_t::from(byte.wrapping_sub(b'0'));
                    number = number.wrapping_mul(10).wrapping_add(digit);
                } else if number > 0 {
                    found = true;
                    let _may_be_gone = calls::kill(number, libc::SIGKILL);
                    number = 0;
                }
            }
        }
        calls::close(list);
        found
    }

    /// Reaps all that can be reaped.
    fn reap(&mut self, options: c_int) -> Children {
        loop {
            match self.reap_one(options) {
                Some(0) => return Children::Left,
                Some(_) => {}
                None => return Children::None,
            }
        }
    }

    /// Reaps one child: its number, 0 if none has ended, `None` if there is none. Notes the command's
    /// end.
    fn reap_one(&mut self, options: c_int) -> Option<pid_t> {
        let reaped = match calls::wait(-1, options) {
            Ok(reaped) => reaped,
            Err(libc::EINTR) => return Some(0),
            Err(_) => return None,
        };
        if reaped.process == self.command && self.alive {
            let usage = reaped.usage;
            self.alive = false;
            let mut record = Record::new(Kind::Ended);
            record.status = reaped.status;
            record.signal = self.sent;
            record.peak_kibibytes = usage.ru_maxrss.cast_unsigned();
            record.floor_kibibytes = self.floor;
            record.cpu_microseconds = microseconds(usage.ru_utime).wrapping_add(microseconds(usage.ru_stime));
            self.untold = Some(record);
        }
        Some(reaped.process)
    }
}

fn microseconds(time: libc::timeval) -> u64 {
    time.tv_sec
        .cast_unsigned()
        .wrapping_mul(1_000_000)
        .wrapping_add(time.tv_usec.cast_unsigned())
}
