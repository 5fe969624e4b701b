//! What the threads of one gateway share: the list, the records, and every open socket, so that all of them end at once.

use super::allow_list::AllowList;
use super::gateway::Outside;
use super::record::{Connection, Connections, LISTED, Verdict};
use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most connections that are served at once; more wait in the kernel's queue.
const AT_ONCE: usize = 64;
/// How long connections may take to end once they were told to. One that waits for a name server is not waited for longer.
const SETTLE: Duration = Duration::from_secs(2);

pub(super) struct Shared {
    pub(super) list: AllowList,
    pub(super) outside: Outside,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closed: bool,
    next: u64,
    /// Each served connection with its sockets.
    served: HashMap<Served, Vec<Arc<TcpStream>>>,
    connections: Connections,
}

/// Names a connection while it is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Served(u64);

/// Where the record of a connection is; absent when there were too many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(Option<usize>);

impl Shared {
    pub(super) fn new(list: AllowList, outside: Outside) -> Self {
        Self {
            list,
            outside,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole before the lock goes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until one more connection can be served; `false` once the gateway is closed.
    pub(super) fn wait_for_room(&self) -> bool {
        let full = |state: &mut State| !state.closed && state.served.len() >= AT_ONCE;
        let state = self.changed.wait_while(self.state(), full);
        !state.unwrap_or_else(PoisonError::into_inner).closed
    }

    /// Takes a connection in, with the beginning of its record; `None` once the gateway is closed.
    pub(super) fn admit(&self, client: &Arc<TcpStream>) -> Option<(Served, Place)> {
        let connection = Connection::new(self.outside.clock.now());
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let served = Served(state.next);
        state.next += 1;
        state.served.insert(served, vec![Arc::clone(client)]);
        let place = state.connections.listed.len();
        if place < LISTED {
            state.connections.listed.push(connection);
            return Some((served, Place(Some(place))));
        }
        state.connections.omitted += 1;
        Some((served, Place(None)))
    }

    /// Adds the socket to the outside; `false` once the gateway is closed, and the socket must not be used then.
    pub(super) fn connected(&self, served: Served, server: &Arc<TcpStream>) -> bool {
        let mut state = self.state();
        if state.closed {
            return false;
        }
        state.served.entry(served).or_default().push(Arc::clone(server));
        true
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Writes something into a record.
    pub(super) fn note(&self, place: Place, write: impl FnOnce(&mut Connection)) {
        let mut state = self.state();
        if let Some(connection) = place.0.and_then(|place| state.connections.listed.get_mut(place)) {
            write(connection);
        }
    }

    /// The connection is over.
    pub(super) fn release(&self, served: Served) {
        self.state().served.remove(&served);
        self.changed.notify_all();
    }

    /// Ends every connection and lets no other begin; waits for them a moment.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for socket in state.served.values().flatten() {
            let _gone_already = socket.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
        let busy = |state: &mut State| !state.served.is_empty();
        drop(self.changed.wait_timeout_while(state, SETTLE, busy));
    }

    /// What was recorded.
    pub(super) fn taken(&self) -> Connections {
        let mut connections = self.state().connections.clone();
        for connection in &mut connections.listed {
            if connection.verdict == Verdict::Refused && connection.reason.is_none() {
                connection.verdict = Verdict::Failed;
                connection.reason = Some("it ended before there was an answer".to_owned());
            }
        }
        connections
    }
}
