//! The host's end of the socket between it and a warden: reads records, sends the two requests.
//! It is also the command's lifeline: no other process holds this end, so its close is the host's death.

use crate::Pid;
use crate::record::{CredentialRoom, Record};
use crate::system;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The host's end.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
}

/// What one look at the socket gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A record, and who sent it, if the kernel could number the sender here.
    Record(Record, Option<Pid>),
    /// Nothing for now.
    Nothing,
    /// The other end is closed: no more will come.
    End,
}

impl Channel {
    /// A pair: the host's end and the warden's.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (host, warden) = system::channel()?;
        Ok((Self { socket: host }, warden))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Ends the talk, which ends a warden and all beneath it.
    pub(crate) fn close(&self) {
        // SAFETY: takes no pointer; the socket stays ours to close.
        unsafe { libc::shutdown(self.socket.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// Sends a request. A warden that is gone needs none, so failure is silent.
    pub(crate) fn request(&self, request: u8) {
        // SAFETY: the kernel reads one byte of a live local.
        unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                (&raw const request).cast(),
                1,
                libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
            )
        };
    }

    /// Takes the next record without waiting.
    pub(crate) fn receive(&self) -> Received {
        let mut record = Record::default();
        let mut room = CredentialRoom([MaybeUninit::uninit(); 64]);
        let mut part = libc::iovec {
            iov_base: (&raw mut record).cast(),
            iov_len: size_of::<Record>(),
        };
        // SAFETY: all zero is a valid message header, and its padding is private.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = size_of::<CredentialRoom>() as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: the header points to a record, which any bytes make valid, and to room for one control message; both
        // live here.
        let size = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, flags) };
        match usize::try_from(size) {
            Ok(size) if size == size_of::<Record>() => Received::Record(record, sender(&message)),
            Ok(0) => Received::End,
            // Only our own code writes here, whole records each time.
            Ok(_) => Received::Nothing,
            Err(_) => match io::Error::last_os_error().kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Received::Nothing,
                _ => Received::End,
            },
        }
    }
}

fn sender(message: &libc::msghdr) -> Option<Pid> {
    // SAFETY: the header is as the kernel left it after a successful receive and its control room still lives; each
    // control message is looked at only where the library says that one is whole.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_CREDENTIALS {
                let credentials: libc::ucred = libc::CMSG_DATA(header).cast::<libc::ucred>().read_unaligned();
                return (credentials.pid > 0).then_some(Pid(credentials.pid));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}
