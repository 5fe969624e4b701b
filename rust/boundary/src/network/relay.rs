//! Carries bytes both ways between two connected sockets until both ends are done, with one thread and two buffers.
//! Looks at none of them.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

const BUFFER_BYTES: usize = 32 * 1024;

/// One direction.
struct Way<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer waits to be written.
    waiting: std::ops::Range<usize>,
    ended: bool,
    carried: u64,
}

/// How many bytes were carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// Carries until both ends are done, one of them fails, or nothing moves for `idle_seconds`.
pub(super) fn relay(client: &TcpStream, server: &TcpStream, idle_seconds: i64) -> Carried {
    let mut ways = [Way::new(client, server), Way::new(server, client)];
    // What a broken connection still held is lost with it, on any network.
    let _why = carry(&mut ways, idle_seconds);
    for socket in [client, server] {
        let _gone_already = socket.shutdown(Shutdown::Both);
    }
    let [there, back] = ways;
    Carried {
        sent: there.carried,
        received: back.carried,
    }
}

fn carry(ways: &mut [Way<'_>; 2], idle_seconds: i64) -> io::Result<()> {
    for way in ways.iter() {
        way.from.set_nonblocking(true)?;
    }
    let idle = Timespec {
        tv_sec: idle_seconds,
        tv_nsec: 0,
    };
    while !ways.iter().all(Way::is_done) {
        let open: Vec<usize> = (0..ways.len())
            .filter(|place| ways.get(*place).is_some_and(|way| !way.is_done()))
            .collect();
        let mut watched: Vec<PollFd<'_>> = open
            .iter()
            .filter_map(|place| ways.get(*place))
            .map(|way| match way.waiting.is_empty() {
                true => PollFd::new(way.from, PollFlags::IN),
                false => PollFd::new(way.to, PollFlags::OUT),
            })
            .collect();
        match poll(&mut watched, Some(&idle)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        drop(watched);
        for way in ways.iter_mut().filter(|way| !way.is_done()) {
            way.go_on()?;
        }
    }
    Ok(())
}

impl<'a> Way<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream) -> Self {
        Self {
            from,
            to,
            buffer: vec![0; BUFFER_BYTES],
            waiting: 0..0,
            ended: false,
            carried: 0,
        }
    }

    fn is_done(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }

    /// Reads once and writes what can be written, without waiting.
    fn go_on(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() && !self.ended {
            match self.from.read(&mut self.buffer) {
                Ok(0) => {
                    self.ended = true;
                    let _gone_already = self.to.shutdown(Shutdown::Write);
                }
                Ok(count) => self.waiting = 0..count,
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        while !self.waiting.is_empty() {
            let bytes = self.buffer.get(self.waiting.clone()).unwrap_or_default();
            match self.to.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.waiting.start += count;
                    self.carried += count as u64;
                }
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
