//! The gateway of one command: a listener inside the command's network namespace, served by threads of the host. It exists
//! as long as the command, and gives back what came through. The listener is made by the command's own process before the
//! program, and handed to the host through a socket; nothing inside holds it afterwards.

use super::AllowList;
use super::conversation::Conversation;
use super::host_name::HostName;
use super::record::Connections;
use super::shared::Shared;
use crate::Error;
use coder_digest::{Clock, SystemClock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Where the gateway listens inside. Above the ports that programs are given when they ask for any.
pub(crate) const PORT: u16 = 61_080;
/// A name server's client library needs some of it.
const STACK_BYTES: usize = 256 * 1024;
/// How long to wait where a connection could not be taken, for the lack of a descriptor, in nanoseconds.
const PAUSE: i64 = 50_000_000;

/// Finds the addresses of a name.
pub type Resolve = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// What a gateway takes from the outside.
#[derive(Clone)]
pub struct Outside {
    /// Tells when a connection was made.
    pub clock: Arc<dyn Clock>,
    /// Resolves names.
    pub resolve: Arc<Resolve>,
}

impl Outside {
    /// This machine's clock and resolver.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            resolve: Arc::new(|name, port| Ok((name, port).to_socket_addrs()?.collect())),
        }
    }
}

/// One command's way to the hosts of a list. Dropped, every connection ends.
pub struct Gateway {
    shared: Arc<Shared>,
    own: Arc<UnixStream>,
    given: Arc<OwnedFd>,
    listening: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Gateway")
            .field("list", &self.shared.list)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Waits for a listener, and serves it.
    pub(crate) fn start(list: AllowList, outside: Outside) -> Result<Self, Error> {
        let fault = |act| move |source| Error::Gateway { act, source };
        let (own, given) = UnixStream::pair().map_err(fault("make the gateway's socket"))?;
        let (own, shared) = (Arc::new(own), Arc::new(Shared::new(list, outside)));
        let thread = (Arc::clone(&own), Arc::clone(&shared));
        let listening = named("gateway")
            .spawn(move || listen(&thread.0, &thread.1))
            .map_err(fault("start the gateway"))?;
        Ok(Self {
            shared,
            own,
            given: Arc::new(given.into()),
            listening: Some(listening),
        })
    }

    /// The end that the command's process hands its listener to.
    pub(crate) fn given(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.given)
    }

    /// Ends every connection and tells of all of them. For when the command has ended.
    #[must_use]
    pub fn finish(mut self) -> Connections {
        self.close();
        self.shared.taken()
    }

    fn close(&mut self) {
        let _gone_already = self.own.shutdown(Shutdown::Both);
        self.shared.close();
        if let Some(listening) = self.listening.take() {
            let _nothing_to_tell = listening.join();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.close();
    }
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES)
}

fn listen(own: &UnixStream, shared: &Arc<Shared>) {
    let Some(listener) = receive(own) else { return };
    while shared.wait_for_room() {
        let mut watched = [PollFd::new(&listener, PollFlags::IN), PollFd::new(own, PollFlags::IN)];
        if !matches!(poll(&mut watched, None), Ok(_) | Err(rustix::io::Errno::INTR)) {
            return;
        }
        match listener.accept() {
            Ok((client, _)) => serve(Arc::new(client), shared),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => pause(own),
        }
    }
}

/// Waits a moment, or until the gateway is closed.
fn pause(own: &UnixStream) {
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: PAUSE,
    };
    let _either = poll(&mut [PollFd::new(own, PollFlags::IN)], Some(&patience));
}

fn serve(client: Arc<TcpStream>, shared: &Arc<Shared>) {
    let Some((served, place)) = shared.admit(&client) else {
        return;
    };
    let in_thread = Arc::clone(shared);
    let started = named("connection").spawn(move || {
        Conversation {
            shared: &in_thread,
            served,
            place,
            client: &client,
        }
        .run();
        // Closed before it is counted as over.
        drop(client);
        in_thread.release(served);
    });
    if let Err(error) = started {
        shared.note(place, |record| record.reason = Some(format!("start a thread: {error}")));
        shared.release(served);
    }
}

/// Takes the listener that the command's process hands over; `None` when the gateway is closed before.
fn receive(own: &UnixStream) -> Option<TcpListener> {
    let mut byte = [0];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    loop {
        let received = recvmsg(
            own,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        );
        match received {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptors.next().map(TcpListener::from)
}

/// What tells programs inside about the gateway. A connection to the command's own loopback needs none, unless the list
/// names it.
pub(crate) fn variables(list: &AllowList) -> Vec<(OsString, OsString)> {
    // As HTTP for every scheme: several libraries refuse to work at all when they find a SOCKS address they cannot use.
    let address = format!("http://127.0.0.1:{PORT}");
    let own = [
        HostName::Name("localhost".to_owned()),
        HostName::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        HostName::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    let own: Vec<String> = own
        .iter()
        .filter(|host| !list.names(host))
        .map(|host| match host {
            HostName::Address(address) => address.to_string(),
            HostName::Name(name) => name.clone(),
        })
        .collect();
    let (none, names) = (own.join(","), ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]);
    let proxies = names.map(|name| (name, address.as_str()));
    proxies
        .into_iter()
        .chain([("NO_PROXY", none.as_str())])
        .flat_map(|(name, value)| [name.to_owned(), name.to_ascii_lowercase()].map(|name| (name.into(), value.into())))
        .collect()
}
